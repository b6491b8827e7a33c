# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The program of docs/guides/node.md, as printed, in two processes: it hands over after a kill.

test_guide.py GUIDE"""

import os
import re
import shutil
import sys
import tempfile

from buses import environment, read_text, spawn, write_text
from harness import PATIENCE, BusTestCase, wait_for

GUIDE = os.path.abspath(sys.argv.pop(1))
PACKAGE = os.environ.get('WEBLOCKS_NODE_PACKAGE')


class Guide(BusTestCase):
    def start(self, directory, number):
        """Returns the process, and a function for what it has printed."""
        path = os.path.join(directory, f'output-{number}')
        with open(path, 'w', encoding='utf-8') as file:
            process = spawn(['node', 'print.mjs'], cwd=directory, stdout=file,
                            env={**self.bus.environment(),
                                 'LD_LIBRARY_PATH': environment('WEBLOCKS_LIBRARY_DIR')})

        def printed():
            return read_text(path)
        return process, printed

    def test_the_lock_is_handed_over_after_a_kill(self):
        if not PACKAGE:
            self.skipTest('the module for Node.js was not built')
        if shutil.which('node') is None:
            self.skipTest('Node.js is not installed')
        blocks = re.findall(r'^```(\w*)\n(.*?)^```$', read_text(GUIDE), re.MULTILINE | re.DOTALL)
        (language, program), *outputs = blocks
        self.assertEqual((language, [language for language, _ in outputs]), ('js', ['', '', '']))
        holds, waits, has_got = (output for _, output in outputs)
        directory = self.enterContext(tempfile.TemporaryDirectory(prefix='weblocks-guide-'))
        os.mkdir(os.path.join(directory, 'node_modules'))
        os.symlink(PACKAGE, os.path.join(directory, 'node_modules', 'weblocks'))
        write_text(os.path.join(directory, 'print.mjs'), program)
        observer = self.client()

        first, printed_by_first = self.start(directory, 1)
        wait_for(lambda: printed_by_first() == holds, what='the first process')
        second, printed_by_second = self.start(directory, 2)
        wait_for(lambda: len(observer.query()[1]) == 1, what='the second process')
        self.assertEqual(printed_by_second(), waits)
        entry, = observer.inspect(name='printer', state='held')[0]
        self.assertEqual(entry['why'], 'to print a page')
        first.kill()
        wait_for(lambda: printed_by_second() == has_got, what='the hand-over')
        for process in (first, second):
            process.kill()
            process.wait(PATIENCE)
