# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Strangers come to the bus and go, as fast as it takes them: the bus tells the service of each end,
as there is no telling it whose matters. That costs the service less than it costs the bus.

Without the monitor that the other files have: the bus would have more work with each.
"""

import os
import subprocess
import time
import unittest

from buses import FULL_SIZE, Bus, environment, full_size, status_kib
from harness import FACTOR, Service
from rawbus import DRIVER, DRIVER_PATH, RawClient, method_call, path_of
from tap import diagnostic, main

COUNT = full_size(2000, 50_000)  # in a round
ROUNDS = 3                       # the cheapest counts: others disturb, nobody helps
AT_ONCE = 64
PER_SECOND = 5000
KNOWN = 1000

# Of the bus's processor time for a connection that does nothing: it was .09 to .15 on dbus-daemon
# and .16 to .31 on dbus-broker, nearly all of it for being woken and for reading.
RATIO_MAX = 0.5
# How much more it may be beside so many clients of the service: it was as much.
GROWTH_MAX = 1.8
SPARE_KIB = 1024


def processor_us(pid):
    """What the process, which has no threads, has used of processors, from the scheduler."""
    with open(f'/proc/{pid}/schedstat', encoding='ascii') as file:
        return int(file.read().split()[0]) / 1000


class Strangers(unittest.TestCase):
    def setUp(self):
        self.bus = Bus().start()
        self.addCleanup(self.bus.stop)
        self.control = RawClient(self.bus.address)
        self.addCleanup(self.control.close)
        self.service = Service(self.bus)
        self.addCleanup(self.service.end)
        self.service.wait_ready(self.control)
        self.pid = self.service.process.pid
        self.control.query()
        uid = str(os.geteuid()).encode().hex().encode()
        hello, _ = self.control.encode(method_call(DRIVER, DRIVER_PATH, DRIVER, 'Hello'))
        self.words = b'\0AUTH EXTERNAL ' + uid + b'\r\nBEGIN\r\n' + hello

    def come_and_go(self, what, *pace):
        """The processor time of the service, divided by the bus's."""
        ours, the_bus = processor_us(self.pid), processor_us(self.bus.pid)
        begun = time.monotonic()
        done = subprocess.run([environment('WEBLOCKS_STRANGERS'), path_of(self.bus.address),
                               str(COUNT), str(AT_ONCE), *map(str, pace)], input=self.words,
                              capture_output=True, check=True)
        self.control.ping()
        all_us = (time.monotonic() - begun) * 1e6
        ours, the_bus = processor_us(self.pid) - ours, processor_us(self.bus.pid) - the_bus
        diagnostic(f'{what}: {COUNT} at {COUNT / int(done.stdout) * 1e6:.0f}/s; of the service '
                   f'{ours / COUNT:.1f} us for each, {ours / all_us:.1%} of a processor; of the '
                   f'bus {the_bus / COUNT:.1f} us; ratio {ours / the_bus:.2f}')
        return ours / the_bus

    def least(self, what):
        return min(self.come_and_go(what) for _ in range(ROUNDS))

    def test_what_they_cost(self):
        self.come_and_go('to begin with')
        rss = status_kib(self.pid, 'VmRSS:')
        alone = self.least('nobody else')
        if FULL_SIZE:
            self.come_and_go(f'no more than {PER_SECOND}/s', PER_SECOND)
        # Sanitizers keep what was freed, and make us slower, but not the bus.
        sanitized = FACTOR > 1
        if not sanitized:
            self.assertLess(status_kib(self.pid, 'VmRSS:') - rss, SPARE_KIB)

        known = [RawClient(self.bus.address) for _ in range(KNOWN)]
        for number, client in enumerate(known):
            self.addCleanup(client.close)
            client.request(f'{number}')
        beside = self.least(f'beside {KNOWN} clients')
        self.assertEqual(len(self.control.query()[0]), KNOWN)
        if not sanitized:
            self.assertLess(alone, RATIO_MAX)
            self.assertLess(beside / alone, GROWTH_MAX)
        self.assertEqual(self.service.stop(), 0)
        self.assertEqual(self.service.complaints(), [])


if __name__ == '__main__':
    main()
