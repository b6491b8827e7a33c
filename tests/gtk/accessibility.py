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
CACHE = '/org/a11y/atspi/cache'
ATSPI = 'org.a11y.atspi.'
NOT_EXPORTED = {'org.freedesktop.DBus.Error.' + name
                for name in ('UnknownObject', 'UnknownInterface', 'UnknownMethod')}
STATE_EXPANDED, STATE_FOCUSED, STATE_VISIBLE = 10, 12, 30
# Of those that tests look for.
ROLES = {23: 'window', 31: 'list', 32: 'list item', 37: 'tab', 43: 'button'}
COORDINATES_OF_WINDOW = 1
PANEL = 39


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

    def call_packed(self, destination, path, interface, method, body=None):
        return self.connection.call_sync(destination, path, interface, method, body, None,
                                         Gio.DBusCallFlags.NONE, int(PATIENCE * 1000), None)

    def call(self, *arguments):
        return self.call_packed(*arguments).unpack()

    def find_application(self, pid):
        """None until its cache replies, too: GTK registers the application before it exports that."""
        root = Accessible(self, ATSPI + 'Registry', ROOT)
        for application in root.children():
            if self.call('org.freedesktop.DBus', '/org/freedesktop/DBus', 'org.freedesktop.DBus',
                         'GetConnectionUnixProcessID',
                         GLib.Variant('(s)', (application.owner,)))[0] == pid:
                return application if application.has_cache() else None
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
        return ROLES.get(self.call(ATSPI + 'Accessible', 'GetRole')[0])

    def has_state(self, state):
        low, _high = self.call(ATSPI + 'Accessible', 'GetState')[0]
        return bool(low & 1 << state)

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

    def cache(self):
        """All objects of an application, packed."""
        return self.bus.call_packed(self.owner, CACHE, ATSPI + 'Cache', 'GetItems').get_child_value(0)

    def has_cache(self):
        try:
            self.cache()
        except GLib.Error as error:
            if Gio.DBusError.get_remote_error(error) in NOT_EXPORTED:
                return False
            raise
        return True

    def walk(self, snapshot):
        """(role, name, object) of everything visible below, in order. Objects that end meanwhile
        are left out. GTK 4.8 doesn't report that another page covers an object."""
        try:
            for child in snapshot.children(self):
                if snapshot.is_visible(child):
                    yield snapshot.role(child), snapshot.name(child), child
                    if snapshot.has_children(child):
                        yield from child.walk(snapshot)
        except GLib.Error:
            pass


class Snapshot:
    """Roles, names, states and children of all objects of an application, by one call instead of four
    for each. It includes objects that aren't shown: those that are shown are children of others."""

    def __init__(self, application):
        items = application.cache()
        self._items = {}  # (number of children, name, role, states) by path
        self._children = {}  # (index, path) of each by the path of the parent
        # Each: itself, application, parent, index, number of children, interfaces, name, role,
        # description, states. Only what is used is unpacked, since that takes most of the time.
        for number in range(items.n_children()):
            item = items.get_child_value(number)
            path, parent = (item.get_child_value(field).get_child_value(1).get_string()
                            for field in (0, 2))
            self._items[path] = (item.get_child_value(4).get_int32(),
                                 item.get_child_value(6).get_string(),
                                 item.get_child_value(7).get_uint32(),
                                 item.get_child_value(9).get_child_value(0).get_uint32())
            self._children.setdefault(parent, []).append(
                (item.get_child_value(3).get_int32(), path))

    def children(self, accessible):
        """Asks for them if the snapshot has another number, and for those of a panel, which are the
        pages of a stack or their contents."""
        n_children, _name, role, _states = self._items.get(accessible.path, (-1, '', 0, 0))
        found = self._children.get(accessible.path, [])
        if n_children != len(found) or role == PANEL:
            return accessible.children()
        return [Accessible(accessible.bus, accessible.owner, path) for _index, path in sorted(found)]

    def is_visible(self, accessible):
        """False also for objects that are newer than the snapshot."""
        return accessible.path in self._items and bool(
            self._items[accessible.path][3] & 1 << STATE_VISIBLE)

    def has_children(self, accessible):
        return self._items[accessible.path][0] > 0

    def name(self, accessible):
        return self._items[accessible.path][1]

    def role(self, accessible):
        return ROLES.get(self._items[accessible.path][2])
