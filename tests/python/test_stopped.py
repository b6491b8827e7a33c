# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A service that is stopped (SIGSTOP): time-outs expire nevertheless, and operations that need no reply do not wait.
And more simultaneous requests than it grants, or reads, at a time: each gets a reply soon."""

import time

from harness_python import FACTOR, Errors, GLib, PythonTestCase, WebLocks, run_async, wait_for

TIMEOUT_MS = 100
# The library's own time-out is 250 ms after the service's; a machine may stall.
LATEST = 5 * FACTOR
N_REQUESTS = 10_000
PER_CLIENT = 1024  # the service's default limit


class StoppedCase(PythonTestCase):
    def pause(self):
        self.daemon.pause()
        self.addCleanup(self.daemon.resume)


class Stopped(StoppedCase):
    def assert_times_out(self, function, *arguments):
        began = time.monotonic()
        self.assert_fails(Errors.TIMEOUT, function, *arguments)
        passed = time.monotonic() - began
        self.assertTrue(TIMEOUT_MS / 1000 <= passed < LATEST, passed)

    def check_time_out(self, prepare):
        """Of an agent that was prepared while the service ran."""
        agent = WebLocks.Agent(address=self.bus.address)
        self.addCleanup(agent.close)
        manager = WebLocks.Manager.new(agent, self.bucket)
        prepare(manager)
        self.pause()
        options = WebLocks.Options(timeout=TIMEOUT_MS)
        self.assert_times_out(manager.request_sync, 'a', options, None)
        self.assert_times_out(run_async, lambda done: manager.request_async('b', options, None, done),
                              manager.request_finish)
        self.daemon.resume()
        self.assert_nothing_left()
        manager.request_sync('a', None, None).release_sync(None)

    def test_time_out(self):
        self.check_time_out(lambda manager: manager.request_sync('before', None, None).release_sync(None))

    def test_time_out_when_connected(self):
        self.check_time_out(lambda manager: manager.get_agent().init(None))

    def test_time_out_when_new(self):
        self.check_time_out(lambda manager: None)

    def test_many_time_outs(self):
        """Each has its own."""
        self.manager.request_sync('before', None, None).release_sync(None)
        self.pause()
        ended = []

        def on_end(manager, result, timeout):
            self.assert_fails(Errors.TIMEOUT, manager.request_finish, result)
            ended.append(timeout)
        for timeout in range(200, 0, -10):
            self.manager.request_async('a', WebLocks.Options(timeout=timeout), None, on_end, timeout)
        wait_for(lambda: len(ended) == 20, what='all time-outs')
        self.assertEqual(sorted(ended), list(range(10, 210, 10)))
        self.daemon.resume()
        self.assert_nothing_left()

    def test_dropped(self):
        """More than the kernel queues: the rest is sent when there is space."""
        locks = [self.manager.request_sync(str(number), None, None) for number in range(1000)]
        self.pause()
        began = time.monotonic()
        locks.clear()
        self.assertLess(time.monotonic() - began, LATEST)
        self.daemon.resume()
        self.assert_nothing_left()

    def test_closed(self):
        """A program that exits does not wait."""
        lock = self.manager.request_sync('a', None, None)
        self.pause()
        began = time.monotonic()
        self.agent.close()
        del lock
        self.assertLess(time.monotonic() - began, LATEST)
        self.daemon.resume()
        self.assert_nothing_left()


class Burst(StoppedCase):
    def burst(self, manager, count=N_REQUESTS, **options):
        """Makes all requests. The lists get the locks, and the refusals."""
        locks, refused = [], []

        def on_end(manager, result):
            try:
                locks.append(manager.request_finish(result))
            except GLib.Error as error:
                self.assert_error_is(error, Errors.LIMITS)
                self.assertIn('requestsPerClient', error.message)
                refused.append(error)
        for number in range(count):
            manager.request_async(f'of the burst {number}', WebLocks.Options(**options), None, on_end)
        return locks, refused

    def check(self, manager, locks, refused, before=(), count=N_REQUESTS):
        wait_for(lambda: len(locks) + len(refused) == count, what='all answers')
        self.assertEqual(len(locks), PER_CLIENT - len(before))
        self.assertTrue(all(lock.get_held() for lock in (*locks, *before)))
        for lock in (*locks, *before):
            lock.release()
        manager.query_sync(None)

    def test_first_calls(self):
        """Of an agent that is not connected; the service does not reply before all are made, and then the socket has
        room for them."""
        count = 2000
        other = self.new_manager().request_sync('others', None, None)
        agent = WebLocks.Agent(address=self.bus.address)
        self.addCleanup(agent.close)
        manager = WebLocks.Manager.new(agent, self.bucket)
        self.pause()
        ended = self.burst(manager, count)
        self.daemon.resume()
        self.check(manager, *ended, count=count)
        self.assertTrue(other.get_held())
        self.wait_held('others')

    def test_of_an_agent_that_holds_something(self):
        """With time-outs."""
        before = [self.manager.request_sync(f'held before {number}', None, None) for number in range(10)]
        self.check(self.manager, *self.burst(self.manager, timeout=60_000), before)
        self.assert_nothing_left()

    def test_followed_by_a_synchronous_call(self):
        """The main context does not run, so that call sends what the service has not read, and reads the answers; and
        calls nobody."""
        self.manager.request_sync('before', None, None).release_sync(None)
        self.pause()
        locks, refused = self.burst(self.manager)
        self.daemon.resume()
        self.assertEqual(len(self.manager.query_sync(None).get_held()), PER_CLIENT)
        self.assertEqual((locks, refused), ([], []))
        self.check(self.manager, locks, refused)
        self.assert_nothing_left()
