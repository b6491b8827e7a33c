# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Which client receives which signals, in which order."""

from calls import LOCKS, ROOT, bucket_path
from harness import BusTestCase, Gio, GLib
from rawbus import lock_call, method_call, unpack


class SignalCase(BusTestCase):
    def setUp(self):
        super().setUp()
        self.a, self.b, self.c = self.client(), self.client(), self.client()

    def sent(self, start):
        """(member, destination, args) of all signals that the service sent since, in order, without Wanted."""
        self.a.ping()
        stop = self.monitor.position()
        return [(message.get_member(), message.get_destination(), unpack(message))
                for message in self.monitor.messages(start, stop)
                if message.get_message_type() == Gio.DBusMessageType.SIGNAL
                and message.get_sender() == self.daemon.name and message.get_member() != 'Wanted']

    def received(self, client):
        client.sync()
        return [(event.signal, *event.args) for event in client.events]


class Owners(SignalCase):
    """The signals of a client's own requests."""

    def test_granted_comes_after_the_reply_with_the_id(self):
        """Request, and the release of the blocking lock, in one write."""
        raw = self.raw_client()
        held, _ = raw.request('x', self.bucket)
        for _ in range(50):
            body = GLib.Variant('(sa{sv})', ('x', {}))
            request, release = raw.send_all([
                method_call('org.w3.WebLocks', bucket_path(self.bucket), LOCKS, 'Request', body),
                method_call('org.w3.WebLocks', bucket_path(self.bucket), LOCKS, 'Release',
                            GLib.Variant('(t)', (held,)))])
            start = len(raw.log)
            waiting, token = raw.result(request)
            self.assertEqual(token, 0)
            raw.result(release)
            raw.wait_for(lambda w=waiting: raw.granted(w), what='Granted')
            kinds = [(message.get_reply_serial(), message.get_member())
                     for message in raw.log[start:]]
            self.assertLess(kinds.index((request, None)), kinds.index((0, 'Granted')))
            held = waiting

    def test_timeout(self):
        self.a.request('x', self.bucket)
        id_, _ = self.b.request('x', self.bucket, timeout=20)
        event = self.b.wait_released(id_, 'timeout')
        self.assertEqual(event.args, (id_, 'x', 'exclusive', self.b.name, 'timeout'))
        self.assertEqual(len(self.received(self.b)), 1)
        self.assertEqual(self.received(self.a), [])

    def test_a_release_after_the_timeout_grants_nothing(self):
        """All of these calls are served in one turn, which lasts longer than the time-out: each
        Inspect visits all requests of the bucket."""
        for _ in range(16):
            self.socket_client().socket.request_all([''] * 1000, self.bucket, mode='shared')
        raw = self.raw_client()
        held, _ = raw.request('x', self.bucket)
        slow = [method_call('org.w3.WebLocks', bucket_path(self.bucket), LOCKS, 'Inspect',
                            GLib.Variant('(a{sv})', ({'prefix': GLib.Variant('s', 'no')},)))
                for _ in range(29)]
        calls = [lock_call('Request', 'x', self.bucket, timeout=1), *slow,
                 lock_call('Release', held, self.bucket)]
        with self.daemon.paused():
            request, *_, release = raw.send_all(calls)
            # The bus has transmitted them when it replies to this.
            raw._driver('GetId')
        waiting, _ = raw.result(request)
        raw.result(release)
        self.assertEqual([(event.signal, event.id) for event in raw.events],
                         [('Released', waiting)])

    def test_a_query_in_the_handler_shows_the_grant(self):
        seen = []
        held, _ = self.a.request('x', self.bucket)
        waiting, _ = self.b.request('x', self.bucket)
        self.b.on_event = lambda event: seen.append((event.signal, self.b.query(self.bucket)))
        self.a.release(held, self.bucket)
        self.b.wait_granted(waiting)
        self.c.steal('x', self.bucket)
        self.b.wait_released(waiting, 'stolen')
        self.assertEqual(seen, [
            ('Granted', ([('x', 'exclusive', self.b.name)], [])),
            ('Released', ([('x', 'exclusive', self.c.name)], []))])


