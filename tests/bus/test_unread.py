# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The memory that the service uses for clients that don't read: for their calls, the replies, and
the signals of what they watch. There is a limit in bytes for all together.

Without a monitor, which would have to read all of it."""

import struct

from buses import FACTOR, KEEPS_LITTLE, status_kib, write_text
from calls import LOCKS, SERVICE, DBusError, bucket_path
from harness import GLib, RawClient, diagnostic, wait_for
from rawbus import lock_call, method_call
from sockets import open_socket
from test_hostile import UNREAD_MAX
from test_pressure import OwnBus, wait_quiet

BUCKET = 'unread'
MIB = 1 << 20
# Deferred calls, which take twice that while they are written, and memory that the allocator keeps.
WAITING_MIB = 4
SLACK_MIB = 12
# The size of the reply to Query in a bucket with this number of requests.
REQUESTS = 2 * 1024
ANSWER_MIB = 2


class UnreadCase(OwnBus):
    service_environment = KEEPS_LITTLE

    def begin(self, *arguments):
        service = self.start(*arguments)
        self.pid = service.process.pid
        return service

    def raw(self):
        client = RawClient(self.bus.address, descriptors=True)
        self.addCleanup(client.close)
        return client

    def socket(self, client):
        sock = open_socket(client)
        self.addCleanup(sock.close)
        return sock

    def one_that_is_not_served(self):
        """On the bus, since it neither reads nor replies to a Ping. It has been identified, so no
        look-up uses a descriptor."""
        client = self.raw()
        client.query(BUCKET)
        client.answers_pings = False
        client.send_all([lock_call('Query', bucket='nothing')] * UNREAD_MAX)
        self.wait_taken(client)
        return client

    def wait_taken(self, client):
        """Waits until the service has received everything that the client sent."""
        client.pass_the_bus(self.control)
        self.control.ping()

    def fill(self):
        """A bucket with long names, which makes the replies long."""
        for number in range(2):
            self.socket(self.raw()).request_all((f'{number} {i} '.ljust(1000, 'n')
                                                 for i in range(REQUESTS // 2)), BUCKET)

    def mark(self):
        """Starts measuring the maximum size."""
        write_text(f'/proc/{self.pid}/clear_refs', '5')
        self.before = status_kib(self.pid, 'VmRSS:')

    def check_grown(self, what, most_mib):
        wait_quiet(self.service)
        grown = (status_kib(self.pid, 'VmHWM:') - self.before) / 1024
        diagnostic(f'{what}: {grown:.1f} MiB more at most')
        # Sanitizers need several times as much.
        if FACTOR <= 1:
            self.assertLess(grown, most_mib)


class Calls(UnreadCase):
    """A deferred call is a decoded copy, which is counted."""

    COUNT = 15

    def setUp(self):
        super().setUp()
        self.service = self.begin()
        self.slow = self.one_that_is_not_served()
        self.mark()

    def check(self, what, blobs):
        """They are deferred, and refused when their client reads."""
        serials = []
        for serial, blob in blobs:
            self.slow.socket.sendall(blob)
            serials.append(serial)
        self.wait_taken(self.slow)
        self.check_grown(what, 2 * WAITING_MIB + SLACK_MIB)
        self.slow.answer_pings()
        self.slow.answers_pings = True
        return serials

    def encode(self, name, **more):
        body = GLib.Variant('(sa{sv})', (name, more))
        return self.slow.encode(method_call(SERVICE, bucket_path(BUCKET), LOCKS, 'Request', body))

    def test_messages_that_sd_bus_cannot_read(self):
        """U+FFFF, which a bus can transmit, followed by any string."""
        more = {'why': GLib.Variant('s', 'w' * 2 * MIB)}
        calls = [self.encode('\uffff', **more) for _ in range(self.COUNT)]
        for serial in self.check('unreadable', ((serial, blob) for blob, serial in calls)):
            with self.assertRaises(DBusError) as caught:
                self.slow.result(serial)
            self.assertEqual(caught.exception.short, 'InvalidArgs')

    def test_unknown_fields_of_the_header(self):
        """dbus-broker transmits them, dbus-daemon doesn't."""
        calls = [self.encode(f'{number}') for number in range(self.COUNT)]
        for serial in self.check('long headers',
                                 ((serial, self.lengthened(blob)) for blob, serial in calls)):
            self.assertNotEqual(self.slow.result(serial)[1], 0)

    @staticmethod
    def lengthened(blob):
        """With an unknown header field of 2 MiB before the others."""
        n_body, _, n_fields = struct.unpack_from('<III', blob, 4)
        body, fields = blob[len(blob) - n_body:], blob[16:16 + n_fields]
        unknown = bytes([127, 1]) + b's\0' + struct.pack('<I', 2 * MIB) + b'y' * (2 * MIB) + b'\0'
        fields = unknown + bytes(-len(unknown) % 8) + fields
        header = blob[:12] + struct.pack('<I', len(fields)) + fields
        return header + bytes(-len(header) % 8) + body

    def test_signatures_of_variants(self):
        """Signatures that are longer than the values."""
        signature = 'a' + '(' * 30 + 'ayay' * 40 + ')' * 30
        empty = GLib.Variant(signature, [])
        body = {'x': GLib.Variant('av', [empty] * 10000)}
        calls = [self.encode('x', **body) for _ in range(self.COUNT)]
        self.check('signatures', ((serial, blob) for blob, serial in calls))
        # Their memory counts, which exceeds the limit of deferred calls: they are dropped, as are
        # calls before the reply to the last Ping.
        def is_served():
            try:
                self.slow.result(self.slow.send(lock_call('Query', bucket=BUCKET)), 0.5)
                return True
            except TimeoutError:
                return False
        wait_for(is_served, what='an answer')


