# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A short storm of handles; and how a killed process looks to the next holder of its lock."""

import os
import pathlib
import random
import resource
import subprocess
import tempfile

from handles import Counts, Storm
from harness import BusTestCase, diagnostic

from buses import full_size

BUILD = os.environ['WEBLOCKS_BUILD']


class Handles(BusTestCase):
    service = False

    def test_storm(self):
        seed = int(os.environ.get('WEBLOCKS_TEST_SEED', random.randrange(2**31)))
        diagnostic(f'seed {seed}')
        storm = Storm(BUILD, Counts(full_size(20_000, 10_000_000), full_size(100, 10_000), full_size(10, 1000)),
                      full_size(6, 8), seed).run()
        diagnostic(storm.show())
        self.assertEqual(storm.seen['violations'], 0)
        self.assertGreater(storm.seen['pairs_in_cells'], storm.seen['pairs'] // 4)


class Ending(BusTestCase):
    """A check that asks kill() whether a holder is alive finds two: this is none of two locks."""

    def look(self, which):
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        with tempfile.TemporaryDirectory(dir='/dev/shm') as directory:
            words = subprocess.run([pathlib.Path(BUILD, 'tests/storm/handle-clients'), self.bus.address, directory,
                                    which], check=True, text=True, stdout=subprocess.PIPE,
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
                                   ).stdout.split()
        return dict(zip(words[::2], words[1::2]))

    def test_file_that_is_freed_last(self):
        seen = [self.look('first') for _ in range(5)]
        self.assertIn({'refused': '1', 'found': '1', 'ending': '1'}, seen)
        self.assertEqual({each['ending'] for each in seen}, {'1'})

    def test_file_that_is_freed_first(self):
        self.assertEqual({self.look('last')['refused'] for _ in range(5)}, {'0'})
