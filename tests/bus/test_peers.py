# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Private sockets: whose they are, and which way things go."""

import os
import signal
import socket
import time

import buses
from buses import can_be_others
from calls import ADMIN, LOCKS, ROOT, SERVICE, bucket_path
from harness import (PATIENCE, BusTestCase, DBusError, Gio, GLib, PrivateSocket, RawClient, main,
                     wait_for)
from rawbus import lock_call, method_call, open_peer_call


class PeerCase(BusTestCase):
    def setUp(self):
        super().setUp()
        self.bucket = self.unique('bucket')
        self.raw = self.raw_client(descriptors=True)
        self.other = self.client()

    def count_descriptors(self):
        return self.daemon.count_descriptors()

    def wait_descriptors(self, number):
        wait_for(lambda: self.count_descriptors() == number, every=0.005,
                 what=f'{number} descriptors of the service')

    def told(self, client):
        return [(event.signal, *event.args[:2]) for event in client.events]


class Identity(PeerCase):
    """A socket is the client's that asked for it over the bus, whatever is said on it."""

    def test_the_client_id_is_the_bus_name(self):
        peer = self.private_socket(self.raw)
        peer.request('x', self.bucket)
        self.assertEqual(self.other.query(self.bucket), ([('x', 'exclusive', self.raw.name)], []))
        self.assertEqual(self.other.inspect(self.bucket)[0][0]['pid'], os.getpid())

    def test_ids_are_the_same_both_ways(self):
        peer = self.private_socket(self.raw)
        by_bus, _ = self.raw.request('x', self.bucket)
        by_socket, _ = peer.request('y', self.bucket)
        self.assertNotEqual(by_bus, by_socket)
        peer.release(by_bus, self.bucket)
        self.raw.release(by_socket, self.bucket)
        self.assertEqual(self.other.query(self.bucket), ([], []))
        held, _ = peer.request('x', self.bucket)
        waiting, _ = self.raw.request('x', self.bucket)
        self.assertIs(peer.abort(waiting, self.bucket), True)
        self.raw.release(held, self.bucket)
        self.assertEqual(peer.query(self.bucket), ([], []))

    def test_keys_are_the_same_both_ways(self):
        """How a client asks again for what it has had no answer to."""
        peer = self.private_socket(self.raw)
        first = peer.request('x', self.bucket, key=7)
        self.assertEqual(self.raw.request('x', self.bucket, key=7), first)
        self.assertEqual(peer.request('x', self.bucket, key=7), first)
        self.assertEqual(len(self.other.query(self.bucket)[0]), 1)

    def test_watches_are_the_same_both_ways(self):
        peer = self.private_socket(self.raw)
        self.raw.watch(bucket=self.bucket)
        peer.watch(False, self.bucket)
        self.other.request('x', self.bucket)
        peer.ping()
        self.assertEqual((self.raw.events, peer.events), ([], []))

    def test_ids_of_others_are_none(self):
        peer = self.private_socket(self.raw)
        foreign = [self.other.request('x', self.bucket)[0] for _ in range(3)]
        nothing = self.assert_error('NotHeld', peer.release, 10 ** 6, self.bucket)
        for id_ in foreign:
            error = self.assert_error('NotHeld', peer.release, id_, self.bucket)
            self.assertEqual(error.message, nothing.message)
            self.assertIs(peer.abort(id_, self.bucket), False)
        self.assertEqual(len(self.other.query(self.bucket)[1]), 2)

    def test_another_principal(self):
        stranger = self.private_socket(self.other_uid_client_with_descriptors(),
                                       handshake=False)
        stranger.shake_hands()
        self.other.request('x', self.bucket)
        self.assertEqual(stranger.query(self.bucket), ([], []))
        self.assertNotEqual(stranger.request('x', self.bucket)[1], 0)
        self.assertEqual(self.other.query(self.bucket)[0], [('x', 'exclusive', self.other.name)])

    def other_uid_client_with_descriptors(self):
        if not can_be_others():
            self.skipTest('needs root, to connect as another user')
        return self.raw_client(uid=65534, descriptors=True)

    def test_another_user_says_who_they_are(self):
        """As GDBus does it, with the uid in the first line."""
        peer = self.private_socket(self.other_uid_client_with_descriptors(), handshake=False)
        peer.shake_hands(b'\0AUTH EXTERNAL ' + b'65534'.hex().encode() + b'\r\nBEGIN\r\n',
                         (b'OK',))
        peer.request('x', self.bucket)

    def test_a_sender_that_is_made_up(self):
        peer = self.private_socket(self.raw)
        id_, _ = self.other.request('x', self.bucket)
        for sender in (self.other.name, 'org.freedesktop.DBus', SERVICE):
            with self.subTest(sender):
                message = lock_call('Release', id_, self.bucket)
                message.set_sender(sender)
                with self.assertRaises(DBusError) as caught:
                    peer.result(peer.send(message))
                self.assertEqual(caught.exception.short, 'NotHeld')
                message = lock_call('Request', 'y', self.bucket)
                message.set_sender(sender)
                message.set_destination(None)
                own, _ = peer.result(peer.send(message))
                self.assertIn(('y', 'exclusive', self.raw.name), self.other.query(self.bucket)[0])
                peer.release(own, self.bucket)

    def test_the_bus_speaks_only_on_the_bus(self):
        peer = self.private_socket(self.raw)
        self.other.request('x', self.bucket)
        for member, body in (('NameOwnerChanged', (self.other.name, self.other.name, '')),
                             ('NameOwnerChanged', (self.raw.name, self.raw.name, '')),
                             ('NameLost', (SERVICE,))):
            message = Gio.DBusMessage.new_signal('/org/freedesktop/DBus', 'org.freedesktop.DBus',
                                                 member)
            message.set_sender('org.freedesktop.DBus')
            message.set_body(GLib.Variant(f"({'s' * len(body)})", body))
            peer.send(message)
        peer.ping()
        self.assertEqual(len(self.other.query(self.bucket)[0]), 1)
        self.assertIsNone(self.daemon.process.poll())

    def test_there_is_no_bus_on_it(self):
        peer = self.private_socket(self.raw)
        for member in ('Hello', 'ListNames'):
            self.assert_error('UnknownObject', peer.call, '/org/freedesktop/DBus',
                              'org.freedesktop.DBus', member, destination='org.freedesktop.DBus')

    def test_open_peer_on_it(self):
        peer = self.private_socket(self.raw)
        before = self.count_descriptors()
        self.assert_error('NotSupported', peer.call, ROOT, ADMIN, 'OpenPeer')
        self.assertEqual(self.count_descriptors(), before)
        peer.ping()

    def test_descriptors_are_not_taken(self):
        """It ends the socket, and no more than that."""
        before = self.count_descriptors()
        for _ in range(20):
            peer = self.private_socket(self.raw)
            with open(os.devnull, 'rb') as file:
                peer.send_with_descriptors(lock_call('Query', bucket=self.bucket),
                                           [file.fileno()] * 10)
            self.assertTrue(peer.at_end())
        self.wait_descriptors(before)
        self.assertEqual(self.raw.query(self.bucket), ([], []))


