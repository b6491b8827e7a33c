# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Monitors are updated by signals of operations, and then show what Inspect replies, with all details.
WEBLOCKS_TEST_SEED repeats a run."""

import os
import random

from harness_python import Errors, Gio, GLib, PythonTestCase, WebLocks, diagnostic, wait_for

AGENTS, REQUESTS, STEPS = 4, 16, 800
SEED = int(os.environ.get('WEBLOCKS_TEST_SEED', random.randrange(1 << 32)))
DETAILS = ('client-id', 'name', 'mode', 'held', 'id', 'token', 'pid', 'uid', 'why', 'slots', 'position')


def describe(lists):
    return [[(*(info.get_property(detail) for detail in DETAILS), info.get_blocked_by()) for info in infos]
            for infos in (lists.get_held(), lists.get_pending())]


class Slot:
    """A request or lock, or an empty slot."""

    def __init__(self, case):
        self.case, self.chance = case, case.chance
        self.lock = self.cancellable = None
        self.is_pending = False

    def on_request(self, manager, result):
        self.is_pending, self.cancellable = False, None
        try:
            self.lock = manager.request_finish(result)
        except GLib.Error as error:
            if not (error.matches(Gio.io_error_quark(), Gio.IOErrorEnum.CANCELLED)
                    or error.matches(WebLocks.error_quark(), Errors.TIMEOUT)):
                self.case.errors.append(error)

    def request(self, manager):
        options = WebLocks.Options(why=self.chance.choice('012'))
        if self.chance.randrange(8) == 0:
            options.set_steal(True)
        else:
            self.cancellable = Gio.Cancellable()
            if self.chance.randrange(2) == 0:
                options.set_mode(WebLocks.Mode.SHARED)
            else:
                options.set_slots(self.chance.randrange(1, 4))
            if self.chance.randrange(4) == 0:
                options.set_timeout(1)
        self.is_pending = True
        manager.request_async(options.get_why(), options, self.cancellable, self.on_request)

    def step(self, managers):
        if self.lock and self.chance.randrange(3) == 0:
            self.lock.downgrade_async(None, None)
        elif self.lock:
            self.lock.release()
            self.lock = None
        elif not self.is_pending:
            self.request(self.chance.choice(managers))
        elif self.cancellable:
            self.cancellable.cancel()


class MonitorRandom(PythonTestCase):
    def assert_equal(self, monitors):
        shown = inspected = None

        def is_equal():
            nonlocal shown, inspected
            shown, inspected = [describe(each) for each in monitors], describe(self.manager.inspect_sync(None, None))
            return shown == [inspected] * len(monitors)
        try:
            wait_for(is_equal, what='the monitors')
        except TimeoutError:
            self.assertEqual(shown, [inspected] * len(monitors), f'seed {SEED}')

    def test_holders_in_the_order_of_their_grants(self):
        monitors = WebLocks.Monitor.new_sync(self.manager), WebLocks.Monitor.new_all_sync(self.new_agent())
        older, stealer, waiting = [self.new_manager() for _ in range(3)]
        lost = self.manager.request_sync('x')
        granted, results = [], []
        older.request_async('x', WebLocks.Options(mode=WebLocks.Mode.SHARED), None,
                            lambda manager, result: granted.append(manager.request_finish(result)))
        wait_for(lambda: self.manager.query_sync().pending, what='the older request')
        stolen = stealer.request_sync('x', WebLocks.Options(steal=True))
        waiting.request_async('x', None, None, lambda manager, result: results.append(result))
        stolen.downgrade_sync(None)
        wait_for(lambda: granted, what='the grant of the older request')
        expected = [manager.agent.client_id for manager in (stealer, older)]
        for restart in (lambda: None, self.kill_and_restart):
            restart()
            self.assert_equal(monitors)
            self.assertEqual(monitors[0].get_pending()[0].get_blocked_by(), expected)
        self.assertFalse(lost.held)

    def test_random_operations(self):
        diagnostic(f'seed {SEED}')
        self.chance, self.errors = random.Random(SEED), []
        context = GLib.MainContext.default()
        monitors = WebLocks.Monitor.new_sync(self.manager), WebLocks.Monitor.new_all_sync(self.new_agent())
        managers = [self.new_manager() for _ in range(AGENTS)]
        slots = [Slot(self) for _ in range(REQUESTS)]
        for number in range(STEPS):
            self.chance.choice(slots).step(managers)
            if self.chance.randrange(3) == 0:
                while context.iteration(False):
                    pass
            if number == STEPS // 2:
                self.kill_and_restart()
            if number % 40 == 39:
                self.assert_equal(monitors)
        for slot in slots:
            if slot.lock or slot.is_pending:
                slot.step(managers)
        for slot in slots:
            wait_for(lambda: not slot.is_pending, what='the end of a request')
            if slot.lock:
                slot.lock.release()
        self.assert_equal(monitors)
        self.assertEqual(self.errors, [])
