# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""What private sockets can cost the service and its other clients: sizes, clients that don't read,
floods, descriptors."""

import os
import resource
import select
import socket
import time

import buses
import test_pressure
from calls import ADMIN, ROOT, SERVICE, bucket_path
from harness import (FACTOR, BusTestCase, Gio, PrivateSocket, diagnostic, full_size, main,
                     wait_for)
from rawbus import lock_call, method_call

# Of the contract.
MESSAGE_BYTES = 64 * 1024
UNREAD_BYTES = 1024 * 1024

STANDARD = 'org.freedesktop.DBus.'


class BoundsCase(BusTestCase):
    service = False
    limits = ()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = cls.start_service(*cls.limits, env=buses.KEEPS_LITTLE)

    def setUp(self):
        super().setUp()
        self.bucket = self.unique('bucket')
        self.raw = self.raw_client(descriptors=True)
        self.other = self.raw_client()
        self.pid = self.daemon.process.pid

    def count_descriptors(self):
        return self.daemon.count_descriptors()

    def wait_descriptors(self, number):
        wait_for(lambda: self.count_descriptors() == number, every=0.005,
                 what=f'{number} descriptors of the service')

    def growth(self, before):
        grown = buses.status_kib(self.pid, 'VmRSS:') - before
        diagnostic(f'the service grew by {grown} KiB')
        return grown

    def results(self, client, messages):
        return [client.result(serial) for serial in client.send_all(messages)]

    def request_all(self, client, names, bucket=None, **kw):
        return [id_ for id_, _ in self.results(
            client, [lock_call('Request', name, bucket or self.bucket, **kw) for name in names])]


class Sizes(BoundsCase):
    """A message has up to 64 KiB, and one that has more ends the socket."""

    def setUp(self):
        super().setUp()
        self.neighbour = self.private_socket()
        self.neighbour.request('x', self.bucket)
        self.without = self.count_descriptors()
        self.peer = self.private_socket(self.raw)

    def check_neighbours(self):
        self.neighbour.ping()
        self.assertEqual(self.raw.query(self.bucket)[0],
                         [('x', 'exclusive', self.neighbour.name)])

    def sized(self, size, member='Request'):
        """A message of that many bytes."""
        blob, serial = self.peer.encode(lock_call(member, 'x' * size, self.bucket))
        blob, serial = self.peer.encode(lock_call(member, 'x' * (2 * size - len(blob)),
                                                  self.bucket))
        # Strings go to the end of the body only before options, which are aligned.
        self.assertLessEqual(abs(len(blob) - size), 8)
        return blob, serial

    def test_just_fits(self):
        blob, serial = self.sized(MESSAGE_BYTES - 8)
        self.peer.socket.sendall(blob)
        self.assert_error('LimitsExceeded', self.peer.result, serial, mentions='nameBytes')
        self.check_neighbours()

    def check_ends(self, data):
        self.peer.socket.setblocking(False)
        try:
            self.peer.socket.send(data)
        except BrokenPipeError:
            pass
        self.peer.socket.settimeout(buses.PATIENCE)
        self.assertTrue(self.peer.at_end())
        self.wait_descriptors(self.without)
        self.check_neighbours()

    def test_too_long_in_one_go(self):
        self.check_ends(self.sized(MESSAGE_BYTES + 16)[0])

    def test_far_too_long(self):
        self.check_ends(self.sized(4 << 20)[0])

    def test_announced_by_the_body(self):
        """The header alone is enough: nobody waits for what it promises."""
        blob, _ = self.sized(MESSAGE_BYTES + 16)
        self.check_ends(blob[:16])

    def test_announced_by_the_fields(self):
        for order in 'little', 'big':
            with self.subTest(order):
                self.peer = self.private_socket(self.raw)
                mark = b'l' if order == 'little' else b'B'
                header = mark + b'\1\0\1' + (0).to_bytes(4, order) + (1).to_bytes(4, order)
                self.check_ends(header + (1 << 17).to_bytes(4, order))

    def test_sums_that_wrap(self):
        for body, fields in ((2 ** 32 - 1, 100), (100, 2 ** 32 - 1), (2 ** 32 - 1, 2 ** 32 - 1),
                             (2 ** 31, 2 ** 31), (2 ** 32 - 16, 16)):
            with self.subTest(body=body, fields=fields):
                self.peer = self.private_socket(self.raw)
                self.check_ends(b'l\1\0\1' + body.to_bytes(4, 'little')
                                + (1).to_bytes(4, 'little') + fields.to_bytes(4, 'little'))

    def test_behind_another_message(self):
        """In one write, so that the service comes to it in the middle of its turn."""
        first, _ = self.peer.encode(lock_call('Query', bucket=self.bucket))
        second, serial = self.sized(MESSAGE_BYTES + 16)
        self.check_ends(first + second)
        self.assertNotIn(serial, [message.get_reply_serial() for message in self.peer.log])

    def test_announced_behind_another_message(self):
        first, _ = self.peer.encode(lock_call('Query', bucket=self.bucket))
        self.check_ends(first + self.sized(MESSAGE_BYTES + 16)[0][:16])

    def test_behind_one_that_is_dropped(self):
        """sd-bus drops a message that is none, and reads on; it must not get at the next one."""
        nothing = b'l\0\0\1' + (0).to_bytes(4, 'little') + (1).to_bytes(4, 'little') + bytes(4)
        for dropped in (nothing, b'l\1\0\1' + nothing[4:], nothing * 3):
            with self.subTest(dropped):
                self.peer = self.private_socket(self.raw)
                before = buses.status_kib(self.pid, 'VmRSS:')
                header = b'l\1\0\1' + (1 << 26).to_bytes(4, 'little') \
                    + (1).to_bytes(4, 'little') + bytes(4)
                # What follows looks like small messages, if it is taken for the beginning of some.
                small, _ = self.peer.encode(lock_call('Release', 99, self.bucket, reply=False))
                self.peer.socket.settimeout(buses.PATIENCE)
                try:
                    self.peer.socket.sendall(dropped + header)
                    for _ in range((16 << 20) // (len(small) * 100)):
                        self.peer.socket.sendall(small * 100)
                except (BrokenPipeError, ConnectionResetError):
                    pass
                self.check_neighbours()
                self.assertLess(self.growth(before), 2048 * FACTOR)
                self.assertTrue(self.peer.at_end(), 'it went on reading')

    def test_never_complete(self):
        """Byte for byte it costs no more than it has sent."""
        before = buses.status_kib(self.pid, 'VmRSS:')
        blob, _ = self.sized(MESSAGE_BYTES - 8)
        peers = [self.private_socket() for _ in range(100)]
        for peer in peers:
            peer.socket.sendall(blob[:-1])
        self.check_neighbours()
        self.assertLess(self.growth(before), 100 * 2 * MESSAGE_BYTES // 1024 + 2048)

    def test_many_that_announce_much(self):
        before = buses.status_kib(self.pid, 'VmRSS:')
        header = b'l\1\0\1' + (1 << 26).to_bytes(4, 'little') + (1).to_bytes(4, 'little') \
            + (1 << 26).to_bytes(4, 'little')
        for _ in range(300):
            peer = self.private_socket(self.raw)
            peer.socket.sendall(header)
            peer.read_to_end()
        self.check_neighbours()
        self.assertLess(self.growth(before), 1024 * FACTOR)


class Unread(BoundsCase):
    """A client that doesn't read what comes by its socket."""

    NAMES = [f'{number:04}' + 'n' * 996 for number in range(1000)]

    def grant_all(self, ids):
        self.results(self.other, [lock_call('Release', id_, self.bucket) for id_ in ids])

    def steal_all(self, count):
        thief = self.raw_client()
        self.results(thief, [lock_call('Steal', name, self.bucket) for name in self.NAMES[:count]])

    def by_both(self, peer):
        """What came by the socket until it ended, and by the bus."""
        self.assertTrue(peer.at_end())
        self.raw.ping()
        return ([(event.signal, event.id) for event in peer.events],
                [(event.signal, event.id) for event in self.raw.events])

    def wait_all(self, peer, count):
        """The service waits for a client, and uses no processor time for that."""
        test_pressure.wait_quiet(self.daemon)
        peer.wait_for(lambda: len(peer.events) == count, what=f'{count} signals')

    def test_less_than_the_bound(self):
        """All of it comes in the end, by the socket."""
        peer = self.private_socket(self.raw)
        held = self.request_all(self.other, self.NAMES[:700])
        ids = self.request_all(peer, self.NAMES[:700])
        before = buses.status_kib(self.pid, 'VmRSS:')
        self.grant_all(held)
        self.wait_all(peer, 700)
        self.assertEqual([event.id for event in peer.events], ids)
        self.raw.ping_the_bus()
        self.assertEqual(self.raw.events, [])
        self.assertLess(self.growth(before), 2048 * FACTOR)
        peer.query(self.bucket)

    def test_more_than_the_bound(self):
        """The socket ends after what was sent, the rest comes by the bus; nothing is lost."""
        peer = self.private_socket(self.raw)
        held = self.request_all(self.other, self.NAMES)
        ids = self.request_all(peer, self.NAMES)
        before = buses.status_kib(self.pid, 'VmRSS:')
        self.grant_all(held)
        self.steal_all(1000)
        test_pressure.wait_quiet(self.daemon)
        # What went by the bus is in the bus; what is for the socket is in the kernel.
        self.assertLess(self.growth(before), 2048 * FACTOR)
        by_socket, by_bus = self.by_both(peer)
        expected = [('Granted', id_) for id_ in ids] + [('Released', id_) for id_ in ids]
        diagnostic(f'{len(by_socket)} by the socket, {len(by_bus)} by the bus')
        self.assertGreater(len(by_socket), 0)
        self.assertGreater(len(by_bus), 0)
        # What the kernel had no room for when it ended may have come whole for all we know.
        if by_socket[-1] == by_bus[0]:
            del by_bus[0]
        self.assertEqual(by_socket + by_bus, expected)
        # It goes on by the bus, and may open another.
        self.assertEqual(self.raw.query(self.bucket)[1], [])
        second = self.private_socket(self.raw)
        self.assertNotEqual(second.request('another', self.bucket)[1], 0)

    def test_calls_that_it_still_sends(self):
        """On a socket that has ended in the one direction: they act, and nobody is told."""
        peer = self.private_socket(self.raw)
        held = self.request_all(self.other, self.NAMES)
        self.request_all(peer, self.NAMES)
        own, _ = peer.request('own', self.bucket)
        self.grant_all(held)
        self.steal_all(1000)
        test_pressure.wait_quiet(self.daemon)
        peer.send_all([lock_call('Release', own, self.bucket),
                       lock_call('Query', bucket=self.bucket),
                       lock_call('Request', 'late', self.bucket, key=5)])
        peer.close()
        wait_for(lambda: 'own' not in self.held(), what='release')
        self.assertIn('late', self.held())
        again, token = self.raw.request('late', self.bucket, key=5)
        self.assertNotEqual(token, 0)
        self.raw.release(again, self.bucket)

    def held(self):
        return [name for name, _, _ in self.other.query(self.bucket)[0]]

    def test_a_call_by_the_bus_meanwhile(self):
        peer = self.private_socket(self.raw)
        held = self.request_all(self.other, self.NAMES)
        ids = self.request_all(peer, self.NAMES)
        self.grant_all(held)
        self.steal_all(1000)
        self.assertEqual(self.raw.query(self.bucket)[1], [])
        by_socket, by_bus = self.by_both(peer)
        told = by_socket + by_bus
        self.assertEqual(sorted(set(told)), sorted([('Granted', id_) for id_ in ids]
                                                   + [('Released', id_) for id_ in ids]))
        self.assertLessEqual(len(told), 2001)

    def test_it_dies(self):
        before = self.count_descriptors()
        peer = self.private_socket(self.raw)
        held = self.request_all(self.other, self.NAMES)
        self.request_all(peer, self.NAMES)
        self.grant_all(held)
        self.raw.close()
        self.wait_gone(self.raw.name)
        self.assertEqual(self.other.query(self.bucket), ([], []))
        self.wait_descriptors(before)


