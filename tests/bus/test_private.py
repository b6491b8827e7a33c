# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Private sessions: who knows the name can join one; others can look at it by its public name.
That no byte of a name reaches others is tested in test_isolation.py."""

import os
import secrets

from calls import ROOT, bucket_path, other_path
from harness import BusTestCase
from isolationcases import public_name


class SessionCase(BusTestCase):
    def setUp(self):
        super().setUp()
        self.name = f'private-{secrets.token_hex(16)}'
        self.public = public_name(self.name)
        self.a, self.b, self.c = (self.raw_client() for _ in range(3))

    def listed(self, client):
        """The names in both lists of the client; of each entry the path matches the name."""
        rows = client.observable()
        for path, row in rows:
            self.assertEqual(path, bucket_path(row['bucket']))
        return client.buckets(), [row['bucket'] for _, row in rows]


class Names(SessionCase):
    def test_which_names_are_private(self):
        digits = self.name.removeprefix('private-')
        for name in (f'private-{digits[:-1]}A', f'private-{digits[:-1]}g', f'private-{digits}0',
                     f'private-{digits[:-1]}', f'private_{digits}', f'Private-{digits}',
                     f'x{self.name}', 'private-'):
            with self.subTest(name=name):
                id_, _ = self.a.request('x', name)
                self.assertEqual(self.listed(self.b), ([name], [name]))
                self.a.release(id_, name)

    def test_the_public_name(self):
        """It is computed from the name alone, so it is the same for each instance, and has as many
        digits."""
        self.a.request('x', 'private-' + '0' * 32)
        (path, row), = self.b.observable()
        self.assertEqual(row['bucket'], public_name('private-' + '0' * 32))
        self.assertRegex(path, f'^{ROOT}/bucket/private_3a[0-9a-f]{{32}}$')


class Lists(SessionCase):
    def test_members_and_others(self):
        held, _ = self.a.request('x', self.name)
        self.assertEqual(self.listed(self.a), ([self.name], [self.name]))
        self.assertEqual(self.listed(self.b), ([], [self.public]))
        waits, _ = self.b.request('x', self.name)
        self.assertEqual(self.listed(self.b), ([self.name], [self.name]))
        self.assertEqual(self.c.observable(), [(bucket_path(self.public), {
            'uid': os.getuid(), 'kind': 'user', 'app': '', 'bucket': self.public, 'held': 1,
            'pending': 1})])
        self.b.abort(waits, self.name)
        self.assertEqual(self.listed(self.b), ([], [self.public]))
        second, _ = self.a.request('y', self.name)
        self.a.release(held, self.name)
        self.assertEqual(self.listed(self.a), ([self.name], [self.name]))
        self.a.release(second, self.name)
        for client in (self.a, self.b):
            self.assertEqual(self.listed(client), ([], []))

    def test_own_requests(self):
        self.a.request('x', self.name, key=3)
        self.assertEqual([(row[0], row[2]) for row in self.a.resync()], [(self.name, 3)])

    def test_after_a_restart(self):
        self.a.request('x', self.name)
        self.kill_and_restart()
        self.assertEqual(self.listed(self.a), ([self.name], [self.name]))
        self.assertEqual(self.listed(self.b), ([], [self.public]))
        self.assertEqual(self.b.query(self.public), ([('x', 'exclusive', self.a.name)], []))

    def test_a_session_outlives_its_first_client(self):
        self.a.request('x', self.name)
        waits, _ = self.b.request('x', self.name)
        self.a.close()
        self.b.wait_granted(waits)
        self.assertEqual(self.listed(self.c), ([], [self.public]))


class Look(SessionCase):
    def test_query_and_inspect(self):
        self.a.request('x', self.name)
        self.b.request('x', self.name)
        self.assertEqual(self.c.query(self.public), self.a.query(self.name))
        by_name, by_public = (client.inspect(bucket)[0] for client, bucket in (
            (self.c, self.name), (self.c, self.public)))
        for entry in by_name + by_public:
            del entry['age']
        self.assertEqual(by_public, by_name)
        self.assertEqual(len(by_public), 2)

    def test_break(self):
        held, _ = self.a.request('x', self.name)
        waits, _ = self.b.request('x', self.name)
        self.assertEqual(self.c.break_locks('x', self.public), 1)
        self.assertEqual(self.a.wait_released(held, 'stolen').path, bucket_path(self.name))
        self.assertEqual(self.b.wait_granted(waits).path, bucket_path(self.name))

    def test_nothing_is_there(self):
        for bucket in (self.public, 'private:', 'private:x', self.public + '0'):
            self.assertEqual(self.c.query(bucket), ([], []))
            self.assertEqual(self.c.inspect(bucket), ([], False))
            self.assertEqual(self.c.break_locks('x', bucket), 0)

    def test_others_of_the_bus(self):
        """A public name is of a bucket of the caller's principal, too."""
        stranger = self.other_uid_client()
        self.a.request('x', self.name)
        self.assertEqual(self.listed(stranger), ([], []))
        self.assertEqual(stranger.query(self.public), ([], []))
        self.assertEqual(stranger.break_locks('x', self.public), 0)
        self.assertEqual(stranger.query(self.name), ([], []))
        self.assert_error('Security', stranger.query, other_path(self.public, uid=os.getuid()))

    def test_root(self):
        member = self.other_uid_client()
        if os.getuid() != 0:
            self.skipTest('needs root')
        path = other_path(self.public, uid=65534)
        self.b.watch_all()
        self.c.watch(bucket=path)
        held, _ = member.request('x', self.name)
        (seen, row), = self.a.observable()
        self.assertEqual((seen, row['bucket'], row['uid']), (path, self.public, 65534))
        self.assertEqual(self.a.buckets(), [])
        self.assertEqual(self.a.query(path), ([('x', 'exclusive', member.name)], []))
        self.assert_error('Security', self.a.request, 'x', path)
        self.assertEqual(self.a.break_locks('x', path), 1)
        member.wait_released(held, 'stolen')
        for watcher in (self.b, self.c):
            watcher.ping()
            self.assertEqual([(event.signal, event.path) for event in watcher.events],
                             [('Granted', path), ('Released', path)])


