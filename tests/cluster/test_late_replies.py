# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Requests with ifAvailable, and steals, that other hosts decide: only their replies are late."""

import signal
import time

import clusterpackets as packets
from clustercase import BUCKET, ClusterCase
from harness import main, wait_for
from rawbus import lock_call

BITS = 20
IF_AVAILABLE, STEAL = 1, 2


def live(client):
    """The names of a client's requests; unlike Query, without asking other hosts."""
    return [entry[3] for entry in client.resync()]


def in_time(test):
    """Repeats a test with other names if it took longer than the two seconds that a request with
    ifAvailable waits, because the machine is busy."""
    def repeated(self):
        for left in reversed(range(5)):
            began = time.monotonic()
            try:
                return test(self)
            except (AssertionError, TimeoutError):
                if time.monotonic() - began < 1 or left == 0:
                    raise
    return repeated


class LateCase(ClusterCase):
    def setUp(self):
        super().setUp()
        self.gateway = self.start_gateway()

    def start_and_greet(self, *arguments):
        """A client that has requested 'other', so that there is a connection."""
        self.start(*arguments)
        client = self.client()
        client.request('other', BUCKET)
        self.gateway.greet()
        return client

    def ask(self, raw, member, name, **kw):
        """Sends the call without waiting for its reply. Returns its serial number."""
        return raw.send(lock_call(member, name, BUCKET, **kw))

    def result(self, raw, serial):
        wait_for(lambda: raw.is_answered(serial), what='reply')
        return raw.result(serial)

    def ask_and_wait(self, name, member='Request', undecided=IF_AVAILABLE, **kw):
        """A call of a new client, of which the gateway has got the demand."""
        raw = self.raw_client()
        serial = self.ask(raw, member, name, **kw)
        demand = self.gateway.take_demand(name, undecided=undecided)
        raw.ping()  # other calls are replied to
        return raw, serial, demand


class IfAvailable(LateCase):
    def setUp(self):
        super().setUp()
        self.start_and_greet()

    @in_time
    def test_granted(self):
        name = self.unique()
        raw, serial, demand = self.ask_and_wait(name, ifAvailable=True)
        self.assertEqual((demand.want, demand.held, demand.n_waiting), (packets.EXCLUSIVE, packets.NONE, 1))
        self.assertEqual(live(raw), [name])
        block = self.gateway.permit(demand)
        id_, token = self.result(raw, serial)
        self.assertEqual(token, block << BITS)
        self.assertEqual(raw.events, [])
        # Under the permit, weblocksd decides itself.
        self.assertEqual(raw.request(name, BUCKET, ifAvailable=True), (0, 0))
        raw.release(id_, BUCKET)

    @in_time
    def test_busy(self):
        name = self.unique()
        raw, serial, demand = self.ask_and_wait(name, ifAvailable=True)
        self.assertEqual(self.client().request(name, BUCKET, ifAvailable=True), (0, 0))
        self.gateway.busy(demand)
        began = time.monotonic()
        self.assertEqual(self.result(raw, serial), (0, 0))
        self.assertLess(time.monotonic() - began, 1)
        self.assertEqual((raw.events, live(raw)), ([], []))

    def test_timeout(self):
        """Without an answer of the gateway."""
        raw, serial, _ = self.ask_and_wait('x', ifAvailable=True)
        self.assertEqual(self.result(raw, serial), (0, 0))
        self.gateway.take_demand('x', want=packets.NONE, undecided=0)


class Steal(LateCase):
    def start_and_hold(self):
        """A client that holds 'x', in a turn that has to end."""
        holder = self.start_and_greet()
        id_, _ = holder.request('x', BUCKET)
        demand = self.gateway.take_demand('x')
        self.gateway.permit(demand)
        holder.wait_granted(id_)
        self.gateway.yield_(demand)
        self.gateway.sync()
        return holder, id_

    def test_granted(self):
        holder, held = self.start_and_hold()
        raw, serial, demand = self.ask_and_wait('x', 'Steal', STEAL)
        self.assertEqual(holder.signals('Released'), [])
        self.assertFalse(raw.is_answered(serial))
        block = self.gateway.permit(demand)
        id_, token = self.result(raw, serial)
        self.assertEqual(token, block << BITS)
        holder.wait_released(held, 'stolen')
        raw.release(id_, BUCKET)

    def test_timeout(self):
        """The locks of this host are not changed."""
        holder, held = self.start_and_hold()
        raw, serial, _ = self.ask_and_wait('x', 'Steal', STEAL, timeout=100)
        self.assert_error('Unavailable', self.result, raw, serial)
        self.assertEqual(holder.signals('Released'), [])
        holder.release(held, BUCKET)


