# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Hosts that are cut off from the others lose their locks before another host is granted them, when real servers
with the ticks of docs/cluster.md delete their claims."""

import time

from buses import TEST_ALL
from clusterhosts import BUCKET
from test_lease import LeaseCase

# Of sessions.
TIMEOUTS = (15, 20, 40) if TEST_ALL else (20,)
# The library of ZooKeeper sends a ping after a third of the time-out without traffic, at most after
# this time.
PING_MAX = 10


class CutOff(LeaseCase):
    """Of the hosts with each time-out one was quiet, and one has requested locks all the time."""

    def prepare(self, server, quiet, busy):
        """Grants and releases of the busy clients, each of another lock, until the last packet of each quiet
        host is as old as it gets: for longer than any host is quiet, and than any of the time rules."""
        counts, since = {}, {}
        end = time.monotonic() + PING_MAX + 2

        def are_quiet():
            for client in busy:
                client.release(self.hold(client, f'{self.lock} {time.monotonic()}')[0], BUCKET)
            now = time.monotonic()
            for host in quiet:
                count = server.n_received_from(host.place)
                if counts.get(host.name) != count:
                    counts[host.name], since[host.name] = count, now
            return now >= end or all(now >= since[host.name] + min(host.timeout / 3, PING_MAX) - 1
                                     for host in quiet)
        self.wait_for(are_quiet, PING_MAX + 10, 'quiet hosts', every=0.1)

    def check_cut_off(self, server):
        """They are cut off from the others, together with their server, when they have just been granted
        locks."""
        other = self.hosts[0].client()
        quiet, busy = ([self.add_host(f'{self.lock}-{kind}-{timeout}', server.address, timeout)
                        for timeout in TIMEOUTS] for kind in ('quiet', 'busy'))
        hosts = quiet + busy
        clients = [host.client() for host in hosts]
        names = [host.name for host in hosts]
        self.prepare(server, quiet, clients[len(quiet):])
        held = [self.hold(client, name)[0] for client, name in zip(clients, names)]
        self.network.split(server.place, *(host.place for host in hosts))
        waiting = [other.request(name, BUCKET)[0] for name in names]
        for client, id_, awaited, host in zip(clients, held, waiting, hosts):
            self.assert_lost_before(client, id_, other, awaited, host.timeout, host.name)

    def test_with_a_follower(self):
        self.check_cut_off(self.ensemble.followers()[0])

    if TEST_ALL:
        def test_with_the_leader(self):
            self.check_cut_off(self.ensemble.leader())
