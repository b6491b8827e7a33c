# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Malformed packets: every row of that table in docs/socket-protocol.md terminates the agent that sent
it, and nothing else; unusual but well-formed packets don't."""

import socket
import struct

from harness import diagnostic
from sockets import packets
from test_socket import SocketCase


def head(kind, size, flags=0, serial=0):
    return struct.pack('=HHIQ', kind, flags, size, serial)


def changed(data, offset, new):
    """Returns the message with these bytes replaced."""
    return data[:offset] + new + data[offset + len(new):]


def request(key=9, mode=0, options=0, slots=0, bucket=b'bucket', name=b'name', why=b'why', lengths=None,
            flags=0):
    fields = struct.pack('=QIBBHHHI', key, 0, mode, options,
                         *(lengths or (len(bucket), len(name), len(why))), slots)
    return packets.message(packets.REQUEST, 1, fields + bucket + name + why, flags)


RELEASE, ABORT, DOWNGRADE = [packets.with_key(kind, 1, 9)
                             for kind in (packets.RELEASE, packets.ABORT, packets.DOWNGRADE)]
SYNC, END = [packets.message(kind, 1) for kind in (packets.SYNC, packets.END)]
EACH = {'REQUEST': request(), 'RELEASE': RELEASE, 'ABORT': ABORT, 'DOWNGRADE': DOWNGRADE, 'SYNC': SYNC,
        'END': END}


