# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The encoding of the tests' own messages, lib/wire.py: GLib reads what it writes, and it reads what GLib
writes."""

import unittest

from gi.repository import Gio, GLib

import tap
from wire import Body, Call, Message, split

NONE = Gio.DBusCapabilityFlags.NONE


class Wire(unittest.TestCase):
    def test_calls(self):
        options = {'mode': ('s', 'shared'), 'key': ('t', 1 << 60), 'steal': ('b', True), 'timeout': ('u', 5)}
        for body in (None, Body('(t)', (7,)), Body('(sa{sv})', ('', {})),
                     Body('(sa{sv})', ('name ä', options)), Body('(bas)', (False, ['a', '']))):
            for reply in (True, False):
                call = Call('org.w3.WebLocks', '/a/b', 'org.example.I', 'Member', body, reply)
                for serial in (1, 77):
                    message = Gio.DBusMessage.new_from_blob(call.encode(serial), NONE)
                    expected = call.to_gio()
                    expected.set_serial(serial)
                    self.assertEqual(message.print_(0), expected.print_(0))

    def test_what_arrives(self):
        inner = GLib.Variant('(tas)', (5, ['q', '']))
        for body in (None, GLib.Variant('(s)', ('',)),
                     GLib.Variant('(a(sss)a{sv}ayxdqnb)', (
                         [('a', 'b', 'ccc'), ('', 'é', 'z')], {'k': inner}, [1, 2, 3], -5, 1.5, 7, -3, True)),
                     GLib.Variant('(aa{sv}bg)', (
                         [{'a': GLib.Variant('v', GLib.Variant('x', -1))}, {}], False, 'a(ss)')),
                     GLib.Variant('(a(oqu)v)', ([], GLib.Variant('ao', ['/a', '/bb'])))):
            call = Gio.DBusMessage.new_method_call(None, '/x', None, 'M')
            call.set_serial(8)
            for sent in (Gio.DBusMessage.new_signal('/x', 'org.example.I', 'Member'),
                         Gio.DBusMessage.new_method_reply(call),
                         Gio.DBusMessage.new_method_error_literal(call, 'org.example.Error', 'text')):
                sent.set_sender(':1.5')
                sent.set_destination(':1.6')
                sent.set_serial(9)
                if body is not None and sent.get_error_name() is None:
                    sent.set_body(body)
                blob = sent.to_blob(NONE)
                got = Message(blob)
                for name in ('message_type', 'serial', 'path', 'interface', 'member', 'error_name',
                             'reply_serial', 'destination', 'sender'):
                    self.assertEqual(getattr(got, f'get_{name}')(), getattr(sent, f'get_{name}')(), name)
                self.assertEqual(got.unpack(), sent.get_body().unpack() if sent.get_body() else ())
                self.assertEqual(str(got), sent.print_(0))
                pieces = bytearray(blob + blob[:20])
                self.assertEqual((list(split(pieces)), pieces), ([blob], blob[:20]))


if __name__ == '__main__':
    tap.main()
