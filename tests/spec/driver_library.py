# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Cases on libweblocks, through its introspected API. Each agent is a WebLocksAgent with a separate
connection; all are in this process and in one main context.

The library exposes no ids: here each request has a number, and `release` and `abort` use the lock and
the GCancellable of that number. A request without a lock can't be released, so the driver itself
raises NotHeld for it.

Requests that can't wait, with `steal` or `ifAvailable`, are made by synchronous calls, the others by
asynchronous ones.
"""

import time

import gi
gi.require_version('WebLocks', '1')
from gi.repository import Gio, GLib, WebLocks

from calls import DBusError
from harness import wait_for
from spec_runner import SpecEvent

Errors = WebLocks.Error

# Time-outs are multiplied by this, since on a busy machine time passes between a line with a
# time-out and the one that awaits it.
TIMEOUT_FACTOR = 5

FOREIGN_IDS = 'the library exposes no ids that could be used by another client'
OWN_KEYS = 'the library chooses the keys'
INEXPRESSIBLE = {
    'known-bug-5-id-of-another-client': FOREIGN_IDS,
    'known-bug-6-id-of-another-bucket': FOREIGN_IDS,
    'abort-of-another-client': FOREIGN_IDS,
    'abort-of-unused-id': FOREIGN_IDS,
    'release-not-held': FOREIGN_IDS,
    'modes': 'WebLocksMode has no other values',
    'signal-not-supported': 'a GCancellable can be combined with all options',
    'key-repeats': OWN_KEYS,
    'key-mismatch': OWN_KEYS,
    'key-of-a-waiting-request': OWN_KEYS,
    'key-reusable': OWN_KEYS,
    'key-of-a-repeated-steal': OWN_KEYS,
    'key-range': OWN_KEYS,
    'slots-key': OWN_KEYS,
    'slots-shared': 'slots 1 is not told from none',
    'downgrade-foreign-ids': FOREIGN_IDS,
    'downgrade-key': OWN_KEYS,
    'repeats-are-free': OWN_KEYS,
}
NAMES = {
    Errors.NOT_SUPPORTED: 'NotSupported', Errors.SECURITY: 'Security',
    Errors.INVALID_STATE: 'InvalidState', Errors.CLOSED: 'Abort', Errors.STOLEN: 'Stolen',
    Errors.LOST: 'Lost', Errors.TIMEOUT: 'Timeout', Errors.NOT_HELD: 'NotHeld',
    Errors.LIMITS: 'LimitsExceeded', Errors.UNAVAILABLE: 'Unavailable',
}


def is_error(error, code):
    return error is not None and error.matches(WebLocks.error_quark(), code)


def is_cancelled(error):
    return error is not None and error.matches(Gio.io_error_quark(), Gio.IOErrorEnum.CANCELLED)


def name_error(error):
    for code, name in NAMES.items():
        if is_error(error, code):
            return name
    if error.matches(Gio.io_error_quark(), Gio.IOErrorEnum.INVALID_ARGUMENT):
        return 'InvalidArgs'
    return 'Cancelled' if is_cancelled(error) else error.domain


def name_loss(error):
    if is_error(error, Errors.STOLEN):
        return 'stolen'
    assert is_error(error, Errors.LOST), error
    return 'terminated' if 'connection' in error.message else 'lost'


def name_mode(mode):
    return 'shared' if mode == WebLocks.Mode.SHARED else 'exclusive'


def run_what_is_ready():
    while GLib.MainContext.default().iteration(False):
        pass


class Request:
    def __init__(self, number, client, wanted, waits):
        self.number, self.client, self.wanted = number, client, wanted
        # Reported as waiting: what follows is an event.
        self.waits = False
        # A request with a cancellable can be aborted.
        self.cancellable = Gio.Cancellable() if waits else None
        self.is_done, self.lock, self.error, self.lost = False, None, None, None

    def done(self, lock, error):
        assert not self.is_done
        self.is_done, self.lock, self.error = True, lock, error
        if lock is not None:
            lock.connect('lost', self._on_lost)

    def on_requested(self, manager, result):
        try:
            self.done(manager.request_finish(result), None)
        except GLib.Error as error:
            self.done(None, error)
        if not self.waits:
            return
        if self.lock is not None:
            self._add_event('granted', self.lock.get_token())
        elif not is_cancelled(self.error):
            self._add_event('released', 'timeout' if is_error(self.error, Errors.TIMEOUT)
                            else name_error(self.error))

    def _on_lost(self, lock, error):
        assert lock == self.lock and not lock.get_held() and self.lost is None
        self.lost = name_loss(error)
        self._add_event('released', self.lost)

    def _add_event(self, kind, detail):
        name, mode = self.wanted.name, self.wanted.mode
        if self.lock is not None:
            name, mode = self.lock.get_name(), name_mode(self.lock.get_mode())
        self.client.events.append(SpecEvent(kind, self.number, self.wanted.bucket, name, mode,
                                            self.client.letter, detail, time.monotonic()))

    def has_ended(self):
        """Whether the application has been notified of the end."""
        return self.is_done and (self.lock is None or not self.lock.get_held())


class AgentClient:
    def __init__(self, letter, address):
        self.letter = letter
        self.agent = WebLocks.Agent.new(Gio.BusType.NONE, address)
        self.agent.init(None)
        assert self.agent.get_connected()
        self.managers, self.events = {}, []

    def manager(self, bucket='default'):
        if bucket not in self.managers:
            self.managers[bucket] = WebLocks.Manager.new(self.agent, bucket)
        return self.managers[bucket]

    def complete_pending_calls(self, bucket):
        """Then everything that the client sent has been processed, and its notifications have
        arrived: the service processes messages in order."""
        answers = []
        self.manager(bucket).query_async(
            None, lambda manager, result: answers.append(manager.query_finish(result)))
        wait_for(lambda: answers, what='answer to a query')
        run_what_is_ready()


class LibraryDriver:
    def __init__(self, test):
        self.test = test
        self.clients, self.letters, self.requests = {}, {}, []

    @staticmethod
    def get_skip_reason(case):
        if any(step.verb == 'watch' for step in case.steps):
            return "the library's watchers get lists, not events"
        return INEXPRESSIBLE.get(case.name)

    def join(self, letter):
        client = self.clients[letter] = AgentClient(letter, self.test.bus.address)
        self.letters[client.agent.get_client_id()] = letter

    def die(self, letter):
        """The application is notified of the end of each request."""
        client = self.clients.pop(letter)
        left = [one for one in self.requests if one.client is client and not one.has_ended()]
        name = client.agent.get_client_id()
        client.agent.close()
        assert not client.agent.get_connected()
        self.test.wait_gone(name)
        for one in left:
            wait_for(one.has_ended, what='end of a request')
            run_what_is_ready()
            assert one.lost == 'terminated' if one.lock else is_error(one.error, Errors.CLOSED), one

    def end(self):
        for letter in list(self.clients):
            self.die(letter)
        assert all(one.is_done for one in self.requests)

    def _make_options(self, wanted, by_steal):
        options = WebLocks.Options.new()
        if 'mode' in wanted.options:
            options.set_mode(WebLocks.Mode.SHARED if wanted.mode == 'shared'
                             else WebLocks.Mode.EXCLUSIVE)
        options.set_if_available(wanted.options.get('ifAvailable', False))
        options.set_steal(by_steal or wanted.options.get('steal', False))
        options.set_timeout(wanted.options.get('timeout', 0) * TIMEOUT_FACTOR)
        options.set_why(wanted.options.get('why'))
        options.set_command(wanted.options.get('for'))
        options.set_slots(wanted.options.get('slots', 1))
        return options

    def request(self, letter, wanted, by_steal):
        client = self.clients[letter]
        manager, options = client.manager(wanted.bucket), self._make_options(wanted, by_steal)
        waits = not options.get_if_available() and not options.get_steal()
        one = Request(len(self.requests) + 1, client, wanted, waits)
        self.requests.append(one)
        if waits:
            manager.request_async(wanted.name, options, one.cancellable, one.on_requested)
            assert not one.is_done, 'the callback is never called from within the call'
            client.complete_pending_calls(wanted.bucket)
        else:
            try:
                one.done(manager.request_sync(wanted.name, options, None), None)
            except GLib.Error as error:
                one.done(None, error)
        if one.error is not None:
            raise DBusError(name_error(one.error), one.error.message)
        one.waits = not one.is_done
        if one.lock is not None:
            assert one.lock.get_held() and one.lock.get_token() != 0
            return one.number, one.lock.get_token()
        return (one.number if one.waits else 0), 0

    def _find(self, letter, number, bucket):
        """The request must be of this agent and bucket; the library can't express others."""
        one = self.requests[number - 1]
        assert (one.client.letter, one.wanted.bucket) == (letter, bucket), 'not to be expressed'
        return one

    def release(self, letter, number, bucket):
        one = self._find(letter, number, bucket)
        if one.lock is None:
            raise DBusError('NotHeld', 'There is no lock to release')
        try:
            if one.cancellable is None:
                one.lock.release_sync(None)
            else:
                results = []
                one.lock.release_async(None, lambda _, result: results.append(result))
                assert not one.lock.get_held()
                wait_for(lambda: results, what='result of the release')
                one.lock.release_finish(results[0])
        except GLib.Error as error:
            # The service only replies that the lock isn't held; the library has the reason.
            if one.lost is None:
                raise DBusError(name_error(error), error.message) from None
            assert name_loss(error) == one.lost, error
            raise DBusError('NotHeld', error.message) from None
        assert one.lost is None and not one.lock.get_held()

    def abort(self, letter, number, bucket):
        one = self._find(letter, number, bucket)
        was_done = one.is_done
        one.cancellable.cancel()
        wait_for(lambda: one.is_done, what='result of the request')
        # The library doesn't report whether the abort came in time, so the result is waited for.
        one.client.complete_pending_calls(bucket)
        return not was_done and is_cancelled(one.error)

    def downgrade(self, letter, number, bucket):
        lock = self._find(letter, number, bucket).lock
        if lock is None:
            raise DBusError('NotHeld', 'There is no lock')
        try:
            lock.downgrade_sync(None)
        except GLib.Error as error:
            lost = lock.get_error()
            raise DBusError('NotHeld' if lost is not None else name_error(error), error.message) from None
        assert lock.get_mode() == WebLocks.Mode.SHARED

    def break_locks(self, letter, bucket, name):
        try:
            return self.clients[letter].manager(bucket).break_sync(name, None, None)
        except GLib.Error as error:
            raise DBusError(name_error(error), error.message) from None

    def query(self, letter, bucket):
        snapshot = self.clients[letter].manager(bucket).query_sync(None)
        rows = []
        for infos, held in ((snapshot.get_held(), True), (snapshot.get_pending(), False)):
            infos = [infos.get_item(index) for index in range(infos.get_n_items())]
            assert all(info.get_held() == held for info in infos)
            rows.append([(info.get_name(), name_mode(info.get_mode()),
                          self.letters.get(info.get_client_id(), '?')) for info in infos])
        return rows

    def settle(self):
        """The reply to a query arrives after everything that the service sent before it."""
        for client in self.clients.values():
            client.manager().query_sync(None)
        run_what_is_ready()

    def await_(self, letter):
        wait_for(lambda: self.clients[letter].events, what='an event')
        self.settle()

    def take_event(self, letter):
        events = self.clients[letter].events
        return events.pop(0) if events else None
