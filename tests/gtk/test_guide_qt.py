# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The programs of docs/guides/qt.md, unchanged: of a window in C++ and one in Python on a file one edits, and the
other takes over when that is killed; without GLib's main loop both end with a message.

    test_guide_qt.py docs/guides/qt.md"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys

from buses import environment, read_text, write_text
from desktop import DisplayTestCase, Program, gtk_environment
from harness import PATIENCE, wait_for

GUIDE = os.path.abspath(sys.argv.pop(1))
NEEDED = 'Qt6Widgets'


def program(language):
    text, = re.findall(rf'^```{language}\n(.*?)^```$', read_text(GUIDE), re.MULTILINE | re.DOTALL)
    return text


def is_known(package):
    return subprocess.run(['pkg-config', '--exists', package], check=False).returncode == 0


class Guide(DisplayTestCase):
    @classmethod
    def missing(cls):
        missing = super().missing() + [tool for tool in ('c++', 'pkg-config') if shutil.which(tool) is None]
        if 'pkg-config' not in missing and not is_known(NEEDED):
            missing.append('qt6-base-dev')
        if importlib.util.find_spec('PyQt6') is None:
            missing.append('python3-pyqt6')
        return missing

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        library = environment('WEBLOCKS_LIBRARY_DIR')
        directory = cls.bus.directory
        cls.env = {**gtk_environment(cls.display, cls.bus), 'QT_QPA_PLATFORM': 'xcb', 'GI_TYPELIB_PATH': library,
                   'LD_LIBRARY_PATH': library, 'PKG_CONFIG_PATH': environment('WEBLOCKS_PKG_CONFIG_DIR')}
        for language, name in ('cpp', 'edit.cpp'), ('python', 'edit.py'):
            write_text(os.path.join(directory, name), program(language))
        command = re.match(r'// (c\+\+ .*)\n', program('cpp'))[1]
        subprocess.run(['sh', '-c', command], cwd=directory, env=cls.env, check=True)
        cls.cpp = [os.path.join(directory, 'edit'), os.path.join(directory, 'notes.txt')]
        cls.python = [sys.executable, os.path.join(directory, 'edit.py'), os.path.join(directory, 'notes.txt')]

    def open(self, command, title):
        window = Program(command, self.display, self.bus, self.env)
        self.addCleanup(window.close)
        self.wait_title(window, title)
        return window

    def wait_title(self, window, title):
        window.wait_for(lambda: self.display.xdotool('getwindowname', window.find_window()) == title,
                        f'title {title!r}')

    def test_one_edits_and_the_other_takes_over(self):
        observer = self.client()
        holder = self.open(self.cpp, 'Editing')
        for command in (self.python, self.cpp):
            waiting = self.open(command, 'Read only')
            wait_for(lambda: len(observer.query(bucket='documents')[1]) == 1, what='the claim of the second window')
            self.wait_title(waiting, 'Read only')
            self.wait_title(holder, 'Editing')
            holder.process.kill()
            self.wait_title(waiting, 'Editing')
            holder = waiting

    def test_without_the_main_loop_of_glib(self):
        for command in (self.cpp, self.python):
            result = subprocess.run(command, env={**self.env, 'QT_NO_GLIB': '1'}, stdin=subprocess.DEVNULL, text=True,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
            self.assertEqual((result.stderr, result.returncode),
                             ("edit: Qt does not run GLib's main loop; is QT_NO_GLIB set?\n", 1))