class Floods(BoundsCase):
    """Calls whose answers nobody reads are not read either."""

    def setUp(self):
        super().setUp()
        self.noise = self.unique('noise')
        self.request_all(self.raw_client(), [f'{number:03}' * 200 for number in range(100)],
                         self.noise)
        self.peer = self.private_socket(self.raw)

    def send_until_full(self, message, count):
        """As much as the service and the kernel take; the bytes that are left."""
        data = memoryview(b''.join(self.peer.encode(message)[0] for _ in range(count)))
        poll = select.poll()
        poll.register(self.peer.socket, select.POLLOUT)
        self.peer.socket.setblocking(False)
        while data:
            try:
                data = data[self.peer.socket.send(data[:1 << 16]):]
            except BlockingIOError:
                # Once more if there is room when the service has nothing left to do.
                test_pressure.wait_quiet(self.daemon)
                if not poll.poll(0):
                    break
        self.peer.socket.settimeout(buses.PATIENCE)
        return data

    def check_flood(self, message, count=5000):
        """It costs little, hurts nobody, and is answered in full once somebody reads."""
        before = buses.status_kib(self.pid, 'VmRSS:')
        left = self.send_until_full(message, count)
        self.assertGreater(len(left), 0, 'the service took everything')
        self.assertLess(self.growth(before), 2048 * FACTOR)
        started = time.monotonic()
        for _ in range(20):
            self.other.query(self.bucket)
        self.assertLess(time.monotonic() - started, buses.PATIENCE / 2)
        self.read_all(left, count)

    def read_all(self, left, count):
        poll = select.poll()
        poll.register(self.peer.socket, select.POLLIN | select.POLLOUT)
        self.peer.socket.setblocking(False)
        deadline = time.monotonic() + 3 * buses.PATIENCE
        while len(self.peer.log) < count:
            self.assertLess(time.monotonic(), deadline, f'{len(self.peer.log)} of {count}')
            if not left:
                poll.modify(self.peer.socket, select.POLLIN)
            poll.poll(1000)
            while self.peer.pump():
                pass
            try:
                left = left[self.peer.socket.send(left[:1 << 16]):]
            except BlockingIOError:
                pass
        self.peer.socket.settimeout(buses.PATIENCE)
        serials = [message.get_reply_serial() for message in self.peer.log]
        self.assertEqual(serials, list(range(1, count + 1)))

    def test_long_answers(self):
        """Of 60 KiB and more for each call."""
        self.check_flood(lock_call('Query', bucket=self.noise), 3000)

    def test_short_answers(self):
        self.check_flood(lock_call('Query', bucket=self.bucket), 20000)

    def test_what_sd_bus_answers(self):
        for interface, member in (('Peer', 'Ping'), ('Introspectable', 'Introspect')):
            with self.subTest(member):
                self.peer = self.private_socket(self.raw)
                self.check_flood(method_call(SERVICE, bucket_path(self.bucket),
                                             STANDARD + interface, member), 10000)

    def test_errors(self):
        self.check_flood(lock_call('Release', 99, self.bucket), 20000)

    def check_with_bus(self, message):
        """Each call by the bus makes the service look at the socket first; not for free."""
        before = buses.status_kib(self.pid, 'VmRSS:')
        self.send_until_full(message, 5000)
        for _ in range(50):
            self.raw.send_all([lock_call('Release', 99, self.bucket, reply=False)] * 100)
            self.raw.ping()
            # A socket that was given up takes no more; another takes its place.
            try:
                self.send_until_full(message, 200)
            except (BrokenPipeError, ConnectionResetError):
                self.peer = self.private_socket(self.raw)
        self.assertLess(self.growth(before), 2048 * FACTOR)
        self.other.query(self.bucket)

    def test_with_calls_by_the_bus(self):
        self.check_with_bus(lock_call('Query', bucket=self.noise))

    def test_what_sd_bus_answers_with_calls_by_the_bus(self):
        self.check_with_bus(method_call(SERVICE, bucket_path(self.bucket),
                                        STANDARD + 'Introspectable', 'Introspect'))

    def test_large_answers_that_are_read(self):
        """A client that reads is never taken for one that doesn't, whatever it asks for."""
        messages = [lock_call('Query', bucket=self.noise) for _ in range(300)]
        pairs = [self.peer.encode(message) for message in messages]
        self.read_all(memoryview(b''.join(blob for blob, _ in pairs)), 300)


