# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A bus that does not read, and calls at the moment of the exit."""

import collections
import os
import resource
import signal
import subprocess
import sys
import time
import unittest

import buses
from calls import ROOT, SERVICE
from harness import (PATIENCE, Bus, BusTestCase, DBusError, RawClient, Service, diagnostic,
                     environment, owner_of, start_and_use, wait_for)
from rawbus import DRIVER, DRIVER_PATH, lock_call, method_call
from sockets import open_socket

# The limits of the contract on which these numbers are based.
UNCONFIRMED_MAX = 1024
STOP_SECS = 5


class Quiet:
    """Whether a process is idle: it has ended, or it sleeps and has used almost no processor time
    in the last 0.2 s. A service that waits for a bus must not spin either."""

    def __init__(self, process):
        self.process = process
        self.looks = collections.deque()

    def __call__(self):
        if self.process.poll() is not None:
            return True
        stat, now = buses.process_stat(self.process.pid), time.monotonic()
        used = (int(stat[11]) + int(stat[12])) / os.sysconf('SC_CLK_TCK')
        self.looks.append((now, used))
        while now - self.looks[0][0] > 0.3:
            self.looks.popleft()
        then, used_then = self.looks[0]
        return stat[0] == 'S' and now - then >= 0.2 and used - used_then <= 0.02


def wait_quiet(service, timeout=PATIENCE):
    wait_for(Quiet(service.process), timeout, what='service with nothing left to do')


class Descriptors(BusTestCase):
    """The service accepts descriptors, since it has to send them. Deferred calls of unidentified
    senders keep none of them: they would use up the service's, without which it could receive
    nothing more."""

    PER_MESSAGE = 200
    CALLS = 12

    def test_many(self):
        holder = self.raw_client()
        held, _ = holder.request('held')
        pid = self.daemon.process.pid
        # Less than the calls contain together.
        hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (min(1024, hard), hard))
        before = self.daemon.count_descriptors()
        sender = self.raw_client(descriptors=True)
        with open(os.devnull, 'rb') as file:
            # Stopped, so that all of them are queued before it has identified their senders.
            with self.daemon.paused():
                serials = [sender.send_with_descriptors(lock_call('Request', f'{number}'),
                                                        [file.fileno()] * self.PER_MESSAGE)
                           for number in range(self.CALLS)]
        for serial in serials:
            self.assertNotEqual(sender.result(serial)[1], 0)
        self.assertIsNone(self.daemon.process.poll(), self.daemon.stderr())
        self.assertEqual(self.daemon.count_descriptors(), before)
        self.assertIn(('held', 'exclusive', holder.name), holder.query()[0])
        self.assertEqual(holder.signals('Released'), [])
        holder.release(held)


class OwnBus(unittest.TestCase):
    """Private buses without a monitor, which would have to read everything."""

    arguments = ()
    service_environment = {}

    def setUp(self):
        environment('WEBLOCKSD')
        self.bus = self.make_bus().start()
        self.addCleanup(self.bus.stop)
        self.control = self.client()

    def make_bus(self):
        return Bus()

    def client(self):
        client = RawClient(self.bus.address)
        self.addCleanup(client.close)
        return client

    def start(self, *arguments, ready=True):
        service = Service(self.bus, self.arguments + arguments, env=self.service_environment)
        self.addCleanup(service.end)
        return service.wait_ready(self.control) if ready else service

    def pause_bus(self):
        # A process can't be ended while its bus is stopped, so the bus is always continued.
        self.addCleanup(self.bus.resume)
        self.bus.pause()

    def known_names(self):
        return set(self.control.call(DRIVER_PATH, DRIVER, 'ListNames', destination=DRIVER)[0])

    def assert_clean_end(self, service):
        self.assertEqual(service.stop(), 0, service.stderr())
        self.assertEqual(service.complaints(), [])


