# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The resources that lock sockets can use: clients that do not read, or are stopped; descriptors; the
number of sockets."""

import os
import resource
import socket
import time

import buses
from harness import FACTOR, Gio, diagnostic, full_size
from rawbus import lock_call
from sockets import LockSocket, open_socket, open_socket_call, packets
from test_pressure import wait_quiet
from test_socket import SocketCase

KIB = 1024
SYNC = packets.message(packets.SYNC, 1 << 62)
# The largest packet of requests; the answers to it are the most that is buffered for a client.
MOST = SYNC * (packets.MAX_PACKET // len(SYNC))
ANSWERS_KIB = packets.MAX_PACKET // len(SYNC) * 40 // KIB


class BoundsCase(SocketCase):
    service = False
    limits = ()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = cls.start_service(*cls.limits, env=buses.KEEPS_LITTLE)

    def rss_kib(self):
        return buses.status_kib(self.daemon.process.pid, 'VmRSS:')

    def assert_grown(self, before, most_kib):
        grown = self.rss_kib() - before
        diagnostic(f'the service grew by {grown} KiB')
        # Sanitizers need several times as much.
        self.assertLess(grown, most_kib * FACTOR)

    def fill(self, sock, packet=MOST):
        """Sends as many of these packets as service and kernel accept while nothing is read."""
        count = 0
        while True:
            try:
                sock.socket.send(packet)
                count += 1
                self.assertLess(count, 100_000, 'the service takes everything')
            except BlockingIOError:
                # Again, if there is space when the service is idle.
                wait_quiet(self.daemon)
                if not sock._poll(packets.select.POLLOUT, 0):
                    return count


class DoesNotRead(BoundsCase):
    """The service does not read from a client that does not read, and buffers the answers to one packet."""

    def read_all(self, sock, count):
        """Everything that was sent is answered eventually."""
        sock.wait_for(lambda: len(sock.log) >= count, what=f'{count} messages')
        sock.sync()
        self.assertEqual(len(sock.log), count + 1)

    def check_cost(self, packet):
        sock = self.lock_socket(self.raw)
        before = self.rss_kib()
        count = self.fill(sock, packet)
        diagnostic(f'{count} packets of {len(packet)} bytes')
        self.assert_grown(before, ANSWERS_KIB + 512)
        wait_quiet(self.daemon)
        # LIVE, and one answer for each.
        self.read_all(sock, 1 + count * (len(packet) // 16))
        sock.close()

    def test_large_packets(self):
        self.check_cost(MOST)

    def test_small_packets(self):
        self.check_cost(SYNC)

    def test_many_clients(self):
        count = 60
        socks = [self.lock_socket() for _ in range(count)]
        before = self.rss_kib()
        for sock in socks:
            # More than the buffers of a socket hold in both directions.
            while True:
                try:
                    sock.socket.send(MOST)
                except BlockingIOError:
                    break
        wait_quiet(self.daemon)
        self.assert_grown(before, count * (ANSWERS_KIB + 64) + 1024)
        for sock in socks:
            sock.close()
        self.other.query(self.bucket)

    def test_an_event_after_it_has_read(self):
        """The rest of a packet is served, too, if the event is sent before the kernel reports that there
        is space: here that of a time-out, at which the service is stopped."""
        sock, other = self.lock_socket(self.raw), self.lock_socket()
        other.request('x', self.bucket)
        due = time.monotonic() + 4
        key, _ = sock.request('x', self.bucket, timeout=3000)
        before = len(sock.log)
        sock.socket.send(MOST)
        wait_quiet(self.daemon)
        self.daemon.pause()
        self.addCleanup(self.daemon.resume)
        while sock.pump():
            pass
        while time.monotonic() < due:
            time.sleep(0.1)
        self.daemon.resume()
        self.assertEqual(sock.wait_ended(key), 'timeout')
        self.read_all(sock, before + 1 + len(MOST) // 16)

    def read_both(self, sock, serial):
        """Reads from bus and socket until the call on the bus is replied to."""
        deadline = time.monotonic() + buses.PATIENCE
        while serial not in self.raw._replies:
            self.assertLess(time.monotonic(), deadline, 'no answer by the bus')
            sock.pump()
            self.raw.pump(0 if buses.readable(sock.socket, 0) else 0.01)
        return self.raw.result(serial)

    def test_its_calls_on_the_bus_are_deferred(self):
        """Calls of any kind, in order, and after everything that was in the socket before."""
        sock = self.lock_socket(self.raw)
        sock.request('x', self.bucket)
        for packet in (MOST, MOST):
            sock.socket.send(packet)
        names = [f'{number}' for number in range(1000)]
        for packet in packets.packets(sock.encode_request(name, self.bucket)[0] for name in names):
            sock.socket.send(packet)
        calls = self.raw.send_all([
            lock_call('Query', bucket=self.bucket), lock_call('Release', 1, self.bucket),
            open_socket_call(), lock_call('Query', bucket=self.bucket)])
        self.raw.ping_the_bus()
        self.control.ping()
        wait_quiet(self.daemon)
        while self.raw.pump():
            pass
        self.assertFalse(set(calls) & set(self.raw._replies), 'answered before it has read')
        self.assertEqual(len(self.read_both(sock, calls[0])[0]), 1001)
        self.assert_error('InvalidState', self.read_both, sock, calls[1])
        self.read_both(sock, calls[2])
        again = LockSocket(self.raw.descriptors.pop())
        self.addCleanup(again.close)
        self.assertEqual(len(again.read_live()), 1001)
        self.assertEqual(sock.read_to_end(), 'replaced')
        self.assertEqual(len(sock.log), 2 + 2 * len(MOST) // len(SYNC) + 1000 + 1)
        self.assertEqual(len(self.raw.result(calls[3])[0]), 1001)
        again.end()

    def make_events(self, sock):
        """It doesn't read while 1,000 of its requests are granted and then stolen."""
        names = [f'{number}' for number in range(1000)]
        holder = self.lock_socket()
        held = [key for key, _ in holder.request_all(names, self.bucket)]
        keys = [key for key, _ in sock.request_all(names, self.bucket)]
        self.fill(sock)
        before = self.rss_kib()
        holder.release_without_answer(*held)
        stealer = self.lock_socket()
        stealer.request_all(names, self.bucket, steal=True)
        wait_quiet(self.daemon)
        self.assert_grown(before, 1024)
        return keys

    def test_no_event_is_lost(self):
        sock = self.lock_socket(self.raw)
        keys = self.make_events(sock)
        sock.wait_for(lambda: len({event.key for event in sock.events
                                   if isinstance(event, packets.Ended)}) == len(keys),
                      what='ends')
        sock.sync()
        seen = {key: [event for event in sock.events if event.key == key] for key in keys[::50]}
        for key, events in seen.items():
            self.assertEqual(events[-1], packets.Ended(key, 'stolen'))
            self.assertLessEqual(len(events), 2)
        self.assertEqual(len([event for event in sock.events
                              if isinstance(event, packets.Ended)]), len(keys))
        self.raw.ping()
        self.assertEqual(self.raw.events, [])

    def test_a_socket_replaced_with_unread_answers(self):
        """LIVE of the next socket includes what was not read from the first."""
        sock = self.lock_socket(self.raw)
        self.make_events(sock)
        sock.close()
        self.assertEqual(self.lock_socket(self.raw).live, [])

    def check_end(self, end):
        before = self.descriptors_at_rest()
        sock = self.lock_socket(self.raw)
        sock.request('x', self.bucket)
        waiting, _ = self.other.request('x', self.bucket)
        self.fill(sock)
        self.raw.send(lock_call('Query', bucket=self.bucket))
        end(sock)
        self.other.wait_for(lambda: self.other.granted(waiting), what='grant')
        sock.close()
        self.wait_descriptors(before)

    def test_it_disconnects_from_the_bus(self):
        self.check_end(lambda sock: self.raw.close())

    def test_it_ends_its_agent(self):
        """END comes after all packets with unread answers."""
        def end(sock):
            sock.send(packets.message(packets.END, 2))
            sock.wait_for(lambda: sock.has_answer(2), what='answer')
        self.check_end(end)


