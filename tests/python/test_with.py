# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""`with manager.lock()`, in the main thread; attributes, lists and reprs."""

import select
import signal
import threading
import time

from harness_python import FACTOR, Errors, Gio, GLib, PythonTestCase, WebLocks, wait_exit, wait_for

from rawbus import RawClient
from tap import WHO

# Waits for `name` in the bucket of the environment; prints the result.
WAITER = '''
import os, select, signal, sys, gi
gi.require_version('WebLocks', '1')
from gi.repository import Gio, GLib, WebLocks
seen = []

# Python handles a signal between two steps; one that comes just before a sleep doesn't interrupt
# it.
def wait_for_the_end():
    while not select.select([sys.stdin], [], [], 0.1)[0]:
        pass

# In background processes of a shell it is ignored, and so in their children.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGUSR1, lambda *_: seen.append('SIGUSR1'))
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
manager = WebLocks.Manager(bucket=os.environ['BUCKET'])

def wait():
    print('ready', flush=True)
    try:
        with manager.lock('name') as lock:
            print('granted', *seen, flush=True)
            wait_for_the_end()
    except KeyboardInterrupt:
        print('interrupted', flush=True)
        wait_for_the_end()
%s
'''
IN_CALLBACK = '''
ended = []
GLib.idle_add(lambda: ended.append(wait()))
while not ended:
    GLib.MainContext.default().iteration(True)
'''


class Body(PythonTestCase):
    def test_held_in_the_body_only(self):
        with self.manager.lock('x') as lock:
            self.assertEqual((lock.name, lock.mode, lock.held),
                             ('x', WebLocks.Mode.EXCLUSIVE, True))
            self.assertEqual(self.state(), ([('x', 'exclusive', self.agent.client_id)], []))
        self.assert_nothing_left()
        self.assertFalse(lock.held)

    def test_options(self):
        with self.manager.lock('x', mode='shared', why='to read'), \
             self.manager.lock('x', mode=WebLocks.Mode.SHARED):
            infos = self.manager.inspect_sync(None).held
            self.assertEqual([(info.mode, info.why) for info in infos],
                             [(WebLocks.Mode.SHARED, 'to read'), (WebLocks.Mode.SHARED, '')])
        self.assert_nothing_left()

    def test_body_that_raises(self):
        with self.assertRaises(ZeroDivisionError):
            with self.manager.lock('x'):
                raise ZeroDivisionError
        self.assert_nothing_left()

    def test_body_that_returns_or_breaks(self):
        def body():
            with self.manager.lock('x'):
                return self.held()
        self.assertEqual(body(), ['x'])
        for _ in range(2):
            with self.manager.lock('y'):
                break
        self.assert_nothing_left()

    def test_not_available_runs_the_body_with_none(self):
        self.other.request('x', bucket=self.bucket)
        ran = []
        with self.manager.lock('x', if_available=True) as lock:
            ran.append(lock)
        self.assertEqual(ran, [None])
        self.assertEqual(self.state(), ([('x', 'exclusive', self.other.name)], []))

    def test_steal(self):
        id_, _token = self.other.request('x', bucket=self.bucket)
        with self.manager.lock('x', steal=True) as lock:
            self.assertTrue(lock.held)
            self.other.wait_released(id_, 'stolen')

    def test_timeout_is_in_seconds(self):
        self.other.request('x', bucket=self.bucket)
        began = time.monotonic()
        with self.assertRaises(GLib.Error) as caught:
            with self.manager.lock('x', timeout=0.25):
                self.fail('the body ran')
        self.assert_error_is(caught.exception, Errors.TIMEOUT)
        self.assertGreaterEqual(time.monotonic() - began, 0.25)
        self.assertEqual(self.pending(), [])

    def test_timeout_of_zero_does_not_wait_indefinitely(self):
        self.other.request('x', bucket=self.bucket)
        with self.assertRaises(GLib.Error) as caught:
            with self.manager.lock('x', timeout=0):
                self.fail('the body ran')
        self.assert_error_is(caught.exception, Errors.TIMEOUT)
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
        before, meanwhile = Gio.Cancellable(), Gio.Cancellable()
        before.cancel()
        control = RawClient(self.bus.address)
        self.addCleanup(control.close)

        def cancel_when_pending():
            while not control.query(self.bucket)[1]:
                pass
            meanwhile.cancel()
        thread = threading.Thread(target=cancel_when_pending)
        for cancellable in (before, meanwhile):
            if cancellable is meanwhile:
                thread.start()
            with self.assertRaises(GLib.Error) as caught:
                with self.manager.lock('x', cancellable=cancellable):
                    self.fail('the body ran')
            self.assertTrue(caught.exception.matches(Gio.io_error_quark(),
                                                     Gio.IOErrorEnum.CANCELLED))
        thread.join()
        self.wait_pending()
        with self.manager.lock('y', cancellable=Gio.Cancellable()) as lock:
            self.assertTrue(lock.held)


