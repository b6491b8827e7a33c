# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A principal gets no information about another one, here another user."""

import isolationcases
from calls import DBusError, options
from harness import BusTestCase, GLib


class Random(isolationcases.Random):
    pass


class Guesses(isolationcases.Guesses):
    pass


class Walks(isolationcases.Walks):
    pass


class Sessions(isolationcases.Sessions):
    pass


class Canaries(BusTestCase):
    """Lock names are in no error and in no log."""

    arguments = ('--verbose',)
    CANARY = 'canary'
    # Names that a terminal or a reader of logs would interpret.
    WILD = 'canary\n** (process:1): ERROR **: fatal\r\x1b[2J\x1b]0;title\x07\x7f\u202e\u009b2J'

    def test_in_errors_and_in_the_log(self):
        for text in (self.CANARY, self.WILD):
            client = self.raw_client()
            held, _ = client.request(text, text, why=text)
            client.request(text, text, why=text)
            client.request(f'{text} 2', text, why=text, key=5)
            client.watch(bucket=text)
            client.query(text)
            client.inspect(text, name=text, prefix=text)
            errors = [self.error_of(client, member, body, text) for member, body in (
                ('Request', ('(sa{sv})', (f'-{text}', {}))),
                ('Request', ('(sa{sv})', (f'{text} 3', options(key=5)))),
                ('Request', ('(sa{sv})', (text * 1000, {}))),
                ('Request', ('(sa{sv})', ('x', options(why=text * 1000)))),
                ('Request', ('(sa{sv})', ('x', options(mode=text)))),
                ('Request', ('(sa{sv})', ('x', {'why': GLib.Variant('as', [text])}))),
                ('Steal', ('(sa{sv})', (text, options(mode='shared')))),
                ('Release', ('(t)', (10 ** 6,))),
                ('Inspect', ('(a{sv})', ({'state': GLib.Variant('s', text)},))))]
            for error in errors:
                self.assertNotIn(self.CANARY, error.message)
            client.release(held, text)
        self.check_log()

    def error_of(self, client, member, body, bucket):
        with self.assertRaises(DBusError) as caught:
            client.locks(bucket, member, GLib.Variant(*body))
        return caught.exception

    def check_log(self):
        text = self.daemon.stderr()
        self.assertIn('Request', text, 'it logs each call')
        self.assertNotIn(self.CANARY, text)
        for line in text.split('\n'):
            self.assertTrue(line.isprintable() or line == '', repr(line))

    def test_keys_are_named_in_a_harmless_way(self):
        """The message contains the unknown option, truncated to fit on a line, and without control
        characters."""
        client = self.raw_client()
        for key in ('wild\n\r\t\x1b[2J', '\x07' * 64, '"\\\'', '\u202e\u2066\u009b', 'x' * 65,
                    'x' * 100000, ''):
            for member, before in (('Request', ('x',)), ('Inspect', ())):
                with self.subTest(member=member, key=key[:100]):
                    signature = '(sa{sv})' if before else '(a{sv})'
                    error = self.error_of(client, member, (
                        signature, (*before, {key: GLib.Variant('b', True)})), 'default')
                    self.assertEqual(error.short, 'InvalidArgs')
                    self.assertLess(len(error.message), 300)
                    self.assertTrue(error.message.isprintable(), repr(error.message))
                    self.assertTrue(error.message.isascii(), repr(error.message))
        self.assertIn("'wild'", self.error_of(client, 'Request', (
            '(sa{sv})', ('x', {'wild': GLib.Variant('b', True)})), 'default').message)
        self.check_log()
