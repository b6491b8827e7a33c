# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The processes of a storm: clients, the service, and the killer at a system call."""

import json
import os
import select
import signal
import subprocess
import sys

from buses import read_text, spawn
from history import FLAG_KILL, Kind, now, unique_of

HERE = os.path.dirname(os.path.abspath(__file__))
# Another user, with separate locks; only root can have clients of two users.
OTHER_UID = 65534


class ClientProcess:
    """One storm-client. Its creator polls `pidfd` and `output`."""

    def __init__(self, storm, number, slot, options=()):
        self.storm = storm
        self.number = number
        self.slot = slot
        self.settled = 0
        self.is_inside = False  # with --keep
        self.stopped = False
        self.path = os.path.join(storm.directory, f'client-{number}.log')
        argv = [storm.program('storm-client'), f'--address={storm.bus.address}',
                f'--directory={storm.directory}', f'--number={number}',
                f'--bus={storm.bus_number}',
                f'--seed={(storm.seed * 1000003 + number) & 0x7fffffff}', *options]
        if storm.options.steal:
            argv.append('--steal')
        if storm.options.full:
            argv.append('--may-be-refused')
        if storm.is_other(slot):
            argv.append(f'--uid={OTHER_UID}')
        storm.log.note(Kind.SPAWN, subject=number)
        # The client itself requests to be killed with its parent: a preexec_fn would slow down
        # each start.
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=storm.noise, env=storm.environment, bufsize=0)
        self.pid = self.process.pid
        self.pidfd = os.pidfd_open(self.pid)
        self.output = self.process.stdout.fileno()

    def send(self, line):
        try:
            self.process.stdin.write(line.encode() + b'\n')
        except BrokenPipeError:
            pass

    def read(self):
        """Reads its output; returns the last word."""
        for line in os.read(self.output, 4096).decode().splitlines():
            if line.startswith('quiet '):
                self.settled = int(line.split()[1])
            elif line == 'inside':
                self.is_inside = True

    def kill(self):
        self.storm.log.note(Kind.KILL, subject=self.number)
        os.kill(self.pid, signal.SIGKILL)

    def stop(self):
        self.storm.log.note(Kind.STOP, subject=self.number)
        os.kill(self.pid, signal.SIGSTOP)
        self.stopped = True

    def resume(self):
        if self.stopped:
            os.kill(self.pid, signal.SIGCONT)
            self.storm.log.note(Kind.CONTINUE, subject=self.number)
            self.stopped = False

    def resume_if_there(self):
        """Continues the client, which may have ended or been continued before."""
        if self.storm.clients.get(self.slot) is self and not self.storm.is_paused:
            self.resume()

    def reap(self):
        """The unique name of a client that has ended, if it had one."""
        self.process.wait()
        self.storm.log.note(Kind.REAPED, subject=self.number)
        self.resume_note()
        self.close()
        return unique_of(self.path)

    def resume_note(self):
        if self.stopped:
            self.storm.log.note(Kind.CONTINUE, subject=self.number)
            self.stopped = False

    def close(self):
        os.close(self.pidfd)
        self.process.stdin.close()
        self.process.stdout.close()
        self.shorten()

    def shorten(self):
        """Truncates the file to the part that is used."""
        try:
            with open(self.path, 'r+b') as file:
                data = file.read()
                used = 1
                while used * 64 + 64 <= len(data) and data[used * 64 + 60:used * 64 + 64] != bytes(4):
                    used += 1
                file.truncate(used * 64)
        except OSError:
            pass


class WatcherProcess:
    """watcher.py on the present bus. Its creator reads `output`."""

    def __init__(self, storm):
        argv = [sys.executable, os.path.join(HERE, 'watcher.py'), storm.bus.address]
        if len(storm.uids) > 1:
            argv.append(str(storm.uids[1]))
        self.process = spawn(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=storm.noise, bufsize=0)
        self.output = self.process.stdout.fileno()
        self.n_checks = 0
        self.stopped = False
        self._data = b''

    def check(self):
        """Asks it to compare the state that it has rebuilt with that of the service; returns the number of
        the answer."""
        self.n_checks += 1
        self.process.stdin.write(f'check {self.n_checks}\n'.encode())
        return self.n_checks

    def read(self):
        """The answers that have arrived; None if it has ended."""
        chunk = os.read(self.output, 1 << 16)
        if not chunk:
            return None
        *lines, self._data = (self._data + chunk).split(b'\n')
        return [json.loads(line) for line in lines]

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)
        self.stopped = True

    def resume(self):
        self.process.send_signal(signal.SIGCONT)
        self.stopped = False

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Killer:
    """A kill-at-syscall process for a service."""

    def __init__(self, storm, pid, calls, patience_ms, sends_only):
        self.storm = storm
        self.process = spawn([storm.program('kill-at-syscall'), str(pid), str(calls),
                              str(patience_ms)] + (['send'] if sends_only else []), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=storm.noise)

    def end(self):
        """After the service has ended: records when and where it was killed. False if it was not."""
        output = self.process.communicate()[0].decode().split()
        if len(output) == 4 and output[0] == 'ready':
            at, call, before_send = (int(word) for word in output[1:])
            self.storm.log.note(Kind.SERVICE_KILL, at=at, token=call, position=before_send,
                                flags=FLAG_KILL if call else 0)
            return True
        return False


class ServiceProcess:
    """The process of the service, started by the supervisor or the bus."""

    def __init__(self, pid, process=None):
        self.pid = pid
        self.process = process
        self.pidfd = os.pidfd_open(pid)
        self.killer = None
        self.dead = False

    def is_dead(self, timeout=0):
        poll = select.poll()
        poll.register(self.pidfd, select.POLLIN)
        return bool(poll.poll(timeout * 1000))

    def kill(self, storm, number=signal.SIGKILL):
        if self.killer is None and not self.is_dead():
            storm.log.note(Kind.SERVICE_KILL)
        os.kill(self.pid, number)

    def reap(self, storm):
        """Of one that is dead."""
        status = 0
        if self.killer is not None:
            self.killer.end()
            self.killer = None
        if self.process is not None:
            status = self.process.wait() & 0xff
        storm.log.note(Kind.SERVICE_DEAD, at=now(), detail=status)
        os.close(self.pidfd)
        self.dead = True

    def memory_kib(self):
        return int(read_text(f'/proc/{self.pid}/statm').split()[1]) * os.sysconf('SC_PAGE_SIZE') // 1024

    def descriptors(self):
        return len(os.listdir(f'/proc/{self.pid}/fd'))
