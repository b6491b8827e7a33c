# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A storm over hosts that are idle much of the time, with the ticks and the session time-outs that users have.
Hosts are cut off just after they have been granted a lock, together with the server that they talk to or alone, and
other hosts wait for their locks: the checker measures how long before the grant the holders were notified."""

import collections
import contextlib
import time

from buses import FACTOR
from ensemble import DOCUMENTED_SYNC_TICKS
from history import Fault
from hosts import HostsStorm

SESSION_TIMEOUTS = (15, 20, 40)
# The library of ZooKeeper sends a ping after a third of the time-out without traffic, at most after this time.
PING_MAX = 10
# In seconds: for how long a host sends something after its last lock is released: the permit is given back, and the
# nodes of the name are deleted.
LAST_SENT = 4.2
# The locks of the clients that work at random are those before.
FIRST_KEPT, N_KEPT = 4, 4
# In seconds: how long a lock takes at most that is free; how long after the grant a host is cut off; how long after
# the time-out of a session its locks are free, if the servers have to elect a leader before.
GRANT_LIMIT = 3.0 * FACTOR
SINCE_GRANT = (0, 0.3)
AFTER_TIMEOUT = 40.0 * FACTOR


class TicksStorm(HostsStorm):
    """One round."""

    sync_ticks = DOCUMENTED_SYNC_TICKS
    # A session takes up to 40 s, and a server that does not get the data of the leader in time gives up after 20 s.
    time_limit = 90.0 * FACTOR
    calm = {Fault.PARTITION: (0.2, 2), Fault.KILL: (5, 20), Fault.STOP: (10, 40)}
    client_options = (f'--names={FIRST_KEPT}', '--rest=2000')

    def __init__(self, options, directory, seed):
        super().__init__(options, directory, seed)
        self.tick_ms = options.ticks
        self.is_gentle = False
        # Those of which a round has time for several.
        timeouts = [timeout for timeout in SESSION_TIMEOUTS if 4 * timeout <= options.round_seconds]
        timeouts = timeouts or SESSION_TIMEOUTS[:1]
        self.session_timeouts = [timeouts[(seed + i) % len(timeouts)] for i in range(options.hosts)]
        self.idle = set()  # numbers of hosts
        self.n_kept = 0

    def restart_client(self, slot):
        if slot < self.options.clients and slot % len(self.hosts) + 1 not in self.idle:
            self.start_client(slot)

    def rest(self, numbers):
        """From now on nothing is requested on these hosts."""
        self.idle.update(numbers)
        self.dismiss(client for client in list(self.clients.values())
                     if client.storm.bus_number in numbers)

    def work(self, numbers):
        self.idle.difference_update(numbers)
        for slot in range(self.options.clients):
            if slot % len(self.hosts) + 1 in numbers and slot not in self.clients:
                self.start_client(slot)

    def keep(self, number, name):
        """Returns a client on this host that requests a lock and holds it until it is lost."""
        self.n_kept += 1
        slot = (self.options.clients + self.n_kept) * len(self.hosts) + number - 1
        self.start_client(slot, f'--keep={name}')
        return self.clients[slot]

    def is_there(self, client):
        return self.clients.get(client.slot) is client

    def dismiss(self, clients):
        for client in filter(self.is_there, clients):
            client.send('end')

    def until_inside(self, clients, limit):
        """Or ended."""
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline and any(self.is_there(client) and not client.is_inside
                                                  for client in clients):
            yield 0.05

    def server_of(self, host):
        return next((server for server in self.ensemble.servers
                     if server not in self.absent and server.n_received_from(host.place) > 0), None)

    def choose_hosts(self):
        """Some that talk to the same server, rather to a follower than to the leader; at least one host is left.
        Returns their numbers, the server, and its mode."""
        groups = collections.defaultdict(list)
        for number, host in enumerate(self.hosts, 1):
            if host not in self.absent and (server := self.server_of(host)):
                groups[server].append(number)
        modes = {server: mode for server in groups if (mode := server.mode())}
        if not modes:
            return [], None, None
        server = self.random.choices(list(modes), [1 if mode == 'leader' else 3
                                                   for mode in modes.values()])[0]
        self.random.shuffle(groups[server])
        return groups[server][:min(len(self.hosts) - 1, N_KEPT)], server, modes[server]

    def cut_with_server(self):
        while self.has_server_fault:
            yield 0.1
        numbers, server, mode = self.choose_hosts()
        if numbers:
            yield from self.of_servers(self.cut_after_grant(numbers, server, mode))

    def cut_alone(self):
        numbers, _server, _mode = self.choose_hosts()
        if numbers:
            yield from self.cut_after_grant(numbers)

    def cut_after_grant(self, numbers, server=None, mode=None):
        """Hosts that were idle, or not."""
        holders = []
        try:
            if self.random.random() < 0.8:
                self.rest(numbers)
                pings = min(self.hosts[number - 1].timeout / 3 for number in numbers)
                yield LAST_SENT + self.random.uniform(0.7, 1) * min(pings, PING_MAX)
            holders = [self.keep(number, name) for name, number in enumerate(numbers, FIRST_KEPT)]
            yield from self.until_inside(holders, GRANT_LIMIT)
            yield self.random.uniform(*SINCE_GRANT)
            yield from self.cut_holders(numbers, server, mode)
        finally:
            self.dismiss(holders)
            self.work(numbers)

    def cut_holders(self, numbers, server, mode):
        """Mostly until other hosts have been granted the locks."""
        timeout = max(self.hosts[number - 1].timeout for number in numbers)
        others = [number for number in range(1, len(self.hosts) + 1) if number not in numbers]
        with contextlib.ExitStack() as faults:
            if server is not None:
                faults.enter_context(self.fault(Fault.PARTITION, f'with_{mode}', may_lose=True))
            for number in numbers:
                faults.enter_context(self.fault(Fault.PARTITION, 'host', number, True))
            faults.callback(self.reconnect, server, time.monotonic())
            self.disconnect([self.hosts[number - 1].place for number in numbers], server)
            for number in numbers:
                faults.enter_context(self.cut_off_for_certain(number))
            waiting = [self.keep(self.random.choice(others), name)
                       for name in range(FIRST_KEPT, FIRST_KEPT + len(numbers))]
            if self.random.random() < 0.2:
                yield self.random.uniform(0.1, timeout)
            else:
                yield from self.until_inside(waiting, timeout + AFTER_TIMEOUT)
        self.dismiss(waiting)

    def disconnect(self, places, server):
        if server is not None:
            self.network.split(server.place, *places)
            return
        for place in places:
            self.network.cut_off(place)

    def reconnect(self, server, since):
        """A server that has looked for a leader in vain does so at intervals of up to a minute."""
        if server is not None and time.monotonic() - since > self.sync_ticks * self.tick_ms / 1e3:
            server.kill()
            server.start()
        self.network.restore()

    def lanes(self):
        lanes = [self.lane(Fault.PARTITION, {self.cut_with_server: 4, self.cut_alone: 1})]
        if self.options.kill_service > 0:
            lanes.append(self.lane(Fault.KILL, {
                self.kill_gateway: 2, self.kill_service: 2, self.kill_both: 1, self.kill_host: 2,
                self.kill_server: 2, self.kill_leader: 2}))
        if self.options.stop > 0:
            lanes.append(self.lane(Fault.STOP, {self.stop_server: 1, self.stop_gateway: 1,
                                                self.stop_service: 1}))
        return lanes