class Ways(PeerCase):
    """Answers and signals go where the last call came from."""

    def setUp(self):
        super().setUp()
        self.held, _ = self.other.request('x', self.bucket)

    def wait_for_it(self, mode='shared'):
        return self.raw.request('x', self.bucket, mode=mode)[0]

    def steal(self):
        return self.other.steal('x', self.bucket)

    def both(self):
        """What came by the bus and by the socket, all of it."""
        self.raw.ping_the_bus()
        self.peer.pump()
        return self.told(self.raw), self.told(self.peer)

    def test_by_the_socket_from_open_peer_on(self):
        """The grant comes while nothing has been said there yet."""
        waiting = self.wait_for_it()
        peer = self.private_socket(self.raw)
        self.other.release(self.held, self.bucket)
        peer.wait_for(lambda: peer.granted(waiting), what='grant')
        self.assertEqual(self.raw.events, [])

    def test_many_before_the_handshake(self):
        ids = [self.wait_for_it() for _ in range(100)]
        peer = self.private_socket(self.raw, handshake=False)
        self.other.release(self.held, self.bucket)
        self.steal()
        peer.shake_hands()
        peer.wait_for(lambda: len(peer.events) == 200, what='100 grants and losses')
        self.assertEqual([event.id for event in peer.events], ids * 2)
        self.assertEqual(self.raw.events, [])

    def test_back_and_forth(self):
        peer = self.private_socket(self.raw)
        for round_ in range(10):
            for caller, silent in ((self.raw, peer), (peer, self.raw)):
                held, _ = self.other.steal('y', self.bucket)
                waiting, _ = caller.request('y', self.bucket)
                self.other.release(held, self.bucket)
                caller.wait_for(lambda c=caller, w=waiting: c.granted(w), what='grant')
                self.steal_y(caller, waiting)
                self.assertEqual(silent.signals(id=waiting), [], f'round {round_}')

    def steal_y(self, caller, id_):
        held, _ = self.other.steal('y', self.bucket)
        caller.wait_for(lambda: caller.signals('Released', id=id_), what='loss')
        self.other.release(held, self.bucket)

    def test_every_call_counts(self):
        """Also one that fails, one that wants no answer, and a question."""
        peer = self.private_socket(self.raw)
        for call in (lock_call('Query', bucket=self.bucket),
                     lock_call('Release', 99, self.bucket),
                     lock_call('Release', 99, self.bucket, reply=False),
                     method_call(SERVICE, ROOT, ADMIN, 'Buckets')):
            for caller, silent in ((self.raw, peer), (peer, self.raw)):
                with self.subTest(call.get_member(), by=type(caller).__name__):
                    waiting, _ = silent.request('x', self.bucket)
                    caller.send(Gio.DBusMessage.copy(call))
                    # Only a barrier: what sd-bus answers by itself is no call of ours.
                    caller.ping()
                    thief, _ = self.steal()
                    self.other.release(thief, self.bucket)
                    caller.wait_for(lambda c=caller, w=waiting: c.granted(w), what='grant')
                    self.assertEqual(silent.signals(id=waiting), [])
                    caller.release(waiting, self.bucket)
                    self.other.request('x', self.bucket)

    def test_the_reply_is_the_last_by_the_bus(self):
        """Everything that was said before it comes before it, everything later by the socket."""
        ids = [self.wait_for_it() for _ in range(20)]
        for _ in range(20):
            self.daemon.pause()
            try:
                # The service finds all of it at once; the bus has put it in an order.
                serial = self.raw.send(open_peer_call())
                self.raw.ping_the_bus()
                thief = self.other.connection
                thief.call(SERVICE, bucket_path(self.bucket), LOCKS, 'Steal',
                           GLib.Variant('(sa{sv})', ('x', {})), None, Gio.DBusCallFlags.NONE, -1,
                           None, None)
                thief.flush_sync(None)
            finally:
                self.daemon.resume()
            self.raw.reply_to(serial)
            peer = PrivateSocket.of(self.raw.descriptors.pop(), self.raw.name)
            self.other.sync()
            self.raw.ping_the_bus()
            self.assertEqual(self.raw.log[-2].get_reply_serial(), serial)
            self.assertEqual(self.raw.events, [])
            peer.close()
        self.assertEqual(len(ids), len(self.other.query(self.bucket)[1]))

    def test_a_reply_comes_before_its_grant(self):
        peer = self.private_socket(self.raw)
        held, _ = peer.request('y', self.bucket)
        for _ in range(50):
            start = len(peer.log)
            request, release = peer.send_all([lock_call('Request', 'y', self.bucket),
                                              lock_call('Release', held, self.bucket)])
            waiting, token = peer.result(request)
            self.assertEqual(token, 0)
            peer.result(release)
            peer.wait_for(lambda w=waiting: peer.granted(w), what='grant')
            kinds = [(message.get_reply_serial(), message.get_member())
                     for message in peer.log[start:]]
            self.assertLess(kinds.index((request, None)), kinds.index((0, 'Granted')))
            held = waiting

    def test_first_calls_of_a_client(self):
        """They wait until the service knows who it is; each is answered the way it came."""
        for _ in range(10):
            raw = self.raw_client(descriptors=True)
            name = self.unique()
            before, first, between, second, after, buckets = raw.send_all([
                lock_call('Request', name, self.bucket), open_peer_call(),
                lock_call('Request', name, self.bucket), open_peer_call(),
                lock_call('Request', name, self.bucket), method_call(SERVICE, ROOT, ADMIN,
                                                                     'Buckets')])
            ids = [raw.result(serial)[0] for serial in (before, between, after)]
            self.assertEqual(ids, sorted(set(ids)))
            self.assertIn(self.bucket, raw.result(buckets)[0])
            for serial in (first, second):
                raw.result(serial)
            replaced, peer = [PrivateSocket.of(fd, raw.name, handshake=False)
                              for fd in raw.descriptors]
            self.addCleanup(replaced.close)
            self.addCleanup(peer.close)
            self.assertTrue(replaced.at_end())
            peer.shake_hands()
            peer.release(ids[0], self.bucket)
            peer.wait_for(lambda p=peer, i=ids: p.granted(i[1]), what='grant')


