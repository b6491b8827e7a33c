# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A gateway to a cluster that a test controls: the other end of weblocksd's connection.

It receives in the main loop. Received messages are in `packets` until the test takes them; it only
sends replies automatically that are switched on."""

import os
import socket
import time

from gi.repository import GLib

import clusterpackets as packets
from buses import PATIENCE
from harness import wait_for


def boottime():
    """CLOCK_BOOTTIME in microseconds."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def in_seconds(seconds):
    return boottime() + int(seconds * 1e6)


class Gateway:
    """Listens until close(); a weblocksd that connects replaces an earlier one."""

    def __init__(self, path):
        self.path = path
        self.packets = []
        self.last = {}      # the last demand of each name
        self.status = {}    # of the replies to ASK; None: there is none
        self.connection = None
        self.n_connections = 0
        self.block = 0
        self.serial = 0
        self._watch = 0
        self.listener = None
        self.open()

    def open(self):
        """Listens again after close()."""
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.listener.bind(self.path)
        self.listener.listen(5)
        self.listener.setblocking(False)
        self._accepts = GLib.io_add_watch(self.listener.fileno(), GLib.IO_IN, self._accept)

    def _accept(self, *_args):
        connection, _ = self.listener.accept()
        self.disconnect()
        self.packets.clear()
        self.last.clear()
        connection.setblocking(False)
        self.connection = connection
        self.n_connections += 1
        self._watch = GLib.io_add_watch(connection.fileno(), GLib.IO_IN | GLib.IO_HUP, self._receive)
        return True

    def _receive(self, *_args):
        try:
            data = self.connection.recv(packets.MAX_PACKET + 8)
        except (BlockingIOError, ConnectionResetError):
            data = b''
        if not data:
            self._watch = 0
            self.disconnect()
            return False
        packet = packets.read(data)
        if isinstance(packet, packets.Demand):
            self.last[packet.name] = packet
        if isinstance(packet, packets.Ask) and self.status is not None:
            self.send(packets.status(packet.serial, **self.status))
        self.packets.append(packet)
        return True

    def disconnect(self):
        if self._watch:
            GLib.source_remove(self._watch)
            self._watch = 0
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def close(self):
        """Disconnects like a gateway that is killed."""
        self.disconnect()
        if self.listener is not None:
            GLib.source_remove(self._accepts)
            self.listener.close()
            self.listener = None

    # ---- receiving

    def take(self, kind, what=None, timeout=PATIENCE, **fields):
        """Waits for a packet of that kind with these fields, and removes it and all earlier
        ones."""
        def find():
            for index, packet in enumerate(self.packets):
                if isinstance(packet, kind) and all(
                        getattr(packet, key) == value for key, value in fields.items()):
                    del self.packets[:index + 1]
                    return [packet]  # READY alone is an empty tuple
            return None
        try:
            return wait_for(find, timeout, what or f'{kind.__name__} with {fields}')[0]
        except TimeoutError as error:
            raise TimeoutError(f'{error}; the gateway has {self.packets}') from None

    def take_demand(self, name, **fields):
        return self.take(packets.Demand, name=name, **fields)

    def greet(self, seconds=30):
        """The beginning of a connection, up to SYNCED; the lease is valid for that time. Returns
        the initial demands."""
        self.take(packets.Hello)
        found = []
        wait_for(lambda: any(isinstance(packet, packets.Ready) for packet in self.packets), what='READY')
        while not isinstance(self.packets[0], packets.Ready):
            found.append(self.packets.pop(0))
        del self.packets[0]
        self.lease(seconds)
        self.send(packets.packet(packets.SYNCED))
        return found

    # ---- sending

    def send(self, data):
        self.connection.sendall(data)

    def lease(self, seconds=30, state=packets.ACTIVE, reason=0, session=packets.SESSION):
        self.serial += 1
        self.send(packets.lease(self.serial, in_seconds(seconds), state, reason, session))
        return self.serial

    def permit(self, demand, mode=packets.EXCLUSIVE, block=None, claim=None):
        """Sends a permit for the handle of this demand, of a claim with its number. Returns its block."""
        self.block = block or self.block + 1
        self.send(packets.permit(demand.handle, mode, self.block,
                                 demand.handle if claim is None else claim))
        return self.block

    def yield_(self, demand, now=False):
        self.send(packets.yield_(demand.handle, now))

    def revoke(self, demand, reason):
        self.send(packets.revoked(demand.handle, reason))

    def busy(self, demand):
        self.send(packets.reply(packets.BUSY, demand.handle, demand.number))

    def gone(self, demand):
        self.send(packets.reply(packets.GONE, demand.handle, demand.number))

    def sync(self):
        """Waits until weblocksd has served everything that was sent: it acknowledges a lease."""
        self.take(packets.Ack, serial=self.lease())
