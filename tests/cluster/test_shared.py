# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A bucket of a cluster with `Shared=yes`, on one host, with a gateway that the test drives: what users do there."""

import pwd

import clusterpackets as packets
from calls import FILTER_TYPES, LOCKS, SERVICE, bucket_path, other_path, variants
from clustercase import CONFIG, ClusterCase
from harness import GLib, service_with
from rawbus import SHARED, method_call

ALICE, BOB, STRANGER = (pwd.getpwnam(name).pw_uid for name in ('daemon', 'nobody', 'games'))
BUCKET = 'cluster:render'
NO_UID = 2 ** 32 - 1
CONFIGURED = CONFIG + '''
[Bucket render]
Users=daemon;nobody
'''


class SharedCase(ClusterCase):
    config = CONFIGURED + 'Shared=yes\n'

    def setUp(self):
        super().setUp()
        SHARED[self.bus.address, bucket_path(BUCKET)] = (ALICE, BOB)
        self.gateway = self.start_gateway()

    def start_all(self, *arguments, **kw):
        """Starts the service, and clients of two users and of root."""
        self.start(*arguments, **kw)
        self.alice, self.bob = self.other_uid_client(ALICE), self.other_uid_client(BOB)
        self.root = self.raw_client()

    def hold(self, client=None, name='x'):
        """The client (alice's) is granted a lock, under a permit. Returns the id."""
        client = client or self.alice
        id_, token = client.request(name, BUCKET)
        if self.gateway.connection is None or not self.gateway.last:
            [demand] = self.gateway.greet()
        else:
            demand = self.gateway.take_demand(name)
        self.assertEqual((token, demand.uid, demand.bucket), (0, NO_UID, 'render'))
        self.gateway.permit(demand)
        client.wait_granted(id_)
        return id_


class Members(SharedCase):
    def test_users_exclude_each_other(self):
        self.start_all()
        held = self.hold()
        waits, token = self.bob.request('x', BUCKET)
        self.assertEqual(token, 0)
        self.assertEqual([(entry['uid'], entry['state']) for entry in self.bob.inspect(BUCKET)[0]],
                         [(ALICE, 'held'), (BOB, 'pending')])
        self.alice.release(held, BUCKET)
        self.bob.wait_granted(waits)

    def test_by_lock_sockets(self):
        self.start_all()
        alice, bob = self.socket_client(uid=ALICE), self.socket_client(uid=BOB)
        held = self.hold(alice)
        waits = bob.request('x', BUCKET)[0]
        self.assert_error('Security', bob.steal, 'x', BUCKET)
        alice.release(held, BUCKET)
        bob.wait_granted(waits)

    def test_other_buckets_are_as_before(self):
        self.start_all()
        for client, uid in ((self.alice, ALICE), (self.bob, BOB)):
            client.request('x', 'cluster:farm')
            self.gateway.take_demand('x', uid=uid, bucket='farm')

    def test_lists(self):
        self.start_all()
        stranger = self.other_uid_client(STRANGER)
        for client in (self.alice, self.root, stranger):
            client.watch_all()
        self.hold(self.bob)
        for client, uid in ((self.alice, ALICE), (self.bob, BOB), (self.root, 0)):
            self.assertIn(BUCKET, client.buckets())
            [found] = [entry for path, entry in client.observable() if path == bucket_path(BUCKET)]
            self.assertEqual((found['kind'], found['uid'], found['app'], found['held']),
                             ('cluster', uid, '', 1))
            self.assertEqual(client.query(BUCKET)[0], [('x', 'exclusive', self.bob.name)])
        for client in (self.alice, self.root):
            client.ping()
            self.assertEqual([event.signal for event in client.events], ['Waiting', 'Granted'])
        stranger.ping()
        self.assertEqual((stranger.events, stranger.buckets(), stranger.observable()), ([], [], []))

    def test_other_hosts(self):
        """Whose locks theirs are is not known."""
        self.start_all()
        self.hold()
        self.bob.send(method_call(SERVICE, bucket_path(BUCKET), LOCKS, 'Inspect',
                                  GLib.Variant('(a{sv})', (variants(FILTER_TYPES, {'name': 'x'}),))))
        asked = self.gateway.take(packets.List)
        self.assertEqual((asked.uid, asked.bucket, asked.name), (NO_UID, 'render', 'x'))

    def test_the_requester_is_charged(self):
        """For requests, and for names that the gateway has."""
        self.start_all('--limit=requestsPerUid=1')
        self.hold()
        self.assert_error('LimitsExceeded', self.alice.request, 'y', BUCKET, mentions='requestsPerUid')
        self.assert_error('LimitsExceeded', self.alice.request, 'y', 'default', mentions='requestsPerUid')
        self.hold(self.bob, 'y')
        self.assert_error('LimitsExceeded', self.bob.request, 'z', BUCKET, mentions='requestsPerUid')