class Second(PeerCase):
    def test_it_closes_the_first(self):
        first = self.private_socket(self.raw)
        held, _ = first.request('x', self.bucket)
        first.send(lock_call('Request', 'y', self.bucket))
        second = self.private_socket(self.raw)
        # It was served, and its answer can be read before the end.
        self.assertTrue(first.at_end())
        self.assertEqual(first.log[-1].get_message_type(), Gio.DBusMessageType.METHOD_RETURN)
        self.assertEqual(len(second.query(self.bucket)[0]), 2)
        second.release(held, self.bucket)

    def test_what_was_told_and_not_read_is_not_lost(self):
        first = self.private_socket(self.raw)
        blocker, _ = self.other.request('x', self.bucket)
        ids = [first.request('x', self.bucket, mode='shared')[0] for _ in range(50)]
        self.other.release(blocker, self.bucket)
        self.other.sync()
        second = self.private_socket(self.raw)
        self.assertTrue(first.at_end())
        self.other.steal('x', self.bucket)
        second.wait_for(lambda: len(second.events) == 50, what='50 losses')
        self.assertEqual([event.id for event in first.events], ids)
        self.assertEqual([event.id for event in second.events], ids)

    def test_without_a_handshake_on_either(self):
        blocker, _ = self.other.request('x', self.bucket)
        waiting, _ = self.raw.request('x', self.bucket)
        first = self.private_socket(self.raw, handshake=False)
        self.other.release(blocker, self.bucket)
        self.other.sync()
        second = self.private_socket(self.raw, handshake=False)
        self.assertTrue(first.at_end())
        second.shake_hands()
        second.ping()
        # The grant was for the first, which closed before it could be told there.
        self.raw.wait_for(lambda: self.raw.granted(waiting), what='grant by the bus')