def sizes():
    yield 'a packet of more than maxPacket', SYNC * (packets.MAX_PACKET // 16 + 1)
    yield 'a packet of 128 KiB', SYNC * (2 * packets.MAX_PACKET // 16)
    yield 'the largest request and one', request(name=b'n' * 65491, why=b'')
    for count in (1, 7, 8, 15):
        yield f'a packet of {count} bytes', SYNC[:count]
        yield f'{count} bytes behind a message', SYNC + SYNC[:count], [1]
    for name, data in EACH.items():
        size = len(data)
        yield f'{name} beyond its packet', changed(data, 4, struct.pack('=I', size + 8))
        yield f'{name} cut short', data[:-8] if size > 16 else data[:8]
        for wrong in (0, 8, 15, size - 1, size + 1, size + 4, 2 ** 31, 2 ** 32 - 8, 2 ** 32 - 1):
            yield f'{name} with the size {wrong}', changed(data, 4, struct.pack('=I', wrong)) + SYNC
        yield f'{name} with 8 bytes more', \
            changed(data, 4, struct.pack('=I', size + 8)) + bytes(8)
    for name, minimum in (('REQUEST', 40), ('RELEASE', 24), ('ABORT', 24), ('DOWNGRADE', 24)):
        yield f'{name} smaller than its fixed part', \
            changed(EACH[name][:minimum - 8], 4, struct.pack('=I', minimum - 8))
    yield 'REQUEST with longer lengths', request(lengths=(6, 4, 5))
    yield 'REQUEST with shorter lengths', request(name=b'n' * 16, lengths=(6, 4, 3))
    yield 'REQUEST with lengths that wrap', request(lengths=(65535, 65535, 65535))
    for position in range(3):
        yield f'REQUEST whose length {position} is too large', \
            request(lengths=[65535 if position == other else 1 for other in range(3)])


def kinds_and_flags():
    for kind in (0, 1, 8, 64, 128, 256 + packets.SYNC, 65535, packets.ANSWER, packets.GRANTED,
                 packets.ENDED, packets.LIVE, packets.CLOSED):
        yield f'kind {kind}', changed(SYNC, 0, struct.pack('=H', kind))
    for name, data in EACH.items():
        for flags in (1, 2, 3, 256, 0x8001, 0xffff):
            if flags != packets.NO_ANSWER or name not in ('RELEASE', 'ABORT', 'DOWNGRADE'):
                yield f'{name} with flags {flags}', changed(data, 2, struct.pack('=H', flags))


def reserved():
    data = request(bucket=b'', name=b'n', why=b'')
    for offset in range(len(data) - 7, len(data)):
        yield f'REQUEST with padding at {offset}', changed(data, offset, b'\1')


def numbers():
    for name in ('REQUEST', 'RELEASE', 'ABORT', 'DOWNGRADE'):
        yield f'{name} with key 0', changed(EACH[name], 16, bytes(8))
    for mode in (2, 3, 255):
        yield f'mode {mode}', request(mode=mode)
    for options in (16, 31, 128, 255):
        yield f'options {options}', request(options=options)


NOT_UTF8 = (b'\xff', b'\x80', b'a\xc3', b'\xc0\x80', b'\xed\xa0\x80', b'\xf4\x90\x80\x80', b'\0',
            b'a\0b', b'\0\0\0')


def texts():
    for text in NOT_UTF8:
        yield f'a bucket {text}', request(bucket=text)
        yield f'a name {text}', request(name=text)
        if b'a\0b' != text:  # that is `why` and `for`
            yield f'a why {text}', request(why=text)
        yield f'a for {text}', request(why=b'why\0' + text)
    yield 'an empty for', request(why=b'why\0')
    # Both together would be a valid character.
    yield 'a character cut in two', request(name=b'\xc3', why=b'\xa4')
    yield 'a character cut in two, in the bucket', request(bucket=b'\xc3', name=b'\xa4')


class Rows(SocketCase):
    """Each row, one after the other, by a client that holds a lock and waits for one. A neighbour
    waits for the former and holds the latter."""

    def setUp(self):
        super().setUp()
        owner = self.raw_client(descriptors=True)
        self.name = owner.name
        self.neighbour = self.lock_socket(owner)
        self.held, _ = self.neighbour.request('hers', self.bucket)
        self.other.watch(bucket=self.bucket)

    def check_ends(self, data, served=()):
        """`data` ends the agent; `served` are the serials that are answered before."""
        sock = self.lock_socket(self.raw)
        self.assertEqual(sock.live, [])
        sock.request('mine', self.bucket)
        sock.request('hers', self.bucket)
        mine, _ = self.neighbour.request('mine', self.bucket)
        try:
            sock.socket.send(data)
        except OSError as error:
            self.fail(f'{len(data)} bytes could not be sent: {error}')
        # Its neighbour has the lock now.
        self.neighbour.wait_granted(mine)
        self.assertEqual(sock.read_to_end(), 'malformed')
        answers = [found.serial for found in sock.log if isinstance(found, packets.Answer)]
        self.assertEqual(answers[2:], list(served))
        self.assertEqual({(event.key, event.reason) for event in sock.events}
                         - {(1, 'terminated'), (2, 'terminated')}, set())
        self.assertEqual(self.other.query(self.bucket), (
            [('hers', 'exclusive', self.name), ('mine', 'exclusive', self.name)], []))
        self.neighbour.release(mine)
        self.neighbour.events.clear()
        sock.close()

    def check_all(self, rows):
        before = None
        count = 0
        for what, *row in rows:
            try:
                self.check_ends(*row)
            except Exception as error:
                raise AssertionError(f'{what}: {error}') from error
            before = before or self.descriptors_at_rest()
            count += 1
        self.wait_descriptors(before)
        diagnostic(f'{count} rows')
        self.neighbour.sync()
        self.assertEqual(self.neighbour.ended(self.held), None)
        self.other.ping()
        self.assertEqual({event.args[-1] for event in self.other.signals('Released')
                          if event.args[3] == self.raw.name}, {'terminated'})

    def test_sizes(self):
        self.check_all(sizes())

    def test_kinds_and_flags(self):
        self.check_all(kinds_and_flags())

    def test_reserved(self):
        self.check_all(reserved())

    def test_numbers(self):
        self.check_all(numbers())

    def test_texts(self):
        self.check_all(texts())

    def test_earlier_messages_of_the_packet_are_served(self):
        holder = self.lock_socket()
        lost, _ = holder.request('holder', self.bucket)
        steal = packets.request(77, 70, self.bucket, 'holder', options=packets.STEAL)
        self.check_ends(steal + head(0, 16), served=[77])
        self.assertEqual(holder.wait_ended(lost), 'stolen')

    def test_later_messages_are_not_served(self):
        sock = self.lock_socket(self.raw)
        holder = self.lock_socket()
        kept, _ = holder.request('holder', self.bucket)
        steal = packets.request(77, 70, self.bucket, 'holder', options=packets.STEAL)
        with self.daemon.paused():
            sock.send(head(0, 16), steal)
            sock.send(steal)
        self.assertEqual(sock.read_to_end(), 'malformed')
        holder.sync()
        self.assertIsNone(holder.ended(kept))
        self.assert_nothing_live().sync()

    def test_its_calls_on_the_bus_are_served(self):
        """There is a new agent without requests."""
        sock = self.lock_socket(self.raw)
        sock.request('x', self.bucket, key=3)
        sock.send(head(0, 16))
        self.assertEqual(self.raw.query(self.bucket)[0],
                         [('hers', 'exclusive', self.name)])
        self.assertNotEqual(self.raw.request('x', self.bucket, key=3)[1], 0)
        self.assertEqual(sock.read_to_end(), 'malformed')


class WellFormed(SocketCase):
    """Cases that are not in the table."""

    def test_an_empty_packet_is_the_end(self):
        """It can't be distinguished from EOF, which ends nothing else."""
        before = self.descriptors_at_rest()
        sock = self.lock_socket(self.raw)
        _, token = sock.request('x', self.bucket, key=4)
        sock.socket.send(b'')
        self.assertIsNone(sock.read_to_end())
        self.assertEqual(self.raw.request('x', self.bucket, key=4)[1], token)
        self.assertEqual([entry.key for entry in self.lock_socket(self.raw).live], [4])
        sock.close()
        self.wait_descriptors(before + 1)

    def test_descriptors_sent_along_are_closed(self):
        sock = self.lock_socket(self.raw)
        before = self.descriptors_at_rest()
        for _ in range(20):
            with open('/dev/null', 'rb') as file:
                socket.send_fds(sock.socket, [SYNC], [file.fileno()] * 10)
            sock.wait_for(lambda: sock.has_answer(1) or sock.eof, what='answer or end')
            if sock.eof:
                sock = self.lock_socket(self.raw)
            sock._answers.clear()
        self.wait_descriptors(before)
        self.lock_socket(self.raw).sync()
