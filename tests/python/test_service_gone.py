# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The service is killed and restarted: only a pause."""

from harness_python import PythonTestCase, wait_for


class ServiceGone(PythonTestCase):
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