class PerUid(PeerCase):
    arguments = ('--limit', 'privateSocketsPerUid=3')

    def refused(self):
        return self.assert_error('LimitsExceeded', self.raw.call, ROOT, ADMIN, 'OpenPeer',
                                 mentions='privateSocketsPerUid')

    def test_limit(self):
        peers = [self.private_socket() for _ in range(2)]
        two = self.count_descriptors()
        peers.append(self.private_socket())
        before = self.count_descriptors()
        self.refused()
        self.assertEqual(self.raw.descriptors, [])
        self.assertEqual(self.count_descriptors(), before)
        for peer in peers:
            peer.ping()
        peers[0].close()
        self.wait_descriptors(two)
        self.private_socket(self.raw)
        self.assert_error('LimitsExceeded', self.raw_client(descriptors=True).call, ROOT, ADMIN,
                          'OpenPeer')

    def test_in_place_of_its_own(self):
        peers = [self.private_socket() for _ in range(2)]
        for _ in range(10):
            last = self.private_socket(self.raw)
        for peer in [*peers, last]:
            peer.ping()

    def test_death_gives_it_back(self):
        for _ in range(4):
            clients = [self.raw_client(descriptors=True) for _ in range(3)]
            peers = [self.private_socket(client) for client in clients]
            self.refused()
            for client in clients:
                client.close()
            for peer in peers:
                self.assertTrue(peer.at_end())
        self.private_socket(self.raw)

    def test_handshakes_that_fail_give_it_back(self):
        for _ in range(4):
            for _ in range(3):
                peer = self.private_socket(handshake=False)
                peer.socket.sendall(peer.HANDSHAKE + b'?' * 100)
                peer.read_to_end()
        self.private_socket(self.raw)

    def test_another_uid_is_not_affected(self):
        for _ in range(3):
            self.private_socket()
        self.refused()
        if not can_be_others():
            self.skipTest('needs root, to connect as another user')
        self.private_socket(self.raw_client(uid=65534, descriptors=True)).ping()


