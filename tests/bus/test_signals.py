# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Which client receives which signals, in which order."""

from calls import LOCKS, ROOT, bucket_path
from harness import BusTestCase, Gio, GLib, main
from rawbus import lock_call, method_call, unpack


class SignalCase(BusTestCase):
    def setUp(self):
        super().setUp()
        self.bucket = self.unique('bucket')
        self.a, self.b, self.c = self.client(), self.client(), self.client()

    def sent(self, start):
        """(member, destination, args) of all signals that the service sent since, in order."""
        self.a.ping()
        stop = self.monitor.position()
        return [(message.get_member(), message.get_destination(), unpack(message))
                for message in self.monitor.messages(start, stop)
                if message.get_message_type() == Gio.DBusMessageType.SIGNAL
                and message.get_sender() == self.daemon.name]

    def received(self, client):
        client.sync()
        return [(event.signal, *event.args) for event in client.events]


class Owners(SignalCase):
    """The signals of a client's own requests."""

    def test_granted(self):
        id_, first = self.a.request('x', self.bucket)
        waiting, _ = self.b.request('x', self.bucket, mode='shared')
        self.a.release(id_, self.bucket)
        event = self.b.wait_granted(waiting)
        self.assertEqual(event.args[:4], (waiting, 'x', 'shared', self.b.name))
        self.assertGreater(event.args[4], first)
        self.assertEqual(event.path, bucket_path(self.bucket))
        self.assertEqual(event.sender, self.daemon.name)
        self.assertEqual(self.received(self.a), [])
        self.assertEqual(len(self.received(self.b)), 1)

    def test_no_signal_for_a_result_in_the_reply(self):
        start = self.monitor.position()
        id_, _ = self.a.request('x', self.bucket)
        waiting, _ = self.a.request('x', self.bucket)
        self.assertEqual(self.b.request('x', self.bucket, ifAvailable=True), (0, 0))
        self.a.abort(waiting, self.bucket)
        self.a.release(id_, self.bucket)
        self.b.steal('y', self.bucket)
        self.assertEqual(self.sent(start), [])

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
        self.daemon.pause()
        try:
            request, *_, release = raw.send_all(calls)
            # The bus has transmitted them when it replies to this.
            raw._driver('GetId')
        finally:
            self.daemon.resume()
        waiting, _ = raw.result(request)
        raw.result(release)
        self.assertEqual([(event.signal, event.id) for event in raw.events],
                         [('Released', waiting)])

    def test_stolen(self):
        id_, _ = self.a.request('x', self.bucket, mode='shared')
        self.b.steal('x', self.bucket)
        event = self.a.wait_released(id_, 'stolen')
        self.assertEqual(event.args, (id_, 'x', 'shared', self.a.name, 'stolen'))
        self.assertEqual(self.received(self.b), [])

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

    def test_every_grant_and_end(self):
        held, token = self.a.request('x', self.bucket)
        self.a.request('x', self.bucket)
        waiting, _ = self.b.request('x', self.bucket, mode='shared')
        self.a.abort(2, self.bucket)
        self.a.release(held, self.bucket)
        received = self.received(self.c)
        self.assertEqual(received, [
            ('Granted', held, 'x', 'exclusive', self.a.name, token),
            ('Waiting', 2, 'x', 'exclusive', self.a.name),
            ('Waiting', waiting, 'x', 'shared', self.b.name),
            ('Released', 2, 'x', 'exclusive', self.a.name, 'aborted'),
            ('Released', held, 'x', 'exclusive', self.a.name, 'released'),
            ('Granted', waiting, 'x', 'shared', self.b.name, received[5][5])])
        self.assertGreater(received[5][5], token)

    def reasons(self):
        return [args[-1] for signal, *args in self.received(self.c) if signal == 'Released']

    def test_stolen_and_timeout_and_terminated(self):
        self.a.request('x', self.bucket)
        id_, _ = self.b.request('x', self.bucket, timeout=10)
        self.b.wait_released(id_, 'timeout')
        self.b.steal('x', self.bucket)
        self.b.close()
        self.wait_gone(self.b.name)
        self.assertEqual(self.reasons(), ['timeout', 'stolen', 'terminated'])

    def test_termination_ends_waiting_before_held(self):
        """[2.6] And the next request after both."""
        waiting, _ = self.b.request('x', self.bucket)
        self.b.release(waiting, self.bucket)
        held, _ = self.b.request('x', self.bucket)
        queued, _ = self.b.request('x', self.bucket)
        mine, _ = self.a.request('x', self.bucket)
        self.c.sync()
        self.c.events.clear()
        self.b.close()
        self.wait_gone(self.b.name)
        received = self.received(self.c)
        self.assertEqual([line[:2] for line in received],
                         [('Released', queued), ('Released', held), ('Granted', mine)])

    def test_a_watcher_is_notified_of_its_own_once(self):
        held, token = self.c.request('x', self.bucket)
        waiting, _ = self.c.request('x', self.bucket)
        self.c.release(held, self.bucket)
        received = self.received(self.c)
        self.assertEqual(received, [
            ('Granted', held, 'x', 'exclusive', self.c.name, token),
            ('Waiting', waiting, 'x', 'exclusive', self.c.name),
            ('Released', held, 'x', 'exclusive', self.c.name, 'released'),
            ('Granted', waiting, 'x', 'exclusive', self.c.name, received[3][5])])
        self.a.steal('x', self.bucket)
        self.assertEqual([line[0] for line in self.received(self.c)[4:]].count('Released'), 1)

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

    def test_other_buckets_are_not_watched(self):
        self.a.request('x', self.unique('bucket'))
        self.assertEqual(self.received(self.c), [])

    def test_two_watchers(self):
        self.b.watch(bucket=self.bucket)
        id_, token = self.a.request('x', self.bucket)
        expected = [('Granted', id_, 'x', 'exclusive', self.a.name, token)]
        self.assertEqual(self.received(self.b), expected)
        self.assertEqual(self.received(self.c), expected)

    def test_a_disconnected_watcher_is_removed(self):
        self.c.close()
        self.wait_gone(self.c.name)
        start = self.monitor.position()
        self.a.request('x', self.bucket)
        self.assertEqual(self.sent(start), [])

    def test_watching_is_no_lock(self):
        self.assertEqual(self.a.buckets(), [])
        self.assertEqual(self.a.query(self.bucket), ([], []))


