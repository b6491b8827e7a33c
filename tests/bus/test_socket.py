# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Lock sockets: OpenSocket, the rules for calls on the socket and on the bus, and every message and
error of docs/socket-protocol.md. The tables of malformed packets are in
test_socket_malformed.py."""

import os
import socket
import stat

from calls import ADMIN, ROOT
from harness import BusTestCase, DBusError, GLib, wait_for
from rawbus import lock_call
from sockets import LockSocket, open_socket_call, packets


class SocketCase(BusTestCase):
    """`raw` is a client with the lock socket `sock`, `other` one on the bus."""

    def setUp(self):
        super().setUp()
        if self.daemon is not None:
            self.wait_for_earlier_cases()
        self.raw = self.raw_client(descriptors=True)
        self.other = self.raw_client()

    def wait_for_earlier_cases(self):
        """The service closes their sockets after they have ended: until then the number of its
        descriptors isn't that with which this case begins."""
        daemon, number = getattr(type(self), 'at_rest', (None, 0))
        if daemon is self.daemon:
            self.wait_descriptors(number)
        else:
            type(self).at_rest = (self.daemon, self.descriptors_at_rest())

    def descriptors_at_rest(self):
        """Their number after a call that was sent a descriptor: the service closes its own after the
        reply."""
        self.control.ping()
        return self.daemon.count_descriptors()

    def wait_descriptors(self, number):
        wait_for(lambda: self.daemon.count_descriptors() == number, every=0.005,
                 what=f'{number} descriptors of the service')

    def assert_nothing_live(self, client=None):
        """The client has no requests, and may open a socket."""
        client = client or self.raw
        self.assertEqual(client.resync(), [])
        again = self.lock_socket(client)
        self.assertEqual(again.live, [])
        return again


class Opening(SocketCase):
    def parameters(self, **options):
        handle, parameters = self.raw.result(self.raw.send(open_socket_call(**options)))
        self.assertEqual(handle, 0)
        sock = LockSocket(self.raw.descriptors.pop(0))
        self.addCleanup(sock.close)
        self.assertEqual(sock.read_live(), [])
        if parameters.pop('cells', None) is not None:
            os.close(self.raw.descriptors.pop())
        self.assertEqual(self.raw.descriptors, [])
        return parameters, sock

    def test_parameters(self):
        for version in (2, 3, 2 ** 32 - 1):
            with self.subTest(version):
                parameters, sock = self.parameters(version=version)
                self.assertEqual(parameters, {'version': min(version, 3), 'maxPacket': packets.MAX_PACKET})
                sock.sync()

    def test_the_descriptor(self):
        _, sock = self.parameters()
        kind = sock.socket.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE)
        self.assertEqual((sock.socket.family, kind), (socket.AF_UNIX, socket.SOCK_SEQPACKET))
        self.assertFalse(os.get_blocking(sock.socket.fileno()))
        self.assertTrue(stat.S_ISSOCK(os.fstat(sock.socket.fileno()).st_mode))

    def refused(self, short, **options):
        serial = self.raw.send(open_socket_call(**options))
        error = self.assert_error(short, self.raw.result, serial)
        self.assertEqual(self.raw.descriptors, [])
        return error

    def test_refused_options(self):
        before = self.descriptors_at_rest()
        for version in (0, 1, None):  # without one it is 1
            self.refused('NotSupported', version=version)
        for name, value in (('version', GLib.Variant('s', '1')), ('version', GLib.Variant('t', 1)),
                            ('version', GLib.Variant('i', 1)), ('', GLib.Variant('u', 1)),
                            ('maxPacket', GLib.Variant('u', 1))):
            with self.subTest(name, value=value):
                self.assertIn(name, self.refused('InvalidArgs', **{name: value}).message)
        for body in (None, GLib.Variant('(s)', ('x',))):
            self.assert_error('InvalidArgs', self.raw.call, ROOT, ADMIN, 'OpenSocket', body)
        self.assertEqual(self.daemon.count_descriptors(), before)

    def test_a_second_replaces_the_first(self):
        before = self.descriptors_at_rest()
        first = self.lock_socket(self.raw)
        key, token = first.request('x', self.bucket)
        # Sent before the call, so it is served, and its answer can be read.
        data, serial, _ = first.encode_request('y', self.bucket)
        first.send(data)
        second = self.lock_socket(self.raw)
        self.assertEqual(first.read_to_end(), 'replaced')
        self.assertNotEqual(first.answer(serial).token, 0)
        self.assertEqual(second.live[0], (key, token, 0, packets.HELD, 0))
        second.release(key)
        second.release(second.live[1].key)
        first.close()
        second.close()
        self.wait_descriptors(before)

    def test_a_live_request_without_a_key(self):
        held, _ = self.raw.request('x', self.bucket)
        self.refused('InvalidState')
        waiting, _ = self.raw.request('x', self.bucket)
        self.raw.release(held, self.bucket)
        self.refused('InvalidState')
        self.raw.release(waiting, self.bucket)
        self.lock_socket(self.raw).sync()

    def test_first_calls_of_a_client(self):
        """They are deferred until the service has identified the client, and keep their order."""
        raw = self.raw_client(descriptors=True)
        request, opening, by_bus = raw.send_all([
            lock_call('Request', 'x', self.bucket, key=7), open_socket_call(),
            lock_call('Request', 'y', self.bucket)])
        self.assertNotEqual(raw.result(request)[1], 0)
        raw.result(opening)
        self.assert_error('InvalidState', raw.result, by_bus)
        sock = LockSocket(raw.descriptors.pop())
        self.addCleanup(sock.close)
        self.assertEqual([entry.key for entry in sock.read_live()], [7])

    def test_a_client_that_accepts_no_descriptors(self):
        """The bus can't deliver the reply and closes the descriptor, which ends the socket."""
        deaf = self.raw_client()
        deaf.send(open_socket_call())

        def may_use_the_bus():
            try:
                return deaf.request('x', self.bucket)
            except DBusError as error:
                self.assertEqual(error.short, 'InvalidState')
        try:
            wait_for(may_use_the_bus, what='end of the socket')
        except ConnectionError:
            pass  # dbus-broker disconnects it
        self.other.query(self.bucket)


