# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""`with manager.lock()`; attributes, lists and reprs. Signals are in test_terminal.py."""

import threading
import time

from harness_python import FACTOR, PATIENCE, Errors, Gio, GLib, PythonTestCase, WebLocks, wait_for

from tap import WHO


class Body(PythonTestCase):
    def test_options(self):
        with self.manager.lock('x', mode='shared', why='to read') as lock, \
             self.manager.lock('x', mode=WebLocks.Mode.SHARED):
            self.assertEqual((lock.name, lock.mode, lock.held), ('x', WebLocks.Mode.SHARED, True))
            infos = self.manager.inspect_sync(None).held
            self.assertEqual([(info.mode, info.why) for info in infos],
                             [(WebLocks.Mode.SHARED, 'to read'), (WebLocks.Mode.SHARED, '')])
        self.assert_nothing_left()
        self.assertFalse(lock.held)

    def test_body_that_raises_or_returns(self):
        def body():
            with self.manager.lock('x'):
                return self.held()
        self.assertEqual(body(), ['x'])
        with self.assertRaises(ZeroDivisionError):
            with self.manager.lock('x'):
                raise ZeroDivisionError
        self.assert_nothing_left()

    def test_not_available_runs_the_body_with_none_and_steal(self):
        id_, _token = self.other.request('x', bucket=self.bucket)
        ran = []
        with self.manager.lock('x', if_available=True) as lock:
            ran.append(lock)
        self.assertEqual(ran, [None])
        with self.manager.lock('x', steal=True) as lock:
            self.assertTrue(lock.held)
            self.other.wait_released(id_, 'stolen')

    def test_timeout_is_in_seconds_and_zero_is_not_indefinite(self):
        self.other.request('x', bucket=self.bucket)
        for timeout in (0.25, 0):
            began = time.monotonic()
            with self.assertRaises(GLib.Error) as caught:
                with self.manager.lock('x', timeout=timeout):
                    self.fail('the body ran')
            self.assert_error_is(caught.exception, Errors.TIMEOUT)
            self.assertGreaterEqual(time.monotonic() - began, timeout)
        self.assertEqual(self.pending(), [])
        with self.manager.lock('y', timeout=float('inf')):
            pass

    def test_invalid_arguments(self):
        for wrong, error in (({'timeout': -1}, ValueError), ({'timeout': float('nan')}, ValueError),
                             ({'timeout': 'soon'}, TypeError), ({'mode': 'upgradable'}, ValueError),
                             ({'mode': None}, ValueError), ({'reason': ''}, TypeError)):
            with self.subTest(wrong=wrong), self.assertRaises(error):
                self.manager.lock('x', **wrong)

    def test_entering_twice(self):
        scope = self.manager.lock('x')
        with scope:
            with self.assertRaises(RuntimeError):
                with scope:
                    self.fail('the body ran')
            self.assertEqual(self.held(), ['x'])
        self.assert_nothing_left()
        with scope as lock:
            self.assertTrue(lock.held)
        self.assert_nothing_left()

    def test_stolen_in_the_body(self):
        with self.assertRaises(GLib.Error) as caught:
            with self.manager.lock('x') as lock:
                self.other.steal('x', bucket=self.bucket)
                self.other.ping()
                went_on = True
        self.assertTrue(went_on)
        self.assert_error_is(caught.exception, Errors.STOLEN)
        self.assertFalse(lock.held)
        self.assertEqual(self.state(), ([('x', 'exclusive', self.other.name)], []))

    def test_released_in_the_body(self):
        with self.manager.lock('x') as lock:
            lock.release_sync()
            self.assert_nothing_left()
        with self.manager.lock('x') as lock:
            lock.release()
            self.assertFalse(lock.held)
            self.assert_nothing_left()

    def test_left_while_the_service_is_stopped(self):
        """Without waiting, and without a thread: also outside of the main thread."""
        left = []

        def run():
            with self.manager.lock('x'):
                self.daemon.pause()
            left.append(time.monotonic())
        self.addCleanup(self.daemon.resume)
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(12 * FACTOR)
        self.assertTrue(left, 'the with has not been left')
        self.daemon.resume()
        self.assert_nothing_left()

    def test_cancellable(self):
        self.other.request('x', bucket=self.bucket)
        cancellable = Gio.Cancellable()
        with self.manager.lock('y', cancellable=cancellable) as lock:
            self.assertTrue(lock.held)
        timer = threading.Timer(0.05, cancellable.cancel)
        timer.start()
        for _ in range(2):  # the second time it is cancelled before
            with self.assertRaises(GLib.Error) as caught:
                with self.manager.lock('x', cancellable=cancellable):
                    self.fail('the body ran')
            self.assertTrue(caught.exception.matches(Gio.io_error_quark(),
                                                     Gio.IOErrorEnum.CANCELLED))
        timer.join()
        self.wait_pending()


