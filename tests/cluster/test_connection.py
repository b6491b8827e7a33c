# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""weblocksd and its gateway to a cluster: connections, restarts of both sides, and malformed
packets."""

import time

import clusterpackets as packets
from clustercase import BUCKET, ClusterCase
from clustergateway import in_seconds
from harness import wait_for


class Gateways(ClusterCase):
    def test_started_later(self):
        """A request waits until there is a gateway; requests in local buckets don't."""
        self.start()
        client = self.client()
        id_ = client.request('x', BUCKET)[0]
        self.assertNotEqual(client.request('x')[1], 0)
        gateway = self.start_gateway()
        [demand] = gateway.greet()
        gateway.permit(demand)
        client.wait_granted(id_)

    def test_gateway_that_fails(self):
        """The pauses become longer if each gateway ends before it has confirmed anything."""
        gateway = self.start_gateway()
        self.start()
        client = self.client()
        begin = time.monotonic()
        client.request('x', BUCKET)
        for _ in range(5):
            gateway.take(packets.Ready)
            gateway.sync()
            gateway.disconnect()
        self.assertGreater(time.monotonic() - begin, 0.05 + 0.1 + 0.2 + 0.4)

    def test_more_demands_than_the_output_takes(self):
        """They are sent in parts, and so are they if all change at the same time."""
        self.start('--limit=nameBytes=4096', '--limit=textBytesPerUid=16777216')
        names = {f'{number:04096}' for number in range(1200)}
        requests = []
        for number, name in enumerate(names):
            if number % 600 == 0:
                client = self.client()
            requests.append((client, client.request(name, BUCKET)[0]))
        gateway = self.start_gateway()
        self.assertEqual({demand.name for demand in gateway.greet()}, names)
        for number, demand in enumerate(list(gateway.last.values())):
            gateway.permit(demand)
            if number % 50 == 0:
                gateway.sync()
        for client, id_ in requests:
            client.wait_granted(id_)
        gateway.lease(state=packets.LOST_SESSION)
        for client, id_ in requests:
            client.wait_released(id_, 'lost')
        wait_for(lambda: {demand.held for demand in gateway.last.values()} == {packets.NONE} and all(
            demand.number > 1 for demand in gateway.last.values()), what='demands')
        self.assertEqual(gateway.n_connections, 1)

    def test_no_connection_without_demand(self):
        gateway = self.start_gateway()
        self.start()
        client = self.client()
        client.release(client.request('x')[0])
        self.assertEqual(client.query(), ([], []))
        self.assertEqual(gateway.n_connections, 0)

    def test_restarted(self):
        """Locks that the new gateway confirms stay held; a waiting request is sent again."""
        gateway, client, held, _ = self.hold()
        waiting = client.request('x', BUCKET)[0]
        also_waiting = client.request('y', BUCKET)[0]
        gateway.take_demand('y')
        gateway.close()
        client.sync()
        self.assertEqual(client.signals('Released'), [])
        gateway.open()
        gateway.take(packets.Hello)
        gateway.take(packets.Ready)
        demand, other = gateway.last['x'], gateway.last['y']
        self.assertEqual((demand.held, demand.want, demand.number), (packets.EXCLUSIVE, packets.EXCLUSIVE, 1))
        self.assertEqual((other.held, other.want), (packets.NONE, packets.EXCLUSIVE))
        self.assertEqual((demand.session, other.session, other.block), (packets.SESSION, 0, 0))
        gateway.lease()
        block = gateway.permit(demand)
        gateway.send(packets.packet(packets.SYNCED))
        client.release(held, BUCKET)
        self.assertEqual(client.wait_granted(waiting).args[4], block << packets.BLOCK_BITS)
        self.assertFalse(client.granted(also_waiting))
        self.assertEqual([event.args[-1] for event in client.signals('Released')], [])

    def test_confirms_the_same_permit(self):
        """It is named until it is confirmed; tokens go on where they were, also with another gateway."""
        gateway, client, held, permitted = self.hold()
        token = client.signals('Granted')[0].args[4]
        for _ in range(3):
            gateway.disconnect()
            gateway.take(packets.Hello)
            gateway.take(packets.Ready)
            demand = gateway.last['x']
            self.assertEqual((demand.block, demand.session, demand.claim),
                             (token >> packets.BLOCK_BITS, packets.SESSION, permitted.handle))
        gateway.lease()
        gateway.permit(demand, block=demand.block, claim=demand.claim)
        gateway.send(packets.packet(packets.SYNCED))
        gateway.sync()
        client.release(held, BUCKET)
        again = client.request('x', BUCKET)
        self.assertEqual(again[1], token + 1)
        # What is not confirmed is not named any more.
        gateway.disconnect()
        gateway.greet()
        client.wait_released(again[0], 'lost')
        client.request('x', BUCKET)
        gateway.disconnect()
        gateway.take(packets.Ready)
        self.assertEqual((gateway.last['x'].block, gateway.last['x'].session), (0, 0))

    def test_does_not_confirm(self):
        gateway, client, held, _ = self.hold()
        waiting = client.request('x', BUCKET)[0]
        gateway.close()
        gateway.open()
        gateway.take(packets.Hello)
        gateway.take(packets.Ready)
        gateway.lease()
        # The state of the name is unknown, so nothing is granted.
        client.release(held, BUCKET)
        client.sync()
        self.assertFalse(client.granted(waiting))
        second = gateway.last['x']
        gateway.send(packets.packet(packets.SYNCED))
        gateway.permit(second)
        client.wait_granted(waiting)
        gateway.disconnect()
        gateway.greet()
        client.wait_released(waiting, 'lost')

    def test_grants_go_on_without_a_gateway(self):
        gateway, client, held, _ = self.hold()
        waiting = client.request('x', BUCKET)[0]
        gateway.close()
        client.release(held, BUCKET)
        client.wait_granted(waiting)

    def test_lease_over_without_a_gateway(self):
        gateway, client, held, _ = self.hold()
        gateway.take(packets.Ack, serial=gateway.lease(0.2))
        gateway.close()
        client.wait_released(held, 'lost')
        self.assertEqual(client.request('x', BUCKET)[1], 0)

    def hold_again(self, seconds=30, **options):
        """The gateway has connected again, with a lease of so many seconds, and has confirmed nothing yet. Returns
        the deadline of the lease before."""
        gateway, client, held, _ = self.hold()
        gateway.take(packets.Ack, serial=gateway.lease(1))
        deadline = in_seconds(1)
        gateway.disconnect()
        gateway.take(packets.Ready)
        gateway.take(packets.Ack, serial=gateway.lease(seconds, **options))
        return gateway, client, held, deadline

    def test_session_goes_on(self):
        """What it has not confirmed yet is held for as long as its lease, and not after SYNCED. Nothing is granted
        meanwhile."""
        gateway, client, held, before = self.hold_again(seconds=8)
        deadline = in_seconds(7.9)
        wait_for(lambda: in_seconds(0) > before, what='the deadline')
        client.sync()
        self.assertEqual(client.signals('Released'), [])
        waiting = client.request('x', BUCKET)
        self.assertEqual(waiting[1], 0)
        client.wait_released(held, 'lost')
        self.assertGreaterEqual(in_seconds(0), deadline - 1_000_000)
        self.assertFalse(client.granted(waiting[0]))

    def test_session_goes_on_and_confirms_nothing(self):
        gateway, client, held, _ = self.hold_again()
        gateway.send(packets.packet(packets.SYNCED))
        client.wait_released(held, 'lost')

    def test_another_session(self):
        """Its lease is not that of permits that it has not confirmed."""
        gateway, client, held, deadline = self.hold_again(session=packets.SESSION + 1)
        client.wait_released(held, 'lost')
        self.assertLess(in_seconds(0), deadline + 20_000_000)
        gateway.sync()

    def test_permit_before_a_lease(self):
        """It is not valid."""
        gateway, client, held, _ = self.hold()
        gateway.disconnect()
        gateway.take(packets.Ready)
        block = gateway.permit(gateway.last['x'])
        client.wait_released(held, 'lost')
        self.assertEqual(gateway.take_demand('x', turn_over=True).block, block)

    def test_lease_of_the_session_before(self):
        """A deadline that was received before the session was lost does not count when the gateway has confirmed
        what is valid since."""
        gateway = self.start_gateway()
        self.start()
        client = self.client()
        id_ = client.request('x', BUCKET)[0]
        gateway.take(packets.Hello)
        gateway.take(packets.Ready)
        gateway.lease(30)
        gateway.lease(0)
        gateway.lease(state=packets.LOST_SESSION)
        gateway.lease()
        gateway.permit(gateway.last['x'])
        gateway.send(packets.packet(packets.SYNCED))
        client.wait_granted(id_)
        gateway.sync()
        client.sync()
        self.assertEqual(client.signals('Released'), [])

    def test_lesser_permit(self):
        """A confirmed permit weaker than a held lock: the lock is lost."""
        gateway, client, held, _ = self.hold()
        gateway.disconnect()
        gateway.take(packets.Hello)
        gateway.take(packets.Ready)
        gateway.lease()
        gateway.permit(gateway.last['x'], packets.SHARED)
        client.wait_released(held, 'lost')


