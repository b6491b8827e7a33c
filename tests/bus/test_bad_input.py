# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Every invalid call gets a typed error, changes nothing, and does not stop the service."""

from calls import ADMIN, LOCKS, PROPERTIES, ROOT, SERVICE, bucket_path, options
from harness import BusTestCase, DBusError, Gio, GLib, error_name
from rawbus import bus_call, lock_call, method_call

V = GLib.Variant
BUCKET = 'bad.input'
PATH = bucket_path(BUCKET)


def opt(key, value):
    return V('(sa{sv})', ('x', {key: value}))


def named(name, **kw):
    return V('(sa{sv})', (name, options(**kw)))


def pairs(*items):
    """Options in which a key can occur twice."""
    builder = GLib.VariantBuilder(GLib.VariantType('a{sv}'))
    for key, value in items:
        builder.add_value(V.new_dict_entry(V('s', key), V('v', value)))
    return V.new_tuple(V('s', 'x'), builder.end())


NONCHARACTERS = ('\uffff', '\ufffe', '\ufdd0', 'a\ufdefb', '\U0001ffff')

# (member, body, error, words that the message must contain)
REQUESTS = [
    # signatures
    (None, 'InvalidArgs', ''),
    (V('(s)', ('x',)), 'InvalidArgs', ''),
    (V('(a{sv})', ({},)), 'InvalidArgs', ''),
    (V('(sa{ss})', ('x', {})), 'InvalidArgs', ''),
    (V('(sa{sv}s)', ('x', {}, 'y')), 'InvalidArgs', ''),
    (V('(a{sv}s)', ({}, 'x')), 'InvalidArgs', ''),
    (V('(aya{sv})', (b'x', {})), 'InvalidArgs', ''),
    (V('(oa{sv})', ('/x', {})), 'InvalidArgs', ''),
    (V('(sa(sv))', ('x', [])), 'InvalidArgs', ''),
    (V('((sa{sv}))', (('x', {}),)), 'InvalidArgs', ''),
    # keys
    (opt('foo', V('b', True)), 'InvalidArgs', 'foo'),
    (opt('', V('b', True)), 'InvalidArgs', ''),
    (opt('Mode', V('s', 'shared')), 'InvalidArgs', 'Mode'),
    (opt('mode ', V('s', 'shared')), 'InvalidArgs', 'mode '),
    (opt('name', V('s', 'y')), 'InvalidArgs', 'name'),
    (opt('%s%n%s', V('s', 'y')), 'InvalidArgs', '%s%n%s'),
    (opt('\x1b[31m', V('s', 'y')), 'InvalidArgs', ''),
    (opt('k' * 100000, V('s', 'y')), 'InvalidArgs', ''),
    (V('(sa{sv})', ('x', {f'k{n}': V('b', True) for n in range(10000)})), 'InvalidArgs', 'k'),
    # types; ../fuzz/fuzz-decoder.c has all
    (opt('mode', V('u', 1)), 'InvalidArgs', 'mode'),
    (opt('mode', V('v', V('s', 'shared'))), 'InvalidArgs', 'mode'),
    (opt('ifAvailable', V('s', 'true')), 'InvalidArgs', 'ifAvailable'),
    (opt('steal', V('i', 1)), 'InvalidArgs', 'steal'),
    (opt('signal', V('s', '')), 'InvalidArgs', 'signal'),
    (opt('timeout', V('i', 5)), 'InvalidArgs', 'timeout'),
    (opt('why', V('u', 5)), 'InvalidArgs', 'why'),
    (opt('for', V('u', 5)), 'InvalidArgs', 'for'),
    (opt('slots', V('t', 2)), 'InvalidArgs', 'slots'),
    (opt('key', V('u', 5)), 'InvalidArgs', 'key'),
    # a valid key before an invalid one and after it
    (pairs(('mode', V('s', 'shared')), ('foo', V('b', True))), 'InvalidArgs', 'foo'),
    (pairs(('foo', V('b', True)), ('mode', V('s', 'shared'))), 'InvalidArgs', 'foo'),
    # values
    (named('x', mode='Shared'), 'InvalidArgs', 'mode'),
    (named('x', mode=''), 'InvalidArgs', 'mode'),
    (named('x', mode='foo'), 'InvalidArgs', 'mode'),
    (named('x', mode='exclusive '), 'InvalidArgs', 'mode'),
    (named('x', mode='sharedexclusive'), 'InvalidArgs', 'mode'),
    (named('x', slots=0), 'InvalidArgs', 'slots'),
    (named('x', slots=0, mode='shared'), 'InvalidArgs', 'slots'),
    (named('-', slots=0), 'InvalidArgs', 'slots'),
    (named('x', slots=1, mode='shared'), 'InvalidArgs', 'slots'),
    (named('x', slots=2, mode='shared'), 'InvalidArgs', 'slots'),
    (named('x', timeout=5, ifAvailable=True), 'InvalidArgs', 'timeout'),
    # another option comes first
    (named('-', slots=2, mode='shared'), 'NotSupported', ''),
    (named('n' * 1025, slots=2, mode='shared'), 'InvalidArgs', 'slots'),
    # reserved names, before lengths
    (named('-'), 'NotSupported', ''),
    (named('-foo'), 'NotSupported', ''),
    (named('-' * 5000), 'NotSupported', ''),
    (named('-', why='w' * 257), 'NotSupported', ''),
    (named('-', steal=True, ifAvailable=True), 'NotSupported', ''),
    # errors of reading precede errors of meaning
    (named('-', mode='foo'), 'InvalidArgs', 'mode'),
    (V('(sa{sv})', ('-', {'foo': V('b', True)})), 'InvalidArgs', 'foo'),
    (pairs(('steal', V('b', True)), ('ifAvailable', V('b', True)), ('foo', V('b', True))),
     'InvalidArgs', 'foo'),
    # lengths
    (named('n' * 1025), 'LimitsExceeded', 'nameBytes'),
    (named('ä' * 513), 'LimitsExceeded', 'nameBytes'),
    (named('x', why='w' * 257), 'LimitsExceeded', 'whyBytes'),
    (named('x', why='ä' * 129), 'LimitsExceeded', 'whyBytes'),
    (named('x', **{'for': 'f' * 257}), 'LimitsExceeded', 'whyBytes'),
    (named('x', why='w', **{'for': 'ä' * 129}), 'LimitsExceeded', 'whyBytes'),
    (named('n' * 1025, why='w' * 257), 'LimitsExceeded', 'nameBytes'),
    (named('n' * 1025, ifAvailable=True), 'LimitsExceeded', 'nameBytes'),
] + [(named('a' + text), 'InvalidArgs', '') for text in NONCHARACTERS] \
  + [(named('x', **{key: text}), 'InvalidArgs', '') for text in NONCHARACTERS for key in ('why', 'for')] \
  + [(opt('k' + text, V('b', True)), 'InvalidArgs', '') for text in NONCHARACTERS]

