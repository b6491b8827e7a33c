# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""What expiry-model.h says, compared with real servers: when they delete the node of a session whose client was cut off, alone
or together with its server. The clients were idle, so that something is read every second; busy; or quiet, as a
client of ZooKeeper is that sends nothing but pings."""

import os
import re
import time

import tap
from buses import FACTOR, TEST_ALL, read_text
from engines import EngineCase, EngineClient
from ensemble import DOCUMENTED_SYNC_TICKS, DOCUMENTED_TICK_MS, ask

TIMEOUTS = (15, 20, 40) if TEST_ALL else (15,)
PINGS_AFTER = max(TIMEOUTS) / 3
# In seconds: how late pings of the leader, and what this test observes, may be; and how long an election may take
# when the followers have noticed the end of the leader, which they do after syncLimit.
LATE = 0.5 * FACTOR
ELECTION = DOCUMENTED_SYNC_TICKS * DOCUMENTED_TICK_MS / 1e3 + 15 * FACTOR
# As in the model, in seconds: the leader pings its followers PINGS times in a tick, so it knows of a message that a
# follower has got after this time at most.
MODEL = read_text(os.path.join(os.path.dirname(__file__), 'expiry-model.h'))
PINGS = int(re.search(r'EXPIRY_PINGS +(\d+)', MODEL)[1])
TICK = DOCUMENTED_TICK_MS / 1e3
DELAY = TICK / PINGS + LATE


class Subject(EngineClient):
    """A client that will be cut off. `messages` are the times at which its server has got one."""

    def __init__(self, kind, timeout, server, root, place):
        program = 'WEBLOCKS_QUIET_ENGINE_CLIENT' if kind == 'quiet' else 'WEBLOCKS_ENGINE_CLIENT'
        super().__init__(server.address, root, timeout * 1000, place=place, program=program)
        self.kind, self.timeout, self.place = kind, timeout, place
        self.name = f'{kind}, {timeout} s'
        self.messages = []
        self.n_received = None
        self.node = None

    def work(self):
        if self.kind == 'busy':
            self.send('renew')
        self.pump(0)


class Expiry(EngineCase):
    size = 3
    in_network = True
    sync_ticks = DOCUMENTED_SYNC_TICKS
    tick_ms = DOCUMENTED_TICK_MS

    def tearDown(self):
        self.network.restore()
        self.ensemble.restore()

    def begin(self, server):
        """Clients of each kind with each time-out, and one that sees when their nodes are deleted."""
        others = ','.join(other.address for other in self.ensemble.servers if other is not server)
        self.watcher = self.client(others, timeout_ms=40000).joined('watcher')
        self.path = self.name_path(self.watcher)
        self.subjects = []
        for kind in ('idle', 'busy', 'quiet'):
            for timeout in TIMEOUTS:
                subject = Subject(kind, timeout, server, self.root, self.network.add())
                self.addCleanup(subject.end)
                self.subjects.append(subject.joined(kind))
                subject.node = subject.claim(self.path)
        self.watcher.ask('sync', self.path)
        for subject in self.subjects:
            self.assert_ok(self.watcher.ask('watch', self.path, subject.node))

    def observe(self, server):
        """Notes when the server gets messages, for as long as a quiet client sends none."""
        end = time.monotonic() + PINGS_AFTER + 2

        def is_quiet():
            now = time.monotonic()
            return all(now >= subject.messages[-1] + subject.timeout / 3 - 1
                       for subject in self.subjects if subject.kind == 'quiet')
        while time.monotonic() < end and not (self.subjects[0].messages and is_quiet()):
            received = dict(re.findall(r'/([\d.]+):.*?recved=(\d+)',
                                       ask(server.place.address, server.port, b'cons')))
            now = time.monotonic()
            for subject in self.subjects:
                subject.work()
                if received.get(subject.place.address) != subject.n_received:
                    subject.n_received = received.get(subject.place.address)
                    subject.messages.append(now)
            time.sleep(0.02)

    def check(self, cut_us, predict):
        """Each node is deleted when the model says."""
        deleted = {}

        def note():
            now = time.monotonic()
            for path, claim in self.watcher.changes:
                if path == self.path:
                    deleted.setdefault(claim, now - cut_us)
            return len(deleted) == len(self.subjects)
        self.watcher.wait_for(note, max(TIMEOUTS) + ELECTION + 10, 'the end of the sessions')
        for subject in self.subjects:
            earliest, latest = predict(subject)
            measured = deleted[subject.node]
            text = (f'{subject.name}: after {measured:.2f} s; the model: from {earliest:.2f} to '
                    f'{latest:.2f} s')
            tap.diagnostic(text)
            self.assertTrue(earliest - LATE <= measured <= latest + LATE, text)

    def predict(self, subject, cut, delay):
        """The range of a client whose leader stays. It has touched the session after the last message of which it
        certainly knows, and at the latest when it got to know of the last one."""
        ages = [cut - at for at in subject.messages]
        told = min(age for age in ages if age >= delay)
        return subject.timeout - told, subject.timeout - max(ages[-1] - delay, 0) + TICK

    def test_with_a_follower(self):
        """They are cut off together."""
        server = self.ensemble.followers()[0]
        self.begin(server)
        self.observe(server)
        self.network.split(server.place, *(subject.place for subject in self.subjects))
        cut = time.monotonic()
        self.check(cut, lambda subject: self.predict(subject, cut, DELAY))

    def check_alone(self, server, delay):
        self.begin(server)
        self.observe(server)
        for subject in self.subjects:
            self.network.cut_off(subject.place)
        cut = time.monotonic()
        self.check(cut, lambda subject: self.predict(subject, cut, delay))

    def test_from_a_follower(self):
        self.check_alone(self.ensemble.followers()[0], DELAY)

    def test_from_the_leader(self):
        self.check_alone(self.ensemble.leader(), 0)

    def test_with_the_leader(self):
        server = self.ensemble.leader()
        self.begin(server)
        self.observe(server)
        self.network.split(server.place, *(subject.place for subject in self.subjects))
        self.check(time.monotonic(),
                   lambda subject: (subject.timeout, subject.timeout + ELECTION + TICK))