class Descriptors(BoundsCase):
    """Ten thousand sockets come and go, or some thousands."""

    time_limit = 120.0

    def test_a_second_opens(self):
        before = self.count_descriptors()
        for _ in range(full_size(1200, 4000)):
            self.raw.call(ROOT, ADMIN, 'OpenPeer')
            os.close(self.raw.descriptors.pop())
        self.wait_descriptors(before)

    def test_a_second_opens_before_the_first_is_closed(self):
        before = self.count_descriptors()
        for _ in range(1000):
            self.raw.call(ROOT, ADMIN, 'OpenPeer')
        self.assertLess(self.count_descriptors(), before + 4)
        for descriptor in self.raw.descriptors:
            os.close(descriptor)
        self.wait_descriptors(before)

    def test_the_client_closes(self):
        before = self.count_descriptors()
        for _ in range(full_size(900, 3000)):
            peer = PrivateSocket(self.raw)
            peer.close()
        self.wait_descriptors(before)

    def test_the_client_dies(self):
        before = self.count_descriptors()
        for number in range(full_size(300, 1000)):
            client = self.raw_client(descriptors=True)
            peer = self.private_socket(client, handshake=number % 2 == 0)
            if number % 3 == 0:
                peer.socket.sendall(b'l\1\0\1')
            client.close()
            if number % 5:
                peer.close()
        self.wait_descriptors(before)

    def test_the_service_closes(self):
        before = self.count_descriptors()
        for _ in range(1000):
            peer = PrivateSocket(self.raw)
            peer.socket.sendall(b'?' * 100)
            peer.read_to_end()
            peer.close()
        self.wait_descriptors(before)

    def test_never_taken(self):
        """Descriptors that stay with the bus, since the client doesn't read there."""
        before = self.count_descriptors()
        clients = [self.raw_client(descriptors=True) for _ in range(50)]
        for client in clients:
            client.send(method_call(SERVICE, ROOT, ADMIN, 'OpenPeer'))
        self.control.ping()
        for client in clients:
            client.socket.shutdown(socket.SHUT_RDWR)
            client.close()
        self.wait_descriptors(before)