STEALS = [
    (None, 'InvalidArgs', ''),
    (V('(s)', ('x',)), 'InvalidArgs', ''),
    (opt('foo', V('b', True)), 'InvalidArgs', 'foo'),
    (named('x', steal=False), 'InvalidArgs', 'steal'),
    (named('x', mode='shared'), 'NotSupported', ''),
    (named('x', ifAvailable=True), 'NotSupported', ''),
    (named('x', signal=True), 'NotSupported', ''),
    (named('x', mode='foo'), 'InvalidArgs', 'mode'),
    (named('x', slots=0), 'InvalidArgs', 'slots'),
    (named('-x'), 'NotSupported', ''),
    (named('n' * 1025), 'LimitsExceeded', 'nameBytes'),
    (named('x', why='w' * 257), 'LimitsExceeded', 'whyBytes'),
]

OTHERS = [
    ('Release', None, 'InvalidArgs', ''),
    ('Release', V('(u)', (1,)), 'InvalidArgs', ''),
    ('Release', V('(v)', (V('t', 1),)), 'InvalidArgs', ''),
    ('Release', V('(t)', (0,)), 'NotHeld', ''),
    ('Release', V('(t)', (12345,)), 'NotHeld', ''),
    ('Release', V('(t)', (2 ** 63,)), 'NotHeld', ''),
    ('Release', V('(t)', (2 ** 64 - 1,)), 'NotHeld', ''),
    ('Abort', None, 'InvalidArgs', ''),
    ('Abort', V('(u)', (1,)), 'InvalidArgs', ''),
    ('Downgrade', None, 'InvalidArgs', ''),
    ('Downgrade', V('(u)', (1,)), 'InvalidArgs', ''),
    ('Downgrade', V('(t)', (0,)), 'NotHeld', ''),
    ('Downgrade', V('(t)', (2 ** 64 - 1,)), 'NotHeld', ''),
    ('Query', V('(s)', ('x',)), 'InvalidArgs', ''),
    ('Query', V('(a{sv})', ({},)), 'InvalidArgs', ''),
    ('Inspect', None, 'InvalidArgs', ''),
    ('Inspect', V('(s)', ('x',)), 'InvalidArgs', ''),
    ('Inspect', V('(a{sv})', ({'prefix': V('s', '\uffff')},)), 'InvalidArgs', ''),
    ('Watch', None, 'InvalidArgs', ''),
    ('Watch', V('(u)', (1,)), 'InvalidArgs', ''),
    ('Watch', V('(bb)', (True, True)), 'InvalidArgs', ''),
    ('Frobnicate', None, 'UnknownMethod', ''),
    ('request', named('x'), 'UnknownMethod', ''),
    ('Granted', V('(tssst)', (1, 'x', 'exclusive', ':1.1', 1)), 'UnknownMethod', ''),
]

