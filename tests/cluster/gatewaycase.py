# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""What the cases of a gateway with a real server share; the test is weblocksd."""

import configparser
import contextlib
import os
import socket
import struct
import threading
import unittest

from buses import read_text, write_text
from clusterhosts import Host
from clusterservice import Service
from engines import EngineClient
from ensemble import Place


class GatewayCase(unittest.TestCase):
    def setUp(self):
        self.root = f'/{self.id().rpartition(".")[2]}'
        self.hosts = []

    def tearDown(self):
        self.ensemble.restore()

    def report(self):
        return '\n'.join([self.ensemble.log(), *(host.log() for host in self.hosts)])

    def start(self, name='alpha', servers=None, timeout=10, settings=''):
        """Starts the gateway of a host. Returns both, with a connection to it."""
        host = Host(name, Place(), servers or self.ensemble.addresses, timeout)
        self.hosts.append(host)
        self.addCleanup(host.stop)
        text = read_text(host.config)
        write_text(host.config, text.replace('Servers=', f'{settings}Root={self.root}\nServers='))
        return host, self.start_gateway(host)

    def start_through_proxy(self):
        proxy = Proxy(self.ensemble.addresses)
        self.addCleanup(proxy.listener.close)
        host, service = self.start(servers=proxy.address)
        service.wait_for_state('active')
        return proxy, host, service

    def start_gateway(self, host):
        host.start_gateway()
        service = Service(host.socket)
        self.addCleanup(service.socket.close)
        return service

    def engine(self, **options):
        engine = EngineClient(self.ensemble.addresses, root=self.root, **options)
        self.addCleanup(engine.end)
        return engine

    def session_of(self, host):
        file = configparser.ConfigParser()
        file.read(os.path.join(host.gateway_state, 'session'))
        return file['Session']

    def delete_host_node(self, engine, host):
        """It proves in each grant that the session lives."""
        node = f'{host.name}-{int(self.session_of(host)["Id"]):016x}'
        self.assertEqual(engine.ask('delete', f'{self.root}/sessions', node).result, 'OK')


class Proxy:
    """A server's address with which a gateway connects to it. `kinds` are those of the requests it has sent."""

    CHILDREN = 12   # getChildren2
    MULTI = 14

    def __init__(self, address):
        host, port = address.rsplit(':', 1)
        self.target = host, int(port)
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.address = '127.0.0.1:%d' % self.listener.getsockname()[1]
        self.kinds = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            server = socket.create_connection(self.target)
            for one, other, note in (client, server, self.note), (server, client, None):
                threading.Thread(target=self.forward, args=(one, other, note), daemon=True).start()

    def forward(self, source, sink, note):
        data = b''
        with source, sink, contextlib.suppress(OSError):
            while chunk := source.recv(65536):
                if note is not None:
                    data = note(data + chunk)
                sink.sendall(chunk)
            sink.shutdown(socket.SHUT_RDWR)

    def note(self, data):
        """Each request has its length before it, and begins with its number and kind; but not the first one."""
        while len(data) >= 12:
            length, _number, kind = struct.unpack('>iii', data[:12])
            if len(data) < 4 + length:
                break
            data = data[4 + length:]
            self.kinds.append(kind)
        return data
