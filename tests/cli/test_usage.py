# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The command line, and that help, manual page and completions agree."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from buses import PATIENCE, environment, read_bytes, read_text, write_bytes
from cli import CliTestCase

COMMANDS = ('run', 'hold', 'list', 'watch', 'break', 'steal', 'cluster', 'help')


def data_file(name):
    return read_text(os.path.join(environment('WEBLOCKS_DATA_DIR'), name))


class Module(CliTestCase):
    """A module that can't be loaded: a message and status 70."""

    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp(prefix='weblocks-module-')
        self.addCleanup(shutil.rmtree, self.folder)
        self.program = shutil.copy(environment('WEBLOCKS_CLI'), self.folder)
        self.module = os.path.join(self.folder, 'weblocks-commands.so')

    def put(self, content):
        write_bytes(self.module, content)

    def of_this_build(self):
        return read_bytes(os.path.join(os.path.dirname(environment('WEBLOCKS_CLI')), 'weblocks-commands.so'))

    def check_refused(self, message):
        mark = os.path.join(self.folder, 'mark')
        for line in (('list',), ('hold', 'x'), ('run', 'x', 'touch', mark), ('run', '-F', 'x', 'touch', mark)):
            done = subprocess.run([self.program, *line], env=self.env(), capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (70, ''), (line, done.stderr))
            self.assertRegex(done.stderr, f'^weblocks: .*{message}.*\n$')
        self.assertFalse(os.path.exists(mark))

    def test_what_is_no_module(self):
        self.put(b'this is none')
        self.check_refused(r'weblocks-commands\.so')

    def test_another_version(self):
        """A program that runs for long may find the module of the next version."""
        version = subprocess.run([environment('WEBLOCKS_CLI'), '--version'], env=self.env(), capture_output=True,
                                 check=True).stdout.split()[1]
        other = b'9' * len(version)
        self.put(self.of_this_build().replace(version + b'\0', other + b'\0'))
        self.check_refused(f'weblocks-commands\\.so is of version {other.decode()}')

    @contextlib.contextmanager
    def lost(self, *command):
        """`weblocks run`, whose keeper is killed when the module is gone."""
        self.put(self.of_this_build())
        with subprocess.Popen([self.program, 'run', *command], env=self.env(), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as job:
            keeper = int(job.stdout.readline())
            os.unlink(self.module)
            os.kill(keeper, signal.SIGKILL)
            self.assertRegex(job.stderr.readline(), r'^weblocks: .*weblocks-commands\.so.*\n$')
            yield job

    def test_it_is_gone_when_the_lock_is_lost(self):
        """The command is ended all the same."""
        for command in 'exec sleep 1000', 'trap "" TERM; exec sleep 1000', 'kill -STOP $$; echo ran':
            with self.lost('--grace=0.1', self.unique(), 'sh', '-c', f'echo $PPID; {command}') as job:
                self.assertEqual((job.stdout.read(), job.wait(PATIENCE)), ('', 75), command)

    def test_it_is_gone_when_a_loss_is_ignored(self):
        with self.lost('--on-loss=ignore', self.unique(), 'sh', '-c', 'trap "echo got; exit 5" USR1; echo $PPID;'
                       'while :; do sleep 0.1; done') as job:
            job.send_signal(signal.SIGUSR1)
            self.assertEqual((job.stdout.read(), job.wait(PATIENCE)), ('got\n', 5))


class UsageErrors(CliTestCase):
    """Usage errors: a message and status 64. No bus is needed."""

    def setUp(self):
        super().setUp()
        self.nowhere = self.env(DBUS_SESSION_BUS_ADDRESS='unix:path=/nowhere')

    def check_usage_error(self, *line, expected=''):
        done = self.weblocks(*line, env=self.nowhere)
        self.assertEqual((done.returncode, done.stdout), (64, ''), (line, done.stderr))
        self.assertRegex(done.stderr, '^(weblocks: .+\n)+$')
        self.assertIn(expected, done.stderr)

    def test_commands(self):
        done = self.weblocks(env=self.nowhere)
        self.assertEqual((done.returncode, done.stdout), (64, ''))
        self.assertIn('usage: ', done.stderr)
        for line in (('no-such-command',), ('',), ('--no-such-option',), ('-x', 'run'), ('RUN',),
                     ('help', 'no-such-command'), ('\x1b[2J',)):
            self.check_usage_error(*line, expected='command')
        self.check_usage_error('help', 'run', 'list', expected='list')

    def test_options(self):
        for command in COMMANDS:
            for option in ('--no-such-option', '-Z', '-nZ' if command == 'run' else '-Z', '--=x',
                           '-\x1b', b'-\xff', '--\u202e'):
                self.check_usage_error(command, option)
        for line in (('run', '--shared=yes'), ('list', '--json=1'), ('run', '-w'), ('run', '-E'),
                     ('run', '--on-loss'), ('list', '-b'), ('steal', '--why'),
                     ('hold', '--stdin=x'), ('run', '--also-flock'), ('run', '-c'),
                     ('run', '--s', 'x', 'true'), ('run', '--why', b'\xff', 'x', 'true'),
                     ('list', '-b', b'\xff')):
            self.check_usage_error(*line)

    def test_values(self):
        for option in ('-w', '--timeout', '--grace'):
            for value in ('', 'x', '-1', '1S', '1,5', '0x10', 'nan', 'inf', '+1', ' 1', '1 ', '.', '1e', '--', 's',
                          '1 s', '1ss', '1mins', '1min30s', '0x1d', '-1s'):
                self.check_usage_error('run', option, value, 'x', 'true',
                                       expected='valid time, such as 90, 90s')
        for value in ('', 'x', '-1', '256', '1.0', '99999999999999999999', '0x1', ' 1'):
            self.check_usage_error('run', '-E', value, 'x', 'true', expected='0 to 255')
        for value in ('', 'x', '-1', '0', '1.0', '4294967296', '0x2', ' 2'):
            for command in (('run', 'x', 'true'), ('hold', 'x')):
                self.check_usage_error(command[0], '--slots', value, *command[1:], expected='from 1 on')
        for options in (('--slots=2', '-s'), ('--slots', '2', '--bucket=cluster:x')):
            self.check_usage_error('run', *options, 'x', 'true', expected='--slots')
        for value in ('', 'Run', 'ignore'):
            self.check_usage_error('run', f'--no-bus={value}', 'x', 'true', expected='neither')
        for value in ('', 'Kill', 'kill ', 'stop'):
            self.check_usage_error('run', f'--on-loss={value}', 'x', 'true', expected='neither')

    def test_arguments(self):
        for line in (('run',), ('run', 'x'), ('run', 'x', '--'), ('run', '--'), ('run', '-s'),
                     ('watch', 'x', 'y'), ('watch', b'\xff'), ('list', 'x', 'y'), ('steal',),
                     ('steal', 'x', 'y'), ('run', b'\xff', 'true'), ('steal', b'\xff'),
                     ('list', b'\xff'), ('break',), ('break', 'x', 'y'), ('break', b'\xff'),
                     ('hold',), ('hold', 'x', 'y'), ('hold', b'\xff'),
                     ('cluster', '--metrics'), ('cluster', 'x'), ('cluster', 'status', 'x'),
                     ('run', 'x', '-c', 'true', 'more'), ('run', '-c', 'true', 'x', 'more'),
                     ('run', '-c', 'true'), ('run', 'x', '-c'), ('run', '--and', 'x'), ('run', 'x', '--and'),
                     ('run', 'x', '--and', 'y'), ('run', 'x', '--and', b'\xff', 'true'),
                     ('run', '--and', b'\xff', 'x', 'true'), ('break', '--uid', 'no such user', 'x'),
                     ('break', '--uid', '4294967295', 'x'), ('break', '--user', '0', 'x')):
            self.check_usage_error(*line)

    def test_connect_timeout(self):
        for bucket in (), ('--bucket', 'clusters'):
            self.check_usage_error('run', *bucket, '--connect-timeout=1', 'x', 'true', expected='--connect-timeout')

    def test_steal_excludes_other_options(self):
        for option in ('-s', '-n', '-w1', '-w0', '--nb'):
            self.check_usage_error('run', '--steal', option, 'x', 'true', expected='--steal')

    def test_no_control_characters_in_messages(self):
        for line in (('\x1b[2J',), ('run', '--\x1b[2J'), ('list', '--\x1b[2J'),
                     ('run', '-w', '\x1b[2J', 'x', 'true'), ('list', 'x', '\u202e')):
            done = self.weblocks(*line, env=self.nowhere)
            self.assertNotRegex(done.stderr, '[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]')


class ValidUsage(CliTestCase):
    def test_options_after_the_name(self):
        client = self.client()
        client.request('x')
        self.assertIn(client.name, self.check(0, 'list', 'x', '--json'))
        self.assertIn(client.name, self.check(0, 'steal', 'x', '--why', 'because'))
        self.assertEqual(self.check(1, 'steal', '--', '--why'), '')

    def test_version(self):
        for option in ('--version', '-V'):
            self.assertRegex(self.check(0, option), r'^weblocks \d+\.\d+\.\d+\n$')

    def test_help(self):
        text = self.check(0, 'help')
        for option in ('--help', '-h'):
            self.assertEqual(self.check(0, option), text)
        self.assertEqual(re.findall(r'^  (\w+)  ', text, re.M), list(COMMANDS))
        for command in COMMANDS:
            text = self.check(0, 'help', command)
            self.assertTrue(text.startswith(f'usage: weblocks {command} [OPTION...]'), text)
            for option in ('--help', '-h'):
                self.assertEqual(self.check(0, command, option), text)
            # Takes precedence over everything after it.
            self.assertEqual(self.check(0, command, '--help', '--no-such-option'), text)


class Documented(CliTestCase):
    """Every option is in help, manual page and completions."""

    service = False

    def options(self, command):
        """{long name: letter or ''} of all options in the help."""
        found = {}
        for line in self.check(0, 'help', command).splitlines():
            match = re.match(r'  (?:-(\w), |    )--([\w-]+)(.*)', line)
            if match:
                found[match[2]] = match[1] or ''
                found.update((alias, '') for alias in re.findall(r'(?<=, --)\w+', match[3]))
        self.assertIn('help', found)
        return found

    def test_manual_page(self):
        page = re.sub(r'\\f.', '', data_file('weblocks.1')).replace('\\-', '-').replace('\\ ', ' ')
        for command in COMMANDS:
            start = page.index(f'\n.SS {command}\n')
            section = page[start:page.index('\n.SS', start + 1)]
            section += page[page.index('\n.SS All commands'):page.index('\n.SH OUTPUT')]
            for name, letter in self.options(command).items():
                self.assertRegex(section, rf'--{name}\b', command)
                if letter:
                    self.assertRegex(section, rf'[ "]-{letter}\b', command)

    def test_manual_page_has_every_status(self):
        page = data_file('weblocks.1')
        section = page[page.index('.SH EXIT STATUS'):page.index('.SH ENVIRONMENT')]
        documented = {int(number) for number in re.findall(r'^\.BI? (\d+)', section, re.M)}
        self.assertEqual(documented, {0, 1, 64, 66, 69, 70, 71, 74, 75, 77, 126, 127, 128})

    def test_bash_completion(self):
        script = data_file('completions/weblocks.bash')
        function = script[script.index('_weblocks_options() {'):]
        function = function[:function.index('\n}\n') + 3]
        for command in COMMANDS:
            out = subprocess.run(['bash', '-c', f'{function}\n_weblocks_options {command}'],
                                 capture_output=True, text=True, check=True).stdout
            offered = {word.rstrip('=').removeprefix('--') for word in out.split()}
            # The second name of an option need not be offered.
            self.assertEqual(offered, set(self.options(command)) - {'nb'}, command)

    def test_zsh_completion(self):
        script = data_file('completions/_weblocks')
        shared = script[:script.index('case $state')]
        for command in COMMANDS:
            start = script.index(f'\n        {command})')
            section = script[start:script.index(';;', start)] + shared
            for name, letter in self.options(command).items():
                if name != 'nb':
                    self.assertRegex(section, rf'--{name}\b', command)
                if letter:
                    self.assertRegex(section, rf'[{{(,]-{letter}\b', command)

    @unittest.skipUnless(shutil.which('fish'), 'no fish')
    def test_fish_completion(self):
        """Completions by fish, without its own completion files."""
        script = os.path.join(environment('WEBLOCKS_DATA_DIR'), 'completions/weblocks.fish')
        for command in COMMANDS:
            out = subprocess.run(
                ['fish', '--no-config', '-c', f'source {script}; complete -C "weblocks {command} -"'],
                capture_output=True, text=True, check=True, env=self.env(HOME='/nowhere')).stdout
            offered = {word.split('\t')[0] for word in out.splitlines()}
            options = self.options(command)
            for name, letter in options.items():
                if name != 'nb':
                    self.assertTrue({f'--{name}', f'--{name}='} & offered, (command, name, offered))
                if letter:
                    self.assertIn(f'-{letter}', offered, command)
            self.assertEqual({word.strip('-=') for word in offered if word.startswith('--')},
                             set(options) - {'nb'}, command)
