# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The time limit of the shutdown holds when the bus stops reading or replying, at any moment of it."""

import contextlib
import itertools
import os
import shutil
import signal
import socket
import tempfile
import time
import unittest
import unittest.mock

from gi.repository import Gio

from calls import ROOT, SERVICE
from fakebus import FakeBus
from harness import FACTOR, Bus, RawClient, Service, diagnostic, environment
from rawbus import lock_call, method_call

STOP_SECS = 5
LATE_SECS = (STOP_SECS + 5) * FACTOR
# The reasons that are logged.
NOT_READ = 'the bus does not read our messages; ending anyway'
NO_REPLY = 'the bus does not reply to ReleaseName; ending anyway'

def ping():
    return method_call(SERVICE, ROOT, 'org.freedesktop.DBus.Peer', 'Ping')


def introspect():
    """A call with a long reply."""
    return method_call(SERVICE, ROOT, 'org.freedesktop.DBus.Introspectable', 'Introspect')


def count_messages_in_a_socket(n_bytes):
    """How many messages of this length a socket holds, with the greatest buffer that an unprivileged
    process can have, as sd-bus asks for."""
    ours, theirs = socket.socketpair()
    with ours, theirs, contextlib.suppress(BlockingIOError):
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 << 20)
        for number in itertools.count():
            if ours.send(bytes(n_bytes), socket.MSG_DONTWAIT) < n_bytes:
                break
    return number


def unprivileged():
    """What the service is started with: as root it would have a much larger socket buffer."""
    return 'setpriv --bounding-set=-net_admin' if os.geteuid() == 0 else ''


class FakeBusStops(unittest.TestCase):
    """A bus that stops reading before ReleaseName, before it replies to that, and after it."""

    def setUp(self):
        environment('WEBLOCKSD')
        directory = tempfile.mkdtemp(prefix='weblocks-fake-')
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        self.bus = FakeBus(directory)
        self.addCleanup(self.bus.close)
        wrapper = os.environ.get('WEBLOCKS_TEST_WRAPPER') or unprivileged()
        with unittest.mock.patch.dict(os.environ, {'WEBLOCKS_TEST_WRAPPER': wrapper}):
            self.service = Service(self.bus, ['--no-state'])
        self.addCleanup(self.service.end)
        self.bus.wait_owned()
        self.reply_bytes = len(self.bus.call_as(':1.1', introspect()).to_blob(
            Gio.DBusCapabilityFlags.NONE))

    def check_end(self, code, *reasons):
        started = time.monotonic()
        self.service.signal(signal.SIGTERM)
        self.assertEqual(self.service.wait_exit(LATE_SECS), code, self.service.stderr())
        diagnostic(f'ended {time.monotonic() - started:.1f} s after SIGTERM')
        self.assertEqual(self.service.complaints(), [])
        for reason in reasons:
            self.assertIn(reason, self.service.stderr())

    def ask_more_than_a_socket_holds(self):
        """Calls of several clients, since the service defers those of one that reads no replies.
        Returns their serials. The replies that the socket has no room for wait in sd-bus."""
        count = count_messages_in_a_socket(self.reply_bytes) + 200
        return [self.bus.send_as(f':1.{100 + number // 100}', introspect())
                for number in range(count)]

    def test_reads(self):
        self.check_end(0)

    def test_before_the_name_is_released(self):
        self.bus.stop_reading()
        self.check_end(1, NO_REPLY)

    def test_before_the_reply(self):
        def stop():
            self.bus.stop_reading()
            raise OSError('the bus does not reply')
        self.bus.when_name_is_released = stop
        self.check_end(1, NO_REPLY)

    def test_after_the_reply(self):
        """The replies to the last calls fill the socket, and some of them wait in sd-bus."""
        def stop_and_ask():
            self.bus.stop_reading()
            self.ask_more_than_a_socket_holds()
        self.bus.when_name_is_released = stop_and_ask
        self.check_end(1, NOT_READ)

    def test_slowly_after_the_reply(self):
        """It goes on reading within the time: then it gets everything, a refusal to a new client too."""
        serials = []

        def stop_and_ask():
            self.bus.stop_reading()
            serials.extend(self.ask_more_than_a_socket_holds())
        self.bus.when_name_is_released = stop_and_ask
        self.service.signal(signal.SIGTERM)
        self.bus.wait_released()
        self.assertIsNone(self.service.process.poll(), 'it waits for the bus')
        serials.append(self.bus.send_as(':1.9999', lock_call('Request', 'x')))
        self.bus.go_on_reading()
        self.assertEqual(self.service.wait_exit(LATE_SECS), 0, self.service.stderr())
        self.bus.wait_disconnected()
        self.assertTrue(all(map(self.bus.has_reply, serials)))


class RealBusStops(unittest.TestCase):
    """A real bus is stopped at some moment after SIGTERM, while it has much to read; at a different
    one for each of some services."""

    DELAYS = [number * number * 0.001 for number in range(10)]
    CLIENTS = 10
    CALLS = 100

    def setUp(self):
        environment('WEBLOCKSD')
        wrapper = os.environ.get('WEBLOCKS_TEST_WRAPPER') or unprivileged()
        patch = unittest.mock.patch.dict(os.environ, {'WEBLOCKS_TEST_WRAPPER': wrapper})
        patch.start()
        self.addCleanup(patch.stop)

    def start(self):
        bus = Bus().start()
        self.addCleanup(bus.stop)
        control = RawClient(bus.address)
        self.addCleanup(control.close)
        service = Service(bus, ['--no-state'])
        self.addCleanup(service.end)
        service.wait_ready(control)
        service.pause()
        for _ in range(self.CLIENTS):
            client = RawClient(bus.address)
            self.addCleanup(client.close)
            client.send_all([ping() for _ in range(self.CALLS)])
            client.ping_the_bus()
        # A process can't be ended while its bus is stopped, so the bus is always continued.
        self.addCleanup(bus.resume)
        return bus, service

    def test_at_any_moment(self):
        pairs = [self.start() for _ in self.DELAYS]
        for delay, (bus, service) in zip(self.DELAYS, pairs):
            service.signal(signal.SIGTERM)
            service.resume()
            time.sleep(delay)
            bus.pause()
        for delay, (_, service) in zip(self.DELAYS, pairs):
            code = service.wait_exit(LATE_SECS)
            diagnostic(f'stopped after {1000 * delay:.1f} ms: exit status {code}')
            self.assertIn(code, (0, 1), service.stderr())
            if code == 1:
                self.assertRegex(service.stderr(), 'the bus does not .*; ending anyway')
            self.assertEqual(service.complaints(), [])
