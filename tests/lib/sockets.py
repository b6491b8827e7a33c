# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Lock sockets for the bus tests: OpenSocket, and a client whose lock operations use a socket.

The socket itself is packetclient.py, which does not depend on the other files.
"""

import os
import select
import signal
import socket

from gi.repository import GLib

import buses
import packetclient as packets
from calls import ADMIN, ROOT, SERVICE, Event, LockCalls, bucket_path
from packetclient import LockError, LockSocket
from rawbus import DRIVER, DRIVER_PATH, method_call


def open_socket_call(version=packets.VERSION_MIN, **options):
    """`version` as a number, or None: without it; anything else as a GLib.Variant."""
    if version is not None:
        options['version'] = GLib.Variant('u', version) if isinstance(version, int) else version
    return method_call(SERVICE, ROOT, ADMIN, 'OpenSocket', GLib.Variant('(a{sv})', (options,)))


def open_socket(client, **options):
    """The socket of a raw client that was made with `descriptors`. Its first message is read."""
    return open_socket_and_cells(client, packets.VERSION_MIN, **options)[0]


def open_socket_and_cells(client, version=packets.VERSION, **options):
    """The same, and the page of cells that the service offers, or None."""
    before = len(client.descriptors)
    handle, parameters = client.result(client.send(open_socket_call(version, **options)))
    received = client.descriptors[before:]
    del client.descriptors[before:]
    sock = LockSocket(received[handle], buses.PATIENCE)
    cells = packets.Cells(received[parameters['cells']]) if 'cells' in parameters else None
    sock.read_live()
    return sock, cells


def flood(socks, packet, without=()):
    """A process that repeatedly sends the packet on all these sockets, reads the answers, and exits
    when the last socket has been closed. It closes `without` first. Returns its pid."""
    child = os.fork()
    if child:
        return child
    try:
        buses.die_with_parent()
        signal.setitimer(signal.ITIMER_REAL, 0)
        for sock in without:
            sock.close()
        poll, at = select.poll(), {sock.socket.fileno(): sock.socket for sock in socks}
        for descriptor in at:
            poll.register(descriptor, select.POLLIN | select.POLLOUT)
        while at:
            for descriptor, events in poll.poll():
                try:
                    if events & select.POLLIN and not at[descriptor].recv(1 << 17):
                        raise ConnectionError
                    at[descriptor].send(packet, socket.MSG_NOSIGNAL)
                except BlockingIOError:
                    pass
                except ConnectionError:
                    poll.unregister(descriptor)
                    del at[descriptor]
    finally:
        os._exit(0)


class _EventSocket(LockSocket):
    """Reports grants and ends."""

    def __init__(self, descriptor, on_event):
        super().__init__(descriptor, buses.PATIENCE)
        self.on_event = on_event

    def _take(self, found):
        super()._take(found)
        if isinstance(found, (packets.Granted, packets.Ended)):
            self.on_event(found)


class SocketClient(LockCalls):
    """A raw client that does lock operations on its socket and everything else on the bus. The ids
    of its requests are their keys, which begin at 1000 to differ from the service's ids. `events`
    has the events of both, like those of a client on the bus."""

    def __init__(self, bus):
        self.bus, self.name = bus, bus.name
        self.events = bus.events
        self._requests = {}
        self._open()
        self.socket.key = 1000

    def _open(self):
        bus = self.bus
        bus.result(bus.send(open_socket_call()))
        self.owner, = bus.call(DRIVER_PATH, DRIVER, 'GetNameOwner',
                               GLib.Variant('(s)', (SERVICE,)), destination=DRIVER)
        self.socket = _EventSocket(bus.descriptors.pop(), self._on_event)
        self.socket.read_live()

    def reopen(self):
        """Opens another socket; keys continue. Returns the live requests."""
        old = self.socket
        self._open()
        self.socket.key = old.key
        old.close()
        return self.socket.live

    def _on_event(self, found):
        bucket, name, mode = self._requests[found.key]
        member, last = ('Granted', found.token) if isinstance(found, packets.Granted) else \
            ('Released', found.reason)
        self.events.append(Event.of(member, bucket_path(bucket),
                                    (found.key, name, mode, self.name, last), self.owner))
        self.on_event(self.events[-1])

    def on_event(self, event):
        """As Client in harness.py."""

    def __getattr__(self, name):
        """Other attributes of a raw client."""
        if name.startswith('_') or name == 'bus':
            raise AttributeError(name)
        return getattr(self.bus, name)

    def request(self, name, bucket='default', key=None, mode='exclusive', **options):
        if key is None:
            self.socket.key += 1
            key = self.socket.key
        self._requests[key] = (bucket, name, mode)
        return self.socket.request(name, bucket, key=key, mode=mode, **options)

    def steal(self, name, bucket='default', **options):
        return self.request(name, bucket, steal=True, **options)

    def release(self, id_, bucket=None):
        self.socket.release(id_)

    def abort(self, id_, bucket=None):
        return self.socket.abort(id_)

    def downgrade(self, id_, bucket=None):
        self.socket.downgrade(id_)

    def pump(self, timeout=0.0):
        """Reads from bus and socket."""
        poll = select.poll()
        for sock in (self.bus.socket, self.socket.socket):
            poll.register(sock, select.POLLIN)
        poll.poll(max(0, timeout) * 1000)
        return any([self.bus.pump(), self.socket.pump()])

    def wait_for(self, condition, timeout=buses.PATIENCE, what='condition'):
        buses.pump_until(condition, self.pump, timeout,
                         lambda: f'{what}: not within {timeout} s; events: {self.events}')

    def sync(self):
        """A barrier: everything that the service sent before has arrived, by bus and socket."""
        self.ping()
        self.socket.sync()

    def close(self):
        """Closes both, so that it disconnects from the bus."""
        self.socket.close()
        self.bus.close()


__all__ = ['LockError', 'LockSocket', 'SocketClient', 'flood', 'open_socket',
           'open_socket_and_cells', 'open_socket_call', 'packets']
