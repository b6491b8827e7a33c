# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Clients that make calls on the bus and don't read: what happens to them, and that other clients
are not affected."""

import math
import os
import shutil
import tempfile
import time
import unittest

import buses
from buses import can_be_others, read_text, status_kib
from calls import ADMIN, LOCKS, ROOT, SERVICE, other_path
from fakebus import FakeBus
from harness import (DRIVER, DRIVER_PATH, FACTOR, PATIENCE, Bus, BusTestCase, DBusError, Gio, GLib,
                     RawClient, Service, diagnostic, environment, service_with, wait_for)
from rawbus import lock_call, method_call, unpack
from sockets import open_socket_call
from test_pressure import OwnBus, wait_quiet

# The constants of the service on which the numbers here are based: service/dbus/flow-control.c.
SENT_MAX = 512
DESCRIPTORS_MAX = 32
# A lower limit than the default one, so that a flood takes fewer calls; and no more short calls than
# this are within it.
LESS_WAITING = ('--limit', 'bytesWaiting=250000', '--limit', 'bytesWaitingTotal=850000')
CALLS_WAITING = 1024


def kernel_messages():
    """This number of short messages fits into the socket of a client that reads nothing. They use
    no memory of the bus, so the service does not count them."""
    return int(read_text('/proc/sys/net/core/wmem_default')) // 768 + 10


# The number of calls of a client that reads nothing which are replied to.
UNREAD_MAX = SENT_MAX + kernel_messages()


def rss_mib(pid):
    return status_kib(pid, 'VmRSS:') / 1024


def query_call():
    return lock_call('Query', bucket='none')


def introspect_call():
    return method_call(SERVICE, ROOT, 'org.freedesktop.DBus.Introspectable', 'Introspect')


PROPERTIES = 'org.freedesktop.DBus.Properties'
STATISTICS = 'org.freedesktop.DBus.Debug.Stats'


def read_on(client):
    """Replies to all Pings, received or not."""
    client.answers_pings = True
    client.answer_pings()


class Held(BusTestCase):
    """Calls of a client that reads later are deferred, in order; none is lost."""

    def setUp(self):
        super().setUp()
        self.slow = self.raw_client()
        self.slow.answers_pings = False
        self.slow.query(self.bucket)

    def sent_to(self, client, start):
        self.control.ping()
        return [message for message in self.monitor.messages(start, self.monitor.position())
                if message.get_destination() == client.name
                and message.get_sender() == self.daemon.name]

    def wait_served(self, client):
        """Returns when the service has received everything that the client sent, and has served or
        deferred it."""
        client.pass_the_bus(self.control)
        self.control.ping()
        wait_quiet(self.daemon)

    def check_bound(self, client, calls, bound=UNREAD_MAX, pings=1):
        """After this number of calls without reading, the bus holds no more than the bound, and one
        Ping. Calls are replied to in order."""
        start = self.monitor.position()
        serials = client.send_all(calls)
        self.wait_served(client)
        replies = [message for message in self.sent_to(client, start)
                   if message.get_member() != 'Ping']
        self.assertEqual(len(self.sent_to(client, start)) - len(replies), pings)
        self.assertLessEqual(len(replies), bound)
        self.assertEqual([message.get_reply_serial() for message in replies],
                         serials[:len(replies)])
        return serials, replies

    def test_no_more_than_512_are_in_the_bus(self):
        serials, replies = self.check_bound(self.slow, [query_call() for _ in range(1500)])
        self.assertGreaterEqual(len(replies), SENT_MAX - 2)
        read_on(self.slow)
        self.slow.results(serials)

    def test_long_replies_count_for_more(self):
        for number in range(60):
            self.control.request(f'{number}' + 'n' * 1000, self.bucket)
        calls = [lock_call('Query', bucket=self.bucket) for _ in range(400)]
        serials, replies = self.check_bound(self.slow, calls, SENT_MAX // 14 + 4)
        size = sum(len(message.blob) for message in replies)
        diagnostic(f'{len(replies)} answers of {size / len(replies):.0f} bytes')
        self.assertLess(size, 3 << 20)
        read_on(self.slow)
        for serial in serials:
            self.assertEqual(len(self.slow.result(serial)[0]), 60)

    def count_questions(self, start):
        """The service's calls for the bus's statistics."""
        return len([message for message in self.monitor.messages(start, self.monitor.position())
                    if message.get_sender() == self.daemon.name
                    and message.get_interface() == STATISTICS])

    def test_successive_calls(self):
        """A client that waits for each reply reads, also if it replies to no Ping; and the bus is
        asked about it only a few times."""
        start = self.monitor.position()
        for _ in range(500):
            id_, _ = self.slow.request('x', self.bucket)
            self.slow.release(id_, self.bucket)
        self.assertEqual(len(self.slow.pings()), 1)
        questions = self.count_questions(start)
        diagnostic(f'{questions} questions to the bus for 1000 calls')
        self.assertGreater(questions, 0)
        self.assertLess(questions, 15)

    def test_many_calls_and_no_answer_to_a_ping(self):
        """A client that reads without replying to Pings is served."""
        serials = self.slow.send_all([query_call() for _ in range(1500)])
        self.slow.results(serials)
        self.assertEqual(len(self.slow.pings()), 1)

    def test_guessed_replies(self):
        """Replies to Pings that the client has not read are ignored: it would have to guess their
        serials. The service's other messages are numbered one after the other."""
        start = self.monitor.position()
        serials = []
        for number in range(30):
            serials += self.slow.send_all([query_call() for _ in range(64)])
            self.slow.send_all([self.answer_to(serial)
                                for serial in range(number * 65, number * 65 + 300)])
            self.wait_served(self.slow)
        sent = self.sent_to(self.slow, start)
        self.assertEqual([message.get_member() for message in sent].count('Ping'), 1)
        self.assertLess(len(sent), UNREAD_MAX)

    def answer_to(self, serial):
        message = Gio.DBusMessage()
        message.set_message_type(Gio.DBusMessageType.METHOD_RETURN)
        message.set_flags(Gio.DBusMessageFlags.NO_REPLY_EXPECTED)
        message.set_destination(self.daemon.name)
        message.set_reply_serial(serial + 1)
        return message

    def test_questions_about_many(self):
        """The intervals between calls for statistics of clients that don't read grow, for one
        client and for many."""
        started = time.monotonic()
        start = self.monitor.position()
        clients = [self.raw_client() for _ in range(20)]
        for client in clients:
            client.answers_pings = False
            client.send_all([query_call() for _ in range(UNREAD_MAX + 100)])
            client.pass_the_bus(self.control)
        self.control.ping()
        wait_quiet(self.daemon)
        questions = self.count_questions(start)
        took = time.monotonic() - started
        diagnostic(f'{questions} questions in {took:.1f} s')
        # Two calls while so many are served, then after 20 ms, 40 ms, ... up to 2.56 s each time.
        most = 4 + math.log2(took / 0.02 + 1) + took / 2.56
        self.assertGreater(questions, 0)
        self.assertLess(questions, len(clients) * most)

    def test_descriptors(self):
        """A bus allows few of them in a row, so only the reply to a Ping shows that they were
        read."""
        client = self.raw_client(descriptors=True)
        client.answers_pings = False
        serials = client.send_all([open_socket_call() for _ in range(100)])
        self.wait_served(client)
        client.ping_the_bus()
        answered = [serial for serial in serials if serial in client._replies]
        diagnostic(f'{len(answered)} of {len(serials)} sockets')
        self.assertEqual(answered, serials[:DESCRIPTORS_MAX])
        read_on(client)
        client.results(serials)
        for descriptor in client.descriptors:
            os.close(descriptor)

    def test_calls_without_reply_and_then_one_with(self):
        """The same for signals; other signals may have arrived while it read nothing."""
        self.slow.send_all([lock_call('Release', 99, self.bucket, reply=False)] * 1500)
        self.assertEqual(self.slow.query(self.bucket), ([], []))

    def test_successive_calls_without_reading(self):
        """One call after the other, each awaited."""
        for number in range(60):
            self.control.request(f'{number}' + 'n' * 1000, self.bucket)
        start = self.monitor.position()
        serials = []
        for _ in range(150):
            serials.append(self.slow.send(lock_call('Query', bucket=self.bucket)))
            self.slow.pass_the_bus(self.control)
            self.control.ping()
        wait_quiet(self.daemon)
        replies = len(self.sent_to(self.slow, start)) - 1
        diagnostic(f'{replies} of {len(serials)} answered')
        self.assertLess(replies, SENT_MAX // 14 + 4)
        for serial in serials:
            self.assertEqual(len(self.slow.result(serial)[0]), 60)

    def test_reads_and_then_no_more(self):
        """Whatever the statistics were before, the number of messages after that is bounded."""
        self.test_many_calls_and_no_answer_to_a_ping()
        self.check_bound(self.slow, [query_call() for _ in range(1500)], pings=0)

    def test_reads_a_little(self):
        """A client that reads slowly is not sent more than it reads."""
        start = self.monitor.position()
        serials = self.slow.send_all([query_call() for _ in range(2000)])
        for _ in range(8):
            self.wait_served(self.slow)
            self.slow._data += self.slow.socket.recv(4000)
        self.wait_served(self.slow)
        sent = len(self.sent_to(self.slow, start))
        diagnostic(f'{sent} sent to it, of which it has read {8 * 4000} bytes')
        self.assertLess(sent, UNREAD_MAX + 8 * 4000 // 64)
        self.slow.results(serials)

    def test_calls_of_no_agent(self):
        """Calls of the interfaces of D-Bus, and of nothing, wait for the client like any other; also
        those of a client that is never identified."""
        unrelated = self.raw_client()
        unrelated.answers_pings = False
        kinds = [introspect_call,
                 lambda: method_call(SERVICE, ROOT, PROPERTIES, 'Get',
                                     GLib.Variant('(ss)', (ADMIN, 'Limits'))),
                 lambda: method_call(SERVICE, ROOT, PROPERTIES, 'GetAll',
                                     GLib.Variant('(s)', ('',))),
                 lambda: method_call(SERVICE, '/nowhere', LOCKS, 'Query'),
                 lambda: method_call(SERVICE, ROOT, 'org.freedesktop.DBus.Peer', 'GetMachineId'),
                 lambda: method_call(SERVICE, ROOT, 'org.freedesktop.DBus.Peer', 'Ping')]
        for client in (self.slow, unrelated):
            serials, replies = self.check_bound(
                client, [kinds[number % len(kinds)]() for number in range(1200)])
            self.assertLess(len(replies), len(serials))
            read_on(client)
            answers = [client.reply_to(serial) for serial in serials]
            first = [(answer.get_error_name(), str(unpack(answer)))
                     for answer in answers[:len(kinds)]]
            self.assertEqual([error for error, _ in first],
                             [None, None, None, 'org.freedesktop.DBus.Error.UnknownObject', None, None])
            self.assertEqual([(answer.get_error_name(), str(unpack(answer))) for answer in answers],
                             first * (len(serials) // len(kinds)))
            order = [message.get_reply_serial() for message in client.log]
            self.assertEqual([serial for serial in order if serial in set(serials)], serials)

    def test_calls_without_reply(self):
        """Calls of a client that does not read are deferred too, and served in order."""
        ids = [self.slow.request(f'{number}', self.bucket)[0] for number in range(100)]
        self.slow.send_all([query_call() for _ in range(UNREAD_MAX)])
        self.slow.send_all([lock_call('Release', id_, self.bucket, reply=False) for id_ in ids])
        self.wait_served(self.slow)
        self.assertEqual(len(self.control.query(self.bucket)[0]), 100)
        read_on(self.slow)
        wait_for(lambda: (self.slow.pump(), self.control.query(self.bucket)[0])[1] == [],
                 what='releases')

    def test_disconnect_takes_effect(self):
        """Its calls take effect before its disconnect, whether or not it reads."""
        held, _ = self.slow.request('x', self.bucket)
        watcher = self.client()
        watcher.watch(bucket=self.bucket)
        self.slow.send_all([query_call() for _ in range(UNREAD_MAX)])
        self.slow.send(lock_call('Release', held, self.bucket))
        self.wait_served(self.slow)
        self.assertEqual(len(watcher.query(self.bucket)[0]), 1)
        if self.bus.kind == 'dbus-broker':
            self.slow.close()
            watcher.wait_for(lambda: watcher.signals('Released', id=held, reason='released'),
                             what='release')


class Floods(OwnBus):
    """More calls than can be deferred."""

    def setUp(self):
        super().setUp()
        self.service = self.start(*LESS_WAITING)
        self.flooder = self.client()
        self.flooder.answers_pings = False
        self.calm = self.client()

    def test_its_locks_end(self):
        """It has ten locks and a pending request, and makes too many calls."""
        held = [self.flooder.request(f'{name}')[0] for name in range(10)]
        self.calm.request('calm')
        waiting = self.flooder.request('calm')[0]
        wanted = self.calm.request('3')[0]
        serials = self.flooder.send_all([query_call() for _ in range(UNREAD_MAX + CALLS_WAITING + 500)])
        self.calm.wait_for(lambda: self.calm.granted(wanted), what='lock of the flooder')
        self.assertEqual(self.calm.query()[1], [])
        # It reads, and has a new agent without requests, with new ids.
        read_on(self.flooder)
        id_, token = wait_for(self.ask_for_a_lock, what='answer')
        self.assertGreater(id_, waiting)
        self.assertNotEqual(token, 0)
        self.assertIn([('default', id_)], [[entry[:2]] for entry in self.flooder.resync()])
        released = self.flooder.signals('Released', reason='terminated')
        self.assertEqual(sorted(event.id for event in released), held + [waiting])
        answered = [serial for serial in serials if serial in self.flooder._replies]
        diagnostic(f'{len(answered)} of {len(serials)} calls were answered')
        self.assertLess(len(answered), UNREAD_MAX)
        self.assert_clean_end(self.service)

    def ask_for_a_lock(self):
        try:
            return self.flooder.result(self.flooder.send(lock_call('Request', 'new')), 0.5)
        except TimeoutError:
            return None

    def test_a_stopped_client_keeps_its_locks(self):
        """Without a time limit, however much is unread; until the service ends, which refuses what it
        has deferred and would change nothing."""
        self.flooder.request('x')
        serials = self.flooder.send_all([query_call() for _ in range(UNREAD_MAX + CALLS_WAITING // 2)])
        self.flooder.pass_the_bus(self.control)
        self.calm.ping()
        wait_quiet(self.service)
        self.assertEqual([entry[2] for entry in self.calm.query()[0]], [self.flooder.name])
        self.assert_clean_end(self.service)
        self.flooder.result(serials[0])
        with self.assertRaisesRegex(DBusError, 'shutting down'):
            self.flooder.result(serials[-1])

    # A deferred call costs its size, up to the limits of texts: some 1,200 bytes at most.
    LONG_CALLS = 130

    def defer(self, client, n_calls):
        """A client with a lock, and so many deferred calls."""
        client.answers_pings = False
        client.request(client.name)
        client.send_all([query_call() for _ in range(UNREAD_MAX)])
        client.send_all([lock_call('Request', 'n' * 100_000) for _ in range(n_calls)])
        client.pass_the_bus(self.control)

    def test_many_of_one_user(self):
        """Together they may have more deferred than one client, but with a bound: the client with
        the most is terminated first, and one with few calls keeps its locks."""
        small = self.client()
        self.defer(small, 0)
        for _ in range(6):
            self.defer(self.client(), self.LONG_CALLS)
        self.calm.ping()
        held = [entry[0] for entry in self.calm.query()[0]]
        diagnostic(f'{len(held)} of 7 have their locks')
        self.assertIn(small.name, held)
        self.assertLess(len(held), 7)
        self.assertGreater(len(held), 3)

    def test_many_of_one_user_beside_another(self):
        """The client with the most is of a user with few: it keeps its locks."""
        if not can_be_others():
            self.skipTest('needs root, to connect as another user')
        other = RawClient(self.bus.address, uid=65534)
        self.addCleanup(other.close)
        self.defer(other, self.LONG_CALLS - 15)
        for _ in range(10):
            self.defer(self.client(), self.LONG_CALLS - 35)
        self.calm.ping()
        self.assertLess(len(self.calm.query()[0]), 10)
        held = self.calm.call(other_path(uid=65534), LOCKS, 'Query')[0]
        self.assertEqual([entry[0] for entry in held], [other.name])


class SmallQuotas(OwnBus):
    """A bus with little memory for unread messages: a dbus-daemon stops reading from a client that
    sends too much of it, a dbus-broker silently drops the excess."""

    BYTES = {'dbus-daemon': 4 << 20, 'dbus-broker': 256 << 10}

    def make_bus(self):
        size = self.BYTES[environment('WEBLOCKS_TEST_BUS')]
        return Bus(config=buses.DAEMON_CONFIG.replace('"max_outgoing_bytes">1000000000',
                                                      f'"max_outgoing_bytes">{size}'),
                   broker_options=(f'--max-bytes={size}',) if self.is_broker() else ())

    def is_broker(self):
        return environment('WEBLOCKS_TEST_BUS') == 'dbus-broker'

    def test_the_service_continues(self):
        """While other clients don't read long replies."""
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
            except OSError:  # a dbus-broker disconnects a client without space for a reply
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
        """A dbus-broker has quotas for each user. A dbus-daemon accepts only users with an
        account."""
        client = RawClient(self.bus.address, uid=uid if can_be_others() else None)
        self.addCleanup(client.close)
        return client

    def test_every_grant_is_received(self):
        """By a signal or, if that was dropped, in the next Resync, which libweblocks requests every
        30 s while it waits."""
        if not can_be_others():
            self.skipTest('needs root, to connect as other users: a dbus-broker counts by user')
        service = self.start()
        holder = self.other_client(65533 if self.is_broker() else 65534)
        waiter = self.other_client()
        held = [holder.request(f'{number}')[0] for number in range(1000)]
        waiting = [waiter.request(f'{number}')[0] for number in range(1000)]
        # Nothing of that is read until everything is sent.
        for id_ in held:
            holder.release(id_)
        waiter.ping_the_bus()
        notified = {event.id for event in waiter.signals('Granted')}
        listed = {entry[1] for entry in waiter.resync() if entry[5] != 0}
        diagnostic(f'{len(notified)} of {len(waiting)} notified, {len(listed)} listed')
        self.assertEqual(notified | listed, set(waiting))
        self.assert_clean_end(service)


class RefusedOnce(unittest.TestCase):
    """A bus that refuses statistics only at first, with a service that asks it again soon."""

    N_CLIENTS = 4
    ASK_AFTER_SENT = 256
    REST_SECS = 3  # more than the service rests between two questions about a client

    def setUp(self):
        directory = tempfile.mkdtemp(prefix='weblocks-fake-')
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        self.bus = FakeBus(directory)
        self.service = Service(self.bus, ['--no-state'], program=service_with('statistics-asked-soon'))
        self.addCleanup(self.bus.close)
        self.addCleanup(self.service.end)
        self.bus.wait_owned()

    def test_all_clients_are_asked_about_again(self):
        """Not one after the other, as before it is known that the bus replies."""
        for number in range(self.N_CLIENTS):
            name = f':9.{number}'
            self.bus.answers[name] = [{'UnixUserID': GLib.Variant('u', os.getuid()),
                                       'ProcessID': GLib.Variant('u', os.getpid())}] * 2
            for _ in range(self.ASK_AFTER_SENT + 1):
                self.bus.call_as(name, lock_call('Query'))
        wait_for(lambda: 'GetStats' in self.bus.refusals, what='refusal')
        self.bus.statistics = []
        wait_for(lambda: self.bus.statistics, what='question')
        wait_for(self.are_asked_together, what='several questions')

    def are_asked_together(self):
        """Replies to a question late, when there are questions about the others, too; nothing is
        acknowledged by that."""
        time.sleep(self.REST_SECS)
        if self.bus.statistics:
            self.bus.reply_statistics(1 << 20)
        time.sleep(0.1)
        return len(self.bus.statistics) > 1


class NoStatistics(BusTestCase):
    """A bus that refuses statistics: only the reply to a Ping shows that a client reads."""

    @classmethod
    def make_bus(cls):
        return Bus(allows_statistics=False)

    def silent_client(self):
        client = self.raw_client()
        client.answers_pings = False
        return client

    def test_the_bus_refuses_statistics(self):
        """Otherwise the other cases would test nothing."""
        for member, body in (('GetStats', None),
                             ('GetConnectionStats', GLib.Variant('(s)', (self.control.name,)))):
            self.assert_error('AccessDenied', self.control.call, DRIVER_PATH, STATISTICS, member,
                              body, destination=DRIVER)

    def test_a_client_that_replies_to_pings_is_served(self):
        for client in (self.client(), self.raw_client()):
            for _ in range(2 * SENT_MAX):
                client.query()

    def test_a_client_that_replies_to_none_is_served_512_calls(self):
        """Then its calls are deferred until it replies."""
        silent = self.silent_client()
        serials = silent.send_all([query_call() for _ in range(2 * SENT_MAX)])
        silent.results(serials[:SENT_MAX - 10])
        start = self.monitor.position()
        silent.pass_the_bus(self.control)
        self.control.ping()
        wait_quiet(self.daemon)
        silent.ping_the_bus()
        self.assertNotIn(serials[SENT_MAX], silent._replies)
        # The bus has been asked, but not repeatedly.
        questions = [message for message in self.monitor.messages(start, self.monitor.position())
                     if message.get_interface() == STATISTICS
                     and message.get_sender() == self.daemon.name]
        self.assertLessEqual(len(questions), 2)
        read_on(silent)
        silent.results(serials[SENT_MAX - 10:])

    def test_an_error_is_an_answer(self):
        """Some clients don't implement it; but their error shows that they read."""
        client = self.silent_client()
        serials = client.send_all([query_call() for _ in range(700)])
        answered = 0
        deadline = time.monotonic() + PATIENCE
        while serials[-1] not in client._replies:
            self.assertLess(time.monotonic(), deadline)
            client.pump(1)
            for ping in client.pings()[answered:]:
                answered += 1
                client.send(Gio.DBusMessage.new_method_error_literal(
                    ping.to_gio(), 'org.freedesktop.DBus.Error.UnknownMethod', 'none'))


class NoRoomForPings(BusTestCase):
    """When clients that don't reply use up the replies that the bus awaits for the service, other
    clients are still served, according to the bus's statistics."""

    bus_config = buses.DAEMON_CONFIG.replace('"max_replies_per_connection">50000',
                                             '"max_replies_per_connection">4')

    @classmethod
    def setUpClass(cls):
        if environment('WEBLOCKS_TEST_BUS') != 'dbus-daemon':
            raise BusTestCase.skipTest(cls, 'dbus-broker has no such limit')
        super().setUpClass()

    def use_up(self):
        mutes = [self.raw_client() for _ in range(4)]
        for mute in mutes:
            mute.answers_pings = False
            for _ in range(70):
                mute.query()
            mute.wait_for(mute.pings, what='a Ping')
        return mutes

    def test_others_are_served(self):
        self.use_up()
        client = self.client()
        started = time.monotonic()
        for _ in range(2 * SENT_MAX):
            client.query()
        diagnostic(f'{2 * SENT_MAX} calls in {time.monotonic() - started:.1f} s')

    def test_holders_are_notified_when_there_is_room_again(self):
        """The second notification waits for the answer to a Ping, which the bus has refused."""
        mutes = self.use_up()
        holder, other = self.client(), self.client()
        bucket = self.unique('bucket')
        held, _ = holder.request('x', bucket)
        waits, _ = other.request('x', bucket)
        holder.wait_for(lambda: holder.wanted, what='Wanted')
        other.abort(waits, bucket)
        other.sync()
        self.assertEqual(holder.wanted, [(held, True)])
        for mute in mutes:
            mute.close()
        holder.wait_for(lambda: len(holder.wanted) > 1, what='the second Wanted')
        self.assertEqual(holder.wanted, [(held, True), (held, False)])
