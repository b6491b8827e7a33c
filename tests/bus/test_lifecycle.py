# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""How the service starts, is replaced and ends, and how its clients are notified."""

import os
import shlex
import signal
import subprocess
import time
import unittest

from handedover import HandedOver
from harness import (FACTOR, PATIENCE, REPORTS, Bus, BusTestCase, DBusError, Gio, GLib, RawClient,
                     diagnostic, environment, full_size, owner_of, service_with, start_and_use,
                     wait_for)
from rawbus import lock_call, unpack

NAME = 'org.w3.WebLocks'
SIGNAL = Gio.DBusMessageType.SIGNAL


class OwnServices(BusTestCase):
    """Each case starts the services it needs, and waits until the name is free again."""

    service = False
    arguments = ()

    def setUp(self):
        super().setUp()
        self.started = []
        self.addCleanup(self.end_all)

    def end_all(self):
        for service in self.started:
            service.end()
        wait_for(lambda: owner_of(self.control) is None, what='free name')

    def start(self, *arguments, **kw):
        service = self.start_service(*self.arguments, *arguments, **kw)
        self.started.append(service)
        return service


class Shutdown(OwnServices):
    """A service without stored state; see test_state.py for one with state."""

    arguments = ('--no-state',)

    def test_order(self):
        """Clients are notified, then the name is released, then the connection is closed."""
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number):
                self.check_order(number)

    def check_order(self, number):
        service = self.start()
        holder, waiter, watcher, idle = [self.client() for _ in range(4)]
        held, _ = holder.request('x')
        waiting, _ = waiter.request('x')
        watcher.watch()
        idle.query()
        start = self.monitor.position()
        service.signal(number)
        self.assertEqual(service.wait_exit(), 0, service.stderr())
        # The bus may notice the end of the connection a moment later.
        self.wait_gone(service.name)
        stop = self.monitor.position()

        seen = []
        for message in self.monitor.messages(start, stop):
            kind, sender = message.get_message_type(), message.get_sender()
            if kind == SIGNAL and sender == service.name:
                seen.append((message.get_member(), message.get_destination(),
                             unpack(message)[0], unpack(message)[-1]))
            elif message.get_member() == 'ReleaseName':
                seen.append(('ReleaseName',))
            elif message.get_member() == 'NameOwnerChanged' and message.get_destination() is None:
                name, _, new = unpack(message)
                if name in (NAME, service.name):
                    self.assertEqual(new, '')
                    seen.append(('gone', name))
        # The kinds in order; the order of the clients is not guaranteed.
        received = [line for line in seen if line[0] == 'Released']
        rest = [line for line in seen if line[0] != 'Released']
        self.assertEqual(seen, received + rest)
        self.assertEqual(sorted(received), sorted([
            ('Released', holder.name, held, 'lost'), ('Released', waiter.name, waiting, 'lost'),
            ('Released', watcher.name, held, 'lost'), ('Released', watcher.name, waiting, 'lost')]))
        unique = [line for line in rest if line != ('ReleaseName',)]
        self.assertEqual(unique, [('gone', NAME), ('gone', service.name)])

    def test_requests_during_shutdown(self):
        """First they are granted, then refused with InvalidState, then there is no service."""
        most = 0
        for _ in range(5):
            service = self.start()
            raw = self.raw_client()
            raw.query()
            service.pause()
            serials = raw.send_all([lock_call('Request', f'{number}') for number in range(500)])
            raw._driver('GetId')
            service.signal(signal.SIGTERM)
            service.resume()
            kinds = [self.kind_of(raw, serial) for serial in serials]
            self.assertEqual(service.wait_exit(), 0)
            order = [kind for index, kind in enumerate(kinds)
                     if index == 0 or kinds[index - 1] != kind]
            self.assertEqual(order, [kind for kind in ('granted', 'InvalidState', 'nobody')
                                     if kind in order])
            raw.wait_for(lambda n=kinds.count('granted'), r=raw: len(r.signals(
                'Released', reason='lost')) == n, what='Released of every granted lock')
            most = max(most, kinds.count('InvalidState'))
            if most:
                break
        diagnostic(f'answered with InvalidState: {most} of 500')
        self.assertGreater(most, 0, 'no request met the shutdown in five tries')

    def kind_of(self, raw, serial):
        try:
            raw.result(serial)
            return 'granted'
        except DBusError as error:
            if error.name == 'org.w3.WebLocks.Error.InvalidState':
                return 'InvalidState'
            self.assertIn(error.short, ('NoReply', 'ServiceUnknown', 'NameHasNoOwner'))
            return 'nobody'

    def test_terminated_twice(self):
        """As systemd does when the name is released: the exit status is 0."""
        service = self.start()
        holder = self.client()
        held, _ = holder.request('x')
        service.pause()
        service.signal(signal.SIGTERM)
        service.signal(signal.SIGINT)
        service.resume()
        holder.wait_released(held, 'lost')
        self.assertEqual(service.wait_exit(), 0)


