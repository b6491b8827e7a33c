# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A service with a planted fault does not pass a storm.

One fault is missing here, that tokens are not stored. They start from the clock, so they only decrease if
that is set back, which a storm does not do; tests/state tests it.
"""

import os
import unittest

from buses import FACTOR, TEST_ALL, environment
from ensemble import DOCUMENTED_TICK_MS
from stormcase import StormCase, diagnostic, main, why_no_cluster

# The time limit; mostly it takes some seconds. A busy machine takes more rounds, which do little each;
# instrumented programs would do too little in one of a second.
SECONDS = 120
ROUND = FACTOR
# With real ticks: sessions have to end in a round.
TICKS_SECONDS = 900
TICKS_ROUND = 90


class Faults(StormCase):
    """Each fault in the storm that is most likely to reveal it."""

    def catch(self, fault, *arguments):
        return self.catch_in_storm(fault, f'--seconds={SECONDS}', f'--round={ROUND}',
                                   f'--fault={fault}', *arguments)

    def catch_in_storm(self, fault, *arguments):
        outcome = self.run_storm(*arguments)
        for line in outcome.report.splitlines():
            if line.startswith('VIOLATION'):
                diagnostic(line)
        self.assertEqual(outcome.verdict, 'violation', f'{fault} is not noticed')
        self.remove(outcome.directory)
        return outcome

    def test_send_before_commit(self):
        self.catch('send-before-commit', '--kill-service=6')

    def test_no_liveness_check(self):
        self.catch('no-liveness-check')

    def test_abort_breaks_fifo(self):
        self.catch('abort-breaks-fifo', '--kill-service=0')

    def test_order_lost(self):
        self.catch('order-lost')

    def test_waiting_dropped(self):
        self.catch_by_watchers('waiting-dropped')

    def catch_by_watchers(self, fault):
        outcome = self.catch(fault, '--watch', '--kill-service=0', '--quiet-every=0.5')
        self.assertIn('VIOLATION of watched', outcome.report)

    if TEST_ALL:
        def test_terminate_before_drain(self):
            self.catch('terminate-before-drain', '--kill-service=0', '--steal',
                       '--quiet-every=0.5')

        def test_granted_dropped(self):
            self.catch('granted-dropped', '--kill-service=0')

        def test_release_not_persisted(self):
            self.catch('release-not-persisted')

        def test_repeat_queued_twice(self):
            self.catch('repeat-queued-twice')

        def test_bus_id_ignored(self):
            self.catch('bus-id-ignored', '--kill-clients=0', '--restart-bus=1')

        def test_waiting_out_of_order(self):
            self.catch_by_watchers('waiting-out-of-order')

        @unittest.skipIf(why_no_cluster(), why_no_cluster())
        def test_lease_of_writes(self):
            """The rule of an earlier version of the gateway, on hosts that were idle."""
            gateway = os.path.join(environment('WEBLOCKS_BUILD'), 'tests', 'storm',
                                   'weblocks-clusterd-lease-of-writes')
            outcome = self.catch_in_storm(
                'lease-of-writes', f'--seconds={TICKS_SECONDS}', f'--round={TICKS_ROUND}', '--hosts=5',
                f'--ticks={DOCUMENTED_TICK_MS}', f'--gateway={gateway}', '--kill-service=0',
                '--stop=0')
            self.assertRegex(outcome.report, 'VIOLATION of (margin|exclusion)')


class Sums(StormCase):
    """The accounts of the service are right in a storm, too."""

    def test_sums(self):
        outcome = self.run_storm('--seconds=2', '--fault=accounts-checked')
        diagnostic(outcome.report if outcome.verdict != 'pass' else outcome.summary())
        self.assertEqual(outcome.verdict, 'pass')

    def test_that_keeps_nothing(self):
        """Differences in restored state are detected, too."""
        for _ in range(5):  # on a busy machine one may be too short
            outcome = self.run_storm('--seconds=2', '--service-option=--no-state')
            if 'VIOLATION of not-lost' in outcome.report:
                break
            self.remove(outcome.directory or '')
        self.assertEqual(outcome.verdict, 'violation')
        self.assertIn('VIOLATION of not-lost', outcome.report)
        self.remove(outcome.directory)


if __name__ == '__main__':
    main()
