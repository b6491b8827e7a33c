# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Runs the examples of the README unchanged, and checks that they exclude each other.

test_readme.py README.md [TEST]...

The section "Examples" has one block of code for each language, which calls `lp page.pdf` while it
holds the lock `printer` of the bucket `default`. The test provides an `lp` that waits, so that the
test can query the holder of the lock.
"""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys

from buses import environment, read_text, spawn, write_text
from harness import PATIENCE, BusTestCase, wait_exit, wait_for

README = os.path.abspath(sys.argv.pop(1))
SECTION = 'Examples'
LINES_MAX = {'c': 17}  # a whole program
LINES_MAX_OTHERS = 6

# Writes its arguments to a file, and exits when the test lets it.
LP = '''#!/bin/sh
echo "$*" >"$LP_STARTED"
read -r _ <"$LP_END"
'''

# The installation directory according to the README.
JS_INSTALLED = 'file:///usr/share/weblocks-1/gjs/'


def snippets():
    """The blocks of the section: language -> text."""
    text = read_text(README)
    section = re.search(rf'^## {SECTION}\n(.*?)(?=^## |\Z)', text, re.MULTILINE | re.DOTALL)
    if section is None:
        raise AssertionError(f'{README} has no section "{SECTION}"')
    found = re.findall(r'^```(\w+)\n(.*?)^```$', section[1], re.MULTILINE | re.DOTALL)
    if len(dict(found)) != len(found):
        raise AssertionError(f'two blocks of one language: {[language for language, _ in found]}')
    return dict(found)


class Readme(BusTestCase):
    def setUp(self):
        super().setUp()
        self.directory = os.path.join(self.bus.directory, self._testMethodName)
        os.mkdir(self.directory)
        self.started = self.fifo('started')
        self.end = self.fifo('end')
        self.write('lp', LP, mode=0o755)
        library = environment('WEBLOCKS_LIBRARY_DIR')
        self.env = {**self.bus.environment(),
                    'PATH': ':'.join([self.directory, environment('WEBLOCKS_CLI_DIR'),
                                      os.environ['PATH']]),
                    'LP_STARTED': self.path('started'), 'LP_END': self.path('end'),
                    'GI_TYPELIB_PATH': library, 'LD_LIBRARY_PATH': library,
                    'PYTHONPATH': environment('WEBLOCKS_PYTHON_DIR')}
        self.contender = self.client()

    def path(self, name):
        return os.path.join(self.directory, name)

    def fifo(self, name):
        os.mkfifo(self.path(name))
        # For reading and writing, so that neither this process nor lp blocks in open().
        fd = os.open(self.path(name), os.O_RDWR | os.O_NONBLOCK)
        self.addCleanup(os.close, fd)
        return fd

    def write(self, name, text, mode=0o644):
        write_text(self.path(name), text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def snippet(self, language):
        found = snippets()
        self.assertIn(language, found, f'{README} has no block of {language}')
        lines = [line for line in found[language].splitlines() if line.strip()]
        self.assertLessEqual(len(lines), LINES_MAX.get(language, LINES_MAX_OTHERS), found[language])
        return found[language]

    def lp_has_started(self):
        try:
            return os.read(self.started, 4096).decode()
        except BlockingIOError:
            return ''

    def state(self):
        held, pending = self.contender.query('default')
        return ([client for name, _mode, client in held if name == 'printer'],
                [client for name, _mode, client in pending if name == 'printer'])

    def start(self, command):
        process = spawn(command, env=self.env, cwd=self.directory, stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def run_against_a_contender(self, command):
        contender = self.contender
        first, token = contender.request('printer')
        self.assertNotEqual(token, 0)
        process = self.start(command)

        def waits():
            if process.poll() is not None:
                self.fail(f'it ended with {process.returncode} before it waited:\n'
                          f'{process.stdout.read().decode()}')
            return self.state()[1]
        client, = wait_for(waits, what='request of the snippet', every=0.01)
        self.assertNotEqual(client, contender.name)
        self.assertEqual(self.lp_has_started(), '', 'the body ran without the lock')

        second, token = contender.request('printer')
        self.assertEqual(token, 0)
        contender.release(first)
        called_with = wait_for(self.lp_has_started, what='lp of the snippet', every=0.01)
        self.assertEqual(called_with, 'page.pdf\n')
        self.assertEqual(self.state(), ([client], [contender.name]))
        self.assertFalse(contender.granted(second))

        os.write(self.end, b'\n')
        contender.wait_granted(second)
        code, output = wait_exit(process), process.stdout.read().decode()
        self.assertEqual(code, 0, output)
        self.assertEqual(self.state(), ([contender.name], []))
        self.assertEqual(self.lp_has_started(), '', 'lp was called twice')
        contender.release(second)
        self.crash_while_it_prints(command)
        return output

    def crash_while_it_prints(self, command):
        """Kills the process that holds the lock: that is `weblocks` if the program is a shell's."""
        self.start(command)
        wait_for(self.lp_has_started, what='lp of the snippet', every=0.01)
        id_, token = self.contender.request('printer')
        self.assertEqual(token, 0)
        holder, = (entry['pid'] for entry in self.contender.inspect()[0] if entry['state'] == 'held')
        os.kill(holder, signal.SIGKILL)
        self.contender.wait_granted(id_)
        self.contender.release(id_)
        os.write(self.end, b'\n')

    def need(self, *commands):
        for command in commands:
            if shutil.which(command) is None:
                self.skipTest(f'{command} is not installed')

    def test_c(self):
        compiler = shlex.split(environment('WEBLOCKS_CC'))
        self.need(compiler[0], 'pkg-config')
        text = self.snippet('c')
        # The command of the first line, with the library of the build.
        command = re.match(r'/\* cc -o (\S+) (\S+) \$\(pkg-config --cflags --libs weblocks-1\) \*/\n',
                           text)
        self.assertIsNotNone(command, text)
        flags = subprocess.run(['pkg-config', '--cflags', '--libs', 'weblocks-1'], check=True,
                               stdout=subprocess.PIPE, text=True, env={
                                   **self.env, 'PKG_CONFIG_PATH':
                                   environment('WEBLOCKS_PKG_CONFIG_DIR')}).stdout
        program = self.path(command[1])
        built = subprocess.run([*compiler, '-Wall', '-Wextra', '-Werror', '-o', program,
                                self.write(command[2], text), *shlex.split(flags)],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(built.returncode, 0, built.stdout)
        self.assertEqual(self.run_against_a_contender([program]), '')

    def test_javascript(self):
        self.need('gjs')
        text = self.snippet('js')
        self.assertIn(JS_INSTALLED, text)
        text = text.replace(JS_INSTALLED, f"file://{environment('WEBLOCKS_GJS_DIR')}/")
        script = self.write('snippet.js', text)
        self.assertEqual(self.run_against_a_contender(['gjs', '-m', script]), '')

    def test_python(self):
        script = self.write('snippet.py', self.snippet('python'))
        self.assertEqual(self.run_against_a_contender([sys.executable, script]), '')

    def test_shell(self):
        script = self.write('snippet.sh', self.snippet('sh'))
        self.assertEqual(self.run_against_a_contender(['sh', '-u', script]), '')

    def test_shell_shows_the_holder(self):
        # Unchanged, except for a shorter time-out.
        text = self.snippet('sh')
        self.assertIn('--wait 1min', text)
        script = self.write('snippet.sh', text.replace('--wait 1min', '--wait 0.1'))
        id_, _token = self.contender.request('printer')
        result = subprocess.run(['sh', '-u', script], env=self.env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, timeout=PATIENCE, text=True)
        self.assertIn(str(os.getpid()), result.stdout)
        self.assertEqual(result.returncode, 99)
        self.assertEqual(self.lp_has_started(), '')
        self.contender.release(id_)

    def test_shell_shows_no_holder_if_lp_fails(self):
        """Also if its status is the default one of `weblocks run` for a conflict."""
        script = self.write('snippet.sh', self.snippet('sh'))
        for status in (1, 3):
            self.write('lp', f'#!/bin/sh\nexit {status}\n', mode=0o755)
            result = subprocess.run(['sh', '-u', script], env=self.env, stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, timeout=PATIENCE, text=True)
            self.assertEqual((result.returncode, result.stdout), (status, ''))

    def test_nothing_else_is_in_the_section(self):
        self.assertEqual(sorted(snippets()), ['c', 'js', 'python', 'sh'])
