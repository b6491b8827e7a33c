# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""WireGuard as docs/cluster.md has it, with the kernel's or with wireguard-go: a host gets a lock from a server that
listens on the address of WireGuard only, and nothing of it can be read on the way."""

import os
import shutil
import socket
import subprocess
import tempfile
import unittest

from clusterhosts import BUCKET, Host
from ensemble import Ensemble, Network, Place, why_no_networks, why_no_servers

ETH_P_ALL = 3
PORT = 51820


def why_no_wireguard():
    if not shutil.which('wg-quick'):
        return 'needs wireguard-tools'
    tried = subprocess.run(['unshare', '--net', 'ip', 'link', 'add', 'try', 'type', 'wireguard'],
                           stderr=subprocess.DEVNULL, check=False)
    if tried.returncode != 0 and not (shutil.which('wireguard-go') and os.access('/dev/net/tun', os.W_OK)):
        return 'needs WireGuard in the kernel, or wireguard-go and /dev/net/tun'
    return ''


REASON = why_no_servers() or why_no_networks() or why_no_wireguard()


class Peer:
    """A machine with an address in the network of WireGuard."""

    def __init__(self, place, address):
        self.place = place
        self.endpoint = place.address
        self.address = address
        self.key = subprocess.check_output(['wg', 'genkey'], text=True).strip()
        self.public_key = subprocess.check_output(['wg', 'pubkey'], input=self.key, text=True).strip()

    def config(self, others):
        text = f'[Interface]\nPrivateKey = {self.key}\nAddress = {self.address}/24\nListenPort = {PORT}\n'
        for peer in others:
            text += (f'\n[Peer]\nPublicKey = {peer.public_key}\nEndpoint = {peer.endpoint}:{PORT}\n'
                     f'AllowedIPs = {peer.address}/32\n')
        return text


@unittest.skipIf(REASON, REASON)
class WireGuard(unittest.TestCase):
    def setUp(self):
        self.network = self.enterContext(Network())
        self.ensemble = Ensemble(1, self.network)
        self.server = self.ensemble.servers[0]
        self.host_place = self.network.add()
        # This process asks the server for its state.
        self.peers = [Peer(self.server.place, '10.83.0.11'), Peer(self.host_place, '10.83.0.21'),
                      Peer(Place('10.99.0.254'), '10.83.0.31')]
        self.directory = self.enterContext(tempfile.TemporaryDirectory(prefix='weblocks-wireguard-'))
        self.host = None

    def report(self):
        return f'{self.ensemble.log()}\n{self.host.log() if self.host else ""}'

    def bring_up(self, number, peer):
        """As systemd's wg-quick@ does."""
        # Its name is that of the interface, and of a socket of wireguard-go.
        path = os.path.join(self.directory, f'wg{os.getpid()}-{number}.conf')
        with open(path, 'w', encoding='ascii', opener=lambda *args: os.open(*args, 0o600)) as file:
            file.write(peer.config([other for other in self.peers if other is not peer]))
        done = subprocess.run(peer.place.command(['wg-quick', 'up', path]), capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.addCleanup(subprocess.run, peer.place.command(['wg-quick', 'down', path]), capture_output=True,
                        check=False)

    def test_lock(self):
        for number, peer in enumerate(self.peers):
            self.bring_up(number, peer)
        outside, self.server.place.address = self.server.place.address, self.peers[0].address
        with open(self.server.config, encoding='ascii') as file:
            config = file.read()
        with open(self.server.config, 'w', encoding='ascii') as file:
            file.write(config.replace(f'clientPortAddress={outside}', f'clientPortAddress={self.peers[0].address}'))
        wire = self.enterContext(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)))
        wire.bind((self.host_place.device, 0))
        wire.settimeout(1)
        self.enterContext(self.ensemble)
        self.host = Host('alpha', self.host_place, f'{self.peers[0].address}:2181')
        self.addCleanup(self.host.stop)
        client = self.host.start().client()
        id_, token = client.request('a', BUCKET)
        if not token:
            client.wait_granted(id_)
        self.assertGreater(self.server.n_received_from(Place(self.peers[1].address)), 0)
        with socket.socket() as other:
            self.assertNotEqual(other.connect_ex((outside, 2181)), 0)
        packets = []
        while len(packets) < 1000:
            try:
                packets.append(wire.recv(65536))
            except TimeoutError:
                break
        self.assertTrue(any(packet[23] == socket.IPPROTO_UDP and packet[36:38] == PORT.to_bytes(2, 'big')
                            for packet in packets if len(packet) > 38))
        for packet in packets:
            self.assertNotIn(b'weblocks', packet)
            self.assertNotIn(b'alpha', packet)
