# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""weblocks run: when the lock is granted, the environment of the command, and exit statuses."""

import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from buses import PATIENCE, environment, spawn, wait_exit
from cli import PRINT_AND_WAIT, CliTestCase
from harness import wait_for
from sockets import packets


class Status(CliTestCase):
    """The exit status of `run`, and that the lock is released."""

    def run_sh(self, status, script):
        name = self.unique()
        self.check(status, 'run', name, 'sh', '-c', script)
        self.assertEqual(self.held(name), [])

    def test_status_of_the_command(self):
        for status in (0, 1, 2, 64, 75, 126, 127, 128, 255):
            self.run_sh(status, f'exit {status}')

    def test_a_command_killed_by_a_signal(self):
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGUSR1):
            self.run_sh(128 + number, f'kill -{int(number)} $$')

    def test_a_missing_command(self):
        name = self.unique()
        for command in ('weblocks-no-such-command', '/no/such/file'):
            done = self.weblocks('run', name, command)
            self.assertEqual(done.returncode, 127, done.stderr)
            self.assertRegex(done.stderr, f"^weblocks: '{command}': No such file or directory\n$")
            self.assertEqual(self.held(name), [])

    def test_a_command_that_cannot_be_executed(self):
        name = self.unique()
        with tempfile.NamedTemporaryFile() as file:
            for command in ('/', file.name):
                done = self.weblocks('run', name, command)
                self.assertEqual(done.returncode, 126, done.stderr)
                self.assertIn('Permission denied', done.stderr)
                self.assertEqual(self.held(name), [])


