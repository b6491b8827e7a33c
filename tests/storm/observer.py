# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The queries of a storm's supervisor on the bus: the name's owner, connected clients, locks."""

import time

from gi.repository import Gio, GLib

import buses
from calls import LOCKS, SERVICE, DBusError, bucket_path
from rawbus import DRIVER, RawClient, lock_call, method_call, unpack
from history import ALL_NAMES, FLAG_HELD, FLAG_QUIET, Kind, Outcome

BUCKETS = {'storm': range(0, 6), 'storm.other': range(6, 8)}
# A load that keeps the service busy for some ms.
LOAD = 'load'
LOAD_LOCKS = 300
LOAD_ROWS = 40
LOAD_CALLS = 8
RULE = (f"type='signal',sender='{DRIVER}',member='NameOwnerChanged',arg0='{SERVICE}'")


class Observer:
    """A connection for each principal; the first also watches the service's name."""

    def __init__(self, address, log, uids):
        self.log = log
        self.clients = {uid: RawClient(address, uid=uid) for uid in uids}
        self.control = next(iter(self.clients.values()))
        self.control.add_match(RULE)
        self.owner = ''
        self._address = address
        self._load = None
        self._serials = []
        self._queries = 0
        self._read = 0

    def close(self):
        for client in self.clients.values():
            client.close()
        if self._load is not None:
            self._load.close()

    def fileno(self):
        return self.control.socket.fileno()

    def update(self):
        """Reads what has arrived. Returns whether the name has a new owner."""
        before = self.owner
        while self.control.pump():
            pass
        for message in self.control.log:
            if (message.get_message_type() == Gio.DBusMessageType.SIGNAL
                    and message.get_member() == 'NameOwnerChanged'):
                self.owner = unpack(message)[2]
        for client in self.clients.values():
            client.forget()
            client.events.clear()
        return self.owner != before

    def wait_no_owner(self, timeout):
        def look(_left):
            self.control.pump(0.05)
            self.update()
        buses.pump_until(lambda: not self.owner, look, timeout, lambda: f'the bus still knows {self.owner}')

    def owner_pid(self):
        try:
            return self.control._driver('GetConnectionUnixProcessID',
                                        GLib.Variant('(s)', (SERVICE,)))[0]
        except DBusError:
            return None

    def names(self):
        return set(self.control._driver('ListNames')[0])

    def wait_gone(self, unique_names, timeout):
        """Waits until none of them is on the bus; so the service has been notified, if there is one."""
        deadline = time.monotonic() + timeout
        while left := unique_names & self.names():
            if time.monotonic() > deadline:
                raise TimeoutError(f'the bus still knows {sorted(left)[:5]}')
            time.sleep(0.001)

    def ping(self):
        """Waits until the service has read all queued messages; False if there is no service."""
        try:
            self.control.ping()
        except DBusError:
            return False
        return True

    def occupy(self):
        """Sends the service some ms of work in one batch: it reads what else arrives meanwhile on the
        bus before anything else. Ends with rest()."""
        if self._load is None:
            self._load = RawClient(self._address)
            serials = self._load.send_all([lock_call('Request', f'load-{i}', LOAD)
                                           for i in range(LOAD_LOCKS)])
            for serial in serials:
                self._load.result(serial)
        body = GLib.Variant('(a{sv})', ({'limit': GLib.Variant('u', LOAD_ROWS)},))
        self._serials = self._load.send_all(
            [method_call(SERVICE, bucket_path(LOAD), LOCKS, 'Inspect', body)
             for _ in range(LOAD_CALLS)])

    def rest(self):
        for serial in self._serials:
            self._load.result(serial)
        self._load.forget()

    def unload(self):
        if self._load is not None:
            self.wait_gone_of(self._load)
            self._load = None

    def wait_gone_of(self, client):
        client.close()
        self.wait_gone({client.name}, buses.PATIENCE)
        self.ping()

    def look(self, quiet=False):
        """Queries and records the held and pending requests of each name. Returns the number of
        rows; None if the service has ended meanwhile."""
        count = 0
        for uid, client in self.clients.items():
            for bucket, names in BUCKETS.items():
                for name in names:
                    rows = self._inspect(client, uid, bucket, name, quiet)
                    if rows is None:
                        return None
                    count += rows
        return count

    def _inspect(self, client, uid, bucket, name, quiet):
        self._queries += 1
        number = self._queries
        self.log.note(Kind.QUERY, request=number, detail=1 << name & ALL_NAMES, subject=uid,
                      flags=FLAG_QUIET if quiet else 0)
        try:
            entries, more = client.inspect(bucket, name=f'storm-{name}')
        except DBusError:
            self.log.note(Kind.ROWS, request=number, outcome=Outcome.FAILED)
            return None
        assert not more, 'more rows of one lock than fit into an answer'
        for entry in entries:
            held = entry['state'] == 'held'
            self.log.note(Kind.ROW, request=number,
                          subject=int(entry['clientId'].removeprefix(':1.')),
                          name=int(entry['name'].removeprefix('storm-')),
                          mode=int(entry['mode'] == 'shared'), token=entry['token'],
                          flags=FLAG_HELD if held else 0,
                          position=0 if held else entry['position'])
        self.log.note(Kind.ROWS, request=number)
        return len(entries)
