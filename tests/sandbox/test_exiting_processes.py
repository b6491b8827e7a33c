# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Thousands of processes that make a call and exit immediately: the service stores nothing about
them."""

import os
import subprocess

from buses import KEEPS_LITTLE, environment, full_size, status_kib
from harness import FACTOR, DBusError, diagnostic, wait_for
from rawbus import DRIVER, DRIVER_PATH, lock_call, method_call, path_of
from sandboxcase import FAULT, SandboxCase

N = 1000 if FAULT else full_size(3_000, 100_000)
ROUND = min(N, 10_000)
CONCURRENT = 64
# The service's limit of clients of a user; more than are ever connected at the same time.
MAX_CLIENTS = 400
# How much a heap may grow for other reasons.
SPARE_KIB = 4096 * FACTOR


class ExitingProcesses(SandboxCase):
    time_limit = full_size(300.0, 1800.0)
    options = ('--no-state', '--limit', f'clientsPerUid={MAX_CLIENTS}')
    environment = KEEPS_LITTLE

    def data(self):
        """The data that a client sends, in parts between which it waits for a reply: the handshake,
        then Hello, then calls whose replies it doesn't wait for."""
        uid = str(os.geteuid()).encode().hex().encode()
        client = self.raw_client()
        hello, *calls = [client.encode(message)[0] for message in (
            method_call(DRIVER, DRIVER_PATH, DRIVER, 'Hello'), lock_call('Request', 'n'),
            lock_call('Request', 'm', mode='shared'), lock_call('Query'))]
        return b'\0AUTH EXTERNAL ' + uid + b'\r\n', b'BEGIN\r\n' + hello, b''.join(calls)

    def run_clients(self, data, n):
        done = subprocess.run([environment('WEBLOCKS_QUICK_EXIT'), path_of(self.bus.address),
                               str(n), str(CONCURRENT), *[str(len(part)) for part in data]],
                              input=b''.join(data), capture_output=True, check=True)
        return int(done.stdout)

    def list_names(self):
        return self.control.call(DRIVER_PATH, DRIVER, 'ListNames', destination=DRIVER)[0]

    def wait_quiet(self, names):
        """Waits until only these are on the bus, and the service has been notified."""
        wait_for(lambda: set(self.list_names()) <= set(names), what='end of the processes',
                 every=0.05)
        self.control.ping()

    def count_identified(self, begin):
        """The number of the service's GetConnectionCredentials calls."""
        end = self.monitor.position()
        with self.monitor._lock:
            blobs = self.monitor._blobs[begin:end]
        return sum(b'GetConnectionCredentials' in blob for blob in blobs)

    def memory(self):
        return status_kib(self.daemon.process.pid, 'RssAnon:')

    def count_free_clients(self):
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

    def test_nothing_remains(self):
        watcher = self.raw_client()
        watcher.query()
        self.control.query()
        data, names = self.data(), self.list_names()
        # Memory that grows only once grows now.
        n_free = self.count_free_clients()
        self.run_clients(data, N // 10)
        self.wait_quiet(names)
        descriptors, memory = self.descriptors(), self.memory()
        failed = identified = 0
        for _ in range(N // ROUND):
            begin = self.monitor.position()
            failed += self.run_clients(data, ROUND)
            self.wait_quiet(names)
            identified += self.count_identified(begin)
            self.assertEqual(self.monitor.get_misdirected({self.daemon.name}), [])
            self.monitor.forget()
        self.assertEqual(self.control.query(), ([], []))
        self.assertEqual(self.control.buckets(), [])
        self.assertEqual(watcher.query(), ([], []))
        self.assertEqual(self.descriptors(), descriptors)
        grown = self.memory() - memory
        diagnostic(f'{N - failed} of {N} have succeeded, and {identified} were identified; '
                   f'it grew by {grown} KiB, has {descriptors} descriptors, '
                   f'and accepts {n_free} more clients')
        self.assertGreater(identified, N // 2, 'too few were identified')
        self.assertEqual(self.count_free_clients(), n_free, 'disconnected clients are still counted')
        self.assertLess(grown, SPARE_KIB)