class Order(SignalCase):
    def test_released_precedes_the_grant_of_a_steal(self):
        """As a monitor receives them, with the watchers' signals in between."""
        held = {client.name: client.request('x', self.bucket, mode='shared')[0]
                for client in (self.a, self.b, self.c)}
        stealer = self.raw_client()
        watcher = self.client()
        watcher.watch(bucket=self.bucket)
        start = self.monitor.position()
        stealer.steal('x', self.bucket)
        stealer.ping()
        stop = self.monitor.position()
        own, watched, reply = [], [], None
        for index, message in enumerate(self.monitor.messages(start, stop)):
            if message.get_sender() != self.daemon.name:
                continue
            if message.get_message_type() == Gio.DBusMessageType.METHOD_RETURN:
                # The first reply; the other is the ping's.
                reply = index if reply is None else reply
            elif message.get_destination() == watcher.name:
                watched.append(message.get_member())
            elif message.get_message_type() == Gio.DBusMessageType.SIGNAL:
                own.append(index)
                self.assertEqual(message.get_member(), 'Released')
                self.assertEqual(unpack(message)[0], held.pop(message.get_destination()))
        self.assertEqual(held, {})
        self.assertLess(max(own), reply)
        self.assertEqual(watched, ['Released'] * 3 + ['Granted'])

    def test_grants_go_out_in_queue_order(self):
        held, _ = self.a.request('x', self.bucket)
        ids = [self.b.request('x', self.bucket, mode='shared')[0] for _ in range(20)]
        self.a.release(held, self.bucket)
        self.b.wait_granted(ids[-1])
        self.assertEqual([event.id for event in self.b.events], ids)
        tokens = [event.args[4] for event in self.b.events]
        self.assertEqual(tokens, sorted(set(tokens)))


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

    def test_signals_are_sent_to_their_client_only(self):
        start = self.monitor.position()
        held, _ = self.a.request('x', self.bucket)
        self.b.request('x', self.bucket)
        self.a.release(held, self.bucket)
        self.c.steal('x', self.bucket)
        sent = [(member, destination) for member, destination, _ in self.sent(start)]
        self.assertEqual(sent, [('Granted', self.b.name), ('Released', self.b.name)])


