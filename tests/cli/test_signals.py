# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""weblocks run: signals and keys, while it waits and while its command runs."""

import os
import shutil
import signal
import sys
import tempfile

from buses import PATIENCE, environment, process_stat
from cli import PRINT_AND_WAIT, CliTestCase
from harness import wait_for

ENDING = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1,
          signal.SIGUSR2)

# Prints the signals it gets; exits with status 7 when its input has a line that says so.
LISTENER = f'''
import os, select, signal, sys
reader, writer = os.pipe()
os.set_blocking(writer, False)
# A handler in Python does not run while a read blocks that begins just after the signal.
signal.set_wakeup_fd(writer)
for number in {[int(number) for number in ENDING]}:
    signal.signal(number, lambda *_: None)
os.write(1, b"on\\n")
while reader in select.select([reader, 0], [], [])[0]:
    for number in os.read(reader, 64):
        os.write(1, b"got %d\\n" % number)
sys.exit(7)
'''
LISTEN = (sys.executable, '-c', LISTENER)


def setUpModule():
    """The test may have been started by nohup, whose children ignore SIGHUP."""
    for number in ENDING:
        signal.signal(number, signal.SIG_DFL)


class WhileWaiting(CliTestCase):
    def setUp(self):
        super().setUp()
        self.name = self.unique()
        self.holder = self.client()
        self.lock, _ = self.holder.request(self.name)

    def waiting(self, *options, **more):
        job = self.job('run', *options, self.name, 'echo', 'ran', **more)
        self.wait_pending(self.name)
        return job

    def test_the_request_is_withdrawn(self):
        watcher = self.client()
        watcher.watch()
        for number in ENDING:
            job = self.waiting()
            job.signal(number)
            self.assertEqual((job.wait(), job.line(), job.stderr()), (128 + number, None, ''))
            self.assertEqual(self.pending(self.name), [])
        watcher.sync()
        self.assertEqual([event.args[4] for event in watcher.signals('Released')],
                         ['aborted'] * len(ENDING))

    def test_ignored_signals_stay_ignored(self):
        job = self.waiting(ignoring='HUP INT')
        job.signal(signal.SIGHUP)
        job.signal(signal.SIGINT)
        # If they weren't ignored, one of them would be the exit status.
        job.signal(signal.SIGTERM)
        self.assertEqual(job.wait(), 143)

    def test_a_service_that_has_never_replied(self):
        self.daemon.pause()
        self.addCleanup(self.daemon.resume)
        for options in ((), ('-n',), ('--steal',), ('-w', '60')):
            start = self.monitor.position()
            job = self.job('run', *options, self.name, 'echo', 'ran')
            wait_for(lambda: any(message.get_member() == 'OpenSocket' for message in
                                 self.monitor.messages(start, self.monitor.position())),
                     what='the call for a socket on the bus')
            job.signal(signal.SIGINT)
            self.assertEqual((job.wait(), job.line()), (130, None), options)
        self.daemon.resume()
        wait_for(lambda: self.pending(self.name) == [], what='end of the requests')

    def test_a_service_that_does_not_reply_in_time(self):
        """Neither a service with the request, nor one that has not replied to OpenSocket."""
        job = self.job('run', '-w', '2', self.name, 'echo', 'ran')
        self.wait_pending(self.name)
        self.daemon.pause()
        self.addCleanup(self.daemon.resume)
        late = self.job('run', '-w', '0.1', '-E', '9', self.name, 'echo', 'ran')
        self.assertEqual((late.wait(), late.line()), (9, None))
        self.assertEqual((job.wait(), job.line()), (1, None))
        self.daemon.resume()
        wait_for(lambda: self.pending(self.name) == [], what='end of the requests')

    def test_after_the_grant(self):
        """strace sends the signal when the keeper is about to start the command. To `weblocks`, it
        looks like one of the terminal, which the command has got too if it exists."""
        if shutil.which('strace') is None:
            self.skipTest('there is no strace')
        # The leak sanitizer doesn't work in a traced process.
        env = self.env(ASAN_OPTIONS=os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0')
        self.holder.release(self.lock)
        for number in ENDING:
            job = self.job('-f', '-D', '-qq', '-o', os.path.join(self.bus.directory, 'strace'),
                           '-e', 'trace=setsid',
                           '-e', f'inject=setsid:signal={signal.Signals(number).name}:when=1',
                           environment('WEBLOCKS_CLI'), 'run', self.name, 'echo', 'ran',
                           program='strace', env=env)
            self.assertEqual((job.line(), job.wait()), (None, 128 + number))
            self.assertNotIn('weblocks:', job.stderr())
            self.assertEqual(self.held(self.name), [])

    def test_key_of_the_terminal(self):
        terminal = self.terminal('run', self.name, 'echo', 'ran')
        self.wait_pending(self.name)
        terminal.press(b'\x03')
        self.assertEqual(terminal.wait(), 130)
        self.assertNotIn('ran', terminal.read())
        self.assertEqual(self.pending(self.name), [])


class WhileRunning(CliTestCase):
    def setUp(self):
        super().setUp()
        self.name = self.unique()

    def test_forwarded_once_and_the_command_continues(self):
        job = self.running(self.name, command=LISTEN)
        for number in ENDING:
            job.signal(number)
            self.assertEqual(job.line(), f'got {int(number)}')
        self.assertEqual(self.held(self.name), ['exclusive'])
        job.write_line()
        # Each signal was forwarded once.
        self.assertEqual((job.line(), job.wait()), (None, 7))
        self.assertEqual(self.held(self.name), [])

    def test_keys_reach_the_command_once(self):
        terminal = self.terminal('run', self.name, *LISTEN)
        terminal.wait_for('on')
        for key, number in ((b'\x03', signal.SIGINT), (b'\x1c', signal.SIGQUIT)):
            # `weblocks` continues only after the command has got the signal: a forwarded one would
            # come as a second.
            os.kill(terminal.pid, signal.SIGSTOP)
            terminal.press(key)
            terminal.wait_for(f'got {int(number)}')
            os.kill(terminal.pid, signal.SIGCONT)
            os.kill(terminal.pid, signal.SIGUSR1)
            terminal.wait_for(f'got {int(signal.SIGUSR1)}')
            self.assertEqual(terminal.read().count('got'), 2, terminal.text)
            terminal.text = ''
        terminal.press(b'\n')
        self.assertEqual(terminal.wait(), 7)

    def test_stopped_and_continued(self):
        """As a shell does it with a job: the lock stays held, and the keeper runs."""
        job = self.running(self.name, start_new_session=True)
        child = job.child()
        os.killpg(job.pid, signal.SIGSTOP)
        for pid in (job.pid, child):
            wait_for(lambda: process_stat(pid)[0] == 'T', what=f'{pid} to stop')
        self.assertNotEqual(process_stat(job.keeper())[0], 'T')
        self.assertEqual(self.held(self.name), ['exclusive'])
        os.killpg(job.pid, signal.SIGCONT)
        job.write_line('4')
        self.assertEqual(job.wait(), 4)

    def test_weblocks_is_killed(self):
        """The command gets SIGTERM, and the lock is held until it has ended."""
        job = self.running(self.name, command=LISTEN)
        waiter = self.client()
        id_, _ = waiter.request(self.name)
        job.signal(signal.SIGKILL)
        self.assertEqual(job.line(), f'got {int(signal.SIGTERM)}')
        waiter.ping()
        self.assertFalse(waiter.granted(id_))
        job.write_line()
        self.assertEqual((job.line(), job.wait()), (None, -signal.SIGKILL))
        waiter.wait_granted(id_)

    def test_weblocks_is_killed_and_the_command_continues(self):
        job = self.running('--on-loss=ignore', self.name, command=LISTEN)
        child = job.child()
        job.signal(signal.SIGKILL)
        job.wait()
        os.kill(child, signal.SIGUSR1)
        # No other signal before it.
        self.assertEqual(job.line(), f'got {int(signal.SIGUSR1)}')
        self.assertEqual(self.held(self.name), ['exclusive'])
        job.write_line()
        self.assertIsNone(job.line())
        self.wait_free(self.name)

    def test_started_without_sigchld(self):
        """An ignored SIGCHLD is inherited; the end of the command is detected nevertheless."""
        with tempfile.TemporaryFile() as file:
            job = self.job('run', self.name, *PRINT_AND_WAIT, restore_signals=False, stdout=file)
            job.write_line('6')
            self.assertEqual(job.wait(PATIENCE), 6)
