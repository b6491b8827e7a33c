# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Random calls of all methods in the introspection data, by a user without privileges: each call
gets a documented reply; nothing remains; other clients are not affected.

A failure prints its seed: WEBLOCKS_TEST_SEED=seed repeats it."""

import os
import random

from buses import NOBODY, can_be_others, status_kib
from calls import (ADMIN, FILTER_TYPES, LOCKS, OPTION_TYPES, PROPERTIES, ROOT, SERVICE,
                   bucket_path)
from harness import (FACTOR, BusTestCase, DBusError, Gio, GLib, diagnostic, error_name, full_size)
from rawbus import method_call

V = GLib.Variant
BUCKET = 'random.calls'

ROUNDS = 6
BATCHES = full_size(40, 667)  # in each round: 100,000 calls in total at full size
CALLS = 25                    # in each batch, sent together

ALLOWED = {error_name(short) for short in (
    'InvalidArgs', 'InvalidState', 'LimitsExceeded', 'NotHeld', 'NotSupported', 'PropertyReadOnly',
    'UnknownInterface', 'UnknownMethod', 'UnknownObject', 'UnknownProperty')}

STRINGS = ['', 'x', 'y', '-', '-x', 'ä', '\U0001f512', '\uffff', '\ufdd0', '%s%n', '\x1b[31m', ' ',
           'exclusive', 'shared', 'held', 'pending', 'Version', 'Limits', LOCKS, ADMIN, ROOT,
           'n' * 1024, 'n' * 1025, 'n' * 5000, 'w' * 256, 'w' * 257, *OPTION_TYPES, *FILTER_TYPES]
PATHS = ['/', ROOT, ROOT + '/bucket', bucket_path('default'), bucket_path('ä')]


def nested(depth):
    return V('v', nested(depth - 1)) if depth else V('v', V('s', 'shared'))


# Values of each type that a bus transmits.
VALUES = {
    **{kind: [V(kind, number) for number in {0, 1, 2, 3, low, high}] for kind, low, high in (
        ('y', 0, 2 ** 8 - 1), ('n', -2 ** 15, 2 ** 15 - 1), ('q', 0, 2 ** 16 - 1), ('i', -2 ** 31, 2 ** 31 - 1),
        ('u', 0, 2 ** 32 - 1), ('x', -2 ** 63, 2 ** 63 - 1), ('t', 0, 2 ** 64 - 1))},
    's': [V('s', text) for text in STRINGS],
    'b': [V('b', True), V('b', False)],
    'd': [V('d', number) for number in (0.0, -0.0, 1e308, float('inf'), float('nan'))],
    'o': [V('o', path) for path in PATHS],
    'g': [V('g', text) for text in ('', 's', 'a{sv}', 'a' * 30 + 'y')],
    'v': [V('v', V('t', 1)), V('v', V('b', True)), nested(1), nested(12)],
    '': [V('as', []), V('as', ['shared', '']), V('ay', b'x' * 5), V('a{sv}', {}), V('a{ut}', {1: 2}),
         V('aas', [[], ['x']]), V('a(to)', [(1, '/')]), V('(s)', ('x',)), V('(sa{sv})', ('x', {})),
         V('((yb)v)', ((1, True), nested(3)))],
}


class Values:
    def __init__(self, rand, with_descriptors):
        self.rand = rand
        self.all = [*sum(VALUES.values(), []), *[V('h', 0)] * (3 if with_descriptors else 0)]

    def of(self, kind):
        """A value of that type."""
        return self.options() if kind == 'a{sv}' else self.rand.choice(VALUES[kind])

    def options(self):
        """Known keys, mostly of the right type."""
        types = self.rand.choice((OPTION_TYPES, FILTER_TYPES))
        builder = GLib.VariantBuilder(GLib.VariantType('a{sv}'))
        for _ in range(self.rand.randint(0, 4)):
            key = self.rand.choice([*types])
            value = self.of(types[key]) if self.rand.random() < 0.9 else self.rand.choice(self.all)
            if key == 'mode' and self.rand.random() < 0.8:
                value = V('s', self.rand.choice(('exclusive', 'shared')))
            builder.add_value(V.new_dict_entry(V('s', key), V('v', value)))
        return builder.end()

    def body(self, kinds):
        """Arguments, mostly of these types."""
        values = [self.of(kind) for kind in kinds]
        chance = self.rand.random()
        if chance < 0.15:
            values = self.rand.choices(self.all, k=self.rand.randint(0, 4))
        elif chance < 0.2:
            values = values[:-1]
        elif chance < 0.25:
            values.append(self.rand.choice(self.all))
        return V.new_tuple(*values) if values else None


def walk(client, path):
    """All methods of that object and those below it: (path, interface, name, types)."""
    node = Gio.DBusNodeInfo.new_for_xml(client.introspect(path))
    for interface in node.interfaces:
        for method in interface.methods:
            yield path, interface.name, method.name, [arg.signature for arg in method.in_args]
    for child in node.nodes:
        yield from walk(client, f'{path.rstrip("/")}/{child.path}')


class RandomCalls(BusTestCase):
    """Rounds of calls by a separate client each, which then disconnects."""

    time_limit = full_size(180.0, 1800.0)

    def setUp(self):
        super().setUp()
        seed = int(os.environ.get('WEBLOCKS_TEST_SEED', random.randrange(2 ** 32)))
        diagnostic(f'WEBLOCKS_TEST_SEED={seed}')
        self.rand = random.Random(seed)
        self.healthy = self.client()
        self.held, _ = self.healthy.request('x', BUCKET)
        self.waiting, _ = self.healthy.request('x', BUCKET)
        self.methods = list(walk(self.healthy, ROOT))
        self.answers = {}

    def caller(self):
        """Of an unprivileged user, if possible."""
        return self.raw_client(uid=NOBODY if can_be_others() else None, descriptors=True)

    def call(self, values):
        """Returns one call, and its description."""
        path, interface, member, kinds = self.rand.choice(self.methods)
        if path.startswith(ROOT + '/bucket/'):
            path = bucket_path(self.rand.choice(('default', BUCKET, 'ä', '9')))
        if self.rand.random() < 0.05:
            path = self.rand.choice((*PATHS, ROOT + '/bucket/_zz', ROOT + '/bucket/a/b'))
        body = values.body(kinds)
        if interface == PROPERTIES and self.rand.random() < 0.5:
            body = self.property_body(member)
        words = f'{path} {interface}.{member} {body.print_(True)[:500] if body else "()"}'
        return method_call(SERVICE, path, interface, member, body), words

    def property_body(self, member):
        name = self.rand.choice(('Version', 'InterfaceVersion', 'Limits', 'Nothing'))
        if member == 'Get':
            return V('(ss)', (ADMIN, name))
        if member == 'Set':
            return V('(ssv)', (ADMIN, name, V('s', '9')))
        return V('(s)', (ADMIN,))

    def check_answer(self, client, serial, words):
        try:
            client.result(serial)
        except DBusError as error:
            self.assertIn(error.name, ALLOWED, f'{words}: {error}')
            self.assertLess(len(error.message), 1000, words)
            self.answers[error.short] = self.answers.get(error.short, 0) + 1
        else:
            self.answers['reply'] = self.answers.get('reply', 0) + 1

    def run_round(self, client, with_descriptors):
        values = Values(self.rand, with_descriptors)
        descriptors = [os.open('/dev/null', os.O_RDONLY)] if with_descriptors else []
        for _ in range(BATCHES):
            sent = []
            for _ in range(CALLS):
                message, words = self.call(values)
                if with_descriptors:
                    serial = client.send_with_descriptors(message, descriptors)
                else:
                    serial = client.send(message)
                sent.append((serial, words))
            for serial, words in sent:
                self.check_answer(client, serial, words)
            client.answer_pings()
            self.close_all(client.descriptors)
        self.close_all(descriptors)

    @staticmethod
    def close_all(descriptors):
        while descriptors:
            os.close(descriptors.pop())

    def kib_of_service(self):
        return status_kib(self.daemon.process.pid, 'RssAnon:')

    def test_all_methods_in_the_introspection_data(self):
        self.assertGreater(len(self.methods), 20)
        self.assertLessEqual({(LOCKS, 'Request'), (ADMIN, 'OpenSocket'), (PROPERTIES, 'Set')},
                             {method[1:3] for method in self.methods})
        figures = []
        for number in range(ROUNDS):
            client = self.caller()
            # Some have a lock socket meanwhile: the descriptors are closed after each batch.
            self.run_round(client, with_descriptors=number % 3 == 1)
            client.close()
            self.wait_gone(client.name)
            self.check_healthy()
            figures.append((self.daemon.count_descriptors(), self.kib_of_service()))
        diagnostic(f'{ROUNDS * BATCHES * CALLS} calls: {self.answers}; '
                   f'(descriptors, KiB) after each round: {figures}')
        # The first rounds allocate what stays allocated: one of each kind.
        self.assertEqual(figures[-1][0], figures[2][0], figures)
        # With sanitizers freed memory is kept.
        if FACTOR == 1:
            self.assertLess(figures[-1][1] - figures[2][1], 1024, figures)
        self.assertGreater(self.answers['reply'], 100)
        self.assertGreater(self.answers['InvalidArgs'], 100)

    def check_healthy(self):
        """Another client, of another user if possible, is served as before."""
        self.assertIsNone(self.daemon.process.poll(), 'the service died')
        bucket = self.unique('bucket')
        id_, token = self.healthy.request('y', bucket, why='to see whether it works')
        self.assertNotEqual(token, 0)
        self.assertEqual(self.healthy.query(bucket),
                         ([('y', 'exclusive', self.healthy.name)], []))
        self.healthy.release(id_, bucket)
        if can_be_others():
            name = self.healthy.name
            self.assertEqual(self.healthy.query(BUCKET), (
                [('x', 'exclusive', name)], [('x', 'exclusive', name)]))
            self.assertEqual(self.healthy.events, [])
