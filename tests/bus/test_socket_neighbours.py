# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The latency of clients while others flood their lock sockets."""

import os
import signal
import time

from harness import FACTOR, diagnostic, main
from rawbus import lock_call
from sockets import flood, packets
from test_socket import SocketCase

SYNC = packets.message(packets.SYNC, 1)
RELEASE = packets.with_key(packets.RELEASE, 0, 10 ** 6, packets.NO_ANSWER)


class Neighbours(SocketCase):
    """Eight clients that flood, and one that doesn't, which is served between them."""

    FLOODS = 8
    CALLS = 200

    def setUp(self):
        super().setUp()
        self.flooders = [self.raw_client(descriptors=True) for _ in range(self.FLOODS)]
        self.socks = [self.lock_socket(client) for client in self.flooders]

    def start_flood(self, packet):
        for sock in self.socks:
            child = flood([sock], packet)
            self.addCleanup(os.waitpid, child, 0)
            self.addCleanup(os.kill, child, signal.SIGKILL)

    def check_calm(self, packet, calls_by_bus=False):
        calm = self.lock_socket(self.raw)
        self.start_flood(packet)
        times = {'socket': [], 'bus': []}
        for _ in range(self.CALLS):
            if calls_by_bus:
                for client in self.flooders:
                    client.send(lock_call('Release', 99, self.bucket, reply=False))
            started = time.monotonic()
            calm.release(calm.request('socket', self.bucket)[0])
            between = time.monotonic()
            self.other.release(self.other.request('bus', self.bucket)[0], self.bucket)
            times['socket'].append(between - started)
            times['bus'].append(time.monotonic() - between)
        for way, taken in times.items():
            taken.sort()
            p99 = taken[len(taken) * 99 // 100]
            diagnostic(f'by {way}, two calls: median {taken[len(taken) // 2] * 1000:.2f} ms, '
                       f'p99 {p99 * 1000:.2f} ms, most {taken[-1] * 1000:.2f} ms')
            self.assertLess(p99, 0.2 * FACTOR)

    def test_small_packets(self):
        self.check_calm(SYNC)

    def test_large_packets(self):
        self.check_calm(SYNC * 4000)

    def test_calls_without_answers(self):
        self.check_calm(RELEASE * 2700)

    def test_with_calls_by_the_bus(self):
        """Each call waits for the packets before it in the same socket; calls of other clients don't."""
        self.check_calm(RELEASE * 100, calls_by_bus=True)

    def test_calls_on_the_bus_of_flooding_clients(self):
        """They wait for the packets that were in the socket when they arrived, not until it is
        empty, which it never is."""
        self.start_flood(RELEASE * 2700)
        taken = []
        for _ in range(20):
            for client in self.flooders:
                started = time.monotonic()
                client.query(self.bucket)
                taken.append(time.monotonic() - started)
        taken.sort()
        diagnostic(f'Query: median {taken[len(taken) // 2] * 1000:.2f} ms, '
                   f'most {taken[-1] * 1000:.2f} ms')


if __name__ == '__main__':
    main()
