# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The other end of a gateway's socket: a test that is weblocksd."""

import itertools
import os
import select
import socket

import clusterpackets as packets
from buses import PATIENCE, pump_until
from harness import wait_for

STATES = ('off', 'connecting', 'active', 'suspect', 'lost')


class Service:
    """weblocksd's connection to a gateway. `states` are those of the leases that were received."""

    def __init__(self, path, *demands):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        wait_for(lambda: self.socket.connect_ex(path) == 0, what='socket')
        self.socket.sendall(packets.hello())
        for demand in demands:
            self.socket.sendall(demand)
        self.socket.sendall(packets.packet(packets.READY))
        self.acknowledges = True
        self.states = []
        self.deadline = 0
        self.n_permits = 0
        self.kinds = []     # of what was received
        self.block = 0      # of the last permit
        self.status = None
        self.id = ''
        self.metrics = {}
        self.rows = {}  # of each list
        self.broken = {}
        self.serials = itertools.count(1)

    def receive(self, timeout):
        if not select.select([self.socket], [], [], timeout)[0]:
            return
        data = self.socket.recv(packets.MAX_PACKET)
        if not data:
            raise EOFError('the gateway has disconnected')
        kind, members = packets.unpack(data)
        self.kinds.append(kind)
        self.n_permits += kind == packets.PERMIT
        if kind == packets.PERMIT:
            self.block = members[2]
        if kind == packets.ROWS:
            serial, self.rows[serial] = members[0], members[1]
        if kind == packets.BROKEN:
            serial, count, failed = members
            self.broken[serial] = -1 if failed else count
        if kind == packets.STATUS:
            self.status = members
            self.id = members[3]
            self.metrics = {name: float(value) for name, value in map(str.split, members[4].splitlines())}
        if kind == packets.LEASE:
            self.take_lease(*members)

    def take_lease(self, serial, deadline, _session, state, reason):
        self.deadline = deadline
        if self.acknowledges:
            self.socket.sendall(packets.ack(serial))
        found = (STATES[state], packets.REASONS[reason])
        if self.states[-1:] != [found]:
            self.states.append(found)

    def wait_for(self, condition, what):
        pump_until(condition, self.receive, PATIENCE, lambda: f'{what}: not within {PATIENCE} s; {self.states}')

    def wait_for_state(self, state, reason=''):
        """One of the states from now on. Returns those that were received before it."""
        before = self.states[:-1]
        del self.states[:-1]
        self.wait_for(lambda: (state, reason) in self.states, f'{state} {reason}')
        return before + self.states[:self.states.index((state, reason))]

    def send_list(self, name):
        """Asks for the claims of others. Returns the serial number of the reply."""
        serial = next(self.serials)
        self.socket.sendall(packets.list_(serial, name, 'farm', os.getuid()))
        return serial

    def wait_for_list(self, serial):
        self.wait_for(lambda: serial in self.rows, 'list')
        return self.rows[serial]

    def list(self, name):
        return self.wait_for_list(self.send_list(name))

    def ask(self):
        """Waits for the status."""
        serial = next(self.serials)
        self.socket.sendall(packets.ask(serial))
        self.wait_for(lambda: self.status is not None and self.status[0] == serial, 'status')

    def send_break(self, name):
        serial = next(self.serials)
        self.socket.sendall(packets.break_(serial, name, bucket='farm', uid=os.getuid()))
        return serial

    def wait_for_break(self, serial):
        self.wait_for(lambda: serial in self.broken, 'reply to a break')
        return self.broken[serial]  # -1: failed

    def demand(self, handle, name):
        self.socket.sendall(packets.demand(handle, name, bucket='farm', want=packets.EXCLUSIVE, n_waiting=1))

    def hold(self, handle, name):
        """Gets a permit."""
        n_permits = self.n_permits
        self.demand(handle, name)
        self.wait_for(lambda: self.n_permits > n_permits, 'permit')
