# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Clients of other services connect and disconnect, as fast as this program can. The bus
notifies the service of each disconnect; that must cost the service less than it costs the bus.

Without a monitor, which would increase the cost for the bus."""

import os
import re
import resource
import shutil
import signal
import socket
import sys
import time
import unittest
import unittest.mock

from buses import FULL_SIZE, Bus, full_size, processor_us, read_text, status_kib
from harness import FACTOR, PATIENCE, Service, service_with, wait_for
from rawbus import DRIVER, DRIVER_PATH, RawClient, lock_call, method_call, path_of
from tap import diagnostic

COUNT = full_size(2000, 50_000)  # in a round
CONCURRENT = 64
PER_SECOND = 5000
# The number of the service's clients meanwhile, within the limit of descriptors.
N_CLIENTS = min(full_size(300, 3000), resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 200)
# All of one user.
LIMITS = ('--limit', 'clientsPerUid=4000', '--limit', 'clientsTotal=20000')

# Instructions of the service for a connection that makes no call: callgrind counted 17,600.
INSTRUCTIONS_MAX = 30_000
# Steps of a search for its name, such as a comparison of two names: none with any number of
# clients, and two for each client in a linear search.
STEPS_MAX = 5
SPARE_KIB = 1024
# With sanitizers freed memory is kept, and the service is slower, but not the bus.
SANITIZED = FACTOR > 1


class Place:
    """A bus with the service, and a client."""

    def __init__(self, case, *arguments, patience=PATIENCE):
        self.patience = patience
        self.bus = Bus().start()
        case.addCleanup(self.bus.stop)
        self.control = RawClient(self.bus.address)
        case.addCleanup(self.control.close)
        # This build of the service counts its steps.
        self.steps = os.path.join(self.bus.directory, 'steps')
        program = service_with(os.environ.get('WEBLOCKS_TEST_FAULT', 'steps-counted'))
        self.service = Service(self.bus, arguments, program=program,
                               env={'WEBLOCKS_STEPS_FILE': self.steps})
        case.addCleanup(self.service.end)
        self.service.wait_ready(self.control, patience)
        self.pid = self.service.process.pid
        self.rss = None
        self.ping()
        uid = str(os.geteuid()).encode().hex().encode()
        hello, _ = self.control.encode(method_call(DRIVER, DRIVER_PATH, DRIVER, 'Hello'))
        self.data = b'\0AUTH EXTERNAL ' + uid + b'\r\nBEGIN\r\n' + hello

    def connect_clients(self, count, per_second=None):
        """Each disconnects when the bus has replied to Hello; so many at a time. Returns the time."""
        begun = time.monotonic()
        for first in range(0, count, CONCURRENT):
            while per_second and time.monotonic() - begun < first / per_second:
                time.sleep(0.001)
            socks = [socket.socket(socket.AF_UNIX) for _ in range(min(CONCURRENT, count - first))]
            for sock in socks:
                sock.settimeout(self.patience)
                sock.connect(path_of(self.bus.address))
                sock.sendall(self.data)
            for sock in socks:
                answer = sock.recv(4096)
                while answer.endswith(b'\r\n') and answer.startswith(b'OK '):  # to the handshake only
                    answer = sock.recv(4096)
                assert answer
                sock.close()
        self.ping()
        return (time.monotonic() - begun) * 1e6

    def ping(self):
        self.control.call('/', 'org.freedesktop.DBus.Peer', 'Ping', timeout=self.patience)

    def measure(self, what, *pace):
        """The steps of the service for each connection, which don't depend on the machine."""
        steps = self.count_steps()
        service_us, bus_us = processor_us(self.pid), processor_us(self.bus.pid)
        begun = time.monotonic()
        elapsed_us = self.connect_clients(COUNT, *pace)
        all_us = (time.monotonic() - begun) * 1e6
        service_us = processor_us(self.pid) - service_us
        bus_us = processor_us(self.bus.pid) - bus_us
        steps = (self.count_steps() - steps) / COUNT
        diagnostic(f'{what}: {COUNT} at {COUNT / elapsed_us * 1e6:.0f}/s; of the service '
                   f'{service_us / COUNT:.1f} us for each, {service_us / all_us:.1%} of a '
                   f'processor; of the bus {bus_us / COUNT:.1f} us; ratio '
                   f'{service_us / bus_us:.2f}; {steps:.1f} steps for each')
        return steps

    def count_steps(self):
        with open(self.steps, 'rb') as file:
            return int.from_bytes(file.read(8), sys.byteorder)

    def grown_kib(self):
        return status_kib(self.pid, 'VmRSS:') - self.rss

    def begin(self):
        self.measure('first')
        self.rss = status_kib(self.pid, 'VmRSS:')

    def stop(self, case):
        self.service.signal(signal.SIGTERM)
        case.assertEqual(self.service.wait_exit(self.patience), 0)
        case.assertEqual(self.service.complaints(), [])


class UnrelatedClients(unittest.TestCase):
    def setUp(self):
        self.place = Place(self)
        self.place.begin()

    def test_cost(self):
        self.assertLess(self.place.measure('without clients'), STEPS_MAX)
        if FULL_SIZE:
            self.place.measure(f'no more than {PER_SECOND}/s', PER_SECOND)
        if not SANITIZED:
            self.assertLess(self.place.grown_kib(), SPARE_KIB)
        self.place.stop(self)

    @unittest.skipIf(SANITIZED, 'valgrind does not run programs with sanitizers')
    @unittest.skipIf(shutil.which('valgrind') is None, 'no valgrind')
    def test_instructions(self):
        few, many = (self.count_instructions(count) for count in (100, 600))
        each = (many - few) / 500
        diagnostic(f'{each:.0f} instructions of the service for each')
        self.assertLess(each, INSTRUCTIONS_MAX)

    def count_instructions(self, n_clients):
        """The steps of a service, from its start to its exit."""
        path = os.path.join(self.place.bus.directory, 'callgrind.out')
        wrapper = f'valgrind --quiet --tool=callgrind --callgrind-out-file={path}'
        with unittest.mock.patch.dict(os.environ, {'WEBLOCKS_TEST_WRAPPER': wrapper}):
            place = Place(self, patience=10 * PATIENCE)
        place.connect_clients(n_clients)
        place.stop(self)
        return int(re.search(r'^totals: (\d+)$', read_text(path), re.MULTILINE)[1])

    def test_beside_many_clients(self):
        place = Place(self, *LIMITS)
        for number in range(N_CLIENTS):
            client = RawClient(place.bus.address)
            self.addCleanup(client.close)
            client.send(lock_call('Request', f'{number}'))
        wait_for(lambda: len(place.control.query()[0]) == N_CLIENTS, what='all locks')
        place.begin()
        self.assertGreater(place.count_steps(), 0, 'steps are counted')
        self.assertLess(place.measure(f'beside {N_CLIENTS} clients'), STEPS_MAX)
        if not SANITIZED:
            self.assertLess(place.grown_kib(), SPARE_KIB)
        self.place.stop(self)
        place.stop(self)
