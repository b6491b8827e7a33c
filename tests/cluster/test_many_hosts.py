# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Many gateways with a real server: how many operations of the server it takes when they share a lock."""

import unittest

import clusterpackets as packets
import tap
from buses import TEST_ALL
from clustersharers import Sharers
from ensemble import why_no_servers

N_HOSTS = 100 if TEST_ALL else 40
ROUNDS = 20


@unittest.skipIf(why_no_servers(), why_no_servers())
class ManyHosts(unittest.TestCase):
    def setUp(self):
        self.sharers = self.enterContext(Sharers(N_HOSTS))
        self.hosts = self.sharers.hosts
        self.sharers.make_name()

    def measure(self, what, run):
        """Returns writes and requests, without those that each host makes all the time: a write in two seconds from
        its last one, and a read in each."""
        seconds, writes, requests = self.sharers.measure(run)
        tap.diagnostic(f'{N_HOSTS} hosts, {what}: {seconds:.2f} s, {writes} writes, {requests} requests')
        return (writes - N_HOSTS * int(seconds / 2), requests - N_HOSTS * (2 * seconds + 2))

    def test_all_at_once(self):
        writes, _ = self.measure('all share a lock at once', self.sharers.request_all)
        self.assertLessEqual(writes, 2 * N_HOSTS)

    def test_one_leaves_and_returns(self):
        """The others don't read anything. They do when one waits for them."""
        one = self.hosts[-1]
        self.sharers.request_all()
        _, requests = self.measure('one leaves and returns', lambda: self.sharers.leave_and_return(ROUNDS))
        self.assertLess(requests, 20 * ROUNDS)
        one.release()
        one.request(packets.EXCLUSIVE)
        self.sharers.wait_until(lambda: all(host.is_asked_to_yield for host in self.hosts[:-1]), 'the end of the turn')
        for host in self.hosts[:-1]:
            host.release()
        self.sharers.wait_until(lambda: one.block, 'the exclusive permit')


if __name__ == '__main__':
    tap.main()
