# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The installed units of the gateway to a cluster, with systemd: weblocksd starts it by the socket,
from inside its own unit. There are no ZooKeeper servers, but what the gateway sends to one arrives, if its
address is allowed."""

import os
import signal
import socket
import subprocess
import sys

from buses import PATIENCE, write_text
from harness import wait_for
from machinecase import ALICE, KILL, MachineCase, UnitChecks, main, of_user, run

GATEWAY = 'weblocks-clusterd.service'
SOCKET = '/run/weblocks-cluster/socket'
CONFIG = """[Cluster]
Servers={}

[Bucket render]
"""
# Of an interface of this machine, and not of `localhost`.
ADDRESS, PORT = '192.0.2.11', 2181
# As for weblocksd: a system call that the filter denies kills it.
DROP_IN = f'/etc/machine/system/{GATEWAY}.d/test.conf'


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write_text(path, text)


class GatewayCase(MachineCase):
    drop_in = KILL
    servers = '127.0.0.1:1'

    def setUp(self):
        super().setUp()
        write('/etc/weblocks/cluster.conf', CONFIG.format(self.servers))
        self.allow('localhost')
        run('systemctl', 'start', 'weblocks-clusterd.socket')
        self.addCleanup(run, 'systemctl', 'stop', 'weblocks-clusterd.socket', GATEWAY)

    def allow(self, addresses):
        write(DROP_IN, f'[Service]\n{KILL}\nIPAddressAllow={addresses}\n')
        run('systemctl', 'daemon-reload')

    def gateway(self, key):
        return self.unit.show(GATEWAY)[key]

    def connect(self):
        """Reads the property until weblocksd has a gateway. Returns a client."""
        client = self.user(ALICE)
        wait_for(lambda: client.get_property('Cluster')['state'] == 'connecting', every=0.05,
                 what='connection to the gateway')
        return client


class Gateway(GatewayCase):
    def test_the_socket_starts_it(self):
        self.assertEqual(self.gateway('ActiveState'), 'inactive')
        client = self.connect()
        self.assertEqual(client.get_property('Cluster')['buckets'], ['cluster:render'])
        pid = int(self.gateway('MainPID'))
        uid = UnitChecks.uid_of('weblocks-cluster')
        self.assertEqual(os.stat(f'/proc/{pid}').st_uid, uid)
        self.assertEqual(os.stat('/var/lib/weblocks-cluster').st_uid, uid)
        # A request waits, also while the gateway is killed.
        self.assertEqual(client.request('x', 'cluster:render')[1], 0)
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: self.gateway('MainPID') not in ('0', str(pid)), every=0.05,
                 what='next gateway')
        self.connect()
        self.assertEqual([len(part) for part in client.query('cluster:render')], [0, 1])
        self.assertEqual(self.gateway('NRestarts'), '1')

    def test_who_may_connect(self):
        status = os.stat(SOCKET)
        self.assertEqual((status.st_uid, status.st_mode & 0o777),
                         (UnitChecks.uid_of('weblocks'), 0o600))
        status = os.stat(os.path.dirname(SOCKET))
        self.assertEqual((status.st_uid, status.st_mode & 0o777), (0, 0o755))
        script = ('import socket, sys\n'
                  's = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n'
                  'try:\n    s.connect(sys.argv[1])\n'
                  'except PermissionError:\n    print("refused")\n')
        self.assertEqual(subprocess.run([sys.executable, '-c', script, SOCKET], check=True,
                                        stdout=subprocess.PIPE, text=True,
                                        **of_user(ALICE)).stdout, 'refused\n')
        self.assertEqual(self.gateway('ActiveState'), 'inactive')

    def test_an_invalid_configuration(self):
        """Then the socket has to be started again, since the pending connection has activated it
        too often."""
        write('/etc/weblocks/cluster.conf', CONFIG.format(self.servers) + 'Turm=5\n')
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
            one.connect(SOCKET)
            wait_for(lambda: self.gateway('ExecMainStatus') == '78', every=0.05, what='its end')
        wait_for(lambda: self.gateway('ActiveState') == 'failed', every=0.05, what='failure')
        self.assertEqual(self.gateway('NRestarts'), '0')
        write('/etc/weblocks/cluster.conf', CONFIG.format(self.servers))
        run('systemctl', 'reset-failed')
        run('systemctl', 'restart', 'weblocks-clusterd.socket')
        self.connect()


class Addresses(GatewayCase):
    servers = f'{ADDRESS}:{PORT}'

    def setUp(self):
        super().setUp()
        run('ip', 'address', 'add', f'{ADDRESS}/32', 'dev', 'lo')
        self.addCleanup(run, 'ip', 'address', 'delete', f'{ADDRESS}/32', 'dev', 'lo')
        script = ('import socket\n'
                  's = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n'
                  f's.sendto(b"x", ("{ADDRESS}", 9))\n')
        command = ('systemd-run', '--quiet', '--wait', '--collect', f'--property=IPAddressAllow={ADDRESS}')
        run(*command, sys.executable, '-c', script)
        sent = subprocess.run([*command[:-1], '--property=IPAddressDeny=any', sys.executable, '-c', script],
                              check=False)
        if sent.returncode == 0:
            self.skipTest('systemd can filter no addresses here: no BPF programs for control groups')

    @staticmethod
    def is_tried():
        """Whether a process waits for the reply to its attempt to connect."""
        address = ''.join(f'{int(part):02X}' for part in reversed(ADDRESS.split('.')))
        with open('/proc/net/tcp', encoding='ascii') as file:
            return any(line.split()[2:4] == [f'{address}:{PORT:04X}', '02'] for line in file)

    def test_only_those_that_are_allowed(self):
        with socket.create_server((ADDRESS, PORT)) as server:
            server.setblocking(False)
            self.connect()
            wait_for(self.is_tried, every=0.01, what='an attempt to connect')
            self.assertRaises(BlockingIOError, server.accept)
            self.allow(ADDRESS)
            run('systemctl', 'restart', GATEWAY)
            self.connect()
            server.settimeout(PATIENCE)
            with server.accept()[0] as connection:
                connection.settimeout(PATIENCE)
                self.assertNotEqual(connection.recv(100), b'')


if __name__ == '__main__':
    main()
