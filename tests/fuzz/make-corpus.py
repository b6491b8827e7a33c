# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Makes the inputs in corpus/ that come from real messages, and from records of real state.

    PYTHONPATH=tests/lib /usr/bin/python3 tests/fuzz/make-corpus.py

The first bytes of each select the format of its target. Inputs that a fuzzer found are not changed.
"""

import os
import random
import struct

import gi
gi.require_version('Gio', '2.0')
from gi.repository import Gio, GLib

import clusterpackets as cluster
import packetclient as packets
from calls import ADMIN, LOCKS, ROOT, SERVICE, bucket_path
from rawbus import lock_call, method_call

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'corpus')


def blobs(*messages, big=False):
    """The bytes of messages, numbered from 1."""
    data = b''
    for serial, message in enumerate(messages, 1):
        message.set_serial(serial)
        message.set_byte_order(Gio.DBusMessageByteOrder.BIG_ENDIAN if big
                               else Gio.DBusMessageByteOrder.LITTLE_ENDIAN)
        data += message.to_blob(Gio.DBusCapabilityFlags.NONE)
    return data


def lock(member, subject=None, **kw):
    return lock_call(member, subject, 'b', **kw)


def packet_inputs():
    message = packets.message

    def by_key(kind, key, **kw):
        return packets.with_key(kind, 2, key, **kw)
    client = [packets.request(1, 1, 'b', 'x'),
              packets.request(1, 2, 'b', 'x', 'shared', timeout=60000, why='to be seen'),
              by_key(packets.ABORT, 2), by_key(packets.RELEASE, 1),
              by_key(packets.RELEASE, 9, flags=packets.NO_ANSWER),
              message(packets.SYNC, 3), message(packets.END, 4)]
    service = [message(packets.ANSWER, 1, struct.pack('=IIQBB6x', 0, 0, 5, 2, 0)),
               message(packets.ANSWER, 2, struct.pack('=IIQBB6x', 5, 3, 0, 0, 0)),
               message(packets.GRANTED, 0, struct.pack('=QQ', 2, 6)),
               message(packets.ENDED, 0, struct.pack('=QII', 2, 1, 0)),
               message(packets.LIVE, 0, struct.pack('=II', 2, 0)
                       + struct.pack('=QQII', 1, 5, 0, 2) + struct.pack('=QQII', 2, 0, 1000, 1)),
               message(packets.CLOSED, 0, struct.pack('=II', 3, 0))]
    one = packets.request(1, 1, 'b', 'xyz')
    yield 'client', b''.join(client)
    yield 'service', b''.join(service)
    for number, data in enumerate(client + service):
        yield f'message-{number}', data
    yield 'long', packets.request(
        1, 2 ** 64 - 1, 'b' * 255, 'n' * 1024, options=packets.SIGNAL, why='w' * 256)
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
    row = cluster.row(cluster.SHARED, cluster.HOLDS, 'node1', 'x', 17)
    for number, data in enumerate((
            cluster.hello(), one, cluster.packet(cluster.READY), cluster.ack(7), cluster.list_(7),
            cluster.break_(7, 'x', 'e-1'), cluster.lease(7, 5000000), cluster.permit(1, 2, 5000000, 12),
            cluster.yield_(1, 1), cluster.revoked(1, cluster.LOST), cluster.reply(cluster.BUSY, 1, 2),
            cluster.reply(cluster.GONE, 1, 2), cluster.packet(cluster.SYNCED),
            cluster.rows(7, row, cluster.row(cluster.EXCLUSIVE, cluster.WAITS, 'node2', '', 18)),
            cluster.status(cluster.SUSPECT, 'zk1:2181', ('node1', 'node2')), cluster.broken(7, 2, 1))):
        yield f'message-{number}', data
    yield 'empty', b''
    yield 'half', one[:-8]
    yield 'two', one + one
    yield 'size-0', bytes(8)
    yield 'padding', one[:-1] + b'\1'
    yield 'no-nul', one.replace(b'b\0', b'bb')
    yield 'not-utf-8', one.replace(b'frame', b'fr\xc3me')
    yield 'noncharacter', cluster.demand(1, '\uffff')
    yield 'long', cluster.demand(2 ** 64 - 1, 'n' * 4096, bucket='b' * 64)
    yield 'rows-wrap', cluster.packet(cluster.ROWS, struct.pack('=QII', 1, 2 ** 32 - 1, 0) + row)
    yield 'turn-over', cluster.demand(1, 'x', block=7, flags=cluster.TURN_OVER)
    yield 'turn-over-while-held', cluster.demand(1, 'x', block=7, held=cluster.SHARED, flags=cluster.TURN_OVER)


# The steps of fuzz-socket.c, in their order there, and some arguments.
(BYTES, REQUEST_LOCK, RELEASE_OR_ABORT, SYNC, END, SPOIL, CUT, REPEAT, SEND, SERVE, SEND_OFTEN, OPEN,
 LOOK, LOCK_BY_BUS, CLOSE, DEAF, LEAVE) = range(17)
SHUTDOWN = 1
ABORTS, NO_ANSWER = 128, 64
EMPTY, NAME_X, NONCHARACTER, NAME_B, LONGEST = 0, 1, 5, 6, 0xf5
WATCH, QUERY_ELSEWHERE = 128, 66


def steps(*all_steps, end=0):
    return bytes([end]) + b''.join(bytes(step) for step in all_steps)


def of_other(*all_steps):
    return [[128 | step, *rest] for step, *rest in all_steps]


def socket_inputs():
    opened = [[OPEN, 2], [SERVE]]
    ask, wait = [[REQUEST_LOCK, key, 0, NAME_B, NAME_X, 0] for key in (1, 2)]
    life = [*opened, ask, wait, [RELEASE_OR_ABORT, 2 | ABORTS], [RELEASE_OR_ABORT, 1], [SYNC], [END]]
    many = [*opened, ask, [REPEAT, 200], [SEND]]
    flood = [*opened, [SYNC], [REPEAT, 250], [REPEAT, 7], [SEND_OFTEN, 30]]
    yield 'life', steps(*life, [SEND], [SERVE])
    yield 'life-and-death', steps(*life, [SEND], [LEAVE])
    yield 'life-and-close', steps(*life, [SEND], [CLOSE], [SERVE], [OPEN, 2])
    yield 'life-and-shutdown', steps(*life, [SEND], end=SHUTDOWN)
    yield 'life-unread', steps([DEAF], *life, [SEND], [SERVE], [LEAVE])
    yield 'two', steps(*opened, ask, [SEND], *of_other(*opened, wait, [SEND], [SERVE]),
                       [RELEASE_OR_ABORT, 1 | NO_ANSWER], [SEND], [SERVE])
    yield 'stolen', steps(*opened, ask, [SEND], *of_other(
        *opened, [REQUEST_LOCK, 1, 2, NAME_B, NAME_X, 0], [SEND], [SERVE]))
    yield 'granted-by-death', steps(*opened, ask, [SEND], *of_other(*opened, wait, [SEND], [SERVE]),
                                    [LEAVE], [SERVE])
    yield 'granted-while-closed', steps(*opened, ask, [SEND], *of_other(
        *opened, wait, [SEND], [SERVE], [CLOSE]), [RELEASE_OR_ABORT, 1], [SEND], [SERVE],
        *of_other([OPEN, 2]))
    yield 'many', steps(*many, [SERVE], [LOOK, 0], [LOOK, 4])
    yield 'many-opens-again', steps(*many, [SERVE], [CLOSE], [OPEN, 2])
    yield 'opens-twice', steps(*life, [SEND], [OPEN, 2], [SERVE], [SYNC], [SEND])
    yield 'flood', steps(*flood, [SERVE])
    yield 'flood-unread', steps(*flood[:2], [DEAF], *flood[2:], [SERVE], [DEAF], [SERVE])
    yield 'flood-then-look', steps(*flood[:2], [DEAF], *flood[2:], [SERVE], [LOOK, 0], [OPEN, 2],
                                   [LOOK, 5], [SERVE], [DEAF], [SERVE])
    yield 'flood-and-death', steps(*flood[:2], [DEAF], *flood[2:], [SERVE], [LOOK, 2], [LEAVE])
    yield 'flood-and-shutdown', steps(*flood[:2], [DEAF], *flood[2:], [SERVE], end=SHUTDOWN)
    # Replies before that to the Query are sent to a watcher of another bucket.
    yield 'look-behind-signal', steps(*of_other([LOOK, WATCH]), [SERVE], *opened, ask, [SEND],
                                      [LOOK, QUERY_ELSEWHERE], [SERVE])
    yield 'malformed', steps(*opened, ask, [SEND], ask, [SPOIL, 36, 0, 1], [SEND], [SERVE], [OPEN, 2])
    yield 'half', steps(*life, [CUT, 3], [SEND], [SERVE])
    yield 'empty-packet', steps(*life, [SEND], [SEND], [SYNC], [SEND], [SERVE])
    yield 'too-long', steps(*opened, ask, [REPEAT, 250], [REPEAT, 250], [SEND], [SERVE])
    for what, bucket in (('no', EMPTY), ('too-long', LONGEST), ('uncarriable', NONCHARACTER)):
        yield f'{what}-bucket', steps(*opened, [REQUEST_LOCK, 1, 0, bucket, NAME_X, 0], [SEND], [SERVE])
    yield 'key-by-bus', steps([LOCK_BY_BUS, 8, 1], [OPEN, 2], [SERVE], [RELEASE_OR_ABORT, 1], [SEND],
                              [SERVE], [LOCK_BY_BUS, 8, 1])
    yield 'no-key-by-bus', steps([LOCK_BY_BUS, 8, 0], [OPEN, 2], [SERVE], [LOCK_BY_BUS, 3, 1],
                                 [OPEN, 2], [SERVE])
    yield 'no-version', steps([OPEN, 0], [SERVE])
    yield 'old-version', steps([OPEN, 1], [SERVE])
    yield 'bytes', steps([OPEN, 2], [SERVE], [BYTES, 16, *struct.pack('=HHIQ', 5, 0, 16, 7)], [SEND])


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
            bucket='b', why=''):
    return record('r', number, id_, struct.pack(
        '<QQQqqBBHIII', key, token, sequence, 1000, deadline, mode,
        (1 if token else 0) if state is None else state, len(bucket), len(name), len(why), 0)
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
    yield 'history', 0, head() + three + queue + record('e', 1, 1) + record('e', 2, 2) + request(
        2, 1, 'x', 3, 20) + record('e', 3, 1) + record('g', 3, 0) + record('l', 0, 77)
    yield 'ended-twice', 0, head() + three + queue + record('e', 1, 1) * 2
    yield 'gone-with-a-lock', 0, head() + three + queue + record('g', 1, 0)
    yield 'agent-again', 0, head() + three + agent(1, ':1.1', ceiling=512) + agent(2, ':1.9')
    yield 'raw-zeros', RAW, bytes(160)


# Of fuzz-decoder.c: the members, the formats, and the bytes that choose.
REQUEST, STEAL, INSPECT, OPEN_SOCKET = range(4)
IS_RAW, IS_BIG_ENDIAN, BREAK = 4, 8, 16
OF_CLIENT = {'clientId': 224, 'id': 225}
KEYS = ['mode', 'ifAvailable', 'steal', 'signal', 'timeout', 'why', 'key',
        'name', 'prefix', 'state', 'after', 'limit', None, 'version']
TYPES = ['s', 'b', 'u', 't', 'y', 'n', 'q', 'i', 'x', 'd', 'o', 'g', 'v', 'as', 'ay', 'a{sv}',
         '(s)', 'ab']
RIGHT = 255
OWN_TEXT = 6


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


def own_text(string):
    data = string if isinstance(string, bytes) else string.encode()
    return bytes([len(data)]) + data


def entry(key, value, type_=RIGHT):
    """A key and its value, of the correct type or of another."""
    chosen = bytes([OF_CLIENT[key] if key in OF_CLIENT else KEYS.index(key) if key in KEYS else 14])
    chosen += b'' if key in KEYS or key in OF_CLIENT else own_text(key)
    chosen += bytes([RIGHT if type_ == RIGHT else TYPES.index(type_)])
    if isinstance(value, bool):
        return chosen + bytes([value])
    if isinstance(value, int):
        return chosen + b'\x08' + struct.pack('>Q', value)
    if isinstance(value, str):
        return chosen + bytes([OWN_TEXT]) + own_text(value)
    return chosen + value


def body(message, big=False):
    blob = blobs(message, big=big)
    return blob[-struct.unpack('>I' if big else '<I', blob[4:8])[0]:]


def decoder_inputs():
    def call(member, *entries, name='x'):
        return bytes([member]) + own_text(name) + b''.join(entries)
    full = [entry('mode', 'shared'), entry('ifAvailable', False), entry('steal', False),
            entry('signal', True), entry('timeout', 2 ** 32 - 1), entry('why', 'to be seen'),
            entry('key', 2 ** 64 - 1)]
    yield 'request', call(REQUEST)
    yield 'request-all', call(REQUEST, *full)
    yield 'steal', call(STEAL, entry('why', ''), entry('key', 7))
    yield 'steal-false', call(STEAL, entry('steal', False))
    yield 'mode-other', call(REQUEST, entry('mode', 'exclusive '))
    yield 'mode-number', call(REQUEST, entry('mode', 1, 'u'))
    yield 'timeout-signed', call(REQUEST, entry('timeout', 2 ** 63, 'i'))
    yield 'key-double', call(REQUEST, entry('key', 2 ** 62, 'd'))
    yield 'why-variant', call(REQUEST, entry('why', b'\x03\x00\x06' + own_text('x'), 'v'))
    yield 'why-noncharacter', call(REQUEST, entry('why', '\uffff'))
    yield 'mode-noncharacter', call(REQUEST, entry('mode', 'shared\ufdd0'))
    yield 'name-noncharacter', call(REQUEST, name='\U0001fffe')
    yield 'twice', call(REQUEST, entry('key', 1), entry('key', 1))
    yield 'unknown', call(REQUEST, full[0], entry('colour', 'blue'))
    yield 'unknown-formats', call(REQUEST, entry('%s%n', 'blue'))
    yield 'arrays', call(REQUEST, entry('why', b'\0\0', 'as'))
    yield 'inspect', call(INSPECT, entry('prefix', 'x'), entry('state', 'held'),
                          entry('after', 3), entry('limit', 1001))
    yield 'inspect-name', call(INSPECT, entry('name', 'x'), entry('limit', 0))
    yield 'inspect-state', call(INSPECT, entry('state', 'shared'))
    yield 'inspect-mode', call(INSPECT, entry('mode', 'shared'))
    yield 'inspect-client', call(INSPECT, entry('clientId', ':1.5'), entry('id', 2 ** 64 - 1))
    yield 'break', call(BREAK)
    yield 'break-client', call(BREAK, entry('clientId', 'host:h'))
    yield 'break-id', call(BREAK, entry('id', 3), entry('clientId', ':1.5'))
    yield 'break-id-alone', call(BREAK, entry('id', 3))
    yield 'break-id-signed', call(BREAK, entry('clientId', ':1.5'), entry('id', 3, 'x'))
    yield 'break-mode', call(BREAK, entry('mode', 'shared'))
    yield 'break-name-noncharacter', call(BREAK, name='\uffff')
    yield 'open-socket', call(OPEN_SOCKET, entry('version', 2 ** 32 - 1))
    yield 'open-socket-signed', call(OPEN_SOCKET, entry('version', 1, 'i'))
    yield 'open-socket-mode', call(OPEN_SOCKET, entry('mode', 'shared'))
    message = lock('Request', 'x', mode='shared', timeout=5, why='to be seen', key=7)
    raw = body(message)
    yield 'raw', bytes([REQUEST | IS_RAW]) + raw
    yield 'raw-big-endian', bytes([REQUEST | IS_RAW | IS_BIG_ENDIAN]) + body(message, big=True)
    yield 'raw-steal', bytes([STEAL | IS_RAW]) + body(lock('Steal', 'x'))
    yield 'raw-half', bytes([REQUEST | IS_RAW]) + raw[:len(raw) // 2]
    yield 'raw-not-utf-8', bytes([REQUEST | IS_RAW]) + raw.replace(b'shared', b'sh\xff\xfeed')
    yield 'raw-zero-within', bytes([REQUEST | IS_RAW]) + raw.replace(b'shared', b'sha\0ed')
    yield 'raw-length', bytes([REQUEST | IS_RAW]) + raw.replace(b'\6\0\0\0', b'\xff' * 4)
    yield 'raw-true-is-2', bytes([REQUEST | IS_RAW]) + body(
        lock('Request', 'x', signal=True)).replace(b'b\0\0\1', b'b\0\0\2')
    yield 'raw-break', bytes([BREAK | IS_RAW]) + body(method_call(
        SERVICE, bucket_path('b'), LOCKS, 'Break', GLib.Variant('(sa{sv})', ('x', {
            'clientId': GLib.Variant('s', ':1.5'), 'id': GLib.Variant('t', 3)},))))
    yield 'raw-inspect', bytes([INSPECT | IS_RAW]) + body(method_call(
        SERVICE, bucket_path('b'), LOCKS, 'Inspect', GLib.Variant('(a{sv})', ({
            'prefix': GLib.Variant('s', 'x'), 'limit': GLib.Variant('u', 3)},))))


def operation_inputs():
    """Six bytes each, with any values: see tests/unit/lock-world.h."""
    for number in range(12):
        yield f'random-{number}', random.Random(number).randbytes(6 * (30 + 30 * number))


LABELS = {
    'names': 'default org.example.Editor 9lives a_b - _ ä \ufffe',
    'labels': 'org_2eexample_2eEditor _39lives a_5fb _2d _5f _c3_a4',
    'not-canonical': '_64efault org_2Eexample a_ a_0 a_00 _C3_A4 9lives _39_31 a_61 __',
    'not-legal': '_00 _ff _c3 _ed_a0_80 _ef_bf_bf a/b /',
    'longest': 'x' * 255 + ' ' + 'x' * 256 + ' ' + '_2d' * 255 + ' ' + '_2d' * 256,
}


INFO = '[Application]\nname=org.example.App\nruntime=runtime/org.example.Platform/x86_64/1\n'
FLATPAK = {
    'application': INFO + '\n[Instance]\ninstance-id=123\n\n[Context]\nshared=ipc;network;\n',
    'runtime': '[Runtime]\nname=org.example.Platform\n',
    'both': INFO + '[Runtime]\nname=org.example.Platform\n',
    'twice': INFO + '[Application]\nname=org.example.Other\n',
    'no-name': '[Application]\nruntime=x\n',
    'empty-name': '[Application]\nname=\n',
    'escapes': '[Application]\nname=org.ex\\sample\\n.App\n',
    'blanks': ' [Application] \n name \t= org.example.App \n',
    'locale': '[Application]\nname[de]=org.example.Other\nname=org.example.App\n',
    'no-group': 'name=org.example.App\n',
    'not-utf-8': '[Application]\nname=org.example.\udcff\n',
    'zero': INFO + '\0',
    'id': 'org.example.App-2_x', 'id-digit': 'org.2example', 'id-unique': ':1.5',
}
SNAP = {
    'app': 'snap.firefox.firefox (enforce)', 'key': 'snap.hello_work.Hello-1 (complain)',
    'hook': 'snap.hello.hook.configure (enforce)', 'unconfined': 'unconfined',
    'stacked': 'lxd-x//&:lxd-x:snap.a.b (enforce)', 'no-mode': 'snap.a.b',
    'other-mode': 'snap.a.b (Enforce)', 'more': 'snap.a.b (enforce) (enforce)',
    'dash': 'snap.-a.b (enforce)', 'dashes': 'snap.a--b.c (enforce)',
    'digits': 'snap.1.b (enforce)',
    'long': f'snap.{"a" * 40}.{"b" * 255} (enforce)', 'too-long': f'snap.{"a" * 41}.b (enforce)',
    'long-key': f'snap.a_{"k" * 11}.b (enforce)', 'newline': 'snap.a.b (enforce)\n',
}


def write(folder, name, data):
    os.makedirs(os.path.join(CORPUS, folder), exist_ok=True)
    with open(os.path.join(CORPUS, folder, name), 'wb') as file:
        file.write(data)


def main():
    for name, data in socket_inputs():
        write('socket', name, data)
    for name, data in packet_inputs():
        write('packets', name, data)
    for name, data in cluster_packet_inputs():
        write('cluster-packets', name, data)
    for name, data in query_reply_inputs():
        write('query-reply', name, data)
    for name, manner, data in state_inputs():
        write('state', name, bytes([manner]) + data)
    for name, data in decoder_inputs():
        write('decoder', name, data)
    for name, data in operation_inputs():
        write('operations', name, data)
    for name, text_ in FLATPAK.items():
        write('flatpak-info', name, text_.encode(errors='surrogateescape'))
    for name, label in SNAP.items():
        write('security-label', name, label.encode() + b'\0')
    write('security-label', 'no-zero', SNAP['app'].encode())
    write('security-label', 'zero-within', SNAP['app'].replace(' ', '\0').encode() + b'\0')
    for name, words in LABELS.items():
        write('bucket-labels', name, '\n'.join(words.split(' ')).encode())


if __name__ == '__main__':
    main()
