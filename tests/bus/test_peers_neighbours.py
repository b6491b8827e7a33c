# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""How long neighbours wait of those who flood their private sockets."""

import os
import select
import signal
import time

import buses
from calls import ADMIN, ROOT, SERVICE
from harness import FACTOR, diagnostic, main
from rawbus import lock_call, method_call
from test_peers_bounds import STANDARD, BoundsCase


class Neighbours(BoundsCase):
    """Many that flood, and one that doesn't, which is served in between."""

    FLOODS = 8
    CALLS = 300

    def flood(self, sockets, blob):
        """A process that keeps the sockets full. Its pid."""
        child = os.fork()
        if child:
            return child
        try:
            buses.die_with_parent()
            data = memoryview(blob * (1 + (1 << 17) // len(blob)))
            poll = select.poll()
            at = {}
            for sock in sockets:
                sock.setblocking(False)
                poll.register(sock, select.POLLOUT | select.POLLIN)
                at[sock.fileno()] = (sock, 0)
            while True:
                for fd, events in poll.poll():
                    sock, start = at[fd]
                    if events & select.POLLIN:
                        sock.recv(1 << 18)
                    try:
                        start += sock.send(data[start:])
                    except BlockingIOError:
                        pass
                    at[fd] = (sock, start if start < len(data) else 0)
        finally:
            os._exit(1)

    def check_calm(self, message, calls_by_bus=False):
        flooders = [self.raw_client(descriptors=True) for _ in range(self.FLOODS)]
        peers = [self.private_socket(client) for client in flooders]
        calm = self.private_socket()
        by_bus = self.raw_client()
        blob, _ = peers[0].encode(message)
        child = self.flood([peer.socket for peer in peers], blob)
        times = {'socket': [], 'bus': []}
        try:
            for _ in range(self.CALLS):
                if calls_by_bus:
                    for client in flooders:
                        client.send(lock_call('Release', 99, self.bucket, reply=False))
                for way, client in (('socket', calm), ('bus', by_bus)):
                    started = time.monotonic()
                    client.release(client.request(way, self.bucket)[0], self.bucket)
                    times[way].append(time.monotonic() - started)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        for way, taken in times.items():
            taken.sort()
            p99 = taken[len(taken) * 99 // 100]
            diagnostic(f'by {way}, two calls: median {taken[len(taken) // 2] * 1000:.2f} ms, '
                       f'p99 {p99 * 1000:.2f} ms, most {taken[-1] * 1000:.2f} ms')
            self.assertLess(p99, 0.2 * FACTOR)

    def test_calls_without_answers(self):
        self.check_calm(lock_call('Release', 99, self.bucket, reply=False))

    def test_calls_with_answers(self):
        self.check_calm(method_call(SERVICE, ROOT, ADMIN, 'Buckets'))

    def test_pings(self):
        self.check_calm(method_call(SERVICE, ROOT, STANDARD + 'Peer', 'Ping'))

    def test_with_calls_by_the_bus(self):
        """Each waits for what is before it in that socket; nobody else does."""
        self.check_calm(lock_call('Release', 99, self.bucket, reply=False), calls_by_bus=True)

    def test_calls_by_the_bus_of_those_that_flood(self):
        """They wait for what was in the socket when they came, not until it is empty, which it
        never is."""
        client = self.raw_client(descriptors=True)
        peers = [self.private_socket(client)]
        peers += [self.private_socket() for _ in range(self.FLOODS - 1)]
        blob, _ = peers[0].encode(lock_call('Release', 99, self.bucket, reply=False))
        children = [self.flood([peer.socket], blob) for peer in peers]
        taken = []
        try:
            for _ in range(20):
                started = time.monotonic()
                client.release(client.request('x', self.bucket)[0], self.bucket)
                taken.append(time.monotonic() - started)
        finally:
            for child in children:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        taken.sort()
        diagnostic(f'two calls: median {taken[10] * 1000:.2f} ms, most {taken[-1] * 1000:.2f} ms')


if __name__ == '__main__':
    main()