class OneWayAtATime(SocketCase):
    """While a socket is open, lock operations on the bus are InvalidState."""

    CALLS = (('Request', 'y', {}), ('Request', '-reserved', {}), ('Steal', 'y', {}),
             ('Request', 'y', {'steal': True, 'ifAvailable': True}),
             ('Request', 'n' * 1025, {}), ('Steal', '-', {'mode': 'shared'}),
             ('Release', 1, {}), ('Release', 99, {}), ('Abort', 2, {}), ('Abort', 99, {}),
             ('Downgrade', 1, {}), ('Downgrade', 99, {}))

    def setUp(self):
        super().setUp()
        self.held, self.token = self.raw.request('x', self.bucket, key=1)
        self.raw.request('x', self.bucket, key=2)
        self.before = self.other.inspect(self.bucket)[0]
        self.sock = self.lock_socket(self.raw)

    def test_every_call_before_any_other_check(self):
        for member, subject, options in self.CALLS:
            with self.subTest(member, subject=subject, options=options):
                for reply in (False, True):
                    call = lock_call(member, subject, self.bucket, reply=reply, **options)
                    serial = self.raw.send(call)
                    if reply:
                        self.assert_error('InvalidState', self.raw.result, serial)
        # A key that is live, too.
        self.assert_error('InvalidState', self.raw.request, 'x', self.bucket, key=1)
        self.assertEqual([{**entry, 'age': 0} for entry in self.other.inspect(self.bucket)[0]],
                         [{**entry, 'age': 0} for entry in self.before])
        self.assertEqual(self.sock.events, [])

    def test_undecodable_calls_are_still_invalid(self):
        for body in (GLib.Variant('(sa{sv})', ('x', {'nothing': GLib.Variant('b', True)})),
                     GLib.Variant('(sa{sv})', ('x', {'key': GLib.Variant('s', '')})),
                     GLib.Variant('(s)', ('x',))):
            self.assert_error('InvalidArgs', self.raw.locks, self.bucket, 'Request', body)

    def test_other_calls_stay_on_the_bus(self):
        self.assertEqual(len(self.raw.query(self.bucket)[0]), 1)
        self.assertEqual(len(self.raw.inspect(self.bucket)[0]), 2)
        self.assertIn(self.bucket, self.raw.buckets())
        self.assertEqual([line[2] for line in self.raw.resync()], [1, 2])
        self.raw.watch(bucket=self.bucket)
        self.other.release(self.other.request('w', self.bucket)[0], self.bucket)
        self.raw.ping()
        self.assertEqual([event.signal for event in self.raw.events], ['Granted', 'Released'])

    def test_allowed_again_when_the_socket_is_closed(self):
        """The client closed it before it called, so the service has received EOF."""
        for number in range(20):
            self.sock.close()
            self.assertEqual(self.raw.request('x', self.bucket, key=1), (self.held, self.token))
            self.assertNotEqual(self.raw.request(f'{number}', self.bucket, key=100 + number)[1], 0)
            self.sock = self.lock_socket(self.raw)
        self.assertEqual(len(self.sock.live), 22)

    def test_requests_of_the_bus_go_on_by_the_socket(self):
        """In the order in which they were made; named by their keys."""
        self.assertEqual([tuple(entry) for entry in self.sock.live],
                         [(1, self.token, 0, packets.HELD, 1), (2, 0, 0, packets.WAITS, 0)])
        self.assertEqual(self.sock.request('x', self.bucket, key=1), (1, self.token))
        self.sock.release(1)
        self.assertGreater(self.sock.wait_granted(2), self.token)
        self.other.steal('x', self.bucket)
        self.assertEqual(self.sock.wait_ended(2), 'stolen')
        self.raw.ping()
        self.assertEqual(self.raw.events, [])

    def test_requests_of_the_socket_go_on_by_the_bus(self):
        """With their keys, and with the ids in the reply to Resync."""
        self.sock.request('y', self.bucket, key=3)
        self.sock.close()
        ids = {line[2]: line[1] for line in self.raw.resync()}
        self.assertEqual(self.raw.request('y', self.bucket, key=3)[0], ids[3])
        self.raw.release(ids[3], self.bucket)
        self.raw.release(self.held, self.bucket)
        self.raw.wait_for(lambda: self.raw.granted(ids[2]), what='Granted by the bus')