class Floods(BoundsCase):
    """A client with more deferred calls than the limit is treated as flooding: its agent ends."""

    limits = ('--limit', 'bytesWaiting=15000')

    def test_terminated(self):
        sock = self.lock_socket(self.raw)
        keys = [key for key, _ in sock.request_all('xyz', self.bucket)]
        waiting, _ = self.other.request('x', self.bucket)
        self.fill(sock)
        self.raw.send_all([lock_call('Query', bucket=self.bucket)] * 200)
        self.other.wait_for(lambda: self.other.granted(waiting), what='lock of the flooder')
        self.assertEqual(len(self.other.query(self.bucket)[0]), 1)
        # It is notified on the socket, which is then closed.
        self.assertIsNone(sock.read_to_end())
        self.assertEqual({tuple(event) for event in sock.events},
                         {(key, 'terminated') for key in keys})
        # It has read everything, and is an agent without requests again.
        self.raw.wait_for(self.is_back, what='answer')
        self.assert_nothing_live().sync()

    def is_back(self):
        try:
            self.raw.result(self.raw.send(lock_call('Query', bucket=self.bucket)), 0.5)
            return True
        except TimeoutError:
            return False

    def test_calls_on_the_bus_after_a_socket_that_is_read(self):
        """None is refused, however many: they are deferred because of packets, not because of the
        client."""
        sock = self.lock_socket(self.raw)
        self.raw.query(self.bucket)
        with self.daemon.paused():
            sock.send_all(sock.encode_request(f'{name}', self.bucket)[0] for name in range(800))
            calls = self.raw.send_all([lock_call('Query', bucket=self.bucket)] * 20)
        for serial in calls:
            self.assertEqual(len(self.raw.result(serial)[0]), 800)


