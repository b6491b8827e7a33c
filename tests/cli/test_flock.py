# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""weblocks run with the options of flock(1): -c, and --also-flock with the real flock(1)."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from buses import environment, write_text
from cli import PRINT_AND_WAIT, CliTestCase
from harness import wait_for


class ShellLine(CliTestCase):
    def test_before_or_after_the_name(self):
        name = self.unique()
        line = 'echo "$WEBLOCKS_NAME" $0 $#; exit 3'
        for option in (('-c', line), (f'-c{line}',), ('--command', line), (f'--command={line}',)):
            for arguments in ((name, *option), (*option, name), (*option, '-s', name)):
                self.assertEqual(self.check(3, 'run', *arguments, env=self.env(SHELL='/bin/sh')),
                                 f'{name} /bin/sh 0\n')
            self.check(64, 'run', name, *option, 'true')
        for option in ('-c', '--command'):
            self.check(64, 'run', name, option)
        for option in ('-c', ''), ('--command=',):
            self.check(0, 'run', name, *option)

    def test_the_shell(self):
        with tempfile.TemporaryDirectory() as folder:
            shell = os.path.join(folder, 'shell')
            write_text(shell, '#!/bin/sh\necho "$@"\n')
            os.chmod(shell, 0o755)
            self.assertEqual(self.check(0, 'run', 'x', '-c', 'a  b', env=self.env(SHELL=shell)),
                             '-c a  b\n')
        for env in (self.env(SHELL=''), {**self.env(), 'SHELL': '/bin/sh'}):
            self.assertEqual(self.check(0, 'run', 'x', '-c', 'echo $((1 + 1))', env=env), '2\n')

    def test_purpose(self):
        name = self.unique()
        job = self.job('run', name, '-c', PRINT_AND_WAIT[2])
        self.assertEqual(job.line(), 'on')
        self.assertEqual(self.entry(name)['why'], PRINT_AND_WAIT[2])
        job.write_line()
        self.assertEqual(job.wait(), 0)

    def test_a_command_of_that_name(self):
        for word in ('-c', '-ctrue', '--command=true'):
            self.check(127, 'run', 'x', '--', word, 'true')
        self.check(127, 'run', 'x', '--commands=true')


