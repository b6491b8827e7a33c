# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The log stays short, whatever errors clients cause."""

from calls import ADMIN, LOCKS, PROPERTIES, ROOT, LockCalls, bucket_path, options
from harness import BusTestCase, DBusError, GLib, diagnostic, full_size
from rawbus import method_call, split
from sockets import open_socket, packets

SERVICE = 'org.w3.WebLocks'
PATH = bucket_path('default')
LINES_MAX = 100


def bad_calls():
    """One of each kind, as messages."""
    def call(member, body=None, path=PATH, interface=LOCKS):
        return method_call(SERVICE, path, interface, member, body)

    def request(name, values):
        return call('Request', GLib.Variant('(sa{sv})', (name, values)))
    return [
        request('-reserved', {}),
        request('x', {'unknown\n': GLib.Variant('b', True)}),
        request('x', {'mode': GLib.Variant('u', 1)}),
        request('x', options(why='w' * 300)),
        request('x', options(steal=True, ifAvailable=True)),
        request('n' * 2000, {}),
        call('Release', GLib.Variant('(t)', (999,))),
        call('Abort', GLib.Variant('(t)', (999,))),
        call('Downgrade', GLib.Variant('(t)', (999,))),
        call('Request', GLib.Variant('(t)', (999,))),
        call('Frobnicate'),
        call('Frobnicate', interface='org.example.Nothing'),
        call('Query', path=f'{ROOT}/bucket/_'),
        call('Query', path='/org/example'),
        call('Get', GLib.Variant('(ss)', (ADMIN, 'Nothing')), ROOT, PROPERTIES),
        call('Set', GLib.Variant('(ssv)', (ADMIN, 'Version', GLib.Variant('s', 'x'))), ROOT,
             PROPERTIES),
        call('Inspect', GLib.Variant('(a{sv})', ({'state': GLib.Variant('s', 'x')},))),
    ]


def renumbered(blob, serial):
    return blob[:8] + serial.to_bytes(4, 'little') + blob[12:]


# No more than a correct client has in progress.
BATCH = 256


class Flood(BusTestCase):
    time_limit = full_size(180.0, 1800.0)

    def setUp(self):
        super().setUp()
        self.lines = self.daemon.stderr().count('\n')

    def tearDown(self):
        lines = self.daemon.stderr().split('\n')[self.lines:]
        self.assertLessEqual(len(lines) - 1, LINES_MAX, lines[:20])
        self.assertIsNone(self.daemon.process.poll())

    def flood(self, client, count):
        """Sends so many invalid calls, and reads the same number of replies."""
        client.query()  # identifying this client takes descriptors
        before = self.daemon.count_descriptors()
        templates = [client.encode(message)[0] for message in bad_calls()]
        for begin in range(0, count, BATCH):
            client.socket.sendall(b''.join(
                renumbered(templates[n % len(templates)], client.next_serial())
                for n in range(begin, min(begin + BATCH, count))))
            answers, data = 0, bytearray()
            while answers < min(BATCH, count - begin):
                data += client.socket.recv(1 << 18)
                for blob in split(data):
                    answers += blob[1] in (2, 3)
                    if blob[1] == 1:
                        client.take_bytes(blob)  # a Ping, which needs a reply
        client.ping()
        self.assertEqual(self.daemon.count_descriptors(), before)
        diagnostic(f'{count} bad calls: {before} descriptors before and after, '
                   f'{self.daemon.stderr().count(chr(10)) - self.lines} lines in the log')

    def flood_socket(self, count):
        """The same on a lock socket, for the calls that it supports."""
        sock = self.lock_socket()
        before = self.daemon.count_descriptors()
        serials = iter(range(1, count + 1))
        while batch := [serial for serial, _ in zip(serials, range(BATCH))]:
            sock.send_all(packets.with_key(packets.RELEASE, serial, 999) if serial % 3 else
                          packets.request(serial, 1, 'default', '-\x1b[2J\n') for serial in batch)
            for serial in batch:
                self.assert_error('NotHeld' if serial % 3 else 'NotSupported', sock.answer, serial)
            sock.log.clear()
        self.assertEqual(self.daemon.count_descriptors(), before)

    def test_bad_calls(self):
        """Most of them on a lock socket."""
        self.flood(self.raw_client(), full_size(2_000, 200_000))
        self.flood_socket(full_size(5_000, 800_000))

    def test_bad_calls_of_another_user(self):
        self.flood(self.other_uid_client(), 2000)

    def test_calls_without_reply(self):
        client = self.raw_client()
        for _ in range(100):
            for message in bad_calls():
                message.set_flags(message.get_flags().NO_REPLY_EXPECTED)
                client.send(message)
        client.ping()

    def test_limits(self):
        """Refusals are replies and are not logged."""
        client = self.raw_client()
        refused = 0
        for number in range(1200):
            try:
                client.request(f'name {number}')
                # Not by RawClient, which would then reply to no more Pings.
                LockCalls.watch(client, bucket=f'{number}')
            except DBusError as error:
                self.assertEqual(error.short, 'LimitsExceeded')
                refused += 1
        self.assertGreater(refused, 1000)

    def test_lock_sockets_with_invalid_packets(self):
        """Malformed packets, and empty ones."""
        client = self.raw_client(descriptors=True)
        for number in range(150):
            sock = open_socket(client)
            if number % 3:
                sock.socket.send((b'\x1b[2J\n' * 10, b'GET / HTTP/1.1\r\n\r\n')[number % 2])
                self.assertEqual(sock.read_to_end(), 'malformed')
            sock.close()

    def test_clients_that_connect_and_disconnect(self):
        for _ in range(200):
            client = self.raw_client()
            client.request('x')
            client.close()


class FloodOfVerbose(BusTestCase):
    """With --verbose there is one line for each call, and no more."""

    arguments = ('--verbose',)

    def test_a_line_a_call(self):
        client = self.raw_client()
        before = self.daemon.stderr().count('\n')
        for _ in range(10):
            for message in bad_calls():
                client.reply_to(client.send(message))
        grown = self.daemon.stderr().count('\n') - before
        self.assertLessEqual(grown, 10 * len(bad_calls()))
        self.assertGreater(grown, 10)
