# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Clients that request and release locks without pause while the service is killed and restarted, and
check that nothing is lost, duplicated or out of order."""

import time

from calls import DBusError
from harness import PATIENCE, diagnostic
from rawbus import lock_call
from statecase import GONE, StateCase


class Worker:
    """A client that repeatedly acquires one of a few locks and releases it; calls without a reply
    are repeated, as by a library. Never blocks: step() does what can be done."""

    def __init__(self, case, number, names, holders):
        self.case, self.number, self.names, self.holders = case, number, names, holders
        self.raw = case.raw_client()
        self.turn = self.key = self.cycles = self.gone = self.refused = 0
        self.last_id = 0
        self.serial = self.id = None
        self.request()

    @property
    def name(self):
        return self.names[(self.number + self.turn) % len(self.names)]

    def request(self):
        self.state = 'asking'
        self.key += 1
        self.id = None
        self.send_call()

    def send_call(self):
        if self.state == 'asking':
            self.serial = self.raw.send(lock_call('Request', self.name, key=self.key))
        elif self.state == 'releasing':
            self.serial = self.raw.send(lock_call('Release', self.id))
        elif self.state == 'waiting':
            # The signal may be lost with the service that was to send it.
            self.serial = self.raw.send(lock_call('Request', self.name, key=self.key))

    def hold(self, token):
        tokens = self.case.tokens
        self.case.assertGreater(token, tokens.get(self.name, 0), self.name)
        tokens[self.name] = token
        self.case.assertNotIn(self.name, self.holders, f'{self.name} is held twice')
        self.holders[self.name] = self
        self.state = 'holding'

    def release_lock(self):
        del self.holders[self.name]
        self.state = 'releasing'
        self.send_call()

    def answered(self, result):
        if self.state in ('asking', 'waiting'):
            id_, token = result
            if self.state == 'asking':
                self.case.assertGreater(id_, self.last_id)
                self.last_id = self.id = id_
            self.case.assertEqual(id_, self.id)
            self.state = 'waiting'
            if token:
                self.hold(token)
        elif self.state == 'releasing':
            self.cycles += 1
            self.turn += 1
            self.request()

    def step(self):
        self.raw.pump()
        self.case.assertEqual(self.raw.signals('Released'), [])
        if self.serial is not None and self.serial in self.raw._replies:
            serial, self.serial = self.serial, None
            try:
                self.answered(self.raw.result(serial))
            except DBusError as error:
                self.failed(error)
        if self.state == 'waiting' and self.serial is None and self.raw.granted(self.id):
            self.hold(self.raw.signals('Granted', id=self.id)[0].args[4])
        if self.state == 'holding':
            self.release_lock()

    def failed(self, error):
        if self.state == 'releasing' and error.short == 'NotHeld' and self.gone:
            self.answered(())
            return
        if error.short == 'LimitsExceeded' and self.case.may_be_full and self.state == 'asking':
            self.refused += 1
        else:
            self.case.assertIn(error.short, GONE)
            self.gone += 1
        self.send_call()


class WorkCase(StateCase):
    """Many workers, and a service that may be killed at any time."""

    CLIENTS = 20
    may_be_full = False

    def setUp(self):
        super().setUp()
        self.tokens = {}
        self.holders = {}
        self.names = [f'{number}' for number in range(5)]
        self.workers = []

    def begin(self):
        self.workers = [Worker(self, number, self.names, self.holders)
                        for number in range(self.CLIENTS)]

    def work(self, until, what):
        deadline = time.monotonic() + PATIENCE
        while not until():
            self.assertLess(time.monotonic(), deadline, f'no progress: {what}; ' + ', '.join(
                f'{worker.raw.name} {worker.state} {worker.cycles}' for worker in self.workers))
            for worker in self.workers:
                worker.step()

    def wait_for_cycles(self, cycles):
        goal = [worker.cycles + cycles for worker in self.workers]
        self.work(lambda: all(worker.cycles >= least
                              for worker, least in zip(self.workers, goal)), f'{cycles} cycles')

    def after_change(self):
        """Pending requests are repeated, since a signal may not have been sent before the crash."""
        for worker in self.workers:
            if worker.state == 'waiting' and worker.serial is None:
                worker.send_call()

    def report_work(self):
        diagnostic(f'{sum(worker.cycles for worker in self.workers)} locks, '
                   f'{sum(worker.gone for worker in self.workers)} calls without a reply, '
                   f'{sum(worker.refused for worker in self.workers)} that were refused')
