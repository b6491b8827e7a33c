# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The program of docs/guides/window.md, unchanged: of two windows on a file one edits, and the
other takes over when that is killed. `weblocks list` shows both.

    test_guide.py docs/guides/window.md"""

import os
import re
import subprocess
import sys

import gi

from buses import environment
from desktop import DisplayTestCase, Program, gtk_environment
from harness import main

GUIDE = os.path.abspath(sys.argv.pop(1))


class Guide(DisplayTestCase):
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
            program = re.search(r'^```python\n(.*?)^```$', file.read(), re.MULTILINE | re.DOTALL)[1]
        self.script = os.path.join(self.bus.directory, 'edit.py')
        with open(self.script, 'w', encoding='utf-8') as file:
            file.write(program)
        library = environment('WEBLOCKS_LIBRARY_DIR')
        self.env = {**gtk_environment(self.display, self.bus), 'GI_TYPELIB_PATH': library,
                    'LD_LIBRARY_PATH': library}

    def open(self):
        window = Program([sys.executable, self.script,
                          os.path.join(self.bus.directory, 'notes.txt')],
                         self.display, self.bus, self.env)
        self.addCleanup(window.close)
        return window

    def wait_title(self, window, title):
        window.wait_for(lambda: self.display.xdotool('getwindowname', window.find_window())
                        == title, f'title {title!r}')

    def test_one_edits_and_the_other_takes_over(self):
        first = self.open()
        self.wait_title(first, 'Editing')
        second = self.open()
        self.wait_title(second, 'Read only')
        listed = subprocess.run([environment('WEBLOCKS_CLI'), 'list', '--bucket', 'documents'],
                                env=self.env, check=True, stdout=subprocess.PIPE, text=True).stdout
        for process, state in ((first, 'held'), (second, 'pending')):
            self.assertRegex(listed, rf'(?m)\t{state}\t.*\t{process.pid}\t')
        first.process.kill()
        self.wait_title(second, 'Editing')


if __name__ == '__main__':
    main()
