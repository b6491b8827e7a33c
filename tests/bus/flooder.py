# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A process that sends calls without pause and reads nothing, until it is killed.

    flooder.py ADDRESS UID KIND [MIB]

With MIB it stops after that amount, and stays connected.
"""

import itertools
import select
import socket
import struct
import sys

import gi
gi.require_version('Gio', '2.0')
from gi.repository import GLib

from calls import LOCKS, ROOT, SERVICE, bucket_path, options
from rawbus import DRIVER, DRIVER_PATH, RawClient, lock_call, method_call
from sockets import open_socket_call

STANDARD = 'org.freedesktop.DBus.'
# The number of messages in one write.
BURST = 200


def request(name, **kw):
    return method_call(SERVICE, bucket_path('flood'), LOCKS, 'Request',
                       GLib.Variant('(sa{sv})', (name, options(**kw))))


KINDS = {
    # Calls with long replies: there are locks with long names for them.
    'query': lambda: lock_call('Query', bucket='flood'),
    'no-reply': lambda: lock_call('Release', 1, 'flood', reply=False),
    'request': lambda: request('x'),
    'long-name': lambda: request('n' * 60 * 1024),
    'unknown-method': lambda: method_call(SERVICE, bucket_path('flood'), LOCKS, 'Nonsense'),
    'unknown-path': lambda: method_call(SERVICE, '/nowhere', LOCKS, 'Query'),
    'ping': lambda: method_call(SERVICE, ROOT, STANDARD + 'Peer', 'Ping'),
    'introspect': lambda: method_call(SERVICE, ROOT, STANDARD + 'Introspectable', 'Introspect'),
    'open-socket': open_socket_call,
    # The control connection, which makes no calls to the service.
    'the-bus-itself': lambda: method_call(DRIVER, DRIVER_PATH, DRIVER, 'GetId'),
}


def write(sock, data):
    """Sends without ever reading."""
    left = memoryview(data)
    while left:
        select.select([], [sock], [])
        try:
            left = left[sock.send(left):]
        except BlockingIOError:
            pass


def flood(client, message, most):
    blob, _ = client.encode(message)
    burst = max(1, min(BURST, (1 << 18) // len(blob)))
    data = bytearray(blob * burst)
    serial = client.serial
    client.socket.setblocking(False)
    for _ in range(int(most / len(data))) if most else itertools.count():
        for number in range(burst):
            serial += 1
            struct.pack_into('<I', data, number * len(blob) + 8, serial & 0xffffffff)
        write(client.socket, data)


def come_and_go(address, uid):
    while True:
        client = RawClient(address, uid=uid)
        client.send(lock_call('Query', bucket='flood'))
        client.socket.shutdown(socket.SHUT_WR)
        client.close()


def main():
    address, uid, kind = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    if kind == 'come-and-go':
        come_and_go(address, uid)
    client = RawClient(address, uid=uid, descriptors=True)
    if kind == 'query':
        for number in range(60):
            client.request(f'{number}' + 'n' * 1000, 'flood')
    print(client.name, flush=True)
    try:
        flood(client, KINDS[kind](), float(sys.argv[4]) * (1 << 20) if sys.argv[4:] else 0)
        select.select([], [], [])
    except OSError as error:
        print(error, flush=True)
        select.select([], [], [])


if __name__ == '__main__':
    main()