class Descriptors(BoundsCase):
    """Thousands of sockets are opened and closed."""

    def setUp(self):
        super().setUp()
        self.raw.query(self.bucket)
        self.before = self.descriptors_at_rest()

    def test_the_client_closes(self):
        for _ in range(full_size(1000, 3000)):
            open_socket(self.raw).close()
        self.wait_descriptors(self.before)

    def test_a_second_opens(self):
        """While the first is open, which is then closed by the service or by the client."""
        for number in range(full_size(1000, 4000)):
            self.raw.result(self.raw.send(open_socket_call()))
            if number % 10 and len(self.raw.descriptors) > 1:
                os.close(self.raw.descriptors.pop(0))
        for descriptor in self.raw.descriptors:
            os.close(descriptor)
        self.wait_descriptors(self.before)

    def test_the_client_is_killed(self):
        for number in range(full_size(300, 1000)):
            client = self.raw_client(descriptors=True)
            sock = open_socket(client)
            if number % 3 == 0:
                sock.send(SYNC * 100)
            client.close()
            if number % 5:
                sock.close()
            else:
                self.addCleanup(sock.close)
        self.wait_descriptors(self.before)

    def test_the_service_closes(self):
        for _ in range(full_size(500, 2000)):
            sock = open_socket(self.raw)
            sock.socket.send(b'?' * 16)
            sock.read_to_end()
            sock.close()
        self.wait_descriptors(self.before)

    def test_descriptors_never_received(self):
        """Descriptors that remain in the bus, since the client does not read from it."""
        clients = [self.raw_client(descriptors=True) for _ in range(50)]
        for client in clients:
            client.send(open_socket_call())
        self.control.ping()
        for client in clients:
            client.socket.shutdown(socket.SHUT_RDWR)
            client.close()
        self.wait_descriptors(self.before)


class Scarce(BoundsCase):
    """When the service has few descriptors left, sockets are refused, and the rest works."""

    def test_scarce(self):
        held, _ = self.other.request('x', self.bucket)
        pid = self.daemon.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        used = self.descriptors_at_rest()
        resource.prlimit(pid, resource.RLIMIT_NOFILE, ((used + 10) * 8 // 5, before[1]))
        try:
            socks = []
            for _ in range(20):
                client = self.raw_client(descriptors=True)
                reply = client.reply_to(client.send(open_socket_call()))
                if reply.get_message_type() == Gio.DBusMessageType.ERROR:
                    self.assertEqual(reply.get_error_name(),
                                     'org.freedesktop.DBus.Error.LimitsExceeded')
                    # On the bus it is served.
                    client.release(client.request(client.name, self.bucket)[0], self.bucket)
                else:
                    socks.append(LockSocket(client.descriptors.pop()))
                    self.addCleanup(socks[-1].close)
            diagnostic(f'{len(socks)} of 20 sockets')
            self.assertGreater(len(socks), 3)
            self.assertLess(len(socks), 15)
            for sock in socks:
                sock.sync()
            self.assertEqual(len(self.other.query(self.bucket)[0]), 1)
        finally:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        self.lock_socket().sync()
        self.other.release(held, self.bucket)