class Modes(CliTestCase):
    def mode(self, *options):
        name = self.unique()
        job = self.running(*options, name)
        modes = self.held(name)
        job.write_line('3')
        self.assertEqual(job.wait(), 3)
        self.assertEqual(self.held(name), [])
        return modes

    def test_exclusive_or_shared(self):
        for options, mode in (((), 'exclusive'), (('-x',), 'exclusive'), (('-s',), 'shared'),
                              (('--exclusive',), 'exclusive'), (('--shared',), 'shared'),
                              (('-sx',), 'exclusive'), (('-x', '-s'), 'shared'),
                              (('--sha',), 'shared')):
            self.assertEqual(self.mode(*options), [mode], options)

    def test_shared_side_by_side_and_a_writer_waits(self):
        name = self.unique()
        readers = [self.running('-s', name) for _ in range(3)]
        self.assertEqual(self.held(name), ['shared'] * 3)
        writer = self.job('run', name, *PRINT_AND_WAIT)
        self.wait_pending(name)
        # The waiting writer is not overtaken.
        late = self.job('run', '-s', name, *PRINT_AND_WAIT)
        self.wait_pending(name, 2)
        for reader in readers:
            reader.write_line()
            self.assertEqual(reader.wait(), 0)
        self.assertEqual(writer.line(), 'on')
        self.assertEqual((self.held(name), self.pending(name)), (['exclusive'], ['shared']))
        writer.write_line()
        self.assertEqual(late.line(), 'on')
        late.write_line()
        self.assertEqual((writer.wait(), late.wait()), (0, 0))

    def test_in_the_order_of_requests(self):
        name = self.unique()
        holder = self.client()
        lock, _ = holder.request(name)
        with tempfile.NamedTemporaryFile() as file:
            jobs = []
            for number in range(4):
                jobs.append(self.job('run', name, 'sh', '-c', f'echo {number} >> {file.name}'))
                self.wait_pending(name, number + 1)
            holder.release(lock)
            self.assertEqual([job.wait() for job in jobs], [0] * 4)
            self.assertEqual(file.read(), b'0\n1\n2\n3\n')

    def test_one_at_a_time(self):
        """Eight processes increment a number in a file: each reads it, pauses, and writes it."""
        name = self.unique()
        with tempfile.NamedTemporaryFile('w+') as file:
            file.write('0')
            file.flush()
            script = (f'for i in 1 2 3 4; do {environment("WEBLOCKS_CLI")} run {name} sh -c '
                      f"'n=$(cat {file.name}); sleep 0.01; echo $((n+1)) > {file.name}'; done")
            jobs = [spawn(['sh', '-c', script], env=self.env()) for _ in range(8)]
            for job in jobs:
                self.addCleanup(job.kill)
            self.assertEqual([wait_exit(job) for job in jobs], [0] * 8)
            file.seek(0)
            self.assertEqual(file.read(), '32\n')

    def test_names(self):
        for name in ('', ' ', 'a b', 'Ä/ß', 'x-y', "it's", '\n', '\x1b[2J', '👍', 'n' * 1024):
            job = self.running(name)
            self.assertEqual(self.held(name), ['exclusive'], repr(name))
            job.write_line()
            self.assertEqual(job.wait(), 0)

    def test_invalid_names(self):
        for name, status in (('-', 64), ('-x', 64), ('n' * 1025, 69), ('a\uffffb', 64)):
            done = self.weblocks('run', '--', name, 'echo', 'ran')
            self.assertEqual(done.returncode, status, done)
            self.assertEqual(done.stdout, '')
            self.assertRegex(done.stderr, '^weblocks: .*\n$')
        done = self.weblocks('run', b'\xff', 'echo', 'ran')
        self.assertEqual((done.returncode, done.stdout), (64, ''))

    def test_buckets(self):
        name, bucket = self.unique(), self.unique('bucket')
        for options in (('-b', bucket), ('-b' + bucket,), ('--bucket', bucket),
                        (f'--bucket={bucket}',)):
            job = self.running(*options, name)
            self.assertEqual((self.held(name, bucket), self.held(name)), (['exclusive'], []))
            job.write_line()
            self.assertEqual(job.wait(), 0)
        for bucket in ('', 'b' * 256):
            self.check(64, 'run', '-b', bucket, name, 'true')

    def test_system_bus(self):
        name = self.unique()
        env = self.env(DBUS_SYSTEM_BUS_ADDRESS=self.bus.address,
                       DBUS_SESSION_BUS_ADDRESS='unix:path=/nowhere')
        job = self.running('--system', name, env=env)
        self.assertEqual(self.held(name), ['exclusive'])
        job.write_line()
        self.assertEqual(job.wait(), 0)
        self.check(69, 'run', name, 'true', env=env)

    def test_why(self):
        for options, why in ((('--why', 'page 3'), 'page 3'), (('--why=',), ''),
                             ((), ' '.join(PRINT_AND_WAIT))):
            name = self.unique()
            job = self.running(*options, name)
            self.assertEqual(self.entry(name)['why'], why)
            job.write_line()
            self.assertEqual(job.wait(), 0)

    def test_why_of_unusual_commands(self):
        # Truncated to 256 bytes, but not within a character, and with '?' for bytes that D-Bus
        # strings can't contain.
        for argument, rest in (('ä' * 200, 'ä' * 127), ('a\uffffb', 'a???b'),
                               (b'\xff', '\ufffd'), ('x' * 300, 'x' * 254)):
            name = self.unique()
            job = self.running(name, command=('sh', '-c', PRINT_AND_WAIT[2], 'é', argument))
            wanted = ' '.join(('sh', '-c', PRINT_AND_WAIT[2], 'é', ''))
            why = self.entry(name)['why']
            self.assertLessEqual(len(why.encode()), 256)
            self.assertTrue((wanted + rest).startswith(why) and why.startswith(wanted), why)
            self.assertGreaterEqual(len(why.encode()), min(255, len((wanted + rest).encode())))
            job.write_line()
            self.assertEqual(job.wait(), 0)


