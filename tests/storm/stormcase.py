# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""What the tests that run storms share."""

import os
import shutil
import unittest

import storm
from buses import environment
from ensemble import why_no_networks, why_no_servers
from tap import diagnostic, main

HERE = os.path.dirname(os.path.abspath(__file__))

# Repeats a failure. By default each run has another seed.
SEED = os.environ.get('WEBLOCKS_TEST_SEED')


def why_no_cluster():
    """Returns why there can be no storm of hosts; '' if there can."""
    program = os.path.join(environment('WEBLOCKS_BUILD'), 'cluster', 'weblocks-clusterd')
    if not os.path.exists(program):
        return 'needs weblocks-clusterd: -Dcluster=enabled'
    return why_no_servers() or why_no_networks()


class StormCase(unittest.TestCase):
    """A failure prints the seed and the shortest interval, and keeps the files."""

    def run_storm(self, *arguments):
        argv = [environment('WEBLOCKS_BUILD'), *arguments]
        if SEED:
            argv.append(f'--seed={SEED}')
        options = storm.parse_arguments(argv)
        diagnostic(f'seed {options.seed}: {" ".join(arguments)}')
        outcome = storm.run_storm(options, diagnostic)
        if outcome.directory is not None:
            outcome.report += f'\nseed {outcome.seed}; the files are in {outcome.directory}'
        return outcome

    @staticmethod
    def remove(directory):
        shutil.rmtree(directory, ignore_errors=True)


__all__ = ['HERE', 'StormCase', 'diagnostic', 'main', 'storm', 'why_no_cluster']
