# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Makes the inputs in corpus/peer-bytes/ that come from real messages.

    /usr/bin/python3 tests/fuzz/make-corpus.py

The first two bytes of each are what fuzz-peer-bytes.c makes of them. What a fuzzer found stays.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'bus'))

import gi  # noqa: E402
gi.require_version('Gio', '2.0')
from gi.repository import Gio, GLib  # noqa: E402

from calls import ADMIN, LOCKS, PROPERTIES, ROOT, SERVICE, bucket_path  # noqa: E402
from rawbus import PrivateSocket, lock_call, method_call, open_peer_call  # noqa: E402

CORPUS = os.path.join(HERE, 'corpus', 'peer-bytes')

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


def main():
    os.makedirs(CORPUS, exist_ok=True)
    for name, manner, piece, data in inputs():
        with open(os.path.join(CORPUS, name), 'wb') as file:
            file.write(bytes([manner, piece]) + data)


if __name__ == '__main__':
    main()
