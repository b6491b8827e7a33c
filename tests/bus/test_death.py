# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Clients that disconnect, are killed, are stopped, or never read: their locks are released and granted
to the next."""

import signal

from harness import BusTestCase, diagnostic, wait_exit, wait_for
from rawbus import RawClient, lock_call


class Killed(BusTestCase):
    def setUp(self):
        super().setUp()
        self.a, self.b = self.client(), self.client()
        self.process = self.process_client()

    def test_holder(self):
        """The next request is granted immediately, without any other traffic; prints the time."""
        taken = []
        for _ in range(5):
            process = self.process_client()
            process.request('x', self.bucket)
            waiting, token = self.a.request('x', self.bucket)
            self.assertEqual(token, 0)
            killed = process.kill()
            event = self.a.wait_granted(waiting)
            taken.append((event.at - killed) * 1000)
            self.a.release(waiting, self.bucket)
        taken.sort()
        diagnostic(f'kill -9 of the holder to Granted: median {taken[2]:.2f} ms, '
                   f'longest {taken[-1]:.2f} ms')

    def test_holder_that_disconnects_in_order(self):
        self.b.request('x', self.bucket)
        waiting, _ = self.a.request('x', self.bucket)
        self.b.close()
        self.a.wait_granted(waiting)

    def test_holding_and_waiting_on_one_name(self):
        """Nothing is granted to a client that has ended, and the next request is granted exactly once."""
        self.a.watch(bucket=self.bucket)
        self.process.request('x', self.bucket)
        self.process.request('x', self.bucket)
        waiting, _ = self.b.request('x', self.bucket)
        self.process.request('x', self.bucket)
        self.a.sync()
        self.a.events.clear()
        start = self.monitor.position()
        self.process.kill()
        self.b.wait_granted(waiting)
        self.wait_gone(self.process.name)
        self.b.sync()
        self.a.sync()
        self.assertEqual(len(self.b.events), 1)
        received = [(event.signal, event.args[3], event.args[-1]) for event in self.a.events]
        token = received[-1][2]
        self.assertEqual(received, [('Released', self.process.name, 'terminated')] * 3
                         + [('Granted', self.b.name, token)])
        to_the_dead = [message for message in
                       self.monitor.messages(start, self.monitor.position())
                       if message.get_destination() == self.process.name
                       and message.get_sender() == self.daemon.name]
        self.assertEqual(to_the_dead, [])

    def test_a_client_with_many_locks(self):
        """500 held and 500 pending on 250 names, and one more request behind each."""
        names = [f'{number}' for number in range(250)]
        steps = [['request', self.bucket, name, {'mode': 'shared'}] for name in names * 2]
        steps += [['request', self.bucket, name, {}] for name in names * 2]
        self.process.ask('many', steps=steps)
        raw = self.raw_client()
        ids = [raw.result(serial)[0] for serial in
               raw.send_all([lock_call('Request', name, self.bucket) for name in names])]
        killed = self.process.kill()
        raw.wait_for(lambda: len(raw.events) >= len(ids), what='all grants')
        diagnostic(f'1000 of a dead client gone, 250 granted: '
                   f'{(raw.events[-1].at - killed) * 1000:.1f} ms')
        self.assertEqual(sorted(event.id for event in raw.events), sorted(ids))
        held, pending = self.a.query(self.bucket)
        self.assertEqual((len(held), pending), (250, []))
        self.assertEqual({client for _, _, client in held}, {raw.name})


class LastCalls(BusTestCase):
    """What a client sent before it was killed takes effect before its end."""

    def setUp(self):
        super().setUp()
        self.watcher = self.client()
        self.watcher.watch(bucket=self.bucket)

    def send_and_die(self, *steps, before=()):
        """The signals of a watcher after a process sent `steps` and was killed immediately."""
        process = self.process_client()
        for step in before:
            process.request(*step)
        self.watcher.sync()
        self.watcher.events.clear()
        start = self.monitor.position()
        process.send_command('send_and_die', steps=[list(step) for step in steps])
        self.assertEqual(wait_exit(process.process), -signal.SIGKILL)
        self.wait_gone(process.name)
        self.watcher.sync()
        self.passed = sum(message.get_sender() == process.name for message in
                          self.monitor.messages(start, self.monitor.position()))
        return [(event.signal, event.args[1], event.args[-1] if event.signal == 'Released' else '')
                for event in self.watcher.events]

    def test_release_and_abort(self):
        for steps, member, reason in (((), 'release', 'released'), ((('x',),), 'abort', 'aborted')):
            for step in steps:
                self.client().request(*step, self.bucket)
            for _ in range(5):
                self.assertEqual(
                    self.send_and_die((member, self.bucket, 1), before=[('x', self.bucket)]),
                    [('Released', 'x', reason)])

    def test_request(self):
        """The sender's first call: it disconnects before it is identified. The request is granted
        and ended, or refused; nothing remains."""
        for _ in range(5):
            received = self.send_and_die(('request', self.bucket, 'x'))
            self.assertIn(received, ([], [('Granted', 'x', ''), ('Released', 'x', 'terminated')]))
            self.assertEqual(self.watcher.query(self.bucket), ([], []))

    def test_request_of_a_known_client(self):
        for _ in range(5):
            received = self.send_and_die(('request', self.bucket, 'y'), before=[('x', self.bucket)])
            self.assertEqual(received[0], ('Granted', 'y', ''))
            self.assertEqual(sorted(received[1:]), [('Released', 'x', 'terminated'),
                                                ('Released', 'y', 'terminated')])

    def test_steal_of_a_known_client(self):
        holder = self.client()
        held, _ = holder.request('x', self.bucket)
        received = self.send_and_die(('steal', self.bucket, 'x'), before=[('y', self.bucket)])
        self.assertEqual(received[:2], [('Released', 'x', 'stolen'), ('Granted', 'x', '')])
        self.assertEqual(sorted(received[2:]), [('Released', 'x', 'terminated'),
                                            ('Released', 'y', 'terminated')])
        holder.wait_released(held, 'stolen')

    def test_many(self):
        """100 requests and their releases. On a busy machine dbus-daemon drops some messages of a
        client that is killed while replies to it are queued; a monitor doesn't get them either. So
        only messages that the bus transmitted are compared."""
        names = [f'{number}' for number in range(100)]
        steps = [('request', self.bucket, name) for name in names]
        steps += [('release', self.bucket, number) for number in range(2, 102)]
        received = self.send_and_die(*steps, before=[('x', self.bucket)])
        granted, released = names[:self.passed], names[:max(0, self.passed - 100)]
        if self.passed < len(steps):
            diagnostic(f'the bus dropped the last {len(steps) - self.passed} messages')
        expected = [('Granted', name, '') for name in granted]
        expected += [('Released', name, 'released') for name in released]
        self.assertEqual(received[:len(expected)], expected)
        self.assertEqual(sorted(received[len(expected):]), sorted(
            ('Released', name, 'terminated') for name in ['x', *granted[len(released):]]))


class FireAndForget(BusTestCase):
    def test_nothing_remains_after_a_disconnect(self):
        """The service is stopped meanwhile, so that it receives the request and the disconnect
        together."""
        bucket = self.unique('bucket')
        client = self.client()
        client.watch(bucket=bucket)
        names = []
        with self.daemon.paused():
            for _ in range(50):
                raw = RawClient(self.bus.address)
                names.append(raw.name)
                raw.send_all([lock_call('Request', 'x', bucket), lock_call('Request', 'x', bucket),
                              lock_call('Request', 'x', bucket, steal=True)])
                raw.close()
        self.wait_gone(*names)
        wait_for(lambda: client.query(bucket) == ([], []), what='empty bucket')
        self.assertNotEqual(client.request('x', bucket)[1], 0)


class Stopped(BusTestCase):
    def test_a_stopped_holder_keeps_its_lock_until_it_is_stolen(self):
        bucket = self.unique('bucket')
        process = self.process_client()
        id_, token = process.request('x', bucket)
        process.stop()
        client = self.client()
        waiting, _ = client.request('x', bucket, timeout=200)
        client.wait_released(waiting, 'timeout')
        self.assertEqual(client.query(bucket)[0], [('x', 'exclusive', process.name)])
        _, newer = client.steal('x', bucket)
        self.assertGreater(newer, token)
        self.assertEqual(process.events, [])
        process.signal(signal.SIGCONT)
        process.wait_for(lambda: process.signals('Released', id=id_, reason='stolen'),
                         what='Released (stolen)')
        process.ping()
        self.assertEqual(len(process.events), 1)