class Threads(PythonTestCase):
    """A thread that waits lets the others run."""

    def test_threads_that_share_a_manager(self):
        inside, errors = [], []

        def run():
            try:
                for _ in range(50):
                    with self.manager.lock('x') as lock:
                        inside.append(None)
                        self.assertEqual((len(inside), lock.held), (1, True))
                        inside.pop()
            except BaseException as error:
                errors.append(error)
        threads = [threading.Thread(target=run, daemon=True) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
            self.assertFalse(thread.is_alive(), f'a thread hangs; errors: {errors}')
        self.assertEqual(errors, [])
        self.assert_nothing_left()


class Attributes(PythonTestCase):
    def test_reprs(self):
        with self.manager.lock('a name', mode='shared') as lock:
            self.assertEqual(repr(lock), "<WebLocks.Lock 'a name' shared, held>")
            name = self.agent.client_id
            info = f"<WebLocks.LockInfo 'a name' shared, held by {name}>"
            self.assertEqual(repr(self.manager.query_sync()),
                             f'<WebLocks.Snapshot held=[{info}] pending=[]>')
        self.assertEqual(repr(lock), "<WebLocks.Lock 'a name' shared, not held>")
        self.assertEqual(repr(self.agent), f'<WebLocks.Agent {name}>')
        self.assertEqual(repr(self.manager), f'<WebLocks.Manager of bucket {self.bucket!r}>')
        default = WebLocks.Agent.dup_default(Gio.BusType.SESSION)
        self.assertEqual(repr(default), '<WebLocks.Agent not connected>')

    def test_monitor_is_iterable_and_live(self):
        monitor = WebLocks.Monitor.new_sync(self.manager)
        held = monitor.held
        self.assertEqual(list(held), [])
        with self.manager.lock('a'):
            wait_for(lambda: len(held) == 1, what='item')
            self.assertEqual([info.name for info in held], ['a'])
            self.assertEqual(held[0].client_id, self.agent.client_id)
        wait_for(lambda: len(held) == 0, what='no item')
        self.assertIs(monitor.manager, self.manager)

    def test_all_attributes_of_an_info(self):
        with self.manager.lock('a', why='to see') as lock:
            self.other.request('a', bucket=self.bucket)
            snapshot = self.manager.inspect_sync('a')
            info = snapshot.held[0]
            self.assertEqual((info.name, info.mode, info.held, info.client_id, info.token, info.why,
                              info.position, info.blocked_by),
                             ('a', WebLocks.Mode.EXCLUSIVE, True, self.agent.client_id, lock.token,
                              'to see', 0, []))
            self.assertTrue(info.process and info.pid > 0 and info.props.id > 0)
            self.assertEqual((info.who, info.who_pid), (WHO, info.pid))
            self.assertEqual(info.props.application, '')
            self.assertLess(abs(time.time() - info.since / 1e6), 60 * FACTOR)
            self.assertEqual(snapshot.pending[0].blocked_by, [self.agent.client_id])
