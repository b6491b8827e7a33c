# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""How lock sockets end: closed by the client, which ends nothing else; with its unique name; and
with the service, whose successor has everything that was acknowledged."""

import contextlib
import functools
import signal
import socket

import buses
from calls import DBusError
from harness import FACTOR, diagnostic, full_size, start_and_use
from rawbus import lock_call
from sockets import LockSocket, packets
from statecase import StateCase
from test_socket import SocketCase

SYNC = packets.message(packets.SYNC, 1)


class ByTheClient(SocketCase):
    """A closed socket ends nothing."""

    def prepare(self):
        """A socket of a client with a lock, and with a pending request for one that `other` holds."""
        sock = self.lock_socket(self.raw)
        blocker, _ = self.other.request('x', self.bucket)
        held, waiting = [sock.request(name, self.bucket)[0] for name in ('mine', 'x')]
        return sock, held, waiting, blocker

    def check_lives_on(self, held, waiting, blocker):
        """Events are then sent on the bus, and calls on the bus are accepted."""
        ids = {line[2]: line[1] for line in self.raw.resync()}
        self.assertEqual(set(ids), {held, waiting})
        self.other.release(blocker, self.bucket)
        self.raw.wait_for(lambda: self.raw.granted(ids[waiting]), what='grant by the bus')
        self.other.steal('x', self.bucket)
        self.raw.wait_for(lambda: self.raw.signals('Released', id=ids[waiting], reason='stolen'),
                          what='loss by the bus')
        self.raw.release(ids[held], self.bucket)
        self.assertEqual(len(self.raw.events), 2)
        self.raw.events.clear()
        self.other.release(self.other.resync()[0][1], self.bucket)
        self.assert_nothing_live().close()

    def test_closed_in_any_way(self):
        before = self.descriptors_at_rest()

        def shut_reading(sock):
            sock.socket.shutdown(socket.SHUT_RD)
            sock.socket.send(SYNC)  # sending on it fails in the service, which closes it too

        def close_unread(sock, paused=False):
            """The service gets EPIPE while it writes."""
            sock.send(SYNC * 20)
            with self.daemon.paused() if paused else contextlib.nullcontext():
                sock.send(SYNC * 4000)
                sock.close()

        for end in (LockSocket.close, lambda sock: sock.socket.shutdown(socket.SHUT_WR),
                    lambda sock: sock.socket.shutdown(socket.SHUT_RDWR), shut_reading, close_unread,
                    functools.partial(close_unread, paused=True)):
            with self.subTest(end):
                sock, *rest = self.prepare()
                end(sock)
                self.check_lives_on(*rest)
                sock.close()
                self.wait_descriptors(before)

    def test_a_grant_in_transit(self):
        """The signal is sent on the bus, or was sent on the socket before it was closed."""
        by_bus = 0
        for _ in range(full_size(10, 50)):
            sock, held, waiting, blocker = self.prepare()
            with self.daemon.paused():
                self.other.send(lock_call('Release', blocker, self.bucket))
                self.other.ping_the_bus()
                sock.close()
            self.raw.query(self.bucket)
            by_bus += len(self.raw.events)
            again = self.lock_socket(self.raw)
            self.assertEqual([(entry.key, entry.state) for entry in again.live],
                             [(held, packets.HELD), (waiting, packets.HELD)])
            again.end()
            again.close()
            self.raw.events.clear()
        diagnostic(f'{by_bus} came by the bus')

    def test_it_ends_with_the_name(self):
        sock, *_ = self.prepare()
        self.raw.close()
        self.assertIsNone(sock.read_to_end())
        self.assertEqual(sock.events, [], 'no message to a client that is gone')
        self.wait_gone(self.raw.name)
        self.assertEqual(len(self.other.query(self.bucket)[0]), 1)


class ByTheService(StateCase):
    """The next instance has the whole state."""

    def setUp(self):
        super().setUp()
        self.start()
        self.raw, self.waiter = [self.raw_client(descriptors=True) for _ in range(2)]
        self.sock, self.second = self.lock_socket(self.raw), self.lock_socket(self.waiter)
        self.held, self.token = self.sock.request('x')
        self.waiting, _ = self.second.request('x')
        self.timed, _ = self.second.request('x', timeout=3_600_000)
        self.sock.wait_for(lambda: self.sock.wanted, what='WANTED')

    def check_kept(self, reason):
        """Everything in the same order; no client was notified of a loss."""
        for sock in (self.sock, self.second):
            self.assertEqual(sock.read_to_end(), reason)
            self.assertEqual(sock.events, [])
        first, second = self.lock_socket(self.raw), self.lock_socket(self.waiter)
        self.assertEqual([tuple(entry) for entry in first.live],
                         [(self.held, self.token, 0, packets.HELD, 1)])
        self.assertEqual([(entry.key, entry.state, entry.time_left > 0) for entry in second.live],
                         [(self.waiting, packets.WAITS, False), (self.timed, packets.WAITS, True)])
        # A repeated request is the same, and a repeated release fails if the first was served.
        self.assertEqual(first.request('x', key=self.held), (self.held, self.token))
        first.release(self.held)
        self.assert_error('NotHeld', first.release, self.held)
        token = second.wait_granted(self.waiting)
        self.assertGreater(token, self.token)
        second.release(self.waiting)
        self.assertGreater(second.wait_granted(self.timed), token)

    def test_killed(self):
        self.restart()
        self.check_kept(None)

    def test_sigterm(self):
        self.current.signal(signal.SIGTERM)
        self.assertEqual(self.current.wait_exit(), 0)
        self.start()
        self.check_kept('shutdown')

    def test_replaced(self):
        self.assertEqual(self.current.stop(), 0)
        first = self.start('--replace')
        self.sock, self.second = self.lock_socket(self.raw), self.lock_socket(self.waiter)
        self.start('--replace')
        self.assertEqual(first.wait_exit(), 0)
        self.check_kept('shutdown')

    def test_packets_before_the_end_are_read(self):
        """Also when the service is killed with unread packets, which the kernel reports once as
        ECONNRESET."""
        answered, serial, key = self.sock.encode_request('y')
        self.sock.send(answered)
        buses.readable(self.sock.socket, buses.PATIENCE)
        self.current.pause()
        lost, never, other_key = self.sock.encode_request('z')
        self.sock.send(lost)
        self.restart()
        self.assertIsNone(self.sock.read_to_end())
        self.assertEqual(self.sock.n_resets, 1)
        self.assertNotEqual(self.sock.answer(serial).token, 0)
        self.assertFalse(self.sock.has_answer(never))
        again = self.lock_socket(self.raw)
        self.assertEqual([entry.key for entry in again.live], [self.held, key])
        self.assertNotEqual(again.request('z', key=other_key)[1], 0)

    def check_race(self, *arguments):
        """The service receives requests and SIGTERM together. Returns the results."""
        self.assertEqual(self.current.stop(), 0)
        service = self.start(*arguments, state=not arguments)
        sock = self.lock_socket(self.raw)
        calls = [sock.encode_request(f'{number}', 'race') for number in range(200)]
        service.pause()
        for data, _, _ in calls:
            sock.send(data)
        service.signal(signal.SIGTERM)
        service.resume()
        self.assertEqual(sock.read_to_end(), 'shutdown')
        self.assertEqual(service.wait_exit(), 0, service.stderr())
        return sock, calls

    def test_requests_on_the_way_out(self):
        served = 0
        for _ in range(5):
            sock, calls = self.check_race()
            tokens = {key: sock.answer(serial).token for _, serial, key in calls
                      if sock.has_answer(serial)}
            served += len(tokens)
            self.start()
            again = self.lock_socket(self.raw)
            live = {entry.key: entry.token for entry in again.live}
            self.assertEqual({key: live.get(key) for key in tokens}, tokens)
            for data, _, key in calls:
                token = again.request(f'{key - calls[0][2]}', 'race', key=key)[1]
                self.assertEqual(live.get(key, token), token)
            again.end()
        diagnostic(f'{served} of 1000 were served on the way out')

    def test_requests_on_the_way_out_without_state(self):
        """Each is answered, and then lost; or refused, or not read."""
        for _ in range(5):
            sock, calls = self.check_race('--no-state')
            held, outcomes = [], set()
            for _, serial, key in calls:
                try:
                    if sock.has_answer(serial) and sock.answer(serial).token:
                        held.append(key)
                except packets.LockError as error:
                    outcomes.add(error.short)
            self.assertLessEqual(outcomes, {'InvalidState'})
            self.assertEqual([tuple(event) for event in sock.events],
                             [(key, 'lost') for key in held])

    def test_calls_on_the_bus_deferred_for_the_socket(self):
        """They are answered, by the old instance or the new one."""
        for _ in range(5):
            self.restart()
            sock = self.lock_socket(self.raw)
            self.current.pause()
            sock.send_all(sock.encode_request(f'{number}', 'b')[0] for number in range(800))
            calls = self.raw.send_all([lock_call('Query', bucket='b') for _ in range(10)])
            self.raw.ping_the_bus()
            self.current.signal(signal.SIGTERM)
            self.current.resume()
            for serial in calls:
                try:
                    self.raw.result(serial)
                except DBusError as error:
                    self.assertEqual(error.short, 'InvalidState', error.message)
            self.assertEqual(self.current.wait_exit(), 0)

    def test_the_exit_is_not_delayed_by_a_client_that_does_not_read(self):
        stealer = self.lock_socket()
        self.sock.request_all((f'{number}' for number in range(500)), 'b')
        while True:
            try:
                self.sock.socket.send(SYNC * 4000)
            except BlockingIOError:
                break
        stealer.request_all((f'{number}' for number in range(500)), 'b', steal=True)
        self.current.signal(signal.SIGTERM)
        self.assertEqual(self.current.wait_exit(), 0, self.current.stderr())


class IdleAndBus(StateCase):
    def start_and_use(self, use):
        return start_and_use(lambda: self.start('--idle-exit=0.3', ready=False), self.control, use)

    def test_idle_sockets_keep_no_service(self):
        def use():
            socks = [self.lock_socket() for _ in range(3)]
            socks[0].release(socks[0].request('x')[0])
            return socks

        service, socks = self.start_and_use(use)
        for sock in socks:
            self.assertEqual(sock.read_to_end(), 'shutdown')
        self.assertEqual(service.wait_exit(), 0, service.stderr())

    def test_packets_postpone_the_exit_and_a_lock_prevents_it(self):
        def use():
            sock = self.lock_socket()
            return sock, sock.request('x')[0]

        service, (sock, key) = self.start_and_use(use)
        with self.assertRaises(TimeoutError):
            service.wait_exit(0.9 * FACTOR)
        self.assertIsNone(sock.closed)
        sock.release(key)
        self.assertEqual(sock.read_to_end(), 'shutdown')
        self.assertEqual(service.wait_exit(), 0, service.stderr())
