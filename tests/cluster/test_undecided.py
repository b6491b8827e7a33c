# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Requests with ifAvailable, and steals, that other hosts decide: they are pending until then."""

import signal
import time

import clusterpackets as packets
from clustercase import BUCKET, ClusterCase
from harness import DBusError, main
from rawbus import lock_call

BITS = packets.BLOCK_BITS
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

    def ask(self, name, **kw):
        """A pending request of a new client, and its demand."""
        raw = self.raw_client()
        id_, token = raw.request(name, BUCKET, **kw)
        self.assertEqual((id_ != 0, token), (True, 0))
        demand = self.gateway.take_demand(name, undecided=STEAL if 'steal' in kw else IF_AVAILABLE)
        return raw, id_, demand


class IfAvailable(LateCase):
    def setUp(self):
        super().setUp()
        self.start_and_greet()

    @in_time
    def test_granted(self):
        name = self.unique()
        raw, id_, demand = self.ask(name, ifAvailable=True)
        self.assertEqual((demand.want, demand.held, demand.n_waiting), (packets.EXCLUSIVE, packets.NONE, 1))
        self.assertEqual(live(raw), [name])
        block = self.gateway.permit(demand)
        self.assertEqual(raw.wait_granted(id_).args[4], block << BITS)
        # Under the permit, weblocksd decides itself.
        self.assertEqual(raw.request(name, BUCKET, ifAvailable=True), (0, 0))
        raw.release(id_, BUCKET)

    @in_time
    def test_busy(self):
        name = self.unique()
        raw, id_, demand = self.ask(name, ifAvailable=True)
        self.assertEqual(self.client().request(name, BUCKET, ifAvailable=True), (0, 0))
        self.gateway.busy(demand)
        began = time.monotonic()
        raw.wait_released(id_, 'unavailable')
        self.assertLess(time.monotonic() - began, 1)
        self.assertEqual(live(raw), [])

    def test_timeout(self):
        """Without an answer of the gateway."""
        raw, id_, _ = self.ask('x', ifAvailable=True)
        raw.wait_released(id_, 'unavailable')
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
        raw, id_, demand = self.ask('x', steal=True)
        self.assertEqual(holder.signals('Released'), [])
        self.assertEqual(raw.events, [])
        block = self.gateway.permit(demand)
        self.assertEqual(raw.wait_granted(id_).args[4], block << BITS)
        holder.wait_released(held, 'stolen')
        raw.release(id_, BUCKET)

    def test_timeout(self):
        """The locks of this host are not changed."""
        holder, held = self.start_and_hold()
        raw, id_, _ = self.ask('x', steal=True, timeout=100)
        raw.wait_released(id_, 'unavailable')
        self.assertEqual(holder.signals('Released'), [])
        holder.release(held, BUCKET)


class Ends(LateCase):
    def test_client_disconnects(self):
        self.start_and_greet()
        raw, _, _ = self.ask('x', steal=True)
        raw.close()
        self.gateway.take_demand('x', want=packets.NONE, undecided=0)

    @in_time
    def test_aborted(self):
        if self.current is None:
            self.start_and_greet()
        for options in ({'ifAvailable': True}, {'steal': True}):
            name = self.unique()
            raw, id_, _ = self.ask(name, **options)
            self.assertTrue(raw.abort(id_, BUCKET))
            self.gateway.take_demand(name, want=packets.NONE, undecided=0)
            self.assertEqual(raw.events, [])

    def test_repeated(self):
        """By its key: the same id."""
        self.start_and_greet()
        raw, id_, _ = self.ask('x', steal=True, key=7, timeout=2000)
        self.assertEqual(raw.steal('x', BUCKET, key=7), (id_, 0))
        raw.wait_released(id_, 'unavailable')
        self.assertEqual(len(raw.events), 1)

    def test_shutdown(self):
        """It is not stored: it ends, and so does one that is requested at the last moment."""
        client = self.start_and_greet()
        raw, first, _ = self.ask('x', steal=True)
        self.current.pause()
        self.current.signal(signal.SIGTERM)
        last = raw.send(lock_call('Steal', 'y', BUCKET))
        raw.ping_the_bus()
        self.current.resume()
        raw.wait_released(first, 'unavailable')
        try:
            raw.wait_released(raw.result(last)[0], 'unavailable')
        except DBusError as error:
            self.assertEqual(error.short, 'InvalidState', error)
        self.current.wait_exit()
        self.wait_free()
        self.start()
        self.assertEqual((live(client), live(raw)), (['other'], []))

    def test_crash(self):
        """It is not stored, since its time is over before a service could be asked again."""
        client = self.start_and_greet()
        raw, _, _ = self.ask('x', steal=True)
        self.restart()
        self.assertEqual((live(client), live(raw)), (['other'], []))

    def test_limits(self):
        """Each counts as a request."""
        self.start_and_greet('--limit=requestsPerClient=3')
        raw = self.raw_client()
        for name in 'xyz':
            raw.steal(name, BUCKET)
        self.assert_error('LimitsExceeded', raw.steal, 'w', BUCKET, mentions='requestsPerClient')


class Watchers(LateCase):
    def test_signals(self):
        watcher = self.start_and_greet()
        watcher.watch(bucket=BUCKET)
        raw, id_, demand = self.ask('x', steal=True)
        self.gateway.permit(demand)
        token = raw.wait_granted(id_).args[4]
        raw.wait_released(raw.steal('y', BUCKET, timeout=50)[0], 'unavailable')
        watcher.wait_for(lambda: len(watcher.signals()) == 4)
        self.assertEqual([(event.signal, event.args[1], event.args[4:]) for event in watcher.signals()],
                         [('Waiting', 'x', ()), ('Granted', 'x', (token,)),
                          ('Waiting', 'y', ()), ('Released', 'y', ('unavailable',))])


class Sockets(LateCase):
    """On lock sockets. Grants and refusals are in ../cli/test_cluster.py, too."""

    def setUp(self):
        super().setUp()
        self.start_and_greet()

    def test_released_and_aborted(self):
        client = self.socket_client()
        key, _ = client.steal('x', BUCKET)
        self.assert_error('NotHeld', client.release, key, BUCKET)
        self.assertTrue(client.abort(key, BUCKET))
        self.gateway.take_demand('x', want=packets.NONE, undecided=0)
        self.assertEqual(client.events, [])

    def test_opened_meanwhile(self):
        """The socket gets the message."""
        raw = self.raw_client(descriptors=True)
        raw.steal('x', BUCKET, key=9)
        demand = self.gateway.take_demand('x', undecided=STEAL)
        sock = self.lock_socket(raw)
        [entry] = sock.read_live()
        self.assertEqual((entry.key, entry.state), (9, 1))
        block = self.gateway.permit(demand)
        sock.wait_for(lambda: sock.events, what='grant')
        self.assertEqual([(event.key, event.token) for event in sock.events], [(9, block << BITS)])


if __name__ == '__main__':
    main()
