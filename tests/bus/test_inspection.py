# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Inspect: entries, filters, pages."""

import contextlib
import ctypes
import os
import time

from buses import read_bytes, read_text
from calls import LOCKS, bucket_path
from handedover import HandedOver
from harness import BusTestCase, Client, GLib, RawClient, wait_for
from rawbus import method_call

KEYS = {'id': 't', 'name': 's', 'mode': 's', 'state': 's', 'clientId': 's', 'token': 't', 'why': 's', 'for': 's',
        'age': 't', 'pid': 'u', 'process': 's', 'app': 's', 'uid': 'u', 'position': 'u',
        'blockedBy': 'as', 'cursor': 't', 'key': 't', 'slots': 'u'}


@contextlib.contextmanager
def renamed(name):
    """Changes the name of this process."""
    before = read_bytes('/proc/self/comm').rstrip(b'\n')
    libc, set_name = ctypes.CDLL(None), 15  # PR_SET_NAME
    libc.prctl(set_name, name, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(set_name, before, 0, 0, 0)


class Entries(BusTestCase):
    def setUp(self):
        super().setUp()
        self.a, self.b, self.c = self.client(), self.client(), self.client()

    def inspect(self, **kw):
        return self.a.inspect(self.bucket, **kw)[0]

    def test_empty_bucket(self):
        self.assertEqual(self.a.inspect(self.bucket), ([], False))

    def test_keys_and_types_of_an_entry(self):
        self.a.request('x', self.bucket)
        reply = self.a.connection.call_sync(
            'org.w3.WebLocks', bucket_path(self.bucket), LOCKS, 'Inspect',
            GLib.Variant('(a{sv})', ({},)), None, 0, -1, None)
        self.assertEqual(reply.get_type_string(), '(aa{sv}b)')
        entry = reply.get_child_value(0).get_child_value(0)
        types = {}
        for index in range(entry.n_children()):
            pair = entry.get_child_value(index)
            key = pair.get_child_value(0).get_string()
            self.assertNotIn(key, types)
            types[key] = pair.get_child_value(1).get_variant().get_type_string()
        self.assertEqual(types, KEYS)

    def test_a_process_name_that_dbus_does_not_support(self):
        """Processes choose their names: an invalid one is left out, and Inspect doesn't fail."""
        with renamed(b'a\xef\xbf\xbfb'):
            self.client().request('x', self.bucket)
        self.assertEqual([entry['process'] for entry in self.inspect()], [''])

    def test_process_name_is_read_once(self):
        """The name is read only once, since another process may have the pid later."""
        with renamed(b'at first'):
            self.client().request('x', self.bucket)
        self.assertEqual([entry['process'] for entry in self.inspect()], ['at first'])

    def test_process_of_one_that_has_ended(self):
        """Its connection is used by another process."""
        handed_over = HandedOver(self.bus.address)
        self.addCleanup(handed_over.end)
        client, pid = self._adopt(handed_over.client), handed_over.pid
        comm = read_text(f'/proc/{pid}/comm').strip()
        client.request('x', self.bucket)
        handed_over.end()
        self.assertEqual([(entry['pid'], entry['process']) for entry in self.inspect()],
                         [(pid, comm)])

    def test_a_held_lock(self):
        id_, token = self.a.request('x', self.bucket, why='printing page 3 of 7 – Ä')
        entry, = self.inspect()
        cursor, age = entry.pop('cursor'), entry.pop('age')
        self.assertGreater(cursor, 0)
        self.assertLess(age, 60000)
        comm = read_text('/proc/self/comm').strip()
        self.assertEqual(entry, {
            'id': id_, 'name': 'x', 'mode': 'exclusive', 'state': 'held', 'clientId': self.a.name,
            'token': token, 'why': 'printing page 3 of 7 – Ä', 'for': '', 'pid': os.getpid(),
            'process': comm, 'app': '', 'uid': os.getuid(), 'position': 0, 'blockedBy': [],
            'key': 0, 'slots': 1})

    def test_a_waiting_request(self):
        self.a.request('x', self.bucket)
        id_, _ = self.b.request('x', self.bucket, mode='shared', why='reading')
        entry = self.inspect(state='pending')[0]
        del entry['cursor'], entry['age'], entry['process'], entry['pid']
        self.assertEqual(entry, {
            'id': id_, 'name': 'x', 'mode': 'shared', 'state': 'pending',
            'clientId': self.b.name, 'token': 0, 'why': 'reading', 'for': '', 'app': '', 'uid': os.getuid(),
            'position': 1, 'blockedBy': [self.a.name], 'key': 0, 'slots': 1})

    def test_slots(self):
        """What waits for a slot waits for the holders; a free slot is not waited for."""
        first, _ = self.a.request('x', self.bucket, slots=2)
        for client in (self.b, self.c):
            client.request('x', self.bucket, slots=2)
        seen = [(entry['state'], entry['slots'], entry['blockedBy']) for entry in self.inspect()]
        self.assertEqual(seen, [('held', 2, []), ('held', 2, []),
                                ('pending', 2, [self.a.name, self.b.name])])
        self.b.close()
        self.a.request('x', self.bucket, mode='shared')
        self.a.request('x', self.bucket, slots=2)
        self.a.release(first, self.bucket)
        seen = [(entry['mode'], entry['slots'], entry['blockedBy']) for entry in self.inspect()]
        self.assertEqual(seen, [('exclusive', 2, []), ('shared', 1, [self.c.name]),
                                ('exclusive', 2, [self.a.name])])

    def test_a_downgraded_lock(self):
        id_, token = self.a.request('x', self.bucket, slots=2)
        self.a.downgrade(id_, self.bucket)
        entry, = self.inspect()
        self.assertEqual([entry[key] for key in ('id', 'token', 'mode', 'slots', 'state')],
                         [id_, token, 'shared', 1, 'held'])
        self.assertEqual([line[:6] for line in self.a.resync()],
                         [(self.bucket, id_, 0, 'x', 'shared', token)])

    def test_only_the_client_itself_sees_its_keys(self):
        self.a.request('x', self.bucket, key=7)
        self.b.request('x', self.bucket, key=8)
        for client, keys in ((self.a, [7, 0]), (self.b, [0, 8]), (self.client(), [0, 0])):
            self.assertEqual([entry['key'] for entry in client.inspect(self.bucket)[0]], keys)

    def test_what_a_lock_is_for(self):
        """By Request and by Steal, held and waiting, with `why` and without."""
        options = {'for': 'rsync – Ä (pid 12)'}
        self.a.request('x', self.bucket, why='nightly', **options)
        self.b.request('x', self.bucket, **options)
        self.b.steal('y', self.bucket, **options)
        self.assertEqual([(entry['for'], entry['why']) for entry in self.inspect()],
                         [(options['for'], why) for why in ('nightly', '', '')])

    def test_position_counts_along_the_queue(self):
        self.a.request('x', self.bucket)
        self.a.request('y', self.bucket)
        for client in (self.b, self.c, self.b):
            client.request('x', self.bucket)
        self.c.request('y', self.bucket)
        seen = [(entry['name'], entry['position']) for entry in self.inspect()]
        self.assertEqual(seen, [('x', 0), ('y', 0), ('x', 1), ('x', 2), ('x', 3), ('y', 1)])

    def test_position_moves_up(self):
        id_, _ = self.a.request('x', self.bucket)
        first, _ = self.b.request('x', self.bucket)
        self.b.request('x', self.bucket)
        self.c.request('x', self.bucket)
        self.a.release(id_, self.bucket)
        self.assertEqual([entry['position'] for entry in self.inspect()], [0, 1, 2])
        self.b.release(first, self.bucket)
        self.assertEqual([entry['position'] for entry in self.inspect()], [0, 1])

    def blocked_by(self, index):
        return self.inspect(state='pending')[index]['blockedBy']

    def test_blocked_by_holders_and_earlier_requests(self):
        self.a.request('x', self.bucket)
        self.b.request('x', self.bucket, mode='shared')
        self.c.request('x', self.bucket, mode='shared')
        self.assertEqual(self.blocked_by(0), [self.a.name])
        # c doesn't conflict with b: both are shared.
        self.assertEqual(self.blocked_by(1), [self.a.name])

    def test_blocked_by_a_waiting_exclusive_only(self):
        self.a.request('x', self.bucket, mode='shared')
        self.b.request('x', self.bucket)
        self.c.request('x', self.bucket, mode='shared')
        self.assertEqual(self.blocked_by(0), [self.a.name])
        self.assertEqual(self.blocked_by(1), [self.b.name])

    def test_blocked_by_is_bounded(self):
        """Only the first 64 holders and waiting requests are considered."""
        last = self.client()
        for name, mode in (('x', 'shared'), ('y', 'exclusive')):
            self.a.request(name, self.bucket, mode=mode)
            for _ in range(64):
                self.b.request(name, self.bucket, mode=mode)
            self.c.request(name, self.bucket)
            last.request(name, self.bucket)
        self.assertEqual([entry['blockedBy'] for entry in self.inspect(clientId=last.name)],
                         [[self.a.name, self.b.name]] * 2)

    def test_blocked_by_names_a_client_once(self):
        self.a.request('x', self.bucket, mode='shared')
        self.a.request('x', self.bucket, mode='shared')
        self.b.request('x', self.bucket)
        self.a.request('x', self.bucket)
        self.assertEqual(self.blocked_by(0), [self.a.name])
        self.assertEqual(self.blocked_by(1), [self.a.name, self.b.name])

    def test_age_grows_and_starts_again_with_the_grant(self):
        id_, _ = self.a.request('x', self.bucket)
        waiting, _ = self.b.request('x', self.bucket)
        start = time.monotonic()
        wait_for(lambda: self.inspect()[1]['age'] >= 150, what='age of 150 ms')
        self.assertGreaterEqual(time.monotonic() - start, 0.14)
        old = self.inspect()[0]['age']
        self.assertGreaterEqual(old, 150)
        granted = time.monotonic()
        self.a.release(id_, self.bucket)
        self.b.wait_granted(waiting)
        new = self.inspect()[0]['age']
        self.assertLessEqual(new, (time.monotonic() - granted) * 1000 + 1)


class Filters(BusTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.addClassCleanup(lambda: cls.holder.close())
        cls.holder = Client(cls.bus.address)
        for name in ('', 'a', 'ab', 'abc', 'b', 'ä', 'abd'):
            cls.holder.request(name, 'filters')
        for name in ('a', 'abc', 'a'):
            cls.holder.request(name, 'filters')

    def seen(self, **kw):
        entries, more = self.client().inspect('filters', **kw)
        self.assertFalse(more)
        return [(entry['name'], entry['position']) for entry in entries]

    def test_no_filter(self):
        self.assertEqual(self.seen(), [('', 0), ('a', 0), ('ab', 0), ('abc', 0), ('b', 0),
                                       ('ä', 0), ('abd', 0), ('a', 1), ('abc', 1), ('a', 2)])

    def test_name(self):
        self.assertEqual(self.seen(name='a'), [('a', 0), ('a', 1), ('a', 2)])
        self.assertEqual(self.seen(name=''), [('', 0)])
        self.assertEqual(self.seen(name='nobody'), [])
        self.assertEqual(self.seen(name='A'), [])

    def test_prefix(self):
        self.assertEqual(self.seen(prefix='ab'),
                         [('ab', 0), ('abc', 0), ('abd', 0), ('abc', 1)])
        self.assertEqual(len(self.seen(prefix='')), 10)
        self.assertEqual(self.seen(prefix='zz'), [])
        self.assertEqual(self.seen(prefix='ä'), [('ä', 0)])

    def test_state(self):
        self.assertEqual(self.seen(state='pending'), [('a', 1), ('abc', 1), ('a', 2)])
        self.assertEqual(len(self.seen(state='held')), 7)

    def test_all_together(self):
        self.assertEqual(self.seen(prefix='a', state='pending', name='abc'), [('abc', 1)])
        self.assertEqual(self.seen(prefix='b', name='abc'), [])

    def test_pages(self):
        client = self.client()
        whole = client.inspect('filters')[0]
        for size in (1, 2, 3, 9, 10, 11):
            with self.subTest(size=size):
                names, after, more = [], 0, True
                while more:
                    page, more = client.inspect('filters', after=after, limit=size)
                    self.assertLessEqual(len(page), size)
                    self.assertEqual(len(page) < size and more, False)
                    names += [entry['cursor'] for entry in page]
                    after = page[-1]['cursor']
                self.assertEqual(names, [entry['cursor'] for entry in whole])

    def test_more_counts_matching_entries(self):
        client = self.client()
        self.assertEqual([flag for _, flag in (
            client.inspect('filters', name='a', limit=2),
            client.inspect('filters', name='a', limit=3),
            client.inspect('filters', name='', limit=1))], [True, False, False])


class ManyEntries(BusTestCase):
    arguments = ('--limit', 'requestsPerClient=2000')

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.holder = RawClient(cls.bus.address)
        cls.addClassCleanup(cls.holder.close)
        cls.holder.call_all([
                method_call('org.w3.WebLocks', bucket_path('many'), LOCKS, 'Request',
                            GLib.Variant('(sa{sv})', (f'{number:04}', {})))
                for number in range(1200)])

    def check(self, expected, **kw):
        entries, more = self.client().inspect('many', **kw)
        self.assertEqual((len(entries), more), (expected, True))
        self.assertEqual(entries[-1]['name'], f'{expected - 1:04}')
        return entries

    def test_a_page_has_100_by_default(self):
        self.check(100)
        self.check(100, limit=0)

    def test_up_to_1000(self):
        self.check(999, limit=999)
        last = self.check(1000, limit=1000)[-1]
        rest, more = self.client().inspect('many', limit=1000, after=last['cursor'])
        self.assertEqual((len(rest), more), (200, False))

    def test_never_more_than_1000_entries(self):
        for limit in (1001, 2 ** 32 - 1):
            with self.subTest(limit=limit):
                self.check(1000, limit=limit)
