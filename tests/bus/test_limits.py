# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Each limit: the last call within it, the first beyond it, and that everything is discharged.
Limits of requests within one user are in ../spec/cases.txt."""

import os

from calls import LOCKS, bucket_path
from harness import BusTestCase, DBusError, GLib, main
from rawbus import method_call


def request_message(name, bucket='default'):
    return method_call('org.w3.WebLocks', bucket_path(bucket), LOCKS, 'Request',
                       GLib.Variant('(sa{sv})', (name, {})))


class Lengths(BusTestCase):
    """In bytes of UTF-8, not in characters."""

    def test_name(self):
        client = self.client()
        for name in ('', 'n' * 1024, 'ä' * 512, '😀' * 256):
            self.assertNotEqual(client.request(name)[1], 0)
            self.assertEqual(client.query()[0][-1], (name, 'exclusive', client.name))
        for name in ('n' * 1025, 'ä' * 512 + 'n', '😀' * 256 + 'n'):
            self.assert_error('LimitsExceeded', client.request, name, mentions='nameBytes')
        # Too long to exist, so it can't be held.
        self.assertEqual(client.inspect(name='n' * 1025), ([], False))

    def test_names_that_differ_at_the_end(self):
        client = self.client()
        for tail in ('a', 'b'):
            self.assertNotEqual(client.request('n' * 1023 + tail)[1], 0)

    def test_why(self):
        client = self.client()
        for index, why in enumerate(('', 'w' * 256, 'ä' * 128)):
            client.request(f'why{index}', why=why)
            self.assertEqual(client.inspect(name=f'why{index}')[0][0]['why'], why)
        for why in ('w' * 257, 'ä' * 128 + 'w'):
            self.assert_error('LimitsExceeded', client.request, 'x', why=why,
                              mentions='whyBytes')

    def test_a_thousand_and_twenty_four_requests(self):
        raw = self.raw_client()
        bucket = self.unique('bucket')
        serials = raw.send_all([request_message(f'{number % 512}', bucket)
                                for number in range(1025)])
        for serial in serials[:-1]:
            raw.result(serial)
        self.assert_error('LimitsExceeded', raw.result, serials[-1], mentions='requestsPerClient')
        held, pending = raw.query(bucket)
        self.assertEqual((len(held), len(pending)), (512, 512))


class SmallLengths(BusTestCase):
    arguments = ('--limit', 'nameBytes=3', '--limit', 'whyBytes=1')

    def test_small(self):
        client = self.client()
        client.request('abc', why='w')
        self.assert_error('LimitsExceeded', client.request, 'abcd', mentions='nameBytes')
        self.assert_error('LimitsExceeded', client.request, 'a', why='ww', mentions='whyBytes')
        self.assertEqual(len(client.query()[0]), 1)


class PerUid(BusTestCase):
    arguments = ('--limit', 'requestsPerUid=4')

    def setUp(self):
        super().setUp()
        self.bucket = self.unique('bucket')
        self.a, self.b, self.c = self.client(), self.client(), self.client()

    def check_full(self):
        for client in (self.a, self.b, self.c):
            self.assert_error('LimitsExceeded', client.request, 'z', self.bucket,
                              mentions='requestsPerUid')

    def fill(self):
        ids = [client.request(name, self.bucket)[0]
               for client, name in ((self.a, 'x'), (self.b, 'x'), (self.a, 'y'), (self.b, 'w'))]
        self.check_full()
        return ids

    def test_another_uid_is_not_affected(self):
        other_user = self.other_uid_client()
        self.fill()
        for number in range(4):
            other_user.request(f'{number}', self.bucket)
        self.assert_error('LimitsExceeded', other_user.request, 'z', self.bucket,
                          mentions='requestsPerUid')


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

    def test_many_come_and_go(self):
        self.b.close()
        for _ in range(20):
            client = self.client()
            client.wait_for(lambda c=client: not self.refused(c), what='room for a client')
            client.close()


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
        return request_message(f'{number:01000}', bucket)

    def send_while_paused(self, count):
        """All calls arrive before the client is identified."""
        raw = self.raw_client()
        self.daemon.pause()
        try:
            serials = raw.send_all([self.long_message(number, self.bucket)
                                    for number in range(count)])
            # The bus has transmitted them when it replies to this.
            raw._driver('GetId')
        finally:
            self.daemon.resume()
        return raw, serials

    def setUp(self):
        super().setUp()
        self.bucket = self.unique('bucket')

    def test_as_many_as_allowed(self):
        raw, serials = self.send_while_paused(5)
        for number, serial in enumerate(serials):
            self.assertEqual(raw.result(serial)[0], number + 1)

    def test_one_call_beyond_the_limit(self):
        raw, serials = self.send_while_paused(6)
        for serial in serials[:5]:
            self.assertNotEqual(raw.result(serial)[1], 0)
        self.assert_error('LimitsExceeded', raw.result, serials[5],
                          mentions='bytesWaiting')
        # Once it is identified, this limit doesn't apply.
        for serial in raw.send_all([self.long_message(100 + number, self.bucket)
                                    for number in range(50)]):
            raw.result(serial)
        self.assertEqual(len(raw.query(self.bucket)[0]), 55)

    def test_others_are_not_held_up(self):
        other = self.client()
        other.request('other', self.bucket)
        raw, serials = self.send_while_paused(100)
        refused = sum(raw.reply_to(serial).get_error_name() is not None for serial in serials)
        self.assertGreaterEqual(refused, 1)
        self.assertLessEqual(refused, 95)
        self.assertEqual(len(other.query(self.bucket)[0]), 101 - refused)

    def test_order_is_preserved(self):
        raw = self.raw_client()
        self.daemon.pause()
        try:
            release = method_call('org.w3.WebLocks', bucket_path(self.bucket), LOCKS, 'Release',
                                  GLib.Variant('(t)', (1,)))
            serials = raw.send_all([request_message('x', self.bucket), release,
                                    request_message('x', self.bucket)])
        finally:
            self.daemon.resume()
        self.assertNotEqual(raw.result(serials[0])[1], 0)
        raw.result(serials[1])
        id_, token = raw.result(serials[2])
        self.assertNotEqual(token, 0)
        self.assertEqual(id_, 2)


class DefaultsForManyClients(BusTestCase):
    def test_1024_clients_of_one_user(self):
        if os.environ.get('WEBLOCKS_TEST_WRAPPER'):
            self.skipTest('too many connections to be run under valgrind')
        clients = []
        refused = 0
        # The control client of this class may count as one, so the limit is found by trying.
        for _ in range(1026):
            client = self.raw_client()
            clients.append(client)
            try:
                client.query()
            except DBusError as error:
                self.assertIn('clientsPerUid', error.message)
                refused += 1
        self.assertIn(refused, (2, 3))


if __name__ == '__main__':
    main()