class Watchers(SignalCase):
    def setUp(self):
        super().setUp()
        self.c.watch(bucket=self.bucket)

    def test_waiting_comes_after_the_reply(self):
        raw = self.raw_client()
        raw.watch(bucket=self.bucket)
        self.a.request('x', self.bucket)
        for number in range(20):
            request = raw.send(method_call('org.w3.WebLocks', bucket_path(self.bucket), LOCKS,
                                           'Request', GLib.Variant('(sa{sv})', ('x', {}))))
            start = len(raw.log)
            id_, _ = raw.result(request)
            raw.wait_for(lambda n=number: len(raw.signals('Waiting')) > n, what='Waiting')
            kinds = [(message.get_reply_serial(), message.get_member())
                     for message in raw.log[start:]]
            self.assertLess(kinds.index((request, None)), kinds.index((0, 'Waiting')))
            self.assertEqual(raw.signals('Waiting')[-1].args,
                             (id_, 'x', 'exclusive', raw.name))

    def test_a_repeated_request_does_not_begin_to_wait_again(self):
        self.a.request('x', self.bucket)
        for _ in range(3):
            self.b.request('x', self.bucket, key=7)
        self.assertEqual(len([line for line in self.received(self.c) if line[0] == 'Waiting']), 1)

    def test_downgraded(self):
        """To watchers of the bucket and of all, from the bucket's path; the owner gets the reply."""
        of_all = self.client()
        of_all.watch_all()
        id_, _ = self.a.request('x', self.bucket)
        self.a.downgrade(id_, self.bucket)
        self.a.downgrade(id_, self.bucket)
        for client in (self.a, self.c, of_all):
            client.sync()
        self.assertEqual(self.a.events, [])
        for client in (self.c, of_all):
            self.assertEqual([event[:3] for event in client.signals('Downgraded')],
                             [('Downgraded', bucket_path(self.bucket), (id_,))])

    def test_off(self):
        self.c.watch(False, self.bucket)
        self.a.request('x', self.bucket)
        self.assertEqual(self.received(self.c), [])
        self.c.watch(False, self.bucket)

    def test_watching_twice_is_watching_once(self):
        self.c.watch(True, self.bucket)
        self.a.request('x', self.bucket)
        self.assertEqual(len(self.received(self.c)), 1)
        self.c.watch(False, self.bucket)
        self.a.request('y', self.bucket)
        self.assertEqual(len(self.received(self.c)), 1)

    def test_a_disconnected_watcher_is_removed(self):
        self.c.close()
        self.wait_gone(self.c.name)
        start = self.monitor.position()
        self.a.request('x', self.bucket)
        self.assertEqual(self.sent(start), [])


class UnrelatedClients(SignalCase):
    def test_a_broad_match_rule_matches_nothing(self):
        unrelated = self.raw_client()
        for rule in ("type='signal'", "interface='org.w3.WebLocks'",
                     "sender='org.w3.WebLocks'", f"path_namespace='{ROOT}'"):
            unrelated.add_match(rule)
        self.c.watch(bucket=self.bucket)
        held, _ = self.a.request('x', self.bucket)
        waiting, _ = self.b.request('x', self.bucket)
        self.a.release(held, self.bucket)
        self.b.wait_granted(waiting)
        self.a.steal('x', self.bucket)
        self.b.wait_released(waiting, 'stolen')
        unrelated.ping()
        self.assertEqual(unrelated.events, [])
        self.assertEqual([message for message in unrelated.log
                          if message.get_sender() == self.daemon.name
                          and message.get_message_type() == Gio.DBusMessageType.SIGNAL], [])