class ABusThatDoesNotRead(OwnBus):
    # Every client is to be notified at the end.
    arguments = ('--no-state',)

    # With HELD and WAITING there are more signals than sd-bus queues, which is 393,216 messages; and
    # for each watcher no more than it is sent unacknowledged.
    WATCHERS = 430
    HELD = 1000
    WAITING = UNCONFIRMED_MAX - HELD

    def request_all(self, client, count):
        serials = client.send_all([lock_call('Request', f'{number}') for number in range(count)])
        return [client.result(serial)[0] for serial in serials]

    def test_nothing_is_lost(self):
        """Each watcher is notified of everything: by signals, or by the number in Missed."""
        self.assertGreater(self.WATCHERS * (self.HELD + self.WAITING), 393_216)
        service = self.start()
        innocent, waiter, holder = [self.client() for _ in range(3)]
        innocent.request('held', 'other')
        self.request_all(holder, self.HELD)
        waiting = self.request_all(waiter, self.WAITING)
        watchers = [self.client() for _ in range(self.WATCHERS)]
        for watcher in watchers:
            watcher.watch()
            watcher.answers_pings = True

        # The disconnect and the calls are queued together, so there is no recipient left.
        service.pause()
        holder.close()
        wait_for(lambda: holder.name not in self.known_names(), what='end of the holder')
        peer, introspectable = [f'org.freedesktop.DBus.{name}'
                                for name in ('Peer', 'Introspectable')]
        serials = self.control.send_all(
            [method_call(SERVICE, ROOT, peer, 'Ping') for _ in range(40)]
            + [method_call(SERVICE, ROOT, introspectable, 'Introspect') for _ in range(40)])
        self.control._driver('GetId')
        self.pause_bus()
        service.resume()
        wait_quiet(service, PATIENCE * 2)
        self.assertIsNone(service.process.poll(), service.stderr())

        started = time.monotonic()
        self.bus.resume()
        n_signals = sum(self.wait_all(watcher) for watcher in watchers)
        diagnostic(f'{n_signals} signals instead of {self.WATCHERS * UNCONFIRMED_MAX} in '
                   f'{time.monotonic() - started:.1f} s')
        self.control.results(serials)
        waiter.wait_for(lambda: len(waiter.events) >= len(waiting), what='own grants')
        self.assertEqual(sorted(event.id for event in waiter.events), waiting)
        self.assertEqual(innocent.query('other'), ([('held', 'exclusive', innocent.name)], []))
        self.assertEqual(innocent.events, [])
        # Their messages at the end could take the bus longer than the service waits.
        for watcher in watchers:
            watcher.close()
        gone = {watcher.name for watcher in watchers}
        wait_for(lambda: not gone & self.known_names(), what='end of the watchers')
        self.assert_clean_end(service)

    def wait_all(self, watcher):
        """Returns the number of signals."""
        def n_received():
            return len(watcher.signals('Released')) + len(watcher.signals('Granted'))

        def n_missed():
            return sum(event.args[0] for event in watcher.signals('Missed'))
        watcher.wait_for(lambda: n_received() + n_missed() >= self.HELD + self.WAITING, what='all')
        self.assertEqual(n_received() + n_missed(), self.HELD + self.WAITING)
        return n_received()


