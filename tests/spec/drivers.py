# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Cases on weblocksd, by calls on the bus: a connection of GDBus for each agent."""

from calls import bucket_path
from spec_runner import SpecEvent


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