class SlowWatchers(SignalCase):
    """A watcher that reads too slowly misses signals and is notified of their number; never those of
    its own requests."""

    EVENTS = 3000

    def setUp(self):
        super().setUp()
        # It neither reads nor answers a Ping until the test makes it.
        self.slow = self.raw_client()
        self.slow.watch(bucket=self.bucket)

    def make_events(self, count):
        """Half of them grants, half of them releases, of another client."""
        writer = self.raw_client()
        messages = []
        for number in range(1, count // 2 + 1):
            messages += [lock_call('Request', 'busy', self.bucket),
                         lock_call('Release', number, self.bucket)]
        writer.call_all(messages)

    def test_missed(self):
        self.make_events(self.EVENTS)
        # It may be sent `Missed` as soon as it has read the others, and not before.
        self.slow.ping_the_bus()
        got = len(self.slow.events) - len(self.slow.signals('Missed'))
        self.assertLess(got, self.EVENTS, 'it was sent everything')
        self.assertGreater(got, 0)

        def get_missed():
            self.slow.answer_pings()
            return self.slow.signals('Missed')
        self.slow.wait_for(get_missed, what='Missed')
        missed, = self.slow.signals('Missed')
        self.assertEqual(missed.path, bucket_path(self.bucket))
        self.assertEqual(got + missed.args[0], self.EVENTS)

        # From now on it receives everything again.
        self.a.request('x', self.bucket)
        self.slow.wait_for(lambda: (self.slow.answer_pings(),
                                    [event for event in self.slow.signals('Granted')
                                     if event.args[1] == 'x'])[1], what='Granted of x')
        self.assertEqual(len(self.slow.events), got + 2)

    def test_a_reader_that_replies_to_no_ping(self):
        """Such as a program of blocking calls: it receives everything that it reads in time, and
        the number of the others."""
        for total in range(500, 2 * self.EVENTS + 1, 500):
            self.make_events(500)
            # Signals are read while waiting for a reply.
            self.slow.query(self.bucket)
        self.slow.wait_for(lambda: self.count_events() == total, what='all, or Missed')
        self.assertGreater(len(self.slow.events), 1024 + 500)
        self.assertEqual(len(self.slow.pings()), 1)

    def count_events(self):
        missed = self.slow.signals('Missed')
        return len(self.slow.events) - len(missed) + sum(event.args[0] for event in missed)

    def test_signals_of_own_requests_are_never_dropped(self):
        held, _ = self.a.request('mine', self.bucket)
        ids = [self.slow.request('mine', self.bucket, mode='shared')[0] for _ in range(50)]
        self.make_events(self.EVENTS)
        self.a.release(held, self.bucket)
        self.slow.wait_for(lambda: self.slow.granted(ids[-1]), what='its own grants')
        own = [event.id for event in self.slow.signals('Granted') if event.args[1] == 'mine'
               and event.args[3] == self.slow.name]
        self.assertEqual(own, ids)
        self.a.steal('mine', self.bucket)
        self.slow.wait_for(lambda: len(self.slow.signals('Released', reason='stolen')) == 50,
                           what='its own losses')

    def test_a_reader_misses_nothing(self):
        """A binding that replies to Pings automatically.

        A reader is a client that lags less than the service allows: so each round begins when
        everything of the previous round is read and acknowledged, which its own call after it
        proves."""
        self.c.watch(bucket=self.bucket)
        for total in range(500, self.EVENTS + 1, 500):
            self.make_events(500)
            self.c.wait_for(lambda count=total: len(self.c.events) >= count,
                            what=f'{total} events')
            self.c.ping()
        self.assertEqual(len(self.c.events), self.EVENTS)
        self.assertEqual(self.c.signals('Missed'), [])


class OtherUsers(SignalCase):
    """Two users on one bus: the same paths are different buckets."""

    def setUp(self):
        super().setUp()
        self.other_user = self.other_uid_client()

    def test_watching_shows_only_own_locks(self):
        self.other_user.watch(bucket=self.bucket)
        id_, _ = self.a.request('x', self.bucket)
        self.a.release(id_, self.bucket)
        self.other_user.ping()
        self.assertEqual(self.other_user.events, [])
        self.other_user.request('x', self.bucket)
        self.other_user.ping()
        self.assertEqual(len(self.other_user.events), 1)

    def test_tokens_are_independent_of_others(self):
        """Tokens count for each bucket of one user: load of another user leaves no gap."""
        first, token = self.other_user.request('x', self.bucket)
        self.other_user.release(first, self.bucket)
        keep, before = self.other_user.request('y', self.bucket)
        for _ in range(100):
            id_, _ = self.a.request('x', self.bucket)
            self.a.release(id_, self.bucket)
        again, after = self.other_user.request('x', self.bucket)
        self.assertEqual(after - before, 1, (token, before, after))
        self.other_user.release(again, self.bucket)
        self.other_user.release(keep, self.bucket)
