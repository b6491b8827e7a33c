# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Several locks in one call: all or none, without deadlocks."""

import threading

from harness_python import PATIENCE, Errors, Gio, GLib, PythonTestCase, WebLocks, wait_for

ROUNDS = 200


class Many(PythonTestCase):
    def ask(self, *names, cancellable=None):
        """Starts the call. The list gets the locks, or the error."""
        ended = []

        def on_end(manager, result):
            try:
                ended.append(manager.request_many_finish(result))
            except GLib.Error as error:
                ended.append(error)
        self.manager.request_many_async(names, None, cancellable, on_end)
        return ended

    def ask_for_a_and_b(self):
        """`b` is held by another client."""
        id_, _token = self.other.request('b', bucket=self.bucket)
        ended = self.ask('a', 'b')
        self.wait_pending('b')
        self.assertEqual((self.held(), ended), (['a', 'b'], []))
        return id_, ended

    def test_in_the_order_of_names(self):
        locks = self.manager.request_many_sync(['c', 'a', 'ä', 'B', 'c', '', 'ab', 'a'], None, None)
        names = [lock.get_name() for lock in locks]
        self.assertEqual(names, ['', 'B', 'a', 'ab', 'c', 'ä'])
        self.assertEqual(self.held(), names)
        # The list owns one reference of each, and there is no other.
        self.assertEqual([lock.__grefcount__ for lock in locks], len(names) * [1])
        del locks[1]
        self.wait_held(*[name for name in names if name != 'B'])
        del locks
        self.assert_nothing_left()
        self.assertEqual(self.manager.request_many_sync([], None, None), [])

    def test_waits(self):
        id_, ended = self.ask_for_a_and_b()
        self.other.release(id_, bucket=self.bucket)
        wait_for(lambda: ended, what='the locks')
        self.assertEqual([lock.get_name() for lock in ended[0]], ['a', 'b'])

    def test_none_if_one_is_not_available(self):
        self.other.request('b', bucket=self.bucket)
        options = WebLocks.Options(if_available=True)
        self.assertEqual(self.manager.request_many_sync(['a', 'b', 'c'], options, None), [])
        self.wait_held('b')

    def test_none_in_time(self):
        """One time-out for all: it continues while the first ones are granted."""
        self.other.request('b', bucket=self.bucket)
        self.assert_fails(Errors.TIMEOUT, self.manager.request_many_sync, ['a', 'b', 'c'],
                          WebLocks.Options(timeout=50), None)
        self.wait_held('b')

    def test_none_wherever_it_is_cancelled(self):
        """At every stage: before any grant, between two, after the last."""
        n_cancelled = steps = 0
        context = GLib.MainContext.default()
        while True:
            cancellable = Gio.Cancellable()
            ended = self.ask('a', 'b', 'c', cancellable=cancellable)
            for _ in range(steps):
                if not ended:
                    context.iteration(True)
            is_granted = bool(ended)
            cancellable.cancel()
            wait_for(lambda: ended, what='the end of the request')
            if isinstance(ended[0], GLib.Error):
                self.assertTrue(ended[0].matches(Gio.io_error_quark(), Gio.IOErrorEnum.CANCELLED), ended)
                n_cancelled += 1
            ended.clear()
            self.assert_nothing_left()
            steps += 1
            if is_granted:
                break
        self.assertGreater(n_cancelled, 0)

    def test_none_if_one_is_stolen_meanwhile(self):
        """The first one, while the second is waited for."""
        id_, ended = self.ask_for_a_and_b()
        self.client().steal('a', bucket=self.bucket)
        self.other.release(id_, bucket=self.bucket)
        wait_for(lambda: ended, what='the error')
        self.assert_error_is(ended[0], Errors.STOLEN)
        self.wait_held('a')

    def test_none_if_closed(self):
        _id, ended = self.ask_for_a_and_b()
        self.agent.close()
        wait_for(lambda: ended, what='the error')
        self.assert_error_is(ended[0], Errors.CLOSED)
        self.wait_held('b')

    def test_crossed_orders(self):
        """No deadlock."""
        wrong = []

        def take(manager, names, is_released):
            locks = manager.request_many_sync(names, None, None)
            wrong.extend(lock for lock in locks if not lock.get_held())
            for lock in locks if is_released else ():
                lock.release_sync(None)

        def run(manager, names):
            for number in range(ROUNDS):
                take(manager, names, number % 2)
        threads = [threading.Thread(target=run, args=(self.new_manager(), names), daemon=True)
                   for names in (['a', 'b'], ['b', 'a'])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
            self.assertFalse(thread.is_alive(), 'a deadlock')
        self.assertEqual(wrong, [])
        self.assert_nothing_left()
