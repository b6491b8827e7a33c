# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Strangers come to the bus and go, as fast as it takes them: the bus tells the service of each end,
as there is no telling it whose matters. That costs the service less than it costs the bus.

Without the monitor that the other files have: the bus would have more work with each.
"""

import os
import resource
import subprocess
import time
import unittest

from buses import FULL_SIZE, Bus, environment, full_size, status_kib
from harness import FACTOR, Service, wait_for
from rawbus import DRIVER, DRIVER_PATH, RawClient, lock_call, method_call, path_of
from tap import diagnostic, main

COUNT = full_size(2000, 50_000)  # in a round
ROUNDS = 3                       # the cheapest counts: others disturb, nobody helps
ROUNDS_MAX = 8                   # while others disturb
AT_ONCE = 64
PER_SECOND = 5000
# The clients of the service beside whom they come, as far as a process may have connections.
KNOWN = min(3000, resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 200)
# So many of one user.
LIMITS = ('--limit', 'clientsPerUid=4000', '--limit', 'clientsTotal=20000')

# Of the bus's processor time for a connection that does nothing: it was .09 to .19 on dbus-daemon
# and .15 to .31 on dbus-broker, nearly all of it for being woken and for reading.
RATIO_MAX = 0.5
# How much more work it may be beside so many clients of the service: it was .8 to 1.3 times as much,
# and 8.7 to 9.5 times where one after the other is looked at.
GROWTH_MAX = 2.5
SPARE_KIB = 1024
# Sanitizers keep what was freed, and make us slower, but not the bus.
SANITIZED = FACTOR > 1


def processor_us(pid):
    """What the process, which has no threads, has used of processors, from the scheduler."""
    with open(f'/proc/{pid}/schedstat', encoding='ascii') as file:
        return int(file.read().split()[0]) / 1000


class Place:
    """A bus with the service, and a client."""

    def __init__(self, case, *arguments):
        self.bus = Bus().start()
        case.addCleanup(self.bus.stop)
        self.control = RawClient(self.bus.address)
        case.addCleanup(self.control.close)
        self.service = Service(self.bus, arguments)
        case.addCleanup(self.service.end)
        self.service.wait_ready(self.control)
        self.pid = self.service.process.pid
        self.rss = None
        self.control.query()
        uid = str(os.geteuid()).encode().hex().encode()
        hello, _ = self.control.encode(method_call(DRIVER, DRIVER_PATH, DRIVER, 'Hello'))
        self.words = b'\0AUTH EXTERNAL ' + uid + b'\r\nBEGIN\r\n' + hello

    def come_and_go(self, what, *pace):
        """The processor time of the service for each, in microseconds, and its part of the bus's."""
        ours, the_bus = processor_us(self.pid), processor_us(self.bus.pid)
        begun = time.monotonic()
        done = subprocess.run([environment('WEBLOCKS_STRANGERS'), path_of(self.bus.address),
                               str(COUNT), str(AT_ONCE), *map(str, pace)], input=self.words,
                              capture_output=True, check=True)
        self.service.resume()
        self.control.ping()
        all_us = (time.monotonic() - begun) * 1e6
        ours, the_bus = processor_us(self.pid) - ours, processor_us(self.bus.pid) - the_bus
        diagnostic(f'{what}: {COUNT} at {COUNT / int(done.stdout) * 1e6:.0f}/s; of the service '
                   f'{ours / COUNT:.1f} us for each, {ours / all_us:.1%} of a processor; of the '
                   f'bus {the_bus / COUNT:.1f} us; ratio {ours / the_bus:.2f}')
        return ours / COUNT, ours / the_bus

    def work(self, what):
        """What each is when all are told at once: how often it is woken is the machine's matter."""
        self.service.pause()
        return self.come_and_go(f'{what}, all at once')[0]

    def grown_kib(self):
        return status_kib(self.pid, 'VmRSS:') - self.rss

    def begin(self):
        self.come_and_go('to begin with')
        self.rss = status_kib(self.pid, 'VmRSS:')

    def stop(self, case):
        case.assertEqual(self.service.stop(), 0)
        case.assertEqual(self.service.complaints(), [])


class Strangers(unittest.TestCase):
    def setUp(self):
        self.place = Place(self)
        self.place.begin()

    def test_what_they_cost(self):
        ratio = min(self.place.come_and_go('nobody else')[1] for _ in range(ROUNDS))
        if FULL_SIZE:
            self.place.come_and_go(f'no more than {PER_SECOND}/s', PER_SECOND)
        if not SANITIZED:
            self.assertLess(self.place.grown_kib(), SPARE_KIB)
            self.assertLess(ratio, RATIO_MAX)
        self.place.stop(self)

    def test_beside_many_clients(self):
        crowded = Place(self, *LIMITS)
        for number in range(KNOWN):
            client = RawClient(crowded.bus.address)
            self.addCleanup(client.close)
            client.send(lock_call('Request', f'{number}'))
        wait_for(lambda: len(crowded.control.query()[0]) == KNOWN, what='all locks')
        crowded.begin()
        # In turns, as the machine is faster at one time than at another; and the cheapest of them.
        alone, beside = [], []
        while len(alone) < ROUNDS_MAX:
            alone.append(self.place.work('nobody else'))
            beside.append(crowded.work(f'beside {KNOWN} clients'))
            growth = min(beside) / min(alone)
            if len(alone) > 1 and growth < GROWTH_MAX:
                break
        diagnostic(f'{growth:.2f} times as much beside them, after {len(alone)} rounds')
        if not SANITIZED:
            self.assertLess(growth, GROWTH_MAX)
            self.assertLess(crowded.grown_kib(), SPARE_KIB)
        self.place.stop(self)
        crowded.stop(self)


if __name__ == '__main__':
    main()