class OutsidersCase(SharedCase):
    def check_ends(self):
        """Only root may end what others may have, also on other hosts: a steal overtakes those who wait there."""
        self.start_all()
        held = self.hold()
        other = self.other_uid_client(ALICE)
        for client in (self.bob, other):
            self.assert_error('Security', client.steal, 'x', BUCKET, mentions='only root')
            self.assert_error('Security', client.break_locks, 'x', BUCKET, mentions='only root')
            self.assert_error('Security', client.break_locks, 'x', BUCKET, clientId='host:beta',
                              mentions='only root')
        self.assert_error('Security', self.bob.break_locks, 'x', BUCKET, clientId=self.alice.name,
                          mentions='only root')
        self.assertEqual(other.break_locks('x', BUCKET, clientId=self.alice.name), 1)
        self.alice.wait_released(held, 'stolen')


class Unchecked(OutsidersCase):
    def test_it_is_detected(self):
        start = self.start
        self.start = lambda *arguments: start(*arguments, program=service_with('shared-end-unchecked'))
        with self.assertRaises(AssertionError):
            self.check_ends()


class Rights(OutsidersCase):
    def test_ends(self):
        self.check_ends()

    def test_root_ends(self):
        """It may also look; it is no user of the bucket."""
        self.start_all()
        held = self.hold()
        self.assert_error('Security', self.root.request, 'x', BUCKET, mentions='this bucket')
        steals, token = self.root.steal('x', BUCKET)
        self.alice.wait_released(held, 'stolen')
        self.assertGreater(token or self.root.wait_granted(steals).args[4], 0)
        self.root.release(steals, BUCKET)

    def test_strangers(self):
        self.start_all()
        stranger = self.other_uid_client(STRANGER)
        for function, *args in ((stranger.request, 'x'), (stranger.steal, 'x'), (stranger.query,),
                                (stranger.inspect,), (stranger.watch, True), (stranger.break_locks, 'x')):
            self.assert_error('Security', function, *args, BUCKET, mentions='this bucket')

    def test_one_path(self):
        self.start_all()
        for path in (other_path(BUCKET, uid=ALICE), other_path(BUCKET, uid=0), other_path(BUCKET, uid=NO_UID - 1)):
            self.assert_error('NotSupported', self.root.query, path)
            self.assert_error('Security', self.alice.query, path)

    def test_who_is_no_member_any_more(self):
        self.start_all()
        waits = self.alice.request('x', BUCKET)[0]
        self.write_config(self.config.replace('daemon;', ''))
        self.restart()
        self.assert_error('Security', self.alice.request, 'y', BUCKET)
        self.assertTrue(self.alice.abort(waits, BUCKET))


class Restarts(SharedCase):
    def test_requests_are_restored(self):
        self.start_all()
        held = self.hold()
        waits = self.bob.request('x', BUCKET)[0]
        self.restart()
        demand = self.gateway.take_demand('x', uid=NO_UID, n_waiting=1)
        self.gateway.take(packets.Ready)
        self.gateway.lease()
        self.gateway.permit(demand)
        self.gateway.send(packets.packet(packets.SYNCED))
        self.assertEqual([entry['state'] for entry in self.bob.inspect(BUCKET)[0]], ['held', 'pending'])
        self.alice.release(held, BUCKET)
        self.gateway.permit(self.gateway.take_demand('x', uid=NO_UID, needs_tokens=True))
        self.bob.wait_granted(waits)

    def change(self, config):
        self.write_config(config)
        self.restart()

    def test_shared_from_now_on(self):
        """What two users hold can't both be kept. Nothing else is lost."""
        self.config = CONFIGURED
        self.write_config(self.config)
        self.start_all()
        ids = [client.request('x', BUCKET)[0] for client in (self.alice, self.bob)]
        self.gateway.take(packets.Hello)
        self.gateway.lease()
        for uid in (ALICE, BOB):
            self.gateway.permit(self.gateway.take_demand('x', uid=uid))
        self.gateway.send(packets.packet(packets.SYNCED))
        for client, id_ in zip((self.alice, self.bob), ids):
            client.wait_granted(id_)
        kept = self.bob.request('mine')[0]
        self.change(self.config + 'Shared=yes\n')
        [demand] = self.gateway.greet()
        self.assertEqual(demand.uid, NO_UID)
        # The gateway has confirmed nothing, as the names are others.
        for client, id_ in zip((self.alice, self.bob), ids):
            client.wait_released(id_, 'lost')
        self.bob.release(kept)

    def test_not_shared_any_more(self):
        self.start_all()
        held = self.hold()
        waits = self.bob.request('x', BUCKET)[0]
        self.change(CONFIGURED)
        found = self.gateway.greet()
        self.assertEqual(sorted(demand.uid for demand in found), sorted([ALICE, BOB]))
        self.alice.wait_released(held, 'lost')
        [of_bob] = [demand for demand in found if demand.uid == BOB]
        self.gateway.permit(of_bob)
        self.bob.wait_granted(waits)