class PassedOn(PeerCase):
    """The socket in the hands of another process."""

    def open_by_child(self):
        """A child that has a client with a socket, which it gives us. Its pid, name, and the
        socket."""
        ours, theirs = socket.socketpair()
        child = os.fork()
        if child == 0:
            try:
                buses.die_with_parent()
                client = RawClient(self.bus.address, descriptors=True)
                client.request('mine', self.bucket)
                client.result(client.send(open_peer_call()))
                socket.send_fds(theirs, [client.name.encode()], client.descriptors)
                os.close(client.descriptors.pop())
                signal.pause()
            finally:
                os._exit(1)
        theirs.close()
        with ours:
            ours.settimeout(buses.PATIENCE)
            name, fds, _, _ = socket.recv_fds(ours, 100, 1)
        return child, PrivateSocket.of(fds[0], name.decode())

    def test_it_dies_with_the_name(self):
        before = self.count_descriptors()
        child, peer = self.open_by_child()
        self.addCleanup(peer.close)
        try:
            # Whoever has it speaks for the client, and has no rights but the client's.
            self.assertEqual(peer.query(self.bucket)[0], [('mine', 'exclusive', peer.name)])
            peer.request('more', self.bucket)
            self.assertEqual({entry[2] for entry in self.other.query(self.bucket)[0]},
                             {peer.name})
        finally:
            os.kill(child, signal.SIGKILL)
            killed = time.monotonic()
            os.waitpid(child, 0)
        serials = 0
        try:
            while time.monotonic() - killed < PATIENCE:
                peer.query(self.bucket)
                serials += 1
        except (ConnectionError, OSError):
            pass
        self.assertLess(time.monotonic() - killed, PATIENCE / 2)
        self.wait_gone(peer.name)
        self.assertEqual(self.other.query(self.bucket), ([], []))
        self.wait_descriptors(before)