class Services(ClusterCase):
    """weblocksd is killed, and started again."""

    def test_confirmed(self):
        """Tokens of the earlier permit may have been issued for locks that are over: others are asked for."""
        gateway, client, held, _ = self.hold()
        waiting = client.request('x', BUCKET)[0]
        self.restart()
        gateway.take(packets.Hello)
        gateway.take(packets.Ready)
        demand = gateway.last['x']
        self.assertEqual((demand.held, demand.want, demand.block, demand.session),
                         (packets.EXCLUSIVE, packets.EXCLUSIVE, gateway.block, 0))
        gateway.lease()
        gateway.permit(demand, block=demand.block)
        gateway.send(packets.packet(packets.SYNCED))
        self.assertEqual([entry[1] for entry in client.resync()], [held, waiting])
        client.release(held, BUCKET)
        block = gateway.permit(gateway.take_demand('x', needs_tokens=True, block=demand.block))
        self.assertEqual(client.wait_granted(waiting).args[4], block << packets.BLOCK_BITS)

    def test_not_confirmed(self):
        gateway, client, held, _ = self.hold()
        self.restart()
        gateway.greet()
        client.wait_released(held, 'lost')

    def test_never_synced(self):
        """What is held stays so until the end of the lease."""
        gateway, client, held, _ = self.hold()
        serial = gateway.lease(8)
        deadline = in_seconds(7.9)
        gateway.take(packets.Ack, serial=serial)
        gateway.close()
        self.restart()
        self.assertEqual([entry[1] for entry in client.resync()], [held])
        client.wait_released(held, 'lost')
        self.assertGreaterEqual(in_seconds(0), deadline)

    def test_lease_over(self):
        gateway, client, held, _ = self.hold()
        deadline = in_seconds(0.2)
        gateway.serial += 1
        gateway.send(packets.lease(gateway.serial, deadline))
        gateway.take(packets.Ack, serial=gateway.serial)
        self.crash()
        wait_for(lambda: in_seconds(0) > deadline, what='the deadline')
        gateway.close()
        self.start()
        self.assertEqual(client.resync(), [])
        client.wait_released(held, 'lost')

    def test_no_longer_configured(self):
        _, client, held, _ = self.hold()
        waiting = client.request('x', BUCKET)[0]
        other = client.request('x')[0]
        self.crash()
        with open(self.config_path, 'w', encoding='utf-8') as file:
            file.write('[Cluster]\nServers=a:1\n[Bucket other]\n')
        self.start()
        client.wait_released(held, 'lost')
        client.wait_released(waiting, 'lost')
        self.assertEqual([entry[1] for entry in client.resync()], [other])
        self.assert_error('NotSupported', client.request, 'x', BUCKET)


