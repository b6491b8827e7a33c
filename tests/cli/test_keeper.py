# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""weblocks run: never two writers, whichever of its processes end, and in which order."""

import contextlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

from buses import NOBODY, PATIENCE, can_be_others, environment, process_stat, readable
from cli import PRINT_AND_WAIT, CliTestCase, children, is_running
from harness import wait_for
from test_signals import LISTEN

# Ignores SIGTERM and ends with its input.
STUBBORN = ('sh', '-c', 'trap "" TERM; echo on; read end')
# A process in a session of its own that ignores SIGTERM, whose parent has ended; prints its pid.
DAEMON = 'setsid sh -c \'trap "" TERM; echo $$; exec sleep 1000 >/dev/null 2>&1\' & '


def kill(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


class KeeperTestCase(CliTestCase):
    def setUp(self):
        super().setUp()
        self.name = self.unique()
        self.waiter = self.client()

    def wait_in_line(self):
        """A request of another client, for which the lock has to be free."""
        self.id_, _ = self.waiter.request(self.name)

    def check_still_waits(self):
        self.waiter.ping()
        self.assertFalse(self.waiter.granted(self.id_))

    def wait_ended(self, *pids):
        for pid in pids:
            wait_for(lambda: not is_running(pid), what=f'the end of {pid}')

    def daemon_of(self, job):
        """The process that DAEMON has left."""
        pid = int(job.line())
        self.addCleanup(kill, pid)
        return pid


class Weight(KeeperTestCase):
    """What makes the start of a command slow is only where it is needed."""

    def test_only_the_keeper_has_the_library(self):
        job = self.running(self.name)
        has_library = {}
        for process, pid in ('runner', job.pid), ('keeper', job.keeper()):
            with open(f'/proc/{pid}/maps', encoding='utf-8') as file:
                has_library[process] = 'libgio' in file.read()
        self.assertEqual(has_library, {'runner': False, 'keeper': True})

    def test_no_thread_of_glib(self):
        job = self.running(self.name)
        tasks = f'/proc/{job.keeper()}/task'
        names = []
        for task in os.listdir(tasks):
            with open(os.path.join(tasks, task, 'comm'), encoding='utf-8') as file:
                names.append(file.read().strip())
        self.assertIn('weblocks', names)
        self.assertNotIn('gmain', names)


class RunnerKilled(KeeperTestCase):
    def check_held_until_the_end(self, job, kill_it=os.kill):
        """The lock is granted to the next one when the command has ended, not before."""
        child = job.child()
        self.wait_in_line()
        kill_it(job.pid, signal.SIGKILL)
        self.assertEqual(job.wait(), -signal.SIGKILL)
        self.check_still_waits()
        self.assertTrue(is_running(child))
        job.write_line()
        self.assertIsNone(job.line())
        self.waiter.wait_granted(self.id_)

    def test_the_lock_is_listed_by_the_command(self):
        job = self.running(self.name)
        held, = json.loads(self.check(0, 'list', '--json', self.name))['held']
        self.assertEqual((held['who'], held['whoPid'], held['pid']), ('sh', job.child(), job.keeper()))

    def test_the_command_ignores_sigterm(self):
        self.check_held_until_the_end(self.running(self.name, command=STUBBORN))

    @unittest.skipUnless(can_be_others(), 'only root can change its uid')
    def test_the_command_has_changed_its_uid(self):
        for option in (), ('-o',):
            self.name = self.unique()
            job = self.running(*option, self.name, command=(
                'setpriv', f'--reuid={NOBODY}', '--clear-groups', *STUBBORN))
            self.check_held_until_the_end(job)

    def test_the_command_closes_its_descriptors(self):
        script = 'import os; os.closerange(3, 10000); os.execvp("sh", %r)' % (STUBBORN,)
        self.check_held_until_the_end(self.running(self.name, command=(sys.executable, '-c', script)))

    def test_the_whole_process_group_is_killed(self):
        """As by `timeout -s KILL`, with a command that is in a group of its own."""
        job = self.running(self.name, command=('setsid', *STUBBORN), start_new_session=True)
        self.check_held_until_the_end(job, os.killpg)

    def test_before_the_command_was_started(self):
        self.wait_in_line()
        job = self.job('run', self.name, 'echo', 'ran')
        self.wait_pending(self.name)
        job.signal(signal.SIGKILL)
        wait_for(lambda: not self.pending(self.name), what='the end of the request')
        self.assertIsNone(job.line())

    def test_a_loss_afterwards(self):
        """All that came from the command is ended by the keeper."""
        job = self.job('run', '--grace=0.1', self.name, 'sh', '-c',
                       f'trap "" TERM; {DAEMON} sleep 1000; true')
        daemon, child = self.daemon_of(job), job.child()
        job.signal(signal.SIGKILL)
        job.wait()
        self.client().steal(self.name)
        self.wait_ended(child, daemon)


class Left(KeeperTestCase):
    """Processes that the command has left."""

    def leave(self, *options):
        """The pid of the process, when `weblocks run` has ended."""
        done = subprocess.run([environment('WEBLOCKS_CLI'), 'run', *options, self.name,
                               'sh', '-c', DAEMON + 'exit 7'], env=self.env(),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (7, ''))
        pid = int(done.stdout)
        self.addCleanup(kill, pid)
        return pid

    def test_they_hold_the_lock(self):
        pid = self.leave()
        self.wait_in_line()
        self.check_still_waits()
        kill(pid)
        self.waiter.wait_granted(self.id_)

    def test_not_with_close(self):
        for option in '-o', '--close':
            pid = self.leave(option)
            self.assertEqual(self.held(self.name), [])
            self.assertTrue(is_running(pid))

    def test_not_if_they_close_the_descriptor(self):
        script = 'import os, time; os.closerange(3, 10000); time.sleep(1000)'
        done = self.check(0, 'run', self.name, 'sh', '-c',
                          f'{sys.executable} -c "{script}" >/dev/null 2>&1 & echo $!')
        self.addCleanup(kill, int(done))
        self.wait_free(self.name)
        self.assertTrue(is_running(int(done)))

    def test_a_loss(self):
        pid = self.leave('--grace=0.1')
        self.client().steal(self.name)
        self.wait_ended(pid)

    def test_a_loss_is_ignored(self):
        pid = self.leave('--on-loss=ignore')
        lock, _ = (stealer := self.client()).steal(self.name)
        stealer.ping()
        self.assertTrue(is_running(pid))
        kill(pid)
        stealer.release(lock)

    def test_reported(self):
        done = self.weblocks('run', '-v', self.name, 'sh', '-c', DAEMON)
        self.addCleanup(kill, int(done.stdout))
        self.assertIn(f"weblocks: '{self.name}' stays locked for processes that the command has"
                      ' left\n', done.stderr)

    def test_nothing_else_is_kept(self):
        """Neither the directory nor the output, for whose end somebody may wait."""
        with tempfile.TemporaryDirectory() as folder:
            self.addCleanup(kill, int(self.weblocks(
                'run', self.name, 'sh', '-c', f'{DAEMON}', cwd=folder).stdout))
            keeper = self.entry(self.name)['pid']
            self.assertEqual(os.readlink(f'/proc/{keeper}/cwd'), '/')
            self.assertEqual({os.readlink(f'/proc/{keeper}/fd/{fd}') for fd in range(3)},
                             {'/dev/null'})

    def test_no_descriptor_of_the_caller_is_kept(self):
        """As flock(1): only the process that was left keeps what it has inherited."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        pid = int(self.weblocks('run', self.name, 'bash', '-c', f'exec {writer}>&-; {DAEMON}',
                                pass_fds=[writer]).stdout)
        self.addCleanup(kill, pid)
        os.close(writer)
        self.assertTrue(readable(reader, PATIENCE), 'the pipe is still open')
        self.assertEqual(os.read(reader, 1), b'')
        self.assertEqual(self.held(self.name), ['exclusive'])

    def test_a_signal_for_the_keeper(self):
        script = 'echo $$; exec sleep 1000 >/dev/null 2>&1'
        done = self.check(0, 'run', self.name, 'sh', '-c', f"setsid sh -c '{script}' &")
        os.kill(self.entry(self.name)['pid'], signal.SIGTERM)
        self.wait_ended(int(done))
        self.wait_free(self.name)


class Lost(KeeperTestCase):
    """All processes that came from the command are ended."""

    def test_those_of_a_shell(self):
        job = self.job('run', self.name, '-c', 'sh -c "echo \\$\\$; sleep 1000; true"; echo next',
                       env=self.env(SHELL='/bin/sh'))
        inner = int(job.line())
        self.addCleanup(kill, inner)
        wait_for(lambda: children(inner), what='sleep')
        writer, = children(inner)
        self.client().steal(self.name)
        self.assertEqual((job.wait(), job.line()), (75, None))
        self.assertFalse(is_running(inner) or is_running(writer))

    def test_a_daemon(self):
        """Its parent has ended; and it ignores SIGTERM."""
        job = self.job('run', '--grace=0.1', self.name, 'sh', '-c', f'{DAEMON} sleep 1000; true')
        pid = self.daemon_of(job)
        self.client().steal(self.name)
        self.assertEqual(job.wait(), 75)
        self.assertFalse(is_running(pid))
        self.assertIn("weblocks: 'sleep' is still running; killing it\n", job.stderr())

    def test_those_that_start_others(self):
        job = self.running('--grace=0.1', self.name, command=(
            'sh', '-c', 'trap "" TERM; echo on; while :; do sleep 1000 & sleep 0.01; done'))
        child = job.child()
        self.client().steal(self.name)
        self.assertEqual(job.wait(), 75)
        self.assertFalse(is_running(child))

    def test_while_the_runner_is_stopped(self):
        job = self.running(self.name, command=LISTEN)
        job.signal(signal.SIGSTOP)
        self.client().steal(self.name)
        self.assertEqual(job.line(), f'got {int(signal.SIGTERM)}')
        job.write_line()
        job.signal(signal.SIGCONT)
        self.assertEqual(job.wait(), 75)

    @unittest.skipUnless(can_be_others(), 'only root can change its uid')
    def test_one_of_another_user(self):
        """It is named, and not waited for; the others are ended."""
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            program = shutil.copy(os.path.realpath(sys.executable), folder)
            os.chmod(program, 0o755 | stat.S_ISUID)
            # As sudo: its real uid is another one. It closes what it has inherited.
            script = ('import os, time; os.setresuid(0, 0, 0); print(os.getpid(), flush=True);'
                      'time.sleep(1000)')
            line = f'{program} -I -c "{script}" & wait'
            job = self.job(f'--reuid={NOBODY}', '--clear-groups', environment('WEBLOCKS_CLI'),
                           'run', self.name, 'sh', '-c', line, program='setpriv')
            pid = self.daemon_of(job)
            self.other_uid_client().steal(self.name)
            self.assertEqual(job.wait(), 75)
            self.assertIn(f"(pid {pid}) belongs to another user, and continues without the lock\n",
                          job.stderr())
            self.assertTrue(is_running(pid))


class KeeperKilled(KeeperTestCase):
    """The lock is lost at once, and the runner ends the command."""

    def test_the_command_gets_sigterm(self):
        job = self.running(self.name, command=LISTEN)
        os.kill(job.keeper(), signal.SIGKILL)
        self.assertEqual(job.line(), f'got {int(signal.SIGTERM)}')
        job.write_line()
        self.assertEqual(job.wait(), 75)
        self.assertEqual(job.stderr(), f"weblocks: the lock '{self.name}' was lost: the process that"
                                       ' kept it has ended; terminating the command\n')

    def test_all_that_came_from_it(self):
        job = self.job('run', '--grace=0.1', self.name, 'sh', '-c',
                       f'trap "" TERM; {DAEMON} sleep 1000; true')
        daemon, child = self.daemon_of(job), job.child()
        os.kill(job.keeper(), signal.SIGKILL)
        self.assertEqual(job.wait(), 75)
        self.assertFalse(is_running(daemon) or is_running(child))

    def test_the_loss_is_ignored(self):
        job = self.running('--on-loss=ignore', self.name, command=LISTEN)
        os.kill(job.keeper(), signal.SIGKILL)
        wait_for(job.stderr, what='a message')
        job.signal(signal.SIGUSR1)
        self.assertEqual(job.line(), f'got {int(signal.SIGUSR1)}')
        job.write_line()
        self.assertEqual((job.line(), job.wait()), (None, 7))
        self.assertIn('has ended; the command continues without it\n', job.stderr())

    def test_while_it_waits(self):
        self.wait_in_line()
        job = self.job('run', self.name, 'echo', 'ran')
        self.wait_pending(self.name)
        os.kill(job.keeper(), signal.SIGKILL)
        self.assertEqual((job.wait(), job.line()), (75, None))

    def test_signals_while_it_waits(self):
        """There is no command to pass them on to, and they are for nobody else."""
        self.wait_in_line()
        for _ in range(5):
            job = self.script('trap "echo group" TERM; weblocks run "$1" echo ran; echo $?',
                              self.name, start_new_session=True)
            self.wait_pending(self.name)
            runner, = children(job.pid)
            os.kill(children(runner)[0], signal.SIGKILL)
            # Some arrive just before the runner begins to do the keeper's work.
            end = time.monotonic() + PATIENCE
            while is_running(runner) and time.monotonic() < end:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(runner, signal.SIGTERM)
            self.assertEqual(job.line(), '75')

    def test_a_signal_for_those_that_are_left(self):
        script = 'trap "echo got; exit" USR1; echo $$; while :; do sleep 0.1; done'
        job = self.job('run', '--grace=1000', self.name, 'sh', '-c',
                       f"trap '' TERM; setsid sh -c '{script}' & read line")
        left = int(job.line())
        self.addCleanup(kill, left)
        child = job.child()
        os.kill(job.keeper(), signal.SIGKILL)
        job.write_line()
        wait_for(lambda: not os.path.exists(f'/proc/{child}'), what='the runner to reap it')
        job.signal(signal.SIGUSR1)
        self.assertEqual((job.line(), job.wait()), ('got', 75))

    def test_both_are_killed(self):
        job = self.running(self.name, command=LISTEN)
        keeper = job.keeper()
        job.signal(signal.SIGSTOP)
        os.waitid(os.P_PID, job.pid, os.WSTOPPED | os.WNOWAIT)
        os.kill(keeper, signal.SIGKILL)
        job.signal(signal.SIGKILL)
        self.assertEqual(job.line(), f'got {int(signal.SIGTERM)}')
        job.write_line()
        self.wait_free(self.name)


class NoFork(KeeperTestCase):
    """-F: the command replaces the process that was started."""

    def test_the_command_is_this_process(self):
        for option in '-F', '--no-fork':
            job = self.job('run', option, self.name, 'sh', '-c',
                           'echo $$ $WEBLOCKS_NAME $WEBLOCKS_TOKEN; read status; exit $status')
            self.assertEqual(job.line(), f'{job.pid} {self.name} {self.entry(self.name)["token"]}')
            held, = json.loads(self.check(0, 'list', '--json', self.name))['held']
            self.assertEqual((held['who'], held['whoPid']), ('sh', job.pid))
            # It has no child that it doesn't expect.
            self.assertEqual(children(job.pid), [])
            self.wait_in_line()
            job.write_line('5')
            self.assertEqual(job.wait(), 5)
            self.waiter.wait_granted(self.id_)
            self.waiter.release(self.id_)

    def test_a_command_that_is_killed(self):
        job = self.running('-F', self.name)
        self.wait_in_line()
        self.check_still_waits()
        job.signal(signal.SIGKILL)
        self.waiter.wait_granted(self.id_)

    def test_a_signal_for_the_keeper(self):
        """As when a service of systemd is stopped."""
        job = self.running('-F', self.name, command=LISTEN)
        os.kill(self.entry(self.name)['pid'], signal.SIGTERM)
        self.assertEqual(job.line(), f'got {int(signal.SIGTERM)}')
        job.write_line()
        self.assertEqual(job.wait(), 7)
        self.wait_free(self.name)

    def test_the_keeper_is_killed_while_it_waits(self):
        """What this process has started before is left alone."""
        self.wait_in_line()
        job = self.script('sleep 1000 & echo $!; exec weblocks run -F "$1" echo ran', self.name)
        other = int(job.line())
        self.addCleanup(kill, other)
        self.wait_pending(self.name)
        pids = {entry['pid'] for entry in self.locks.inspect('default', name=self.name)[0]}
        keeper, = pids - {os.getpid()}
        os.kill(keeper, signal.SIGKILL)
        self.assertEqual((job.wait(), is_running(other)), (75, True))

    def test_processes_that_it_has_left(self):
        pid = int(self.check(0, 'run', '-F', self.name, 'sh', '-c', DAEMON))
        self.addCleanup(kill, pid)
        self.wait_in_line()
        self.check_still_waits()
        kill(pid)
        self.waiter.wait_granted(self.id_)

    def test_a_command_that_closes_its_descriptors(self):
        script = 'import os; os.closerange(3, 10000); os.execvp("sh", %r)' % (PRINT_AND_WAIT,)
        job = self.running('-F', self.name, command=(sys.executable, '-c', script))
        self.wait_in_line()
        self.check_still_waits()
        job.write_line()
        self.waiter.wait_granted(self.id_)

    def test_what_the_command_closes_is_closed(self):
        """The keeper has none of it, but standard error for what it reports."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        job = self.job('run', '-F', self.name, 'bash', '-c',
                       f'exec <&- >&- {writer}>&-; exec sleep 1000', pass_fds=[writer])
        os.close(writer)
        self.assertIsNone(job.line())
        # poll() reports POLLERR at that end of a pipe, when nobody can read.
        self.assertTrue(readable(job.process.stdin, PATIENCE), 'the input is still open')
        self.assertTrue(readable(reader, PATIENCE), 'the pipe is still open')
        self.assertTrue(is_running(job.pid))
        job.signal(signal.SIGKILL)
        self.assertEqual(job.wait(), -signal.SIGKILL)
        self.wait_free(self.name)

    def test_a_loss(self):
        """The command is terminated, and the processes below it."""
        job = self.job('run', '-F', '--grace=0.1', self.name, 'sh', '-c',
                       'trap "" TERM; sleep 1000 & echo $!; wait; sleep 1000; true')
        below = int(job.line())
        self.addCleanup(kill, below)
        self.client().steal(self.name)
        self.assertEqual(job.wait(), -signal.SIGKILL)
        self.wait_ended(below)

    def test_a_missing_command(self):
        done = self.weblocks('run', '-F', self.name, '/no/such/file')
        self.assertEqual((done.returncode, done.stderr),
                         (127, "weblocks: '/no/such/file': No such file or directory\n"))
        self.wait_free(self.name)

    def test_while_it_waits(self):
        self.wait_in_line()
        self.check(9, 'run', '-F', '-n', '-E9', self.name, 'echo', 'ran')
        job = self.job('run', '-F', self.name, 'echo', 'ran')
        self.wait_pending(self.name)
        job.signal(signal.SIGTERM)
        self.assertEqual((job.wait(), job.line()), (143, None))
        self.assertEqual(self.pending(self.name), [])

    def test_not_with_close(self):
        self.assertIn('--no-fork', self.weblocks('run', '-F', '-o', self.name, 'true').stderr)
        self.check(64, 'run', '-F', '-o', self.name, 'true')


