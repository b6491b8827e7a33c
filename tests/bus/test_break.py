# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Break, the watch of all buckets, and Observable, within one principal. Other principals are in
tests/sandbox/test_observe.py."""

import os

from calls import ADMIN, LOCKS, ROOT, bucket_path, other_path
from harness import BusTestCase, GLib


class BreakCase(BusTestCase):
    def setUp(self):
        super().setUp()
        self.a, self.b, self.c = self.client(), self.client(), self.client()


class Break(BreakCase):
    def test_signals_come_before_the_reply(self):
        raw = self.raw_client()
        held, _ = raw.request('x', self.bucket)
        waiting, _ = raw.request('x', self.bucket)
        self.assertEqual(raw.break_locks('x', self.bucket), 1)
        self.assertEqual([(event.signal, event.id) for event in raw.events],
                         [('Released', held), ('Granted', waiting)])

    def test_of_one_client_or_one_lock(self):
        ids = [self.a.request('x', self.bucket, mode='shared')[0] for _ in range(3)]
        other, _ = self.b.request('x', self.bucket, mode='shared')
        self.assertEqual(self.c.break_locks('x', self.bucket, clientId=self.a.name, id=ids[1]), 1)
        self.a.wait_released(ids[1], 'stolen')
        self.assertEqual(self.c.break_locks('x', self.bucket, clientId=self.a.name), 2)
        self.assertEqual(self.a.query(self.bucket), ([('x', 'shared', self.b.name)], []))
        self.b.release(other, self.bucket)

    def test_no_locks_to_break(self):
        self.assertEqual(self.a.break_locks('x', self.bucket), 0)
        held, _ = self.a.request('x', self.bucket)
        waiting, _ = self.b.request('x', self.bucket)
        before = self.a.query(self.bucket)
        for name, options in (('y', {}), ('', {}), ('x', {'clientId': ''}),
                              ('x', {'clientId': self.b.name, 'id': waiting}),
                              ('x', {'clientId': ':1.99999'}),
                              ('x', {'clientId': self.a.name, 'id': held + 1}),
                              ('x', {'clientId': self.a.name, 'id': 0}),
                              ('x', {'clientId': 'x' * 1000})):
            with self.subTest(name, **options):
                self.assertEqual(self.c.break_locks(name, self.bucket, **options), 0)
        self.assertEqual(self.c.break_locks('x', self.unique('bucket')), 0)
        self.assertEqual(self.a.query(self.bucket), before)

    def test_bad_input(self):
        held, _ = self.a.request('x', self.bucket)
        self.assert_error('NotSupported', self.a.break_locks, '-x', self.bucket)
        self.assert_error('NotSupported', self.a.break_locks, '-x', self.unique('bucket'))
        self.assert_error('LimitsExceeded', self.a.break_locks, 'x' * 1025, self.bucket,
                          mentions='nameBytes')
        self.assert_error('InvalidArgs', self.a.break_locks, 'x', self.bucket, id=held,
                          mentions='id')
        for options, word in (({'id': GLib.Variant('u', 1)}, 'id'),
                              ({'clientId': GLib.Variant('t', 1)}, 'clientId'),
                              ({'mode': GLib.Variant('s', 'shared')}, 'mode')):
            self.assert_error('InvalidArgs', self.a.locks, self.bucket, 'Break',
                              GLib.Variant('(sa{sv})', ('x', options)), mentions=word)
        self.assertEqual(len(self.a.query(self.bucket)[0]), 1)

    def test_holder_with_a_socket(self):
        holder = self.socket_client()
        holder.request('x', self.bucket)
        self.assertEqual(self.a.break_locks('x', self.bucket), 1)
        self.assertEqual(holder.query(self.bucket), ([], []))
        # The observer is identified on the bus.
        self.b.request('x', self.bucket)
        self.assertEqual(holder.break_locks('x', self.bucket), 1)

    def test_arguments_of_a_signal_as_filters_of_inspect(self):
        self.c.watch(bucket=self.bucket)
        self.a.request('x', self.bucket)
        self.a.request('x', self.bucket)
        self.c.sync()
        for event in self.c.events:
            entries, more = self.c.inspect(self.bucket, clientId=event.args[3], id=event.id)
            self.assertEqual([(entry['id'], entry['clientId'], entry['state'])
                              for entry in entries],
                             [(event.id, self.a.name,
                               'held' if event.signal == 'Granted' else 'pending')])
            self.assertFalse(more)
        self.assertEqual(len(self.c.events), 2)
        self.assertEqual(self.c.inspect(self.bucket, clientId=self.b.name), ([], False))
        self.assertEqual(self.c.inspect(self.bucket, id=0), ([], False))


class WatchAll(BreakCase):
    def received(self):
        self.c.sync()
        return [(event.signal, event.path, event.args[1]) for event in self.c.events]

    def test_buckets_created_later(self):
        self.c.watch_all()
        id_, _ = self.a.request('x', self.bucket)
        later = self.unique('bucket')
        self.a.request('y', later)
        self.a.release(id_, self.bucket)
        self.assertEqual(self.received(), [('Granted', bucket_path(self.bucket), 'x'),
                                       ('Granted', bucket_path(later), 'y'),
                                       ('Released', bucket_path(self.bucket), 'x')])
        self.c.watch_all(False)
        self.a.request('z', self.bucket)
        self.assertEqual(len(self.received()), 3)

    def test_both_watches_notify_once(self):
        self.c.watch_all()
        self.c.watch(bucket=self.bucket)
        self.a.request('x', self.bucket)
        self.c.request('y', self.bucket)
        self.assertEqual([line[2] for line in self.received()], ['x', 'y'])
        self.c.watch_all(False)
        self.a.request('z', self.bucket)
        self.a.request('z', self.unique('bucket'))
        self.assertEqual([line[2] for line in self.received()], ['x', 'y', 'z'])

    def test_counts_as_one_watch(self):
        self.c.watch_all()
        self.c.watch_all()
        for number in range(63):
            self.c.watch(bucket=f'bucket{number}')
        self.assert_error('LimitsExceeded', self.c.watch, bucket='one-more',
                          mentions='watchesPerClient')
        self.c.watch_all(False)
        self.c.watch(bucket='one-more')
        self.assert_error('LimitsExceeded', self.c.watch_all, mentions='watchesPerClient')

    def check_missed(self, ends=None):
        """`ends`: a bucket that is also watched by itself, until signals of it are missed."""
        for number in range(7):
            self.a.request('busy', f'bucket{number}')
        slow = self.raw_client()
        slow.answers_pings = False
        slow.watch_all()
        if ends:
            slow.watch(bucket=ends)
        slow.answers_pings = False
        writer = self.raw_client()
        count = 3000
        for number in range(1, count // 2 + 1):
            writer.request('busy', f'bucket{number % 7}')
            writer.abort(number, f'bucket{number % 7}')
        slow.ping()
        got = len(slow.events)
        self.assertGreater(got, 0)
        self.assertLess(got, count)
        n_before = 0
        if ends:
            slow.watch(False, bucket=ends)
            # On a busy machine the bus may have written everything to the socket before; then both
            # watches have been sent Missed.
            n_before = len(slow.signals('Missed'))
            self.assertLessEqual({event.path for event in slow.signals('Missed')},
                                 {ROOT, bucket_path(ends)})

        def total():
            slow.answer_pings()
            missed = sum(event.args[0] for event in slow.signals('Missed'))
            return missed + len([event for event in slow.events if event.signal != 'Missed'])
        slow.wait_for(lambda: total() >= count, what='Missed')
        self.assertEqual(total(), count)
        # All may have been written before.
        self.assertLessEqual({event.path for event in slow.signals('Missed')[n_before:]}, {ROOT})

    def test_missed(self):
        self.check_missed()

    def test_missed_by_a_watch_that_ends(self):
        self.check_missed(ends='bucket0')

    def test_a_watch_shows_in_no_token(self):
        """An empty bucket is like a new one, whether or not it is watched."""
        self.c.watch(bucket=self.bucket)
        tokens, cursors = [], []
        for _ in range(5):
            id_, token = self.a.request('x', self.bucket)
            tokens.append(token)
            cursors.append(self.a.inspect(self.bucket)[0][0]['cursor'])
            self.a.release(id_, self.bucket)
        for first, second in zip(tokens, tokens[1:]):
            self.assertGreater(second - first, 1, tokens)
        self.assertEqual(set(cursors), {1})


class Observable(BreakCase):
    def rows(self, client):
        return {path: values for path, values in client.observable()
                if values['uid'] == os.getuid() and values['kind'] == 'user'}

    def test_own_buckets(self):
        self.assertEqual(self.rows(self.c), {})
        self.c.watch(bucket=self.unique('empty'))
        self.a.request('x', self.bucket)
        self.b.request('x', self.bucket)
        self.b.request('y', self.bucket)
        self.assertEqual(self.rows(self.c), {bucket_path(self.bucket): {
            'uid': os.getuid(), 'kind': 'user', 'app': '', 'bucket': self.bucket, 'held': 2,
            'pending': 1}})
        self.assertEqual(self.c.observable()[0][0], bucket_path(self.bucket))

    def test_types(self):
        self.a.request('x', self.bucket)
        reply = self.a.connection.call_sync('org.w3.WebLocks', ROOT, ADMIN, 'Observable', None,
                                            None, 0, -1, None)
        self.assertEqual(reply.get_type_string(), '(a(oa{sv}))')
        values = reply.get_child_value(0).get_child_value(0).get_child_value(1)
        types = {}
        for index in range(values.n_children()):
            pair = values.get_child_value(index)
            types[pair.get_child_value(0).get_string()] = \
                pair.get_child_value(1).get_variant().get_type_string()
        self.assertEqual(types, {'uid': 'u', 'kind': 's', 'app': 's', 'bucket': 's', 'held': 'u',
                                 'pending': 'u'})


# No bucket's path: an invalid label, uid, or sequence.
FORGED = ['flatpak', 'snap', 'user', 'flatpak/app', 'flatpak/app/bucket', 'flatpak/_/bucket/b',
          'flatpak/app/bucket/_', 'flatpak/a_41/bucket/b', 'flatpak/app/bucket/b/c',
          'flatpak/app/flatpak/app/bucket/b', 'snap/app/b', 'snap/1app/bucket/b',
          'user/bucket/b', 'user/0', 'user/0/bucket', 'user/00/bucket/b', 'user/01/bucket/b',
          'user/_30/bucket/b', 'user/4294967295/bucket/b', 'user/4294967296/bucket/b',
          'user/18446744073709551616/bucket/b', 'user/99999999999999999999999/bucket/b',
          'user/0x0/bucket/b', 'user/root/bucket/b', 'user/0/user/0/bucket/b',
          'user/0/flatpak/app', 'other/app/bucket/b', 'flatpak/' + 'a' * 256 + '/bucket/b',
          'flatpak/app/bucket/' + 'b' * 256]


class Paths(BreakCase):
    def test_forged(self):
        for client in (self.raw_client(), self.other_uid_client()):
            for rest in FORGED:
                with self.subTest(rest):
                    self.assert_error('UnknownObject', client.call, f'{ROOT}/{rest}', LOCKS,
                                      'Query')

    def test_others_are_not_to_be_used(self):
        """No other client can request, release or abort on paths of others, whatever the bucket
        contains."""
        me = os.getuid()
        for client, path in ((self.raw_client(), other_path(self.bucket, 'app')),
                             (self.raw_client(), other_path(self.bucket, 'app', 'snap')),
                             (self.raw_client(), other_path(self.bucket, uid=me))):
            for call, *arguments in ((client.request, 'x'), (client.steal, 'x'),
                                     (client.release, 1), (client.abort, 1), (client.downgrade, 1)):
                self.assert_error('Security', call, *arguments, bucket=path)
        self.assertEqual(self.a.observable(), [])

    def test_a_user_observes_own_applications_only(self):
        other_user = self.other_uid_client()
        self.a.request('x', self.bucket)
        self.assertEqual(other_user.query(other_path(self.bucket, 'app')), ([], []))
        self.assertEqual(other_user.break_locks('x', other_path(self.bucket, 'app')), 0)
        answers = set()
        for path in (other_path(self.bucket, uid=os.getuid()), other_path('nothing', uid=0),
                     other_path(self.bucket, 'app', uid=os.getuid()),
                     other_path(self.bucket, uid=65534), other_path(self.bucket, uid=12345)):
            for call, *arguments in ((other_user.query,), (other_user.inspect,),
                                     (other_user.break_locks, 'x'), (other_user.break_locks, '-x')):
                error = self.assert_error('Security', call, *arguments, path)
                answers.add(str(error))
            self.assert_error('Security', other_user.watch, bucket=path)
        self.assertEqual(len(answers), 1, answers)
        self.assertEqual(other_user.observable(), [])

    def test_root_looks_at_all(self):
        other_user = self.other_uid_client()
        if os.getuid() != 0:
            self.skipTest('needs root')
        path = other_path(self.bucket, uid=65534)
        self.a.watch_all()
        self.b.watch(bucket=path)
        held, _ = other_user.request('x', self.bucket)
        waiting, _ = other_user.request('x', self.bucket)
        self.assertEqual(self.c.query(path), ([('x', 'exclusive', other_user.name)],
                                              [('x', 'exclusive', other_user.name)]))
        entry = self.c.inspect(path)[0][0]
        self.assertEqual((entry['uid'], entry['app'], entry['id']), (65534, '', held))
        self.assertEqual(self.c.observable(), [(path, {
            'uid': 65534, 'kind': 'user', 'app': '', 'bucket': self.bucket, 'held': 1,
            'pending': 1})])
        self.assertEqual(self.c.break_locks('x', path), 1)
        other_user.wait_for(lambda: other_user.granted(waiting), what='Granted')
        self.assertEqual(len(other_user.signals('Released', id=held, reason='stolen')), 1)
        for watcher in (self.a, self.b):
            watcher.sync()
            self.assertEqual([(event.signal, event.path, event.id) for event in watcher.events],
                             [('Granted', path, held), ('Waiting', path, waiting),
                              ('Released', path, held), ('Granted', path, waiting)])
