# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Programs that only make blocking calls, one after the other: they don't reply to Ping, but they read,
so their calls are never deferred. With three bindings, of which GDBus replies in a separate thread.

At full size each makes a million calls, and the printed times are meaningful on an idle machine. The
test counts that all calls are replied to and that the service deferred none.
"""

import importlib.util
import os
import subprocess
import sys

from buses import FACTOR, Bus, end, spawn
from harness import diagnostic, environment, full_size, wait_for
from test_pressure import OwnBus

HERE = os.path.dirname(os.path.abspath(__file__))
COUNT = full_size(1_000, 1_000_000, with_all=3_000)
# On a busy machine; a client that is blocked indefinitely waits for 25 s and fails.
LONGEST_US = 20e6 * FACTOR
# The service detects within some milliseconds that such a client reads. On a busy machine that may
# take longer now and then.
DEFERRED_MAX = max(10, COUNT // 1000)
# The log message when calls are deferred.
DEFERRED = 'has not read what it was sent'


class Blocking(OwnBus):
    service_environment = {'G_MESSAGES_DEBUG': 'weblocksd'}

    def check(self, what, command):
        if command[0] == sys.executable and importlib.util.find_spec('dbus') is None:
            self.skipTest('no python3-dbus')
        service = self.start()
        result = subprocess.run([*command, what, self.bus.address, str(COUNT)], check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=self.bus.environment())
        self.assertEqual(result.returncode, 0, result.stderr)
        first, last, mean, longest = map(float, result.stdout.split())
        deferred = service.stderr().count(DEFERRED)
        diagnostic(f'{COUNT} {what}: {first:.1f} us the first 500, {last:.1f} us the last 500, '
                   f'{mean:.1f} us all, {longest / 1000:.1f} ms the longest; '
                   f'deferred {deferred} times')
        self.assertLess(longest, LONGEST_US)
        self.assertLessEqual(deferred, DEFERRED_MAX)
        self.assert_clean_end(service)


class Refused(OwnBus):
    """On a bus that refuses statistics the calls of such a program are deferred, so the test above
    would detect it."""

    service_environment = Blocking.service_environment

    def make_bus(self):
        return Bus(allows_statistics=False)

    def test_its_calls_are_deferred(self):
        service = self.start()
        process = spawn([environment('WEBLOCKS_BLOCKING'), 'sd-bus', 'pairs', self.bus.address,
                         str(COUNT)], env=self.bus.environment())
        self.addCleanup(end, process)
        wait_for(lambda: DEFERRED in service.stderr(), what='a deferred call')
        end(process)
        # No other client is.
        for _ in range(COUNT // 10):
            self.control.query()
        self.assert_clean_end(service)


def add_cases():
    program = environment('WEBLOCKS_BLOCKING')
    commands = {
        'sd_bus': [program, 'sd-bus'],
        'gdbus': [program, 'gdbus'],
        'libdbus': [sys.executable, os.path.join(HERE, 'blocking_libdbus.py')],
    }
    for binding, command in commands.items():
        for what in ('pairs', 'queries'):
            def case(self, what=what, command=command):
                self.check(what, command)
            setattr(Blocking, f'test_{what}_by_{binding}', case)


add_cases()
