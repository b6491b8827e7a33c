# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The program of docs/guides/window.md, unchanged: of two windows on a file one edits, and the
other takes over when that is killed; also if one is in a sandbox as Flatpak makes it, and the file
is saved by rename. `weblocks list`, as printed there, shows both.

    test_guide.py docs/guides/window.md"""

import os
import pathlib
import re
import subprocess
import sys

import gi
from gi.repository import Gio

from buses import environment
from desktop import DisplayTestCase, Program, gtk_environment
from harness import main, wait_for
from sandboxcase import APP, Sandboxes, info

GUIDE = os.path.abspath(sys.argv.pop(1))


class Window(Program):
    def is_listed_as(self, _program, pid):
        return pid == str(self.pid)


class SandboxedWindow(Program):
    def find_window(self):
        """The one without a process id: in a sandbox GTK writes none to it."""
        found = self.display.xdotool('search', '--onlyvisible', '--name', '.') or ''
        return next((window for window in found.splitlines()
                     if self.display.xdotool('getwindowpid', window) is None), None)

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
        with open(GUIDE, encoding='utf-8') as file:
            text = file.read()
        self.script = os.path.join(self.bus.directory, 'edit.py')
        with open(self.script, 'w', encoding='utf-8') as file:
            file.write(re.search(r'^```python\n(.*?)^```$', text, re.MULTILINE | re.DOTALL)[1])
        self.list_command = re.search('`(weblocks list [^`]*)`', text)[1].split()
        library = environment('WEBLOCKS_LIBRARY_DIR')
        self.env = {**gtk_environment(self.display, self.bus), 'GI_TYPELIB_PATH': library,
                    'LD_LIBRARY_PATH': library,
                    'PATH': f"{os.path.dirname(environment('WEBLOCKS_CLI'))}:{os.environ['PATH']}"}
        self.path = os.path.join(self.bus.directory, 'notes.txt')

    def open(self, window_class=Window, command=(), pass_fds=(), **environ):
        window = window_class([*command, sys.executable, self.script, self.path], self.display,
                              self.bus, {**self.env, **environ}, pass_fds=pass_fds)
        self.addCleanup(window.close)
        return window

    def wait_title(self, window, title):
        window.wait_for(lambda: self.display.xdotool('getwindowname', window.find_window())
                        == title, f'title {title!r}')

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
        self.wait_title(editing, 'Editing')
        self.wait_title(reading, 'Read only')


class Guide(GuideCase):
    def test_one_edits_and_the_other_takes_over(self):
        first = self.open()
        self.wait_title(first, 'Editing')
        second = self.open()
        self.wait_excluded(first, second)
        first.process.kill()
        self.wait_title(second, 'Editing')


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
        self.wait_title(host, 'Editing')
        self.save()
        sandboxed = self.open_sandboxed()
        self.wait_excluded(host, sandboxed)
        self.save()
        self.wait_excluded(host, sandboxed)
        host.process.kill()
        self.wait_title(sandboxed, 'Editing')
        self.save()
        again = self.open()
        self.wait_excluded(sandboxed, again)
        sandboxed.process.kill()
        self.wait_title(again, 'Editing')


if __name__ == '__main__':
    main()
