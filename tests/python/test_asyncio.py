# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""`async with manager.lock()` and the awaitable calls, with plain asyncio."""

import asyncio
import os
import random
import threading
import time

from harness_python import FACTOR, Errors, Gio, GLib, PythonTestCase, WebLocks, diagnostic

from gi.overrides import WebLocks as override

STORM_TASKS = 300


class AsyncTestCase(PythonTestCase):
    def run_async(self, coroutine):
        """asyncio.run(), after which no lock or request remains."""
        result = asyncio.run(asyncio.wait_for(coroutine, 50 * FACTOR))
        self.assertEqual(override.pumps, {})
        context = GLib.MainContext.default()
        self.assertFalse(context.is_owner())
        return result

    async def until(self, condition):
        """Queries the service in another thread, while the loop runs."""
        deadline = time.monotonic() + 20 * FACTOR
        while not condition():
            self.assertLess(time.monotonic(), deadline, f'state: {self.state()}')
            await asyncio.sleep(0.005)

    async def assert_raises_error(self, code, awaitable):
        with self.assertRaises(GLib.Error) as caught:
            await awaitable
        self.assert_error_is(caught.exception, code)


class Calls(AsyncTestCase):
    def test_lock(self):
        async def body():
            async with self.manager.lock('x', mode='shared', why='to see') as lock:
                self.assertEqual((lock.name, lock.held), ('x', True))
                self.assertEqual(self.state(), ([('x', 'shared', self.agent.client_id)], []))
            self.assertFalse(lock.held)
            self.assert_nothing_left()
        self.run_async(body())

    def test_downgrade(self):
        async def body():
            async with self.manager.lock('x', slots=2) as lock:
                await lock.downgrade()
                self.assertEqual(lock.mode, WebLocks.Mode.SHARED)
                async with self.manager.lock('x', mode='shared') as reader:
                    self.assertTrue(reader.held)
            await self.assert_raises_error(Errors.NOT_HELD, lock.downgrade())
            self.assert_nothing_left()
        self.run_async(body())

    def test_all_awaitables(self):
        async def body():
            lock = await self.manager.request('b', why='to see')
            self.assertIsInstance(lock, WebLocks.Lock)
            self.assertIsNone(await self.manager.request('b', if_available=True))
            self.assertIsNone(await self.manager.request_many(['a', 'b'], if_available=True))
            self.assertEqual(await self.manager.request_many([]), [])
            locks = await self.manager.request_many(iter(['c', 'a']))
            self.assertEqual([each.name for each in locks], ['a', 'c'])
            snapshot = await self.manager.query()
            self.assertEqual(sorted(info.name for info in snapshot.held), ['a', 'b', 'c'])
            self.assertEqual((await self.manager.inspect('b')).held[0].why, 'to see')
            other, = await self.manager.request_many(['d'], command='rsync (pid 12)')
            self.assertEqual((await self.manager.inspect('d')).held[0].who, 'rsync')
            other.release()
            async with self.manager.lock('d', command='tar (pid 34)'):
                self.assertEqual((await self.manager.inspect('d')).held[0].who_pid, 34)
            other = await self.manager.request('d', command='cp (pid 56)')
            self.assertEqual((await self.manager.inspect('d')).held[0].who_pid, 56)
            await other.release_and_wait()
            self.assertEqual(len((await self.manager.inspect()).held), 3)
            self.assertEqual([each.get_bucket() for each in await self.agent.list_observable()],
                             [self.bucket])
            self.assertEqual(await self.manager.break_locks('none'), 0)
            monitor = await WebLocks.Monitor.new(self.manager)
            self.assertEqual(len(monitor.held), 3)
            of_all = await WebLocks.Monitor.new_all(self.agent)
            self.assertEqual([(info.manager.bucket, info.name) for info in of_all.held],
                             [(self.bucket, info.name) for info in monitor.held])
            for each in [lock, *locks]:
                await each.release_and_wait()
            await self.assert_raises_error(Errors.NOT_HELD, lock.release_and_wait())
            # A monitor is updated while the loop runs.
            await self.until(lambda: len(monitor.held) == 0 and len(of_all.held) == 0)
        self.run_async(body())

    def test_errors(self):
        self.other.request('x', bucket=self.bucket)

        async def body():
            await self.assert_raises_error(Errors.TIMEOUT, self.manager.request('x', timeout=0.01))
            await self.assert_raises_error(Errors.NOT_SUPPORTED, self.manager.request('-'))
            with self.assertRaises(ValueError):
                await self.manager.request('x', timeout=-1)
            cancellable = Gio.Cancellable()
            task = asyncio.create_task(self.manager.request('x', cancellable=cancellable))
            await self.until(lambda: self.pending() == ['x'])
            cancellable.cancel()
            with self.assertRaises(GLib.Error) as caught:
                await task
            self.assertTrue(caught.exception.matches(Gio.io_error_quark(),
                                                     Gio.IOErrorEnum.CANCELLED))
            await self.until(lambda: not self.pending())
        self.run_async(body())

    def test_lost_in_the_body(self):
        async def body():
            reasons = []
            with self.assertRaises(GLib.Error) as caught:
                async with self.manager.lock('x') as lock:
                    lock.connect('lost', lambda _lock, error: reasons.append(error))
                    self.other.steal('x', bucket=self.bucket)
                    # The signal is emitted while the body awaits something else.
                    await self.until(lambda: reasons)
            self.assert_error_is(caught.exception, Errors.STOLEN)
            self.assertEqual([error.code for error in reasons], [WebLocks.Error.STOLEN])
            with self.assertRaises(ZeroDivisionError):
                async with self.manager.lock('y'):
                    self.other.steal('y', bucket=self.bucket)
                    raise ZeroDivisionError
            async with self.manager.lock('z') as lock:
                await lock.release_and_wait()
        self.run_async(body())

    def test_left_while_the_service_is_stopped(self):
        async def body():
            async with self.manager.lock('x'):
                self.daemon.pause()
        self.addCleanup(self.daemon.resume)
        asyncio.run(asyncio.wait_for(body(), 12 * FACTOR))
        self.daemon.resume()
        self.assert_nothing_left()

    def test_not_available_runs_the_body_with_none(self):
        self.other.request('x', bucket=self.bucket)

        async def body():
            async with self.manager.lock('x', if_available=True) as lock:
                self.assertIsNone(lock)
            async with self.manager.lock('y', if_available=True) as lock:
                self.assertTrue(lock.held)
            async with self.manager.lock('x', steal=True) as lock:
                self.assertTrue(lock.held)
        self.run_async(body())


