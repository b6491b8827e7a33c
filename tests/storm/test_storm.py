# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Short storms: all guarantees hold while clients and service are killed."""

import os
import re
import unittest

from stormcase import HERE, StormCase, diagnostic, main, why_no_cluster
from buses import TEST_ALL, full_size, read_text
from ensemble import DOCUMENTED_TICK_MS
from smallfs import has_own_mounts, take_own_mounts
import history

SECONDS = full_size(2, 60, with_all=3)
# The minimum numbers of events, on a busy machine too.
LONGER_SECONDS = full_size(3, 60, with_all=6)
CLUSTER_SECONDS = full_size(5, 120, with_all=6)
TICKS_SECONDS = full_size(90, 1200)


class Storms(StormCase):
    """Storms with kills of service and clients, on both buses."""

    def weather(self, *arguments, seconds=SECONDS):
        outcome = self.run_storm(f'--seconds={seconds}', f'--round={seconds}', *arguments)
        diagnostic(outcome.report if outcome.verdict != 'pass' else outcome.summary())
        self.assertEqual(outcome.verdict, 'pass')
        return outcome

    def test_on_dbus_daemon(self):
        self.weather('--bus=dbus-daemon', '--restart-bus=1')

    def test_on_dbus_broker(self):
        self.weather('--bus=dbus-broker')

    def test_watched(self):
        """Fewer kills, so that there are many signals to follow between two of them."""
        outcome = self.weather('--bus=dbus-broker', '--watch', '--kill-service=0.5',
                               '--quiet-every=1', seconds=LONGER_SECONDS)
        self.assertGreater(outcome.power['watched_signals'], 0)

    def test_with_steals_and_a_service_that_the_bus_starts(self):
        self.weather('--bus=dbus-daemon', '--activation', '--steal')

    @unittest.skipUnless(has_own_mounts(), 'needs to be root for mounts of its own')
    def test_without_room(self):
        """Another process fills the file system of the state repeatedly."""
        outcome = self.weather('--bus=dbus-daemon', '--full=3', seconds=LONGER_SECONDS)
        self.assertGreater(outcome.power['starts_while_full'], 0)


@unittest.skipIf(why_no_cluster(), why_no_cluster())
class Clusters(StormCase):
    """Storms of several hosts; separate cases, since they use network namespaces."""

    def weather(self, *arguments):
        outcome = self.run_storm(*arguments, '--bus=dbus-broker')
        diagnostic(outcome.report if outcome.verdict != 'pass' else outcome.summary())
        self.assertEqual(outcome.verdict, 'pass')

    def test_on_three_hosts(self):
        self.weather(f'--seconds={CLUSTER_SECONDS}', f'--round={CLUSTER_SECONDS}', '--hosts=3',
                     '--clients=9')

    if TEST_ALL:
        def test_with_real_ticks(self):
            self.weather(f'--seconds={TICKS_SECONDS}', '--hosts=5', f'--ticks={DOCUMENTED_TICK_MS}')


class Notes(StormCase):
    """The records written in C and in Python have the same format."""

    def test_kinds(self):
        header = re.sub(r'/\*.*?\*/', '', read_text(os.path.join(HERE, 'history.h')), flags=re.S)
        for prefix, words in (('', history.Kind), ('', history.Outcome), ('FAULT_', history.Fault),
                              ('LEFT_', history.Left)):
            text = re.search(rf'typedef enum \{{([^{{}}]*?)\}} History{words.__name__};', header)[1]
            value, numbers = -1, {}
            for word in text.replace(' ', '').split(','):
                name, _, number = word.strip().partition('=')
                value = int(number) if number else value + 1
                numbers[name] = value
            for word in words:
                self.assertEqual(numbers[f'HISTORY_{prefix}{word.name}'], word.value)

    def test_sizes(self):
        self.assertEqual(history.RECORD.size, 64)
        self.assertEqual(history.HEADER.size, 64)


if __name__ == '__main__':
    if os.geteuid() == 0:
        take_own_mounts()
    main()
