# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Runs the programs of the guides unchanged, and compares their output.

test_guides.py GUIDES [TEST]...

In a guide, a block of code with a language is a whole program, and the block without one that
follows it is its output. A program in C or Vala begins with the command that compiles and runs
it."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from glob import glob

from buses import environment, read_text
from harness import PATIENCE, BusTestCase

GUIDES = os.path.abspath(sys.argv.pop(1))

# Language -> (command, name of the file).
LANGUAGES = {
    'bash': (['bash', '-u'], 'program.bash'),
    'js': (['gjs', '-m'], 'program.js'),
    'python': ([sys.executable], 'program.py'),
    'sh': (['sh', '-u'], 'program.sh'),
}
# For other languages, the pattern of the first line: the command, which contains the name of the
# file.
COMPILED = {
    'c': r'/\* (cc .* (\w+\.c) .*) \*/\n',
    'vala': r'// (valac .* (\w+\.vala) .*)\n',
}
# The installation directory according to the guides.
JS_INSTALLED = 'file:///usr/share/weblocks-1/gjs/'
SERVICES_INSTALLED = '/usr/share/dbus-1/services'
# The index, and what is run by others: tests/gtk/test_guide.py and test_guide_qt.py, since their programs open
# windows; tests/bus/test_busctl.py; tests/node/test_guide.py.
EXCLUDED = {'README.md', 'window.md', 'qt.md', 'by-hand.md', 'node.md'}


def programs(guide):
    """[(language, program, output)]"""
    blocks = re.findall(r'^```(\w*)\n(.*?)^```$', read_text(guide), re.MULTILINE | re.DOTALL)
    if [bool(language) for language, _text in blocks] != [True, False] * (len(blocks) // 2):
        raise AssertionError(f'{guide}: a program is not followed by its output')
    return [(language, text, printed)
            for (language, text), (_, printed) in zip(blocks[::2], blocks[1::2])]


class Guides(BusTestCase):
    def check(self, guide):
        library = environment('WEBLOCKS_LIBRARY_DIR')
        directory = os.path.join(self.bus.directory, self._testMethodName)
        env = {**self.bus.environment(),
               'PATH': ':'.join([environment('WEBLOCKS_CLI_DIR'), os.environ['PATH']]),
               'GI_TYPELIB_PATH': library, 'LD_LIBRARY_PATH': library,
               'PKG_CONFIG_PATH': environment('WEBLOCKS_PKG_CONFIG_DIR'),
               'XDG_DATA_DIRS': f'{directory}/share:/usr/local/share:/usr/share',
               'PYTHONPATH': environment('WEBLOCKS_PYTHON_DIR')}
        os.makedirs(os.path.join(directory, 'share', 'vala'))
        # Where valac searches for bindings.
        os.symlink(library, os.path.join(directory, 'share', 'vala', 'vapi'))
        found = programs(guide)
        self.assertTrue(found, f'{guide} has no program')
        for number, (language, text, printed) in enumerate(found):
            if language in COMPILED:
                line, name = re.match(COMPILED[language], text).groups()
                command = ['sh', '-c', line]
                tool = line.split()[0]
            else:
                command, name = LANGUAGES[language]
                tool, command = command[0], [*command, name]
            if language == 'vala' and not os.path.exists(f'{library}/weblocks-1.vapi'):
                self.skipTest('built without the Vala binding')
            if shutil.which(tool) is None:
                self.skipTest(f'{tool} is not installed')
            with open(os.path.join(directory, name), 'w', encoding='utf-8') as file:
                file.write(text
                           .replace(JS_INSTALLED, f"file://{environment('WEBLOCKS_GJS_DIR')}/")
                           .replace(SERVICES_INSTALLED, self.service_file(directory)))
            with self.subTest(program=number + 1):
                result = subprocess.run(command, cwd=directory, env=env, text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
                self.assertEqual((result.stdout, result.returncode), (printed, 0), result.stderr)

    @staticmethod
    def service_file(directory):
        with open(os.path.join(directory, 'org.w3.WebLocks.service'), 'w', encoding='utf-8') as file:
            file.write('[D-BUS Service]\nName=org.w3.WebLocks\n'
                       f"Exec={environment('WEBLOCKSD')} --session\n")
        return directory

    def test_c(self):
        self.check(os.path.join(GUIDES, 'c.md'))

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

    def test_testing(self):
        self.check(os.path.join(GUIDES, 'testing.md'))

    def test_vala(self):
        self.check(os.path.join(GUIDES, 'vala.md'))

    def test_interpreters(self):
        """A virtual environment has `gi` with the system's packages, and says so without."""
        for options, error in (['--system-site-packages'], ''), ([], "ModuleNotFoundError: No module named 'gi'"):
            with tempfile.TemporaryDirectory(prefix='weblocks-venv-') as folder:
                subprocess.run([sys.executable, '-m', 'venv', '--without-pip', *options, folder], check=True)
                done = subprocess.run([os.path.join(folder, 'bin', 'python3'), '-c', 'import gi'], env={}, text=True,
                                      stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
                self.assertEqual((done.returncode != 0, done.stderr.strip().rpartition('\n')[2]), (bool(error), error))

    def test_each_guide_is_in_the_index_once(self):
        listed = re.findall(r'\]\(([^)]*)\)', read_text(os.path.join(GUIDES, 'README.md')))
        self.assertEqual(sorted(listed), sorted(set(glob('*.md', root_dir=GUIDES)) - {'README.md'}))

    def test_each_guide_with_programs_has_a_test(self):
        for guide in set(glob('*.md', root_dir=GUIDES)) - EXCLUDED:
            name = guide.removesuffix('.md').replace('-', '_')
            with self.subTest(name):
                self.assertEqual(bool(programs(os.path.join(GUIDES, guide))),
                                 hasattr(self, f'test_{name}'))
