# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The lease of a host, and when real servers with the ticks of docs/cluster.md delete its claims."""

import os
import unittest

import tap
from buses import NOBODY, TEST_ALL, can_be_others
from clusterhosts import BUCKET, HostsCase
from clusternames import Names, lease_end, seconds
from ensemble import DOCUMENTED_SYNC_TICKS, DOCUMENTED_TICK_MS

# Holders are notified this long before another host is granted their locks, in seconds.
PROMISED = 2
# The shortest session that the gateway uses.
LEAST = 9
# Grants come when the session has ended, which may take this long after its time-out.
LATE = 30


class LeaseCase(HostsCase):
    """One host that waits for the locks of others, which a case adds."""

    n_hosts = 1
    sync_ticks = DOCUMENTED_SYNC_TICKS
    tick_ms = DOCUMENTED_TICK_MS

    def assert_lost_before(self, client, held, other, waiting, timeout, name):
        """The client has lost the lock of that name before the other one is granted it."""
        self.wait_for(lambda: other.granted(waiting), timeout + LATE, 'the lock')
        margin = other.wait_granted(waiting).at - client.wait_released(held, 'lost').at
        tap.diagnostic(f'{name}: time-out {timeout} s: lost {margin:+.2f} s before the grant')
        self.assertGreaterEqual(margin, PROMISED, f'{name}: time-out {timeout} s')


class Lease(LeaseCase):
    session_timeout = 15
    raised = 40

    def raise_timeout(self, host, client):
        host.write_config(self.raised)
        host.end_both()
        self.start(host, client)

    def start(self, host, client):
        """Starts both processes again. Returns when the lease has been renewed, and nothing is lost."""
        host.start_processes()
        self.wait_for(lambda: host.gateway_log().count('connected to ZooKeeper') == 2)
        before = lease_end(client)
        self.wait_for(lambda: lease_end(client) > before + 3, what='renewals')
        self.assertEqual(client.signals('Released'), [])

    def test_new_leader(self):
        """A new leader counts by the time-out that the session was made with. The host is cut off when the
        leader ends."""
        leader, server = self.ensemble.leader(), self.ensemble.followers()[0]
        other = self.hosts[0].client()
        host = self.add_host(f'raised-{self.attempt}', server.address)
        client = host.client()
        held = self.hold(client)[0]
        waiting = other.request(self.lock, BUCKET)[0]
        self.raise_timeout(host, client)
        self.network.cut_off(host.place)
        leader.kill()
        self.assert_lost_before(client, held, other, waiting, self.session_timeout, self.lock)

    def test_session_of_an_earlier_version(self):
        """It has not stored the time-out: then it counts as the least that a session may have."""
        host = self.add_host(f'earlier-{self.attempt}')
        client = host.client()
        self.hold(client)
        host.end_both()
        path = os.path.join(host.gateway_state, 'session')
        with open(path, encoding='utf-8') as file:
            lines = file.readlines()
        with open(path, 'w', encoding='utf-8') as file:
            file.writelines(line for line in lines if not line.startswith('Timeout='))
        self.start(host, client)
        self.assertLess(lease_end(client), seconds() + LEAST - PROMISED)

    def test_until_nothing_is_claimed(self):
        """The time-out is that of the session that was begun before, as long as there is a claim."""
        host = self.add_host(f'idle-{self.attempt}')
        client = host.client()
        held = self.hold(client)[0]
        self.raise_timeout(host, client)
        self.assertLess(lease_end(client), seconds() + self.session_timeout)
        client.release(held, BUCKET)
        self.wait_for(lambda: host.gateway_log().count('connected to ZooKeeper') == 3)
        self.hold(client)
        self.wait_for(lambda: lease_end(client) > seconds() + self.session_timeout, what='a longer lease')


@unittest.skipUnless(can_be_others(), 'needs root, to connect as another user')
class Flood(LeaseCase):
    """As many names as one user may have, or a fifth of them."""

    size = 3 if TEST_ALL else 1
    session_timeout = 20
    n_clients = 15 if TEST_ALL else 3
    n_names = 1000

    def test_locks_of_another_user(self):
        """While one user's names keep the servers busy, the lease is renewed, so that no other user loses a
        lock."""
        host = self.hosts[0]
        client = host.client()
        held = self.hold(client)[0]
        Names(host, 'flood', self.n_clients, self.n_names, uid=NOBODY)
        begin = seconds()

        def is_renewed():
            self.assertEqual(client.signals('Released', id=held), [])
            return lease_end(client) > begin + 1.2 * self.session_timeout
        # Renewals of before make it last for less than the time-out.
        self.wait_for(is_renewed, what='renewals')
