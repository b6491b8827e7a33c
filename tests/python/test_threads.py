# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Locks in threads: with a main loop in another thread, without one, with separate contexts."""

import threading

from harness_python import PATIENCE, GLib, PythonTestCase, WebLocks

ROUNDS = 50

# A thread drops locks that have attributes, with the lock of the interpreter. Meanwhile the main thread uses objects
# with attributes, for which PyGObject needs that lock, too, when the library references them. A third thread makes
# both wait for it.
DROPPING = '''
import gi, os, sys, threading
gi.require_version('WebLocks', '1')
from gi.repository import Gio, GLib, WebLocks

def with_attribute(thing):
    thing.attribute = None
    return thing

manager, other = (WebLocks.Manager.new(WebLocks.Agent.new(Gio.BusType.SESSION, None), os.environ['BUCKET'])
                  for _ in range(2))
is_over = threading.Event()

def drop():
    for _ in range(100):
        locks = [with_attribute(manager.request_sync(f'x{i}')) for i in range(5)]
        locks.clear()
    is_over.set()
    GLib.idle_add(loop.quit)

def spin():
    while not is_over.is_set():
        pass

sys.setswitchinterval(1e-4)
loop = GLib.MainLoop()
threading.Thread(target=spin).start()
thread = threading.Thread(target=drop, daemon=True)
%s
thread.join()
'''
CANCELLABLE = '''
thread.start()
while not is_over.is_set():
    manager.request_sync('y', None, with_attribute(Gio.Cancellable())).release()
'''
NOTIFIED = '''
lock = with_attribute(manager.request_sync('y'))
lock.connect('notify::wanted', print)

def want():
    while not is_over.is_set():
        try:
            other.request_sync('y', WebLocks.Options(timeout=1))
        except GLib.Error:
            pass

threading.Thread(target=want).start()
thread.start()
loop.run()
'''
STOLEN = '''
handle = with_attribute(manager.prepare('y'))

def steal():
    while not is_over.is_set():
        handle.enter_sync()
        other.request_sync('y', WebLocks.Options(steal=True)).release()
        handle.leave()

threading.Thread(target=steal, daemon=True).start()
thread.start()
loop.run()
'''

# Here the other thread makes managers, with the same lock: their agent is the one with an attribute.
DEFAULT = '''
def make():
    for _ in range(12000):
        WebLocks.Manager()
    is_over.set()

def get():
    return WebLocks.Agent.dup_default(Gio.BusType.SESSION)

agent = get()
thread = threading.Thread(target=make, daemon=True)
thread.start()
while not is_over.is_set():
    with_attribute(get())
'''


class Threads(PythonTestCase):
    def start(self, function, *args):
        """A thread whose exception fails the test; a daemon, so that a hang is only a failure."""
        def run():
            try:
                function(*args)
            except BaseException as error:
                self.errors.append(error)
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def setUp(self):
        super().setUp()
        self.errors = []

    def join(self, *threads):
        for thread in threads:
            thread.join(PATIENCE)
            self.assertFalse(thread.is_alive(), f'a thread hangs; errors: {self.errors}')
        self.assertEqual(self.errors, [])

    def count(self, manager, inside):
        for _ in range(ROUNDS):
            with manager.lock('x') as lock:
                inside.append(None)
                self.assertEqual((len(inside), lock.held), (1, True))
                inside.pop()

    def test_threads_with_an_agent_each(self):
        inside = []

        def run():
            context = GLib.MainContext.new()
            context.push_thread_default()
            agent = WebLocks.Agent(address=self.bus.address)
            self.count(WebLocks.Manager.new(agent, self.bucket), inside)
            agent.close()
            context.pop_thread_default()
        self.join(*[self.start(run) for _ in range(4)])
        self.assert_nothing_left()

    def test_threads_that_share_a_manager(self):
        inside = []
        self.join(*[self.start(self.count, self.manager, inside) for _ in range(4)])
        self.assert_nothing_left()

    def test_main_thread_waits_for_a_thread(self):
        entered = threading.Event()

        def hold():
            with self.manager.lock('x'):
                entered.set()
                self.wait_pending_in_thread()
        thread = self.start(hold)
        self.assertTrue(entered.wait(PATIENCE))
        with self.manager.lock('x') as lock:
            self.assertTrue(lock.held)
        self.join(thread)
        self.assert_nothing_left()

    def wait_pending_in_thread(self):
        # With the same manager, with which another thread waits.
        while not self.manager.query_sync().pending:
            pass

    def test_last_reference_dropped_in_a_thread(self):
        for _ in range(ROUNDS):
            locks = [self.manager.request_sync('x')]
            self.join(self.start(locks.clear))
            self.wait_held()

    def check_dropping(self, main):
        process = self.script(DROPPING % main)
        process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0)

    def test_cancellables_with_attributes(self):
        self.check_dropping(CANCELLABLE)

    def test_default_agents_with_attributes(self):
        self.check_dropping(DEFAULT)

    def test_notified_locks_with_attributes(self):
        self.check_dropping(NOTIFIED)

    def test_stolen_handles_with_attributes(self):
        self.check_dropping(STOLEN)
