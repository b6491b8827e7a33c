# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""How private sockets begin and end: handshakes, closing, and the end of the service."""

import select
import signal
import socket
import time

import buses
from calls import ADMIN, LOCKS, ROOT, SERVICE, bucket_path
from harness import (FACTOR, PATIENCE, BusTestCase, DBusError, Gio, GLib, PeerClient,
                     PrivateSocket, RawClient, Service, environment, main, start_and_use)
from rawbus import lock_call, method_call, open_peer_call, read_line
from test_peers import PeerCase

# Of the contract.
HANDSHAKE_SECS = 5
HANDSHAKE_BYTES = 16 * 1024


class Handshake(PeerCase):
    def check_works(self, peer):
        id_, _ = peer.request('x', self.bucket)
        peer.release(id_, self.bucket)

    def test_anonymous_is_rejected(self):
        peer = self.private_socket(self.raw, handshake=False)
        for mechanism in (b'ANONYMOUS', b'ANONYMOUS 6162', b'DBUS_COOKIE_SHA1 30', b'KERBEROS_V4'):
            peer.socket.sendall((b'' if mechanism != b'ANONYMOUS' else b'\0')
                                + b'AUTH ' + mechanism + b'\r\n')
            self.assertRegex(read_line(peer.socket), b'^REJECTED')
        peer.shake_hands(peer.HANDSHAKE[1:])
        self.check_works(peer)

    def test_no_message_before_begin(self):
        for words in (b'\0', b'\0AUTH ANONYMOUS\r\n', b'\0AUTH EXTERNAL\r\n', b'\0BEGIN\r\n'):
            with self.subTest(words):
                peer = self.private_socket(self.raw, handshake=False)
                blob, _ = peer.encode(lock_call('Request', 'x', self.bucket))
                peer.socket.sendall(words + blob + b'\r\n')
                peer.close()
                self.assertEqual(self.raw.query(self.bucket), ([], []))

    def test_no_message_with_the_answers(self):
        """sd-bus takes what comes with the answers for more of them, and may die of it."""
        holder = self.client()
        held, _ = holder.request('x', self.bucket)
        waiting, _ = self.raw.request('x', self.bucket)
        peer = self.private_socket(self.raw, handshake=False)
        peer.socket.sendall(peer.HANDSHAKE)
        holder.release(held, self.bucket)
        self.assertTrue(buses.readable(peer.socket, buses.PATIENCE))
        for _ in range(10):
            self.control.ping()
        there = peer.socket.recv(4096, socket.MSG_PEEK)
        self.assertRegex(there, b'^DATA\r\nOK [0-9a-f]{32}\r\n$')
        peer.read_answers()
        peer.wait_for(lambda: peer.granted(waiting), what='Granted')

    def test_byte_by_byte(self):
        """The service sees each byte by itself; of messages, a few bytes, since a socket has room
        for a few hundred pieces only."""
        peer = self.private_socket(self.raw, handshake=False)
        for byte in peer.HANDSHAKE:
            peer.socket.sendall(bytes([byte]))
            self.control.ping()
        peer.read_answers()
        for name in ('x', 'y'):
            blob, serial = peer.encode(lock_call('Request', name, self.bucket))
            for start in range(0, len(blob), 5):
                self.assertFalse(peer.pump())
                peer.socket.sendall(blob[start:start + 5])
                self.control.ping()
            self.assertNotEqual(peer.result(serial)[1], 0)

    def test_in_very_small_pieces(self):
        """More of them than a socket has room for (the kernel calls it writable while a quarter is
        in use): the message is read, or the socket ends; nobody waits for ever."""
        for size in (100, 5000, 30000):
            with self.subTest(size):
                self.check_pieces(size)

    def check_pieces(self, size):
        peer = self.private_socket(self.raw)
        blob, serial = peer.encode(lock_call('Request', 'x' * 60000, self.bucket))
        poll = select.poll()
        poll.register(peer.socket, select.POLLOUT)
        peer.socket.setblocking(False)
        deadline = time.monotonic() + buses.PATIENCE
        start = 0
        try:
            while start < len(blob):
                self.assertLess(time.monotonic(), deadline, f'{start} bytes of {len(blob)} taken')
                poll.poll(100)
                try:
                    start += peer.socket.send(blob[start:start + size])
                except BlockingIOError:
                    pass
            peer.socket.settimeout(buses.PATIENCE)
            peer.reply_to(serial)
        except ConnectionError:
            pass
        self.assertEqual(self.raw.query(self.bucket), ([], []))

    def test_messages_right_behind_it(self):
        """In one write, cut at each place."""
        for cut in (1, 10, len(PrivateSocket.HANDSHAKE) - 1, len(PrivateSocket.HANDSHAKE),
                    len(PrivateSocket.HANDSHAKE) + 10, -1):
            with self.subTest(cut):
                peer = self.private_socket(self.raw, handshake=False)
                pairs = [peer.encode(lock_call('Request', f'{number}', self.bucket,
                                               ifAvailable=True)) for number in range(100)]
                data = peer.HANDSHAKE + b''.join(blob for blob, _ in pairs)
                peer.socket.sendall(data[:cut])
                self.control.ping()
                peer.socket.sendall(data[cut:])
                peer.read_answers()
                ids = [peer.result(serial)[0] for _, serial in pairs]
                self.assertEqual(ids, sorted(set(ids)))
                for id_ in ids:
                    peer.release(id_, self.bucket)

    def test_too_long(self):
        """It is closed long before the time is up."""
        for words in (b'\0AUTH ' + b'x' * HANDSHAKE_BYTES, b'\0' + b'x' * (1 << 17),
                      b'\0' + b'NONSENSE\r\n' * (HANDSHAKE_BYTES // 10 + 1),
                      b'\0' + b'AUTH ANONYMOUS\r\n' * (HANDSHAKE_BYTES // 16 + 1)):
            with self.subTest(words[:20]):
                before = self.count_descriptors()
                peer = self.private_socket(self.raw, handshake=False)
                started = time.monotonic()
                try:
                    peer.socket.sendall(words)
                except (BrokenPipeError, ConnectionResetError):
                    pass
                self.wait_descriptors(before)
                self.assertLess(time.monotonic() - started, HANDSHAKE_SECS * 0.8)

    def test_long_but_not_too_long(self):
        peer = self.private_socket(self.raw, handshake=False)
        peer.socket.sendall(b'\0' + (b'x' * 8000 + b'\r\n') * 2)
        for _ in range(2):
            self.assertTrue(read_line(peer.socket).startswith(b'ERROR'))
        peer.shake_hands(peer.HANDSHAKE[1:])
        self.check_works(peer)

    def test_nobody_there(self):
        """Sockets on which it doesn't get done end when the time is up, and what they were to tell
        comes by the bus."""
        before = self.count_descriptors()
        blocker, _ = self.other.request('x', self.bucket)
        clients = [self.raw_client(descriptors=True) for _ in range(3)]
        ids = [client.request('x', self.bucket, mode='shared')[0] for client in clients]
        started = time.monotonic()
        silent, half, slow = peers = [self.private_socket(client, handshake=False)
                                      for client in clients]
        words = b'\0AUTH EXTERNAL\r\nDATA\r\n'
        half.socket.sendall(words)
        deaf = self.raw_client()
        deaf.send(open_peer_call())
        self.control.ping()
        self.other.release(blocker, self.bucket)
        open_peers = set(peers)
        said = 0
        while open_peers:
            self.assertLess(time.monotonic() - started, (HANDSHAKE_SECS + 10) * FACTOR)
            if slow in open_peers and said < len(words):
                said += self.say(slow, words[said:said + 1])
            for peer in list(open_peers):
                if buses.readable(peer.socket, 0.1) and not self.read_words(peer):
                    open_peers.remove(peer)
        taken = time.monotonic() - started
        self.assertGreater(taken, HANDSHAKE_SECS - 1.1)
        for client, id_ in zip(clients, ids):
            client.wait_for(lambda c=client, i=id_: c.granted(i), what='grant by the bus')
        # Also the one for a client that takes no descriptors.
        self.wait_descriptors(before)
        self.assertIsNone(self.daemon.process.poll())
        self.assertEqual(silent.events, [])

    def say(self, peer, words):
        """How many bytes of it; also if the socket has just been closed."""
        try:
            return peer.socket.send(words)
        except BrokenPipeError:
            return len(words)

    def read_words(self, peer):
        try:
            return peer.socket.recv(1000)
        except ConnectionResetError:
            return b''

    def test_a_client_that_takes_no_descriptors(self):
        """It gets an error, or nothing, from the bus; and can go on."""
        for _ in range(5):
            deaf = self.raw_client()
            deaf.send(open_peer_call())
            try:
                deaf.request('x', self.bucket, ifAvailable=True)
            except ConnectionError:
                continue  # dbus-broker ends it: it can't be told
            deaf.ping()
        self.other.ping()
        self.assertIsNone(self.daemon.process.poll())

    def test_gdbus(self):
        """A thousand times, each with a call: nobody waits for the other."""
        started = time.monotonic()
        client = PeerClient(self.bus.address)
        self.addCleanup(client.close)
        for _ in range(1000):
            reply, fds = client.bus.call_with_unix_fd_list_sync(
                SERVICE, ROOT, ADMIN, 'OpenPeer', None, None, Gio.DBusCallFlags.NONE, -1, None,
                None)
            sock = Gio.Socket.new_from_fd(fds.get(reply.unpack()[0]))
            connection = Gio.DBusConnection.new_sync(
                sock.connection_factory_create_connection(), None,
                Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT, None, None)
            answer = connection.call_sync(None, bucket_path(self.bucket), LOCKS, 'Query', None,
                                          None, Gio.DBusCallFlags.NONE, -1, None)
            self.assertEqual(answer.unpack(), ([], []))
            connection.close_sync(None)
        self.assertLess(time.monotonic() - started, 40 * FACTOR)


class Ends(PeerCase):
    """A socket's end terminates nothing."""

    def check_lives_on(self, held, waiting, blocker):
        """The client has `held` and `waiting`, whose turn comes when `blocker` is released."""
        self.assertIn(('mine', 'exclusive', self.raw.name), self.other.query(self.bucket)[0])
        self.other.release(blocker, self.bucket)
        self.raw.wait_for(lambda: self.raw.granted(waiting), what='grant by the bus')
        self.raw.release(waiting, self.bucket)
        self.raw.release(held, self.bucket)
        self.assertEqual(self.raw.signals('Released'), [])
        peer = self.private_socket(self.raw)
        self.assertEqual(peer.query(self.bucket), ([], []))

    def prepare(self):
        peer = self.private_socket(self.raw)
        blocker, _ = self.other.request('x', self.bucket)
        held, _ = peer.request('mine', self.bucket)
        waiting, _ = peer.request('x', self.bucket)
        return peer, (held, waiting, blocker)

    def test_close(self):
        before = self.count_descriptors()
        peer, rest = self.prepare()
        peer.close()
        self.wait_descriptors(before)
        self.check_lives_on(*rest)

    def test_shutdown_of_either_direction(self):
        for how in (socket.SHUT_RD, socket.SHUT_WR, socket.SHUT_RDWR):
            with self.subTest(how):
                peer, rest = self.prepare()
                peer.socket.shutdown(how)
                self.check_lives_on(*rest)

    def test_half_a_message(self):
        before = self.count_descriptors()
        for size in (1, 15, 16, 17, 40, -1):
            with self.subTest(size):
                peer, rest = self.prepare()
                blob, _ = peer.encode(lock_call('Steal', 'x', self.bucket))
                peer.socket.sendall(blob[:size])
                peer.close()
                self.wait_descriptors(before)
                self.check_lives_on(*rest)
                self.private_socket(self.raw).close()

    def test_half_a_message_after_whole_ones(self):
        before = self.count_descriptors()
        peer, (held, waiting, blocker) = self.prepare()
        whole, _ = peer.encode(lock_call('Request', 'y', self.bucket))
        half, _ = peer.encode(lock_call('Steal', 'x', self.bucket))
        peer.socket.sendall(whole + half[:-1])
        peer.close()
        self.wait_descriptors(before)
        self.assertIn(('y', 'exclusive', self.raw.name), self.other.query(self.bucket)[0])
        self.raw.steal('y', self.bucket)
        self.raw.release(waiting + 2, self.bucket)
        self.raw.events.clear()
        self.check_lives_on(held, waiting, blocker)

    def test_with_unread_answers(self):
        """Then the service's end breaks while it writes."""
        for paused in (False, True):
            with self.subTest(paused=paused):
                peer, rest = self.prepare()
                peer.send_all([lock_call('Query', bucket=self.bucket) for _ in range(20)])
                if paused:
                    self.daemon.pause()
                peer.send_all([lock_call('Query', bucket=self.bucket) for _ in range(20)])
                peer.close()
                self.daemon.resume()
                self.check_lives_on(*rest)

    def test_rubbish(self):
        for rubbish in (b'GET / HTTP/1.1\r\n\r\n' + b'x' * 100, b'\0' * 200, b'l' * 200,
                        b'l\1\0\1' + b'\xff' * 100):
            with self.subTest(rubbish[:20]):
                peer, rest = self.prepare()
                peer.socket.sendall(rubbish)
                self.assertTrue(peer.at_end())
                self.check_lives_on(*rest)

    def test_a_signal_that_is_on_its_way_comes_by_the_bus(self):
        """Granted when the socket's end waits to be read: by one way or the other, not by none."""
        for _ in range(30):
            peer, (held, waiting, blocker) = self.prepare()
            self.daemon.pause()
            try:
                release = self.other.connection
                release.call(SERVICE, bucket_path(self.bucket), LOCKS, 'Release',
                             GLib.Variant('(t)', (blocker,)), None, Gio.DBusCallFlags.NONE, -1,
                             None, None)
                release.flush_sync(None)
                peer.close()
            finally:
                self.daemon.resume()
            self.raw.wait_for(lambda w=waiting: self.raw.granted(w), what='grant by the bus')
            self.raw.release(waiting, self.bucket)
            self.raw.release(held, self.bucket)

    def test_it_ends_with_the_client(self):
        peer, _ = self.prepare()
        peer.pump()
        self.raw.close()
        started = time.monotonic()
        self.assertTrue(peer.at_end())
        self.assertLess(time.monotonic() - started, PATIENCE / 2)
        self.wait_gone(self.raw.name)
        self.assertEqual(self.other.query(self.bucket)[1], [])
        self.assertEqual(peer.events, [], 'nothing is told to one that is gone')


class LastWords(BusTestCase):
    """What is read when the client's end of the socket is closed already."""

    @classmethod
    def start_service(cls, *arguments, **kw):
        # It looks after itself.
        return super().start_service(*arguments, program=environment('WEBLOCKSD_FAULTY'), **kw)

    def test_news_of_its_own_making(self):
        """So much that it is to be asked how far it has read. Then sd-bus answers something by
        itself, for which all that was before has to leave."""
        client = self.raw_client(descriptors=True)
        peer = self.private_socket(client)
        peer.locks('b', 'Watch', GLib.Variant('(b)', (True,)))
        calls = []
        for number in range(1, 171):
            calls += [lock_call('Request', 'x', 'b'), lock_call('Release', number, 'b')]
        calls.append(method_call(SERVICE, ROOT, 'org.freedesktop.DBus.Introspectable',
                                 'Introspect'))
        self.daemon.pause()
        try:
            peer.socket.sendall(b''.join(peer.encode(call)[0] for call in calls))
            peer.close()
        finally:
            self.daemon.resume()
        self.assertEqual(client.query('b'), ([], []))
        # All of it has been done, and told by the way that is left.
        self.assertEqual(client.request('x', 'b')[0], 171)


class ServiceEnds(BusTestCase):
    """What a private socket has to do with the end of the service."""

    service = False

    def test_calls_by_the_bus_that_wait_for_a_socket(self):
        """They are answered by the service, one way or the other."""
        for _ in range(5):
            service = self.start_service()
            client = self.raw_client(descriptors=True)
            peer = self.private_socket(client)
            service.pause()
            peer.send_all([lock_call('Request', f'{number}', 'b') for number in range(800)])
            calls = client.send_all([lock_call('Query', bucket='b') for _ in range(10)])
            client.ping_the_bus()
            service.signal(signal.SIGTERM)
            service.resume()
            for serial in calls:
                try:
                    client.result(serial)
                except DBusError as error:
                    self.assertEqual(error.short, 'InvalidState', error.message)
            self.assertEqual(service.wait_exit(), 0)

    def test_everybody_is_told_on_their_socket(self):
        service = self.start_service('--no-state')
        peers = [self.private_socket() for _ in range(3)]
        silent = self.private_socket(handshake=False)
        bucket = self.unique('bucket')
        ids = [[peer.request(f'{number}', bucket)[0] for number in range(20)] for peer in peers]
        service.signal(signal.SIGTERM)
        for peer, own in zip(peers, ids):
            self.assertTrue(peer.at_end())
            self.assertEqual([(event.id, event.args[-1]) for event in peer.events],
                             [(id_, 'lost') for id_ in own])
        self.assertEqual(service.wait_exit(), 0, service.stderr())
        self.assertTrue(silent.at_end())

    def test_with_something_to_tell_that_nobody_reads(self):
        """It is said to who doesn't shake hands, and to who reads nothing: the end is as quiet."""
        service = self.start_service()
        for handshake in (False, True):
            holder = self.raw_client(descriptors=True)
            held = [holder.request(f'{number}', 'b')[0] for number in range(1000)]
            peer = self.private_socket(holder, handshake=handshake)
            thief = self.private_socket()
            thief.result(thief.send_all([lock_call('Steal', f'{number}', 'b')
                                         for number in range(len(held))])[-1])
            self.assertIsNone(service.process.poll())
            peer.close()
        service.signal(signal.SIGTERM)
        self.assertEqual(service.wait_exit(), 0, service.stderr())

    def test_what_the_socket_holds_is_served_or_refused(self):
        """Calls and SIGTERM find the service together."""
        for _ in range(5):
            service = self.start_service('--no-state')
            peer = self.private_socket()
            bucket = self.unique('bucket')
            service.pause()
            serials = peer.send_all([lock_call('Request', f'{number}', bucket)
                                     for number in range(50)])
            service.signal(signal.SIGTERM)
            service.resume()
            self.assertTrue(peer.at_end())
            self.assertEqual(service.wait_exit(), 0, service.stderr())
            answered = {message.get_reply_serial(): message for message in peer.log
                        if message.get_reply_serial()}
            granted = [serial for serial in serials if serial in answered
                       and answered[serial].get_error_name() is None]
            self.assertEqual(len(peer.signals('Released', reason='lost')), len(granted))

    def test_an_idle_socket_keeps_no_service(self):
        def use():
            peers = [self.private_socket() for _ in range(3)]
            peers[0].release(peers[0].request('x')[0])
            return peers

        service, peers = self.start_and_use(use)
        for peer in peers:
            self.assertTrue(peer.at_end())
        self.assertEqual(service.wait_exit(), 0, service.stderr())

    def test_a_lock_by_socket_keeps_the_service(self):
        def use():
            peer = self.private_socket()
            return peer, peer.request('x')[0]

        service, (peer, id_) = self.start_and_use(use)
        started = time.monotonic()
        self.assertFalse(peer.at_end(0.9))
        self.assertGreater(time.monotonic() - started, 0.6)
        self.assertIsNone(service.process.poll())
        peer.release(id_)
        self.assertTrue(peer.at_end())
        self.assertEqual(service.wait_exit(), 0, service.stderr())

    def start_and_use(self, use):
        return start_and_use(lambda: self.start_service('--idle-exit=0.3', ready=False),
                             self.control, use)

    def test_the_bus_ends(self):
        """The service ends then, and the sockets with it."""
        bus = buses.Bus().start()
        self.addCleanup(bus.stop)
        service = self.start_service_on(bus)
        client = RawClient(bus.address, descriptors=True)
        self.addCleanup(client.close)
        peer = self.private_socket(client)
        peer.request('x')
        bus.kill()
        self.assertTrue(peer.at_end())
        self.assertEqual(service.wait_exit(), 1)

    def start_service_on(self, bus):
        control = RawClient(bus.address)
        self.addCleanup(control.close)
        service = Service(bus)
        self.addCleanup(service.end)
        return service.wait_ready(control)


if __name__ == '__main__':
    main()
