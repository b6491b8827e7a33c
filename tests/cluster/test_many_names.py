# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A host that holds many names: each of its two processes is killed and started again, and no lock is lost."""

import time

import tap
from buses import FULL_SIZE, TEST_ALL
from clusterhosts import HostsCase
from clusternames import Names


class ManyNames(HostsCase):
    size = 3 if TEST_ALL else 1
    n_hosts = 1
    n_clients = 1
    n_names = 1000

    def setUp(self):
        super().setUp()
        self.host = self.hosts[0]
        self.names = Names(self.host, self.lock, self.n_clients, self.n_names)
        self.names.wait_held()

    def assert_none_is_lost(self, begin, what):
        self.names.wait_confirmed()
        tap.diagnostic(f'{what} started again: all confirmed after {time.monotonic() - begin:.2f} s')
        self.assertEqual(self.names.n_held(), self.names.count)


class GatewayKilled(ManyNames):
    # Twice 8,000 are within the limit of a user, if the case is repeated.
    n_clients = 16 if FULL_SIZE else 8 if TEST_ALL else 1

    def test_gateway(self):
        self.host.kill_gateway()
        begin = time.monotonic()
        self.host.start_gateway()
        self.assert_none_is_lost(begin, 'gateway')


class WeblocksdKilled(ManyNames):
    """The gateway knows its claims, and nothing is read."""

    # As above.
    n_clients = 16 if FULL_SIZE else 8 if TEST_ALL else 1

    def test_weblocksd(self):
        self.host.kill_service()
        begin = time.monotonic()
        self.host.start_service()
        self.assert_none_is_lost(begin, 'weblocksd')
