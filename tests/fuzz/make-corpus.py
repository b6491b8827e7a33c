# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Makes the inputs in corpus/ that come from real messages, and from records of real state.

    /usr/bin/python3 tests/fuzz/make-corpus.py

The first bytes of each are what its target makes of them. What a fuzzer found stays.
"""

import os
import random
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'bus'))

import gi  # noqa: E402
gi.require_version('Gio', '2.0')
from gi.repository import Gio, GLib  # noqa: E402

from calls import ADMIN, LOCKS, PROPERTIES, ROOT, SERVICE, bucket_path  # noqa: E402
from rawbus import PrivateSocket, lock_call, method_call, open_peer_call  # noqa: E402

CORPUS = os.path.join(HERE, 'corpus')

# The manners of fuzz-peer-bytes.c.
SAYS_HELLO, IN_PIECES, DEAF, CLOSES, DIES, CALLS_BY_BUS, IS_WAITED_FOR = [1 << n for n in range(7)]
STANDARD = 'org.freedesktop.DBus.'


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


def standard(interface, member, path=ROOT, body=None):
    return method_call(SERVICE, path, STANDARD + interface, member, body)


def a_life():
    """One of each call, in an order that makes sense."""
    return [
        lock('Request', 'y', why='to be seen', key=7), lock('Request', 'x', timeout=60000),
        lock('Request', 'x', mode='shared'), lock('Request', 'x', ifAvailable=True),
        method_call(SERVICE, bucket_path('b'), LOCKS, 'Watch', GLib.Variant('(b)', (True,))),
        lock('Steal', 'x'), lock('Query'), lock('Abort', 3), lock('Release', 1), lock('Release', 99),
        method_call(SERVICE, bucket_path('b'), LOCKS, 'Inspect',
                    GLib.Variant('(a{sv})', ({'prefix': GLib.Variant('s', 'x')},))),
        method_call(SERVICE, ROOT, ADMIN, 'Buckets'), open_peer_call(),
        standard('Peer', 'Ping'), standard('Introspectable', 'Introspect', bucket_path('b')),
        method_call(SERVICE, ROOT, PROPERTIES, 'GetAll', GLib.Variant('(s)', (ADMIN,))),
    ]


def odd():
    """What no client of ours sends."""
    forged = Gio.DBusMessage.new_signal('/org/freedesktop/DBus', 'org.freedesktop.DBus',
                                        'NameOwnerChanged')
    forged.set_sender('org.freedesktop.DBus')
    forged.set_body(GLib.Variant('(sss)', (':1.2', ':1.2', '')))
    reply = Gio.DBusMessage.new()
    reply.set_message_type(Gio.DBusMessageType.METHOD_RETURN)
    reply.set_reply_serial(1)
    silent = lock('Steal', 'x', reply=False)
    nowhere = method_call(None, bucket_path('b'), LOCKS, 'Query')
    return [forged, reply, silent, nowhere, standard('Peer', 'GetMachineId'),
            method_call('org.freedesktop.DBus', '/org/freedesktop/DBus', 'org.freedesktop.DBus',
                        'Hello'),
            method_call(SERVICE, ROOT + '/bucket/_zz', LOCKS, 'Query'),
            method_call(SERVICE, bucket_path('b'), LOCKS, 'Request',
                        GLib.Variant('(sa{sv})', ('x', {'color': GLib.Variant('s', 'blue')})))]


def inputs():
    hello = PrivateSocket.HANDSHAKE
    steals = blobs(*[lock('Steal', f'{number}') for number in range(20)])
    life, strange = blobs(*a_life()), blobs(*odd())
    long_name = blobs(lock('Request', 'n' * 2000))
    header = b'l\1\0\1' + b'\0\0\1\0' + b'\1\0\0\0'
    yield 'life', SAYS_HELLO, 0, life
    yield 'life-big-endian', SAYS_HELLO, 0, blobs(*a_life(), big=True)
    yield 'life-in-pieces', SAYS_HELLO | IN_PIECES, 12, life
    yield 'life-unread', SAYS_HELLO | DEAF, 0, life
    yield 'life-and-death', SAYS_HELLO | DIES, 0, life
    yield 'life-and-death-unread', SAYS_HELLO | DEAF | DIES | CLOSES, 0, life
    yield 'life-and-close', SAYS_HELLO | CLOSES, 0, life
    yield 'life-then-bus', SAYS_HELLO | CALLS_BY_BUS | IS_WAITED_FOR, 0, life
    yield 'odd', SAYS_HELLO, 0, strange
    yield 'odd-and-death', SAYS_HELLO | DIES | IN_PIECES, 99, strange
    yield 'steals-half', SAYS_HELLO | CLOSES, 0, steals[:-10]
    yield 'steals-half-in-pieces', SAYS_HELLO | IN_PIECES | DIES, 100, steals[:-10]
    yield 'waiting', SAYS_HELLO | IS_WAITED_FOR, 0, blobs(lock('Request', 'x'))
    yield 'waiting-closed', SAYS_HELLO | IS_WAITED_FOR | CLOSES, 0, blobs(lock('Request', 'x'))
    yield 'long-name', SAYS_HELLO, 0, long_name
    yield 'too-long', SAYS_HELLO, 0, header + b'\0\0\1\0' + b'x' * 100
    yield 'too-long-behind', SAYS_HELLO, 0, steals + header + b'\0\0\1\0'
    # sd-bus drops a message without a type, and reads on.
    none = b'l\0\0\1' + bytes(4) + b'\1\0\0\0' + bytes(4)
    yield 'too-long-behind-none', SAYS_HELLO | IN_PIECES, 31, \
        none + b'l\1\0\1' + b'\0\0\0\4' + b'\1\0\0\0' + bytes(4) + steals
    yield 'length-wraps', SAYS_HELLO, 0, b'l\1\0\1' + b'\xff' * 4 + b'\1\0\0\0' + b'\xff' * 100
    yield 'not-a-message', SAYS_HELLO, 0, b'GET / HTTP/1.1\r\nHost: example.org\r\n\r\n'
    yield 'hello', 0, 0, hello + life
    yield 'hello-in-pieces', IN_PIECES, 0, hello + blobs(lock('Query'))
    yield 'hello-and-death', DIES | CLOSES, 0, hello + steals
    yield 'hello-half', CLOSES, 0, hello[:-3]
    yield 'hello-with-uid', 0, 0, b'\0AUTH EXTERNAL 31303030\r\nBEGIN\r\n' + blobs(lock('Query'))
    yield 'hello-with-data', 0, 0, b'\0AUTH EXTERNAL\r\nDATA 31303030\r\nBEGIN\r\n'
    yield 'hello-of-another', 0, 0, b'\0AUTH EXTERNAL 30\r\nBEGIN\r\n' + steals
    yield 'hello-anonymous', 0, 0, b'\0AUTH ANONYMOUS\r\nCANCEL\r\nERROR\r\nAUTH\r\nBEGIN\r\n'
    yield 'hello-with-fds', 0, 0, hello[:-7] + b'NEGOTIATE_UNIX_FD\r\nBEGIN\r\n'
    yield 'hello-too-soon', 0, 0, b'\0BEGIN\r\n' + steals
    yield 'hello-without-end', 0, 0, b'\0AUTH ' + b'E' * 600


# Of docs/socket-protocol.md.
BUCKET, REQUEST_, RELEASE, ABORT, SYNC, END = range(1, 7)
ANSWER, GRANTED, ENDED_, LIVE, CLOSED = range(65, 70)


def message(kind, body=b'', serial=0, flags=0):
    """One message of a packet, with its padding."""
    body += bytes(-len(body) % 8)
    return struct.pack('=HHIQ', kind, flags, 16 + len(body), serial) + body


def bind(number=0, name='b'):
    name = name.encode()
    return message(BUCKET, struct.pack('=IHH', number, len(name), 0) + name)


def ask(key, name, why='', bucket=0, timeout=0, mode=0, options=0, serial=1):
    name, why = name.encode(), why.encode()
    return message(REQUEST_, struct.pack('=QIIBBHHH', key, bucket, timeout, mode, options, 0,
                                         len(name), len(why)) + name + why, serial)


def by_key(kind, key, flags=0, serial=2):
    return message(kind, struct.pack('=Q', key), serial, flags)


def packet_inputs():
    client = [bind(), ask(1, 'x'), ask(2, 'x', 'to be seen', timeout=60000, mode=1),
              by_key(ABORT, 2), by_key(RELEASE, 1), by_key(RELEASE, 9, flags=1),
              message(SYNC, serial=3), message(END, serial=4)]
    service = [message(ANSWER, struct.pack('=IIQBB6x', 0, 0, 5, 2, 0), 1),
               message(ANSWER, struct.pack('=IIQBB6x', 5, 3, 0, 0, 0), 2),
               message(GRANTED, struct.pack('=QQ', 2, 6)),
               message(ENDED_, struct.pack('=QII', 2, 1, 0)),
               message(LIVE, struct.pack('=II', 2, 0) + struct.pack('=QQII', 1, 5, 0, 2)
                       + struct.pack('=QQII', 2, 0, 1000, 1)),
               message(CLOSED, struct.pack('=II', 3, 0))]
    yield 'client', b''.join(client)
    yield 'service', b''.join(service)
    for number, one in enumerate(client + service):
        yield f'message-{number}', one
    yield 'long', bind(63, 'b' * 255) + ask(2 ** 64 - 1, 'n' * 1024, 'w' * 256, 63, options=4)
    yield 'empty', b''
    yield 'half', ask(1, 'x')[:-3]
    yield 'size-0', bytes(16)
    yield 'size-wraps', struct.pack('=HHIQ', SYNC, 0, 2 ** 32 - 8, 1)
    yield 'live-wraps', message(LIVE, struct.pack('=II', 2 ** 30, 0))
    yield 'padding', ask(1, 'x')[:-1] + b'\1'
    yield 'not-utf-8', ask(1, 'xyz').replace(b'xyz', b'x\xc3z')
    yield 'half-a-character', ask(1, 'x', 'z').replace(b'xz', b'\xc3\xa4')


# The manners of fuzz-state.c.
RAW, LATE, ENDS_FIRST, ENDS_LAST, ASKS, STEALS, SKIPS = [1 << n for n in range(7)]
SHARED, EXCLUSIVE = 1, 0
ENDED = 2


def text(*strings):
    return b''.join(string.encode() + b'\0' for string in strings)


def framed(key, value):
    return struct.pack('<BH', len(key), len(value)) + key + value


def agent(number, name, uid=1000, kind=0, app='', ceiling=256):
    """As in service/state/records.c, of a little-endian machine."""
    return framed(b'a' + struct.pack('>Q', number), struct.pack(
        '<QIIIIII', ceiling, uid, 1, kind, len(name), len(app), 0) + text(name, app))


def request(number, id_, name, sequence, token=0, mode=EXCLUSIVE, state=None, key=0, deadline=0,
            bucket='b', why=''):
    value = struct.pack('<QQQqqBBHIII', key, token, sequence, 1000, deadline, mode,
                        (1 if token else 0) if state is None else state, len(bucket), len(name),
                        len(why), 0)
    return framed(b'r' + struct.pack('>QQ', number, id_), value + text(bucket, name, why))


def head(ceiling=1000, last_agent=9):
    return struct.pack('<QQ', ceiling, last_agent)


def state_inputs():
    three = agent(1, ':1.1') + agent(2, ':1.2') + agent(3, ':1.3', 2000)
    queue = (request(1, 1, 'x', 1, 10) + request(1, 2, 'y', 2, 11, SHARED)
             + request(2, 1, 'x', 3, deadline=5000) + request(2, 2, 'y', 4, mode=SHARED)
             + request(2, 3, 'x', 5, key=7, why='to be seen') + request(3, 1, 'x', 1, 12))
    for name, manner in (('queue', 0), ('queue-late', LATE), ('queue-end', ENDS_FIRST),
                         ('queue-ends', ENDS_FIRST | ENDS_LAST), ('queue-ask', ASKS),
                         ('queue-steal', STEALS | ASKS), ('queue-skip', SKIPS | ENDS_LAST)):
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
    yield 'last-numbers', LATE | ASKS, head(2 ** 63 - 1, 2 ** 63 - 1) + agent(
        2 ** 63 - 1, ':1.1', ceiling=2 ** 63 - 1) + request(
            2 ** 63 - 1, 2 ** 63 - 1, 'x', 2 ** 63 - 1, 2 ** 63 - 1)
    yield 'late-deadlines', 0, head() + three + request(1, 1, 'x', 1, 1) + b''.join(
        request(2, n + 1, 'x', n + 2, deadline=2 ** (n + 2)) for n in range(61))
    yield 'ended', 0, head() + three + request(1, 1, 'x', 1, state=ENDED)
    yield 'bucket-of-nothing', 0, head() + three + request(1, 1, 'x', 1, bucket='')
    yield 'long', 0, head() + three + request(1, 1, 'n' * 1024, 1, 5, bucket='b' * 255,
                                              why='w' * 256)
    yield 'raw-end', RAW, bytes(8)
    yield 'raw-lengths', RAW, b'\1\0\0\0\x58\0\0\0H' + bytes(88) + b'\xff' * 16


# Of fuzz-decoder.c: the members, the manners, and the bytes that choose.
REQUEST, STEAL, INSPECT = range(3)
IS_RAW, IS_BIG_ENDIAN = 4, 8
KEYS = ['mode', 'ifAvailable', 'steal', 'signal', 'timeout', 'why', 'key',
        'name', 'prefix', 'state', 'after', 'limit']
TYPES = ['s', 'b', 'u', 't', 'y', 'n', 'q', 'i', 'x', 'd', 'o', 'g', 'v', 'as', 'ay', 'a{sv}',
         '(s)', 'ab']
RIGHT = 255
OWN_TEXT = 6


def own_text(string):
    data = string if isinstance(string, bytes) else string.encode()
    return bytes([len(data)]) + data


def entry(key, value, type_=RIGHT):
    """A key and its value, of the type that it should have or of another."""
    chosen = bytes([KEYS.index(key) if key in KEYS else 13])
    chosen += b'' if key in KEYS else own_text(key)
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
        return bytes([member]) + (b'' if member == INSPECT else own_text(name)) + b''.join(entries)
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
    yield 'raw-inspect', bytes([INSPECT | IS_RAW]) + body(method_call(
        SERVICE, bucket_path('b'), LOCKS, 'Inspect', GLib.Variant('(a{sv})', ({
            'prefix': GLib.Variant('s', 'x'), 'limit': GLib.Variant('u', 3)},))))


def operation_inputs():
    """Six bytes each, and any will do: see tests/unit/lock-world.h."""
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
    for name, manner, piece, data in inputs():
        write('peer-bytes', name, bytes([manner, piece]) + data)
    for name, data in packet_inputs():
        write('packets', name, data)
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
