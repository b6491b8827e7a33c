# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Every synchronous function of the library returns in bounded time, when the service is stopped and when the bus
does not answer; and a release that could not be answered in time takes effect later. All functions wait at the same
time, each in its own thread; no main loop runs.

test_bounds.py MAP"""

import os
import re
import socket
import sys
import threading
import time

from harness_python import FACTOR, Errors, Gio, PythonTestCase, WebLocks, wait_for

from buses import read_text

MAP = os.path.abspath(sys.argv.pop(1))
# As documented, and what a busy machine may take more.
BOUND, SLACK = 25, 20 * FACTOR
IF_AVAILABLE, STEAL = WebLocks.Options(if_available=True), WebLocks.Options(steal=True)

# What it waits for: the service or the bus, or the bus of the environment.
SERVICE, BUS, BOTH, ENVIRONMENT = {'service'}, {'bus'}, {'service', 'bus'}, {'environment'}
# The name, the call with an agent, a manager of it and a lock, and what it waits for. A request may wait for as long
# as somebody has the lock, so a handle is only entered without a bus.
FUNCTIONS = [
    ('g_initable_init', lambda agent, manager, lock: agent.init(None), BUS),
    ('g_initable_init', lambda *_: WebLocks.Agent(bus_type=Gio.BusType.SYSTEM).init(None), ENVIRONMENT),
    ('web_locks_agent_list_observable_sync', lambda agent, manager, lock: agent.list_observable_sync(None), BOTH),
    ('web_locks_handle_enter_sync', lambda agent, manager, lock: manager.prepare('name').enter_sync(None), BUS),
    ('web_locks_lock_downgrade_sync', lambda agent, manager, lock: lock.downgrade_sync(None), SERVICE),
    ('web_locks_lock_release_sync', lambda agent, manager, lock: lock.release_sync(None), SERVICE),
    ('web_locks_manager_break_sync', lambda agent, manager, lock: manager.break_sync('name', None, None), BOTH),
    ('web_locks_manager_inspect_sync', lambda agent, manager, lock: manager.inspect_sync(None, None), BOTH),
    ('web_locks_manager_query_sync', lambda agent, manager, lock: manager.query_sync(None), BOTH),
    ('web_locks_manager_request_many_sync',
     lambda agent, manager, lock: manager.request_many_sync(['name', 'other'], IF_AVAILABLE, None), BOTH),
    ('web_locks_manager_request_sync',
     lambda agent, manager, lock: manager.request_sync('name', IF_AVAILABLE, None), BOTH),
    ('web_locks_manager_request_sync', lambda agent, manager, lock: manager.request_sync('name', STEAL, None), BOTH),
    ('web_locks_monitor_new_sync', lambda agent, manager, lock: WebLocks.Monitor.new_sync(manager, None), BOTH),
    ('web_locks_monitor_new_all_sync', lambda agent, manager, lock: WebLocks.Monitor.new_all_sync(agent, None), BOTH),
]


class Run(threading.Thread):
    """A call with an agent of its own, which is new, or has a lock of that name."""

    def __init__(self, function, where, address, bucket, lock=None):
        super().__init__(daemon=True)
        self.name, self.call, _waits_for = function
        self.where = where
        self.agent = WebLocks.Agent(address=address)
        self.manager = WebLocks.Manager.new(self.agent, bucket)
        self.lock = self.manager.request_sync(lock, None, None) if lock else None
        self.error = None

    def run(self):
        began = time.monotonic()
        try:
            self.call(self.agent, self.manager, self.lock)
        except Exception as error:
            self.error = error
        self.took = time.monotonic() - began


class Bounds(PythonTestCase):
    def ask_for(self, name):
        """A list that gets the lock when it is granted to another client."""
        granted = []
        waiter = self.new_manager()
        waiter.request_async(name, None, None, lambda _source, result: granted.append(waiter.request_finish(result)))
        self.wait_pending(name)
        return granted

    def test_every_function(self):
        silent = socket.socket(socket.AF_UNIX)
        self.addCleanup(silent.close)
        silent.bind(os.path.join(self.bus.directory, 'silent'))
        silent.listen(128)
        address = f'unix:path={silent.getsockname()}'
        runs = [Run(function, 'an open socket', self.bus.address, self.bucket,
                    'held' if 'release' in function[0] else str(number))
                for number, function in enumerate(FUNCTIONS) if 'service' in function[2]]
        granted = self.ask_for('held')
        self.daemon.pause()
        self.addCleanup(self.daemon.resume)
        runs += [Run(function, 'a new agent', self.bus.address, self.bucket)
                 for function in FUNCTIONS if 'service' in function[2] and '_lock_' not in function[0]]
        runs += [Run(function, 'a silent bus', address, self.bucket)
                 for function in FUNCTIONS if function[2] != SERVICE]
        # The environment must not change while threads read it.
        before = os.environ.get('DBUS_SYSTEM_BUS_ADDRESS')
        os.environ['DBUS_SYSTEM_BUS_ADDRESS'] = address
        for run in runs:
            run.start()
        for run in runs:
            run.join(BOUND + SLACK)
            self.assertFalse(run.is_alive(), f'{run.name} with {run.where} has not ended')
        if before is not None:
            os.environ['DBUS_SYSTEM_BUS_ADDRESS'] = before
        for run in runs:
            with self.subTest(f'{run.name} with {run.where}'):
                self.assertTrue(BOUND - 1 < run.took < BOUND + SLACK, run.took)
                self.assert_error_is(run.error, Errors.UNAVAILABLE)
            run.agent.close()
        self.assertEqual(granted, [])
        self.daemon.resume()
        wait_for(lambda: granted, what='the lock that was released')
        granted.pop().release_sync(None)

    def test_all_are_tested(self):
        exported = set(re.findall(r'\w+_sync\b', read_text(MAP)))
        self.assertGreater(len(exported), 8)
        self.assertEqual(exported - {name for name, _call, _waits_for in FUNCTIONS}, set())

    def test_killed_before_the_release(self):
        """The service has not read the release, and the next one restores the lock: it is released all the same."""
        lock = self.manager.request_sync('a', None, None)
        granted = self.ask_for('a')
        self.daemon.pause()
        errors = []
        lock.release_async(None, lambda _source, result: errors.append(
            self.assert_fails(Errors.UNAVAILABLE, lock.release_finish, result)))
        wait_for(lambda: errors, timeout=BOUND + SLACK, what='the end of the release')
        self.assertEqual((lock.get_held(), lock.get_error(), granted), (False, None, []))
        self.kill_and_restart()
        wait_for(lambda: granted, what='the lock')
        self.assertEqual(self.held(), ['a'])
        granted.pop().release_sync(None)
