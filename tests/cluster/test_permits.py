# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""weblocksd and its gateway to a cluster: permits and the lease. Shared permits and the end of turns are in
../unit/test-random, in test-claims and, with real gateways, in test_hosts.py."""

import time

import clusterpackets as packets
from clustercase import BUCKET, ClusterCase
from clustergateway import in_seconds
from harness import Gio, GLib, wait_for

BITS = packets.BLOCK_BITS


class Permits(ClusterCase):
    def test_under_a_permit(self):
        """Requests and releases send no packets; tokens are those of the block."""
        gateway, client, id_, demand = self.hold()
        tokens = []
        client.release(id_, BUCKET)
        for _ in range(10):
            id_, token = client.request('x', BUCKET)
            tokens.append(token)
            waiter = client.request('x', BUCKET, mode='shared')
            self.assertEqual(waiter[1], 0)
            client.release(id_, BUCKET)
            tokens.append(client.wait_granted(waiter[0]).args[4])
            client.release(waiter[0], BUCKET)
        self.assertEqual(tokens, [(1 << BITS) + 1 + i for i in range(20)])
        gateway.sync()
        self.assertEqual(gateway.last['x'], demand)

    def test_downgrade(self):
        """The permit stays exclusive, so no packet is sent; and counting locks are refused."""
        gateway, client, id_, demand = self.hold()
        reader, _ = client.request('x', BUCKET, mode='shared')
        writer, _ = client.request('x', BUCKET)
        client.downgrade(id_, BUCKET)
        client.wait_granted(reader)
        self.assertEqual([mode for _, mode, _ in client.query(BUCKET)[0]], ['shared', 'shared'])
        self.assert_error('NotSupported', client.request, 'x', BUCKET, slots=2, mentions='counting')
        self.assert_error('NotSupported', client.request, 'y', BUCKET, slots=2, mentions='counting')
        for each in (id_, reader):
            client.release(each, BUCKET)
        client.wait_granted(writer)
        gateway.sync()
        self.assertEqual(gateway.last['x'], demand)

    def test_permit_is_served_at_once(self):
        """While the service waits for the next packet of a client, for 10 ms, it also waits for the
        gateway. One that takes less shows that."""
        gateway = self.hold()[0]
        client = self.socket_client()
        delays = []
        for number in range(50):
            id_ = client.request(f'{number}', BUCKET)[0]
            demand = gateway.take_demand(f'{number}')
            begin = time.monotonic()
            gateway.permit(demand)
            client.wait_granted(id_)
            delays.append(time.monotonic() - begin)
            if delays[-1] < 0.005:
                return
        self.fail(f'from permit to grant, in seconds: {delays}')

    def test_another_host_waits(self):
        """A YIELD raises Wanted, also if requests of this host have not; a new turn ends it."""
        gateway, client, id_, demand = self.hold()
        gateway.yield_(demand)
        client.wait_for(lambda: client.wanted == [(id_, True)], what='Wanted')
        waits, _ = client.request('x', BUCKET)
        self.assertTrue(client.abort(waits, BUCKET))
        gateway.permit(demand)
        client.wait_for(lambda: len(client.wanted) > 1, what='no longer Wanted')
        self.assertEqual(client.wanted, [(id_, True), (id_, False)])

    def check_revoked(self, reason, name):
        gateway, client, first, demand = self.hold()
        second = client.request('x', BUCKET)[0]
        gateway.revoke(demand, reason)
        client.wait_released(first, name)
        demand = gateway.take_demand('x', want=packets.EXCLUSIVE, held=packets.NONE, turn_over=False)
        self.assertFalse(client.granted(second))
        self.assert_error('NotHeld', client.release, first, BUCKET)
        gateway.permit(demand)
        client.wait_granted(second)

    def test_stolen(self):
        self.check_revoked(packets.STOLEN, 'stolen')

    def test_lost(self):
        self.check_revoked(packets.LOST, 'lost')


class Tokens(ClusterCase):
    def test_not_of_this_host(self):
        """The cluster's tokens don't change those of other buckets, also over a restart."""
        gateway, client, id_, demand = self.start_all()
        gateway.permit(demand, block=1 << (52 - BITS))
        self.assertEqual(client.wait_granted(id_).args[4], 1 << 52)
        first = client.request('a')[1]
        self.restart()
        second = client.request('b')[1]
        self.assertLess(0, first)
        self.assertLess(first, second)
        self.assertLess(second, 1 << 52)


class Lease(ClusterCase):
    def test_over(self):
        """Holders are notified before the next request is granted; then weblocksd reconnects."""
        gateway, client, first, _ = self.hold()
        second = client.request('x', BUCKET)[0]
        gateway.lease(0.1)
        client.wait_released(first, 'lost')
        [demand] = gateway.greet()
        self.assertEqual((demand.want, demand.held, demand.block), (packets.EXCLUSIVE, packets.NONE, 0))
        gateway.permit(demand)
        client.wait_granted(second)
        signals = [(event.signal, event.id) for event in client.signals()]
        self.assertLess(signals.index(('Released', first)), signals.index(('Granted', second)))

    def test_checked_before_anything_else(self):
        """A service that was stopped checks the deadline before it processes queued messages."""
        gateway, client, first, _ = self.hold()
        second = client.request('x', BUCKET)[0]
        deadline = in_seconds(0.05)
        self.current.pause()
        gateway.lease(0.05)
        gateway.lease()  # too late
        wait_for(lambda: in_seconds(0) > deadline + 100_000, what='the deadline')
        self.current.resume()
        client.wait_released(first, 'lost')
        [demand] = gateway.greet()
        gateway.permit(demand)
        client.wait_granted(second)

    def test_release_after_the_deadline(self):
        """A release that arrives at the end of the lease is too late, and grants nothing."""
        gateway, client, first, _ = self.hold()
        client.request('x', BUCKET)
        deadline = in_seconds(0.3)
        gateway.serial += 1
        gateway.send(packets.lease(gateway.serial, deadline))
        gateway.take(packets.Ack, serial=gateway.serial)
        self.current.pause()
        wait_for(lambda: in_seconds(0) > deadline, what='the deadline')
        client.connection.call(
            'org.w3.WebLocks', '/org/w3/WebLocks/bucket/cluster_3afarm', 'org.w3.WebLocks', 'Release',
            GLib.Variant('(t)', (first,)), None, Gio.DBusCallFlags.NONE, -1, None, None)
        client.connection.flush_sync(None)
        self.current.resume()
        client.wait_released(first, 'lost')
        client.sync()
        self.assertEqual(len(client.signals('Granted')), 1)

    def test_acknowledged(self):
        gateway, _, _, _ = self.hold()
        for _ in range(3):
            gateway.take(packets.Ack, serial=gateway.lease())

    def test_late_permit(self):
        """A permit that arrives after the end of the lease is returned."""
        gateway, client, id_, demand = self.start_all()
        gateway.lease(-0.001)
        block = gateway.permit(demand)
        returned = gateway.take_demand('x', turn_over=True)
        self.assertEqual((returned.block, returned.want), (block, packets.EXCLUSIVE))
        client.sync()
        self.assertFalse(client.granted(id_))

    def test_session_lost(self):
        gateway, client, id_, _ = self.hold()
        gateway.lease(30, packets.LOST_SESSION)
        client.wait_released(id_, 'lost')
        gateway.take_demand('x', turn_over=True, want=packets.NONE)
