# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The model of the protocol has no error within small bounds, and one with each planted fault."""

import os
import shutil
import tempfile
import unittest

import model

# The macros; with WEBLOCKS_TEST_ALL those below too.
BOUNDS = [
    ['CRASHES=0', 'OTHERS=1'],
]
LARGER_BOUNDS = [
    ['CRASHES=1', 'QUERIES=0'],
    ['CRASHES=1', 'QUERIES=1'],
    ['CRASHES=0', 'OPS=3', 'QUERIES=2'],
    ['CRASHES=0', 'OTHERS=1', 'BATCH=2'],
    ['CRASHES=2', 'QUERIES=1'],
]

# The fault, and the macros of a bound in which it shows.
FAULTS = {
    'M_CLOSE_NOT_ATOMIC': [],
    'M_RESTART_DOES_NOT_CLOSE': [],
    'M_LEAVE_IGNORES_OPEN': [],
    'M_OPEN_BEFORE_COMMIT': [],
    'M_REQUEST_DOES_NOT_CLOSE': ['CRASHES=0'],
    'M_STEAL_DOES_NOT_CLOSE': [],
    'M_QUERY_DOES_NOT_CLOSE': ['CRASHES=0'],
    'M_NO_RELEASE': ['CRASHES=0'],
    'M_ENTER_NOT_ATOMIC': ['CRASHES=0'],
    'M_RESTART_CLOSES_LATE': [],
    'M_PAGE_REMOVED_BEFORE_COMMIT': ['CRASHES=2'],
    'M_BEYOND_LAST': ['CRASHES=0', 'OTHERS=1', 'RANGE=1'],
    'M_TOKENS_ALWAYS_RETURN': ['CRASHES=0', 'OTHERS=1'],
}
# To compile the verifier takes a second, so in an ordinary run there is one.
QUICK_FAULTS = ['M_CLOSE_NOT_ATOMIC']

IS_ALL = bool(os.environ.get('WEBLOCKS_TEST_ALL'))


@unittest.skipUnless(shutil.which('spin') and shutil.which('cc'), 'needs spin and cc')
class Model(unittest.TestCase):
    def run_model(self, macros, optimise):
        with tempfile.TemporaryDirectory(prefix='weblocks-model-') as directory:
            return model.run(directory, macros, optimise=optimise)

    def test_no_error(self):
        for macros in BOUNDS + (LARGER_BOUNDS if IS_ALL else []):
            with self.subTest(macros):
                error, is_exhausted, out = self.run_model(macros, macros in LARGER_BOUNDS)
                self.assertIsNone(error, out)
                self.assertTrue(is_exhausted, out)
                states, depth, seconds, memory = model.get_figures(out)
                print(f'# {" ".join(macros)}: {states:,} states, depth {depth:,}, {seconds} s, {memory} MiB')

    def test_faults(self):
        for fault in FAULTS if IS_ALL else QUICK_FAULTS:
            macros = FAULTS[fault]
            with self.subTest(fault):
                error, _, out = self.run_model([fault, *macros], False)
                self.assertIsNotNone(error, out)
                self.assertIn('assertion violated', error)
                print(f'# {fault}: {error}')