class Live(SocketCase):
    """The list with which a socket begins."""

    arguments = ('--limit', 'requestsPerClient=6000')

    def test_time_left_and_states(self):
        first = self.lock_socket(self.raw)
        first.request('x', self.bucket, key=2 ** 64 - 1)
        first.request('x', self.bucket, key=5, timeout=600_000)
        first.request('x', self.bucket, key=4, timeout=2 ** 32 - 1)
        first.request('x', self.bucket, key=6)
        live = self.lock_socket(self.raw).live
        self.assertEqual([(entry.key, entry.state) for entry in live],
                         [(2 ** 64 - 1, packets.HELD), (5, packets.WAITS), (4, packets.WAITS),
                          (6, packets.WAITS)])
        left = [entry.time_left for entry in live]
        self.assertTrue(0 < left[1] <= 600_001 < left[2] < 2 ** 32, left)
        self.assertEqual((left[0], left[3]), (0, 0))

    def test_more_than_one_message(self):
        first = self.lock_socket(self.raw)
        keys = [key for key, _ in first.request_all((f'{n}' for n in range(6000)), self.bucket)]
        again = self.lock_socket(self.raw)
        lists = [found for found in again.log if isinstance(found, packets.Live)]
        self.assertGreater(len(lists), 1)
        self.assertEqual([found.more for found in lists], [True] * (len(lists) - 1) + [False])
        self.assertEqual([entry.key for entry in again.live], keys)
        again.release_without_answer(*keys)
        again.sync()
        self.assertEqual(self.lock_socket(self.raw).live, [])


