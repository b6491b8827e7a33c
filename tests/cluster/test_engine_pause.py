# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""How often the engine tries to connect while no server can be used. Needs no ZooKeeper: servers that
refuse the connection, or end it at once."""

import contextlib
import os
import selectors
import socket
import subprocess
import threading
import time
import unittest

from buses import PATIENCE, end, environment, readable, spawn

# Each pause after a round of failures is at least half of 50, 100, 200, 400 ms.
ROUNDS = 5
PAUSES = 0.025 + 0.05 + 0.1 + 0.2
# The client may have begun in the middle of a round, and needs an odd number of addresses.
SLACK = 2


class Reader:
    """The lines that a process logs."""

    def __init__(self, argv):
        self.process = spawn(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, env={**os.environ, 'G_MESSAGES_DEBUG': 'all'})
        self._data = b''
        self.lines = []

    def wait_for(self, part, count):
        """Returns the lines with this part when there are so many."""
        deadline = time.monotonic() + PATIENCE
        while len(found := [line for line in self.lines if part in line]) < count:
            if not readable(self.process.stderr, deadline - time.monotonic()):
                raise TimeoutError(f'{count} lines with "{part}": not within {PATIENCE} s; '
                                   f'{len(found)}; {self.lines[-20:]}')
            chunk = os.read(self.process.stderr.fileno(), 65536)
            if not chunk:
                raise EOFError(f'ended with {self.process.wait()}: {self.lines[-20:]}')
            *lines, self._data = (self._data + chunk).split(b'\n')
            self.lines += [line.decode() for line in lines]
        return found


@contextlib.contextmanager
def closing(sockets):
    """Accepts every connection, and closes it."""
    stop, stopped = socket.socketpair()
    with stop, stopped, selectors.DefaultSelector() as selector:
        for one in (*sockets, stopped):
            selector.register(one, selectors.EVENT_READ)

        def run():
            while True:
                for key, _ in selector.select():
                    if key.fileobj is stopped:
                        return
                    key.fileobj.accept()[0].close()

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield
        finally:
            stop.close()
            thread.join()


class Pause(unittest.TestCase):
    def reader(self, argv):
        reader = Reader(argv)
        self.addCleanup(end, reader.process)
        return reader

    def check(self, sockets):
        """All servers are tried, and there are pauses between the rounds."""
        servers = [f'127.0.0.1:{one.getsockname()[1]}' for one in sockets]
        addresses = len(servers) | 1
        begin = time.monotonic()
        reader = self.reader([environment('WEBLOCKS_ENGINE_CLIENT'), ','.join(servers),
                              '/weblocks', '10000', ''])
        lines = reader.wait_for(' zk retcode=', ROUNDS * addresses)
        taken = time.monotonic() - begin
        self.assertGreaterEqual(taken, PAUSES, f'{len(lines)} attempts within {taken:.3f} s')
        tried = [sum(f' {server} ' in line for line in lines) for server in servers]
        self.assertGreaterEqual(min(tried), ROUNDS - SLACK, f'attempts of each server: {tried}')

    def test_servers_refuse(self):
        for count in (2, 3):
            with self.subTest(servers=count), contextlib.ExitStack() as stack:
                sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
                for one in sockets:  # bound, and nobody listens
                    one.bind(('127.0.0.1', 0))
                self.check(sockets)

    def test_servers_end_the_connection(self):
        with contextlib.ExitStack() as stack:
            sockets = [stack.enter_context(socket.create_server(('127.0.0.1', 0)))
                       for _ in range(2)]
            stack.enter_context(closing(sockets))
            self.check(sockets)
