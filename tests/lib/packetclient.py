# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A client of the lock socket, written from docs/socket-protocol.md alone: the tests that use it show that
the page is complete. Everything that the page does not allow is a ValueError here.

It gets the descriptor that OpenSocket returned from its caller.
"""

import collections
import mmap
import os
import select
import socket
import struct
import time

VERSION = 3
VERSION_MIN = 2  # without cells
REQUEST, RELEASE, ABORT, SYNC, END, DOWNGRADE = range(2, 8)
ANSWER, GRANTED, ENDED, LIVE, CLOSED, WANTED = range(65, 71)
NO_ANSWER = 1
IF_AVAILABLE, STEAL, SIGNAL, CELL = 1, 2, 4, 8
NONE, WAITS, HELD = range(3)
MODES = ('exclusive', 'shared')
ERRORS = ('', 'InvalidArgs', 'NotSupported', 'InvalidState', 'NotHeld', 'LimitsExceeded',
          'Security')
END_REASONS = ('', 'stolen', 'timeout', 'terminated', 'lost', 'unavailable')
CLOSE_REASONS = ('', 'replaced', 'malformed', 'shutdown')
LIMITS = ('', 'nameBytes', 'whyBytes', 'requestsPerClient', 'requestsPerApp', 'requestsPerUid',
          'requestsTotal', 'textBytesPerApp', 'textBytesPerUid', 'textBytesTotal',
          'clientsPerApp', 'clientsPerUid', 'clientsTotal', 'bytesWaiting',
          'bytesWaitingTotal', 'watchesPerClient', 'watchesPerApp',
          'watchesPerUid', 'watchesTotal', 'documentsPerClient')
MAX_PACKET = 65536

Answer = collections.namedtuple('Answer', 'serial error limit token state aborted')
Granted = collections.namedtuple('Granted', 'key token')
Ended = collections.namedtuple('Ended', 'key reason')
Live = collections.namedtuple('Live', 'entries more')
Entry = collections.namedtuple('Entry', 'key token time_left state wanted')
Closed = collections.namedtuple('Closed', 'reason')
Wanted = collections.namedtuple('Wanted', 'key wanted')


class LockError(Exception):
    """An ANSWER with an error: `short` is the name of the error, `message` that of the limit."""

    def __init__(self, short, message=''):
        super().__init__(f'{short}: {message}')
        self.short = short
        self.message = message

    def __reduce__(self):
        return LockError, (self.short, self.message)


# ---- writing

def message(kind, serial=0, fields=b'', flags=0):
    """One message, padded."""
    size = 16 + len(fields) + -len(fields) % 8
    return struct.pack('=HHIQ', kind, flags, size, serial) + fields + bytes(-len(fields) % 8)


def request(serial, key, bucket, name, mode='exclusive', options=0, timeout=0, why='', command='',
            slots=0):
    """`command` is the option `for`."""
    bucket, name, why = bucket.encode(), name.encode(), why.encode()
    if command:
        why += b'\0' + command.encode()
    return message(REQUEST, serial, struct.pack('=QIBBHHHI', key, timeout, MODES.index(mode), options,
                                                len(bucket), len(name), len(why), slots)
                   + bucket + name + why)


def with_key(kind, serial, key, flags=0):
    """RELEASE, ABORT or DOWNGRADE."""
    return message(kind, serial, struct.pack('=Q', key), flags)


def packets(messages):
    """Packs as many messages into each packet as allowed."""
    packet = b''
    for data in messages:
        if len(packet) + len(data) > MAX_PACKET:
            yield packet
            packet = b''
        packet += data
    if packet:
        yield packet


# ---- reading

def _check(holds, what):
    if not holds:
        raise ValueError(f'the service sent {what}')


def _answer(serial, body):
    error, limit, token, state, aborted, rest = struct.unpack('=IIQBB6s', body)
    _check(rest == bytes(6), 'an answer with something reserved')
    _check(limit == 0 or ERRORS[error] == 'LimitsExceeded', 'a limit without its error')
    _check((token != 0) == (state == HELD), 'a token of what is not held, or none')
    _check(aborted in (0, 1) and state <= HELD, 'an unknown state')
    return Answer(serial, ERRORS[error], LIMITS[limit], token, state, aborted == 1)


def _granted(_serial, body):
    result = Granted(*struct.unpack('=QQ', body))
    _check(result.key and result.token, 'a grant of nothing')
    return result


def _ended(_serial, body):
    key, reason, rest = struct.unpack('=QII', body)
    _check(key and reason and not rest, 'an end of nothing, or for nothing')
    return Ended(key, END_REASONS[reason])


def _live(_serial, body):
    count, more = struct.unpack_from('=II', body)
    _check(len(body) == 8 + 24 * count and more in (0, 1), 'the list has another length than its count')
    entries = [Entry(*fields[:5]) for fields in struct.iter_unpack('=QQIBBH', body[8:]) if fields[5] == 0]
    _check(len(entries) == count, 'entries with something reserved')
    for entry in entries:
        _check(entry.wanted <= (entry.state == HELD), 'something wanted that is not held')
        _check(entry.key and entry.state in (WAITS, HELD), 'something that is not live')
        _check((entry.token != 0) == (entry.state == HELD), 'a token of what waits, or none')
    return Live(entries, more == 1)


def _closed(_serial, body):
    reason, rest = struct.unpack('=II', body)
    _check(reason and not rest, 'an end for nothing')
    return Closed(CLOSE_REASONS[reason])


def _wanted(_serial, body):
    key, wanted, rest = struct.unpack('=QII', body)
    _check(key and wanted <= 1 and not rest, 'a wanted nothing')
    return Wanted(key, wanted == 1)


READERS = {ANSWER: _answer, GRANTED: _granted, ENDED: _ended, LIVE: _live, CLOSED: _closed, WANTED: _wanted}


def decode(packet):
    """Parses the messages of a packet from the service."""
    at, found = 0, []
    while at < len(packet):
        kind, flags, size, serial = struct.unpack_from('=HHIQ', packet, at)
        _check(size >= 16 and size % 8 == 0 and at + size <= len(packet), f'a size of {size}')
        _check(flags == 0 and kind in READERS, f'a message of kind {kind} with flags {flags}')
        _check(serial == 0 or kind == ANSWER, 'a serial in what is no answer')
        try:
            found.append(READERS[kind](serial, packet[at + 16:at + size]))
        except (struct.error, IndexError) as error:
            raise ValueError(f'the service sent a message of kind {kind}: {error}') from error
        at += size
    return found


# ---- cells

class Cells:
    """The page of cells, of whose words only one side at a time is changing one: a program needs atomic
    instructions instead."""
    WORD, KEY, LAST, SINCE, SINCE_TOKEN, AGENT, REQUEST = range(7)
    OPEN, IS_HELD = 1, 2

    def __init__(self, descriptor):
        self.memory = mmap.mmap(descriptor, 4096, mmap.MAP_SHARED)
        self.inode = os.fstat(descriptor).st_ino
        os.close(descriptor)
        self.fields = memoryview(self.memory).cast('Q')

    def close(self):
        self.fields.release()
        self.memory.close()

    def get(self, cell, field=WORD):
        return self.fields[8 * cell + field]

    def set(self, cell, value, field=WORD):
        self.fields[8 * cell + field] = value

    def is_open(self, cell):
        return bool(self.get(cell) & self.OPEN)

    def is_held(self, cell, token, key):
        """Whether the answer to a REQUEST means that the lock can be left and entered here."""
        return (self.get(cell), self.get(cell, self.KEY)) == (token << 2 | self.IS_HELD | self.OPEN, key)

    def enter(self, cell, key):
        """Returns the token, or None."""
        word = self.get(cell)
        token = word >> 2
        if word != token << 2 | self.OPEN or self.get(cell, self.KEY) != key or \
                token >= self.get(cell, self.LAST):
            return None
        self.set(cell, token + 1 << 2 | self.IS_HELD | self.OPEN)
        self.set(cell, time.monotonic_ns() // 1000, self.SINCE)
        self.set(cell, token + 1, self.SINCE_TOKEN)
        return token + 1

    def leave(self, cell, token):
        if self.get(cell) != token << 2 | self.IS_HELD | self.OPEN:
            return False
        self.set(cell, token << 2 | self.OPEN)
        return True


# ---- a socket

class LockSocket:
    """A lock socket. `log` has every message of the service, in order; `live` the initial list,
    `events` the grants and ends, `wanted` each WANTED, `closed` the reason of CLOSED, `eof` the end."""

    def __init__(self, descriptor, patience=20.0):
        self.socket = socket.socket(fileno=descriptor)
        self.patience = patience
        self.log, self.live, self.events, self.wanted = [], None, [], []
        self.closed, self.eof, self.n_resets = None, False, 0
        self.serial = self.key = 0
        self._entries = []
        self._answers = {}

    def close(self):
        self.socket.close()

    # ---- receiving

    def _poll(self, events, timeout):
        poll = select.poll()
        poll.register(self.socket, events)
        return bool(poll.poll(max(0, timeout) * 1000))

    def pump(self, timeout=0.0):
        """Receives a packet, if there is one within that time."""
        if self.eof or not self._poll(select.POLLIN, timeout):
            return False
        try:
            packet = self.socket.recv(MAX_PACKET + 1)
        except ConnectionResetError:
            # The other end was closed; messages that were sent before are read now.
            self.n_resets += 1
            return True
        except BlockingIOError:
            return False
        _check(len(packet) <= MAX_PACKET, f'{len(packet)} bytes')
        self.eof = packet == b''
        for found in decode(packet):
            self._take(found)
        return not self.eof

    def _take(self, found):
        _check(self.closed is None, 'something behind CLOSED')
        _check(self.live is not None or isinstance(found, Live), 'something before LIVE')
        self.log.append(found)
        if isinstance(found, Answer):
            self._answers[found.serial] = found
        elif isinstance(found, Live):
            _check(self.live is None, 'another list')
            self._entries += found.entries
            if not found.more:
                self.live = self._entries
                # Keys of live requests are not used for new ones.
                self.key = max([entry.key for entry in self.live if entry.key < 1 << 63], default=0)
        elif isinstance(found, Closed):
            self.closed = found.reason
        elif isinstance(found, Wanted):
            self.wanted.append(tuple(found))
        else:
            self.events.append(found)

    def wait_for(self, condition, timeout=None, what='condition'):
        """Reads until the condition holds."""
        deadline = time.monotonic() + (self.patience if timeout is None else timeout)
        while not condition():
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f'{what}: not in time; the last was {self.log[-3:]}')
            if not self.pump(left) and self.eof and not condition():
                raise ConnectionError(f'{what}: the service closed the socket ({self.closed})')

    def read_live(self):
        self.wait_for(lambda: self.live is not None, what='LIVE')
        return self.live

    def read_to_end(self, timeout=None):
        """Waits for EOF. Returns the reason of CLOSED, or None."""
        self.wait_for(lambda: self.eof, timeout, 'end of the socket')
        return self.closed

    def granted(self, key):
        """Waits for GRANTED. Returns the token."""
        return next((event.token for event in self.events
                     if isinstance(event, Granted) and event.key == key), None)

    def ended(self, key):
        """Waits for ENDED. Returns the reason."""
        return next((event.reason for event in self.events
                     if isinstance(event, Ended) and event.key == key), None)

    def wait_granted(self, key):
        self.wait_for(lambda: self.granted(key), what=f'GRANTED of {key}')
        return self.granted(key)

    def wait_ended(self, key):
        self.wait_for(lambda: self.ended(key), what=f'ENDED of {key}')
        return self.ended(key)

    # ---- sending

    def send_packet(self, packet):
        """Reads while the socket is full, since the service doesn't read from a client that doesn't read."""
        deadline = time.monotonic() + self.patience
        while True:
            try:
                self.socket.send(packet, socket.MSG_NOSIGNAL)
                return
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise TimeoutError('the service does not read') from None
                self._poll(select.POLLIN | select.POLLOUT, deadline - time.monotonic())
                self.pump()

    def send(self, *messages):
        """In one packet."""
        self.send_packet(b''.join(messages))

    def send_all(self, messages):
        for packet in packets(messages):
            self.send_packet(packet)

    def next_serial(self):
        self.serial += 1
        return self.serial

    def encode_request(self, name, bucket='default', key=None, mode='exclusive', timeout=0, why='',
                       slots=0, **options):
        """Returns (bytes, serial, key); options are ifAvailable, steal, signal, `for` and `cell`."""
        command = options.pop('for', '')
        cell = options.pop('cell', None)
        if key is None:
            self.key += 1
            key = self.key
        bits = sum({'ifAvailable': IF_AVAILABLE, 'steal': STEAL, 'signal': SIGNAL}[option]
                   for option, is_set in options.items() if is_set)
        if cell is not None:
            bits, slots = bits | CELL, cell
        serial = self.next_serial()
        return (request(serial, key, bucket, name, mode, bits, timeout, why, command, slots), serial,
                key)

    def encode(self, kind, key=None):
        """Returns (bytes, serial) of any other call."""
        serial = self.next_serial()
        return (message(kind, serial) if key is None else with_key(kind, serial, key)), serial

    def answer(self, serial, timeout=None):
        """Waits for the answer; raises an error."""
        self.wait_for(lambda: serial in self._answers, timeout, f'answer to {serial}')
        answer = self._answers.pop(serial)
        if answer.error:
            raise LockError(answer.error, answer.limit)
        return answer

    def has_answer(self, serial):
        return serial in self._answers

    def call(self, kind, key=None):
        data, serial = self.encode(kind, key)
        self.send(data)
        return self.answer(serial)

    # ---- calls that wait for their answer

    def request(self, name, bucket='default', **options):
        """Returns (key, token): the token is 0 if it is pending; the key, too, if it was not available."""
        data, serial, key = self.encode_request(name, bucket, **options)
        self.send(data)
        answer = self.answer(serial)
        return (0 if answer.state == NONE else key), answer.token

    def request_all(self, names, bucket='default', **options):
        """Sends them in as few packets as possible. Returns (key, token) of each."""
        calls = [self.encode_request(name, bucket, **options) for name in names]
        self.send_all(data for data, _, _ in calls)
        return [(key, self.answer(serial).token) for _, serial, key in calls]

    def steal(self, name, bucket='default', **options):
        return self.request(name, bucket, steal=True, **options)

    def release(self, key):
        self.call(RELEASE, key)

    def release_without_answer(self, *keys):
        self.send_all(with_key(RELEASE, 0, key, NO_ANSWER) for key in keys)

    def abort(self, key):
        return self.call(ABORT, key).aborted

    def downgrade(self, key):
        self.call(DOWNGRADE, key)

    def sync(self):
        self.call(SYNC)

    def end(self):
        self.call(END)