class Loops(AsyncTestCase):
    def test_idle_loop_does_not_poll(self):
        self.other.request('x', bucket=self.bucket)

        async def body():
            task = asyncio.create_task(self.manager.request('x'))
            await self.until(lambda: self.pending() == ['x'])
            pump, = override.pumps[threading.get_ident()]
            steps = []
            step = pump._step_kicked
            pump._step_kicked = lambda: (steps.append(None), step())
            used = time.process_time()
            await asyncio.sleep(0.5)
            used = time.process_time() - used
            diagnostic(f'{used * 1000:.1f} ms of processor in 500 ms, {len(steps)} steps')
            self.assertLess(len(steps), 3)  # one may still have been due
            self.assertLess(used, 0.1)
            self.assertEqual([thread.name for thread in threading.enumerate()
                              if thread.name.startswith('weblocks')], [])
            task.cancel()
        self.run_async(body())

    def test_other_sources_of_the_main_context(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        self.addCleanup(os.close, writer)

        async def body():
            fired = asyncio.Event()
            GLib.timeout_add(50, fired.set)
            await self.manager.query()
            await asyncio.wait_for(fired.wait(), 20 * FACTOR)

            # A descriptor that stays readable, although its source has been removed.
            fired.clear()
            GLib.unix_fd_add_full(GLib.PRIORITY_DEFAULT, reader, GLib.IOCondition.IN,
                                  lambda *_: fired.set())
            await self.manager.query()
            os.write(writer, b'x')
            await asyncio.wait_for(fired.wait(), 20 * FACTOR)
            # One more step may still be due.
            await self.manager.query()
            pump, = override.pumps[threading.get_ident()]
            self.assertNotIn(reader, pump._poller._fds)
            used = time.process_time()
            await asyncio.sleep(0.3)
            self.assertLess(time.process_time() - used, 0.1)
        self.run_async(body())

    def test_loops_in_several_threads(self):
        inside = []
        errors = []

        async def body():
            for _ in range(25):
                async with self.manager.lock('x'):
                    inside.append(None)
                    self.assertEqual(len(inside), 1)
                    await asyncio.sleep(0)
                    inside.pop()

        def run():
            try:
                asyncio.run(asyncio.wait_for(body(), 40 * FACTOR))
            except BaseException as error:
                errors.append(error)
        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        self.assert_nothing_left()

    def test_with_a_glib_main_loop_in_another_thread(self):
        loop = GLib.MainLoop()
        thread = threading.Thread(target=loop.run)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(loop.quit)

        async def body():
            here = threading.get_ident()
            for _ in range(20):
                async with self.manager.lock('x') as lock:
                    self.assertTrue(lock.held)
                    self.assertEqual(threading.get_ident(), here)
            task = asyncio.create_task(self.manager.request('y'))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
        # In debug mode asyncio reports calls from a wrong thread.
        asyncio.run(asyncio.wait_for(body(), 40 * FACTOR), debug=True)
        self.assert_nothing_left()


class Cancellation(AsyncTestCase):
    def test_waiting_task(self):
        self.other.request('x', bucket=self.bucket)

        async def body():
            task = asyncio.create_task(self.manager.request('x'))
            await self.until(lambda: self.pending() == ['x'])
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            await self.until(lambda: not self.pending())
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(self.manager.request('x'), 0.05)
            await self.until(lambda: not self.pending())
        self.run_async(body())

    def test_at_every_step_of_a_request(self):
        """Cancelled after n steps of the loop: a lock is returned, or released."""
        ways = [lambda name: self.manager.request(name),
                lambda name: self.manager.request(name, if_available=True),
                lambda name: self.manager.request(name, steal=True),
                lambda name: self.manager.request(name, timeout=20),
                lambda name: self.manager.request_many([name, name + '2']),
                lambda name: self.manager.request_many([name, name + '2'], if_available=True)]

        async def body(way):
            completed = 0
            for steps in range(60):
                task = asyncio.create_task(way('x'))
                for _ in range(steps):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait([task])
                if task.cancelled():
                    continue
                completed += 1
                locks = task.result()
                # None: a lock that was granted too late is being released.
                for lock in locks if isinstance(locks, list) else [locks]:
                    if lock is not None:
                        lock.release()
            return completed
        for number, way in enumerate(ways):
            with self.subTest(way=number):
                completed = self.run_async(body(way))
                diagnostic(f'way {number}: {completed} of 60 were granted before the cancellation')
                # The context is no longer iterated, and yet no lock remains.
                self.assert_nothing_left()

    def test_loop_ends_immediately(self):
        async def body():
            tasks = [asyncio.create_task(request) for number in range(50) for request in (
                self.manager.request(f'a{number}'),
                self.manager.request(f'b{number}', if_available=True),
                self.manager.request(f'c{number}', steal=True),
                self.manager.request_many([f'd{number}', f'e{number}']))]
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            # asyncio.run() cancels them.
            return len(tasks)
        self.assertEqual(self.run_async(body()), 200)
        self.assert_nothing_left()

    def test_loop_ends_in_the_middle_of_a_request(self):
        """Only a request that can be cancelled: no task awaits the service's answer."""
        async def body(steps):
            task = asyncio.create_task(self.manager.request('x'))
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
        for steps in range(20):
            self.run_async(body(steps))
            self.assert_nothing_left()

    def test_service_that_does_not_answer(self):
        """Cancelling is prompt, and so is, within a second, the end of the loop."""
        async def body():
            self.daemon.pause()
            try:
                task = asyncio.create_task(self.manager.request('x'))
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(task, 0.05)
            except BaseException:
                self.daemon.resume()
                raise
        began = time.monotonic()
        try:
            self.run_async(body())
        finally:
            self.daemon.resume()
        self.assertLess(time.monotonic() - began, 10 * FACTOR)
        # The next call reads the late answer, and releases the lock.
        self.manager.query_sync()
        self.wait_held()


class Many(AsyncTestCase):
    def random_cancellations(self, seed):
        chance = random.Random(seed)
        counts = {'done': 0, 'cancelled': 0, 'raised': 0, 'unavailable': 0}
        inside = []

        async def task(number):
            options = chance.choice([{}, {}, {}, {'timeout': 30}, {'if_available': True}])
            async with self.manager.lock('x', **options) as lock:
                if lock is None:
                    counts['unavailable'] += 1
                    return
                self.assertEqual(inside, [])
                inside.append(number)
                try:
                    await asyncio.sleep(chance.random() * 0.002)
                    if chance.random() < 0.1:
                        raise ZeroDivisionError
                finally:
                    inside.pop()

        async def body():
            tasks = [asyncio.create_task(task(number)) for number in range(STORM_TASKS)]
            for _ in range(STORM_TASKS // 2):
                await asyncio.sleep(chance.random() * 0.002)
                chance.choice(tasks).cancel()
            for result in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(result, asyncio.CancelledError):
                    counts['cancelled'] += 1
                elif isinstance(result, ZeroDivisionError):
                    counts['raised'] += 1
                else:
                    self.assertIsNone(result)
                    counts['done'] += 1
        self.run_async(body())
        diagnostic(f'seed {seed}: {counts}')
        self.assert_nothing_left()
        self.assertGreater(counts['cancelled'], 0)
        self.assertGreater(counts['done'], 0)

    def test_random_cancellations(self):
        for seed in range(5):
            with self.subTest(seed=seed):
                self.random_cancellations(seed)