class Replace(OwnServices):
    def test_a_replaceable_service_is_replaced(self):
        first = self.start('--replace', '--no-state')
        holder, waiter = self.client(), self.client()
        held, token = holder.request('x')
        waiting, _ = waiter.request('x')
        second = self.start('--replace', '--no-state')
        self.assertEqual(first.wait_exit(), 0, first.stderr())
        holder.wait_released(held, 'lost')
        waiter.wait_released(waiting, 'lost')
        self.assertEqual({event.sender for event in holder.events + waiter.events}, {first.name})
        self.assertIsNone(second.process.poll())
        self.assertEqual(owner_of(self.control), second.name)
        _, newer = holder.request('x')
        self.assertGreater(newer, token)

    def refused(self, service):
        self.assertGreater(service.wait_exit(), 0)
        self.assertIn(NAME, service.stderr())

    def test_an_ordinary_service_is_not_replaced(self):
        first = self.start()
        held, _ = self.control.request('x')
        self.refused(self.start('--replace', ready=False))
        self.assertEqual(owner_of(self.control), first.name)
        self.control.release(held)

    def test_a_second_service_without_the_option(self):
        for arguments in ((), ('--replace',)):
            with self.subTest(arguments):
                first = self.start(*arguments)
                self.refused(self.start(ready=False))
                self.assertEqual(owner_of(self.control), first.name)
                self.end_all()

    def test_another_program_cannot_take_the_name(self):
        self.start()
        for flags in (0, 2, 4, 6):
            answer = self.control._driver('RequestName', GLib.Variant('(su)', (NAME, flags)))[0]
            # 2: queued, 3: exists
            self.assertIn(answer, (2, 3))
            self.control._driver('ReleaseName', GLib.Variant('(s)', (NAME,)))

    def test_it_does_not_queue_for_the_name(self):
        self.control._driver('RequestName', GLib.Variant('(su)', (NAME, 0)))
        try:
            self.refused(self.start(ready=False))
        finally:
            self.control._driver('ReleaseName', GLib.Variant('(s)', (NAME,)))
        self.assertIsNone(owner_of(self.control))


class OwnerHasEnded(OwnServices):
    """A service that is restarted after a kill can be faster than the bus notices the kill. Here the name
    is owned by a connection of a process that has exited."""

    def check(self, *arguments):
        owner = HandedOver(self.bus.address)
        self.addCleanup(owner.client.close)
        flags = GLib.Variant('(su)', (NAME, 0))
        owner.client.call('/org/freedesktop/DBus', 'org.freedesktop.DBus', 'RequestName', flags,
                          destination='org.freedesktop.DBus')
        owner.end()
        start = self.monitor.position()
        service = self.start(*arguments, ready=False)
        wait_for(lambda: any(message.get_member() == 'RequestName'
                             for message in self.monitor.messages(start, self.monitor.position())),
                 what='request for the name')
        self.assertEqual(owner_of(self.control), owner.client.name)
        owner.client.close()
        service.wait_ready(self.control)
        self.assertEqual(service.stop(), 0, service.stderr())

    def test_waits_for_the_name(self):
        self.check()

    def test_waits_for_the_name_to_replace(self):
        self.check('--replace')


