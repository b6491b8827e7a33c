# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The service is killed and restarted: a pause, unless its state is lost."""

import threading

from harness_python import Errors, PATIENCE, PythonTestCase, WebLocks, main, wait_for


class ServiceGone(PythonTestCase):
    def setUp(self):
        super().setUp()
        self.kill_and_restart()  # the previous one may have been without state

    def test_it_is_only_a_pause(self):
        lost, granted = [], []
        lock = self.manager.request_sync('x')
        lock.connect('lost', lambda _lock, error: lost.append(error.code))
        waiter = self.new_manager()
        waiter.request_async('x', None, None, lambda _source, result:
                             granted.append(waiter.request_finish(result)))
        self.wait_pending('x')
        for _ in range(3):
            self.kill_and_restart()
            self.assertEqual((self.held(), self.pending()), (['x'], ['x']))
        self.assertEqual((lost, granted, lock.held), ([], [], True))
        lock.release_sync()
        wait_for(lambda: granted, what='the lock')
        self.assertEqual(lost, [])
        granted.pop().release_sync()
        self.assert_nothing_left()

    def test_a_thread_that_waits(self):
        done = []

        def run():
            with self.manager.lock('x') as lock:
                done.append(lock.held)
        with self.new_manager().lock('x'):
            thread = threading.Thread(target=run, daemon=True)
            thread.start()
            self.wait_pending('x')
            self.kill_and_restart()
            self.assertEqual((self.pending(), done), (['x'], []))
        thread.join(PATIENCE)
        self.assertEqual(done, [True])
        self.assert_nothing_left()

    def test_without_its_state(self):
        lost = []
        lock = self.manager.request_sync('x')
        lock.connect('lost', lambda _lock, error: lost.append(error.code))
        self.kill_and_restart('--no-state')
        wait_for(lambda: lost, what='lost')
        self.assertEqual((lost, lock.held), ([WebLocks.Error.LOST], False))
        self.assert_fails(Errors.LOST, lock.release_sync)


if __name__ == '__main__':
    main()
