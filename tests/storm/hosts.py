# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A storm over several hosts: clients on the bus of each, one name space, three ZooKeeper servers; while
servers, gateways, services and clients are killed and stopped, and networks are cut.

Faults come in lanes: generators that yield how many seconds they wait. Each lane has one fault at a time; those
of several lanes overlap, except that one fault of the servers ends before the next: what Debian's ZooKeeper
does then is not ours to test. In some rounds there is a single lane, of faults by which no lock may be lost."""

import collections
import contextlib
import heapq
import os
import random
import selectors
import shutil
import time

from buses import FACTOR, PATIENCE
from clusterhosts import BUCKET, Host
from ensemble import SYNC_TICKS, TICK_MS, Ensemble, Network, why_no_networks, why_no_servers
from harness import Client, wait_for
from lateness import Lateness
from processes import ClientProcess
from history import FLAG_KILL, Fault, Kind, Log
from supervisor import StormError

SERVERS = 3
# For so long after a fault of a host has ended, another one may cost it locks that each alone would not.
RECOVERY = {Fault.PARTITION: 10.0, Fault.KILL: 3.0, Fault.STOP: 10.0, Fault.STOP_SERVICE: 10.0}
# Faults that are longer end the lease of a host that they cut off, and some of them its session.
LONG = (11.0, 20.0)
SHORT = (0.1, 4.0)
# One in so many rounds has only faults by which nothing may be lost.
GENTLE_EVERY = 4
# A machine that stands still for so long may cost locks, too.
STALL = 5.0


class HostView:
    """What a ClientProcess needs to know of its storm, for one host."""

    def __init__(self, storm, number, host):
        self.storm = storm
        self.bus = host.bus
        self.bus_number = number
        self.host = host

    def __getattr__(self, name):
        return getattr(self.storm, name)

    @property
    def environment(self):
        return {**os.environ, **self.bus.environment()}


class HostsStorm:
    """One round. `options` are those of storm.py; `directory` is for the files."""

    # Of the servers.
    sync_ticks = SYNC_TICKS
    tick_ms = TICK_MS
    # Of the hosts, in turns.
    session_timeouts = (15,)
    # How long anything may take while there is no fault, and some seconds after one.
    time_limit = 30.0 * FACTOR
    # Seconds between the end of a fault and the next of its lane.
    calm = {Fault.PARTITION: (0.2, 2), Fault.KILL: (0.5, 4), Fault.STOP: (1, 10), None: (0.2, 2)}
    client_options = ()

    # What storm.py asks of a storm on one host.
    small = None
    differences = ()

    def __init__(self, options, directory, seed):
        self.options = options
        self.directory = directory
        self.seed = seed
        self.random = random.Random(seed)
        self.log = Log(os.path.join(directory, 'supervisor.log'), seed)
        self.noise = open(os.path.join(directory, 'noise.txt'), 'ab')
        self.watched = collections.Counter()
        self.network = Network()
        self.ensemble = None
        self.hosts = []
        self.views = []
        self.clients = {}
        self.count = 0
        self.n_faults = 0
        self.is_gentle = seed % GENTLE_EVERY == 0
        self.ends = []  # of the faults up to now: [host (0: all), when it has recovered]
        self.has_server_fault = False
        self.absent = set()  # hosts and servers of which a process has been killed, or stopped
        self.selector = selectors.DefaultSelector()
        self.lateness = Lateness()

    def program(self, name):
        return os.path.join(self.options.build, 'tests', 'storm', name)

    @staticmethod
    def is_other(_slot):
        return False

    def patience(self):
        return self.time_limit + self.lateness.worst(60)

    # ---- clients

    def start_client(self, slot, *options):
        self.count += 1
        client = ClientProcess(self.views[slot % len(self.views)], self.count, slot,
                               ['--bucket=' + BUCKET, *(options or self.client_options)])
        self.clients[slot] = client
        self.selector.register(client.pidfd, selectors.EVENT_READ, client)
        self.selector.register(client.output, selectors.EVENT_READ, client)

    def end_client(self, client):
        self.selector.unregister(client.pidfd)
        self.selector.unregister(client.output)
        client.reap()
        del self.clients[client.slot]

    def restart_client(self, slot):
        self.start_client(slot)

    def watch_clients(self, until, restarts=True):
        """Starts those again that end, and kills some, until then."""
        next_kill = time.monotonic() + self.random.expovariate(self.options.kill_clients)
        while (left := until - time.monotonic()) > 0:
            for key, _ in self.selector.select(min(left, max(0, next_kill - time.monotonic()))):
                client = key.data
                if self.clients.get(client.slot) is not client:
                    continue  # its descriptors may be those of a new one by now
                if key.fd != client.pidfd:
                    client.read()
                else:
                    self.end_client(client)
                    if restarts:
                        self.restart_client(client.slot)
            if time.monotonic() >= next_kill:
                next_kill += self.random.expovariate(self.options.kill_clients)
                if self.clients and restarts:
                    self.random.choice(list(self.clients.values())).kill()

    # ---- faults

    def recovered(self, numbers):
        return max((end for number, end in self.ends if number in numbers), default=0)

    def may_lose(self, number):
        """Whether another fault of this host is too recent for this one to be the only one."""
        hosts = range(len(self.hosts) + 1) if number == 0 else (0, number)
        return self.recovered(hosts) > time.monotonic()

    @contextlib.contextmanager
    def noted(self, kind, number=0, flags=0, detail=0):
        """The records of a fault of a host (0: of all)."""
        self.n_faults += 1
        fault = self.n_faults
        self.log.note(Kind.FAULT, request=fault, subject=number, name=kind, flags=flags, detail=detail)
        try:
            yield
        finally:
            self.log.note(Kind.FAULT_END, request=fault, subject=number)

    @contextlib.contextmanager
    def fault(self, kind, name, number=0, may_lose=False):
        self.watched[f'{kind.name.split("_")[0].lower()}_{name}'] += 1
        flags = FLAG_KILL if may_lose or self.may_lose(number) else 0
        begin, entry = time.monotonic(), [number, float('inf')]
        self.ends.append(entry)
        with self.noted(kind, number, flags):
            try:
                yield
            finally:
                now = time.monotonic()
                entry[1] = now + RECOVERY[kind]
                self.watched['partitions_long'] += kind == Fault.PARTITION and now - begin > LONG[0]

    def during(self, kind, name, seconds, begin, end, number=0, may_lose=False):
        """A fault for so long."""
        with self.fault(kind, name, number, may_lose):
            try:
                begin()
                yield seconds
            finally:
                end()

    def cut_off_for_certain(self, number):
        """From after the beginning of a fault until before its end."""
        return self.noted(Fault.CUT_OFF, number, detail=self.hosts[number - 1].timeout)

    def choose_host(self):
        """Its number, and one whose processes run: if nothing may be lost, that which has had no fault for
        longest."""
        present = [number for number, host in enumerate(self.hosts, 1)
                   if host not in self.absent] or [1]
        self.random.shuffle(present)
        if self.is_gentle:
            present.sort(key=lambda number: self.recovered((number,)))
        return present[0], self.hosts[present[0] - 1]

    def choose_server(self):
        """One that runs."""
        return self.random.choice([server for server in self.ensemble.servers
                                   if server not in self.absent])

    def lasting(self):
        """Seconds; some faults end the lease, unless the round is short."""
        if 4 * LONG[1] > self.options.round_seconds:
            return self.random.uniform(SHORT[0], self.options.round_seconds / 6)
        return self.random.uniform(*self.random.choice([SHORT, SHORT, LONG]))

    def choose_link(self):
        """A number and a host as above, and any server."""
        number, host = self.choose_host()
        return number, host, self.random.choice(self.ensemble.servers)

    def cut_off(self):
        number, host = self.choose_host()
        with self.fault(Fault.PARTITION, 'host', number, True):
            try:
                self.network.cut_off(host.place)
                with self.cut_off_for_certain(number):
                    yield self.lasting()
            finally:
                self.network.restore()

    def cut_from_server(self):
        number, host, server = self.choose_link()
        yield from self.during(Fault.PARTITION, 'host_and_server', self.lasting(),
                               lambda: self.network.cut(host.place, server.place),
                               self.network.restore, number)

    def cut_one_way(self):
        number, host, server = self.choose_link()
        pair = [host.place, server.place]
        self.random.shuffle(pair)
        yield from self.during(Fault.PARTITION, 'one_way', self.lasting(),
                               lambda: self.network.cut_one_way(*pair), self.network.restore, number)

    def cut_servers(self):
        """Two servers do not reach each other; a majority does."""
        pair = [server.place for server in self.random.sample(self.ensemble.servers, 2)]
        yield from self.during(Fault.PARTITION, 'servers', self.lasting(),
                               lambda: self.network.cut(*pair), self.network.restore, 0, True)

    def kill_servers(self, name, servers, seconds):
        def begin():
            self.absent.update(servers)
            for server in servers:
                server.kill()

        def end():
            for server in servers:
                server.start()
        yield from self.during(Fault.KILL, name, seconds, begin, end, 0, True)
        self.absent.difference_update(servers)

    def kill_server(self):
        yield from self.kill_servers('server', [self.choose_server()], self.random.uniform(*SHORT))

    def kill_leader(self):
        leader = next((server for server in self.ensemble.servers
                       if server not in self.absent and server.mode() == 'leader'), None)
        if leader is not None:
            yield from self.kill_servers('leader', [leader], self.random.uniform(*SHORT))

    def kill_majority(self):
        yield from self.kill_servers('majority', self.random.sample(self.ensemble.servers, 2),
                                     self.lasting())

    def kill_processes(self, name, seconds, begin, end, number, host):
        def begin_it():
            self.absent.add(host)
            if name != 'gateway':
                self.log.note(Kind.SERVICE_KILL, subject=number)
            begin()

        def end_it():
            end()
            self.absent.discard(host)
        yield from self.during(Fault.KILL, name, seconds, begin_it, end_it, number)

    def kill_gateway(self):
        number, host = self.choose_host()
        yield from self.kill_processes('gateway', 0.1, host.kill_gateway, host.start_gateway,
                                       number, host)

    def kill_service(self):
        number, host = self.choose_host()
        yield from self.kill_processes('weblocksd', 0.1, host.kill_service, host.start_service,
                                       number, host)

    def kill_both(self):
        number, host = self.choose_host()
        yield from self.kill_processes('both', 0.1, host.kill, host.start_processes, number, host)

    def kill_host(self):
        """As when it is switched off: its clients too, and what weblocksd has stored is lost."""
        number, host = self.choose_host()

        def begin():
            for client in self.clients.values():
                if client.storm.host is host:
                    client.kill()
            host.kill()
            host.remove_state()
        yield from self.kill_processes('host', self.random.uniform(*SHORT), begin,
                                       host.start_processes, number, host)

    def stop(self, name, target, begin, end, number, kind=Fault.STOP):
        def begin_it():
            self.absent.add(target)
            begin()

        def end_it():
            end()
            self.absent.discard(target)
        yield from self.during(kind, name, self.lasting(), begin_it, end_it, number, True)

    def stop_server(self):
        server = self.choose_server()
        yield from self.stop('server', server, server.pause, server.resume, 0)

    def stop_gateway(self):
        number, host = self.choose_host()
        yield from self.stop('gateway', host, host.pause_gateway, host.resume_gateway, number)

    def stop_service(self):
        number, host = self.choose_host()
        yield from self.stop('weblocksd', host, host.service.pause, host.service.resume, number,
                             Fault.STOP_SERVICE)

    def of_servers(self, fault):
        """It, and until all servers serve again."""
        self.has_server_fault = True
        yield from fault
        deadline = time.monotonic() + self.time_limit
        while not all(server.mode() for server in self.ensemble.servers):
            if time.monotonic() > deadline:
                raise StormError(f'the servers do not serve again:\n{self.report()}')
            yield 0.2
        self.has_server_fault = False

    def lane(self, kind, faults):
        """`faults` have weights. Ends never."""
        server_faults = (self.cut_servers, self.kill_server, self.kill_leader, self.kill_majority,
                         self.stop_server)
        while True:
            yield self.random.uniform(*self.calm[kind])
            self.check_processes()
            fault = self.random.choices(list(faults), faults.values())[0]
            if fault not in server_faults:
                yield from fault()
            elif not self.has_server_fault:
                yield from self.of_servers(fault())

    def lanes(self):
        if self.is_gentle:
            return [self.lane(None, {self.cut_from_server: 2, self.cut_one_way: 2,
                                     self.kill_gateway: 2, self.kill_service: 2,
                                     self.kill_both: 1})]
        kills = {self.kill_gateway: 4, self.kill_service: 4, self.kill_both: 2, self.kill_host: 2,
                 self.kill_server: 2, self.kill_leader: 1}
        if self.options.kill_majority:
            kills[self.kill_majority] = 1
        return [self.lane(Fault.PARTITION, {self.cut_off: 3, self.cut_from_server: 1,
                                            self.cut_one_way: 1, self.cut_servers: 1}),
                self.lane(Fault.KILL, kills),
                self.lane(Fault.STOP, {self.stop_server: 1, self.stop_gateway: 1,
                                       self.stop_service: 1})]

    def run_lanes(self, end):
        lanes = self.lanes()
        due = [(time.monotonic(), i) for i in range(len(lanes))]
        try:
            while due[0][0] < end:
                when, i = due[0]
                self.watch_clients(when)
                heapq.heapreplace(due, (time.monotonic() + next(lanes[i]), i))
            self.watch_clients(end)
        finally:
            for lane in lanes:
                lane.close()

    def note_stalls(self):
        for begin, end in self.lateness.stalls(STALL):
            self.n_faults += 1
            self.log.note(Kind.FAULT, at=int(begin * 1e9), request=self.n_faults, flags=FLAG_KILL)
            self.log.note(Kind.FAULT_END, at=int(end * 1e9), request=self.n_faults)

    # ---- a round

    def begin(self):
        why = why_no_servers() or why_no_networks()
        if why:
            raise StormError(f'a storm of hosts {why}')
        self.network.__enter__()
        self.ensemble = Ensemble(SERVERS, self.network, self.sync_ticks, self.tick_ms)
        self.ensemble.__enter__()
        for i in range(self.options.hosts):
            host = Host(f'host{i + 1}', self.network.add(), self.ensemble.addresses,
                        self.session_timeouts[i % len(self.session_timeouts)])
            self.hosts.append(host)
            self.views.append(HostView(self, i + 1, host.start()))
        self.log.note(Kind.SERVICE_READY)
        self.check_all('at the beginning')

    def check_all(self, when):
        """Each host can get each lock."""
        for host in self.hosts:
            client = Client(host.bus.address)
            ids = [client.request(f'storm-{i}', BUCKET) for i in range(8)]
            try:
                wait_for(lambda: all(token or client.granted(id_) for id_, token in ids),
                         self.time_limit, 'all locks')
            except TimeoutError as error:
                raise StormError(f'{host.name} does not get all locks {when}: {error}\n'
                                 f'{self.report()}') from None
            finally:
                client.close()

    def run(self):
        try:
            self.begin()
            for slot in range(self.options.clients):
                self.start_client(slot)
            end = time.monotonic() + self.options.round_seconds
            self.watch_clients(time.monotonic() + 1)
            self.run_lanes(end)
            self.ensemble.restore()
            self.watch_clients(time.monotonic() + 2)
            self.note_stalls()
            self.log.note(Kind.STORM_END)
            self.end_clients()
            self.check_all('at the end')
        finally:
            self.close()

    def check_processes(self):
        for host in self.hosts:
            if host in self.absent:
                continue
            for process, what in ((host.gateway, 'gateway'), (host.service.process, 'weblocksd')):
                if process.poll() is not None:
                    raise StormError(f'{what} of {host.name} ended by itself, with '
                                     f'{process.returncode}\n{self.report()}')

    def report(self):
        return '\n'.join([self.ensemble.log(), *(host.log() for host in self.hosts)])

    def end_clients(self):
        for client in self.clients.values():
            client.send('end')
        deadline = time.monotonic() + PATIENCE
        while self.clients and time.monotonic() < deadline:
            self.watch_clients(time.monotonic() + 0.1, restarts=False)
        if self.clients:
            raise StormError('clients do not end')

    def close(self):
        with open(os.path.join(self.directory, 'hosts.txt'), 'w', encoding='utf-8') as file:
            if self.ensemble is not None:
                file.write(self.report())
        for client in self.clients.values():
            client.process.kill()
            client.process.wait()
        for host in self.hosts:
            host.stop()
        if self.ensemble is not None:
            self.ensemble.__exit__()
            self.network.__exit__()
        self.log.close()
        self.noise.close()
        self.lateness.stop()

    def remove(self):
        shutil.rmtree(self.directory, ignore_errors=True)