# (path, interface, member, body, error)
ELSEWHERE = [
    (PATH, 'org.w3.Nothing', 'Query', None, 'UnknownMethod'),
    (PATH, ADMIN, 'Buckets', None, 'UnknownMethod'),
    (ROOT, LOCKS, 'Request', named('x'), 'UnknownMethod'),
    (ROOT, ADMIN, 'Nothing', None, 'UnknownMethod'),
    (ROOT, ADMIN, 'Buckets', V('(s)', ('x',)), 'InvalidArgs'),
    ('/', LOCKS, 'Query', None, 'UnknownObject'),
    ('/nowhere', LOCKS, 'Query', None, 'UnknownObject'),
    (ROOT, PROPERTIES, 'Get', V('(ss)', (ADMIN, 'Nothing')), 'UnknownProperty'),
    (ROOT, PROPERTIES, 'Get', V('(s)', (ADMIN,)), 'InvalidArgs'),
    (ROOT, PROPERTIES, 'Set', V('(ssv)', (ADMIN, 'Version', V('s', '9'))), 'PropertyReadOnly'),
    (ROOT, PROPERTIES, 'Set', V('(ssv)', (ADMIN, 'Version', V('u', 9))), None),
    (ROOT, PROPERTIES, 'Set', V('(ssv)', (ADMIN, 'Nothing', V('s', '9'))), 'UnknownProperty'),
    (PATH, PROPERTIES, 'Set', V('(ssv)', (LOCKS, 'Version', V('s', '9'))), None),
]


