# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Many gateways with a real server, while the test is the weblocksd of each: how many operations of the server it
takes when they share a lock."""

import os
import re
import select
import socket
import time
import unittest

import clusterpackets as packets
import tap
from buses import PATIENCE, TEST_ALL, end
from clusterhosts import Host
from ensemble import Ensemble, Place, ask, why_no_servers
from harness import wait_for

N_HOSTS = 100 if TEST_ALL else 40
NAME = 'x'
ROUNDS = 20


class Sharer:
    """A gateway, and weblocksd's connection to it."""

    def __init__(self, number, ensemble):
        self.host = Host(f'host{number}', Place(), ensemble.addresses)
        self.host.start_gateway()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.block = 0  # of its permit
        self.number = 0
        self.is_synced = False
        self.is_asked_to_yield = False

    def connect(self):
        wait_for(lambda: self.socket.connect_ex(self.host.socket) == 0, what='socket')
        self.socket.sendall(packets.hello())
        self.socket.sendall(packets.packet(packets.READY))

    def send_demand(self, **demand):
        self.number += 1
        self.socket.sendall(packets.demand(1, NAME, self.number, 'farm', **demand))

    def request(self, mode=packets.SHARED):
        self.send_demand(want=mode, n_waiting=1)

    def release(self):
        self.send_demand(block=self.block, turn_over=True)
        self.block = 0
        self.is_asked_to_yield = False

    def receive(self):
        kind, members = packets.unpack(self.socket.recv(packets.MAX_PACKET))
        if kind == packets.LEASE:
            self.socket.sendall(packets.ack(members[0]))
        elif kind == packets.PERMIT:
            self.block = members[3]
        elif kind == packets.SYNCED:
            self.is_synced = True
        elif kind == packets.YIELD:
            self.is_asked_to_yield = True

    def close(self):
        self.socket.close()
        end(self.host.gateway)
        self.host.stop()


@unittest.skipIf(why_no_servers(), why_no_servers())
class ManyHosts(unittest.TestCase):
    def setUp(self):
        self.ensemble = self.enterContext(Ensemble())
        self.poll = select.poll()
        self.by_fd = {}
        self.hosts = []
        for number in range(N_HOSTS):
            host = Sharer(number, self.ensemble)
            self.addCleanup(host.close)
            self.hosts.append(host)
        for host in self.hosts:
            host.connect()
            self.by_fd[host.socket.fileno()] = host
            self.poll.register(host.socket, select.POLLIN)
        self.wait_until(lambda: all(host.is_synced for host in self.hosts), 'the hosts')
        # The nodes above the claims exist.
        self.hosts[0].request()
        self.wait_until(lambda: self.hosts[0].block, 'the first permit')

    def wait_until(self, condition, what):
        until = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > until:
                raise TimeoutError(f'{what}: not within {PATIENCE} s')
            for fd, _ in self.poll.poll(100):
                self.by_fd[fd].receive()

    def count(self):
        """The number of writes, and of requests."""
        server = self.ensemble.servers[0]
        zxid = int(re.search(r'Zxid: (0x\w+)', ask(server.place.address, server.port))[1], 16)
        return zxid & 0xffffffff, server.n_received()

    def measure(self, what, run):
        """Returns writes and requests, without those that each host makes all the time: a write in two seconds,
        and a read in each."""
        begin, before = time.monotonic(), self.count()
        run()
        writes, requests = (now - then for now, then in zip(self.count(), before))
        seconds = time.monotonic() - begin
        tap.diagnostic(f'{N_HOSTS} hosts, {what}: {seconds:.2f} s, {writes} writes, {requests} requests')
        return (writes - N_HOSTS * (seconds / 2 + 1), requests - N_HOSTS * (2 * seconds + 2))

    def test_all_at_once(self):
        def run():
            for host in self.hosts[1:]:
                host.request()
            self.wait_until(lambda: all(host.block for host in self.hosts), 'permits')
        writes, _ = self.measure('all share a lock at once', run)
        self.assertLessEqual(writes, 2 * N_HOSTS)

    def test_one_leaves_and_returns(self):
        """The others don't read anything. They do when one waits for them."""
        one = self.hosts[-1]

        def run():
            for _ in range(ROUNDS):
                one.release()
                one.request()
                self.wait_until(lambda: one.block, 'the permit')
        for host in self.hosts[1:]:
            host.request()
        self.wait_until(lambda: all(host.block for host in self.hosts), 'permits')
        _, requests = self.measure('one leaves and returns', run)
        self.assertLess(requests, 20 * ROUNDS)
        one.release()
        one.request(packets.EXCLUSIVE)
        self.wait_until(lambda: all(host.is_asked_to_yield for host in self.hosts[:-1]), 'the end of the turn')
        for host in self.hosts[:-1]:
            host.release()
        self.wait_until(lambda: one.block, 'the exclusive permit')


if __name__ == '__main__':
    tap.main()