class Options(BusTestCase):
    service = False

    def run_with(self, *arguments, **env):
        command = [*shlex.split(os.environ.get('WEBLOCKS_TEST_WRAPPER', '')),
                   environment('WEBLOCKSD'), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE,
                              check=False, env={**self.bus.environment(), **env},
                              stdin=subprocess.DEVNULL)

    def test_help(self):
        done = self.run_with('--help')
        self.assertEqual(done.returncode, 0)
        for option in ('--session', '--system', '--address', '--replace', '--idle-exit',
                       '--limit', '--verbose', '--version'):
            self.assertIn(option, done.stdout)

    def test_a_log_that_nobody_reads(self):
        """As that of a service in a pipe whose reader has ended."""
        reader, writer = os.pipe()
        with open(writer, 'wb') as log, subprocess.Popen(
                [*shlex.split(os.environ.get('WEBLOCKS_TEST_WRAPPER', '')), environment('WEBLOCKSD'),
                 '--verbose', f'--address={self.bus.address}'],
                stderr=log, env=self.bus.environment()) as process:
            self.addCleanup(process.kill)
            wait_for(lambda: owner_of(self.control) is not None, what='owned name')
            log.close()
            os.close(reader)
            client = self.client()
            self.assertNotEqual(client.request('x')[1], 0)
            process.terminate()
            self.assertEqual(process.wait(PATIENCE), 0)

    def test_bad_options(self):
        """An exit status, and a message that names the problem; nothing on the bus."""
        table = [
            (('--no-such-option',), 'no-such-option'),
            (('argument',), 'argument'),
            (('--limit', 'noSuchLimit=1'), 'noSuchLimit'),
            (('--limit', 'nameBytes=0'), 'nameBytes'),
            (('--limit',), 'limit'),
            (('--idle-exit=soon',), 'idle-exit'),
            (('--idle-exit=-1',), 'idle-exit'),
            (('--session', '--system'), 'system'),
        ]
        address = f'--address={self.bus.address}'
        for arguments, mentions in table:
            with self.subTest(arguments):
                with_bus = arguments if '--system' in arguments else (address, *arguments)
                done = self.run_with(*with_bus)
                self.assertGreater(done.returncode, 0, done)
                self.assertIn(mentions, done.stderr)
                self.assertLess(len(done.stderr.splitlines()), 10)
        self.assertIsNone(owner_of(self.control))

    def test_no_bus(self):
        for arguments, env in (((f'--address={self.bus.address}-not',), {}),
                               (('--address=nonsense',), {}), (('--address=',), {}),
                               (('--session',), {'DBUS_SESSION_BUS_ADDRESS': 'unix:path=/no'}),
                               (('--system',), {'DBUS_SYSTEM_BUS_ADDRESS': 'unix:path=/no'})):
            with self.subTest(arguments):
                done = self.run_with(*arguments, **env)
                self.assertGreater(done.returncode, 0)
                self.assertNotEqual(done.stderr.strip(), '')

    def check_takes_name(self, *arguments, **env):
        service = self.start_service(*arguments, address_option=False, env=env)
        try:
            self.control.ping()
        finally:
            self.assertEqual(service.stop(), 0)

    def test_which_bus(self):
        self.check_takes_name()
        self.check_takes_name('--session')
        self.check_takes_name('--system', DBUS_SYSTEM_BUS_ADDRESS=self.bus.address,
                              DBUS_SESSION_BUS_ADDRESS='unix:path=/no')