class Named(CliTestCase):
    """`list` shows the command and its process, also while it waits: that process exists already."""

    def setUp(self):
        super().setUp()
        self.name = self.unique()

    def check_named(self, who, *arguments):
        """Runs it, without waiting for what a shell leaves."""
        job = self.job('run', '--close', *arguments)
        wait_for(lambda: self.held(self.name), what='the lock')
        self.assertEqual(self.entry(self.name)['for'], f'{who} (pid {job.child()})')
        row, = [line.split('\t') for line in self.check(0, 'list', self.name).splitlines()]
        self.assertEqual(row[4:6], [who, str(job.child())])
        job.signal(signal.SIGTERM)
        self.assertEqual(job.wait(), 128 + signal.SIGTERM)

    def comm(self, pid):
        with open(f'/proc/{pid}/comm', encoding='utf-8') as file:
            return file.read().strip()

    def test_command(self):
        self.check_named('sleep', self.name, 'sleep', '1000')
        self.check_named('sleep', '--why', 'nightly', self.name, '/bin/sleep', '1000')
        self.check_named('sh', self.name, 'sh', '-c', 'exec sleep 1000')

    def test_line_for_the_shell(self):
        self.check_named('sleep', self.name, '-c', 'sleep 20; true')
        self.check_named('sleep', self.name, '-c', 'sleep "20"&wait')
        self.check_named('job.py', self.name, '-c', 'python3 -u job.py 2>&1 || sleep 20')
        self.check_named('sleep', self.name, '-c', 'exec sleep 20')
        shell = os.path.basename(os.environ.get('SHELL') or 'sh')
        self.check_named(shell, self.name, '-c', '(sleep 20)')

    def test_script(self):
        with tempfile.TemporaryDirectory(prefix='weblocks-script-') as folder:
            path = os.path.join(folder, 'nightly.sh')
            with open(path, 'w', encoding='ascii') as file:
                file.write('exec sleep 1000\n')
            self.check_named('nightly.sh', self.name, 'sh', path)

    def test_unusual_names(self):
        for name, shown in (('n' * 250, 'n' * 232), ('a\uffffb', 'a???b'), ('ä' * 125, 'ä' * 116), ('x (pid 1)', 'x (pid 1)')):
            with tempfile.TemporaryDirectory(prefix='weblocks-script-') as folder:
                path = os.path.join(folder, name)
                os.symlink(shutil.which('sleep'), path)
                self.check_named(shown, self.name, path, '1000')

    def test_while_it_waits(self):
        client = self.client()
        lock, _ = client.request(self.name)
        job = self.job('run', self.name, 'sleep', '1000')
        self.wait_pending(self.name)
        child = job.child()
        pending = self.locks.inspect('default', name=self.name, state='pending')[0]
        self.assertEqual([entry['for'] for entry in pending], [f'sleep (pid {child})'])
        self.assertEqual(self.comm(child), 'weblocks')
        client.release(lock)
        wait_for(lambda: self.comm(child) == 'sleep', what='the command')
        line = self.terminal('run', self.name, 'true')
        line.wait_for(f"Waiting for '{self.name}': held by sleep (pid {child}) for ")
        job.signal(signal.SIGTERM)
        self.assertEqual((job.wait(), line.wait()), (128 + signal.SIGTERM, 0))

    def test_the_end_of_the_process_that_waits(self):
        """It is killed or stopped: that is noticed at the grant, or ends with the wait."""
        client = self.client()
        lock, _ = client.request(self.name)
        killed, stopped = self.job('run', self.name, 'true'), self.job('run', '-w', '0.3', self.name, 'true')
        self.wait_pending(self.name, 2)
        children = [job.child() for job in (killed, stopped)]
        os.kill(children[0], signal.SIGKILL)
        os.kill(children[1], signal.SIGSTOP)
        self.assertEqual(stopped.wait(), 1)
        client.release(lock)
        self.assertEqual(killed.wait(), 128 + signal.SIGKILL)
        self.wait_free(self.name)
        for child in children:
            self.assertFalse(os.path.exists(f'/proc/{child}'))


