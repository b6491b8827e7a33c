# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""After kill -9 of the service, every client has the same locks and requests as before."""

import os
import signal
import struct
import time

from buses import read_bytes
from calls import DBusError
from harness import FACTOR, PATIENCE, diagnostic
from rawbus import lock_call
from statecase import GONE, StateCase


class Kept(StateCase):
    def fill(self, bucket, other):
        """Makes locks and requests of all kinds. Returns the clients, and when the time-outs began."""
        a, b, c, d = [self.raw_client() for _ in range(4)]
        a.request('printer', bucket, why='annual report', key=7, **{'for': 'lp – Ä (pid 12)'})
        b.request('printer', bucket, mode='shared', why='ä photo', timeout=3600000)
        b.request('for', bucket, **{'for': 'f' * 256})
        c.request('printer', bucket, mode='shared', key=2 ** 64 - 1)
        d.request('printer', bucket, key=1)
        d.request('notes', bucket, mode='shared')
        a.request('notes', bucket, mode='shared', why='w' * 256)
        b.request('notes', bucket, timeout=7200000)
        a.request('notes', bucket, mode='shared')
        a.request('', other)
        a.request('n' * 1024, other, mode='shared')
        b.request('n' * 1024, other, mode='shared')
        c.request('n' * 1024, other)
        c.request('printer', other, key=7)
        a.release(a.request('gone', bucket)[0], bucket)
        d.abort(d.request('printer', other)[0], other)
        d.request('printer', other, ifAvailable=True)
        for client in (a, b, c):
            client.request('counting', bucket, slots=2, key=9)
        d.downgrade(d.request('downgraded', bucket, slots=3)[0], bucket)
        return [a, b, c, d]

    def test_everything_is_restored(self):
        """Query, Inspect, Buckets and Resync of each client, after each of some crashes."""
        bucket, other = self.unique('bucket'), 'ünïcode/' + '.' * 200
        self.start()
        clients = self.fill(bucket, other)
        unrelated = self.raw_client()
        before = self.see([*clients, unrelated], (bucket, other, 'default'))
        self.assertEqual(before[unrelated.name], [])
        for _ in range(3):
            self.restart()
            self.assert_same(before, self.see([*clients, unrelated], (bucket, other, 'default')))
        self.assertEqual(self.files(), ['BUS.lock', 'BUS.state', 'BUS.state.new'])
        for client in clients:
            self.assertEqual(client.events, [], 'nothing has changed, so there is no signal')

    def test_no_process_name_is_read_for_a_stored_pid(self):
        """The stored pid may belong to another process by now."""
        self.start()
        client = self.raw_client()
        client.request('x')
        self.assertNotEqual(client.inspect()[0][0]['process'], '')
        self.restart()
        entry = client.inspect()[0][0]
        self.assertEqual((entry['pid'], entry['process']), (os.getpid(), ''))

    def test_counting_locks_and_downgrades_go_on(self):
        self.start()
        a, b, c = [self.raw_client() for _ in range(3)]
        ids = [client.request('x', slots=2, key=1)[0] for client in (a, b, c)]
        shared, token = c.request('y', key=2)
        c.downgrade(shared)
        self.restart()
        self.assertEqual(a.request('x', slots=2, ifAvailable=True), (0, 0))
        self.assert_error('InvalidArgs', a.request, 'x', slots=3, key=1)
        self.assert_error('InvalidState', a.downgrade, ids[0])
        self.assertEqual(c.request('y', mode='shared', key=2), (shared, token))
        self.assertNotEqual(a.request('y', mode='shared')[1], 0)
        b.release(ids[1])
        c.wait_granted(ids[2])
        a.release(ids[0])
        c.downgrade(ids[2])
        self.restart()
        self.assertNotEqual(b.request('x', mode='shared')[1], 0)
        self.assertEqual([entry['slots'] for entry in b.inspect(name='x')[0]], [1, 1])

    def test_limits_include_restored_requests(self):
        self.start('--limit', 'requestsPerClient=3')
        client = self.raw_client()
        ids = [client.request('x')[0] for _ in range(3)]
        self.restart('--limit', 'requestsPerClient=3')
        self.assert_error('LimitsExceeded', client.request, 'x', mentions='requestsPerClient')
        client.abort(ids[2])
        client.request('y')
        # Restored requests stay, whatever the limits are now.
        self.restart('--limit', 'requestsPerClient=1', '--limit', 'nameBytes=1')
        self.assertEqual(len(client.resync()), 3)
        self.assert_error('LimitsExceeded', client.request, 'z', mentions='requestsPerClient')

    def test_a_client_that_does_not_read_is_restored(self):
        """A client that reads nothing while the service is restarted."""
        self.start()
        process = self.process_client()
        held = process.request('x')
        process.stop()
        waiter = self.raw_client()
        waiter.request('x')
        self.restart()
        self.assertEqual(waiter.query()[0], [('x', 'exclusive', process.name)])
        process.signal(signal.SIGCONT)
        process.release(held[0])
        waiter.wait_for(lambda: waiter.signals('Granted'), what='Granted')


