# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The example clients of docs/clients.md, each unchanged on a real bus.

test_clients.py DIRECTORY"""

import os
import shlex
import shutil
import subprocess
import sys
import time

from buses import PATIENCE, environment, readable, spawn
from calls import SERVICE, bucket_path
from gi.repository import GLib
from harness import BusTestCase, wait_exit, wait_for
from statecase import StateCase

CLIENTS = os.path.abspath(sys.argv.pop(1))
# Every rule of the encoding of buckets is applied: a leading digit, a dot, bytes beyond ASCII.
BUCKET = '1.docs-ü9'
NAME = 'manuscript'


class Holder:
    """A process that holds a lock until EOF on its standard input, and the lines that it prints."""

    def __init__(self, command, env):
        self.process = spawn([*command, BUCKET, NAME], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, env=env)
        self.data = b''

    def line(self):
        deadline = time.monotonic() + PATIENCE
        while b'\n' not in self.data:
            if not readable(self.process.stdout, deadline - time.monotonic()):
                raise TimeoutError(f'{self.process.args} printed only {self.data!r}')
            chunk = os.read(self.process.stdout.fileno(), 4096)
            if not chunk:
                raise RuntimeError(f'{self.process.args} ended after {self.data!r}')
            self.data += chunk
        line, _, self.data = self.data.partition(b'\n')
        return line.decode()

    def end(self):
        """Closes its standard input. Returns its exit status."""
        self.process.stdin.close()
        return wait_exit(self.process)


class HolderCases:
    """Cases for each client that holds a lock."""

    def command(self):
        """The program to run; skips the test if there is none."""
        raise NotImplementedError

    def holder(self):
        holder = Holder(self.command(), self.bus.environment())
        self.addCleanup(holder.process.stdout.close)
        self.addCleanup(holder.process.kill)
        return holder

    def token_of(self, holder):
        word, token = holder.line().split()
        self.assertEqual(word, 'held')
        return int(token)

    def test_one_after_the_other(self):
        self.start()
        first, second = self.holder(), None
        token = self.token_of(first)
        second = self.holder()
        self.assertEqual(second.line(), 'waiting')
        self.assertEqual(first.end(), 0)
        self.assertEqual(first.line(), 'released')
        self.assertGreater(self.token_of(second), token)
        self.assertEqual(second.end(), 0)
        self.assertEqual(second.line(), 'released')

    def test_the_input_ends_while_it_waits(self):
        self.start()
        other = self.client()
        other.request(NAME, bucket=BUCKET)
        waiting = self.holder()
        self.assertEqual(waiting.line(), 'waiting')
        self.assertEqual(waiting.end(), 0)
        wait_for(lambda: not other.query(BUCKET)[1], what='end of the request')

    def test_a_steal(self):
        self.start()
        holder = self.holder()
        self.token_of(holder)
        self.client().steal(NAME, bucket=BUCKET)
        self.assertEqual(holder.line(), 'lost stolen')
        self.assertEqual(wait_exit(holder.process), 1)

    def test_the_service_is_killed(self):
        """The holder doesn't notice; a waiting request is granted by the next service."""
        self.start()
        first = self.holder()
        self.token_of(first)
        second = self.holder()
        self.assertEqual(second.line(), 'waiting')
        for _ in range(3):
            self.restart()
        self.assertEqual(first.end(), 0)
        self.assertEqual(first.line(), 'released')
        self.token_of(second)
        self.restart()
        self.assertEqual(second.end(), 0)
        self.assertEqual(second.line(), 'released')

    def test_the_service_without_state(self):
        """A service that starts without state: the lock is lost, and the request is made again."""
        self.start(state=False)
        first = self.holder()
        self.token_of(first)
        second = self.holder()
        self.assertEqual(second.line(), 'waiting')
        self.crash()
        self.start('--no-state', state=False)
        self.assertEqual(first.line(), 'lost lost')
        self.assertEqual(wait_exit(first.process), 1)
        self.assertEqual(second.line().split()[0], 'held')
        self.assertEqual(second.end(), 0)

    def test_an_error(self):
        """A limit: the name of the error, and status 1."""
        self.start('--limit=nameBytes=4')
        holder = self.holder()
        self.assertEqual(holder.line(), 'failed org.freedesktop.DBus.Error.LimitsExceeded')
        self.assertEqual(wait_exit(holder.process), 1)

    def test_a_forged_signal(self):
        """Signals of other programs than the service have no effect."""
        self.start()
        other = self.client()
        other.request(NAME, bucket=BUCKET)
        waiting = self.holder()
        self.assertEqual(waiting.line(), 'waiting')
        client_id = other.query(BUCKET)[1][0][2]
        forger = self.client()
        for id_ in range(1, 20):
            forger.connection.emit_signal(client_id, bucket_path(BUCKET), SERVICE, 'Granted',
                                          GLib.Variant('(tssst)', (id_, NAME, 'exclusive',
                                                                   client_id, 1)))
        forger.ping()
        self.assertEqual(waiting.end(), 0)
        self.assertEqual(waiting.line(), 'released')


