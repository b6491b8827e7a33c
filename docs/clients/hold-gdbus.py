#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Holds a lock until the end of its standard input: plain D-Bus with GDBus, by PyGObject.

hold-gdbus.py BUCKET NAME

Prints `waiting`, `held TOKEN`, `lost REASON` and `released`.
"""

import os
import sys

from gi.repository import Gio, GLib

SERVICE, ROOT = 'org.w3.WebLocks', '/org/w3/WebLocks'
# A number of our own: a request with this key can be repeated without becoming two.
KEY = 1


def bucket_path(bucket):
    """The object path of a bucket; the encoding of sd_bus_path_encode()."""
    encoded = ''.join(chr(byte) if chr(byte).isascii() and chr(byte).isalnum() and
                      (i > 0 or not chr(byte).isdigit()) else f'_{byte:02x}'
                      for i, byte in enumerate(bucket.encode()))
    return f'{ROOT}/bucket/{encoded}'


class Holder:
    def __init__(self, bus, bucket, name):
        self.bus, self.path, self.name = bus, bucket_path(bucket), name
        self.loop = GLib.MainLoop()
        self.id = self.token = self.status = 0
        self.is_ending = False
        # With the service's name as sender, GDBus drops signals that other programs send.
        bus.signal_subscribe(SERVICE, SERVICE, None, self.path, None, Gio.DBusSignalFlags.NONE,
                             self.on_signal)
        bus.signal_subscribe('org.freedesktop.DBus', 'org.freedesktop.DBus', 'NameOwnerChanged',
                             '/org/freedesktop/DBus', SERVICE, Gio.DBusSignalFlags.NONE,
                             self.on_owner)

    def call(self, path, interface, member, body, done):
        """Calls a method; `done` gets the values of the reply, or None if the service is gone."""
        def on_reply(bus, result):
            try:
                done(bus.call_finish(result).unpack())
            except GLib.Error as error:
                reason = Gio.DBusError.get_remote_error(error) or error.message
                if reason.endswith('.NotHeld'):
                    done(())   # of a release: it has been released before
                elif reason.split('.')[-1] in ('NoReply', 'ServiceUnknown', 'NameHasNoOwner'):
                    done(None)
                else:
                    self.end(1, f'failed {reason}')
        self.bus.call(SERVICE, path, interface, member, body, None, Gio.DBusCallFlags.NONE,
                      GLib.MAXINT, None, on_reply)

    def request(self):
        options = {'key': GLib.Variant('t', KEY)}
        self.call(self.path, SERVICE, 'Request', GLib.Variant('(sa{sv})', (self.name, options)),
                  self.on_requested)

    def on_requested(self, values):
        if values is not None:
            if values[1] == 0 and values[0] != self.id:
                print('waiting', flush=True)
            self.id, token = values
            self.update(token)

    def update(self, token):
        if token != 0 and self.token == 0:
            self.token = token
            print(f'held {token}', flush=True)

    def on_signal(self, _bus, _sender, _path, _interface, member, parameters):
        values = parameters.unpack()
        if values[0] != self.id:
            return
        if member == 'Granted':
            self.update(values[4])
        elif member == 'Released':
            self.end(1, f'lost {values[4]}')

    def on_owner(self, _bus, _sender, _path, _interface, _member, parameters):
        """The service was restarted: Resync lists our requests that it has. Without a new owner no
        service is running, and the call starts it."""
        self.call(ROOT, 'org.w3.WebLocks.Service', 'Resync', None, self.on_resync)

    def on_resync(self, values):
        if values is None:
            return
        live = [request for request in values[0] if request[2] == KEY]
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
        if self.token == 0:
            self.end(0, 'released')
            return
        self.call(self.path, SERVICE, 'Release', GLib.Variant('(t)', (self.id,)),
                  lambda values: values is None or self.end(0, 'released'))

    def end(self, status, line):
        if not self.loop.is_running():
            return
        print(line, flush=True)
        self.status = status
        self.loop.quit()

    def run(self):
        self.request()
        GLib.io_add_watch(0, GLib.PRIORITY_DEFAULT, GLib.IOCondition.IN | GLib.IOCondition.HUP,
                          lambda _fd, _condition: bool(os.read(0, 4096)) or self.release())
        self.loop.run()
        return self.status


sys.exit(Holder(Gio.bus_get_sync(Gio.BusType.SESSION), *sys.argv[1:3]).run())
