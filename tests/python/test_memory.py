# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""After many rounds, neither the memory of this process nor the reference counts have grown.

Without a monitor, which would store all messages in this process."""

import asyncio
import gc
import unittest

from harness_python import WebLocks, diagnostic, run_async

from buses import Bus, full_size, status_kib
from harness import Service
from rawbus import RawClient

ROUNDS = full_size(4_000, 10_000)
# One object leaked in each round would be several times that.
SLACK_KIB = 512
# PyGObject 3.42 leaks some 130 bytes with each call that has an asynchronous callback, in any
# library.
PYGOBJECT_LEAK = 160


def resident_kib():
    gc.collect()
    return status_kib('self', 'VmRSS:')


class Memory(unittest.TestCase):
    def setUp(self):
        self.bus = Bus().start()
        self.addCleanup(self.bus.stop)
        control = RawClient(self.bus.address)
        self.addCleanup(control.close)
        self.service = Service(self.bus)
        self.addCleanup(self.service.end)
        self.service.wait_ready(control)
        self.agent = WebLocks.Agent(address=self.bus.address)
        self.addCleanup(self.agent.close)
        self.manager = WebLocks.Manager.new(self.agent, 'memory')

    def held(self):
        return [info.get_name() for info in self.manager.query_sync().get_held()]

    def assert_flat(self, function, rounds, held=(), async_calls=0):
        for _ in range(rounds // 10):
            function()
        before = resident_kib()
        objects = len(gc.get_objects())
        counts = self.manager.__grefcount__, self.agent.__grefcount__
        for _ in range(rounds):
            function()
        after = resident_kib()
        diagnostic(f'{self.id()}: {before} KiB, after {rounds} rounds {after} KiB')
        self.assertLess(after - before, SLACK_KIB + rounds * async_calls * PYGOBJECT_LEAK / 1024)
        self.assertEqual((self.manager.__grefcount__, self.agent.__grefcount__), counts)
        self.assertLess(len(gc.get_objects()) - objects, 100)
        self.assertEqual(self.held(), list(held))

    def test_request_and_release(self):
        options = WebLocks.Options(why='again and again')
        self.assert_flat(lambda: self.manager.request_sync('x', options).release_sync(), ROUNDS)

    def test_with(self):
        def body():
            with self.manager.lock('x', why='again'):
                pass
        self.assert_flat(body, ROUNDS)

    def test_async_callbacks(self):
        def body():
            lock = run_async(lambda done: self.manager.request_async('x', None, None, done),
                             self.manager.request_finish)
            run_async(lambda done: lock.release_async(None, done), lock.release_finish)
        self.assert_flat(body, ROUNDS // 5, async_calls=2)

    def test_asyncio(self):
        async def rounds(count):
            for _ in range(count):
                async with self.manager.lock('x'):
                    pass
        # Each with a separate loop, and thus a separate pump.
        self.assert_flat(lambda: asyncio.run(rounds(20)), ROUNDS // 50, async_calls=40)

    def test_asyncio_cancelled(self):
        taken = WebLocks.Manager.new(WebLocks.Agent(address=self.bus.address),
                                     'memory').request_sync('taken')

        async def cancelled(count):
            for _ in range(count):
                task = asyncio.create_task(self.manager.request('taken'))
                await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait([task])
        # The requests, and two queries at the end.
        self.assert_flat(lambda: asyncio.run(cancelled(20)), ROUNDS // 50, held=['taken'],
                         async_calls=22)
        taken.release_sync()

    def test_none(self):
        taken = self.manager.request_sync('taken')
        options = WebLocks.Options(if_available=True)

        def body():
            self.assertIsNone(self.manager.request_sync('taken', options))
            self.assertEqual(self.manager.request_many_sync(['a', 'taken'], options), [])
        self.assert_flat(body, ROUNDS // 5, held=['taken'])
        taken.release_sync()

    def test_snapshots(self):
        def body():
            list(self.manager.inspect_sync(None).get_held())
            list(self.manager.query_sync().get_held())
        self.assert_flat(body, ROUNDS // 5)