class Several(CliTestCase):
    """Several names: all locks or none, in the byte order of their names."""

    PRINT = ('sh', '-c', 'echo "$WEBLOCKS_NAME $WEBLOCKS_NAME_2 $WEBLOCKS_NAME_3,'
             '$WEBLOCKS_TOKEN $WEBLOCKS_TOKEN_2 $WEBLOCKS_TOKEN_3"; read x')

    def test_before_and_after_the_first_name(self):
        for options in ('c', '--and', 'b', '--and=a'), ('--and', 'b', 'c', '--and', 'a'), (
                '--and=b', '--and=a', 'c', '--and', 'c', '--and', 'a', '--'):
            for more in (), ('-F',):
                job = self.job('run', *more, *options, *self.PRINT)
                names, tokens = job.line().split(',')
                self.assertEqual(names, 'c b a')
                # The order of the requests is that of the names.
                c, b, a = map(int, tokens.split())
                self.assertLess(a, b)
                self.assertLess(b, c)
                self.assertEqual([self.entry(name)['token'] for name in 'abc'], [a, b, c])
                job.write_line()
                self.assertEqual(job.wait(), 0)
                for name in 'abc':
                    self.wait_free(name)

    def test_a_command_with_that_name(self):
        self.check(127, 'run', 'x', '--', '--and', 'y')
        self.assertEqual(self.check(0, 'run', '--and', 'y', 'x', '-c', 'echo $WEBLOCKS_NAME_2'), 'y\n')

    def test_within_another_run(self):
        """The command sees the names of the lock that it is for, and none of the others."""
        self.assertEqual(self.check(0, 'run', 'a', '--and', 'b', environment('WEBLOCKS_CLI'), 'run', 'c', 'sh', '-c',
                                    'echo "$WEBLOCKS_NAME,$WEBLOCKS_NAME_2$WEBLOCKS_TOKEN_2"'), 'c,\n')

    def test_all_or_none(self):
        """While one is waited for, those before it are held; and afterwards none."""
        holder = self.client()
        lock, _ = holder.request('m')
        self.check(9, 'run', '-n', '-E9', 'a', '--and', 'm', '--and', 'z', 'echo', 'ran')
        self.assertEqual(self.held('a'), [])
        for options, status in (('-w', '0.3'), 1), ((), 143):
            job = self.job('run', *options, 'z', '--and', 'm', '--and', 'a', 'echo', 'ran')
            self.wait_pending('m')
            self.assertEqual((self.held('a'), self.held('z'), self.pending('z')), (['exclusive'], [], []))
            if status == 143:
                job.signal(signal.SIGTERM)
            self.assertEqual((job.wait(), job.line()), (status, None))
            self.wait_free('a')
        job = self.job('run', 'z', '--and', 'm', '--and', 'a', 'echo', 'ran')
        self.wait_pending('m')
        holder.release(lock)
        self.assertEqual((job.line(), job.wait()), ('ran', 0))

    def test_which_one_is_in_the_way(self):
        holder = self.client()
        holder.request('b')
        done = self.weblocks('run', '-nv', 'c', '--and', 'b', '--and', 'a', 'true')
        self.assertRegex(done.stderr, "^weblocks: acquired 'a' .*\nweblocks: could not acquire 'b' .*\n"
                                      "weblocks: 'b' is held by .*\n$")

    def test_a_loss_while_others_are_waited_for(self):
        holder = self.client()
        holder.request('b')
        job = self.job('run', 'a', '--and', 'b', 'echo', 'ran')
        self.wait_pending('b')
        self.client().steal('a')
        self.assertEqual((job.wait(), job.line(), job.stderr()),
                         (75, None, "weblocks: the lock 'a' was stolen\n"))

    def test_a_loss_of_one(self):
        job = self.running('a', '--and', 'b')
        self.client().steal('b')
        self.assertEqual(job.wait(), 75)
        self.assertEqual(job.stderr(), "weblocks: the lock 'b' was stolen; terminating the command\n")
        self.wait_free('a')

    def test_shared(self):
        job = self.running('-s', 'a', '--and', 'b')
        self.assertEqual((self.held('a'), self.held('b')), (['shared'], ['shared']))
        job.write_line()
        self.assertEqual(job.wait(), 0)


