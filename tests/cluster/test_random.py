# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Random decisions of a gateway, valid or not, beside random requests: whatever the gateway does, a
lock is granted only under a permit, and only once."""

import os
import random

import clusterpackets as packets
from clustercase import BUCKET, ClusterCase
from harness import DBusError, diagnostic, full_size, main

NAMES = ('x', 'y', 'z')
STEPS = full_size(400, 5000)


class Holders:
    """The locks that the client holds according to its signals and calls."""

    def __init__(self):
        self.held = {name: {} for name in NAMES}
        self.n_granted = 0

    def grant(self, name, id_, mode):
        others = self.held[name]
        if others and (mode == 'exclusive' or 'exclusive' in others.values()):
            raise AssertionError(f'{name}: {id_} ({mode}) was granted beside {others}')
        others[id_] = mode
        self.n_granted += 1

    def end(self, id_):
        for held in self.held.values():
            held.pop(id_, None)


class Random(ClusterCase):
    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get('WEBLOCKS_TEST_SEED', random.randrange(2 ** 32)))
        self.random = random.Random(self.seed)
        self.gateway = self.start_gateway()
        self.start()
        self.client = self.client()
        self.holders = Holders()
        self.waiting = {}  # id -> (name, mode)
        self.blocks = {name: set() for name in NAMES}
        self.n_seen = 0

    def process_signals(self):
        """Processes the signals that have arrived."""
        for event in self.client.events[self.n_seen:]:
            self.n_seen += 1
            if event.signal == 'Granted':
                name, mode, token = event.args[1], event.args[2], event.args[4]
                self.assertIn(token >> 20, self.blocks[name], event)
                self.waiting.pop(event.id, None)
                self.holders.grant(name, event.id, mode)
            elif event.signal == 'Released':
                self.assertIn(event.args[-1], ('stolen', 'lost'))
                self.waiting.pop(event.id, None)
                self.holders.end(event.id)

    # ---- the client

    def request(self):
        name, mode = self.random.choice(NAMES), self.random.choice(('exclusive', 'shared'))
        id_, token = self.client.request(name, BUCKET, mode=mode)
        self.client.sync()
        self.process_signals()
        if token:
            self.assertIn(token >> 20, self.blocks[name])
            self.holders.grant(name, id_, mode)
        else:
            self.waiting[id_] = name, mode

    def release(self):
        ids = [id_ for held in self.holders.held.values() for id_ in held]
        if not ids:
            return
        id_ = self.random.choice(ids)
        # Others can be granted as soon as it is sent: their signals come before the reply.
        self.holders.end(id_)
        try:
            self.client.release(id_, BUCKET)
        except DBusError as error:
            self.assertEqual(error.short, 'NotHeld')

    def abort(self):
        if self.waiting:
            id_ = self.random.choice(list(self.waiting))
            if self.client.abort(id_, BUCKET):
                del self.waiting[id_]

    # ---- the gateway

    def demand(self):
        return self.gateway.last.get(self.random.choice(NAMES))

    def permit(self):
        demand = self.demand()
        if demand is None:
            return
        mode = self.random.choice((packets.SHARED, packets.EXCLUSIVE))
        self.blocks[demand.name].add(self.gateway.block + 1)
        self.gateway.permit(demand, mode, seconds=self.random.choice((60, 60, 60, -1)))

    def decide(self):
        demand = self.demand()
        if demand is None:
            return
        self.gateway.send(self.random.choice((
            packets.yield_(demand.handle, 0), packets.yield_(demand.handle, 1),
            packets.revoked(demand.handle, packets.LOST), packets.revoked(demand.handle, packets.STOLEN),
            packets.reply(packets.BUSY, demand.handle, demand.number),
            packets.reply(packets.GONE, demand.handle, self.random.randint(1, demand.number)),
            packets.packet(packets.SYNCED))))

    def lease(self):
        self.gateway.lease(60, self.random.choice((packets.ACTIVE,) * 8 + (packets.LOST_SESSION,)))

    def reconnect(self):
        if self.gateway.connection is not None and self.random.random() < 0.2:
            self.gateway.disconnect()

    def test_random_decisions(self):
        steps = ([self.request] * 5 + [self.release] * 4 + [self.abort] + [self.permit] * 4
                 + [self.decide] * 3 + [self.lease, self.reconnect])
        try:
            for _ in range(STEPS):
                step = self.random.choice(steps)
                if self.gateway.connection is not None or step in (self.request, self.release, self.abort):
                    try:
                        step()
                    except (BrokenPipeError, ConnectionResetError):
                        pass  # weblocksd has closed the connection, and connects again
                self.client.sync()
                self.process_signals()
        except Exception as error:
            raise AssertionError(f'WEBLOCKS_TEST_SEED={self.seed}: {error}') from error
        # The service still runs, and lists the locks that the client was notified of.
        held = {entry[1] for entry in self.client.resync() if entry[5] != 0}
        self.client.sync()
        self.process_signals()
        self.assertEqual(held, {id_ for ids in self.holders.held.values() for id_ in ids},
                         f'WEBLOCKS_TEST_SEED={self.seed}')
        self.assertEqual(self.current.stop(), 0)
        diagnostic(f'{self.holders.n_granted} grants')
        self.assertGreater(self.holders.n_granted, STEPS // 200, f'WEBLOCKS_TEST_SEED={self.seed}')


if __name__ == '__main__':
    main()
