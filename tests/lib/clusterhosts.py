# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Hosts of a cluster: each with a bus, a weblocksd and a gateway of its own, whose gateway is at a place of a
network (ensemble.py). Each part can be killed, stopped and started again."""

import os
import shutil
import signal
import subprocess
import tempfile
import unittest

from buses import Bus, end, environment, pause, spawn, wait_exit, write_text
from ensemble import SYNC_TICKS, TICK_MS, Ensemble, Network, why_no_networks, why_no_servers
from harness import Client, ProcessClient, Service, wait_for
from rawbus import RawClient
from starved import RepeatedIfStarved

BUCKET = 'cluster:farm'

CONFIG = '''[Cluster]
Servers={servers}
SessionTimeout={timeout}

[Bucket farm]
Turn={turn}
{more}'''


class Host:
    """One host. Its clients are connections to its bus."""

    def __init__(self, name, place, servers, timeout=15, turn=1, more='', service_options=()):
        self.name = name
        self.place = place
        self.service_options = service_options
        self.bus = Bus()
        self.directory = tempfile.mkdtemp(prefix=f'weblocks-host-{name}-')
        self.config = os.path.join(self.directory, 'cluster.conf')
        self.socket = os.path.join(self.directory, 'gateway')
        self.state = os.path.join(self.directory, 'state')
        self.gateway_state = os.path.join(self.directory, 'gateway-state')
        self.service = None
        self.gateway = None
        self.control = None
        self.clients = []
        self._settings = {'servers': servers.replace(',', ';'), 'turn': turn, 'more': more}
        self.write_config(timeout)
        self._gateway_log = open(os.path.join(self.directory, 'gateway.log'), 'ab')

    def write_config(self, timeout, **settings):
        self.timeout = timeout
        self._settings.update(settings)
        write_text(self.config, CONFIG.format(timeout=timeout, **self._settings))

    def start(self):
        self.bus.start()
        self.control = RawClient(self.bus.address)
        self.start_processes()
        return self

    def start_processes(self):
        self.start_gateway()
        self.start_service()

    def start_service(self):
        self.service = Service(self.bus, (f'--cluster-config={self.config}',
                                          f'--cluster-socket={self.socket}',
                                          f'--state-dir={self.state}', *self.service_options))
        self.service.wait_ready(self.control)

    def start_gateway(self):
        self.gateway = self.spawn_gateway(self.socket)

    def spawn_gateway(self, socket):
        return spawn(self.place.command([
            environment('WEBLOCKS_CLUSTERD'), f'--config={self.config}', f'--socket={socket}',
            f'--state-directory={self.gateway_state}',
            f'--service-user={os.getuid()}', f'--host={self.name}']),
            stdin=subprocess.DEVNULL, stdout=self._gateway_log, stderr=self._gateway_log)

    def kill_gateway(self):
        end(self.gateway)

    def end_gateway(self):
        """As systemd would."""
        self.gateway.terminate()
        wait_exit(self.gateway)

    def pause_gateway(self):
        pause(self.gateway)

    def resume_gateway(self):
        self.gateway.send_signal(signal.SIGCONT)

    def restore(self):
        """Starts the parts again that a test has ended or stopped."""
        self.resume_gateway()
        if self.gateway.poll() is not None:
            self.start_gateway()
        if self.service.process.poll() is not None:
            self.start_service()

    def kill_service(self):
        self.service.end()

    def kill(self):
        """Kills both at the same moment."""
        for process in (self.gateway, self.service.process):
            process.kill()
        self.kill_gateway()
        self.kill_service()

    def end_both(self):
        """Ends both at the same moment, as systemd does."""
        self.service.signal(signal.SIGTERM)
        self.end_gateway()
        self.service.wait_exit()

    def remove_state(self):
        """What a restart of the machine removes: /run."""
        shutil.rmtree(self.state, ignore_errors=True)

    def client(self):
        client = Client(self.bus.address)
        self.clients.append(client)
        return client

    def process(self):
        """A client that can be killed."""
        client = ProcessClient(self.bus.address, {**os.environ, **self.bus.environment()})
        self.clients.append(client)
        return client

    def close_clients(self):
        for client in self.clients:
            client.close()
        self.clients.clear()

    def stop(self):
        self.close_clients()
        end(self.gateway)
        if self.service is not None:
            self.service.end()
        if self.control is not None:
            self.control.close()
        self.bus.stop()
        self._gateway_log.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def gateway_log(self):
        with open(os.path.join(self.directory, 'gateway.log'), encoding='utf-8',
                  errors='replace') as file:
            return file.read()

    def log(self):
        return f'{self.name}, gateway:\n{self.gateway_log()[-3000:]}\n{self.name}, weblocksd:\n' \
               f'{self.service.stderr()[-3000:] if self.service else ""}'


@unittest.skipIf(why_no_servers() or why_no_networks(), why_no_servers() or why_no_networks())
class HostsCase(RepeatedIfStarved, unittest.TestCase):
    """Three servers and three hosts that the cases of a class share."""

    size = 3
    n_hosts = 3
    session_timeout = 15
    turn = 1
    more = ''  # lines for the bucket
    sync_ticks = SYNC_TICKS
    tick_ms = TICK_MS

    @classmethod
    def setUpClass(cls):
        cls.network = cls.enterClassContext(Network())
        cls.ensemble = cls.enterClassContext(
            Ensemble(cls.size, cls.network, cls.sync_ticks, cls.tick_ms))
        cls.hosts = []
        for i in range(cls.n_hosts):
            cls.add_host(f'host{i}')

    @classmethod
    def add_host(cls, name, servers=None, timeout=None):
        host = Host(name, cls.network.add(), servers or cls.ensemble.addresses,
                    timeout or cls.session_timeout, cls.turn, cls.more)
        cls.addClassCleanup(host.stop)
        cls.hosts.append(host.start())
        return host

    def setUp(self):
        self.lock = f'{self.id().rpartition(".")[2]}-{self.attempt}'

    def tearDown(self):
        self.network.restore()
        self.ensemble.restore()
        for host in self.hosts:
            host.close_clients()
            host.restore()

    def report(self):
        return '\n'.join([self.ensemble.log(), *(host.log() for host in self.hosts)])

    def hold(self, client, name=None, **options):
        """Requests, and waits until it is granted. Returns (id, token)."""
        name = self.lock if name is None else name
        id_, token = client.request(name, BUCKET, **options)
        if not token:
            token = client.wait_granted(id_).args[4]
        return id_, token

    @staticmethod
    def wait_for(condition, *arguments, **options):
        return wait_for(condition, *arguments, **options)