class IdleExit(OwnServices):
    def exits_by_itself(self, service):
        self.assertEqual(service.wait_exit(), 0, service.stderr())

    def test_alone(self):
        started = time.monotonic()
        service = self.start('--idle-exit=0.5', ready=False)
        self.exits_by_itself(service)
        self.assertGreater(time.monotonic() - started, 0.5)

    def test_zero_is_never(self):
        service = self.start('--idle-exit=0')
        client = self.client()
        self.assertIsNone(self.seen_exit(service, 1))
        client.query()

    def seen_exit(self, service, seconds):
        """The exit status, if it ends within that time."""
        try:
            return service.wait_exit(seconds)
        except TimeoutError:
            return None

    def start_and_use(self, idle, use):
        return start_and_use(lambda: self.start(f'--idle-exit={idle}', ready=False), self.control,
                             use)

    def check_stays_while(self, use, unuse):
        client = self.client()
        service, handle = self.start_and_use(0.3 * FACTOR, lambda: use(client))
        self.assertIsNone(self.seen_exit(service, 0.8 * FACTOR), 'it left while in use')
        unuse(client, handle)
        self.exits_by_itself(service)

    def test_not_while_held(self):
        self.check_stays_while(lambda client: client.request('x')[0],
                               lambda client, id_: client.release(id_))

    def test_not_while_waiting(self):
        """A pending request without a holder is enough. It times out."""
        holder, waiter = self.client(), self.client()
        service, _ = self.start_and_use(0.3 * FACTOR, lambda: holder.request('x'))
        id_, _ = waiter.request('x', timeout=int(1000 * FACTOR))
        waiter.wait_released(id_, 'timeout')
        self.assertIsNone(service.process.poll())
        holder.close()
        self.exits_by_itself(service)

    def test_not_while_watched(self):
        self.check_stays_while(lambda client: client.watch(),
                               lambda client, _: client.watch(False))


class IdleExitRace(unittest.TestCase):
    """Calls aimed at the moment of the exit, with activation by the bus: each is served, or refused
    with an error after which it may be repeated; and then it is served."""

    IDLE = 0.02
    ROUNDS = full_size(200, 1000)
    LATER = 8

    def setUp(self):
        # Only dbus-daemon starts services without systemd.
        if environment('WEBLOCKS_TEST_BUS') != 'dbus-daemon':
            self.skipTest('dbus-broker leaves activation to systemd')
        self.bus = Bus().start()
        self.addCleanup(self.bus.stop)
        self.bus.add_service_file(f'{service_with()} --address={self.bus.address} '
                                  f'--idle-exit={self.IDLE}')
        self.client = RawClient(self.bus.address)
        self.addCleanup(self.client.close)
        self.client._driver('ReloadConfig')
        self.refused = 0

    def served(self, call, serial):
        """Returns the reply to a call, which is repeated while a service that exits refuses it."""
        while True:
            try:
                return self.client.result(serial)
            except DBusError as error:
                self.assertEqual(error.short, 'InvalidState', f'{error}; the bus wrote: {self.bus.log()}')
            self.refused += 1
            serial, = self.client.send_all([call()])

    def test_no_call_is_lost(self):
        def request():
            return lock_call('Request', 'x')

        def query():
            return lock_call('Query')

        owners = set()
        due = time.monotonic()
        for round_ in range(self.ROUNDS):
            # From 2 ms before the moment to 6 ms after it, over and over.
            target = due + (round_ % 40) * 0.0002 - 0.002
            while (left := target - time.monotonic()) > 0:
                self.client.pump(left)
            # Three in one write: the first may be received by the old instance, the last by the new
            # one. And more, one by one, during the exit and the start.
            calls = [request, query, request]
            serials = self.client.send_all([call() for call in calls])
            for number in range(self.LATER):
                calls.append([query, request][number % 2])
                serials += self.client.send_all([calls[-1]()])
                self.client.pump(0.0003)
            answers = [self.served(*pair) for pair in zip(calls, serials)]
            owners.add(owner_of(self.client))
            self.release_all([answer[0] for call, answer in zip(calls, answers) if call == request])
            due = time.monotonic() + self.IDLE
        diagnostic(f'{self.ROUNDS * (3 + self.LATER)} calls, {len(owners)} instances of the service, '
                   f'{self.refused} refusals')
        self.assertGreater(len(owners), 5, 'it hardly ever left: nothing was tested')
        # Services that the bus starts inherit its standard error.
        self.assertEqual([line for line in self.bus.log().splitlines()
                          if any(report in line for report in REPORTS)], [])

    def release_all(self, ids):
        """Locks of an earlier instance are lost."""
        for id_ in ids:
            try:
                self.client.release(id_)
            except DBusError as error:
                self.assertIn(error.short, ('NotHeld', 'InvalidState'))
