# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Three hosts and three servers: locks across hosts, while parts of them end or are cut off. Single processes that are
killed are in test_many_names.py, and any of them in ../storm; the order of all requests is in test-claims."""

from buses import PATIENCE, TEST_ALL
from clusterhosts import BUCKET, HostsCase

# A host's locks are lost this long after its last commit; the engine ends its claims some seconds
# later.
LOST_WITHIN = 40


class Locks(HostsCase):
    size = 3 if TEST_ALL else 1

    def test_hand_over(self):
        one, two, three = (host.client() for host in self.hosts)
        held, token = self.hold(one)
        waiting = [(client, client.request(self.lock, BUCKET)) for client in (two, three)]
        self.assertEqual([answer[1] for _, answer in waiting], [0, 0])
        one.release(held, BUCKET)
        self.wait_for(lambda: any(client.granted(answer[0]) for client, answer in waiting))
        for _ in waiting:
            [(client, (id_, _))] = [each for each in waiting if each[0].granted(each[1][0])][:1]
            later = client.wait_granted(id_).args[4]
            self.assertGreater(later, token)
            token = later
            client.release(id_, BUCKET)
            waiting.remove((client, (id_, 0)))
            if waiting:
                other, (other_id, _) = waiting[0]
                other.wait_granted(other_id)

    def test_if_available(self):
        one, two = (host.client() for host in self.hosts[:2])
        held, token = one.outcome_of(one.request(self.lock, BUCKET, ifAvailable=True))
        self.assertGreater(token, 0)
        self.assertEqual(two.outcome_of(two.request(self.lock, BUCKET, ifAvailable=True)), (0, 0))
        one.release(held, BUCKET)

    def test_steal(self):
        one, two = (host.client() for host in self.hosts[:2])
        held, token = self.hold(one)
        _, stolen = two.outcome_of(two.steal(self.lock, BUCKET))
        self.assertGreater(stolen, token)
        one.wait_released(held, 'stolen')

    def test_adopted_by_the_next_gateway(self):
        """The locks that are held are confirmed, though claims of others, which nobody wants any more, are
        found before theirs."""
        host = self.hosts[0]
        client = host.client()
        held = [self.hold(client, f'{self.lock}-{i}')[0] for i in range(8)]
        host.kill_gateway()
        for id_ in held[1:]:
            client.release(id_, BUCKET)
        # weblocksd sends what it wants before the claims are known.
        for server in self.ensemble.servers:
            server.pause()
        host.start_gateway()
        self.wait_for(lambda: client.get_property('Cluster')['state'] == 'connecting')
        for server in self.ensemble.servers:
            server.resume()
        self.wait_for(lambda: client.get_property('Cluster')['state'] == 'active')
        other = self.hosts[1].client()
        for i in range(1, 8):
            self.hold(other, f'{self.lock}-{i}')
        client.sync()
        self.assertEqual(client.signals('Released', id=held[0]), [])
        self.assertEqual(other.outcome_of(other.request(f'{self.lock}-0', BUCKET, ifAvailable=True)), (0, 0))

    def test_inspect_and_break(self):
        one, two = (host.client() for host in self.hosts[:2])
        held, _ = self.hold(one)

        def others():
            return [(entry['mode'], entry['state'], entry['host'])
                    for entry in two.inspect(BUCKET, name=self.lock)[0]]

        # The server of the second host may be behind.
        self.wait_for(others, what='row')
        self.assertEqual(others(), [('exclusive', 'held', self.hosts[0].name)])
        self.assertEqual(two.query(BUCKET), ([], []))
        self.assertEqual(two.break_locks(self.lock, BUCKET), 1)
        one.wait_released(held, 'stolen')


class Faults(HostsCase):
    session_timeout = 10

    def assert_still_held(self, client, id_):
        client.sync()
        self.assertEqual(client.signals('Released', id=id_), [])
        other = next(host for host in self.hosts if host.bus.address != client.address)
        asking = other.client()
        self.assertEqual(asking.outcome_of(asking.request(self.lock, BUCKET, ifAvailable=True)), (0, 0))

    def holder(self, host):
        client = host.client()
        client.address = host.bus.address
        return client, self.hold(client)[0]

    def test_both_are_killed(self):
        """Both processes of a host are killed at the same moment, while a client there holds the lock, and another
        one there and one on another host wait for it. Nothing is lost."""
        host = self.hosts[0]
        client, held = self.holder(host)
        near, far = host.client(), self.hosts[1].client()
        near_waiting, far_waiting = (each.request(self.lock, BUCKET)[0] for each in (near, far))
        host.kill()
        host.start_processes()
        self.assert_still_held(client, held)
        self.assertFalse(near.granted(near_waiting) or far.granted(far_waiting))
        client.release(held, BUCKET)
        waiting = {near: near_waiting, far: far_waiting}
        while waiting:
            self.wait_for(lambda: any(each.granted(id_) for each, id_ in waiting.items()))
            [(first, id_)] = [(each, id_) for each, id_ in waiting.items() if each.granted(id_)]
            first.release(id_, BUCKET)
            del waiting[first]

    def test_leader_is_killed(self):
        client, held = self.holder(self.hosts[0])
        leader = self.ensemble.leader()
        leader.kill()
        self.assert_still_held(client, held)
        leader.start()

    def assert_lost_before_the_next(self, client, held, other, waiting):
        """The next host gets the lock only after the client that lost it was notified."""
        self.wait_for(lambda: other.granted(waiting), LOST_WITHIN, 'the lock of the other host')
        lost = client.wait_released(held, 'lost')
        self.assertLess(lost.at, other.wait_granted(waiting).at)

    def test_host_is_cut_off(self):
        client, held = self.holder(self.hosts[0])
        other = self.hosts[1].client()
        waiting = other.request(self.lock, BUCKET)[0]
        self.network.cut_off(self.hosts[0].place)
        self.assert_lost_before_the_next(client, held, other, waiting)
        self.network.restore()
        other.release(waiting, BUCKET)
        self.hold(client)

    def test_gateway_is_stopped(self):
        host = self.hosts[0]
        client, held = self.holder(host)
        other = self.hosts[1].client()
        waiting = other.request(self.lock, BUCKET)[0]
        host.pause_gateway()
        self.assert_lost_before_the_next(client, held, other, waiting)
        host.resume_gateway()
        other.release(waiting, BUCKET)
        self.hold(client)

    def test_not_connected(self):
        """While there is no majority, nothing is granted and `ifAvailable` is refused in time."""
        client, held = self.holder(self.hosts[0])
        client.release(held, BUCKET)
        for server in self.ensemble.servers[1:]:
            server.kill()
        other = self.hosts[1].client()
        self.assertEqual(other.outcome_of(other.request(self.lock, BUCKET, ifAvailable=True)), (0, 0))
        waiting, token = other.request(self.lock, BUCKET)
        self.assertEqual(token, 0)
        self.assertEqual(other.outcome_of(other.steal(self.lock, BUCKET)), (0, 0))
        for server in self.ensemble.servers[1:]:
            server.start()
        # As long as the servers take to start.
        self.wait_for(lambda: other.granted(waiting), 2 * PATIENCE, 'lock')
