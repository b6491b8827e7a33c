# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""What the tests of the command `weblocks` share: running it, and interacting with its commands."""

import contextlib
import os
import signal
import subprocess
import tempfile
import time

from buses import (PATIENCE, adopt_orphans, die_with_parent, end, environment, process_stat,
                   read_text, readable, spawn, wait_exit)
from harness import BusTestCase, wait_for
from rawbus import RawClient
from terminal import Terminal

# Prints 'on', waits for a line or EOF on its input, and exits with the status in that line.
PRINT_AND_WAIT = ('sh', '-c', 'echo on; read status; exit ${status:-0}')


def children(pid):
    """The process ids of the children of the main thread of a process."""
    return [int(word) for word in read_text(f'/proc/{pid}/task/{pid}/children').split()]


def is_running(pid):
    with contextlib.suppress(OSError):
        return process_stat(pid)[0] not in 'ZX'
    return False


class Job:
    """A process, `weblocks` by default, that runs while the test continues."""

    def __init__(self, arguments, env, ignoring='', program=None, **options):
        command = [program or environment('WEBLOCKS_CLI'), *arguments]
        if ignoring:
            # Ignored signals as with nohup, or in a shell's background jobs.
            command = ['sh', '-c', f'trap "" {ignoring}; exec "$@"', 'sh', *command]
        self._stderr = tempfile.TemporaryFile()
        self._data = b''
        options.setdefault('stdin', subprocess.PIPE)
        options.setdefault('stdout', subprocess.PIPE)
        options.setdefault('stderr', self._stderr)
        self.process = spawn(command, env=env, bufsize=0, **options)

    @property
    def pid(self):
        return self.process.pid

    def line(self, timeout=PATIENCE):
        """The next line of its standard output, without the newline; None at EOF."""
        deadline = time.monotonic() + timeout
        while b'\n' not in self._data:
            left = deadline - time.monotonic()
            if not readable(self.process.stdout, left):
                raise TimeoutError(f'{self.process.args} wrote only {self._data!r}, '
                                   f'{self.stderr()!r}')
            chunk = os.read(self.process.stdout.fileno(), 1 << 16)
            if not chunk:
                return None
            self._data += chunk
        line, _, self._data = self._data.partition(b'\n')
        return line.decode()

    def write_line(self, text=''):
        self.process.stdin.write(text.encode() + b'\n')

    def stderr(self):
        """Its standard error so far."""
        size = self._stderr.seek(0, os.SEEK_END)
        return os.pread(self._stderr.fileno(), size, 0).decode(errors='replace')

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, timeout=PATIENCE):
        """Its exit status; if a signal killed it, minus the signal's number."""
        return wait_exit(self.process, timeout)

    def keeper(self):
        """The process id of the keeper of `weblocks run`."""
        return children(self.pid)[0]

    def child(self):
        """The process id of the command that it runs."""
        return children(self.keeper())[0]

    def stop_keeper(self):
        os.kill(self.keeper(), signal.SIGSTOP)
        wait_for(lambda: process_stat(self.keeper())[0] == 'T', what='the keeper to stop')

    def end(self):
        end(self.process)
        self._stderr.close()


class CliTestCase(BusTestCase):
    """A class with a bus, a service, and `weblocks` processes on that bus only."""

    def setUp(self):
        super().setUp()
        adopt_orphans()
        self.not_left = children(os.getpid())
        self.addCleanup(self._end_left)
        self.locks = RawClient(self.bus.address)
        self.addCleanup(self.locks.close)

    def _end_left(self):
        """Ends what a test has left if it has failed, such as a keeper that is stopped."""
        others = {*self.not_left, *(service.process.pid for service in self.services)}
        while left := set(children(os.getpid())) - others:
            for pid in left:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    def env(self, **more):
        return {**self.bus.environment(), 'DBUS_SYSTEM_BUS_ADDRESS': 'unix:path=/nowhere', **more}

    def weblocks(self, *arguments, env=None, **options):
        """Runs it until it exits; the result has returncode, stdout and stderr."""
        options.setdefault('stdin', subprocess.DEVNULL)
        options.setdefault('text', True)
        return subprocess.run([environment('WEBLOCKS_CLI'), *arguments], env=env or self.env(),
                              capture_output=True, timeout=PATIENCE, check=False,
                              preexec_fn=die_with_parent, **options)

    def check(self, status, *arguments, **options):
        """Runs it, and asserts its exit status. Returns its standard output."""
        done = self.weblocks(*arguments, **options)
        self.assertEqual(done.returncode, status, f'{arguments}: {done.stdout!r}, {done.stderr!r}')
        return done.stdout

    def job(self, *arguments, env=None, **options):
        job = Job(arguments, env or self.env(), **options)
        self.addCleanup(job.end)
        return job

    def full_pipe(self):
        """The end for writing of a pipe that is full, and that nobody reads."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        self.addCleanup(os.close, writer)
        os.set_blocking(writer, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, bytes(1 << 16))
        os.set_blocking(writer, True)
        return writer

    def running(self, *arguments, command=PRINT_AND_WAIT, **options):
        """`weblocks run` with a command that has already printed 'on'."""
        job = self.job('run', *arguments, *command, **options)
        line = job.line()
        self.assertEqual(line, 'on', job.stderr())
        return job

    def terminal(self, *arguments, program=None, columns=100, **env):
        """Runs `weblocks`, by default, on a terminal of its own."""
        terminal = Terminal([program or environment('WEBLOCKS_CLI'), *arguments],
                            self.env(TERM='xterm', **env), columns=columns)
        self.addCleanup(terminal.end)
        return terminal

    def commands(self):
        """A directory for PATH, with `weblocks` in it."""
        folder = tempfile.TemporaryDirectory(prefix='weblocks-bin-')
        self.addCleanup(folder.cleanup)
        os.symlink(environment('WEBLOCKS_CLI'), os.path.join(folder.name, 'weblocks'))
        return folder.name

    def script(self, text, *arguments, **options):
        """A job of bash, with `weblocks` on its PATH."""
        env = self.env(PATH=f'{self.commands()}:{os.environ["PATH"]}', **options.pop('more', {}))
        return self.job('-c', text, 'bash', *arguments, env=env, program='bash', **options)

    def held(self, name, bucket='default'):
        """The modes in which the name is held."""
        return [mode for held, mode, _ in self.locks.query(bucket)[0] if held == name]

    def pending(self, name, bucket='default'):
        return [mode for held, mode, _ in self.locks.query(bucket)[1] if held == name]

    def wait_pending(self, name, count=1, bucket='default'):
        wait_for(lambda: len(self.pending(name, bucket)) == count,
                 what=f'{count} waiting for {name}')

    def wait_free(self, name, bucket='default'):
        wait_for(lambda: not self.held(name, bucket), what=f'{name} to be free')

    def entry(self, name, bucket='default'):
        """The entry of Inspect for the only lock or request of that name."""
        entries, _ = self.locks.inspect(bucket, name=name)
        self.assertEqual(len(entries), 1, entries)
        return entries[0]