class WatchingBySocket(PeerCase):
    """Which way a watcher is asked how far it has read."""

    # Of the contract: how many unconfirmed signals a watcher gets.
    UNCONFIRMED_MAX = 1024

    def make_events(self, count):
        """In steps that no client has trouble with."""
        writer = self.raw_client()
        sent = 0
        while sent < count:
            messages = []
            for _ in range(min(100, (count - sent) // 2)):
                sent += 2
                messages += [lock_call('Request', 'busy', self.bucket),
                             lock_call('Release', sent // 2, self.bucket)]
            for serial in writer.send_all(messages):
                writer.result(serial)

    def test_pings_come_by_the_socket(self):
        peer = self.private_socket(self.raw)
        peer.watch(bucket=self.bucket)
        self.make_events(400)
        peer.wait_for(lambda: len(peer.events) == 400 and peer.pings(), what='events and a ping')
        self.raw.ping_the_bus()
        self.assertEqual((self.raw.pings(), self.raw.events), ([], []))

    def test_missed(self):
        peer = self.private_socket(self.raw)
        peer.watch(bucket=self.bucket)
        self.make_events(3000)
        peer.ping()
        got = len(peer.events)
        self.assertEqual(got, self.UNCONFIRMED_MAX)

        def told():
            peer.answer_pings()
            return peer.signals('Missed')
        peer.wait_for(told, what='Missed')
        self.assertEqual(got + peer.signals('Missed')[0].args[0], 3000)
        self.make_events(10)
        peer.ping()
        self.assertEqual(len(peer.events), got + 1 + 10)

    def count_heard(self, listeners, events):
        """Makes events while the listeners answer what they are asked, each on its own stream."""
        for _ in range(events // 200):
            self.make_events(200)
            for listener in listeners:
                while listener.pump():
                    pass
                listener.answer_pings()
            # What is answered now is confirmed before the next events are made.
            for listener in listeners:
                listener.ping()

    def check_still_heard(self, listeners, now):
        """The watch goes on: nobody's question was left without an answer for good."""
        before = [len(listener.events) for listener in listeners]
        self.count_heard(listeners, 4 * self.UNCONFIRMED_MAX)
        heard = sum(len(listener.events) for listener in listeners) - sum(before)
        missed = sum(event.args[0] - 1 for listener in listeners
                     for event in listener.signals('Missed'))
        self.assertGreaterEqual(heard + missed, 4 * self.UNCONFIRMED_MAX - 200)
        self.assertGreater(len(now.events), before[listeners.index(now)])

    def outstanding(self, caller):
        """A ping of the service waits for its answer, on the way of `caller`."""
        caller.watch(bucket=self.bucket)
        self.make_events(400)
        caller.wait_for(caller.pings, what='ping')

    def test_the_socket_closes_with_a_ping_outstanding(self):
        peer = self.private_socket(self.raw)
        self.outstanding(peer)
        peer.close()
        self.check_still_heard([self.raw], self.raw)

    def test_to_the_bus_with_a_ping_outstanding_on_the_socket(self):
        """And then the socket closes, on which nobody answers any more."""
        peer = self.private_socket(self.raw)
        self.outstanding(peer)
        self.raw.query(self.bucket)
        peer.close()
        self.check_still_heard([self.raw], self.raw)

    def test_to_another_socket_with_a_ping_outstanding_on_the_first(self):
        first = self.private_socket(self.raw)
        self.outstanding(first)
        second = self.private_socket(self.raw)
        second.ping()
        self.check_still_heard([second], second)

    def test_to_the_bus_with_the_answer_by_the_socket(self):
        peer = self.private_socket(self.raw)
        self.outstanding(peer)
        self.raw.query(self.bucket)
        peer.answer_pings()
        self.check_still_heard([self.raw], self.raw)

    def test_to_the_socket_with_a_ping_outstanding_on_the_bus(self):
        self.outstanding(self.raw)
        peer = self.private_socket(self.raw)
        peer.query(self.bucket)
        self.raw.answer_pings()
        self.check_still_heard([peer], peer)

    def test_a_ping_that_was_never_answered_before_it_dies(self):
        peer = self.private_socket(self.raw)
        self.outstanding(peer)
        self.raw.close()
        self.assertTrue(peer.at_end())
        self.make_events(400)


if __name__ == '__main__':
    main()
