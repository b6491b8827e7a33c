# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""What the tests of weblocksd's part of a cluster share: a service that is configured, and a gateway that
the test drives (clustergateway.py)."""

import os

from buses import write_text
from calls import (ADMIN, LOCKS, PROPERTIES, ROOT, SERVICE, DBusError,
                   bucket_path)
from clustergateway import Gateway
from harness import Gio, GLib, wait_for
from statecase import StateCase

BUCKET = 'cluster:farm'

CONFIG = '''
[Cluster]
Servers=127.0.0.1:1

[Bucket farm]

[Bucket other]
'''


class Call:
    """A call whose reply waits for the gateway, that is for the test."""

    def __init__(self, client, member, body=None, bucket=None, path=None, interface=LOCKS):
        self.replies = []
        client.connection.call(SERVICE, path or bucket_path(bucket or BUCKET), interface, member, body, None,
                               Gio.DBusCallFlags.NONE, -1, None, self._on_reply)

    def _on_reply(self, connection, result):
        try:
            self.replies.append(connection.call_finish(result).unpack())
        except GLib.Error as error:
            self.replies.append(error)

    def result(self):
        wait_for(lambda: self.replies, what='the reply')
        if isinstance(self.replies[0], GLib.Error):
            name = Gio.DBusError.get_remote_error(self.replies[0])
            raise DBusError(name, self.replies[0].message)
        return self.replies[0]


class ClusterCase(StateCase):
    """Each case starts its services, and the gateway if it needs one."""

    config = CONFIG

    def setUp(self):
        super().setUp()
        self.config_path = os.path.join(self.directory, 'cluster.conf')
        self.socket_path = os.path.join(self.directory, 'gateway')
        self.write_config(self.config)

    def write_config(self, text):
        write_text(self.config_path, text)

    def start(self, *arguments, **kw):
        return super().start(f'--cluster-config={self.config_path}',
                             f'--cluster-socket={self.socket_path}', *arguments, **kw)

    def start_gateway(self):
        gateway = Gateway(self.socket_path)
        self.addCleanup(gateway.close)
        return gateway

    def get_cluster(self, client):
        """The property Cluster."""
        body = GLib.Variant('(ss)', (ADMIN, 'Cluster'))
        return Call(client, 'Get', body, path=ROOT, interface=PROPERTIES).result()[0]

    def start_all(self):
        """Starts a service, a gateway that has completed the greeting, and a client that waits for
        'x'. Returns the gateway, the client, the id of its request, and the demand."""
        gateway = self.start_gateway()
        self.start()
        client = self.client()
        id_, token = client.request('x', BUCKET)
        self.assertEqual(token, 0)
        [demand] = gateway.greet()
        return gateway, client, id_, demand

    def hold(self):
        """As start_all(); then the client holds 'x'."""
        gateway, client, id_, demand = self.start_all()
        gateway.permit(demand)
        client.wait_granted(id_)
        return gateway, client, id_, demand