class GoesOn(StateCase):
    def test_more_ids_than_are_reserved(self):
        self.start()
        client = self.raw_client()
        last = 0
        for count in (1, 600, 255, 256, 257):
            serials = client.send_all(
                [lock_call('Request', f'{number}', ifAvailable=True) for number in range(count)])
            ids = [client.result(serial)[0] for serial in serials]
            self.assertEqual(ids, sorted(set(ids)))
            self.assertGreater(ids[0], last)
            last = ids[-1]
            releases = client.send_all([lock_call('Release', id_) for id_ in ids])
            client.results(releases)
            self.restart()

    def test_watches_are_not_restored(self):
        self.start()
        holder, watcher = self.raw_client(), self.raw_client()
        watcher.watch()
        id_, _ = holder.request('x')
        watcher.ping()
        seen = len(watcher.events)
        self.assertEqual(seen, 1)
        self.restart()
        holder.release(id_)
        watcher.ping()
        self.assertEqual(len(watcher.events), seen)
        watcher.watch()
        holder.request('x')
        watcher.ping()
        self.assertEqual(len(watcher.events), seen + 1)


class Meanwhile(StateCase):
    """Events while there is no service."""

    def test_a_holder_disconnects(self):
        self.start()
        process, waiter, behind = self.process_client(), self.raw_client(), self.raw_client()
        process.request('x')
        _, token = process.request('z')
        waiting, _ = waiter.request('x')
        behind.request('x')
        third, _ = behind.request('z', mode='shared')
        self.crash()
        process.close()
        self.wait_gone(process.name)
        self.start()
        self.wait_granted(waiter, waiting)
        self.assertGreater(self.wait_granted(behind, third), token)
        self.assertEqual(waiter.query(), (
            [('x', 'exclusive', waiter.name), ('z', 'shared', behind.name)],
            [('x', 'exclusive', behind.name)]))
        # The grant is stored as sent: the next service does not send it again.
        self.restart()
        waiter.ping()
        self.assertEqual(len(waiter.events), 1)

    def test_a_deadline_passes(self):
        """It has expired, even if the holder ended meanwhile."""
        self.start()
        holder, process, waiter, patient = (self.raw_client(), self.process_client(),
                                            self.raw_client(), self.raw_client())
        holder.request('x')
        process.request('y')
        ids = [waiter.request(name, timeout=20)[0] for name in 'xy']
        lasting, _ = patient.request('y', timeout=3600000)
        self.crash()
        end = time.monotonic() + 0.04
        process.close()
        self.wait_gone(process.name)
        while time.monotonic() < end:
            waiter.pump(0.01)
        self.start()
        for id_ in ids:
            waiter.wait_released(id_, 'timeout')
        self.wait_granted(patient, lasting)
        self.assertEqual(waiter.signals('Granted'), [])
        self.assertEqual(waiter.resync(), [])

    def test_a_deadline_continues(self):
        self.start()
        holder, waiter = self.raw_client(), self.raw_client()
        holder.request('x')
        limit = 5 * FACTOR
        sent = time.monotonic()
        id_, _ = waiter.request('x', timeout=int(limit * 1000))
        served = time.monotonic()
        self.restart()
        before = time.monotonic()
        left = waiter.resync()[0][6] / 1000
        after = time.monotonic()
        self.assertTrue(limit - (after - sent) - 0.002 <= left <= limit - (before - served) + 0.002,
                        f'{left} s left, {before - served} to {after - sent} s passed of {limit} s')
        at = waiter.wait_released(id_, 'timeout').at
        self.assertGreaterEqual(at - sent, limit)
        diagnostic(f'{(at - served - limit) * 1000:.1f} ms late')
        self.assertLess(at - served, limit + PATIENCE / 2)


