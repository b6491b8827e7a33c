# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Clients that call by the bus and don't read: what they lose, and that nobody else loses."""

import signal
import time

import buses
from buses import can_be_others, status_kib
from calls import ROOT, SERVICE
from harness import (FACTOR, PATIENCE, Bus, BusTestCase, DBusError, Gio, RawClient, Service,
                     diagnostic, environment, main, service_with, wait_for)
from rawbus import lock_call, method_call
from test_pressure import OwnBus, wait_quiet

# What the numbers here are made to: service/bus/confirm.c, and the limit.
SENT_MAX = 512
CALLS_WAITING = 4096


def rss_mib(pid):
    return status_kib(pid, 'VmRSS:') / 1024


def query_call():
    return lock_call('Query', bucket='none')


def introspect_call():
    return method_call(SERVICE, ROOT, 'org.freedesktop.DBus.Introspectable', 'Introspect')


def read_on(client):
    """It answers what it was asked, and will be."""
    client.answers_pings = True
    client.answer_pings()


class Held(BusTestCase):
    """Calls of a client that reads later wait for it, in order; none is lost."""

    def setUp(self):
        super().setUp()
        self.bucket = self.unique('bucket')
        self.slow = self.raw_client()
        self.slow.answers_pings = False
        self.slow.query(self.bucket)

    def sent_to(self, client, start):
        self.control.ping()
        return [message for message in self.monitor.messages(start, self.monitor.position())
                if message.get_destination() == client.name
                and message.get_sender() == self.daemon.name]

    def wait_served(self, client):
        """The service has all that the client sent, and has done what it will do with it."""
        client.ping_the_bus()
        self.control.ping()
        wait_quiet(self.daemon)

    def check_bound(self, client, calls, bound=SENT_MAX):
        """So many calls without reading leave no more than the bound on the bus, and one Ping.
        What was answered is what was asked first."""
        start = self.monitor.position()
        serials = client.send_all(calls)
        self.wait_served(client)
        replies = [message for message in self.sent_to(client, start)
                   if message.get_member() != 'Ping']
        pings = len(self.sent_to(client, start)) - len(replies)
        self.assertEqual(pings, 1)
        self.assertLessEqual(len(replies), bound)
        self.assertEqual([message.get_reply_serial() for message in replies],
                         serials[:len(replies)])
        return serials, replies

    def test_a_pipeline_and_then_reads(self):
        read_on(self.slow)
        calls = [lock_call('Request', f'{number}', self.bucket) for number in range(1000)]
        calls += [lock_call('Release', number + 1, self.bucket) for number in range(1000)]
        calls += [lock_call('Query', bucket=self.bucket)] * 1000
        serials = self.slow.send_all(calls)
        wait_quiet(self.daemon)
        ids = [self.slow.result(serial)[0] for serial in serials[:1000]]
        self.assertEqual(ids, list(range(1, 1001)))
        for serial in serials[1000:2000]:
            self.assertEqual(self.slow.result(serial), ())
        self.assertEqual(self.slow.result(serials[-1]), ([], []))

    def test_no_more_than_512_are_unread(self):
        serials, replies = self.check_bound(self.slow, [query_call() for _ in range(3000)])
        self.assertGreaterEqual(len(replies), SENT_MAX - 2)
        read_on(self.slow)
        for serial in serials:
            self.slow.result(serial)

    def test_long_answers_count_for_more(self):
        for number in range(60):
            self.control.request(f'{number}' + 'n' * 1000, self.bucket)
        calls = [lock_call('Query', bucket=self.bucket) for _ in range(400)]
        serials, replies = self.check_bound(self.slow, calls, SENT_MAX // 14)
        size = sum(len(message.to_blob(Gio.DBusCapabilityFlags.NONE)) for message in replies)
        diagnostic(f'{len(replies)} answers of {size / len(replies):.0f} bytes')
        self.assertLess(size, 3 << 20)
        read_on(self.slow)
        for serial in serials:
            self.assertEqual(len(self.slow.result(serial)[0]), 60)

    def test_one_call_after_the_other(self):
        """Who waits for each answer reads, also if it looks at no Ping meanwhile."""
        for _ in range(1000):
            id_, _ = self.slow.request('x', self.bucket)
            self.slow.release(id_, self.bucket)
        self.assertGreater(len(self.slow.pings()), 0)

    def test_calls_that_want_no_answer_and_then_one_that_does(self):
        """The same; the others may have come while it looked at nothing."""
        self.slow.send_all([lock_call('Release', 99, self.bucket, reply=False)] * 3000)
        self.assertEqual(self.slow.query(self.bucket), ([], []))

    def test_but_not_for_ever(self):
        """It can't be told from one who sends as slowly and reads nothing."""
        for number in range(60):
            self.control.request(f'{number}' + 'n' * 1000, self.bucket)
        answered = 0
        while self.is_answered(serial := self.slow.send(lock_call('Query', bucket=self.bucket))):
            answered += 1
            self.assertLess(answered, 2000)
        self.assertGreater(answered, 500)
        read_on(self.slow)
        self.assertEqual(len(self.slow.result(serial)[0]), 60)

    def is_answered(self, serial):
        """Though nobody answers its Pings. It may take a while on a machine that stalls."""
        try:
            self.slow.reply_to(serial, timeout=0.5)
            return True
        except TimeoutError:
            self.wait_served(self.slow)
            self.slow.ping_the_bus()
            return serial in self.slow._replies

    def test_what_sd_bus_answers(self):
        """Beyond the bound it is refused, when its turn comes. Pings are answered."""
        stranger = self.raw_client()
        stranger.answers_pings = False
        ping = method_call(SERVICE, ROOT, 'org.freedesktop.DBus.Peer', 'Ping')
        for client in (self.slow, stranger):
            serials, replies = self.check_bound(
                client, [introspect_call() for _ in range(600)] + [ping])
            read_on(client)
            outcomes = [client.reply_to(serial).get_error_name() for serial in serials]
            self.assertEqual(outcomes[:len(replies)], [None] * len(replies))
            self.assertEqual(outcomes[-1], None)
            self.assertEqual(set(outcomes[len(replies):-1]),
                             {'org.freedesktop.DBus.Error.LimitsExceeded'})

    def test_calls_that_want_no_answer(self):
        """They cost as much; and they are served in their turn."""
        ids = [self.slow.request(f'{number}', self.bucket)[0] for number in range(100)]
        self.slow.send_all([lock_call('Release', 2000, self.bucket, reply=False)
                            for _ in range(SENT_MAX)])
        self.slow.send_all([lock_call('Release', id_, self.bucket, reply=False) for id_ in ids])
        self.control.ping()
        self.assertEqual(len(self.control.query(self.bucket)[0]), 100)
        read_on(self.slow)
        wait_for(lambda: (self.slow.pump(), self.control.query(self.bucket)[0])[1] == [],
                 what='releases')

    def test_an_error_is_an_answer(self):
        """Some have no such method; but they have read."""
        serials = self.slow.send_all([query_call() for _ in range(700)])
        answered = 0
        deadline = time.monotonic() + PATIENCE
        while serials[-1] not in self.slow._replies:
            self.assertLess(time.monotonic(), deadline)
            self.slow.pump(1)
            for ping in self.slow.pings()[answered:]:
                answered += 1
                self.slow.send(Gio.DBusMessage.new_method_error_literal(
                    ping, 'org.freedesktop.DBus.Error.UnknownMethod', 'none'))

    def test_512_calls_without_any_answer_to_a_ping(self):
        """Whoever asks that much only, and reads, need not know how to answer."""
        for serial in self.slow.send_all([query_call() for _ in range(SENT_MAX - 2)]):
            self.slow.result(serial)
        self.assertEqual(len(self.slow.pings()), 1)

    def test_its_end(self):
        """What it sent takes effect before its end does, read or not."""
        held, _ = self.slow.request('x', self.bucket)
        watcher = self.client()
        watcher.watch(bucket=self.bucket)
        self.slow.send_all([query_call() for _ in range(600)])
        self.slow.send(lock_call('Release', held, self.bucket))
        self.wait_served(self.slow)
        self.assertEqual(len(watcher.query(self.bucket)[0]), 1)
        if self.bus.kind == 'dbus-broker':
            self.slow.close()
            watcher.wait_for(lambda: watcher.signals('Released', id=held, reason='released'),
                             what='release')

    def test_behind_a_lock_socket(self):
        """A call by the bus waits for both."""
        both = self.raw_client(descriptors=True)
        both.answers_pings = False
        sock = self.lock_socket(both)
        serials = both.send_all([query_call() for _ in range(600)])
        sock.request_all((f'{name}' for name in range(100)), self.bucket)
        last = both.send(lock_call('Query', bucket=self.bucket))
        self.control.ping()
        both.pump()
        read_on(both)
        for serial in serials:
            both.result(serial)
        self.assertEqual(len(both.result(last)[0]), 100)


class Floods(OwnBus):
    """More than may wait."""

    def setUp(self):
        super().setUp()
        self.service = self.start()
        self.flooder = self.client()
        self.flooder.answers_pings = False
        self.calm = self.client()

    def make_flood(self, count=SENT_MAX + CALLS_WAITING + 500):
        """It holds ten locks and waits for one; then it calls too much."""
        self.held = [self.flooder.request(f'{name}')[0] for name in range(10)]
        self.calm.request('calm')
        self.waiting = self.flooder.request('calm')[0]
        self.wanted = self.calm.request('3')[0]
        self.serials = self.flooder.send_all([query_call() for _ in range(count)])

    def check_back(self, last_id):
        """It reads, and is an agent again that has nothing; its ids are new."""
        read_on(self.flooder)
        deadline = time.monotonic() + PATIENCE
        while True:
            self.assertLess(time.monotonic(), deadline)
            try:
                id_, token = self.flooder.result(
                    self.flooder.send(lock_call('Request', 'new')), 0.5)
                break
            except TimeoutError:
                continue
        self.assertGreater(id_, last_id)
        self.assertNotEqual(token, 0)
        self.assertIn([('default', id_)], [[entry[:2]] for entry in self.flooder.resync()])

    def test_its_locks_end(self):
        self.make_flood()
        self.calm.wait_for(lambda: self.calm.granted(self.wanted), what='lock of the flooder')
        self.assertEqual(self.calm.query()[1], [])
        self.check_back(self.waiting)
        released = self.flooder.signals('Released', reason='terminated')
        self.assertEqual(sorted(event.id for event in released), self.held + [self.waiting])
        answered = [serial for serial in self.serials if serial in self.flooder._replies]
        diagnostic(f'{len(answered)} of {len(self.serials)} calls were answered')
        self.assertLess(len(answered), SENT_MAX + 1)
        self.assert_error_of_old_id(self.held[0])
        self.assert_clean_end(self.service)

    def assert_error_of_old_id(self, id_):
        with self.assertRaises(DBusError) as caught:
            self.flooder.release(id_)
        self.assertEqual(caught.exception.short, 'NotHeld')

    def test_ids_over_a_crash(self):
        """Also if the service dies while it ignores it."""
        self.make_flood()
        self.calm.wait_for(lambda: self.calm.granted(self.wanted), what='lock of the flooder')
        self.service.signal(signal.SIGKILL)
        self.service.wait_exit()
        self.service = self.start()
        self.assertEqual(len(self.calm.query()[0]), 2)
        self.flooder.query()
        self.check_back(self.waiting)
        self.assert_clean_end(self.service)

    def test_its_end(self):
        self.make_flood()
        self.calm.wait_for(lambda: self.calm.granted(self.wanted), what='lock of the flooder')
        self.flooder.close()
        wait_for(lambda: self.flooder.name not in self.known_names(), what='end')
        self.calm.ping()
        self.assert_clean_end(self.service)

    def test_a_stopped_client_keeps_its_locks(self):
        """No time limit: it floods nothing, however much is unread."""
        id_, _ = self.flooder.request('x')
        self.flooder.send_all([query_call() for _ in range(SENT_MAX + 1000)])
        self.flooder.ping_the_bus()
        self.calm.ping()
        wait_quiet(self.service)
        self.assertEqual([entry[2] for entry in self.calm.query()[0]], [self.flooder.name])
        read_on(self.flooder)
        self.flooder.release(id_)
        self.assert_clean_end(self.service)

    # A deferred call costs what it says, up to the limits of texts: some 1,200 bytes at most.
    LONG_CALLS = 38
    LIMITS = {'bytesWaiting': 60_000, 'bytesWaitingPerUid': 400_000, 'bytesWaitingTotal': 200_000}

    def start_with(self, *limits):
        """Another service, with less room for deferred calls."""
        self.assert_clean_end(self.service)
        self.service = self.start(*(word for limit in limits
                                    for word in ('--limit', f'{limit}={self.LIMITS[limit]}')))

    def test_bytes(self):
        """Few calls, but long ones."""
        self.start_with('bytesWaiting')
        self.flooder.request('x')
        self.flooder.send_all([query_call() for _ in range(SENT_MAX + 10)])
        # More than what a pause among them would have it served beyond the bound.
        self.flooder.send_all([lock_call('Request', 'n' * 100_000) for _ in range(160)])
        wait_for(lambda: self.calm.query()[0] == [], what='end of its locks')
        self.assertLess(rss_mib(self.service.process.pid), 40 * FACTOR)
        self.check_back(1)
        self.assert_clean_end(self.service)

    def check_many(self, count, kept):
        """Together they may have more waiting than one, but not that much more: who has the most
        of it goes first, and who has little keeps what it has."""
        small = self.client()
        small.answers_pings = False
        small.request('small')
        small.send_all([query_call() for _ in range(SENT_MAX + 10)])
        small.ping_the_bus()
        for _ in range(count):
            client = self.client()
            client.answers_pings = False
            client.request(client.name)
            client.send_all([query_call() for _ in range(SENT_MAX + 10)])
            client.send_all([lock_call('Request', 'n' * 100_000)
                             for _ in range(self.LONG_CALLS)])
            client.ping_the_bus()
        self.calm.ping()
        held = [entry[0] for entry in self.calm.query()[0]]
        diagnostic(f'{len(held)} of {count + 1} have their locks')
        self.assertIn('small', held)
        self.assertLess(len(held), count + 1)
        self.assertGreater(len(held), kept)

    def test_many_of_one_user(self):
        self.start_with('bytesWaiting', 'bytesWaitingPerUid')
        self.check_many(10, 5)

    def test_many_of_all_users(self):
        self.start_with('bytesWaiting', 'bytesWaitingTotal')
        self.check_many(6, 3)


class SmallQuotas(OwnBus):
    """A bus that has little room for what isn't read: a dbus-daemon stops to read from who sends
    too much of it, a dbus-broker drops what is too much, and says nothing."""

    BYTES = {'dbus-daemon': 4 << 20, 'dbus-broker': 256 << 10}

    def make_bus(self):
        size = self.BYTES[environment('WEBLOCKS_TEST_BUS')]
        return Bus(config=buses.DAEMON_CONFIG.replace('"max_outgoing_bytes">1000000000',
                                                      f'"max_outgoing_bytes">{size}'),
                   broker_options=(f'--max-bytes={size}',) if self.is_broker() else ())

    def is_broker(self):
        return environment('WEBLOCKS_TEST_BUS') == 'dbus-broker'

    def test_the_service_goes_on(self):
        """Beside clients that read nothing of long answers."""
        if self.is_broker() and not can_be_others():
            self.skipTest('needs root, to connect as another user: a dbus-broker counts by user, '
                          'and ends any of them')
        service = self.start()
        calm = self.client()
        for number in range(60):
            calm.request(f'{number}' + 'n' * (100 if self.is_broker() else 1000))
        for _ in range(3):
            try:
                stalled = self.other_client()
                stalled.answers_pings = False
                stalled.send_all([lock_call('Query') for _ in range(600)])
            except OSError:  # a dbus-broker ends who has no room for an answer
                self.assertTrue(self.is_broker())
        longest = 0
        for _ in range(200):
            started = time.monotonic()
            calm.release(calm.request('calm')[0])
            longest = max(longest, time.monotonic() - started)
        diagnostic(f'the longest turn took {1000 * longest:.0f} ms')
        self.assertLess(longest, 5 * FACTOR)
        self.assert_clean_end(service)

    def other_client(self, uid=65534):
        """A dbus-broker counts by user what is in it. A dbus-daemon knows only users that have a
        name."""
        client = RawClient(self.bus.address, uid=uid if can_be_others() else None)
        self.addCleanup(client.close)
        return client

    def test_every_grant_is_seen(self):
        """By one who asks again, as libweblocks does each 30 s while it waits."""
        if not can_be_others():
            self.skipTest('needs root, to connect as other users: a dbus-broker counts by user')
        service = self.start()
        holder = self.other_client(65533 if self.is_broker() else 65534)
        waiter = self.other_client()
        held = [holder.request(f'{number}')[0] for number in range(1000)]
        waiting = [waiter.request(f'{number}')[0] for number in range(1000)]
        # Nothing of that is read until all is said.
        for id_ in held:
            holder.release(id_)
        waiter.ping_the_bus()
        told = {event.id for event in waiter.signals('Granted')}
        listed = {entry[1] for entry in waiter.resync() if entry[5] != 0}
        diagnostic(f'{len(told)} of {len(waiting)} told, {len(listed)} listed')
        self.assertEqual(told | listed, set(waiting))
        self.assert_clean_end(service)


class Faults(OwnBus):
    """Without the defences the figures above would be others."""

    def unread(self, fault):
        service = Service(self.bus, program=service_with(fault))
        self.addCleanup(service.end)
        service.wait_ready(self.control)
        flooder, calm = self.client(), self.client()
        flooder.answers_pings = False
        flooder.request('x')
        count = SENT_MAX + CALLS_WAITING + 500
        flooder.send_all([query_call() for _ in range(count)])
        flooder.ping_the_bus()
        calm.ping()
        wait_quiet(service)
        held = len(calm.query()[0])
        flooder.ping_the_bus()
        answers = len(flooder._replies)
        service.end()
        return answers, held

    def test_no_fault(self):
        answers, held = self.unread('')
        self.assertLess(answers, SENT_MAX)
        self.assertEqual(held, 0)

    def test_no_barrier(self):
        self.assertGreater(self.unread('no-barrier')[0], SENT_MAX + CALLS_WAITING)

    def test_a_flood_is_kept(self):
        answers, held = self.unread('flood-kept')
        self.assertLess(answers, SENT_MAX)
        self.assertEqual(held, 1, 'its lock has not ended')


class NoRoomForQuestions(BusTestCase):
    """Where clients that don't answer use up all answers that the bus awaits for the service, the
    others are served still, if slowly."""

    bus_config = buses.DAEMON_CONFIG.replace('"max_replies_per_connection">50000',
                                             '"max_replies_per_connection">4')

    @classmethod
    def setUpClass(cls):
        if environment('WEBLOCKS_TEST_BUS') != 'dbus-daemon':
            raise BusTestCase.skipTest(cls, 'dbus-broker has no such limit')
        super().setUpClass()

    def test_others_are_served(self):
        for _ in range(4):
            mute = self.raw_client()
            mute.answers_pings = False
            for _ in range(70):
                mute.query()
            mute.wait_for(mute.pings, what='a Ping')
        client = self.client()
        started = time.monotonic()
        for _ in range(SENT_MAX + 20):
            client.query()
        diagnostic(f'{SENT_MAX + 20} calls in {time.monotonic() - started:.1f} s')


if __name__ == '__main__':
    main()
