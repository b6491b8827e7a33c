#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Holds a lock until the end of its standard input: plain D-Bus with dasbus.

hold-dasbus.py BUCKET NAME

Prints `waiting`, `held TOKEN`, `lost REASON` and `released`.
"""

import os
import sys

from dasbus.connection import SessionMessageBus
from dasbus.error import DBusError
from dasbus.loop import EventLoop
from dasbus.typing import UInt64, get_variant
from gi.repository import GLib

SERVICE, ROOT = 'org.w3.WebLocks', '/org/w3/WebLocks'
# A number of our own: a request with this key can be repeated without becoming two.
KEY = 1
GONE = ('NoReply', 'ServiceUnknown', 'NameHasNoOwner')


def bucket_path(bucket):
    """The object path of a bucket; the encoding of sd_bus_path_encode()."""
    encoded = ''.join(chr(byte) if chr(byte).isascii() and chr(byte).isalnum() and
                      (i > 0 or not chr(byte).isdigit()) else f'_{byte:02x}'
                      for i, byte in enumerate(bucket.encode()))
    return f'{ROOT}/bucket/{encoded}'


class Holder:
    def __init__(self, bucket, name):
        bus = SessionMessageBus()
        self.name, self.loop = name, EventLoop()
        self.id = self.token = self.status = 0
        self.is_ending = False
        self.bucket = bus.get_proxy(SERVICE, bucket_path(bucket), SERVICE)
        self.service = bus.get_proxy(SERVICE, ROOT, 'org.w3.WebLocks.Service')
        # A proxy drops signals that other programs than the service send.
        self.bucket.Granted.connect(self.on_granted)
        self.bucket.Released.connect(self.on_released)
        bus.proxy.NameOwnerChanged.connect(self.on_owner)

    def call(self, method, *arguments):
        """The reply, as a list; None if the service is gone, of which on_owner() is notified."""
        try:
            return [method(*arguments)]
        except DBusError as error:
            reason = getattr(error, 'dbus_name', None) or str(error)
            if reason.endswith('.NotHeld'):
                return [None]   # of a release: it has been released before
            if any(word in reason for word in GONE):
                return None
            self.end(1, f'failed {reason}')
            return None

    def request(self):
        reply = self.call(self.bucket.Request, self.name, {'key': get_variant(UInt64, KEY)})
        if reply is not None:
            self.id, token = reply[0]
            self.update(token)
            if token == 0:
                print('waiting', flush=True)

    def update(self, token):
        if token != 0 and self.token == 0:
            self.token = token
            print(f'held {token}', flush=True)

    def on_granted(self, id_, _name, _mode, _client_id, token):
        if id_ == self.id:
            self.update(token)

    def on_released(self, id_, _name, _mode, _client_id, reason):
        if id_ == self.id:
            self.end(1, f'lost {reason}')

    def on_owner(self, name, _old, _new):
        """The service was restarted: Resync lists our requests that it has. Without a new owner no
        service is running, and the call starts it."""
        reply = self.call(self.service.Resync) if name == SERVICE else None
        if reply is None:
            return
        live = [request for request in reply[0] if request[2] == KEY]
        if self.is_ending:
            self.release() if live else self.end(0, 'released')
        elif live:
            self.id = live[0][1]
            self.update(live[0][5])
        elif self.token != 0:
            self.end(1, 'lost lost')
        else:
            self.request()

    def release(self):
        """A request that still waits ends with the connection. If the service is gone, on_owner()
        follows."""
        self.is_ending = True
        if self.token == 0 or self.call(self.bucket.Release, self.id) is not None:
            self.end(0, 'released')

    def end(self, status, line):
        print(line, flush=True)
        self.status = status
        GLib.idle_add(self.loop.quit)

    def run(self):
        self.request()
        GLib.io_add_watch(0, GLib.PRIORITY_DEFAULT, GLib.IOCondition.IN | GLib.IOCondition.HUP,
                          lambda _fd, _condition: bool(os.read(0, 4096)) or self.release())
        self.loop.run()
        return self.status


sys.exit(Holder(*sys.argv[1:3]).run())