class Repeated(StateCase):
    """Calls without a reply are sent again."""

    def results(self, client, serials):
        """Returns the replies; None for a call without one."""
        answers = []
        for serial in serials:
            try:
                answers.append(client.result(serial))
            except DBusError as error:
                self.assertIn(error.short, GONE)
                answers.append(None)
        return answers

    def flight(self, client, messages, delay):
        """Sends all calls, and kills the service after that time."""
        self.current.pause()
        serials = client.send_all(messages)
        client.ping_the_bus()
        self.current.resume()
        end = time.monotonic() + delay
        while time.monotonic() < end:
            pass
        self.crash()
        return self.results(client, serials)

    ROUNDS = 12
    CALLS = 120

    def test_requests_in_flight(self):
        """Everything acknowledged is restored; after sending all again, each request exists once,
        in order."""
        self.start()
        holder, client = self.raw_client(), self.raw_client()
        held, _ = holder.request('x')
        counts = []
        for round_ in range(self.ROUNDS):
            first = round_ * self.CALLS + 1
            calls = [lock_call('Request', 'x', key=key, mode='shared')
                     for key in range(first, first + self.CALLS)]
            answers = self.flight(client, calls, round_ * 0.0004)
            self.start()
            listed = self.see_resync(client)
            by_key = {line[1]: id_ for id_, line in listed.items()}
            counts.append(f'{sum(answer is not None for answer in answers)}/{len(by_key)}')
            for key, answer in zip(range(first, first + self.CALLS), answers):
                if answer is not None:
                    self.assertEqual(by_key.get(key), answer[0])
            # Unanswered calls may have been stored too, but none after one that wasn't.
            self.assertEqual(sorted(by_key), list(range(first, first + len(by_key))))
            again = [client.request('x', key=key, mode='shared')[0]
                     for key in range(first, first + self.CALLS)]
            self.assertEqual(again, sorted(set(again)))
            self.assertEqual(again[:len(by_key)], sorted(by_key.values()))
            self.assertEqual(sorted(self.see_resync(client)), again)
            self.assertEqual(len(holder.query()[1]), self.CALLS)
            for id_ in again:
                client.abort(id_)
        diagnostic(f'answered/written of {self.CALLS}: {" ".join(counts)}')
        holder.release(held)


class Commits(StateCase):
    """Changes that are committed together: each commit is a frame in the file."""

    def n_commits(self):
        data = read_bytes(self.path())
        place, count = 56, 0
        while any(data[place:place + 24]):
            place += 24 + struct.unpack_from('=Q', data, place)[0] + 8
            count += 1
        return count

    def test_a_release_and_the_request_after_it(self):
        """Two packets in one turn, of which only the second is answered: one commit."""
        service = self.start()
        sock = self.socket_client().socket
        key, _ = sock.request('x')
        before = self.n_commits()
        for _ in range(20):
            service.pause()
            sock.release_without_answer(key)
            data, serial, key = sock.encode_request('x')
            sock.send(data)
            service.resume()
            self.assertNotEqual(sock.answer(serial).token, 0)
        self.assertEqual(self.n_commits() - before, 20)
        for _ in range(20):
            sock.release(sock.request('y')[0])
        self.assertEqual(self.n_commits() - before, 60)


class Without(StateCase):
    """--no-state: everything is lost, as documented."""

    def test_earlier_state_is_not_touched(self):
        """It neither reads nor writes the state."""
        self.start()
        client = self.raw_client()
        client.request('x', key=1)
        self.crash()
        before = read_bytes(self.path())
        self.start('--no-state', state=False)
        self.assertEqual(client.resync(), [])
        client.request('x')
        self.crash()
        self.assertEqual(read_bytes(self.path()), before)
