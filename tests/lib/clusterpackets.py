# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The packets between weblocksd and its gateway to a cluster, written from common/cluster-packet.h alone."""

import collections
import os
import struct

from gi.repository import GLib

HELLO, DEMAND, READY, ACK, ASK = range(1, 6)
(LEASE, PERMIT, YIELD, REVOKED, BUSY, GONE, SYNCED, ROWS, STATUS, BROKEN) = range(65, 75)
NONE, SHARED, EXCLUSIVE = range(3)
IF_AVAILABLE, STEAL = 1, 2
CONNECTING, ACTIVE, SUSPECT, LOST_SESSION = range(1, 5)
# The reason of a state, with the word of the property Cluster.
REASONS = ('', 'unreachable', 'not-renewed', 'service', 'expired', 'denied', 'other-data', 'older-data',
           'short-sessions', 'storage', 'addresses', 'unexpected', 'other-format', 'other-cluster', 'long-ticks', 'other-settings')
STOLEN, LOST = 1, 2
HOLDS, WAITS = 1, 2
MAX_PACKET = 65536
VERSION = 6
SESSION = 0x100000000000001     # of the gateway with the servers
BLOCK_BITS = 10                 # a token is in the block token >> BLOCK_BITS

Hello = collections.namedtuple('Hello', 'version')
Demand = collections.namedtuple('Demand',
                                'handle block session claim uid number want held undecided needs_tokens '
                                'turn_over n_waiting bucket name')
Ready = collections.namedtuple('Ready', '')
Ack = collections.namedtuple('Ack', 'serial')
# What ASK asks for: ROWS, BROKEN or STATUS.
List, Break, Ask = [collections.namedtuple(name, 'serial answer uid bucket name host')
                    for name in ('List', 'Break', 'Ask')]

TYPES = {HELLO: '(u)', DEMAND: '(tttuuuyyybbuss)', READY: '()', ACK: '(t)', ASK: '(tuusss)',
         LEASE: '(txtuu)', PERMIT: '(tytu)', YIELD: '(tb)', REVOKED: '(ty)', BUSY: '(tu)', GONE: '(tu)',
         SYNCED: '()', ROWS: '(ta(yyxs))', STATUS: '(tssss)', BROKEN: '(tub)'}
# What weblocksd sends is read as one of these.
TUPLES = {HELLO: Hello, DEMAND: Demand, READY: Ready, ACK: Ack}
QUESTIONS = {ROWS: List, BROKEN: Break, STATUS: Ask}


def raw(kind, data=b''):
    """A packet of any bytes."""
    return struct.pack('=II', kind, 8 + len(data)) + data


def packet(kind, *members):
    return raw(kind, GLib.Variant(TYPES.get(kind, '()'), members).get_data_as_bytes().get_data() or b'')


# ---- from weblocksd

def hello(version=VERSION):
    return packet(HELLO, version)


def demand(handle, name, number=1, bucket='b', uid=os.getuid(), block=0, session=0, claim=0, want=NONE, held=NONE,
           undecided=0, needs_tokens=False, turn_over=False, n_waiting=0):
    return packet(DEMAND, handle, block, session, claim, uid, number, want, held, undecided, needs_tokens,
                  turn_over, n_waiting, bucket, name)


def ack(serial):
    return packet(ACK, serial)


def list_(serial, name, bucket='b', uid=os.getuid()):
    return packet(ASK, serial, ROWS, uid, bucket, name, '')


def ask(serial):
    return packet(ASK, serial, STATUS, 0, '', '', '')


def break_(serial, name, host='', bucket='b', uid=os.getuid()):
    return packet(ASK, serial, BROKEN, uid, bucket, name, host)


# ---- from the gateway

def lease(serial, deadline, state=ACTIVE, reason=0, session=SESSION):
    return packet(LEASE, serial, deadline, session if deadline else 0, state, reason)


def permit(handle, mode, block, claim=0):
    return packet(PERMIT, handle, mode, block, claim)


def yield_(handle, now=False):
    return packet(YIELD, handle, now)


def revoked(handle, reason):
    return packet(REVOKED, handle, reason)


def reply(kind, handle, number):
    """BUSY or GONE."""
    return packet(kind, handle, number)


def row(mode, state, host, since=0):
    return (mode, state, since, host)


def rows(serial, *all_rows):
    return packet(ROWS, serial, all_rows)


def status(serial, engine='', hosts=(), id_='', metrics=('grants_total 0',)):
    return packet(STATUS, serial, engine, '\n'.join(hosts), id_, '\n'.join(metrics))


def broken(serial, count, failed=False):
    return packet(BROKEN, serial, count, failed)


# ---- reading

def unpack(data):
    """The kind and the members of a packet."""
    kind, size = struct.unpack_from('=II', data)
    if size != len(data) or size > MAX_PACKET or kind not in TYPES:
        raise ValueError(f'a packet of kind {kind}, {size} and {len(data)} bytes')
    body = GLib.Variant.new_from_bytes(GLib.VariantType(TYPES[kind]), GLib.Bytes.new(data[8:]), False)
    if not body.is_normal_form():
        raise ValueError(f'a malformed packet of kind {kind}: {data.hex()}')
    return kind, body.unpack()


def read(data):
    """A packet of weblocksd as one of the tuples above."""
    kind, members = unpack(data)
    return (QUESTIONS[members[1]] if kind == ASK else TUPLES[kind])(*members)