class NoDescriptors(KeeperTestCase):
    """The limit of open files leaves none for the runner, or none for the keeper."""

    def test_it_is_no_loss(self):
        for limit in range(5, 9):
            job = self.script('ulimit -n "$2"; exec weblocks run "$1" echo ran', self.name, str(limit))
            self.assertEqual((job.wait(), job.line()), (71, None), (limit, job.stderr()))


class OrphanedGroup(KeeperTestCase):
    """A process group whose parent is in another session, as that of a job of cron."""

    def test_a_stopped_process_in_it(self):
        """The kernel would send SIGHUP to all if the keeper's end made the group an orphaned one."""
        job = self.script('sleep 1000 & kill -STOP $!; echo $!; weblocks run "$1" true; echo on; read x',
                          self.name, start_new_session=True)
        stopped = int(job.line())
        self.addCleanup(kill, stopped)
        self.assertEqual(job.line(), 'on')
        wait_for(lambda: not self.held(self.name), what='the end of the keeper')
        self.assertEqual(process_stat(stopped)[0], 'T')
        job.write_line()
        self.assertEqual(job.wait(), 0)


class ServiceGone(KeeperTestCase):
    """The service is killed while only a process that the command has left holds the lock."""

    service = False

    def setUp(self):
        super().setUp()
        self.own = self.start_service()

    def restart(self, *arguments):
        self.own.signal(signal.SIGKILL)
        self.own.wait_exit()
        self.own = self.start_service(*arguments)

    def leave(self):
        pid = int(self.check(0, 'run', '--grace=0.1', self.name, 'sh', '-c', DAEMON))
        self.addCleanup(kill, pid)
        return pid

    def test_with_its_state(self):
        pid = self.leave()
        for _ in range(2):
            self.restart()
            self.assertEqual(self.held(self.name), ['exclusive'])
        self.assertTrue(is_running(pid))
        kill(pid)
        self.wait_free(self.name)

    def test_without_its_state(self):
        pid = self.leave()
        self.restart('--no-state')
        self.wait_ended(pid)

    def tearDown(self):
        self.own.end()
        super().tearDown()


