# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Cases on weblocksd, by calls on the bus (a connection of GDBus for each agent), or by packets (a
connection and a lock socket for each agent)."""

import itertools
import time

from calls import bucket_path
from packetclient import Granted, LockError
from spec_runner import SpecEvent, downgraded


class BusDriver:
    def __init__(self, test):
        self.test = test
        self.clients = {}  # of those that are connected, by letter
        self.letters = {}  # unique name -> letter, of all
        self.buckets = {bucket_path('default'): 'default'}

    @staticmethod
    def get_skip_reason(_case):
        return None

    def make_client(self):
        return self.test.client()

    def join(self, letter):
        self.clients[letter] = self.make_client()
        self.letters[self.clients[letter].name] = letter

    def die(self, letter):
        client = self.clients.pop(letter)
        client.close()
        self.test.wait_gone(client.name)

    def end(self):
        for letter in list(self.clients):
            self.die(letter)

    def request(self, letter, wanted, by_steal):
        self.buckets[bucket_path(wanted.bucket)] = wanted.bucket
        client = self.clients[letter]
        function = client.steal if by_steal else client.request
        return function(wanted.name, wanted.bucket, **wanted.options)

    def release(self, letter, id_, bucket):
        return self.clients[letter].release(id_, bucket)

    def abort(self, letter, id_, bucket):
        return self.clients[letter].abort(id_, bucket)

    def downgrade(self, letter, id_, bucket):
        return self.clients[letter].downgrade(id_, bucket)

    def break_locks(self, letter, bucket, name):
        return self.clients[letter].break_locks(name, bucket)

    def query(self, letter, bucket):
        return [[(name, mode, self.letters.get(client, '?')) for name, mode, client in rows]
                for rows in self.clients[letter].query(bucket)]

    def watch(self, letter, bucket):
        self.buckets[bucket_path(bucket)] = bucket
        self.clients[letter].watch(bucket=bucket)

    def settle(self):
        """The reply to a ping arrives after everything that the service sent before it."""
        for client in self.clients.values():
            client.sync()

    def await_(self, letter):
        """Events for others that are caused by an event are sent in the same turn, so they have
        arrived then."""
        self.clients[letter].wait_for(lambda: self.clients[letter].events)
        self.settle()

    def take_event(self, letter):
        events = self.clients[letter].events
        if not events:
            return None
        event = events.pop(0)
        bucket = self.buckets.get(event.path, event.path)
        if event.signal == 'Downgraded':
            return SpecEvent('downgraded', event.id, bucket, None, None, None, None, event.at)
        id_, name, mode, client, *detail = event.args
        return SpecEvent(event.signal.lower(), id_, bucket, name, mode,
                         self.letters.get(client, '?'), detail[0] if detail else None, event.at)


class SocketDriver(BusDriver):
    """The case's ids are the keys of the requests; what isn't a lock operation is on the bus."""

    # Keys of requests without a key in the case, distinct from those in cases.
    keys = itertools.count(1_000_000)
    # Packets have no message: the words that cases check.
    MESSAGES = {'InvalidArgs': 'timeout, slots, key, name or why', 'NotSupported': 'name, steal or signal'}

    def __init__(self, test):
        super().__init__(test)
        self.sockets = {}
        self.wanted = {}  # (letter, key) -> what was requested

    @staticmethod
    def get_skip_reason(case):
        for step in case.steps:
            if step.verb in ('release', 'abort', 'downgrade'):
                if step.bucket is not None:
                    return 'RELEASE, ABORT and DOWNGRADE name no bucket'
                if step.label == '0':
                    return 'key 0 is malformed'
            if step.verb == 'watch':
                return 'signals for watchers are sent on the bus, in no order with packets'
            if step.wanted and step.wanted.mode not in ('shared', 'exclusive'):
                return 'a mode is a number'
        return None

    def make_client(self):
        return self.test.raw_client(descriptors=True)

    def join(self, letter):
        super().join(letter)
        self.sockets[letter] = self.test.lock_socket(self.clients[letter])
        self.test.assertEqual(self.sockets[letter].live, [])

    def die(self, letter):
        super().die(letter)
        self.sockets.pop(letter).close()

    def _call(self, function, *arguments, **options):
        try:
            return function(*arguments, **options)
        except LockError as error:
            raise LockError(error.short,
                            error.message or self.MESSAGES.get(error.short, '')) from None

    def request(self, letter, wanted, by_steal):
        options = {**wanted.options, 'steal': by_steal or wanted.options.get('steal', False)}
        options['key'] = options.get('key') or next(self.keys)
        answer = self._call(self.sockets[letter].request, wanted.name, wanted.bucket, **options)
        # A repeated request changes nothing about the first.
        self.wanted.setdefault((letter, answer[0]), wanted)
        return answer

    def _call_with_key(self, letter, function, key):
        result = self._call(function, key)
        if result is not False:
            self.wanted.pop((letter, key), None)
        return result

    def release(self, letter, id_, bucket):
        return self._call_with_key(letter, self.sockets[letter].release, id_)

    def abort(self, letter, id_, bucket):
        return self._call_with_key(letter, self.sockets[letter].abort, id_)

    def downgrade(self, letter, id_, bucket):
        self._call(self.sockets[letter].downgrade, id_)
        self.wanted[letter, id_] = downgraded(self.wanted[letter, id_])

    def settle(self):
        """Everything that the bus has sent to the service, such as disconnects, comes before the
        ping; its effects come before the answer to SYNC."""
        self.test.control.ping()
        for sock in self.sockets.values():
            sock.sync()

    def await_(self, letter):
        sock = self.sockets[letter]
        sock.wait_for(lambda: sock.events)
        self.settle()

    def take_event(self, letter):
        events = self.sockets[letter].events
        if not events:
            return None
        event = events.pop(0)
        is_granted = isinstance(event, Granted)
        wanted = self.wanted[letter, event.key]
        if not is_granted:
            del self.wanted[letter, event.key]
        return SpecEvent('granted' if is_granted else 'released', event.key, wanted.bucket,
                         wanted.name, wanted.mode, letter, event[1], time.monotonic())