class Malformed(ClusterCase):
    def test_packets(self):
        """The connection is closed, the lock stays held, and the next connection works."""
        gateway, client, held, demand = self.hold()
        good = packets.permit(demand.handle, packets.EXCLUSIVE, 7)
        for name, data in (
                ('one byte', b'x'), ('zeros', bytes(64)), ('cut off', good[:-8]), ('longer', good + bytes(8)),
                ('what only weblocksd sends', packets.packet(packets.READY)), ('no kind', packets.packet(0)), ('another type', packets.raw(packets.SYNCED, bytes(8))),
                ('no mode', packets.permit(demand.handle, 0, 7)),
                ('no block', packets.permit(demand.handle, packets.EXCLUSIVE, 0)),
                ('a row beyond the end', packets.rows(1, packets.row(1, 1, 'a'))[:-1] + b'\xff'),
                ('an unknown handle', packets.permit(2 ** 63, packets.EXCLUSIVE, 7)),
                ('too long', bytes(packets.MAX_PACKET + 8))):
            with self.subTest(name):
                connections = gateway.n_connections
                gateway.send(data)
                gateway.take(packets.Hello)
                self.assertEqual(gateway.n_connections, connections + 1)
                gateway.take(packets.Ready)
                gateway.lease()
                gateway.permit(gateway.last['x'])
                gateway.send(packets.packet(packets.SYNCED))
        gateway.sync()
        client.release(held, BUCKET)
        self.assertEqual(client.signals('Released'), [])

    def test_late_packets(self):
        """Replies and decisions that come too late are ignored."""
        gateway, client, held, demand = self.hold()
        for data in (packets.revoked(99, packets.LOST), packets.yield_(99), packets.reply(packets.GONE, 99, 1),
                     packets.reply(packets.BUSY, 99, 1), packets.reply(packets.GONE, demand.handle, 1),
                     packets.reply(packets.BUSY, demand.handle, 1), packets.rows(5), packets.broken(5, 1),
                     packets.packet(packets.SYNCED), packets.status(packets.ACTIVE, 'a:1', ('node1',))):
            gateway.send(data)
        gateway.sync()
        client.release(held, BUCKET)
        self.assertNotEqual(client.request('x', BUCKET)[1], 0)
        self.assertEqual(gateway.n_connections, 1)
