# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The program of docs/guides/window.md as it stands: of two windows on a file one edits, and the other takes
over when that is killed. `weblocks list` shows both.

    test_guide.py docs/guides/window.md
"""

import os
import re
import subprocess
import sys
import unittest

from buses import end, environment, spawn
from desktop import Display, missing_tools
from harness import BusTestCase, main, wait_for

GUIDE = os.path.abspath(sys.argv.pop(1))


class Guide(BusTestCase):
    time_limit = 120.0
    others_broadcast = True  # GApplication tells the whole bus of its actions

    @classmethod
    def setUpClass(cls):
        missing = missing_tools()
        try:
            import gi
            gi.require_version('Gtk', '4.0')
        except ValueError:
            missing.append('gir1.2-gtk-4.0')
        if missing:
            raise unittest.SkipTest(f'not installed: {", ".join(missing)}')
        super().setUpClass()
        cls.display = Display()
        cls.addClassCleanup(cls.display.stop)

    def setUp(self):
        super().setUp()
        with open(GUIDE, encoding='utf-8') as file:
            program = re.search(r'^```python\n(.*?)^```$', file.read(), re.MULTILINE | re.DOTALL)[1]
        self.script = os.path.join(self.bus.directory, 'edit.py')
        with open(self.script, 'w', encoding='utf-8') as file:
            file.write(program)
        library = environment('WEBLOCKS_LIBRARY_DIR')
        self.env = {**self.bus.environment(), 'DISPLAY': self.display.name, 'GDK_BACKEND': 'x11',
                    'GSK_RENDERER': 'cairo', 'GSETTINGS_BACKEND': 'memory', 'GTK_A11Y': 'none',
                    'GTK_IM_MODULE': 'gtk-im-context-simple', 'GI_TYPELIB_PATH': library,
                    'LD_LIBRARY_PATH': library}

    def open(self):
        process = spawn([sys.executable, self.script, os.path.join(self.bus.directory, 'notes.txt')],
                        env=self.env, stdin=subprocess.DEVNULL)
        self.addCleanup(end, process)
        return process

    def wait_title(self, process, title):
        def has_title():
            self.assertIsNone(process.poll(), 'the program has ended')
            found = self.display.xdotool('search', '--onlyvisible', '--pid', process.pid)
            return found and self.display.xdotool('getwindowname', found.splitlines()[-1]) == title
        wait_for(has_title, what=f'title {title!r}', every=0.1)

    def test_one_edits_and_the_other_takes_over(self):
        first = self.open()
        self.wait_title(first, 'Editing')
        second = self.open()
        self.wait_title(second, 'Read only')
        listed = subprocess.run([environment('WEBLOCKS_CLI'), 'list', '--bucket', 'documents'],
                                env=self.env, check=True, stdout=subprocess.PIPE, text=True).stdout
        for process, state in ((first, 'held'), (second, 'pending')):
            self.assertRegex(listed, rf'(?m)\t{state}\t.*\t{process.pid}\t')
        first.kill()
        self.wait_title(second, 'Editing')


if __name__ == '__main__':
    main()
