# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Watchers of a storm: each rebuilds the state of the buckets from signals alone, and compares it
with the reply to Query when the supervisor asks for that.

    watcher.py ADDRESS [OTHER_UID]

One connection watches each bucket, another the service object; that one also looks at the buckets of
OTHER_UID. Reads lines `check NUMBER`; writes one JSON object for each: see Watchers.answer().
"""

import json
import os
import selectors
import sys
import time

from gi.repository import Gio, GLib

from buses import FACTOR
from calls import ADMIN, LOCKS, ROOT, SERVICE, bucket_path, other_path, variants, FILTER_TYPES
from observer import BUCKETS, RULE
from rawbus import DRIVER, DRIVER_PATH, RawClient, method_call, unpack

# The maximum that Inspect returns; a storm has far fewer requests.
LIMIT = 1000
# How long, and for how many replies to Query, a difference may last before it is an error: `Missed` follows
# the reply to a Ping, which the service sends only when its queue to the bus is empty.
DOUBT_SECONDS = 3 * FACTOR
DOUBT_REPLIES = 20


class Model:
    """The held locks and the pending requests of a bucket, by clientId and id."""

    def __init__(self, entries):
        self.held, self.pending = {}, {}
        self.n_applied = 0
        for entry in entries:
            rows = self.held if entry['state'] == 'held' else self.pending
            rows[entry['clientId'], entry['id']] = entry['name'], entry['mode']

    def apply(self, signal, id_, name, mode, client):
        self.n_applied += 1
        self.pending.pop((client, id_), None)
        if signal == 'Released':
            self.held.pop((client, id_), None)
        else:
            rows = self.held if signal == 'Granted' else self.pending
            rows[client, id_] = name, mode

    def rows(self):
        """As Query returns them."""
        return tuple([(name, mode, client) for (client, _), (name, mode) in rows.items()]
                     for rows in (self.held, self.pending))


def difference(expected, actual):
    """Text for the first name whose rows differ, by order too; None if there is none."""
    for name in sorted({row[0] for rows in (*expected, *actual) for row in rows}):
        of_name = [[[row[1:] for row in rows if row[0] == name] for rows in state]
                   for state in (expected, actual)]
        if of_name[0] != of_name[1]:
            return f'{name}: expected (Query: held, pending) {of_name[0]}, actual {of_name[1]}'
    return None


class Doubt:
    """A difference that only a `Missed`, which replaces the model, can explain."""

    def __init__(self, text):
        self.text = text
        self.deadline = time.monotonic() + DOUBT_SECONDS
        self.n_replies = 0

    def may_last(self):
        """Counts the replies, too: this process may have been stopped until after the deadline."""
        self.n_replies += 1
        return time.monotonic() < self.deadline or self.n_replies < DOUBT_REPLIES


class Watcher(RawClient):
    """A connection with models of some buckets, each in step with the service or being
    synchronised."""

    def __init__(self, address, paths, watches):
        self.paths = paths
        self.watches = watches
        self.owner = ''
        self.models = {}
        self.differences = []
        self.watched_states = self.watched_signals = self.watched_missed = 0
        self._handlers = {}
        self._snapshots = {}
        self._unchecked = set()
        self._doubts = {}
        super().__init__(address)
        self.add_match(RULE)
        self._send_call(DRIVER_PATH, DRIVER, 'GetNameOwner', GLib.Variant('(s)', (SERVICE,)),
                        lambda values: self._on_owner(values[0]), DRIVER)

    def is_checked(self):
        return not self._unchecked

    def check(self):
        """Compares each model with the reply to Query, as soon as it is in step."""
        self._unchecked = set(self.paths)
        self._doubts.clear()
        for path in self.paths:
            if path in self.models:
                self._query(path)

    def pump(self, timeout=0.0):
        has_read = super().pump(timeout)
        # Replies have been handled, in order with the signals.
        if self.name is not None:
            self.forget()
        return has_read

    def _send_call(self, path, interface, member, body, handler, destination=SERVICE):
        self._handlers[self.send(method_call(destination, path, interface, member, body))] = \
            member, path, handler

    def _take(self, message):
        if message.get_message_type() == Gio.DBusMessageType.SIGNAL:
            self._on_signal(message)
            return
        handler = self._handlers.pop(message.get_reply_serial(), None)
        if handler is None:
            super()._take(message)
        elif message.get_message_type() != Gio.DBusMessageType.ERROR:
            handler[2](unpack(message))
        elif message.get_sender() == self.owner:
            self.differences.append(f'{handler[0]} of {handler[1]}: {message.get_error_name()} '
                                    f'{unpack(message)}')
        # Else the service has ended: its next owner is announced by NameOwnerChanged.

    def _on_signal(self, message):
        member, path = message.get_member(), message.get_path()
        if message.get_sender() == DRIVER:
            if member == 'NameOwnerChanged' and message.get_arg0() == SERVICE:
                self._on_owner(unpack(message)[2])
        elif message.get_sender() == self.owner:
            if member == 'Missed':
                self.watched_missed += 1
                for each in self.paths if path == ROOT else [path]:
                    self._synchronise(each)
            elif path in self.models:
                self.models[path].apply(member, *unpack(message)[:4])

    def _on_owner(self, owner):
        self.owner = owner
        self.models.clear()
        self._snapshots.clear()
        if owner:
            for path, interface in self.watches:
                self._send_call(path, interface, 'Watch', GLib.Variant('(b)', (True,)),
                                lambda values: None)
            for path in self.paths:
                self._synchronise(path)

    def _synchronise(self, path):
        """The reply replaces everything that was received before it."""
        snapshot = self._snapshots[path] = object()
        self.models.pop(path, None)
        self._doubts.pop(path, None)

        def on_inspected(values):
            if self._snapshots.get(path) is not snapshot:
                return
            entries, more = values
            assert not more, 'more entries than fit into a reply'
            self.models[path] = Model(entries)
            if path in self._unchecked:
                self._query(path)
        self._send_call(path, LOCKS, 'Inspect',
                        GLib.Variant('(a{sv})', (variants(FILTER_TYPES, {'limit': LIMIT}),)),
                        on_inspected)

    def _query(self, path):
        model = self.models[path]

        def on_queried(values):
            if self.models.get(path) is not model:
                return
            found = difference(values, model.rows())
            doubt = self._doubts.get(path)
            if found is not None:
                doubt = doubt or self._doubts.setdefault(path, Doubt(found))
                if doubt.may_last():
                    self._query(path)
                    return
            if doubt is not None:
                kind = 'the service' if len(self.watches) == 1 else 'each bucket'
                self.differences.append(f'watch of {kind}, {path}, {doubt.text}')
            self.watched_states += 1
            self.watched_signals += model.n_applied
            model.n_applied = 0
            self._unchecked.discard(path)
        self._send_call(path, LOCKS, 'Query', None, on_queried)


class Watchers:
    """All of them, and the supervisor's requests."""

    def __init__(self, address, other_uid):
        own = [bucket_path(bucket) for bucket in BUCKETS]
        others = [other_path(bucket, uid=other_uid) for bucket in BUCKETS if other_uid]
        self.watchers = [Watcher(address, own, [(path, LOCKS) for path in own]),
                         Watcher(address, own + others, [(ROOT, ADMIN)])]
        self.number = None

    def check(self, number):
        self.number = number
        for watcher in self.watchers:
            watcher.check()

    def answer(self):
        """When all models have been compared: how many, how many signals had been applied to them,
        how often Missed was received, and what differs; all since the previous answer."""
        if self.number is None or not all(watcher.is_checked() for watcher in self.watchers):
            return
        answer = {'number': self.number, 'differences': []}
        for watcher in self.watchers:
            for name in ('watched_states', 'watched_signals', 'watched_missed'):
                answer[name] = answer.get(name, 0) + getattr(watcher, name)
                setattr(watcher, name, 0)
            answer['differences'] += watcher.differences
            watcher.differences = []
        self.number = None
        print(json.dumps(answer), flush=True)

    def run(self):
        selector = selectors.DefaultSelector()
        selector.register(0, selectors.EVENT_READ)
        for watcher in self.watchers:
            selector.register(watcher.socket, selectors.EVENT_READ, watcher)
        while True:
            for key, _ in selector.select():
                if key.data is not None:
                    key.data.pump()
                elif line := os.read(0, 4096):
                    self.check(int(line.split()[-1]))
                else:
                    return
            self.answer()


if __name__ == '__main__':
    Watchers(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None).run()
