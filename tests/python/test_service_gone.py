# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The service is killed or exits during many operations, and returns: the application only notices a pause. With a
service that stores no state, held locks are lost."""

import os
import signal
import unittest

from harness_python import Errors, GLib, PythonTestCase, WebLocks, wait_for

from harness import Bus, RawClient, environment, pid_of
from rawbus import SERVICE

N_WAITS = 5


class Call(list):
    """An asynchronous call: it becomes a list of its result, or of its error."""

    def __init__(self, start, finish):
        super().__init__()
        self.finish = finish
        start(self.end)

    def end(self, _source, result):
        try:
            self.append(self.finish(result))
        except GLib.Error as error:
            self.append(error)

    def wait(self, what):
        wait_for(lambda: self, what=what)
        return self[0]


class ServiceGone(PythonTestCase):
    """`lock` is waited for, and operations of every kind are in progress."""

    def setUp(self):
        super().setUp()
        self.kill_and_restart()  # the one before may have been without state

    def request(self, name):
        return Call(lambda done: self.manager.request_async(name, None, None, done), self.manager.request_finish)

    def begin(self):
        self.lock, self.second = [self.manager.request_sync(name, None, None) for name in ('a', 'b')]
        self.monitor_of_bucket = WebLocks.Monitor.new_sync(self.manager)
        self.losses, self.notified = {}, []
        for lock in (self.lock, self.second):
            lock.connect('lost', lambda lock, error: self.losses.setdefault(lock.get_name(), []).append(error.code))
            lock.connect('notify::held', lambda lock, _pspec: self.notified.append(lock.get_name()))
        self.waits = [self.request('a') for _ in range(N_WAITS)]
        self.wait_pending(*N_WAITS * ['a'])

    def call(self):
        """Makes calls that this service may not answer."""
        manager = self.manager
        self.calls = [
            self.request('c'),
            Call(lambda done: manager.query_async(None, done), manager.query_finish),
            Call(lambda done: manager.inspect_async(None, None, done), manager.inspect_finish),
            Call(lambda done: self.second.release_async(None, done), self.second.release_finish),
            Call(lambda done: manager.request_many_async(['x', 'y'], None, None, done), manager.request_many_finish)]
        while GLib.MainContext.default().iteration(False):
            pass
        self.monitor.position()

    def check_calls(self):
        """They have succeeded, as if nothing had happened."""
        lock, query, inspection, released, locks = [call.wait('the end of a call') for call in self.calls]
        self.assertEqual([type(result) for result in (lock, query, inspection)],
                         [WebLocks.Lock, WebLocks.Snapshot, WebLocks.Snapshot])
        self.assertEqual((released, [each.get_name() for each in locks]), (True, ['x', 'y']))
        self.assertNotIn('b', self.losses)

    def check_waits(self, token=0):
        """They are granted one after the other, after the lock with this token."""
        for number, wait in enumerate(self.waits):
            lock = wait.wait(f'grant {number}')
            self.assertEqual(self.waits[number + 1:], [[]] * (N_WAITS - number - 1))
            self.assertGreater(lock.get_token(), token)
            token = lock.get_token()
            lock.release_sync(None)

    def check_held(self):
        rival = self.new_manager()
        self.manager.query_sync(None)
        self.assertIsNone(rival.request_sync('a', WebLocks.Options(if_available=True), None))
        self.assertEqual((self.lock.get_held(), self.losses), (True, {}))
        self.lock.release_sync(None)
        self.check_waits(self.lock.get_token())
        self.check_again()

    def check_lost(self, *locks):
        for lock in locks:
            name = lock.get_name()
            wait_for(lambda: name in self.losses, what=f'the loss of {name}')
            self.assertEqual((self.losses[name], self.notified.count(name), lock.get_held()), ([Errors.LOST], 1, False))
            self.assert_fails(Errors.LOST, lock.release_sync, None)
            self.assert_error_is(lock.get_error(), Errors.LOST)

    def check_again(self):
        """The same agent continues with the next service."""
        again = self.manager.request_sync('a', None, None)
        self.assertGreater(again.get_token(), self.lock.get_token())
        self.assertIn('a', self.held())
        again.release_sync(None)

    def test_it_is_only_a_pause(self):
        self.begin()
        self.daemon.pause()
        self.call()
        self.kill_and_restart()
        self.check_calls()
        for _ in range(3):
            self.kill_and_restart()
        self.check_held()

    def test_killed_without_state(self):
        """What waits, and calls without an answer, are sent again."""
        self.begin()
        self.daemon.pause()
        self.call()
        self.kill_and_restart('--no-state')
        self.check_calls()
        self.check_lost(self.lock)
        self.check_waits()
        self.assertEqual(self.losses, {'a': [Errors.LOST]})

    def test_stopped(self):
        self.begin()
        self.daemon.stop()
        self.call()
        type(self).daemon = self.start_service()
        self.assertEqual((self.lock.get_held(), self.losses), (True, {}))
        self.lock.release_sync(None)
        self.check_waits(self.lock.get_token())
        for call in self.calls:
            call.wait('the end of a call, with any result')

    def test_stopped_without_state(self):
        """It notifies clients of their losses before it exits."""
        self.kill_and_restart('--no-state')
        self.begin()
        self.daemon.stop()
        self.check_lost(self.lock, self.second)
        for wait in self.waits:
            self.assert_error_is(wait.wait('the end of a request'), Errors.UNAVAILABLE)
        type(self).daemon = self.start_service()
        self.check_again()

    def test_replaced(self):
        self.kill_and_restart('--replace')
        self.begin()
        self.call()
        replaced = self.daemon
        type(self).daemon = self.start_service('--replace')
        self.assertEqual(replaced.wait_exit(), 0)
        self.check_calls()
        self.check_held()


class Activation(unittest.TestCase):
    """The bus starts the service, which exits when idle: an agent with locks or requests has it started again."""

    def kill(self):
        """Without any message after the kill, the service is started again. It may also have been leaving, as idle,
        when the last request came, and the next one not be there yet."""
        old = wait_for(lambda: pid_of(self.control, SERVICE), what='the service')
        os.kill(old, signal.SIGKILL)
        wait_for(lambda: pid_of(self.control, SERVICE) not in (None, old), what='the return of the service')

    def test_started_again_for_held_locks(self):
        # Only dbus-daemon starts services without systemd.
        bus = Bus('dbus-daemon')
        bus.add_service_file(f'{environment("WEBLOCKSD")} --state-dir={bus.runtime}/state --idle-exit=0.02')
        bus.start()
        self.addCleanup(bus.stop)
        self.control = RawClient(bus.address)
        self.addCleanup(self.control.close)
        holder, waiter = [WebLocks.Manager.new(WebLocks.Agent(address=bus.address), 'b') for _ in range(2)]
        for manager in (holder, waiter):
            self.addCleanup(manager.get_agent().close)
        losses = []
        lock = holder.request_sync('a', None, None)
        lock.connect('lost', lambda _lock, error: losses.append(error.code))
        self.kill()
        waiting = Call(lambda done: waiter.request_async('a', None, None, done), waiter.request_finish)
        wait_for(lambda: len(waiter.query_sync(None).get_pending()) == 1, what='the request')
        for _ in range(5):
            self.kill()
        waiter.query_sync(None)
        self.assertEqual((waiting, lock.get_held()), ([], True))
        lock.release_sync(None)
        waiting.wait('the grant').release_sync(None)
        self.assertEqual(losses, [])