class Join(SessionCase):
    """The public name is not for requests, whether or not there is such a session."""

    def check(self, client):
        before = self.a.query(self.name), self.a.resync()
        errors = set()
        for bucket in (self.public, public_name('private-' + '1' * 32), 'private:', 'private:x'):
            for call, subject in ((client.request, 'x'), (client.request, 'other'),
                                  (client.steal, 'x')):
                errors.add(str(self.assert_error('Security', call, subject, bucket)))
        self.assertEqual(len(errors), 1, errors)
        self.assertEqual((self.a.query(self.name), self.a.resync()), before)
        self.assertEqual(self.listed(client), ([], [self.public]))

    def test_by_the_bus(self):
        id_, _ = self.a.request('x', self.name)
        self.check(self.b)
        # Not even of those who are there.
        for client in (self.a, self.b):
            self.assert_error('Security', client.release, id_, self.public)
            self.assert_error('Security', client.abort, id_, self.public)
            self.assert_error('Security', client.downgrade, id_, self.public)
        self.a.release(id_, self.name)

    def test_by_lock_socket(self):
        self.a.request('x', self.name)
        self.check(self.socket_client())

    def test_by_name(self):
        """It is all that is needed."""
        held, _ = self.a.request('x', self.name)
        self.assertEqual(self.b.request('x', self.name, ifAvailable=True), (0, 0))
        self.assertGreater(self.b.steal('x', self.name)[1], 0)
        self.a.wait_released(held, 'stolen')


class Watches(SessionCase):
    def seen(self, client):
        client.ping()
        found = [(event.signal, event.path) for event in client.events]
        client.events.clear()
        return found

    def play(self, client):
        id_, _ = client.request('x', self.name)
        client.release(id_, self.name)

    def both(self, bucket):
        return [('Granted', bucket_path(bucket)), ('Released', bucket_path(bucket))]

    def test_of_all(self):
        self.b.watch_all()
        self.play(self.a)
        self.assertEqual(self.seen(self.b), self.both(self.public))

    def test_of_all_by_a_member(self):
        """While it has a request there, and for its own requests, it gets the name, as in lists."""
        self.b.watch_all()
        id_, _ = self.b.request('y', self.name)
        self.play(self.a)
        self.b.release(id_, self.name)
        self.play(self.a)
        self.assertEqual(self.seen(self.b), [
            ('Granted', bucket_path(self.name)), *self.both(self.name),
            ('Released', bucket_path(self.name)), *self.both(self.public)])

    def test_by_each_name(self):
        """Each is an object with its own watches. One made before the session is there works, and
        one outlives it."""
        self.b.watch(bucket=self.public)
        self.c.watch(bucket=self.name)
        for _ in range(2):
            self.play(self.a)
            self.assertEqual(self.seen(self.b), self.both(self.public))
            self.assertEqual(self.seen(self.c), self.both(self.name))
        self.b.watch(bucket=self.name)
        self.play(self.a)
        self.assertEqual(sorted(self.seen(self.b)), sorted(self.both(self.name) +
                                                           self.both(self.public)))
        self.b.watch(False, bucket=self.public)
        self.play(self.a)
        self.assertEqual(self.seen(self.b), self.both(self.name))

    def test_of_the_public_name_by_a_member(self):
        """The signals to it as a member have the name, and those to it as a watcher do not."""
        self.b.watch(bucket=self.public)
        self.b.request('x', self.name)
        waits, _ = self.b.request('x', self.name, timeout=1)
        self.b.wait_released(waits, 'timeout')
        public = bucket_path(self.public)
        self.assertEqual(self.seen(self.b), [('Granted', public), ('Waiting', public),
                                             ('Released', bucket_path(self.name)),
                                             ('Released', public)])

    def test_once(self):
        """A client with a watch of all and one of the name by which it is shown the bucket."""
        self.b.watch_all()
        self.b.watch(bucket=self.public)
        self.play(self.a)
        self.assertEqual(self.seen(self.b), self.both(self.public))
        self.b.watch(False, bucket=self.public)
        self.b.watch(bucket=self.name)
        self.b.request('y', self.name)
        self.play(self.a)
        self.assertEqual(self.seen(self.b), [('Granted', bucket_path(self.name)),
                                             *self.both(self.name)])