class Operations(SocketCase):
    """Each kind of message, and each error."""

    def setUp(self):
        super().setUp()
        self.sock = self.lock_socket(self.raw)

    def refused(self, short, name, limit='', **options):
        """The request fails with this error, and nothing remains."""
        self.assert_error(short, self.sock.request, name, self.bucket, mentions=limit, **options)

    def answer_of(self, *messages, serial):
        self.sock.send(*messages)
        return self.sock.answer(serial)

    def test_request_and_release(self):
        key, token = self.sock.request('x', self.bucket, why='printing', **{'for': 'lp (pid 12)'})
        self.assertNotEqual(token, 0)
        waiting, nothing = self.sock.request('x', self.bucket, mode='shared')
        self.assertEqual(nothing, 0)
        self.assertEqual(self.other.query(self.bucket), ([('x', 'exclusive', self.raw.name)],
                                                         [('x', 'shared', self.raw.name)]))
        entry = self.other.inspect(self.bucket)[0][0]
        self.assertEqual((entry['why'], entry['for'], entry['pid'], entry['token']),
                         ('printing', 'lp (pid 12)', os.getpid(), token))
        self.sock.release(key)
        self.assertGreater(self.sock.wait_granted(waiting), token)
        self.sock.release(waiting)
        self.assertEqual(self.other.buckets(), [])

    def test_the_ids_are_the_services(self):
        """Inspect, Watch and Resync show one kind of id, whether the request was made on the bus or
        on the socket."""
        self.other.watch(bucket=self.bucket)
        key, _ = self.sock.request('x', self.bucket, key=77_000)
        waiting, _ = self.sock.request('x', self.bucket, key=88_000)
        lines = self.raw.resync()
        self.assertEqual([line[2] for line in lines], [key, waiting])
        ids = [line[1] for line in lines]
        self.assertEqual(ids, sorted(set(ids)))
        self.assertNotIn(key, ids)
        self.sock.release(key)
        self.sock.abort(waiting)
        self.other.ping()
        self.assertEqual([(event.signal, event.id, event.args[3]) for event in self.other.events],
                         [('Granted', ids[0], self.raw.name), ('Waiting', ids[1], self.raw.name),
                          ('Released', ids[0], self.raw.name),
                          ('Granted', ids[1], self.raw.name)])

    def test_answers_come_in_order_whatever_the_serials(self):
        serials = [2 ** 64 - 1, 0, 7, 7, 3]
        self.sock.send(*(packets.message(packets.SYNC, serial) for serial in serials[:3]))
        self.sock.wait_for(lambda: len(self.sock.log) == 4, what='answers')
        self.sock._answers.clear()
        self.sock.send(*(packets.message(packets.SYNC, serial) for serial in serials[3:]))
        self.sock.wait_for(lambda: len(self.sock.log) == 6, what='answers')
        self.assertEqual([answer.serial for answer in self.sock.log[1:]], serials)

    def test_packets_of_any_size(self):
        """Up to the largest; the packet's size doesn't limit names."""
        self.refused('LimitsExceeded', 'n' * 65_000, limit='nameBytes')
        room = packets.MAX_PACKET - len(packets.request(1, 1, '', ''))
        packet = packets.request(99, 9, 'largest', 'n' * (room - 107), why='w' * 100)
        self.assertEqual(len(packet), packets.MAX_PACKET)
        self.assert_error('LimitsExceeded', self.answer_of, packet, serial=99, mentions='nameBytes')
        count = packets.MAX_PACKET // 16
        self.sock.serial = 1000
        calls = [self.sock.encode(packets.SYNC) for _ in range(count)]
        self.sock.send_all(data for data, _ in calls)
        for _, serial in calls:
            self.sock.answer(serial)

    def test_without_an_answer(self):
        held = [key for key, _ in self.sock.request_all('abc', self.bucket)]
        waiting, _ = self.sock.request('a', self.bucket)
        flagged = packets.NO_ANSWER
        data, serial = self.sock.encode(packets.SYNC)
        at = len(self.sock.log)
        self.sock.send(packets.with_key(packets.RELEASE, 0, held[1], flagged),
                       packets.with_key(packets.RELEASE, 12, held[2], flagged),
                       packets.with_key(packets.ABORT, 0, waiting, flagged),
                       # Failures are not reported.
                       packets.with_key(packets.RELEASE, 0, 99, flagged),
                       packets.with_key(packets.ABORT, 0, 99, flagged), data)
        self.sock.answer(serial)
        self.assertEqual(len(self.sock.log), at + 1)
        self.assertEqual(self.other.query(self.bucket), ([('a', 'exclusive', self.raw.name)], []))

    def test_slots_and_downgrade(self):
        """0: it is not given; a second downgrade changes nothing, and neither has an answer."""
        key, token = self.sock.request('x', self.bucket, slots=0)
        self.assertEqual(self.sock.request('x', self.bucket, slots=1, ifAvailable=True), (0, 0))
        self.sock.send(*[packets.with_key(packets.DOWNGRADE, 0, key, packets.NO_ANSWER)] * 2)
        self.sock.sync()
        self.assertEqual(self.sock.request('x', self.bucket, mode='shared', key=key), (key, token))

    def test_invalid_args(self):
        self.refused('InvalidArgs', 'x', ifAvailable=True, timeout=1)
        for code in (0xffff, 0xfffe, 0xfdd0, 0xfdef, 0x1ffff, 0x10fffe):
            self.refused('InvalidArgs', f'a{chr(code)}')
            self.refused('InvalidArgs', 'x', why=chr(code))
            self.refused('InvalidArgs', 'x', why='w', **{'for': chr(code)})
        self.assertEqual(self.raw.resync(), [])
        # Strings that D-Bus supports.
        for name in ('', '\x01', '\ufffd', '\U0001f512', '\ufdcf', 'ä' * 512):
            self.assertNotEqual(self.sock.request(name, self.bucket)[1], 0)

    def test_text_limits(self):
        self.assertNotEqual(self.sock.request('ä' * 512, self.bucket, why='w' * 256)[1], 0)
        self.refused('LimitsExceeded', 'ä' * 512 + 'n', limit='nameBytes')
        self.assertNotEqual(self.sock.request('y', self.bucket, why='w' * 256, **{'for': 'f' * 256})[1], 0)
        self.refused('LimitsExceeded', 'x', why='w' * 257, limit='whyBytes')
        self.refused('LimitsExceeded', 'x', **{'for': 'f' * 257}, limit='whyBytes')
        self.assertEqual(len(self.raw.resync()), 2)


