# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The programs of docs/guides/window.md, unchanged: of two windows on a file one edits, and the
other takes over when that is killed; also if one is in a sandbox as Flatpak makes it, and the file
is saved by rename. `weblocks list`, as printed there, shows both. Without the service both edit. With
more lines, two windows of one process: one that is closed lets the other edit, although it is not freed.

    test_guide.py docs/guides/window.md"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import gi
from gi.repository import Gio

from buses import environment, read_text, write_text
from desktop import DisplayTestCase, Program, gtk_environment
from harness import wait_for
from sandboxcase import APP, Sandboxes, info

GUIDE = os.path.abspath(sys.argv.pop(1))
# Language -> (command, the line that runs the program).
LANGUAGES = {'python': ([sys.executable], 'app.run()\n'), 'js': (['gjs', '-m'], 'app.run([]);\n')}
# What opens a second window in the process, keeps a window in a cycle of references, and closes the first on
# SIGUSR1. Nothing is collected in Python.
TWO_WINDOWS = {
    'python': """
import gc
from gi.repository import GLib
gc.disable()
app.connect('activate', open_window)
app.connect('window-added', lambda _app, window: window.connect('notify::title', lambda *_: window.get_title()))
GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, 10,
                     lambda: next(w for w in app.get_windows() if w.get_title() == 'Editing').close())
""", 'js': """
import GLib from 'gi://GLib';
app.connect('activate', openWindow);
app.connect('window-added', (_app, window) => window.connect('notify::title', () => window.get_title()));
GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, 10,
    () => app.get_windows().find(w => w.get_title() === 'Editing').close());
"""}


class Window(Program):
    def find_windows(self):
        return (self.display.xdotool('search', '--onlyvisible', '--pid', self.pid) or '').splitlines()

    def is_listed_as(self, _program, pid):
        return pid == str(self.pid)


class SandboxedWindow(Program):
    def find_windows(self):
        """The one without a process id: in a sandbox GTK writes none to it."""
        found = self.display.xdotool('search', '--onlyvisible', '--name', '.') or ''
        return [window for window in found.splitlines()
                if self.display.xdotool('getwindowpid', window) is None]

    def is_listed_as(self, program, _pid):
        return program == APP


class GuideCase(DisplayTestCase):
    @classmethod
    def missing(cls):
        try:
            gi.require_version('Gtk', '4.0')
        except ValueError:
            return super().missing() + ['gir1.2-gtk-4.0']
        return super().missing()

    def setUp(self):
        super().setUp()
        text = read_text(GUIDE)
        self.programs = dict(re.findall(r'^```(\w+)\n(.*?)^```$', text, re.MULTILINE | re.DOTALL))
        self.list_command = re.search('`(weblocks list [^`]*)`', text)[1].split()
        library = environment('WEBLOCKS_LIBRARY_DIR')
        self.env = {**gtk_environment(self.display, self.bus), 'GI_TYPELIB_PATH': library,
                    'LD_LIBRARY_PATH': library,
                    'PATH': f"{os.path.dirname(environment('WEBLOCKS_CLI'))}:{os.environ['PATH']}"}
        self.path = os.path.join(self.bus.directory, 'notes.txt')

    def open(self, window_class=Window, command=(), pass_fds=(), language='python', more='', **environ):
        interpreter, run = LANGUAGES[language]
        if shutil.which(interpreter[0]) is None:
            self.skipTest(f'{interpreter[0]} is not installed')
        script = os.path.join(self.bus.directory, f'edit.{language}')
        before, found, after = self.programs[language].rpartition(run)
        self.assertEqual((found, after), (run, ''))
        write_text(script, before + more + run)
        window = window_class([*command, *interpreter, script, self.path], self.display,
                              self.bus, {**self.env, **environ}, pass_fds=pass_fds)
        self.addCleanup(window.close)
        return window

    def wait_titles(self, program, *titles):
        """Of all windows of the program."""
        def found():
            return sorted(self.display.xdotool('getwindowname', window) or ''
                          for window in program.find_windows())
        try:
            program.wait_for(lambda: found() == sorted(titles), f'titles {titles!r}')
        except TimeoutError as error:
            raise TimeoutError(f'{error}; they are {found()}') from None

    def wait_excluded(self, editing, reading):
        """One holds the document, and the other waits for it, also by the guide's command."""
        name = pathlib.Path(self.path).resolve().as_uri()
        rows = []

        def are_listed():
            output = subprocess.run(self.list_command, env=self.env, check=True, text=True,
                                    stdout=subprocess.PIPE).stdout
            rows[:] = [line.split('\t') for line in output.splitlines()]
            return [(row[0], row[2]) for row in rows] == [(name, 'held'), (name, 'pending')]
        try:
            wait_for(are_listed, what='both in the list')
        except TimeoutError as error:
            raise TimeoutError(f'{error}; it is {rows}') from None
        for window, row in zip((editing, reading), rows):
            self.assertTrue(window.is_listed_as(*row[4:6]), row)
        self.wait_titles(editing, 'Editing')
        self.wait_titles(reading, 'Read only')


