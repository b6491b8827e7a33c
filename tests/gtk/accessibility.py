# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A private accessibility bus, and what a program on it exposes to a screen reader: the AT-SPI
interfaces themselves, without the caches of libatspi."""

import subprocess

from gi.repository import Gio, GLib

from buses import PATIENCE, end, read_lines, spawn

CONFIG = '/usr/share/defaults/at-spi2/accessibility.conf'
REGISTRY = '/usr/libexec/at-spi2-registryd'
ROOT = '/org/a11y/atspi/accessible/root'
ATSPI = 'org.a11y.atspi.'
STATE_EXPANDED, STATE_FOCUSED, STATE_VISIBLE = 10, 12, 30
COORDINATES_OF_WINDOW = 1


class AccessibilityBus:
    def __init__(self, display):
        self.process = spawn(['dbus-daemon', f'--config-file={CONFIG}', '--nofork',
                              '--print-address=1'], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)
        self.address = read_lines(self.process, 1)[0]
        # The bus would start it without a display.
        self.registry = spawn([REGISTRY], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, bufsize=0,
                              env={'DISPLAY': display.name, 'AT_SPI_BUS_ADDRESS': self.address,
                                   'DBUS_SESSION_BUS_ADDRESS': self.address})
        read_lines(self.registry, 1)
        flags = Gio.DBusConnectionFlags
        self.connection = Gio.DBusConnection.new_for_address_sync(
            self.address, flags.AUTHENTICATION_CLIENT | flags.MESSAGE_BUS_CONNECTION, None, None)
        self.connection.set_exit_on_close(False)
        self.focused = None  # the object that has got the keyboard focus last
        self.connection.signal_subscribe(None, ATSPI + 'Event.Object', 'StateChanged', None,
                                         'focused', Gio.DBusSignalFlags.NONE, self._on_focus)

    def _on_focus(self, _connection, sender, path, _interface, _member, parameters):
        if parameters.unpack()[1]:
            self.focused = Accessible(self, sender, path)

    def call(self, destination, path, interface, method, body=None):
        return self.connection.call_sync(destination, path, interface, method, body, None,
                                         Gio.DBusCallFlags.NONE, int(PATIENCE * 1000),
                                         None).unpack()

    def find_application(self, pid):
        root = Accessible(self, ATSPI + 'Registry', ROOT)
        for application in root.children():
            if self.call('org.freedesktop.DBus', '/org/freedesktop/DBus', 'org.freedesktop.DBus',
                         'GetConnectionUnixProcessID',
                         GLib.Variant('(s)', (application.owner,)))[0] == pid:
                return application
        return None

    def stop(self):
        self.connection.close_sync(None)
        end(self.registry)
        end(self.process)


class Accessible:
    def __init__(self, bus, owner, path):
        self.bus, self.owner, self.path = bus, owner, path

    def call(self, interface, method, body=None):
        return self.bus.call(self.owner, self.path, interface, method, body)

    def __eq__(self, other):
        return other is not None and (self.owner, self.path) == (other.owner, other.path)

    def parent(self):
        return Accessible(self.bus, *self.get('Accessible', 'Parent'))

    def children(self):
        return [Accessible(self.bus, *child)
                for child in self.call(ATSPI + 'Accessible', 'GetChildren')[0]]

    def get(self, interface, name):
        return self.call('org.freedesktop.DBus.Properties', 'Get',
                         GLib.Variant('(ss)', (ATSPI + interface, name)))[0]

    def name(self):
        return self.get('Accessible', 'Name')

    def role(self):
        return self.call(ATSPI + 'Accessible', 'GetRoleName')[0]

    def has_state(self, state):
        low, _high = self.call(ATSPI + 'Accessible', 'GetState')[0]
        return bool(low & 1 << state)

    def is_visible(self):
        """Whether it isn't hidden. GTK 4.8 doesn't report that another page covers it."""
        return self.has_state(STATE_VISIBLE)

    def text(self):
        length = self.get('Text', 'CharacterCount')
        return self.call(ATSPI + 'Text', 'GetText', GLib.Variant('(ii)', (0, length)))[0]

    def extents(self):
        """x, y, width and height in the window."""
        return self.call(ATSPI + 'Component', 'GetExtents',
                         GLib.Variant('(u)', (COORDINATES_OF_WINDOW,)))[0]

    def press(self):
        """Activates it, as a screen reader does."""
        return self.call(ATSPI + 'Action', 'DoAction', GLib.Variant('(i)', (0,)))[0]

    def walk(self):
        """(role, name, object) of everything visible below, in order. Objects that end meanwhile
        are left out."""
        try:
            for child in self.children():
                if child.is_visible():
                    yield child.role(), child.name(), child
                    yield from child.walk()
        except GLib.Error:
            pass
