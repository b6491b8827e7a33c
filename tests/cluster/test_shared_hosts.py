# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A bucket of a cluster with `Shared=yes`: two users on two hosts, with a real server."""

import pwd
import unittest

from buses import can_be_others
from calls import DBusError
from clusterhosts import BUCKET, HostsCase
from rawbus import RawClient

USERS = ('daemon', 'nobody')
ALICE, BOB = (pwd.getpwnam(name).pw_uid for name in USERS)
NO_UID = 2 ** 32 - 1
SHARED = f'Users={";".join(USERS)}\nShared=yes\n'


@unittest.skipUnless(can_be_others(), 'needs root, to connect as another user')
class SharedHosts(HostsCase):
    size = 1
    n_hosts = 2
    more = SHARED

    def setUp(self):
        super().setUp()
        self.alpha, self.beta = self.hosts[:2]
        self.alice, self.bob = self.user(self.alpha, ALICE), self.user(self.beta, BOB)

    def user(self, host, uid):
        client = RawClient(host.bus.address, uid=uid)
        host.clients.append(client)
        return client

    def assert_refused(self, function, *args, **kw):
        with self.assertRaises(DBusError) as caught:
            function(*args, **kw)
        self.assertEqual(caught.exception.short, 'Security')

    def test_users_exclude_each_other(self):
        """In turn: one who waits on the same host, and one who waits on the other."""
        held, token = self.hold(self.alice)
        near, far = self.user(self.alpha, BOB), self.bob
        waits = {client: client.request(self.lock, BUCKET)[0] for client in (near, far)}
        self.assertEqual([entry['state'] for entry in near.inspect(BUCKET)[0]], ['held', 'pending'])
        self.alice.release(held, BUCKET)
        next_token = near.wait_granted(waits[near]).args[4]
        self.assertEqual(far.query(BUCKET)[0], [])
        near.release(waits[near], BUCKET)
        last_token = far.wait_granted(waits[far]).args[4]
        self.assertLess(token, next_token)
        self.assertLess(next_token, last_token)

    def test_ends(self):
        """By root from another host, and by nobody else."""
        held, _ = self.hold(self.alice)
        self.assert_refused(self.bob.steal, self.lock, BUCKET)
        self.assert_refused(self.bob.break_locks, self.lock, BUCKET)
        self.assert_refused(self.bob.break_locks, self.lock, BUCKET, clientId='host:host0')
        root = self.user(self.beta, 0)
        [found] = root.inspect(BUCKET, name=self.lock)[0]
        self.assertEqual((found['clientId'], found['uid'], found['state']), ('host:host0', NO_UID, 'held'))
        self.assertEqual(root.break_locks(self.lock, BUCKET, clientId='host:host0'), 1)
        self.alice.wait_released(held, 'stolen')
        held, _ = self.hold(self.alice)
        steals, token = root.steal(self.lock, BUCKET)
        self.assertGreater(token or root.wait_granted(steals).args[4], 0)
        self.alice.wait_released(held, 'stolen')

    def test_a_host_that_differs(self):
        """Refuses, until its configuration is that of the others."""
        self.hold(self.alice)
        self.beta.end_both()
        self.beta.write_config(self.beta.timeout, more='Shared=no\n')
        self.beta.start_processes()
        id_, _ = self.bob.request(self.lock + '2', BUCKET)
        self.wait_for(lambda: "are 'shared=yes'" in self.beta.gateway_log(), what='the reason')
        self.assertEqual(self.bob.query(BUCKET)[0], [])
        # One of its processes alone has the right one.
        self.beta.write_config(self.beta.timeout, more=SHARED)
        self.beta.end_gateway()
        self.beta.start_gateway()
        self.wait_for(lambda: 'restart both' in self.beta.gateway_log(), what='the reason')
        self.assertEqual(self.bob.query(BUCKET)[0], [])
        self.beta.kill_service()
        self.beta.start_service()
        self.bob.wait_granted(id_)
