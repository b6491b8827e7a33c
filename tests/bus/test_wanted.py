# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Holders learn that somebody waits for their locks: Wanted on the bus, WANTED on lock sockets."""

import signal

from harness import BusTestCase
from statecase import StateCase

# How often a request is made and aborted while a holder does not read.
ROUNDS = 300


class WantedCase(BusTestCase):
    def wait_wanted(self, client, *expected):
        """Waits for these (id, wanted), and that there are no others."""
        client.wait_for(lambda: len(client.wanted) >= len(expected), what='Wanted')
        self.assertEqual(client.wanted, list(expected))

    def assert_quiet(self, *clients):
        """Neither has got anything. Their calls are served after all turns that began before."""
        for client in clients:
            client.sync()
            self.assertEqual(client.wanted, [])


class Owners(WantedCase):
    """On the bus."""

    def setUp(self):
        super().setUp()
        self.a, self.b, self.c = self.client(), self.client(), self.client()
        self.held, _ = self.a.request('x', self.bucket)

    def test_requests_and_their_ends(self):
        for end in ('abort', 'timeout', 'disconnect'):
            client = self.client()
            self.a.wanted.clear()
            waits, _ = client.request('x', self.bucket, **({'timeout': 50} if end == 'timeout' else {}))
            self.wait_wanted(self.a, (self.held, True))
            if end == 'abort':
                client.abort(waits, self.bucket)
            elif end == 'disconnect':
                client.close()
            self.wait_wanted(self.a, (self.held, True), (self.held, False))

    def test_only_the_holder(self):
        """Neither those who wait nor watchers; and not for other locks of the holder."""
        self.c.watch(bucket=self.bucket)
        self.a.request('y', self.bucket)
        self.b.request('x', self.bucket)
        self.wait_wanted(self.a, (self.held, True))
        self.assert_quiet(self.b, self.c)
        self.assertEqual([event.signal for event in self.c.events], ['Granted', 'Waiting'])
        self.wait_wanted(self.a, (self.held, True))

    def test_resync(self):
        self.b.request('x', self.bucket)
        self.assertEqual([line[1:] for line in self.a.resync()],
                         [(self.held, 0, 'x', 'exclusive', self.a.resync()[0][5], 0, True)])
        self.assertEqual([line[7] for line in self.b.resync()], [False])


class Shared(WantedCase):
    """Each holder of a shared lock."""

    def test_thousands(self):
        """Each lock once for each change, in turns of the service that others are served between."""
        holders = [self.lock_socket() for _ in range(4)]
        for sock in holders:
            sock.request_all(['x'] * 1000, self.bucket, mode='shared')
        client = self.client()
        waits, _ = client.request('x', self.bucket)
        for wanted in (True, False):
            for sock in holders:
                sock.wait_for(lambda s=sock: len(s.wanted) >= 1000, what='WANTED')
                self.assertEqual(sorted(sock.wanted), [(key, wanted) for key in range(1, 1001)])
                sock.wanted.clear()
            if wanted:
                client.abort(waits, self.bucket)
        client.ping()
        for sock in holders:
            sock.sync()
            self.assertEqual(sock.wanted, [])


class Sockets(WantedCase):
    def setUp(self):
        super().setUp()
        self.raw, self.other = self.raw_client(descriptors=True), self.client()
        self.sock = self.lock_socket(self.raw)
        self.held, _ = self.sock.request('x', self.bucket)

    def test_on_the_socket(self):
        for _ in range(20):
            waits, _ = self.other.request('x', self.bucket)
            self.sock.wait_for(lambda: self.sock.wanted, what='WANTED')
            self.other.abort(waits, self.bucket)
            self.sock.wait_for(lambda: len(self.sock.wanted) > 1, what='no longer WANTED')
            self.assertEqual(self.sock.wanted, [(self.held, True), (self.held, False)])
            self.sock.wanted.clear()
        self.raw.ping()
        self.assertEqual(self.raw.wanted, [])

    def test_live(self):
        self.other.request('x', self.bucket)
        self.sock.wait_for(lambda: self.sock.wanted, what='WANTED')
        again = self.lock_socket(self.raw)
        self.assertEqual([(entry.key, entry.wanted) for entry in again.live], [(self.held, 1)])
        again.sync()
        self.assertEqual(again.wanted, [])

    def test_the_socket_is_closed(self):
        """What follows comes on the bus."""
        self.sock.close()
        waits, _ = self.other.request('x', self.bucket)
        id_ = self.raw.resync()[0][1]
        self.other.abort(waits, self.bucket)
        self.raw.wait_for(lambda: self.raw.wanted[-1:] == [(id_, False)], what='Wanted')


class Floods(WantedCase):
    """Requests and aborts in turns: at most one unread notification of each lock."""

    def flood(self, count=ROUNDS):
        """The last one waits."""
        client = self.client()
        for _ in range(count):
            client.abort(client.request('x', self.bucket)[0], self.bucket)
        client.request('x', self.bucket)
        client.ping()

    def test_a_socket_that_is_not_read(self):
        sock = self.lock_socket()
        held, _ = sock.request('x', self.bucket)
        self.flood()
        sock.wait_for(lambda: sock.wanted and sock.wanted[-1] == (held, True), what='WANTED')
        sock.sync()
        self.assertLessEqual(len(sock.wanted), 3)
        self.assertEqual(sock.wanted[-1], (held, True))
        # It is notified again of what comes when it has read.
        self.flood(1)
        sock.wait_for(lambda: sock.wanted[-1] == (held, True), what='WANTED')

    def test_a_stopped_process(self):
        process = self.process_client()
        held, _ = process.request('x', self.bucket)
        process.stop()
        try:
            self.flood()
        finally:
            process.signal(signal.SIGCONT)
        process.wait_for(lambda: process.wanted and process.wanted[-1] == (held, True), what='Wanted')
        process.ping()
        self.assertLessEqual(len(process.wanted), 3)
        self.assertEqual(process.wanted[-1], (held, True))

    def test_a_client_that_answers_no_ping(self):
        """Is notified once."""
        raw = self.raw_client()
        raw.answers_pings = False
        held, _ = raw.request('x', self.bucket)
        self.flood(3)
        raw.wait_for(lambda: raw.pings(), what='Ping')
        raw.ping()
        self.assertEqual(raw.wanted, [(held, True)])
        raw.answer_pings()
        client = self.client()
        client.query()
        raw.answers_pings = True


class Restart(StateCase):
    """The next instance notifies the holders again."""

    def test_killed(self):
        self.start()
        a, b = self.raw_client(descriptors=True), self.raw_client(descriptors=True)
        sock = self.lock_socket(a)
        x, _ = b.request('x')
        y, _ = sock.request('y')
        b.request('y')
        sock.request('x')
        b.wait_for(lambda: b.wanted == [(x, True)], what='Wanted')
        sock.wait_for(lambda: sock.wanted == [(y, True)], what='WANTED')
        self.restart()
        b.wait_for(lambda: b.wanted == [(x, True)] * 2, what='Wanted')
        self.assertEqual([line[7] for line in b.resync()], [True, False])
        again = self.lock_socket(a)
        self.assertEqual([(entry.key, entry.wanted) for entry in again.live], [(y, 1), (y + 1, 0)])
        again.abort(y + 1)
        b.wait_for(lambda: b.wanted[-1] == (x, False), what='no longer Wanted')
