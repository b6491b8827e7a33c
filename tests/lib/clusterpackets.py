# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The packets between weblocksd and its gateway to a cluster, written from common/cluster-packet.h alone."""

import collections
import os
import struct

HELLO, DEMAND, READY, ACK, LIST, BREAK = range(1, 7)
(LEASE, PERMIT, YIELD, REVOKED, BUSY, GONE, SYNCED, ROWS, STATE, BROKEN) = range(65, 75)
NONE, SHARED, EXCLUSIVE = range(3)
IF_AVAILABLE, STEAL = 1, 2
TURN_OVER = 1
CONNECTING, ACTIVE, SUSPECT, LOST_SESSION = range(1, 5)
# The reason of a state, with the word of the property Cluster.
REASONS = ('', 'unreachable', 'not-renewed', 'service', 'expired', 'denied', 'other-data', 'older-data',
           'short-sessions', 'storage', 'addresses', 'unexpected')
STOLEN, LOST = 1, 2
HOLDS, WAITS = 1, 2
MAX_PACKET = 65536

Hello = collections.namedtuple('Hello', 'version')
Demand = collections.namedtuple('Demand', 'handle block uid number want held undecided flags bucket name n_waiting')
Ready = collections.namedtuple('Ready', '')
Ack = collections.namedtuple('Ack', 'serial')
List = collections.namedtuple('List', 'serial uid bucket')
Break = collections.namedtuple('Break', 'serial uid bucket name host')


def pad(data):
    return data + bytes(-len(data) % 8)


def packet(kind, fields=b'', *texts):
    body = pad(fields + b''.join(text.encode() + b'\0' for text in texts))
    return struct.pack('=HHI', kind, 0, 8 + len(body)) + body


def lengths(*texts):
    return [len(text.encode()) for text in texts]


# ---- from weblocksd

def hello(version=1):
    return packet(HELLO, struct.pack('=II', version, 0))


def demand(handle, name, number=1, bucket='b', uid=os.getuid(), block=0, want=NONE, held=NONE, undecided=0,
           flags=0, n_waiting=0):
    return packet(DEMAND, struct.pack('=QQIIBBBBHHII', handle, block, uid, number, want, held, undecided,
                                      flags, *lengths(bucket, name), n_waiting, 0), bucket, name)


def ack(serial):
    return packet(ACK, struct.pack('=Q', serial))


def list_(serial, bucket='b', uid=os.getuid()):
    return packet(LIST, struct.pack('=QIHH', serial, uid, *lengths(bucket), 0), bucket)


def break_(serial, name, host='', bucket='b', uid=os.getuid()):
    return packet(BREAK, struct.pack('=QIHHH6x', serial, uid, *lengths(bucket, name, host)),
                  bucket, name, host)


# ---- from the gateway

def lease(serial, deadline, state=ACTIVE, reason=0):
    return packet(LEASE, struct.pack('=QqII', serial, deadline, state, reason))


def permit(handle, mode, deadline, block):
    return packet(PERMIT, struct.pack('=QIIqQ', handle, mode, 0, deadline, block))


def yield_(handle, now=0):
    return packet(YIELD, struct.pack('=QII', handle, now, 0))


def revoked(handle, reason):
    return packet(REVOKED, struct.pack('=QII', handle, reason, 0))


def reply(kind, handle, number):
    """BUSY or GONE."""
    return packet(kind, struct.pack('=QII', handle, number, 0))


def row(mode, state, host, name, since=0):
    return pad(struct.pack('=BBHHHq', mode, state, *lengths(host, name), 0, since)
               + b''.join(text.encode() + b'\0' for text in (host, name)))


def rows(serial, *all_rows, more=0):
    return packet(ROWS, struct.pack('=QII', serial, len(all_rows), more) + b''.join(all_rows))


def status(state, engine='', hosts=()):
    text = '\n'.join(hosts)
    return packet(STATE, struct.pack('=IHH', state, *lengths(engine, text)), engine, text)


def broken(serial, count, failed=0):
    return packet(BROKEN, struct.pack('=QII', serial, count, failed))


# ---- reading what weblocksd sends

def _check(holds, what):
    if not holds:
        raise ValueError(f'weblocksd sent {what}')


def _texts(data, *sizes):
    found = []
    for size in sizes:
        _check(len(data) > size and data[size] == 0, 'a text without its end')
        found.append(data[:size].decode())
        data = data[size + 1:]
    _check(len(data) < 8 and not any(data), 'something behind a text')
    return found


def read(data):
    """A packet as one of the tuples above."""
    _check(8 <= len(data) <= MAX_PACKET and len(data) % 8 == 0, f'a packet of {len(data)} bytes')
    kind, flags, size = struct.unpack_from('=HHI', data)
    body = data[8:]
    _check(flags == 0 and size == len(data), 'a bad head')
    if kind == HELLO:
        version, zero = struct.unpack('=II', body)
        _check(zero == 0, 'something reserved')
        return Hello(version)
    if kind == DEMAND:
        (*numbers, bucket, name, n_waiting, zero) = struct.unpack_from('=QQIIBBBBHHII', body)
        _check(zero == 0, 'something reserved')
        return Demand(*numbers, *_texts(body[40:], bucket, name), n_waiting)
    if kind == READY:
        _check(not body, 'a READY with a body')
        return Ready()
    if kind == ACK:
        return Ack(*struct.unpack('=Q', body))
    if kind == LIST:
        serial, uid, bucket, zero = struct.unpack_from('=QIHH', body)
        _check(zero == 0, 'something reserved')
        return List(serial, uid, *_texts(body[16:], bucket))
    _check(kind == BREAK, f'a packet of kind {kind}')
    serial, uid, *sizes = struct.unpack_from('=QIHHH6x', body)
    return Break(serial, uid, *_texts(body[24:], *sizes))