class Answers(UnreadCase):
    """Long lists."""

    CLIENTS = 30

    def test_by_the_bus(self):
        """All call at the same time. The service reads the calls; it may defer them."""
        self.service = self.begin()
        self.fill()
        clients = [self.raw() for _ in range(self.CLIENTS)]
        for client in clients:
            client.ping()
        self.mark()
        self.service.pause()
        serials = [client.send(lock_call('Query', bucket=BUCKET)) for client in clients]
        for client in clients:
            client.ping_the_bus()
        self.service.resume()
        self.check_grown('by the bus', 2 * ANSWER_MIB + SLACK_MIB)
        for client, serial in zip(clients, serials):
            held, pending = client.result(serial)
            self.assertEqual(len(held) + len(pending), REQUESTS)

    def test_of_a_disconnected_client(self):
        self.service = self.begin()
        self.fill()
        slow = self.one_that_is_not_served()
        slow.send_all([lock_call('Query', bucket=BUCKET)] * 80)
        self.wait_taken(slow)
        self.mark()
        slow.close()
        wait_for(lambda: slow.name not in self.known_names(), what='its end')
        self.control.ping()
        self.check_grown('one that has left', SLACK_MIB)


class Watchers(UnreadCase):
    """One disconnect can cause many signals to many watchers."""

    WATCHERS = 100
    # Events for all watchers in one turn, since the messages use much memory.
    SIGNALS_MIB = 6
    # One request is granted, 1023 wait, and all end.
    EVENTS = 2 * 1024

    def check(self, listeners):
        """Each is notified of everything, by signals or by Missed."""
        client = self.raw()
        sock = self.socket(client)
        sock.request_all('x' * 1024, BUCKET)
        self.mark()
        # No client reads meanwhile, so that everything has to be stored.
        sock.close()
        client.close()
        wait_for(lambda: client.name not in self.known_names(), what='its end')
        self.control.ping()
        self.check_grown(f'{self.WATCHERS} watchers', self.SIGNALS_MIB + SLACK_MIB)
        n_missed = 0
        for listener in listeners:
            listener.answer_pings()
            listener.answers_pings = True
            listener.wait_for(lambda w=listener: self.n_received(w) == self.EVENTS, what='all, or Missed')
            n_missed += sum(event.args[0] for event in listener.signals('Missed'))
        diagnostic(f'{self.WATCHERS * self.EVENTS - n_missed} signals; {n_missed} were missed')
        self.assertGreater(n_missed, 0)

    @staticmethod
    def n_received(listener):
        missed = listener.signals('Missed')
        return len(listener.events) - len(missed) + sum(event.args[0] for event in missed)

    def test_by_the_bus(self):
        self.service = self.begin()
        listeners = []
        for _ in range(self.WATCHERS):
            listener = self.raw()
            listener.answers_pings = False
            listener.locks(BUCKET, 'Watch', GLib.Variant('(b)', (True,)))
            listeners.append(listener)
        self.check(listeners)
