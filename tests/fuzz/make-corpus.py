# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Makes the inputs in corpus/ whose format is the product's: packets, replies and records of the state.

    PYTHONPATH=tests/lib /usr/bin/python3 tests/fuzz/make-corpus.py

To be run when a format changes. Other inputs are not changed: those that a fuzzer found, texts, and those in a
target's own encoding.
"""
import os
import struct

import gi
gi.require_version('Gio', '2.0')
from gi.repository import Gio, GLib

import clusterpackets as cluster
import packetclient as packets

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'corpus')


def packet_inputs():
    message = packets.message

    def by_key(kind, key, **kw):
        return packets.with_key(kind, 2, key, **kw)
    client = [packets.request(1, 1, 'b', 'x'),
              packets.request(1, 2, 'b', 'x', 'shared', timeout=60000, why='to be seen'),
              packets.request(1, 3, 'b', 'x', command='rsync (pid 12)'),
              by_key(packets.ABORT, 2), by_key(packets.RELEASE, 1),
              by_key(packets.RELEASE, 9, flags=packets.NO_ANSWER),
              message(packets.SYNC, 3), message(packets.END, 4)]
    service = [message(packets.ANSWER, 1, struct.pack('=IIQBB6x', 0, 0, 5, 2, 0)),
               message(packets.ANSWER, 2, struct.pack('=IIQBB6x', 5, 3, 0, 0, 0)),
               message(packets.GRANTED, 0, struct.pack('=QQ', 2, 6)),
               message(packets.ENDED, 0, struct.pack('=QII', 2, 1, 0)),
               message(packets.LIVE, 0, struct.pack('=II', 2, 0)
                       + struct.pack('=QQIBBH', 1, 5, 0, 2, 1, 0) + struct.pack('=QQII', 2, 0, 1000, 1)),
               message(packets.CLOSED, 0, struct.pack('=II', 3, 0)),
               message(packets.WANTED, 0, struct.pack('=QII', 2, 1, 0))]
    one = packets.request(1, 1, 'b', 'xyz')
    yield 'client', b''.join(client)
    yield 'service', b''.join(service)
    for number, data in enumerate(client + service):
        yield f'message-{number}', data
    yield 'counting', packets.request(1, 1, 'b', 'x', slots=2) + by_key(packets.DOWNGRADE, 1) + by_key(
        packets.DOWNGRADE, 1, flags=packets.NO_ANSWER)
    yield 'long', packets.request(
        1, 2 ** 64 - 1, 'b' * 255, 'n' * 1024, options=packets.SIGNAL, why='w' * 256,
        command='f' * 256)
    yield 'empty-for', packets.request(1, 1, 'b', 'x', why='w\0')
    yield 'two-zeros', packets.request(1, 1, 'b', 'x', why='w', command='f\0f')
    yield 'empty', b''
    yield 'half', one[:-3]
    yield 'size-0', bytes(16)
    yield 'size-wraps', struct.pack('=HHIQ', packets.SYNC, 0, 2 ** 32 - 8, 1)
    yield 'live-wraps', message(packets.LIVE, 0, struct.pack('=II', 2 ** 30, 0))
    yield 'padding', one[:-1] + b'\1'
    yield 'not-utf-8', one.replace(b'xyz', b'x\xc3z')
    yield 'half-a-character', packets.request(1, 1, 'b', 'x', why='z').replace(b'xz', b'\xc3\xa4')


def cluster_packet_inputs():
    one = cluster.demand(1, 'frame 1', want=cluster.EXCLUSIVE, undecided=cluster.STEAL, n_waiting=3)
    row = cluster.row(cluster.SHARED, cluster.HOLDS, 'node1', 17)
    for number, data in enumerate((
            cluster.hello(), one, cluster.packet(cluster.READY), cluster.ack(7), cluster.ask(7), cluster.list_(7, 'x'),
            cluster.break_(7, 'x', 'e-1'), cluster.lease(7, 5000000), cluster.permit(1, 2, 5000000, 12),
            cluster.yield_(1, 1), cluster.revoked(1, cluster.LOST), cluster.reply(cluster.BUSY, 1, 2),
            cluster.reply(cluster.GONE, 1, 2), cluster.packet(cluster.SYNCED),
            cluster.rows(7, row, cluster.row(cluster.EXCLUSIVE, cluster.WAITS, 'node2', 18)),
            cluster.status(7, 'zk1:2181', ('node1', 'node2')), cluster.broken(7, 2, 1))):
        yield f'message-{number}', data
    yield 'empty', b''
    yield 'half', one[:-8]
    yield 'two', one + one
    yield 'size-0', bytes(8)
    yield 'no-nul', one.replace(b'b\0', b'bb')
    yield 'not-utf-8', one.replace(b'frame', b'fr\xc3me')
    yield 'noncharacter', cluster.demand(1, '\uffff')
    yield 'long', cluster.demand(2 ** 64 - 1, 'n' * 4096, bucket='b' * 64)
    yield 'rows-wrap', cluster.rows(7, row)[:-1] + b'\xff'
    yield 'turn-over', cluster.demand(1, 'x', block=7, turn_over=True)
    yield 'needs-tokens', cluster.demand(1, 'x', block=7, want=cluster.SHARED, needs_tokens=True)
    yield 'turn-over-while-held', cluster.demand(1, 'x', block=7, held=cluster.SHARED, turn_over=True)


# The formats of fuzz-state.c, and of service/state/records.c on a little-endian machine.
RAW, LATE, ENDS_FIRST, ENDS_LAST, ASKS, STEALS = [1 << n for n in range(6)]
SHARED, EXCLUSIVE = 1, 0
ENDED = 2


def text(*strings):
    return b''.join(string.encode() + b'\0' for string in strings)


def record(kind, number, id_, rest=b''):
    rest += bytes(-len(rest) % 8)
    return struct.pack('<IIQQ', 24 + len(rest), ord(kind), number, id_) + rest


def agent(number, name, uid=1000, kind=0, app='', ceiling=256):
    return record('a', number, ceiling, struct.pack(
        '<IIIIII', uid, 1, kind, len(name), len(app), 0) + text(name, app))


def request(number, id_, name, sequence, token=0, mode=EXCLUSIVE, state=None, key=0, deadline=0,
            bucket='b', why='', slots=1):
    return record('r', number, id_, struct.pack(
        '<QQQqqBBHIII', key, token, sequence, 1000, deadline, mode,
        (1 if token else 0) if state is None else state, len(bucket), len(name), len(why), slots)
        + text(bucket, name, why))


def head(ceiling=1000):
    return record('t', 0, ceiling)


def state_inputs():
    three = agent(1, ':1.1') + agent(2, ':1.2') + agent(3, ':1.3', 2000)
    queue = (request(1, 1, 'x', 1, 10) + request(1, 2, 'y', 2, 11, SHARED)
             + request(2, 1, 'x', 3, deadline=5000) + request(2, 2, 'y', 4, mode=SHARED)
             + request(2, 3, 'x', 5, key=7, why='to be seen') + request(3, 1, 'x', 1, 12))
    for name, manner in (('queue', 0), ('queue-late', LATE), ('queue-end', ENDS_FIRST),
                         ('queue-ends', ENDS_FIRST | ENDS_LAST), ('queue-ask', ASKS),
                         ('queue-steal', STEALS | ASKS)):
        yield name, manner, head() + three + queue
    yield 'empty', 0, b''
    yield 'head', 0, head()
    yield 'no-agent', 0, head() + queue
    yield 'sandboxes', 0, head() + agent(1, ':1.1', 1000, 1, 'org.example.App') + agent(
        2, ':1.2', 1000, 2, 'snap') + request(1, 1, '', 1, 3) + request(2, 1, '', 1, 3)
    yield 'one-name-twice', 0, head() + agent(1, ':1.1') + agent(2, ':1.1')
    yield 'two-exclusive', 0, head() + three + request(1, 1, 'x', 1, 1) + request(2, 1, 'x', 2, 2)
    counting = [request(1, 1, 'x', 1, 1, slots=2), request(2, 1, 'x', 2, 2, slots=2),
                request(2, 2, 'x', 3, slots=2), request(1, 2, 'x', 4, slots=3)]
    yield 'counting', ENDS_FIRST, head() + three + b''.join(counting)
    yield 'more-than-slots', 0, head() + three + counting[0] + counting[1] + request(
        2, 2, 'x', 3, 3, slots=2)
    yield 'other-slots', 0, head() + three + counting[0] + request(2, 1, 'x', 2, 2, slots=3)
    yield 'earlier-format', ASKS, head() + three + request(1, 1, 'x', 1, 1, slots=0)
    yield 'one-key-twice', 0, head() + three + request(1, 1, 'x', 1, 1, key=1) + request(
        1, 2, 'y', 2, 2, key=1)
    yield 'last-numbers', LATE | ASKS, head(2 ** 63 - 1) + agent(
        2 ** 63 - 1, ':1.1', ceiling=2 ** 63 - 1) + request(
            2 ** 63 - 1, 2 ** 63 - 1, 'x', 2 ** 63 - 1, 2 ** 63 - 1)
    yield 'late-deadlines', 0, head() + three + request(1, 1, 'x', 1, 1) + b''.join(
        request(2, n + 1, 'x', n + 2, deadline=2 ** (n + 2)) for n in range(61))
    yield 'ended', 0, head() + three + request(1, 1, 'x', 1, state=ENDED)
    yield 'bucket-of-nothing', 0, head() + three + request(1, 1, 'x', 1, bucket='')
    yield 'long', 0, head() + three + request(1, 1, 'n' * 1024, 1, 5, bucket='b' * 255,
                                              why='w' * 256)
    yield 'for', ASKS, head() + three + request(1, 1, 'x', 1, 5, why='w\0rsync (pid 12)') + request(
        1, 2, 'y', 2, 6, why='\0' + 'f' * 256) + request(2, 1, 'x', 3, why='w\0')
    yield 'for-with-a-zero', 0, head() + three + request(1, 1, 'x', 1, 5, why='w\0f\0f')
    yield 'history', 0, head() + three + queue + record('e', 1, 1) + record('e', 2, 2) + request(
        2, 1, 'x', 3, 20) + record('e', 3, 1) + record('g', 3, 0) + record('l', 0, 77)
    yield 'ended-twice', 0, head() + three + queue + record('e', 1, 1) * 2
    yield 'gone-with-a-lock', 0, head() + three + queue + record('g', 1, 0)
    yield 'agent-again', 0, head() + three + agent(1, ':1.1', ceiling=512) + agent(2, ':1.9')
    yield 'raw-zeros', RAW, bytes(160)


def query_reply_inputs():
    """Replies to Query, as GDBus writes them."""
    def reply(all_held, all_pending, order=Gio.DBusMessageByteOrder.LITTLE_ENDIAN, sender=':1.2'):
        call = Gio.DBusMessage.new_method_call(None, '/', None, 'Query')
        call.set_serial(7)
        message = call.new_method_reply()
        message.set_byte_order(order)
        message.set_serial(8)
        if sender:
            message.set_sender(sender)
        message.set_body(GLib.Variant('(a(sss)a(sss))', (all_held, all_pending)))
        return bytes(message.to_blob(Gio.DBusCapabilityFlags.NONE))

    held = ('name', 'exclusive', ':1.7')
    yield 'nothing', reply([], [])
    yield 'held', reply([held], [])
    yield 'both', reply([held, ('', 'shared', ':1.8')], [held] * 3)
    yield 'umlaut', reply([], [('gr\u00fcn', 'shared', '')])
    yield 'no-sender', reply([held], [], sender=None)
    yield 'big-endian', reply([held], [held], Gio.DBusMessageByteOrder.BIG_ENDIAN)
    whole = reply([held], [held])
    yield 'cut', whole[:-8]
    yield 'more', whole + bytes(8)
    at = whole.index(b'name') - 4
    yield 'long-name', whole[:at] + b'\xff\xff\xff\x7f' + whole[at + 4:]
    yield 'no-zero', whole.replace(b'name\0', b'names')


def write(folder, name, data):
    os.makedirs(os.path.join(CORPUS, folder), exist_ok=True)
    with open(os.path.join(CORPUS, folder, name), 'wb') as file:
        file.write(data)


def main():
    for name, data in packet_inputs():
        write('packets', name, data)
    for name, data in cluster_packet_inputs():
        write('cluster-packets', name, data)
    for name, data in query_reply_inputs():
        write('query-reply', name, data)
    for name, manner, data in state_inputs():
        write('state', name, bytes([manner]) + data)


if __name__ == '__main__':
    main()