class Waiting(CliTestCase):
    def setUp(self):
        super().setUp()
        self.name = self.unique()
        self.holder = self.client()

    def hold(self, **options):
        self.lock, _ = self.holder.request(self.name, **options)

    def check_conflict(self, status, *options):
        start = time.monotonic()
        done = self.weblocks('run', *options, self.name, 'echo', 'ran')
        self.assertEqual((done.returncode, done.stdout, done.stderr), (status, '', ''), options)
        self.assertEqual(self.pending(self.name), [])
        return time.monotonic() - start

    def test_no_waiting(self):
        self.hold()
        for options in (('-n',), ('--nonblock',), ('--nb',), ('-w0',), ('-w', '0.0'),
                        ('--timeout=0',), ('--wait', '0'), ('-sn',), ('-n', '-w', '60')):
            self.check_conflict(1, *options)

    def test_no_waiting_for_a_free_lock(self):
        self.check(0, 'run', '-n', self.name, 'true')
        self.hold(mode='shared')
        self.check(0, 'run', '-n', '-s', self.name, 'true')

    def test_status_for_a_conflict(self):
        self.hold()
        for options in (('-n', '-E', '99'), ('-nE99',), ('-n', '--conflict-exit-code=99'),
                        ('-w', '.01', '-E', '99')):
            self.check_conflict(99, *options)
        self.check_conflict(0, '-n', '-E', '0')
        self.check_conflict(255, '-n', '-E', '255')
        self.check(5, 'run', '-E', '99', self.unique('other'), 'sh', '-c', 'exit 5')

    def test_waiting_for_a_while(self):
        self.hold()
        for options in (('-w', '0.3'), ('--wait=.3',), ('--timeout', '3e-1')):
            self.assertGreaterEqual(self.check_conflict(1, *options), 0.3)
        self.check_conflict(1, '-w', '0.0000001')  # not indefinitely

    def test_verbose(self):
        done = self.weblocks('run', '--verbose', self.name, 'true')
        self.assertRegex(done.stderr, (
            rf"^weblocks: acquired '{self.name}' in \d+\.\d{{6}} s, token \d+\n"
            r"weblocks: running 'true'\n$"))
        self.hold(why='page 3')
        for options in (('-n',), ('-w', '0.1')):
            done = self.weblocks('run', '-v', *options, self.name, 'true')
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, (
                rf"^weblocks: could not acquire '{self.name}' in \d+\.\d{{6}} s\n"
                rf"weblocks: '{self.name}' is held by \S.* \(pid {os.getpid()}, "
                rf"{self.holder.name}\) for \d+ s: page 3\n$"))

    def test_steal(self):
        self.hold()
        waiter = self.client()
        id_, _ = waiter.request(self.name)
        job = self.running('--steal', self.name)
        self.holder.wait_released(self.lock, 'stolen')
        self.assertFalse(waiter.granted(id_))
        job.write_line()
        self.assertEqual(job.wait(), 0)
        waiter.wait_granted(id_)


