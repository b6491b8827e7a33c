# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Very many different names are requested and released: the service's memory is the same as before.

Without a monitor, which would have to read millions of messages.
"""

import subprocess
import unittest

from buses import KEEPS_LITTLE, Bus, environment, full_size, status_kib
from harness import Client, Service
from rawbus import RawClient
from tap import diagnostic

NAMES = full_size(60_000, 1_000_000)
FIRST_NAMES = 20_000
# Memory that the allocator may keep or fragment. A leak of 32 bytes for each name would be 1.8 MiB.
SLACK_KIB = 1024


class Memory(unittest.TestCase):
    def setUp(self):
        self.bus = Bus().start()
        self.addCleanup(self.bus.stop)
        control = RawClient(self.bus.address)
        self.addCleanup(control.close)
        self.service = Service(self.bus, env=KEEPS_LITTLE)
        self.addCleanup(self.service.end)
        self.service.wait_ready(control)

    def request_and_release(self, count):
        subprocess.run([environment('WEBLOCKS_MANY_NAMES'), self.bus.address, str(count)],
                       check=True)
        return status_kib(self.service.process.pid, 'VmRSS:')

    def test_very_many_names(self):
        before = self.request_and_release(FIRST_NAMES)
        after = self.request_and_release(NAMES)
        diagnostic(f'resident after {FIRST_NAMES} names: {before} KiB, '
                   f'after {NAMES} more: {after} KiB')
        self.assertLess(after - before, SLACK_KIB)
        self.assertEqual(Client(self.bus.address).query('many'), ([], []))
        self.assertEqual(self.service.stop(), 0)
        self.assertEqual(self.service.complaints(), [])