class DescriptorsInFlight(OwnBus):
    """The kernel lets a user send no more descriptors while as many as a process may open have been sent and
    not received. So an application in a sandbox can do this to its user's service."""

    MANY = 256
    APPLICATION = f"""
import array, os, socket
pairs = [socket.socketpair() for _ in range({MANY} // 100 + 1)]
for one, _ in pairs:
    one.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0] * 100))])
print('sent', flush=True)
os.read(0, 1)
"""

    def spawn(self, command, **options):
        """As a user without privileges, to whom that limit applies."""
        if os.getuid() == 0:
            if not buses.can_be_others():
                self.skipTest('only root can start programs as other users')
            options.update(user=buses.NOBODY, group=buses.NOBODY, extra_groups=[])
        process = buses.spawn(command, **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_nobody_else_waits(self):
        self.spawn(['sh', '-c', f'ulimit -n {self.MANY} && exec "$@"', 'sh', environment('WEBLOCKSD'),
                    '--no-state', f'--address={self.bus.address}'], env=self.bus.environment())
        wait_for(lambda: owner_of(self.control) is not None, what='owned name')
        client = RawClient(self.bus.address, descriptors=True)
        self.addCleanup(client.close)
        application = self.spawn([sys.executable, '-c', self.APPLICATION], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE)
        self.addCleanup(application.stdin.close)
        self.addCleanup(application.stdout.close)
        self.assertEqual(application.stdout.readline(), b'sent\n')
        with self.assertRaises(DBusError) as caught:
            open_socket(client)
        self.assertEqual(caught.exception.short, 'LimitsExceeded')
        id_, token = client.request('by the bus')
        self.assertNotEqual(token, 0)
        client.release(id_)
        application.stdin.close()
        application.wait()
        self.assertNotEqual(open_socket(client).request('by the socket')[1], 0)


class ATimeoutMeanwhile(OwnBus):
    """A call of the service to the bus times out, after 10 s, while the bus does not read."""

    arguments = ('--no-state', '--verbose')

    WATCHERS = 30
    LOCKS = 900

    def test_it_sleeps(self):
        service = self.start()
        holder = RawClient(self.bus.address, descriptors=True)
        self.addCleanup(holder.close)
        socket = open_socket(holder)
        for _ in range(self.WATCHERS):
            self.client().watch()
        newcomer = self.client()
        service.pause()
        serial = newcomer.send(lock_call('Request', 'new'))
        newcomer._driver('GetId')
        self.pause_bus()
        service.resume()
        wait_quiet(service)     # it waits for the credentials of the newcomer
        socket.request_all([f'{number}' for number in range(self.LOCKS)])
        wait_for(lambda: f'{newcomer.name} is not identified' in service.stderr(), what='the time-out')
        wait_quiet(service)
        self.bus.resume()
        with self.assertRaises(DBusError) as caught:
            newcomer.result(serial)
        self.assertIn('could not be identified', str(caught.exception))
        self.assert_clean_end(service)


class Latecomers(OwnBus):
    """A first call after SIGTERM, by a new client."""

    OUTCOMES = {'served', 'ServiceUnknown', 'NameHasNoOwner'}

    def outcome(self, client, serial):
        try:
            client.result(serial)
            return 'served'
        except DBusError as error:
            return error.short

    def check(self, service, newcomers):
        """Each gets a definite reply, neither none nor NoReply."""
        received = collections.Counter(self.outcome(*newcomer) for newcomer in newcomers)
        self.assertEqual(service.wait_exit(), 0, service.stderr())
        wait_for(lambda: owner_of(self.control) is None, what='free name')
        self.assertLessEqual(set(received), self.OUTCOMES)
        return received

    def test_with_sigterm(self):
        """The service receives the call and the signal together, in either order."""
        received = collections.Counter()
        for _ in range(10):
            service = self.start()
            self.client().request('held')
            service.pause()
            newcomers = [(client, client.send(lock_call('Query')))
                         for client in [self.client() for _ in range(5)]]
            # The bus has transmitted each.
            for client, _ in newcomers:
                client._driver('GetId')
            service.signal(signal.SIGTERM)
            service.resume()
            received += self.check(service, newcomers)
        diagnostic(f'{dict(received)}')

    def test_after_sigterm(self):
        """The service has sent everything and waits for the bus, which then receives the calls."""
        received = collections.Counter()
        for _ in range(5):
            service = self.start()
            holder = self.client()
            holder.request('held')
            clients = [self.client() for _ in range(20)]
            self.pause_bus()
            service.signal(signal.SIGTERM)
            wait_quiet(service, STOP_SECS - 1)
            newcomers = [(client, client.send(lock_call('Query'))) for client in clients]
            self.bus.resume()
            received += self.check(service, newcomers)
        diagnostic(f'{dict(received)}')
        return received


class LatecomersWithoutState(Latecomers):
    """A client that calls after the losses were sent must not get a lock."""

    arguments = ('--no-state',)
    OUTCOMES = Latecomers.OUTCOMES | {'InvalidState'}

    def test_after_sigterm(self):
        self.assertNotIn('served', super().test_after_sigterm())


class IdleExitAfterAnEnd(OwnBus):
    """The period begins at the end of the last use, not at the last check. The use ends when 0.7 of
    a period has passed since the service's start, so a check in each period would notice it."""

    PERIOD_MS = 1700

    def check(self, use):
        user, clock = self.client(), self.client()

        def begin():
            use(user)
            return user.request('clock')[0]

        service, held = start_and_use(lambda: self.start('--idle-exit=1', ready=False),
                                      self.control, begin)
        # The time limit is the bus's: after it the second request is dropped.
        waiting, _ = clock.request('clock', timeout=self.PERIOD_MS)
        clock.wait_for(lambda: clock.signals('Released', id=waiting, reason='timeout'),
                       what='time-out')
        self.assertIsNone(service.process.poll(), 'it left while in use')
        return service, user, held

    def check_left(self, service, ended):
        self.assertEqual(service.wait_exit(), 0, service.stderr())
        took = time.monotonic() - ended
        diagnostic(f'left {took:.3f} s after the end')
        self.assertGreaterEqual(took, 0.95)

    def test_released(self):
        service, user, held = self.check(lambda user: None)
        ended = time.monotonic()
        user.release(held)
        self.check_left(service, ended)

    def test_a_call(self):
        """It postpones the exit, too, if the service is still there."""
        service, user, held = self.check(lambda user: None)
        user.release(held)
        time.sleep(0.5)
        ended = time.monotonic()
        try:
            user.query()
        except DBusError:
            self.skipTest('this machine was too slow with a call')
        self.check_left(service, ended)

    def test_death_of_a_watcher(self):
        service, user, held = self.check(lambda user: user.watch())
        user.release(held)
        ended = time.monotonic()
        user.close()
        self.check_left(service, ended)
