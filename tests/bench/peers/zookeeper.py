# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""ZooKeeper on the loopback interface: the minimum of its lock recipe, which creates and deletes an
ephemeral sequential node. The few messages are encoded here."""

import os
import shutil
import socket
import struct
import time

from peers import STARTING, Server, free_ports

# Debian's; its manifest lists the others that it needs.
JAR = '/usr/share/java/zookeeper.jar'
CREATE, DELETE = 1, 2
PERSISTENT, EPHEMERAL_SEQUENTIAL = 0, 3
ALL_PERMISSIONS = 31
# Until Java has compiled the measured code.
WARM_UP = 200


def buffer(data):
    return struct.pack('>i', len(data)) + data


class ZooKeeper(Server):
    title = 'ZooKeeper'
    operation = 'create ephemeral sequential and delete'

    @staticmethod
    def missing(_settings):
        if not shutil.which('java') or not os.path.exists(JAR):
            return 'zookeeper, or a Java to run it, is not installed'
        return None

    def __init__(self):
        super().__init__()
        self.connection = None
        self.xid = 0

    def begin(self):
        port, = free_ports(1)
        config = os.path.join(self.directory, 'zoo.cfg')
        with open(config, 'w', encoding='ascii') as file:
            file.write(f'dataDir={self.directory}/data\nclientPort={port}\n'
                       'clientPortAddress=127.0.0.1\nadmin.enableServer=false\n'
                       'tickTime=2000\n')
        self.start(['java', '-cp', JAR, 'org.apache.zookeeper.server.ZooKeeperServerMain', config])
        deadline = time.monotonic() + STARTING
        while self.connection is None:
            self.check()
            try:
                self.connect(port)
            except OSError:
                self.close_connection()
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        self.create('/bench', PERSISTENT)
        for _ in range(WARM_UP):
            self.pair()

    def connect(self, port):
        self.connection = socket.create_connection(('127.0.0.1', port), timeout=10)
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.send(struct.pack('>iqiq', 0, 0, 30000, 0) + buffer(bytes(16)))
        self.receive()

    def send(self, data):
        self.connection.sendall(buffer(data))

    def receive_exactly(self, size):
        data = b''
        while len(data) < size:
            chunk = self.connection.recv(size - len(data))
            if not chunk:
                raise ConnectionError('ZooKeeper has closed the connection')
            data += chunk
        return data

    def receive(self):
        return self.receive_exactly(*struct.unpack('>i', self.receive_exactly(4)))

    def call(self, operation, body):
        self.xid += 1
        self.send(struct.pack('>ii', self.xid, operation) + body)
        reply = self.receive()
        _xid, _zxid, error = struct.unpack_from('>iqi', reply)
        if error:
            raise RuntimeError(f'ZooKeeper: error {error}')
        return reply[16:]

    def create(self, path, flags):
        acl = struct.pack('>ii', 1, ALL_PERMISSIONS) + buffer(b'world') + buffer(b'anyone')
        reply = self.call(CREATE, buffer(path.encode()) + buffer(b'') + acl
                          + struct.pack('>i', flags))
        return reply[4:]

    def pair(self):
        path = self.create('/bench/lock-', EPHEMERAL_SEQUENTIAL)
        self.call(DELETE, buffer(path) + struct.pack('>i', -1))

    def close_connection(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def __exit__(self, *exception):
        self.close_connection()
        super().__exit__(*exception)