class Guide(GuideCase):
    def test_one_edits_and_the_other_takes_over(self):
        for first, second in (('python', 'js'), ('js', 'python')):
            with self.subTest(first):
                editing = self.open(language=first)
                self.wait_titles(editing, 'Editing')
                reading = self.open(language=second)
                self.wait_excluded(editing, reading)
                editing.process.kill()
                self.wait_titles(reading, 'Editing')
                reading.close()

    def test_a_window_that_is_closed_lets_another_edit(self):
        for language, more in TWO_WINDOWS.items():
            with self.subTest(language):
                windows = self.open(language=language, more=more)
                self.wait_titles(windows, 'Editing', 'Read only')
                windows.process.send_signal(signal.SIGUSR1)
                self.wait_titles(windows, 'Editing')
                windows.close()


class NoService(GuideCase):
    service = False

    def test_without_the_service_all_edit_until_there_is_one(self):
        for language in LANGUAGES:
            with self.subTest(language):
                windows = self.open(language=language, more=TWO_WINDOWS[language])
                self.wait_titles(windows, *['Editing at your own risk'] * 2)
                service = self.start_service()
                self.wait_titles(windows, 'Editing', 'Read only')
                windows.close()
                self.assertEqual(service.stop(), 0)


class Flatpak(Sandboxes, GuideCase):
    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.shared, 'notes.txt')
        Gio.File.new_for_path(self.path).create(Gio.FileCreateFlags.NONE, None).close(None)

    def open_sandboxed(self):
        build = os.path.dirname(environment('WEBLOCKS_LIBRARY_DIR'))
        display = f'/tmp/.X11-unix/X{self.display.name[1:]}'
        mounts, descriptors = self.info_mounts(info(APP))
        command = self.bwrap('--bind', build, build, '--ro-bind-try', display, display, *mounts)
        window = self.open(SandboxedWindow, command, descriptors,
                           DBUS_SESSION_BUS_ADDRESS=self.proxy(info(APP)))
        for descriptor in descriptors:
            os.close(descriptor)
        return window

    def save(self):
        """As GTK's editors do, by rename."""
        before = os.stat(self.path).st_ino
        Gio.File.new_for_path(self.path).replace_contents(b'text', None, False,
                                                          Gio.FileCreateFlags.NONE, None)
        self.assertNotEqual(os.stat(self.path).st_ino, before)

    def test_a_sandboxed_and_a_host_editor_exclude_each_other(self):
        """Also after the file was saved by rename, and the other way round."""
        host = self.open()
        self.wait_titles(host, 'Editing')
        self.save()
        sandboxed = self.open_sandboxed()
        self.wait_excluded(host, sandboxed)
        self.save()
        self.wait_excluded(host, sandboxed)
        host.process.kill()
        self.wait_titles(sandboxed, 'Editing')
        self.save()
        again = self.open()
        self.wait_excluded(sandboxed, again)
        sandboxed.process.kill()
        self.wait_titles(again, 'Editing')
