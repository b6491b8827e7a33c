# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Redis on a unix socket, without persistence; bench-redis is its client.

Debian's redis-server package starts a server for the whole machine; redis-tools, which has the same
program under another name, does not. The program's behaviour depends on the name it is called by.
"""

import os
import shutil
import socket
import time

from peers import STARTING, Server


def find_program():
    return shutil.which('redis-server') or shutil.which('redis-check-rdb')


class Redis(Server):
    title = 'Redis'
    optional = False

    @staticmethod
    def missing(settings):
        if not settings.has_program('redis'):
            return 'hiredis was not there when this was built'
        return None if find_program() else 'it is not installed'

    @property
    def socket(self):
        return os.path.join(self.directory, 'redis')

    def begin(self):
        self.start(['redis-server', '--port', '0', '--unixsocket', self.socket, '--save', '',
                    '--appendonly', 'no', '--daemonize', 'no'], executable=find_program())
        deadline = time.monotonic() + STARTING
        while not self.answers():
            self.check()
            if time.monotonic() > deadline:
                raise TimeoutError('no answer')
            time.sleep(0.01)

    def answers(self):
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect(self.socket)
                client.sendall(b'PING\r\n')
                return client.recv(16).startswith(b'+PONG')
            except OSError:
                return False