class Bursts(SignalCase):
    def test_a_thousand_waiters_of_one_client(self):
        held, _ = self.a.request('x', self.bucket)
        raw = self.raw_client()
        body = GLib.Variant('(sa{sv})', ('x', {'mode': GLib.Variant('s', 'shared')}))
        message = [method_call('org.w3.WebLocks', bucket_path(self.bucket), LOCKS, 'Request', body)
                   for _ in range(1000)]
        ids = [raw.result(serial)[0] for serial in raw.send_all(message)]
        self.a.release(held, self.bucket)
        raw.wait_for(lambda: len(raw.events) >= 1000, what='1000 grants')
        raw.ping()
        self.assertEqual([event.id for event in raw.events], ids)
        self.assertEqual(len(raw.query(self.bucket)[0]), 1000)

    def test_two_hundred_clients(self):
        held, _ = self.a.request('x', self.bucket)
        waiters = [self.raw_client() for _ in range(200)]
        ids = [waiter.request('x', self.bucket, mode='shared')[0] for waiter in waiters]
        self.a.release(held, self.bucket)
        for waiter, id_ in zip(waiters, ids):
            waiter.wait_for(lambda w=waiter, i=id_: w.granted(i), what='grant')
            waiter.ping()
            self.assertEqual(len(waiter.events), 1)
        self.assertEqual(len(self.a.query(self.bucket)[0]), 200)


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
        path = bucket_path(self.bucket)
        messages = []
        for number in range(1, count // 2 + 1):
            messages.append(method_call('org.w3.WebLocks', path, LOCKS, 'Request',
                                        GLib.Variant('(sa{sv})', ('busy', {}))))
            messages.append(method_call('org.w3.WebLocks', path, LOCKS, 'Release',
                                        GLib.Variant('(t)', (number,))))
        for serial in writer.send_all(messages):
            writer.result(serial)

    def answer_pings(self):
        """Replies to the Pings that have arrived, as any binding does automatically."""
        for message in self.slow.log:
            if message.get_member() == 'Ping' and message.get_serial() not in self.answered:
                self.answered.add(message.get_serial())
                self.slow.send(Gio.DBusMessage.new_method_reply(message))

    def test_missed(self):
        self.answered = set()
        self.make_events(self.EVENTS)
        # It may be sent `Missed` as soon as it has read the others, and not before.
        self.slow.ping_the_bus()
        got = len(self.slow.events) - len(self.slow.signals('Missed'))
        self.assertLess(got, self.EVENTS, 'it was sent everything')
        self.assertGreater(got, 0)

        def get_missed():
            self.answer_pings()
            return self.slow.signals('Missed')
        self.slow.wait_for(get_missed, what='Missed')
        missed, = self.slow.signals('Missed')
        self.assertEqual(missed.path, bucket_path(self.bucket))
        self.assertEqual(got + missed.args[0], self.EVENTS)

        # From now on it receives everything again.
        self.a.request('x', self.bucket)
        self.slow.wait_for(lambda: (self.answer_pings(),
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

    def test_many_events_are_no_burden_for_others(self):
        self.make_events(self.EVENTS)
        self.assertEqual(self.a.query(self.bucket), ([], []))
        self.slow.close()
        self.wait_gone(self.slow.name)
        self.make_events(100)


class OtherUsers(SignalCase):
    """Two users on one bus: the same paths are different buckets."""

    def setUp(self):
        super().setUp()
        self.other_user = self.other_uid_client()

    def test_the_same_path_is_another_bucket(self):
        _, token = self.a.request('x', self.bucket)
        self.assertEqual(self.other_user.query(self.bucket), ([], []))
        self.assertEqual(self.other_user.inspect(self.bucket), ([], False))
        id_, other = self.other_user.request('x', self.bucket)
        self.assertTrue(token and other)
        self.assertEqual(self.a.query(self.bucket), ([('x', 'exclusive', self.a.name)], []))
        self.assertEqual(self.other_user.query(self.bucket),
                         ([('x', 'exclusive', self.other_user.name)], []))
        self.other_user.release(id_, self.bucket)

    def test_steal_ends_only_own_locks(self):
        self.a.request('x', self.bucket)
        self.other_user.steal('x', self.bucket)
        self.assertEqual(self.received(self.a), [])
        self.assertEqual(len(self.a.query(self.bucket)[0]), 1)

    def test_buckets(self):
        self.a.request('x', self.bucket)
        self.assertNotIn(self.bucket, self.other_user.buckets())
        own = self.unique('bucket')
        self.other_user.request('x', own)
        self.assertEqual(self.other_user.buckets(), [own])
        self.assertEqual(self.a.buckets(), [self.bucket])

    def test_watching_shows_only_own_locks(self):
        self.other_user.watch(bucket=self.bucket)
        id_, _ = self.a.request('x', self.bucket)
        self.a.release(id_, self.bucket)
        self.other_user.ping()
        self.assertEqual(self.other_user.events, [])
        self.other_user.request('x', self.bucket)
        self.other_user.ping()
        self.assertEqual(len(self.other_user.events), 1)

    def test_a_foreign_id_gets_the_reply_of_an_unknown_one(self):
        """Equal byte for byte, except for the serials, which number the messages."""
        foreign = [self.a.request('x', self.bucket)[0] for _ in range(3)][-1]
        raw = self.raw_client()
        answers = set()
        for client in (self.other_user, raw):
            for id_ in (foreign, 10 ** 6):
                for member in ('Release', 'Abort'):
                    body = GLib.Variant('(t)', (id_,))
                    reply = client.reply_to(client.send(method_call(
                        'org.w3.WebLocks', bucket_path(self.bucket), LOCKS, member, body)))
                    answers.add((member, reply.get_error_name(), str(reply.get_body()),
                                 reply.get_flags(), reply.get_signature()))
        self.assertEqual(len(answers), 2, answers)
        self.assertEqual(len(self.a.query(self.bucket)[1]), 2)

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


if __name__ == '__main__':
    main()