class BadInput(BusTestCase):
    """One client has a held lock and a pending request in the bucket, so that a change would be detected."""

    def setUp(self):
        super().setUp()
        self.observer, self.holder, self.evil = self.client(), self.client(), self.client()
        self.held, _ = self.holder.request('x', BUCKET, mode='shared', why='to be left alone')
        self.waiting, _ = self.holder.request('x', BUCKET)
        self.before = self.snapshot()
        self.lines = self.daemon.stderr().count('\n')
        self.addCleanup(self.check_untouched)

    def snapshot(self):
        entries, more = self.observer.inspect(BUCKET)
        for entry in entries:
            del entry['age']
        return self.observer.query(BUCKET), entries, more, self.observer.buckets()

    def check_untouched(self):
        self.assertIsNone(self.daemon.process.poll(), 'the service died')
        self.assertEqual(self.snapshot(), self.before)
        self.assertEqual(self.holder.events, [])
        grown = self.daemon.stderr().count('\n') - self.lines
        self.assertLess(grown, 5, 'bad calls must not flood the log')

    def try_all(self, rows):
        for path, interface, member, body, error, mentions in rows:
            text = '' if body is None else body.print_(False)
            with self.subTest(member=member, body=text[:200], path=path, interface=interface):
                try:
                    answer = self.evil.call(path, interface, member, body)
                except DBusError as caught:
                    if error is not None:
                        self.assertEqual(caught.name, error_name(error), caught.message)
                    self.assertIn(mentions, caught.message)
                    self.assertLess(len(caught.message), 1000, 'no echo of what we sent')
                else:
                    self.fail(f'expected {error}, got the answer {answer!r}')
                self.assertEqual(self.snapshot(), self.before)

    def test_request(self):
        self.assertGreater(len(REQUESTS), 60)
        self.try_all([(PATH, LOCKS, 'Request', *row) for row in REQUESTS])

    def test_steal(self):
        self.try_all([(PATH, LOCKS, 'Steal', *row) for row in STEALS])

    def test_other_methods(self):
        self.try_all([(PATH, LOCKS, *row) for row in OTHERS])

    def test_elsewhere(self):
        self.try_all([(*row, '') for row in ELSEWHERE])

    def test_an_option_twice(self):
        """D-Bus forbids it and no bus checks it; accepting it would hide the bug."""
        for first, second in (('shared', 'exclusive'), ('shared', 'shared'), ('foo', 'shared')):
            with self.subTest(first=first, second=second):
                self.assert_error('InvalidArgs', self.evil.locks, BUCKET, 'Request',
                                  pairs(('mode', V('s', first)), ('mode', V('s', second))),
                                  mentions='mode')

    def test_a_request_without_reply_is_ignored(self):
        raw = self.raw_client()
        for member in ('Request', 'Steal'):
            for body in (named('y'), named('x'), None, opt('foo', V('b', True))):
                raw.send(bus_call(SERVICE, PATH, LOCKS, member, body, reply=False))
        raw.ping()
        self.assertEqual(raw.events, [])
        answers = [message for message in raw.log if message.get_sender() == self.daemon.name]
        self.assertEqual(len(answers), 1, 'only the answer to the ping')

    def test_release_abort_and_downgrade_without_reply_work(self):
        raw = self.raw_client()
        held, _ = raw.request('y', BUCKET)
        waiting, _ = raw.request('y', BUCKET)
        for member, id_ in (('Abort', waiting), ('Downgrade', held), ('Release', held)):
            raw.send(lock_call(member, id_, BUCKET, reply=False))
        raw.ping()
        self.assertEqual(self.snapshot(), self.before)

    def test_no_reply_if_none_is_expected(self):
        """For every method, and for invalid calls; OpenSocket opens no socket."""
        raw = self.raw_client()
        raw.query()  # identified, since that uses a descriptor
        raw.forget()
        descriptors = self.daemon.count_descriptors()
        calls = [(PATH, LOCKS, 'Query', None), (PATH, LOCKS, 'Inspect', V('(a{sv})', ({},))),
                 (PATH, LOCKS, 'Watch', V('(b)', (False,))), (ROOT, ADMIN, 'Buckets', None),
                 (ROOT, ADMIN, 'OpenSocket', V('(a{sv})', ({},))),
                 (ROOT, ADMIN, 'Resync', None), (ROOT, ADMIN, 'OpenSocket', None),
                 (PATH, LOCKS, 'Query', V('(s)', ('x',))), (PATH, LOCKS, 'Release', V('(t)', (9,))),
                 (PATH, LOCKS, 'Frobnicate', None), ('/nowhere', LOCKS, 'Query', None),
                 (PATH, LOCKS, 'Inspect', V('(a{sv})', ({'colour': V('s', 'blue')},))),
                 (ROOT, PROPERTIES, 'Get', V('(ss)', (ADMIN, 'Version'))),
                 (ROOT, PROPERTIES, 'Get', V('(ss)', (ADMIN, 'Nothing')))]
        for path, interface, member, body in calls:
            raw.send(bus_call(SERVICE, path, interface, member, body, reply=False))
        raw.ping()
        answers = [message for message in raw.log if message.get_sender() == self.daemon.name]
        self.assertEqual([message.get_reply_serial() for message in answers],
                         [raw.serial], 'only the answer to the ping')
        self.assertEqual(self.daemon.count_descriptors(), descriptors)

    def test_without_interface(self):
        """D-Bus permits a service to refuse it, and sd-bus does, since there is no such object."""
        raw = self.raw_client()
        for member in ('Query', 'Request', 'Frobnicate'):
            message = Gio.DBusMessage.new_method_call('org.w3.WebLocks', PATH, None, member)
            with self.assertRaises(DBusError) as caught:
                raw.result(raw.send(message))
            self.assertIn(caught.exception.short, ('UnknownMethod', 'UnknownObject'))

    def test_paths_of_64_kib(self):
        """libsystemd drops a call with a longer one; the next calls are served."""
        raw = self.raw_client()
        for length in (65536, 65537):
            with self.subTest(length):
                serial = raw.send(method_call(SERVICE, PATH.ljust(length, 'a'), LOCKS, 'Query'))
                raw.ping()
                self.assertEqual(raw.is_answered(serial), length == 65536)

    def test_unexpected_replies_and_errors(self):
        raw = self.raw_client()
        for kind in (Gio.DBusMessageType.METHOD_RETURN, Gio.DBusMessageType.ERROR):
            for serial in (1, 2, 3, 2 ** 32 - 1):
                message = Gio.DBusMessage.new()
                message.set_message_type(kind)
                message.set_destination(self.daemon.name)
                message.set_reply_serial(serial)
                if kind == Gio.DBusMessageType.ERROR:
                    message.set_error_name('org.example.Error')
                raw.send(message)
        raw.ping()

    def test_forged_signals(self):
        """Only signals of the bus itself report disconnects and owners of names."""
        holder, own = self.holder.name, 'org.w3.WebLocks'
        for path in ('/org/freedesktop/DBus', PATH):
            for interface in ('org.freedesktop.DBus', LOCKS):
                for member, body in (
                        ('NameOwnerChanged', V('(sss)', (holder, holder, ''))),
                        ('NameOwnerChanged', V('(sss)', (own, self.daemon.name, ''))),
                        ('NameOwnerChanged', V('(s)', ('',))),
                        ('NameLost', V('(s)', (own,))),
                        ('NameAcquired', V('(s)', (own,))),
                        ('Released', V('(tssss)', (1, 'x', 'shared', holder, 'lost')))):
                    with self.subTest(path=path, interface=interface, member=member):
                        self.check_forged(path, interface, member, body)

    def check_forged(self, path, interface, member, body):
        raw = self.raw_client()
        message = Gio.DBusMessage.new_signal(path, interface, member)
        message.set_body(body)
        message.set_destination(self.daemon.name)
        raw.send(message)
        raw.ping()
        self.assertIsNone(self.daemon.process.poll())
        self.assertEqual(self.snapshot(), self.before)