class Signals(PythonTestCase):
    """Ctrl-C and other handlers while the main thread of a script waits."""

    def waiter(self, start='wait()'):
        process = self.script(WAITER % start)
        self.assertEqual(process.stdout.readline(), 'ready\n')
        self.wait_pending('name')
        return process

    def read_line(self, process):
        """Fails if there is none within half of the library's time-out."""
        ready, _, _ = select.select([process.stdout], [], [], 12 * FACTOR)
        self.assertTrue(ready, 'the process has printed nothing')
        return process.stdout.readline()

    def setUp(self):
        super().setUp()
        self.first, _token = self.other.request('name', bucket=self.bucket)

    def test_interrupt_ends_the_wait_and_the_request(self):
        process = self.waiter()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.stdout.readline(), 'interrupted\n')
        # The process continues, but its request has ended.
        self.wait_pending()
        process.stdin.close()
        self.assertEqual(wait_exit(process), 0)

    def test_handler_that_raises(self):
        process = self.waiter()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(wait_exit(process), 7)

    def test_position_in_the_queue_after_a_handler(self):
        process = self.waiter()
        second = self.client()
        second.request('name', bucket=self.bucket)
        process.send_signal(signal.SIGUSR1)
        self.other.release(self.first, bucket=self.bucket)
        self.assertEqual(process.stdout.readline(), 'granted SIGUSR1\n')
        process.stdin.close()
        self.assertEqual(wait_exit(process), 0)
        wait_for(lambda: self.state()[0] == [('name', 'exclusive', second.name)], what='grant')

    def test_interrupt_of_the_body_releases(self):
        process = self.waiter()
        self.other.release(self.first, bucket=self.bucket)
        self.assertEqual(process.stdout.readline(), 'granted\n')
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.stdout.readline(), 'interrupted\n')
        self.wait_held()
        process.stdin.close()
        self.assertEqual(wait_exit(process), 0)

    def test_interrupt_of_the_body_while_the_service_is_stopped(self):
        """The body is left, and so is the `with`; the lock is released when the service continues,
        while the process goes on."""
        process = self.waiter()
        second = self.client()
        second.request('name', bucket=self.bucket)
        self.other.release(self.first, bucket=self.bucket)
        self.assertEqual(process.stdout.readline(), 'granted\n')
        self.daemon.pause()
        self.addCleanup(self.daemon.resume)
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.read_line(process), 'interrupted\n')
        self.daemon.resume()
        wait_for(lambda: self.state() == ([('name', 'exclusive', second.name)], []),
                 what='the grant of the next request')
        self.assertIsNone(process.poll())
        process.stdin.close()
        self.assertEqual(wait_exit(process), 0)

    def test_interrupt_within_a_callback_of_the_main_loop(self):
        process = self.waiter(IN_CALLBACK)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.stdout.readline(), 'interrupted\n')
        self.wait_pending()
        process.stdin.close()
        self.assertEqual(wait_exit(process), 0)

    def test_lock_within_a_callback_of_the_main_loop(self):
        got = []

        def callback():
            with self.manager.lock('name') as lock:
                got.append(lock.held)
        GLib.idle_add(callback)
        other = self.script('import gi, os, sys\n'
                            'gi.require_version("WebLocks", "1")\n'
                            'from gi.repository import WebLocks\n'
                            'manager = WebLocks.Manager(bucket=os.environ["BUCKET"])\n'
                            'lock = manager.request_sync("second")\n'
                            'print("ready", flush=True)\n'
                            'while not manager.query_sync().pending: pass\n'
                            'manager.request_sync("name", WebLocks.Options(steal=True))\n')
        self.assertEqual(other.stdout.readline(), 'ready\n')
        wait_for(lambda: got, what='lock')
        self.assertEqual(got, [True])


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
