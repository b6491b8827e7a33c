# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""etcd on the loopback interface, and its locks, through its JSON gateway."""

import base64
import http.client
import json
import shutil
import time

from peers import STARTING, Server, free_ports

NAME = base64.b64encode(b'printer').decode()


class Etcd(Server):
    title = 'etcd'
    operation = 'Lock and Unlock, by JSON, lease reused'

    @staticmethod
    def missing(_settings):
        return None if shutil.which('etcd') else 'etcd is not installed'

    def __init__(self):
        super().__init__()
        self.connection = None
        self.lease = None

    def begin(self):
        clients, peers = (f'http://127.0.0.1:{port}' for port in free_ports(2))
        self.start(['etcd', '--data-dir', f'{self.directory}/data', '--listen-client-urls',
                    clients, '--advertise-client-urls', clients, '--listen-peer-urls', peers,
                    '--initial-advertise-peer-urls', peers,
                    '--initial-cluster', f'default={peers}'])
        self.connection = http.client.HTTPConnection(clients.removeprefix('http://'), timeout=10)
        deadline = time.monotonic() + STARTING
        while self.lease is None:
            self.check()
            try:
                self.lease = self.call('lease/grant', TTL=600)['ID']
            except (OSError, http.client.HTTPException, RuntimeError):
                self.connection.close()
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def call(self, path, **body):
        self.connection.request('POST', f'/v3/{path}', json.dumps(body))
        response = self.connection.getresponse()
        answer = json.loads(response.read())
        if response.status != 200:
            raise RuntimeError(f'{path}: {answer}')
        return answer

    def pair(self):
        key = self.call('lock/lock', name=NAME, lease=self.lease)['key']
        self.call('lock/unlock', key=key)

    def __exit__(self, *exception):
        if self.connection is not None:
            self.connection.close()
        super().__exit__(*exception)