class AlsoFlock(CliTestCase):
    def setUp(self):
        super().setUp()
        self.name = self.unique()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, 'file')
        self.options = (f'--also-flock={self.file}',)

    def try_flock(self, *options):
        """The exit status of flock(1) without waiting."""
        return subprocess.run(['flock', '-n', *options, self.file, 'true'], check=False).returncode

    def flock(self, *options):
        """A job of flock(1) that has locked the file."""
        job = self.job(*options, self.file, *PRINT_AND_WAIT, program='flock')
        self.assertEqual(job.line(), 'on')
        return job

    def waiting(self, *options, **more):
        """`weblocks run` that holds the lock, and waits for the file."""
        job = self.job('run', *options, *self.options, self.name, 'echo', 'ran', **more)
        wait_for(lambda: self.held(self.name), what='the lock to be held')
        return job

    def end(self, job):
        job.write_line()
        self.assertEqual(job.wait(), 0)

    def test_shared(self):
        reader = self.flock('-s')
        job = self.running('-s', *self.options, self.name)
        self.assertEqual((self.try_flock('-s'), self.try_flock()), (0, 1))
        self.end(reader)
        self.assertEqual(self.try_flock(), 1)
        self.end(job)

    def test_the_file_is_listed(self):
        """While it waits for the file, and afterwards; with a purpose and without."""
        other = self.flock()
        for options, text in ((), 'echo ran'), (('--why', 'x' * 300), 'x' * 300), (('--why=',), None):
            job = self.waiting(*options)
            why = f'also locks {self.file}: {text}'[:256] if text else ''
            self.assertEqual(self.entry(self.name)['why'], why)
            if text:
                self.assertIn(self.file, self.check(0, 'list', self.name))
            job.signal(signal.SIGTERM)
            job.wait()
        self.end(other)
        self.assertIn(self.file, self.check(0, 'run', *self.options, self.name,
                                            environment('WEBLOCKS_CLI'), 'list', self.name))

    def test_it_waits_for_flock(self):
        other = self.flock()
        job = self.waiting()
        self.end(other)
        self.assertEqual((job.line(), job.wait(), job.stderr()), ('ran', 0, ''))
        self.assertEqual((self.held(self.name), self.try_flock()), ([], 0))

    @staticmethod
    def waits_in_flock(job):
        with open('/proc/locks', encoding='ascii') as file:
            return any('->' in line and str(job.keeper()) in line.split() for line in file)

    def test_no_waiting(self):
        other = self.flock()
        for options, status in ((('-n',), 1), (('-n', '-E', '9'), 9), (('-s', '-n'), 1)):
            self.check(status, 'run', *options, *self.options, self.name, 'echo', 'ran')
            self.assertEqual(self.held(self.name), [])
        self.end(other)
        holder = self.client()
        holder.request(self.name)
        self.check(1, 'run', '-n', *self.options, self.name, 'echo', 'ran')
        self.assertEqual(self.try_flock(), 0)

    def test_one_time_out_for_both(self):
        """With separate time-outs, the second would end later than the grant and the whole time. A
        busy machine may be late too, but not each time."""
        other, holder = self.flock(), self.client()

        def try_once():
            lock, _ = holder.request(self.name)
            job = self.job('run', '-v', '-w', '1', '-E', '9', *self.options, self.name, 'echo', 'ran')
            self.wait_pending(self.name)
            time.sleep(0.7)
            holder.release(lock)
            self.assertEqual((job.wait(), job.line(), self.held(self.name)), (9, None, []))
            granted = re.search(r"acquired '.*' in (\S+) s", job.stderr())
            ended = re.search(rf"could not lock '{self.file}' in (\S+) s\n$", job.stderr())
            if granted is None or ended is None:
                return False
            self.assertGreaterEqual(float(ended[1]), 1)
            return float(ended[1]) < float(granted[1]) + 1

        self.assertTrue(any(try_once() for _ in range(5)))
        self.end(other)

    def test_a_signal_meanwhile(self):
        other = self.flock()
        for number in (signal.SIGTERM, signal.SIGINT):
            job = self.waiting()
            job.signal(number)
            self.assertEqual((job.wait(), job.line(), job.stderr()), (128 + number, None, ''))
            self.assertEqual(self.held(self.name), [])
        self.end(other)

    def test_a_loss_meanwhile(self):
        other = self.flock()
        job = self.waiting()
        self.client().steal(self.name)
        self.assertEqual((job.wait(), job.line(), job.stderr()),
                         (75, None, f"weblocks: the lock '{self.name}' was stolen\n"))
        self.end(other)

    def test_the_next_one_waits_for_the_lock_only(self):
        """Of several that need both, only the holder of the lock waits for the file."""
        other = self.flock()
        first = self.waiting()
        second = self.job('run', *self.options, self.name, 'echo', 'ran')
        self.wait_pending(self.name)
        wait_for(lambda: self.waits_in_flock(first), what='the first to wait for the file')
        self.assertFalse(self.waits_in_flock(second))
        self.end(other)
        self.assertEqual((first.line(), first.wait()), ('ran', 0))
        self.assertEqual((second.line(), second.wait()), ('ran', 0))

    def test_with_close_background_processes_do_not_keep_it(self):
        done = self.check(0, 'run', '-o', *self.options, self.name, 'sh', '-c',
                          'sleep 1000 >/dev/null 2>&1 & echo $!')
        self.addCleanup(os.kill, int(done), signal.SIGKILL)
        self.assertEqual(self.try_flock(), 0)

    def test_files(self):
        folder = os.path.dirname(self.file)
        self.check(0, 'run', '--also-flock', folder, self.name, 'true')
        for file in (os.path.join(folder, 'no', 'file'), '', '/proc/no-such-file'):
            done = self.weblocks('run', '--also-flock', file, self.name, 'echo', 'ran')
            self.assertEqual((done.returncode, done.stdout), (66, ''))
            self.assertRegex(done.stderr, f"^weblocks: '{file}': .+\n$")
        self.check(64, 'run', '--also-flock', self.file)

    def test_a_fifo(self):
        """It is not waited for until somebody opens it for writing."""
        fifo = self.file + '.fifo'
        os.mkfifo(fifo)
        self.addCleanup(os.unlink, fifo)
        self.check(0, 'run', '--also-flock', fifo, self.name, 'true')

    def run_with_error(self, error, *options, when='1+'):
        """strace makes flock() fail. Returns the status, how the file is open then, and the errors."""
        if shutil.which('strace') is None:
            self.skipTest('there is no strace')
        # The leak sanitizer doesn't work in a traced process.
        env = self.env(ASAN_OPTIONS=os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0')
        show = ('cd /proc/$PPID/fd; for fd in *; do [ $fd -ef "$0" ] && grep flags ../fdinfo/$fd; '
                'done; true')
        job = self.job('-f', '-D', '-qq', '-o', os.path.join(self.bus.directory, 'strace'),
                       '-e', 'trace=flock', '-e', f'inject=flock:error={error}:when={when}',
                       environment('WEBLOCKS_CLI'), 'run', *options, *self.options, self.name,
                       'sh', '-c', show, self.file, program='strace', env=env)
        modes = [int(line.split()[1], 8) & os.O_ACCMODE for line in iter(job.line, None)]
        return job.wait(), modes, job.stderr()

    def test_a_file_system_of_a_network(self):
        """NFS refuses an exclusive lock of a file that is not open for writing."""
        self.assertEqual(self.run_with_error('EBADF', when='9'), (0, [os.O_RDONLY], ''))
        self.assertEqual(self.run_with_error('EBADF', when='1'), (0, [os.O_RDWR], ''))
        for error, options, message in (
                ('EBADF', (), 'requires write permission for an exclusive lock'),
                ('ENOLCK', ('-s',), 'has no lock available; on NFSv3, check that rpc.statd runs'),
                ('EOPNOTSUPP', ('-n',), 'does not support flock()')):
            self.assertEqual(self.run_with_error(error, *options), (
                71, [], f"weblocks: '{self.file}': its file system {message}\n"))
            self.assertEqual(self.held(self.name), [])

    def test_on_a_terminal(self):
        other = self.flock()
        terminal = self.terminal('run', *self.options, self.name, 'echo', 'ran', columns=200)
        terminal.wait_for(f"\rWaiting for '{self.file}'")
        self.end(other)
        self.assertEqual(terminal.wait(), 0)
        self.assertEqual([line for line in terminal.lines() if line], ['ran'])
