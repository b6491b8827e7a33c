# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Many gateways with one real server, while the caller is the weblocksd of each: what the server has to do when they
share a lock."""

import contextlib
import re
import select
import time

import clusterpackets as packets
from buses import PATIENCE, end, pump_until
from clusterhosts import Host
from clusterservice import Service
from ensemble import Ensemble, Place, ask

NAME = 'x'


class Sharer:
    """A gateway, and weblocksd's connection to it."""

    def __init__(self, number, ensemble):
        self.host = Host(f'host{number}', Place(), ensemble.addresses)
        self.host.start_gateway()
        self.service = None
        self.number = 0

    def send_demand(self, **demand):
        self.number += 1
        self.service.socket.sendall(packets.demand(1, NAME, self.number, 'farm', **demand))

    def request(self, mode=packets.SHARED):
        self.send_demand(want=mode, n_waiting=1)

    def release(self):
        self.send_demand(block=self.service.block, turn_over=True)
        self.service.block = 0

    def close(self):
        if self.service is not None:
            self.service.socket.close()
        end(self.host.gateway)
        self.host.stop()


class Sharers(contextlib.ExitStack):
    """All of them are connected, and hold nothing."""

    def __init__(self, n_hosts):
        super().__init__()
        self.n_hosts = n_hosts
        self.ensemble = None
        self.hosts = []
        self._poll = select.poll()
        self._by_fd = {}

    def __enter__(self):
        super().__enter__()
        with contextlib.ExitStack() as stack:
            stack.push(self)
            self.ensemble = self.enter_context(Ensemble())
            for number in range(self.n_hosts):
                host = Sharer(number, self.ensemble)
                self.callback(host.close)
                self.hosts.append(host)
            for host in self.hosts:
                host.service = Service(host.host.socket)
                self._by_fd[host.service.socket.fileno()] = host.service
                self._poll.register(host.service.socket, select.POLLIN)
            self.wait_until(lambda: all(packets.SYNCED in host.service.kinds for host in self.hosts), 'the hosts')
            # The end of a session is a write, too, also of those by which the gateways have learned the tick.
            self.wait_until(lambda: self.ensemble.servers[0].n_sessions() == self.n_hosts, 'no other sessions')
            stack.pop_all()
        return self

    def wait_until(self, condition, what):
        pump_until(condition, self.receive, PATIENCE, lambda: f'{what}: not within {PATIENCE} s')

    def receive(self, _left=None):
        for fd, _ in self._poll.poll(100):
            self._by_fd[fd].receive(0)

    def count(self):
        """The number of writes, and of requests."""
        server = self.ensemble.servers[0]
        zxid = int(re.search(r'Zxid: (0x\w+)', ask(server.place.address, server.port))[1], 16)
        return zxid & 0xffffffff, server.n_received()

    def measure(self, run):
        """Returns seconds, writes and requests."""
        begin, before = time.monotonic(), self.count()
        run()
        return time.monotonic() - begin, *(now - then for now, then in zip(self.count(), before))

    def measure_idle(self, seconds):
        """Returns the requests of one host in a second; none of them holds anything."""
        def run():
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                self.receive()
        took, _, requests = self.measure(run)
        return requests / self.n_hosts / took

    def make_name(self):
        """For the next three seconds, the nodes above the claims exist, and nothing is held."""
        one = self.hosts[0]
        one.request()
        self.wait_until(lambda: one.service.block, 'the first permit')
        one.release()
        self.wait_until(lambda: packets.GONE in one.service.kinds, 'the end of the claim')

    def request_all(self):
        for host in self.hosts:
            host.request()
        self.wait_until(lambda: all(host.service.block for host in self.hosts), 'permits')

    def leave_and_return(self, rounds):
        one = self.hosts[-1]
        for _ in range(rounds):
            one.release()
            one.request()
            self.wait_until(lambda: one.service.block, 'the permit')
