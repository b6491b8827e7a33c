# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The methods of the service as Python calls, for every kind of client."""

import collections
import functools
import time

from gi.repository import GLib

from wire import Body

SERVICE = 'org.w3.WebLocks'
ROOT = '/org/w3/WebLocks'
LOCKS = 'org.w3.WebLocks'
ADMIN = 'org.w3.WebLocks.Service'
PROPERTIES = 'org.freedesktop.DBus.Properties'

OPTION_TYPES = {'mode': 's', 'ifAvailable': 'b', 'steal': 'b', 'signal': 'b', 'timeout': 'u',
                'why': 's', 'for': 's', 'key': 't', 'slots': 'u'}
FILTER_TYPES = {'name': 's', 'prefix': 's', 'state': 's', 'clientId': 's', 'id': 't', 'after': 't',
                'limit': 'u'}
BREAK_TYPES = {'clientId': 's', 'id': 't'}


class DBusError(Exception):
    """An error reply: its name, and its message."""

    def __init__(self, name, message):
        super().__init__(f'{name}: {message}')
        self.name = name
        self.message = message

    def __reduce__(self):
        # Pickling for another process: an exception is created again from its arguments.
        return DBusError, (self.name, self.message)

    @property
    def short(self):
        return self.name.rpartition('.')[2]


class Event(collections.namedtuple('Event', 'signal path args sender at')):
    """A signal as received; `at` is the monotonic time."""

    @classmethod
    def of(cls, signal, path, args, sender):
        return cls(signal, path, tuple(args), sender, time.monotonic())

    @property
    def id(self):
        return self.args[0]


@functools.cache
def encode_label(name):
    """A bucket's name as the last part of its path."""
    data = name.encode() if isinstance(name, str) else name
    label = ''
    for index, byte in enumerate(data):
        char = chr(byte)
        plain = byte < 128 and char.isalnum() and not (index == 0 and char.isdigit())
        label += char if plain else f'_{byte:02x}'
    return label or '_'


class Path(str):
    """An object path that is passed in place of the name of a bucket."""


def bucket_path(name):
    return name if isinstance(name, Path) else f'{ROOT}/bucket/{encode_label(name)}'


def other_path(bucket='default', app=None, kind='flatpak', uid=None):
    """The path of a bucket of another principal: of an application, a user, or both."""
    user = '' if uid is None else f'/user/{uid}'
    application = '' if app is None else f'/{kind}/{encode_label(app)}'
    return Path(f'{ROOT}{user}{application}/bucket/{encode_label(bucket)}')


def variants(types, values):
    """Options with the types of the contract; a GLib.Variant is used unchanged."""
    return {key: value if isinstance(value, GLib.Variant) else GLib.Variant(types[key], value)
            for key, value in values.items()}


def options(**values):
    return variants(OPTION_TYPES, values)


def with_options(signature, types, values, *first):
    """The body of a call that ends with options; with a GLib.Variant among them, one of GLib."""
    if any(isinstance(value, GLib.Variant) for value in values.values()):
        return GLib.Variant(signature, (*first, variants(types, values)))
    return Body(signature, (*first, {key: (types[key], value) for key, value in values.items()}))


class LockCalls:
    """The methods of all clients. A class that inherits it has call(path, interface, member, body),
    wait_for(condition, what=), `events`, and `wanted` with (id, wanted) of each signal Wanted."""

    def locks(self, bucket, member, body=None, **kw):
        return self.call(bucket_path(bucket), LOCKS, member, body, **kw)

    def request(self, name, bucket='default', **kw):
        return self.locks(bucket, 'Request', with_options('(sa{sv})', OPTION_TYPES, kw, name))

    def steal(self, name, bucket='default', **kw):
        return self.locks(bucket, 'Steal', with_options('(sa{sv})', OPTION_TYPES, kw, name))

    def release(self, id_, bucket='default'):
        return self.locks(bucket, 'Release', Body('(t)', (id_,)))

    def abort(self, id_, bucket='default'):
        return self.locks(bucket, 'Abort', Body('(t)', (id_,)))[0]

    def downgrade(self, id_, bucket='default'):
        self.locks(bucket, 'Downgrade', Body('(t)', (id_,)))

    def query(self, bucket='default'):
        """(held, pending), each a list of (name, mode, clientId)."""
        return self.locks(bucket, 'Query')

    def inspect(self, bucket='default', **kw):
        """(entries, more)"""
        return self.locks(bucket, 'Inspect', with_options('(a{sv})', FILTER_TYPES, kw))

    def watch(self, enable=True, bucket='default'):
        self.locks(bucket, 'Watch', Body('(b)', (enable,)))

    def break_locks(self, name, bucket='default', **kw):
        return self.locks(bucket, 'Break', with_options('(sa{sv})', BREAK_TYPES, kw, name))[0]

    def watch_all(self, enable=True):
        self.call(ROOT, ADMIN, 'Watch', Body('(b)', (enable,)))

    def observable(self):
        """(path, {...}) of each bucket, in the service's order."""
        return self.call(ROOT, ADMIN, 'Observable')[0]

    def buckets(self):
        return sorted(self.call(ROOT, ADMIN, 'Buckets')[0])

    def resync(self):
        return self.call(ROOT, ADMIN, 'Resync')[0]

    def get_property(self, name, interface=ADMIN, path=ROOT):
        return self.call(path, PROPERTIES, 'Get', Body('(ss)', (interface, name)))[0]

    def ping(self):
        """A barrier: every signal that the service sent before has arrived."""
        self.call(ROOT, 'org.freedesktop.DBus.Peer', 'Ping')

    def introspect(self, path):
        return self.call(path, 'org.freedesktop.DBus.Introspectable', 'Introspect')[0]

    def signals(self, signal=None, **fields):
        """Recorded signals: of that name, and with that id or reason if given."""
        found = []
        for event in self.events:
            if signal is not None and event.signal != signal:
                continue
            if 'id' in fields and event.args[0] != fields['id']:
                continue
            if 'reason' in fields and event.args[-1] != fields['reason']:
                continue
            found.append(event)
        return found

    def granted(self, id_):
        """Whether Granted of this client has arrived; a watcher also receives those of others."""
        return any(event.args[3] == self.name for event in self.signals('Granted', id=id_))

    def wait_granted(self, id_):
        self.wait_for(lambda: self.granted(id_), what=f'Granted of {id_}')
        return self.signals('Granted', id=id_)[0]

    def outcome_of(self, reply):
        """(id, token) of a request that other machines of a cluster have granted, (0, 0) of one that they
        have not. `reply` may be pending."""
        id_, token = reply
        if id_ == 0 or token:
            return reply
        self.wait_for(lambda: self.granted(id_) or self.signals('Released', id=id_), what=f'outcome of {id_}')
        if self.granted(id_):
            return id_, self.wait_granted(id_).args[4]
        self.wait_released(id_, 'unavailable')
        return 0, 0

    def wait_released(self, id_, reason):
        self.wait_for(lambda: self.signals('Released', id=id_, reason=reason),
                      what=f'Released of {id_} ({reason})')
        return self.signals('Released', id=id_, reason=reason)[0]
