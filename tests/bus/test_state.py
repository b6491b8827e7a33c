# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""After kill -9 of the service, every client has the same locks and requests as before."""

import os
import shlex
import signal
import struct
import subprocess
import sys
import time
from unittest import mock

from buses import can_be_others, read_bytes
from calls import DBusError
from harness import FACTOR, PATIENCE, SocketClient, diagnostic
from packetclient import NO_ANSWER, RELEASE, with_key
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

    def test_every_kind_of_client(self):
        """Clients on GDBus, in a separate process, on a lock socket, of another user."""
        self.start()
        clients = [self.client(), self.socket_client(), self.raw_client()]
        process = self.process_client()
        other_user = self.other_uid_client() if can_be_others() else None
        if other_user is not None:
            foreign = other_user.request('x')
            self.assertNotEqual(foreign[1], 0)
            clients.append(other_user)
        ids = [(client, client.request('x', key=3)) for client in clients]
        waiting = process.request('x')
        before = self.see([self.control, *clients], ('default',)) if other_user is None else None
        resyncs = {client.name: self.see_resync(client) for client in clients}
        self.restart()
        self.assertEqual([entry.key for entry in clients[1].reopen()], [3])
        for client, (id_, token) in ids:
            self.assertEqual(self.see_resync(client), resyncs[client.name])
            self.assertEqual(client.request('x', key=3), (id_, token))
        if before is not None:
            self.assert_same(before, self.see([self.control, *clients], ('default',)))
        else:
            self.assertEqual(len(other_user.query()[0] + other_user.query()[1]), 2)
            self.assertEqual(len(self.control.query()[1]), 3)
        for client in clients[:3]:
            client.release(client.resync()[0][2 if isinstance(client, SocketClient) else 1])
        process.wait_for(lambda: process.granted(waiting[0]), what='Granted')

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

    def test_ages_go_on(self):
        self.start()
        client = self.raw_client()
        client.request('x')
        client.request('x')
        begun = time.monotonic()
        before = [entry['age'] for entry in client.inspect()[0]]
        self.restart()
        after = [entry['age'] for entry in client.inspect()[0]]
        passed = (time.monotonic() - begun) * 1000
        for old, new in zip(before, after):
            self.assertGreaterEqual(new, old)
            self.assertLessEqual(new, old + passed + 2)

    def test_resync_of_nobody(self):
        self.start()
        unrelated = self.raw_client()
        self.assertEqual(unrelated.resync(), [])
        id_, token = unrelated.request('x', key=5)
        waiting, _ = unrelated.request('x', mode='shared', timeout=60000)
        lines = unrelated.resync()
        self.assertEqual(lines[0], ('default', id_, 5, 'x', 'exclusive', token, 0, True))
        self.assertEqual(lines[1][:6], ('default', waiting, 0, 'x', 'shared', 0))
        self.assertFalse(lines[1][7])
        # A deadline is rounded up to a millisecond, since no request may time out early.
        self.assertTrue(1 <= lines[1][6] <= 60001, lines[1])

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
    def test_first_come_first_served(self):
        """After two crashes, shared requests are granted together, and in order."""
        self.start()
        a, b, c, d, e, f = [self.raw_client() for _ in range(6)]
        ids = {a: a.request('x')[0], b: b.request('x', mode='shared')[0],
               c: c.request('x', mode='shared')[0], d: d.request('x')[0],
               e: e.request('x', mode='shared')[0]}
        self.restart()
        ids[f] = f.request('x')[0]
        a.release(ids[a])
        tokens = [self.wait_granted(b, ids[b]), self.wait_granted(c, ids[c])]
        self.assertLess(tokens[0], tokens[1])
        self.restart()
        self.assertEqual(a.query(), (
            [('x', 'shared', b.name), ('x', 'shared', c.name)],
            [('x', 'exclusive', d.name), ('x', 'shared', e.name), ('x', 'exclusive', f.name)]))
        c.release(ids[c])
        d.ping()
        self.assertEqual(d.events, [])
        b.release(ids[b])
        tokens.append(self.wait_granted(d, ids[d]))
        self.restart()
        d.release(ids[d])
        tokens.append(self.wait_granted(e, ids[e]))
        e.release(ids[e])
        tokens.append(self.wait_granted(f, ids[f]))
        self.assertEqual(tokens, sorted(set(tokens)))
        for client in (b, c, d, e, f):
            self.assertEqual([event.signal for event in client.events], ['Granted'])

    def test_tokens_and_ids_only_grow(self):
        """Also above those of requests that ended before the crash, and of other buckets."""
        self.start()
        a, b = self.raw_client(), self.raw_client()
        last_ids, last_tokens = {a: 0, b: 0}, {'default': 0, 'other': 0, 'kept': 0}
        kept, token = a.request('kept', 'kept')
        last_ids[a], last_tokens['kept'] = kept, token
        for round_ in range(6):
            for _ in range(3):
                for client in (a, b):
                    for bucket in last_tokens:
                        id_, token = client.request('y', bucket)
                        self.assertGreater(id_, last_ids[client])
                        self.assertGreater(token, last_tokens[bucket])
                        last_ids[client], last_tokens[bucket] = id_, token
                        waiting, _ = client.request('y', bucket)
                        self.assertGreater(waiting, id_)
                        last_ids[client] = waiting
                        client.abort(waiting, bucket)
                        client.release(id_, bucket)
            if round_ % 2:
                self.current.signal(signal.SIGTERM)
                self.assertEqual(self.current.wait_exit(), 0)
                self.start()
            else:
                self.restart()
        for old in (1, kept + 1, last_ids[a], last_ids[a] + 1):
            self.assert_error('NotHeld', a.release, old)
        self.assertEqual(len(a.resync()), 1)

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
            for serial in releases:
                client.result(serial)
            self.restart()

    def test_a_steal_is_restored(self):
        self.start()
        holder, stealer, waiter = [self.raw_client() for _ in range(3)]
        lost, _ = holder.request('x')
        waiting, _ = waiter.request('x')
        stolen, token = stealer.steal('x')
        self.restart()
        holder.wait_released(lost, 'stolen')
        self.assert_error('NotHeld', holder.release, lost)
        self.assertEqual(holder.query(), ([('x', 'exclusive', stealer.name)],
                                          [('x', 'exclusive', waiter.name)]))
        again, newer = holder.steal('x')
        self.assertGreater(newer, token)
        stealer.wait_released(stolen, 'stolen')
        self.restart()
        holder.release(again)
        self.wait_granted(waiter, waiting)

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

    def start_ahead(self, seconds):
        """A service in a time namespace, whose clock is ahead."""
        command = ['unshare', '--time', f'--monotonic={seconds}', '--']
        clock = subprocess.run([*command, sys.executable, '-c', 'import time; print(time.monotonic())'],
                               capture_output=True, text=True, check=False)
        if clock.returncode != 0 or float(clock.stdout) < time.monotonic() + seconds / 2:
            self.skipTest('needs a time namespace: unshare --time, and root')
        wrapper = f"{shlex.join(command)} {os.environ.get('WEBLOCKS_TEST_WRAPPER', '')}"
        with mock.patch.dict(os.environ, WEBLOCKS_TEST_WRAPPER=wrapper):
            return self.start()

    def test_a_clock_that_is_behind(self):
        """Times in the future count as the time of the start."""
        self.start_ahead(3000)
        holder, waiter, patient = (self.raw_client() for _ in range(3))
        held, _ = holder.request('x')
        id_, _ = waiter.request('x', timeout=3000)
        patient.request('x', timeout=3600000)
        self.restart()
        started = time.monotonic()
        ages = [entry['age'] for entry in self.control.inspect()[0]]
        self.assertLess(max(ages), 60000)
        waiter.wait_released(id_, 'timeout')
        self.assertGreater(time.monotonic() - started, 2)
        entries = self.control.inspect()[0]
        self.assertEqual(len(entries), 2)
        self.assertLess(max(entry['age'] for entry in entries), 60000 * FACTOR)
        holder.release(held)

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

    def test_a_new_client(self):
        """A new client's request comes after the restored ones."""
        self.start()
        holder = self.raw_client()
        held, _ = holder.request('x')
        self.crash()
        newcomer = self.raw_client()
        with self.assertRaises(DBusError) as caught:
            newcomer.request('x')
        self.assertIn(caught.exception.short, GONE)
        self.start()
        waiting, token = newcomer.request('x')
        self.assertEqual(token, 0)
        holder.release(held)
        self.wait_granted(newcomer, waiting)


