# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Whether somebody waits for a lock: its property `wanted`."""

import signal

from harness_python import GLib, PythonTestCase, WebLocks, wait_for


class Wanted(PythonTestCase):
    def watch(self, lock):
        """A list of the values at each notification."""
        seen = []
        lock.connect('notify::wanted', lambda lock, _pspec: seen.append(lock.get_wanted()))
        return seen

    def lock(self, name):
        return self.manager.request_sync(name, None, None)

    def ask(self, client, name='a'):
        return client.request(name, bucket=self.bucket)[0]

    def test_request(self):
        lock, unrelated = self.lock('a'), self.lock('b')
        seen = self.watch(lock)
        self.assertFalse(lock.get_wanted())
        waiting = self.ask(self.other)
        wait_for(lambda: seen == [True], what='wanted')
        self.assertTrue(lock.props.wanted)
        self.other.abort(waiting, bucket=self.bucket)
        wait_for(lambda: seen == [True, False], what='not wanted')
        self.assertFalse(unrelated.get_wanted())

    def test_the_end_of_a_lock(self):
        """And the next holder of a lock that others wait for."""
        lock, manager = self.lock('a'), self.new_manager()
        granted = []
        for _ in range(2):
            manager.request_async('a', None, None, lambda _source, result: granted.append(
                manager.request_finish(result)))
        wait_for(lock.get_wanted, what='wanted')
        seen = self.watch(lock)
        lock.release()
        self.assertEqual(seen, [False])
        wait_for(lambda: len(granted) == 1 and granted[0].get_wanted(), what='the next holder')
        seen = self.watch(granted[0])
        self.manager.request_sync('a', WebLocks.Options(steal=True), None).release()
        wait_for(lambda: seen == [False], what='the loss')
        wait_for(lambda: len(granted) == 2, what='the last holder')
        manager.query_sync(None)
        self.assertFalse(granted[1].get_wanted())

    def test_without_a_main_loop(self):
        """What has arrived counts. If nobody listens, nothing is queued for the context."""
        context = GLib.MainContext.new()
        context.push_thread_default()
        lock = self.new_manager().request_sync('a', None, None)
        context.pop_thread_default()
        for _ in range(20):
            waiting = self.ask(self.other)
            wait_for(lock.get_wanted, what='wanted', every=0)
            self.other.abort(waiting, bucket=self.bucket)
            wait_for(lambda: not lock.get_wanted(), what='not wanted', every=0)
        seen = self.watch(lock)
        while context.iteration(False):
            pass
        self.assertEqual(seen, [])

    def test_restart(self):
        """The next service tells it again, or that it is so no more."""
        locks = self.lock('a'), self.lock('b')
        a, b = map(self.watch, locks)
        goes = self.client()
        self.ask(self.other)
        self.ask(goes, 'b')
        wait_for(lambda: (a, b) == ([True], [True]), what='wanted')
        self.daemon.signal(signal.SIGKILL)
        self.daemon.wait_exit()
        goes.close()
        type(self).daemon = self.start_service()
        wait_for(lambda: not locks[1].get_wanted(), what='not wanted')
        self.manager.query_sync(None)
        self.assertTrue(locks[0].get_wanted())
        wait_for(lambda: b == [True, False], what='the notification')
        self.assertEqual(a, [True])