@unittest.skipUnless(shutil.which('strace'), 'there is no strace')
class RequestedTimeout(CliTestCase):
    """The time-outs in the requests, as strace shows them."""

    def requested_timeout(self, *options):
        """In milliseconds; 0 is indefinitely."""
        with tempfile.NamedTemporaryFile('r') as file:
            # The leak sanitizer doesn't work in a traced process.
            env = self.env(ASAN_OPTIONS=os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0')
            subprocess.run(['strace', '-f', '-qq', '-xx', '-e', 'trace=sendto', '-o', file.name,
                            environment('WEBLOCKS_CLI'), 'run', *options, 'name', 'true'],
                           env=env, check=True)
            sent = [bytes.fromhex(text.replace('\\x', ''))
                    for text in re.findall(r'sendto\(\d+, "(.*?)"', file.read())]
        packet, = (data for data in sent if data.startswith(struct.pack('=H', packets.REQUEST)))
        return struct.unpack_from('=I', packet, 24)[0]

    def test_timeout_in_the_request(self):
        for options, ms in (((), 0), (('-w', '30'), 30000), (('-w', '30.0001'), 30001),
                            (('-w', '90s'), 90000), (('-w', '1min'), 60000), (('-w', '1.5m'), 90000),
                            (('-w', '1500ms'), 1500), (('-w', '2h'), 7200000), (('-w', '1d'), 86400000),
                            (('-w', '4294967.295'), 4294967295), (('-w', '4294967.296'), 0),
                            (('-w', '4294968'), 0),
                            (('-w', '99999999999999999999999'), 0), (('-w', '1e999'), 0)):
            asked = self.requested_timeout(*options)
            # The time it took to open the socket has been subtracted.
            self.assertLessEqual(asked, ms, options)
            self.assertGreaterEqual(asked, max(0, ms - 1000 * PATIENCE), options)
            self.assertEqual(asked == 0, ms == 0, options)


class Command(CliTestCase):
    """What the command inherits."""

    def test_arguments(self):
        name = self.unique()
        for words, output in ((('echo', '--shared', '-n'), '--shared -n\n'),
                              (('--', 'echo', '--', '-w'), '-- -w\n'),
                              (('sh', '-c', 'echo "$#"', 'x', '', 'a b'), '2\n')):
            self.assertEqual(self.check(0, 'run', name, *words), output)
            self.assertEqual(self.check(0, 'run', '--', name, *words), output)

    def test_standard_streams(self):
        done = self.weblocks('run', self.unique(), 'sh', '-c', 'cat; echo problem >&2',
                             stdin=None, input='text\n')
        self.assertEqual((done.stdout, done.stderr), ('text\n', 'problem\n'))

    def test_environment(self):
        name = self.unique('ä')
        job = self.running('-s', name, env=self.env(OWN='yes', WEBLOCKS_TOKEN='old'),
                           command=('sh', '-c', 'echo on; echo "$WEBLOCKS_NAME"; '
                                    'echo "$WEBLOCKS_TOKEN"; echo "$OWN"; read end'))
        self.assertEqual([job.line() for _ in range(3)],
                         [name, str(self.entry(name)['token']), 'yes'])
        job.write_line()
        self.assertEqual(job.wait(), 0)

    def compare(self, script, *arguments, **options):
        """Asserts that the environment of a process is the same with and without `weblocks run`."""
        command = [sys.executable, '-c', script]
        plain = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                               env=self.env(), check=True, **options).stdout
        self.assertNotEqual(plain, '')
        self.assertEqual(self.check(0, 'run', *arguments, self.unique(), *command, **options), plain)
        return plain

    def test_descriptors(self):
        # Without the descriptor of the directory that is being listed.
        script = ('import os; print([fd for fd in os.listdir("/proc/self/fd") '
                  'if os.path.exists(f"/proc/self/fd/{fd}")])')
        self.assertEqual(self.compare(script, '--close'), "['0', '1', '2']\n")
        with tempfile.TemporaryFile() as file:
            self.assertIn(f"'{file.fileno()}'",
                          self.compare(script, '-o', pass_fds=(file.fileno(),)))
        # The end of the pipe has a number that scripts don't use.
        for options in (), ('-F',):
            numbers = eval(self.check(0, 'run', *options, 'x', sys.executable, '-c', script))
            self.assertEqual(sorted(map(int, numbers))[:3], [0, 1, 2])
            self.assertEqual([int(number) >= 10 for number in sorted(numbers, key=int)[3:]], [True])

    def test_without_standard_descriptors(self):
        script = 'ls /proc/self/fd | wc -l'
        command = environment('WEBLOCKS_CLI')
        line = f'exec {command} run -o {self.unique()} sh -c "{script} >$1" x "$1" <&- >&- 2>&-'
        with tempfile.NamedTemporaryFile() as file:
            subprocess.run(['sh', '-c', line, 'x', file.name], env=self.env(), check=True)
            # The file as standard output, and the directory.
            self.assertEqual(file.read().strip(), b'2')

    def compare_signals(self, prepare):
        """Uses grep, since Python changes some signal handlers."""
        command = ['grep', '^S[ih][gd][^Q]', '/proc/self/status']
        options = {'stdin': subprocess.DEVNULL, 'capture_output': True, 'text': True,
                   'env': self.env(), 'check': True, 'preexec_fn': prepare,
                   'restore_signals': False}
        plain = subprocess.run(command, **options).stdout
        own_end = subprocess.run([environment('WEBLOCKS_CLI'), 'run', self.unique(), *command],
                              **options).stdout
        self.assertEqual(own_end, plain)

    def test_signals_are_unchanged(self):
        def ignore(*numbers):
            return lambda: [signal.signal(number, signal.SIG_IGN) for number in numbers]
        self.compare_signals(lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
        for numbers in ((signal.SIGPIPE,), (signal.SIGHUP,), (signal.SIGINT, signal.SIGQUIT),
                        (signal.SIGCHLD,), (signal.SIGTERM, signal.SIGUSR1)):
            self.compare_signals(ignore(*numbers))
        self.compare_signals(lambda: signal.pthread_sigmask(
            signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCHLD, signal.SIGUSR2}))

    def test_closed_output(self):
        """A lock is not lost if the output can't be written."""
        name = self.unique()
        reader, writer = os.pipe()
        os.close(reader)
        command = [environment('WEBLOCKS_CLI'), 'run', '--verbose', name, 'sh', '-c', 'exit 3']
        done = subprocess.run(command, env=self.env(), stderr=writer, stdin=subprocess.DEVNULL,
                              check=False)
        os.close(writer)
        self.assertEqual(done.returncode, 3)

    def test_process_group_and_session(self):
        self.compare('import os; print(os.getpgrp(), os.getsid(0))')