class OtherLimits(SocketCase):
    """An answer has the number of the limit."""

    service = False

    def test_which(self):
        for limit, value in (('requestsPerUid', 4), ('requestsTotal', 4), ('textBytesPerUid', 40),
                             ('textBytesTotal', 40)):
            with self.subTest(limit):
                service = self.start_service('--no-state', '--limit', f'{limit}={value}')
                try:
                    sock = self.lock_socket()
                    sock.request('a', 'bucket')
                    with self.assertRaises(packets.LockError) as caught:
                        sock.request_all('bcdefg', 'bucket')
                    self.assertEqual((caught.exception.short, caught.exception.message),
                                     ('LimitsExceeded', limit))
                    sock.sync()
                finally:
                    self.assertEqual(service.stop(), 0)


class Buckets(SocketCase):
    """Each request names its bucket."""

    def setUp(self):
        super().setUp()
        self.sock = self.lock_socket(self.raw)

    def request(self, bucket, key):
        serial = self.sock.next_serial()
        self.sock.send(packets.request(serial, key, bucket, 'x'))
        return self.sock.answer(serial)

    def test_names(self):
        """The shortest and the longest, and with any character."""
        names = ['b', 'b' * 255, 'ä' * 127, 'org.example.Editor', '\x01/ %', 'default']
        for key, name in enumerate(names, 1):
            self.request(name, key)
            self.assertEqual(self.other.query(name)[0], [('x', 'exclusive', self.raw.name)])

    def test_bad_names(self):
        """A typed error; nothing changes, and the rest of the packet is served."""
        names = ['', 'b' * 256, 'ä' * 128, 'b' * 60_000, *map(chr, (0xffff, 0xfffe, 0xfdd0, 0x1ffff))]
        self.request(self.bucket, 1)
        for name in names:
            with self.subTest(name[:3], length=len(name)):
                self.sock.send(packets.request(101, 2, name, 'x'),
                               packets.request(102, 2, self.bucket, 'y', options=packets.IF_AVAILABLE),
                               packets.with_key(packets.RELEASE, 103, 2))
                self.assert_error('InvalidArgs', self.sock.answer, 101)
                self.assertNotEqual(self.sock.answer(102).token, 0)
                self.sock.answer(103)
                self.assertEqual([line[2] for line in self.raw.resync()], [1])
        self.assertEqual(self.other.buckets(), [self.bucket])

    def test_many_in_one_packet(self):
        """In turns, with requests for the same lock of each."""
        names = [f'{self.bucket}.{number}' for number in range(100)]
        calls = [self.sock.encode_request('x', name) for name in names * 2]
        self.sock.send_all(data for data, _, _ in calls)
        states = [self.sock.answer(serial).state for _, serial, _ in calls]
        self.assertEqual(states, [packets.HELD] * 100 + [packets.WAITS] * 100)
        self.assertEqual(self.other.buckets(), sorted(names))

    def test_one_name_in_two_buckets(self):
        """They are two locks, also for a request with a key that is used already."""
        one, two = self.unique('bucket'), self.unique('bucket')
        self.other.request('x', one)
        self.assertEqual(self.request(one, 1).state, packets.WAITS)
        self.assertEqual(self.request(two, 2).state, packets.HELD)
        self.assertEqual([entry[2] for entry in self.other.query(one)[1]], [self.raw.name])
        self.assert_error('InvalidArgs', self.request, two, 1)
        self.assertEqual(self.request(one, 1).state, packets.WAITS)
        self.other.steal('x', two)
        self.assertEqual(self.sock.wait_ended(2), 'stolen')

    def test_an_empty_bucket_is_not_in_use(self):
        """Also if the socket used it last: it isn't listed, and begins again with the next request."""
        key, token = self.sock.request('x', self.bucket)
        self.sock.release(key)
        self.assertEqual(self.other.buckets(), [])
        self.assertEqual(self.other.query(self.bucket), ([], []))
        id_, next_token = self.other.request('x', self.bucket)
        self.assertGreater(next_token, token)
        self.other.release(id_, self.bucket)
        self.sock.close()
        self.assertGreater(self.other.request('x', self.bucket)[1], next_token)


