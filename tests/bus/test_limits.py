# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Limits of all users, of clients, watches and waiting calls: the last call within each, the first
beyond it, and that everything is discharged. Limits of requests within one user are in
../spec/cases.txt, lengths in test_bad_input.py and test_socket.py."""

from harness import BusTestCase, DBusError
from rawbus import lock_call


class Total(BusTestCase):
    arguments = ('--limit', 'requestsTotal=3')

    def test_other_users_too(self):
        other_user = self.other_uid_client()
        a = self.client()
        for name in ('x', 'y'):
            a.request(name)
        other_user.request('x')
        error = self.assert_error('LimitsExceeded', other_user.request, 'y',
                                  mentions='requestsTotal')
        self.assertNotIn(a.name, error.message)
        a.close()
        self.wait_gone(a.name)
        other_user.request('y')


class Clients(BusTestCase):
    arguments = ('--limit', 'clientsPerUid=2')

    def setUp(self):
        super().setUp()
        # Only clients that call the service count, and here no others may.
        self.a, self.b = self.client(), self.client()
        self.a.request('a')
        self.b.query()

    def _settle(self):
        # The control connection must not become a client either, so no ping.
        daemon, type(self).daemon = self.daemon, None
        try:
            self.wait_gone(*self._names)
        finally:
            type(self).daemon = daemon

    def refused(self, client):
        try:
            client.request('z')
        except DBusError as error:
            self.assertEqual(error.short, 'LimitsExceeded')
            self.assertIn('clientsPerUid', error.message)
            return True
        return False

    def test_a_third_is_refused_until_one_disconnects(self):
        third = self.client()
        self.assertTrue(self.refused(third))
        self.assertTrue(self.refused(third))
        self.a.request('y')
        self.b.request('x')
        self.a.close()
        # A call without becoming a client: it is repeated until there is space.
        third.wait_for(lambda: not self.refused(third), what='room for a third client')
        self.assertEqual({name for _, _, name in third.query()[0]}, {self.b.name, third.name})
        self.assertTrue(self.refused(self.client()))

    def test_another_uid_is_not_affected(self):
        other_user = self.other_uid_client()
        self.assertFalse(self.refused(other_user))


class Watches(BusTestCase):
    arguments = ('--limit', 'watchesPerClient=2')

    def test_buckets_of_one_client(self):
        a, b = self.client(), self.client()
        first, second, third = [self.unique('bucket') for _ in range(3)]
        a.watch(bucket=first)
        a.watch(bucket=second)
        self.assert_error('LimitsExceeded', a.watch, bucket=third, mentions='watchesPerClient')
        # A bucket that is watched already counts once, and a watch can always be ended.
        a.watch(bucket=first)
        a.watch(False, bucket=third)
        a.watch(False, bucket=first)
        a.watch(bucket=third)
        self.assert_error('LimitsExceeded', a.watch, bucket=first, mentions='watchesPerClient')
        b.watch(bucket=first)
        b.request('x', third)
        a.sync()
        self.assertEqual(len(a.events), 1)


class BeforeIdentified(BusTestCase):
    # Five of the calls below: each needs 1,000 bytes and a few hundred more.
    arguments = ('--limit', 'bytesWaiting=6000')

    @staticmethod
    def long_message(number, bucket):
        return lock_call('Request', f'{number:01000}', bucket)

    def send_while_paused(self, count):
        """All calls arrive before the client is identified."""
        raw = self.raw_client()
        with self.daemon.paused():
            serials = raw.send_all([self.long_message(number, self.bucket)
                                    for number in range(count)])
            # The bus has transmitted them when it replies to this.
            raw._driver('GetId')
        return raw, serials

    def test_one_call_beyond_the_limit(self):
        raw, serials = self.send_while_paused(6)
        for serial in serials[:5]:
            self.assertNotEqual(raw.result(serial)[1], 0)
        self.assert_error('LimitsExceeded', raw.result, serials[5],
                          mentions='bytesWaiting')
        # Once it is identified, this limit doesn't apply.
        raw.call_all([self.long_message(100 + number, self.bucket)
                                    for number in range(50)])
        self.assertEqual(len(raw.query(self.bucket)[0]), 55)

    def test_others_are_not_held_up(self):
        other = self.client()
        other.request('other', self.bucket)
        raw, serials = self.send_while_paused(100)
        refused = sum(raw.reply_to(serial).get_error_name() is not None for serial in serials)
        self.assertGreaterEqual(refused, 1)
        self.assertLessEqual(refused, 95)
        self.assertEqual(len(other.query(self.bucket)[0]), 101 - refused)
