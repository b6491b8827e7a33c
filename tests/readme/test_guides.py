# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Runs the programs of the guides as they stand, and compares what they print.

test_guides.py GUIDES [TEST]...

In a guide, a block of code with a language is a whole program, and the block without one that
follows it is what it prints.
"""

import os
import re
import shutil
import subprocess
import sys
from glob import glob

from buses import environment
from harness import PATIENCE, BusTestCase, main

GUIDES = os.path.abspath(sys.argv.pop(1))

# Language -> (command, name of the file).
LANGUAGES = {
    'bash': (['bash', '-u'], 'program.bash'),
    'js': (['gjs', '-m'], 'program.js'),
    'python': ([sys.executable], 'program.py'),
    'sh': (['sh', '-u'], 'program.sh'),
}
# The installation directory according to the guides.
JS_INSTALLED = 'file:///usr/share/weblocks-1/gjs/'


def programs(guide):
    """[(language, text, what it prints)]"""
    with open(guide, encoding='utf-8') as file:
        blocks = re.findall(r'^```(\w*)\n(.*?)^```$', file.read(), re.MULTILINE | re.DOTALL)
    if [bool(language) for language, _text in blocks] != [True, False] * (len(blocks) // 2):
        raise AssertionError(f'{guide}: not each program is followed by what it prints')
    return [(language, text, printed)
            for (language, text), (_, printed) in zip(blocks[::2], blocks[1::2])]


class Guides(BusTestCase):
    def check(self, guide):
        library = environment('WEBLOCKS_LIBRARY_DIR')
        env = {**self.bus.environment(),
               'PATH': ':'.join([environment('WEBLOCKS_CLI_DIR'), os.environ['PATH']]),
               'GI_TYPELIB_PATH': library, 'LD_LIBRARY_PATH': library,
               'PYTHONPATH': environment('WEBLOCKS_PYTHON_DIR')}
        directory = os.path.join(self.bus.directory, self._testMethodName)
        os.mkdir(directory)
        found = programs(guide)
        self.assertTrue(found, f'{guide} has no program')
        for number, (language, text, printed) in enumerate(found):
            command, name = LANGUAGES[language]
            if shutil.which(command[0]) is None:
                self.skipTest(f'there is no {command[0]}')
            with open(os.path.join(directory, name), 'w', encoding='utf-8') as file:
                file.write(text.replace(JS_INSTALLED, f"file://{environment('WEBLOCKS_GJS_DIR')}/"))
            with self.subTest(program=number + 1):
                result = subprocess.run([*command, name], cwd=directory, env=env, text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
                self.assertEqual((result.stdout, result.returncode), (printed, 0), result.stderr)

    def test_fencing(self):
        self.check(os.path.join(GUIDES, 'fencing.md'))

    def test_javascript(self):
        self.check(os.path.join(GUIDES, 'javascript.md'))

    def test_losing(self):
        self.check(os.path.join(GUIDES, 'losing.md'))

    def test_python(self):
        self.check(os.path.join(GUIDES, 'python.md'))

    def test_shell(self):
        self.check(os.path.join(GUIDES, 'shell.md'))

    def test_each_guide_with_programs_has_a_test(self):
        for guide in glob(os.path.join(GUIDES, '*.md')):
            name = os.path.basename(guide).removesuffix('.md').replace('-', '_')
            with self.subTest(name):
                self.assertEqual(bool(programs(guide)), hasattr(self, f'test_{name}'))


if __name__ == '__main__':
    main()
