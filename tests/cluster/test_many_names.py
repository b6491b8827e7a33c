# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A host that holds many names: each of its two processes is killed and started again, and no lock is lost."""

import time

import tap
from buses import FULL_SIZE, TEST_ALL
from clusterhosts import BUCKET, HostsCase
from rawbus import RawClient
from sockets import SocketClient
from test_lease import lease_end

# How long the servers of a busy machine may take to make the names.
PATIENCE = 300


class ManyNames(HostsCase):
    n_hosts = 1
    n_clients = 1
    n_names = 1000

    def setUp(self):
        super().setUp()
        self.host = self.hosts[0]
        self.client = self.host.client()
        for number in range(self.n_clients):
            holder = SocketClient(RawClient(self.host.bus.address, descriptors=True))
            self.addCleanup(holder.close)
            holder.socket.request_all([f'{self.lock} {number} {i}' for i in range(self.n_names)], BUCKET)
        self.wait_for(lambda: self.n_held() == self.n_clients * self.n_names, PATIENCE, 'the locks')

    def n_held(self):
        return len(self.client.query(BUCKET)[0])

    def assert_none_is_lost(self, begin, what):
        """The lease of before has ended, so all that is held was confirmed by the gateway."""
        end = lease_end(self.client)
        self.wait_for(lambda: lease_end(self.client) > end + 0.5, 2 * self.session_timeout, 'a later lease')
        tap.diagnostic(f'{what} started again: a later lease after {time.monotonic() - begin:.2f} s')
        self.assertEqual(self.n_held(), self.n_clients * self.n_names)


class GatewayKilled(ManyNames):
    # Twice 8,000 are within the limit of a user, if the case is repeated.
    n_clients = 16 if FULL_SIZE else 8 if TEST_ALL else 1

    def test_gateway(self):
        self.host.kill_gateway()
        begin = time.monotonic()
        self.host.start_gateway()
        self.assert_none_is_lost(begin, 'gateway')


class WeblocksdKilled(ManyNames):
    """Each name is granted again, which the lease has to last for."""

    n_clients = 4 if TEST_ALL else 1

    def test_weblocksd(self):
        self.host.kill_service()
        begin = time.monotonic()
        self.host.start_service()
        self.assert_none_is_lost(begin, 'weblocksd')


if __name__ == '__main__':
    tap.main()