class Gdbus(HolderCases, StateCase):
    def command(self):
        return [sys.executable, os.path.join(CLIENTS, 'hold-gdbus.py')]


class Dasbus(HolderCases, StateCase):
    def command(self):
        if subprocess.run([sys.executable, '-c', 'import dasbus'], stderr=subprocess.DEVNULL,
                          check=False).returncode != 0:
            self.skipTest('no dasbus')
        return [sys.executable, os.path.join(CLIENTS, 'hold-dasbus.py')]


class SdBus(HolderCases, StateCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = os.path.join(cls.bus.directory, 'hold-sd-bus')
        subprocess.run([*shlex.split(environment('WEBLOCKS_CC')), '-Wall', '-Werror', '-o',
                        cls.program, os.path.join(CLIENTS, 'hold-sd-bus.c'),
                        *shlex.split(environment('WEBLOCKS_SD_BUS_FLAGS'))], check=True)

    def command(self):
        return [self.program]


class DbusNext(HolderCases, StateCase):
    """On Node.js, if `npm install` could be run: see ./dev."""

    def command(self):
        modules = environment('WEBLOCKS_NODE_MODULES')
        node = shutil.which('node')
        if node is None or not os.path.isdir(os.path.join(modules, 'dbus-next')):
            self.skipTest('no Node.js with dbus-next')
        # Node searches for packages in the directory of the program.
        directory = os.path.join(self.bus.directory, 'node')
        if not os.path.isdir(directory):
            os.mkdir(directory)
            shutil.copy(os.path.join(CLIENTS, 'hold-dbus-next.mjs'), directory)
            os.symlink(modules, os.path.join(directory, 'node_modules'))
        return [node, os.path.join(directory, 'hold-dbus-next.mjs')]


class Go(HolderCases, StateCase):
    """With Debian's golang-dbus-dev, if it is installed."""

    PACKAGES = '/usr/share/gocode'

    def command(self):
        if shutil.which('go') is None or not os.path.isdir(
                os.path.join(self.PACKAGES, 'src/github.com/godbus/dbus')):
            self.skipTest('no Go with godbus')
        program = os.path.join(self.bus.directory, 'hold')
        if not os.path.exists(program):
            env = {**self.bus.environment(), 'GO111MODULE': 'off', 'GOPATH': self.PACKAGES,
                   'GOCACHE': os.path.join(self.bus.directory, 'go')}
            subprocess.run(['go', 'build', '-o', program, os.path.join(CLIENTS, 'hold.go')],
                           env=env, check=True)
        return [program]


class Shell(BusTestCase):
    def test_who(self):
        for tool in ('busctl', 'jq'):
            if shutil.which(tool) is None:
                self.skipTest(f'no {tool}')
        first, second = self.client(), self.client()
        first.request('a\tb', bucket=BUCKET)
        second.request('a\tb', bucket=BUCKET)
        result = subprocess.run([os.path.join(CLIENTS, 'who.sh'), BUCKET], capture_output=True,
                                text=True, env={**os.environ, **self.bus.environment()},
                                check=False)
        self.assertEqual((result.stdout, result.stderr),
                         (f'held\ta\\tb\t{os.getpid()}\npending\ta\\tb\t{os.getpid()}\n', ''))
