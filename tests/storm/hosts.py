# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A storm over several hosts: clients on the bus of each, one name space, three ZooKeeper servers; while
servers, gateways, services and clients are killed and stopped, and networks are cut."""

import collections
import os
import random
import selectors
import shutil
import time

from buses import FACTOR, PATIENCE
from clusterhosts import BUCKET, Host
from ensemble import Ensemble, Network, why_no_networks, why_no_servers
from harness import Client, wait_for
from lateness import Lateness
from processes import ClientProcess
from storm_log import FLAG_KILL, Kind, Log
from supervisor import StormError

SERVERS = 3
# How long anything may take while there is no fault, and some seconds after one.
TIME_LIMIT = 30.0 * FACTOR
# Between the end of one fault and the next.
CALM = (0.2, 2.0)


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
        self.selector = selectors.DefaultSelector()
        self.lateness = Lateness()

    def program(self, name):
        return os.path.join(self.options.build, 'tests', 'storm', name)

    @staticmethod
    def is_other(_slot):
        return False

    def patience(self):
        return TIME_LIMIT + self.lateness.worst(60)

    # ---- clients

    def start_client(self, slot):
        self.count += 1
        client = ClientProcess(self.views[slot % len(self.views)], self.count, slot)
        self.clients[slot] = client
        self.selector.register(client.pidfd, selectors.EVENT_READ, client)
        self.selector.register(client.output, selectors.EVENT_READ, client)

    def end_client(self, client):
        self.selector.unregister(client.pidfd)
        self.selector.unregister(client.output)
        client.reap()
        del self.clients[client.slot]

    def watch_clients(self, until, restarts=True):
        """Starts those again that end, and kills some, until then."""
        next_kill = time.monotonic() + self.random.expovariate(self.options.kill_clients)
        while (left := until - time.monotonic()) > 0:
            for key, _ in self.selector.select(min(left, max(0, next_kill - time.monotonic()))):
                client = key.data
                if key.fd != client.pidfd:
                    client.read()
                elif self.clients.get(client.slot) is client:
                    self.end_client(client)
                    if restarts:
                        self.start_client(client.slot)
            if time.monotonic() >= next_kill:
                next_kill += self.random.expovariate(self.options.kill_clients)
                if self.clients and restarts:
                    self.random.choice(list(self.clients.values())).kill()

    # ---- faults

    def during(self, seconds, begin, end, number=0, may_lose=False, name=''):
        """A fault of a host (0: of all) for so long."""
        self.n_faults += 1
        fault = self.n_faults
        self.watched[f'fault_{name}'] += 1
        self.log.note(Kind.FAULT, request=fault, subject=number, flags=FLAG_KILL if may_lose else 0)
        begin()
        self.watch_clients(time.monotonic() + seconds)
        end()
        self.log.note(Kind.FAULT_END, request=fault, subject=number)

    def some_host(self):
        index = self.random.randrange(len(self.hosts))
        return index + 1, self.hosts[index]

    def some_server(self):
        return self.random.choice(self.ensemble.servers)

    def brief(self):
        return self.random.uniform(0.1, min(4, self.options.round_seconds / 4))

    def lasting(self):
        """Seconds, of which some are longer than a session, unless the round is short."""
        longest = min(25, self.options.round_seconds / 4)
        return self.random.choice([self.random.uniform(0, longest / 3),
                                   self.random.uniform(longest / 3, longest)])

    def fault_cut_off(self):
        number, host = self.some_host()
        self.during(self.lasting(), lambda: self.network.cut_off(host.place), self.network.restore,
                    number, True, 'cut_off')

    def fault_cut_from_server(self):
        number, host = self.some_host()
        server = self.some_server()
        self.during(self.lasting(), lambda: self.network.cut(host.place, server.place),
                    self.network.restore, number, False, 'cut_pair')

    def fault_cut_one_way(self):
        number, host = self.some_host()
        pair = [host.place, self.some_server().place]
        self.random.shuffle(pair)
        self.during(self.lasting(), lambda: self.network.cut_one_way(*pair), self.network.restore,
                    number, False, 'cut_one_way')

    def fault_cut_servers(self):
        """Two servers do not reach each other; a majority does."""
        pair = self.random.sample(self.ensemble.servers, 2)
        self.during(self.lasting(), lambda: self.network.cut(*(server.place for server in pair)),
                    self.network.restore, 0, True, 'cut_servers')

    def fault_kill_server(self):
        server = self.some_server()
        self.during(self.brief(), server.kill, server.start, 0, True, 'kill_server')
        self.ensemble.restore()

    def fault_stop_server(self):
        server = self.some_server()
        self.during(self.lasting(), server.pause, server.resume, 0, True, 'stop_server')
        self.ensemble.restore()

    def fault_kill_majority(self):
        servers = self.random.sample(self.ensemble.servers, 2)

        def each(action):
            for server in servers:
                getattr(server, action)()
        self.during(self.lasting(), lambda: each('kill'), lambda: each('start'), 0, True,
                    'kill_majority')
        self.ensemble.restore()

    def fault_kill_gateway(self):
        number, host = self.some_host()
        self.during(0.1, host.kill_gateway, host.start_gateway, number, False, 'kill_gateway')

    def fault_stop_gateway(self):
        number, host = self.some_host()
        self.during(self.lasting(), host.pause_gateway, host.resume_gateway, number, True,
                    'stop_gateway')

    def fault_kill_service(self):
        number, host = self.some_host()
        self.during(0.1, host.kill_service, host.start_service, number, False, 'kill_service')

    def fault_stop_service(self):
        number, host = self.some_host()
        self.during(self.lasting(), host.service.pause, host.service.resume, number, True,
                    'stop_service')

    def choose_fault(self):
        faults = [self.fault_cut_off, self.fault_cut_from_server, self.fault_cut_one_way,
                  self.fault_cut_servers, self.fault_kill_server, self.fault_stop_server,
                  self.fault_kill_gateway, self.fault_stop_gateway, self.fault_kill_service,
                  self.fault_stop_service]
        weights = [2, 1, 1, 1, 2, 1, 4, 1, 4, 1]
        if self.options.kill_majority:
            faults.append(self.fault_kill_majority)
            weights.append(1)
        return self.random.choices(faults, weights)[0]

    # ---- a round

    def begin(self):
        why = why_no_servers() or why_no_networks()
        if why:
            raise StormError(f'a storm of hosts {why}')
        self.network.__enter__()
        self.ensemble = Ensemble(SERVERS, self.network)
        self.ensemble.__enter__()
        for i in range(self.options.hosts):
            host = Host(f'host{i + 1}', self.network.add(), self.ensemble.addresses)
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
                wait_for(lambda: all(token or client.granted(id_) for id_, token in ids), TIME_LIMIT,
                         'all locks')
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
            self.watch_clients(time.monotonic() + 2)
            while time.monotonic() < end:
                self.choose_fault()()
                self.check_processes()
                self.watch_clients(time.monotonic() + self.random.uniform(*CALM))
            self.network.restore()
            self.ensemble.restore()
            self.watch_clients(time.monotonic() + 2)
            self.log.note(Kind.STORM_END)
            self.end_clients()
            self.check_all('at the end')
        finally:
            self.close()

    def check_processes(self):
        for host in self.hosts:
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