class Repeated(StateCase):
    """Calls without a reply are sent again."""

    def test_a_repeated_key_finds_its_request(self):
        self.start()
        a, b = self.raw_client(), self.raw_client()
        held, waiting = a.request('x', key=1), b.request('x', key=1)
        granted = b.request('y', key=2, mode='shared')
        self.restart()
        self.assertEqual(a.request('x', key=1), held)
        self.assertEqual(b.request('x', key=1), waiting)
        self.assertEqual(b.request('y', key=2, mode='shared'), granted)
        self.assert_error('InvalidArgs', a.request, 'z', key=1)
        self.assert_error('InvalidArgs', a.request, 'x', key=1, mode='shared')
        self.assert_error('InvalidArgs', a.request, 'x', 'other', key=1)
        a.release(held[0])
        self.restart()
        id_, token = b.request('x', key=1)
        self.assertEqual(id_, waiting[0])
        self.assertGreater(token, held[1])
        # The request has ended, so the key is free.
        self.assertNotEqual(a.request('x', key=1)[0], held[0])

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

    def test_no_reply_wanted(self):
        """A call without a reply changes nothing that could be lost or duplicated."""
        self.start()
        client = self.raw_client()
        client.send(lock_call('Request', 'x', reply=False))
        id_, _ = client.request('y')
        client.send(lock_call('Release', id_, reply=False))
        client.ping()
        self.restart()
        self.assertEqual(client.resync(), [])


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

    def test_a_request_that_ends_in_its_turn(self):
        """A request that ends in the same turn is never written."""
        self.start()
        sock = self.socket_client().socket
        sock.request('x')
        before = self.n_commits()
        data, serial, key = sock.encode_request('y')
        sock.send(data, with_key(RELEASE, 0, key, NO_ANSWER))
        sock.answer(serial)
        sock.sync()
        self.assertEqual(self.n_commits(), before)


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
