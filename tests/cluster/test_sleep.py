# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Locks of a cluster end before the machine is suspended. The test acts as logind."""

import os

import clusterpackets as packets
from buses import readable
from clustercase import BUCKET, ClusterCase
from harness import Client, Gio, GLib, wait_for

NAME, PATH, INTERFACE = ('org.freedesktop.login1', '/org/freedesktop/login1',
                         'org.freedesktop.login1.Manager')
INTROSPECTION = f'''
<node><interface name="{INTERFACE}"><method name="Inhibit">
  <arg type="s" direction="in"/><arg type="s" direction="in"/>
  <arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="h" direction="out"/>
</method></interface></node>'''


class Logind:
    """Grants inhibitor locks, each a pipe whose other end is in `locks`."""

    def __init__(self, address):
        self.client = Client(address)
        self.connection = self.client.connection
        self.calls = []
        self.locks = []
        interface = Gio.DBusNodeInfo.new_for_xml(INTROSPECTION).interfaces[0]
        self.connection.register_object(PATH, interface, self._on_call, None, None)
        self.own()

    def own(self):
        self.connection.call_sync('org.freedesktop.DBus', '/org/freedesktop/DBus', 'org.freedesktop.DBus',
                                  'RequestName', GLib.Variant('(su)', (NAME, 0)), None,
                                  Gio.DBusCallFlags.NONE, -1, None)

    def _on_call(self, _connection, _sender, _path, _interface, _method, parameters, invocation):
        reader, writer = os.pipe()
        self.calls.append(parameters.unpack())
        self.locks.append(reader)
        invocation.return_value_with_unix_fd_list(GLib.Variant('(h)', (0,)),
                                                  Gio.UnixFDList.new_from_array([writer]))

    def is_inhibited(self):
        """Whether the last inhibitor lock is held."""
        return not readable(self.locks[-1], 0)

    def prepare(self, begins, connection=None, destination=None):
        (connection or self.connection).emit_signal(destination, PATH, INTERFACE, 'PrepareForSleep',
                                                    GLib.Variant('(b)', (begins,)))

    def close(self):
        self.client.close()
        while self.locks:
            os.close(self.locks.pop())


class Sleep(ClusterCase):
    others_broadcast = True

    def setUp(self):
        super().setUp()
        self.logind = Logind(self.bus.address)
        self.addCleanup(self.logind.close)

    def wait_inhibited(self, count=1):
        wait_for(lambda: len(self.logind.locks) == count, what=f'{count} inhibitor locks')

    def test_lost(self):
        gateway, client, held, _ = self.hold()
        waiting = client.request('x', BUCKET)[0]
        local = client.request('x')[0]
        self.wait_inhibited()
        self.assertEqual((self.logind.calls[0][0], self.logind.calls[0][3]), ('sleep', 'delay'))
        self.assertTrue(self.logind.is_inhibited())
        self.logind.prepare(True)
        client.wait_released(held, 'lost')
        gateway.take_demand('x', turn_over=True, want=packets.NONE, held=packets.NONE)
        wait_for(lambda: not self.logind.is_inhibited(), what='the end of the inhibitor lock')
        self.assertEqual({entry[1] for entry in client.resync()}, {waiting, local})
        # Who waits is not granted the lock either: the machine would be suspended with it.
        block = gateway.permit(gateway.last['x'])
        gateway.take_demand('x', turn_over=True, block=block, want=packets.NONE, held=packets.NONE)
        later = client.request('y', BUCKET)[0]
        gateway.take_demand('y', want=packets.NONE)
        gateway.gone(gateway.last['y'])
        self.logind.prepare(False)
        self.wait_inhibited(2)
        self.assertTrue(self.logind.is_inhibited())
        for name, id_ in ('x', waiting), ('y', later):
            demand = gateway.take_demand(name, want=packets.EXCLUSIVE) if name == 'x' else gateway.last[name]
            self.assertEqual(client.signals('Granted', id=id_), [])
            gateway.permit(demand)
            client.wait_granted(id_)

    def test_forged(self):
        """The signal of another sender is ignored."""
        gateway, client, held, _ = self.hold()
        self.wait_inhibited()
        other = self.client()
        self.logind.prepare(True, other.connection)
        self.logind.prepare(True, other.connection, self.current.name)
        other.sync()
        gateway.sync()
        self.assertEqual(client.signals('Released'), [])
        client.release(held, BUCKET)

    def test_logind_restarted(self):
        """Or ended: nobody announces the end of the suspend then."""
        gateway, client, held, _ = self.hold()
        self.wait_inhibited()
        self.logind.close()
        self.logind = Logind(self.bus.address)
        self.addCleanup(self.logind.close)
        self.wait_inhibited()
        waiting = client.request('x', BUCKET)[0]
        self.logind.prepare(True)
        client.wait_released(held, 'lost')
        gateway.take_demand('x', turn_over=True, want=packets.NONE)
        self.logind.close()
        gateway.permit(gateway.take_demand('x', want=packets.EXCLUSIVE))
        client.wait_granted(waiting)


class WithoutCluster(ClusterCase):
    others_broadcast = True

    def test_not_inhibited(self):
        """Without a cluster, logind is not called."""
        logind = Logind(self.bus.address)
        self.addCleanup(logind.close)
        os.unlink(self.config_path)
        self.start()
        self.client().ping()
        self.assertEqual(logind.calls, [])