class End(SocketCase):
    """END ends the agent, and the socket remains open for the next one."""

    def test_everything_ends_in_one_step(self):
        sock = self.lock_socket(self.raw)
        self.other.watch(bucket=self.bucket)
        held, _ = sock.request('x', self.bucket)
        queued, _ = sock.request('x', self.bucket)
        other_bucket = self.unique('bucket')
        sock.request('x', other_bucket)
        mine, _ = self.other.request('x', self.bucket)
        ids = [line[1] for line in self.raw.resync()]
        self.other.ping()  # all signals sent until now are received
        self.other.events.clear()
        sock.end()
        self.assertEqual(sock.events, [])
        self.other.ping()
        # As for a client that disconnects: pending requests end first, then held locks.
        self.assertEqual([(event.signal, event.id) for event in self.other.events],
                         [('Released', ids[1]), ('Released', ids[0]), ('Granted', mine)])
        self.assertEqual({event.args[-1] for event in self.other.signals('Released')},
                         {'terminated'})
        self.assertEqual(self.other.query(other_bucket), ([], []))
        # The next agent on the same socket.
        for key in (held, queued):
            self.assert_error('NotHeld', sock.release, key)
        again, token = sock.request('y', self.bucket, key=held)
        self.assertNotEqual(token, 0)
        self.assertNotIn(self.raw.resync()[0][1], ids)
        sock.release(again)
        self.assert_nothing_live()

    def test_watches_remain(self):
        """Watched buckets, also the one that was used last."""
        sock = self.lock_socket(self.raw)
        sock.release(sock.request('x', self.bucket)[0])
        self.raw.watch(bucket=self.bucket)
        sock.end()
        self.assertNotEqual(sock.request('x', self.bucket)[1], 0)
        self.raw.ping()
        self.assertEqual([event.signal for event in self.raw.events], ['Granted'])


class Observed(SocketCase):
    """Watchers are notified on the bus, as always."""

    def test_a_watcher(self):
        sock = self.lock_socket(self.raw)
        self.other.watch(bucket=self.bucket)
        held, token = sock.request('x', self.bucket)
        sock.request('x', self.bucket, timeout=1)
        sock.wait_for(lambda: sock.events, what='time-out')
        late, _ = sock.request('x', self.bucket)
        sock.abort(late)
        sock.release(held)
        sock.steal('y', self.bucket)
        sock.steal('y', self.bucket)
        sock.end()
        self.other.ping()
        received = [(event.signal, event.args[1], event.args[-1] if event.signal == 'Released' else '')
                for event in self.other.events]
        self.assertEqual(received, [
            ('Granted', 'x', ''), ('Waiting', 'x', ''), ('Released', 'x', 'timeout'),
            ('Waiting', 'x', ''), ('Released', 'x', 'aborted'), ('Released', 'x', 'released'), ('Granted', 'y', ''), ('Released', 'y', 'stolen'),
            ('Granted', 'y', ''), ('Released', 'y', 'terminated')])
        self.assertEqual(self.other.events[0].args[2:], ('exclusive', self.raw.name, token))
        # And its own client gets no signals on the bus while the socket is open.
        self.raw.ping()
        self.assertEqual(self.raw.events, [])