class Scarce(BoundsCase):
    """When the service has few descriptors left, sockets are refused, and the rest works."""

    def test_scarce(self):
        held, _ = self.other.request('x', self.bucket)
        before = resource.prlimit(self.pid, resource.RLIMIT_NOFILE)
        used = self.count_descriptors()
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, ((used + 10) * 8 // 5, before[1]))
        try:
            clients = [self.raw_client(descriptors=True) for _ in range(20)]
            peers = []
            for client in clients:
                reply = client.reply_to(client.send(method_call(SERVICE, ROOT, ADMIN,
                                                                'OpenPeer')))
                if reply.get_message_type() == Gio.DBusMessageType.ERROR:
                    self.assertEqual(reply.get_error_name(),
                                     'org.freedesktop.DBus.Error.LimitsExceeded')
                    client.query(self.bucket)
                else:
                    peers.append(PrivateSocket.of(client.descriptors.pop(), client.name))
            self.assertGreater(len(peers), 3)
            self.assertLess(len(peers), 15)
            for peer in peers:
                self.addCleanup(peer.close)
                peer.ping()
            self.assertEqual(self.other.query(self.bucket)[0],
                             [('x', 'exclusive', self.other.name)])
        finally:
            resource.prlimit(self.pid, resource.RLIMIT_NOFILE, before)
        self.other.release(held, self.bucket)


if __name__ == '__main__':
    main()
