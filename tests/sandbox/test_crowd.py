# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Thousands of processes that make a call and exit immediately: nothing of them remains."""

import os
import subprocess

from buses import KEEPS_LITTLE, environment, full_size, status_kib
from harness import FACTOR, DBusError, diagnostic, main, wait_for
from rawbus import DRIVER, DRIVER_PATH, lock_call, method_call, path_of
from sandboxcase import FAULT, SandboxCase

N = 1000 if FAULT else full_size(3_000, 100_000)
ROUND = min(N, 10_000)
AT_ONCE = 64
# As many clients of a user as the service takes; more than there ever are at once.
ROOM = 400
# What a heap may grow by for no reason of ours.
SPARE_KIB = 4096 * FACTOR


class Crowd(SandboxCase):
    time_limit = full_size(120.0, 1800.0)
    options = ('--no-state', '--limit', f'clientsPerUid={ROOM}')
    environment = KEEPS_LITTLE

    def words(self):
        """What a client says, in parts between which it waits for an answer: the handshake, then
        who it is, then calls that nobody stays to hear answered."""
        uid = str(os.geteuid()).encode().hex().encode()
        client = self.raw_client()
        hello, *calls = [client.encode(message)[0] for message in (
            method_call(DRIVER, DRIVER_PATH, DRIVER, 'Hello'), lock_call('Request', 'n'),
            lock_call('Request', 'm', mode='shared'), lock_call('Query'))]
        return b'\0AUTH EXTERNAL ' + uid + b'\r\n', b'BEGIN\r\n' + hello, b''.join(calls)

    def rise(self, words, n):
        done = subprocess.run([environment('WEBLOCKS_QUICK_EXIT'), path_of(self.bus.address),
                               str(n), str(AT_ONCE), *[str(len(part)) for part in words]],
                              input=b''.join(words), capture_output=True, check=True)
        return int(done.stdout)

    def names(self):
        return self.control.call(DRIVER_PATH, DRIVER, 'ListNames', destination=DRIVER)[0]

    def wait_quiet(self, names):
        """Waits until only these are on the bus, and the service has been notified."""
        wait_for(lambda: set(self.names()) <= set(names), what='end of the crowd', every=0.05)
        self.control.ping()

    def n_asked(self, begin):
        """The number of the service's GetConnectionCredentials calls."""
        end = self.monitor.position()
        with self.monitor._lock:
            blobs = self.monitor._blobs[begin:end]
        return sum(b'GetConnectionCredentials' in blob for blob in blobs)

    def memory(self):
        return status_kib(self.daemon.process.pid, 'RssAnon:')

    def room(self):
        """The number of further clients that the service accepts."""
        clients = []
        try:
            while True:
                clients.append(self.raw_client())
                clients[-1].query()
        except DBusError as error:
            self.assertEqual(error.short, 'LimitsExceeded', error)
        for client in clients:
            client.close()
        self.wait_gone(*[client.name for client in clients])
        return len(clients) - 1

    def test_nothing_stays(self):
        watcher = self.raw_client()
        watcher.query()
        self.control.query()
        words, names = self.words(), self.names()
        # Whatever grows once grows now.
        room = self.room()
        self.rise(words, N // 10)
        self.wait_quiet(names)
        descriptors, memory = self.descriptors(), self.memory()
        failed = asked = 0
        for _ in range(N // ROUND):
            begin = self.monitor.position()
            failed += self.rise(words, ROUND)
            self.wait_quiet(names)
            asked += self.n_asked(begin)
            self.assertEqual(self.monitor.get_misdirected({self.daemon.name}), [])
            self.monitor.forget()
        self.assertEqual(self.control.query(), ([], []))
        self.assertEqual(self.control.buckets(), [])
        self.assertEqual(watcher.query(), ([], []))
        self.assertEqual(self.descriptors(), descriptors)
        grown = self.memory() - memory
        diagnostic(f'{N - failed} of {N} came through, of {asked} the service asked who they are; '
                   f'it grew by {grown} KiB, has {descriptors} descriptors, and room for {room} more')
        self.assertGreater(asked, N // 2, 'it has seen too few of them')
        self.assertEqual(self.room(), room, 'it knows some who have gone')
        self.assertLess(grown, SPARE_KIB)


if __name__ == '__main__':
    main()