class JobControl(KeeperTestCase):
    """In an interactive shell on a terminal."""

    def setUp(self):
        super().setUp()
        self.shell = self.terminal('--norc', '--noprofile', '-i', program='/bin/bash', columns=200,
                                   PS1='ready ')
        self.shell.wait_for('ready')

    def type(self, line):
        self.shell.text = ''
        self.shell.press(line.encode() + b'\n')

    def run_line(self, command):
        self.type(f"{environment('WEBLOCKS_CLI')} run {self.name} {command}")

    def test_stopped_while_it_runs(self):
        self.run_line("sh -c 'echo begin-$((1+1)); read x; echo got-$x'")
        self.shell.wait_for('begin-2')
        self.shell.press(b'\x1a')
        self.shell.wait_for('Stopped')
        self.assertEqual(self.held(self.name), ['exclusive'])
        self.type('fg')
        self.shell.wait_for('run')
        self.shell.press(b'line\n')
        self.shell.wait_for('got-line')
        self.wait_free(self.name)
        self.type('echo status-$?')
        self.shell.wait_for('status-0')

    def test_stopped_while_it_waits(self):
        """When the lock is granted, the command is not started."""
        self.wait_in_line()
        self.run_line("sh -c 'echo begin-$((1+1))'")
        self.wait_pending(self.name)
        self.shell.press(b'\x1a')
        self.shell.wait_for('Stopped')
        self.waiter.release(self.id_)
        wait_for(lambda: self.held(self.name), what='the grant')
        self.type('echo alive-$((1+1))')
        self.shell.wait_for('alive-2')
        self.assertNotIn('begin-2', self.shell.text)
        self.type('fg')
        self.shell.wait_for('begin-2')

    def test_a_stopped_job_loses_the_lock(self):
        """The command is ended, although its job is stopped."""
        self.run_line("sh -c 'echo begin-$((1+1)); read x'")
        self.shell.wait_for('begin-2')
        self.shell.press(b'\x1a')
        self.shell.wait_for('Stopped')
        child, = children(self.entry(self.name)['pid'])
        self.client().steal(self.name)
        self.wait_ended(child)

    def test_interrupted(self):
        self.run_line("sh -c 'echo begin-$((1+1)); exec sleep 1000'")
        self.shell.wait_for('begin-2')
        self.shell.press(b'\x03')
        self.wait_free(self.name)
        self.type('echo status-$?')
        self.shell.wait_for('status-130')