class Ends(LateCase):
    def test_client_disconnects(self):
        self.start_and_greet()
        raw, _, _ = self.ask_and_wait('x', 'Steal', STEAL)
        raw.close()
        self.gateway.take_demand('x', want=packets.NONE, undecided=0)

    def check_aborted(self, raw, name):
        [entry] = raw.resync()
        self.assertTrue(raw.abort(entry[1], BUCKET))
        self.gateway.take_demand(name, want=packets.NONE, undecided=0)

    @in_time
    def test_aborted(self):
        if self.current is None:
            self.start_and_greet()
        name = self.unique()
        raw, serial, _ = self.ask_and_wait(name, ifAvailable=True)
        self.check_aborted(raw, name)
        self.assertEqual(self.result(raw, serial), (0, 0))
        raw, serial, _ = self.ask_and_wait(name, 'Steal', STEAL)
        self.check_aborted(raw, name)
        self.assert_error('Unavailable', self.result, raw, serial)

    def test_repeated(self):
        """Both calls get the id, and the outcome is a signal."""
        self.start_and_greet()
        raw, serial, _ = self.ask_and_wait('x', 'Steal', STEAL, key=7, timeout=2000)
        id_, token = raw.steal('x', BUCKET, key=7)
        self.assertEqual(token, 0)
        self.assertEqual(self.result(raw, serial), (id_, 0))
        self.assertEqual(raw.steal('x', BUCKET, key=7), (id_, 0))
        wait_for(lambda: raw.pump() or raw.events, what='signal')
        self.assertEqual([(event.signal, event.id, event.args[4]) for event in raw.events],
                         [('Released', id_, 'unavailable')])

    def test_shutdown(self):
        client = self.start_and_greet()
        raw, first, _ = self.ask_and_wait('x', 'Steal', STEAL)
        second = self.ask(raw, 'Steal', 'y')
        raw.ping()
        self.current.signal(signal.SIGTERM)
        for serial in (first, second):
            self.assert_error('InvalidState', self.result, raw, serial)
        self.current.wait_exit()
        self.wait_free()
        self.start()
        self.assertEqual((live(client), live(raw)), (['other'], []))

    def test_crash(self):
        """It is not stored, since its grant could not be reported to the caller."""
        client = self.start_and_greet()
        raw, _, _ = self.ask_and_wait('x', 'Steal', STEAL)
        self.restart()
        self.assertEqual((live(client), live(raw)), (['other'], []))

    def test_limits(self):
        """Each counts as a request."""
        self.start_and_greet('--limit=requestsPerClient=3')
        raw = self.raw_client()
        for name in 'xyz':
            self.ask(raw, 'Steal', name)
        self.assert_error('LimitsExceeded', raw.steal, 'w', BUCKET, mentions='requestsPerClient')


class Watchers(LateCase):
    def test_signals(self):
        watcher = self.start_and_greet()
        watcher.watch(bucket=BUCKET)
        raw = self.raw_client()
        raw.watch(bucket=BUCKET)
        serial = self.ask(raw, 'Steal', 'x')
        demand = self.gateway.take_demand('x', undecided=STEAL)
        raw.ping()
        self.assertEqual(raw.events, [])  # no id before the reply
        self.gateway.permit(demand)
        _, token = self.result(raw, serial)
        steal = self.ask(raw, 'Steal', 'y', timeout=50)
        self.assert_error('Unavailable', self.result, raw, steal)
        watcher.wait_for(lambda: len(watcher.signals()) == 4)
        self.assertEqual([(event.signal, event.args[1], event.args[4:]) for event in watcher.signals()],
                         [('Waiting', 'x', ()), ('Granted', 'x', (token,)),
                          ('Waiting', 'y', ()), ('Released', 'y', ('unavailable',))])
        raw.wait_for(lambda: len(raw.events) == 2)
        self.assertEqual([event.signal for event in raw.events], ['Granted', 'Released'])


class Sockets(LateCase):
    """An ANSWER is never deferred."""

    def setUp(self):
        super().setUp()
        self.start_and_greet()

    @in_time
    def test_granted(self):
        client, name = self.socket_client(), self.unique()
        key, token = client.request(name, BUCKET, ifAvailable=True)
        self.assertEqual(token, 0)
        demand = self.gateway.take_demand(name, undecided=IF_AVAILABLE)
        block = self.gateway.permit(demand)
        self.assertEqual(client.wait_granted(key).args[4], block << BITS)

    def test_unavailable(self):
        client = self.socket_client()
        key, _ = client.request('x', BUCKET, ifAvailable=True)
        self.gateway.busy(self.gateway.take_demand('x', undecided=IF_AVAILABLE))
        client.wait_released(key, 'unavailable')
        key, token = client.steal('x', BUCKET, timeout=50)
        self.assertEqual(token, 0)
        client.wait_released(key, 'unavailable')
        self.assertEqual(live(client), [])

    def test_released_and_aborted(self):
        client = self.socket_client()
        key, _ = client.steal('x', BUCKET)
        self.assert_error('NotHeld', client.release, key, BUCKET)
        self.assertTrue(client.abort(key, BUCKET))
        self.gateway.take_demand('x', want=packets.NONE, undecided=0)
        self.assertEqual(client.events, [])

    def test_opened_meanwhile(self):
        """The call on the bus is replied to, and the socket gets the message too."""
        raw = self.raw_client(descriptors=True)
        serial = self.ask(raw, 'Steal', 'x', key=9)
        demand = self.gateway.take_demand('x', undecided=STEAL)
        sock = self.lock_socket(raw)
        [entry] = sock.read_live()
        self.assertEqual((entry.key, entry.state), (9, 1))
        self.gateway.permit(demand)
        _, token = self.result(raw, serial)
        sock.wait_for(lambda: sock.events, what='grant')
        self.assertEqual([(event.key, event.token) for event in sock.events], [(9, token)])


if __name__ == '__main__':
    main()
