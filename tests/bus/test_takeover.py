# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Takeovers by --replace with an old instance that is stopped, a new one that ends before it serves, and
floods meanwhile. Afterwards there is always a service, with all locks."""

import os
import select
import signal
import struct
import time

from buses import FACTOR, KEEPS_LITTLE, status_kib
from calls import LOCKS, SERVICE, bucket_path
from harness import GLib, RawClient, Service, diagnostic, full_size, owner_of, wait_for
from rawbus import lock_call, method_call
from statecase import StateCase
from test_hostile import UNREAD_MAX
from test_pressure import Bus, OwnBus

# How long a new instance waits for the state if no connection of the bus is known to have locked
# it.
PATIENCE_SECS = 5


class StoppedCase(StateCase):
    """An instance with a held lock and a pending request, which is then stopped."""

    def setUp(self):
        super().setUp()
        self.old = self.start('--replace')
        self.holder, self.waiter = self.raw_client(), self.raw_client()
        self.held, self.token = self.holder.request('x', key=1)
        self.waiting, _ = self.waiter.request('x', key=2)

    def stop_old(self):
        self.old.pause()
        self.addCleanup(self.old.resume)

    def check_locks(self, service):
        """The service is that process, and has everything."""
        self.assertEqual(owner_of(self.control), service.name)
        self.assertEqual(self.holder.request('x', key=1), (self.held, self.token))
        self.assertEqual(self.waiter.request('x', key=2), (self.waiting, 0))
        self.holder.release(self.held)
        self.assertGreater(self.wait_granted(self.waiter, self.waiting), self.token)
        self.waiter.release(self.waiting)
        self.assertEqual([event.signal for event in self.holder.events + self.waiter.events],
                         ['Granted'])
        self.assertEqual(service.stop(), 0, service.stderr())


class Stopped(StoppedCase):
    def test_the_old_one_is_waited_for(self):
        """Longer than a new instance waits otherwise; calls are replied to when the old one has
        exited."""
        self.stop_old()
        new = self.start('--replace')
        early = self.waiter.send(lock_call('Request', 'y', key=3))
        end = time.monotonic() + PATIENCE_SECS + 1
        while time.monotonic() < end:
            with self.assertRaises(TimeoutError, msg=new.stderr()):
                new.wait_exit(0.1)
        with self.assertRaises(TimeoutError):
            self.waiter.result(early, 0)
        self.old.resume()
        self.assertEqual(self.old.wait_exit(), 0, self.old.stderr())
        id_, token = self.waiter.result(early)
        self.assertNotEqual(token, 0)
        self.waiter.release(id_)
        self.check_locks(new)

    def test_the_old_one_is_killed(self):
        self.stop_old()
        new = self.start('--replace')
        early = self.waiter.send(lock_call('Request', 'x', key=2))
        self.old.end()
        self.assertEqual(self.waiter.result(early), (self.waiting, 0))
        self.check_locks(new)

    def test_the_new_one_is_replaced_too(self):
        self.stop_old()
        services = [self.start('--replace') for _ in range(3)]
        for service in services[:-1]:
            self.assertEqual(service.wait_exit(), 0, service.stderr())
        self.old.resume()
        self.assertEqual(self.old.wait_exit(), 0, self.old.stderr())
        self.check_locks(services[-1])

    def check_old_goes_on(self, number, code):
        self.stop_old()
        new = self.start('--replace')
        new.signal(number)
        self.assertEqual(new.wait_exit(), code, new.stderr())
        self.wait_gone(new.name)
        self.assertIsNone(owner_of(self.control))
        self.old.resume()
        self.old.wait_ready(self.control)
        self.check_locks(self.old)
        self.assertEqual(self.old.stderr(), '')

    def test_the_new_one_is_killed(self):
        """The old one takes the name back."""
        self.check_old_goes_on(signal.SIGKILL, -signal.SIGKILL)

    def test_the_new_one_is_terminated(self):
        self.check_old_goes_on(signal.SIGTERM, 0)


class FloodOfHolder(StoppedCase):
    BYTES_WAITING = 30_000  # of short calls: a hundred at most
    CALLS = 200

    def test_it_is_ended(self):
        """The agent is terminated when it is restored, also if the client has read everything by then."""
        self.stop_old()
        new = self.start('--replace', '--verbose', '--limit', f'bytesWaiting={self.BYTES_WAITING}')
        # Some are deferred, some refused, and the others are a flood.
        self.holder.send_all([lock_call('Query')] * (self.CALLS + 2 * UNREAD_MAX))
        wait_for(lambda: 'too many deferred calls' in new.stderr(), what='flood')
        # It reads, and replies to the Ping.
        self.holder.ping_the_bus()
        self.holder.ping_the_bus()
        self.old.resume()
        self.assertEqual(self.old.wait_exit(), 0, self.old.stderr())
        self.holder.wait_released(self.held, 'terminated')
        self.assertGreater(self.wait_granted(self.waiter, self.waiting), self.token)
        # It is an agent again.
        self.assertEqual(self.holder.request('x')[1], 0)
        self.assertEqual(new.stop(), 0, new.stderr())


class NoState(StoppedCase):
    def test_a_directory_that_cannot_be_used(self):
        """Detected before the name is taken over from the old instance."""
        path = os.path.join(self.directory, 'file')
        with open(path, 'wb'):
            pass
        new = Service(self.bus, ['--replace', f'--state-dir={path}/below'])
        self.addCleanup(new.end)
        self.assertEqual(new.wait_exit(), 1)
        self.assertIn(path, new.stderr())
        self.assertEqual(self.old.stderr(), '')
        self.check_locks(self.old)


class Flooder:
    """A client that sends many copies of a long call, and discards the replies."""

    def __init__(self, case, count):
        self.raw = RawClient(case.bus.address)
        case.addCleanup(self.raw.close)
        self.name = self.raw.name
        self.socket = self.raw.socket
        self.socket.setblocking(False)
        body = GLib.Variant('(sa{sv})', ('n' * 60000, {}))
        blob, self.serial = self.raw.encode(method_call(SERVICE, bucket_path('flood'), LOCKS,
                                                        'Request', body))
        self.blob = bytearray(blob)
        self.left = count * len(self.blob)
        self.offset = 0

    def fileno(self):
        return self.socket.fileno()

    def read(self):
        if not self.socket.recv(1 << 20):
            self.left = 0  # the bus has disconnected it because of too much data

    def write(self):
        sent = self.socket.send(memoryview(self.blob)[self.offset:])
        self.left -= sent
        self.offset += sent
        if self.offset == len(self.blob):
            self.offset = 0
            self.serial += 1
            struct.pack_into('<I', self.blob, 8, self.serial)


class Floods(OwnBus):
    """Calls before the new instance has the state are subject to the limits of deferred calls."""

    FLOODERS = 4
    COUNT = full_size(1000, 10000)
    MOST_MIB = 48
    service_environment = KEEPS_LITTLE

    def make_bus(self):
        # As set by dbus-broker-launch for a session.
        return Bus(broker_options=('--max-bytes=536870912', '--max-fds=128',
                                   '--max-matches=16384', '--max-objects=16384'))

    def setUp(self):
        super().setUp()
        self.old = self.start('--replace')
        self.holder = self.client()
        self.held, self.token = self.holder.request('x', key=1)

    def flood(self, at_half=lambda: None):
        """Sends everything that the bus accepts, and calls `at_half` meanwhile. Returns the
        flooders, and how many MiB were sent."""
        flooders = [Flooder(self, self.COUNT) for _ in range(self.FLOODERS)]
        total = left = sum(flooder.left for flooder in flooders)
        while left > 0:
            writers = [flooder for flooder in flooders if flooder.left > 0]
            readable, writable, _ = select.select(writers, writers, [])
            for flooder in readable:
                flooder.read()
            for flooder in writable:
                if flooder.left > 0:
                    flooder.write()
            before, left = left, sum(flooder.left for flooder in flooders)
            if before > total / 2 >= left:
                at_half()
        return flooders, total / (1 << 20)

    def check(self, new, sent):
        self.control.ping()
        peak = status_kib(new.process.pid, 'VmHWM:') / 1024
        diagnostic(f'{sent:.0f} MiB were sent: {peak:.1f} MiB at most')
        if FACTOR <= 1:
            self.assertLess(peak, self.MOST_MIB)
        self.assertEqual(self.holder.request('x', key=1), (self.held, self.token))
        self.holder.release(self.held)
        self.assertEqual(self.old.wait_exit(), 0, self.old.stderr())
        self.assert_clean_end(new)

    def test_with_a_stopped_instance(self):
        self.old.pause()
        new = self.start('--replace')
        flooders, sent = self.flood()
        # When their disconnects are noticed, the bus has transmitted everything.
        for flooder in flooders:
            flooder.raw.close()
        wait_for(lambda: not {flooder.name for flooder in flooders} & self.known_names(),
                 what='end of the flooders')
        self.old.resume()
        self.check(new, sent)

    def test_with_a_running_instance(self):
        started = []
        _, sent = self.flood(lambda: started.append(self.start('--replace', ready=False)))
        self.check(started[0].wait_ready(self.control), sent)
