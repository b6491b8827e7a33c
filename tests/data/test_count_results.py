# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The count of test results: no failure is counted as success."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

from buses import environment

COUNT_RESULTS = os.path.join(environment('WEBLOCKS_SOURCE_DIR'), 'tests', 'count_results.py')


class CountResults(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix='weblocks-count-')
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def write(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        return path

    def meson_log(self, *programs, is_complete=True):
        if is_complete:
            self.write('testlog.junit.xml', '')
        return self.write('testlog.json', ''.join(
            json.dumps({'name': f'program {number}', 'stdout': stdout, 'result': result,
                        'returncode': 0 if result in ('OK', 'SKIP') else 1}) + '\n'
            for number, (result, stdout) in enumerate(programs)))

    def check(self, passed, failed, skipped, *paths):
        result = subprocess.run([sys.executable, COUNT_RESULTS, *paths], stdout=subprocess.PIPE,
                                text=True, check=False)
        self.assertEqual(result.stdout.splitlines()[-1],
                         f'{passed} passed, {failed} failed, {skipped} skipped')
        self.assertEqual(result.returncode, 1 if failed or not passed else 0)
        return result.stdout

    def test_programs(self):
        """What each prints, with what meson says of it; what counts, and what is printed of it."""
        good = ('OK', 'ok 1 /a\n')
        for what, counted, printed, *programs in (
                ('every subtest counts', (3, 0, 0), '', ('OK', '1..2\nok 1 /a\nok 2 /b\n'), ('OK', 'ok 1 - c\n1..1\n')),
                ('a failed subtest', (1, 1, 0), 'program 0: /b', ('ERROR', 'ok 1 /a\nnot ok 2 /b\n1..2\n')),
                ('a skipped subtest has its reason', (1, 0, 1), '/b (no bus)', ('OK', 'ok 1 /a\nok 2 /b # SKIP no bus\n')),
                ('a crash after passed subtests', (2, 1, 0), '', ('ERROR', '1..3\nok 1 /a\nok 2 /b\n')),
                ('a program that took too long', (1, 1, 0), '', ('TIMEOUT', '1..2\nok 1 /a\n')),
                ('a program without any test, as meson reports it', (1, 1, 0), '', good, ('SKIP', '')),
                ('a program that skips all with a reason', (1, 0, 1), '', good, ('SKIP', '1..0 # SKIP no bus\n')),
                ('only an exit status', (1, 1, 0), '', ('OK', 'hello\n'), ('FAIL', 'hello\n')),
                ('diagnostics do not count', (1, 0, 0), '', ('OK', '# ok 1\n    ok 1 inner\nokay\nok 1 /a\n'))):
            with self.subTest(what):
                self.assertIn(printed, self.check(*counted, self.meson_log(*programs)))

    def test_a_log_that_is_missing_or_empty(self):
        self.check(1, 1, 0, self.meson_log(('OK', 'ok 1 /a\n')),
                   os.path.join(self.directory, 'none.json'))
        self.check(0, 1, 0, self.meson_log())

    def test_a_log_that_meson_did_not_finish(self):
        output = self.check(1, 1, 0, self.meson_log(('OK', 'ok 1 /a\n'), is_complete=False))
        self.assertIn('meson ended early', output)

    def test_no_results_are_a_failure(self):
        self.check(0, 0, 0)

    def test_lint_steps_count_too(self):
        self.check(2, 1, 0, self.write('lint', 'pass lint: a\nfail lint: b\npass lint: c\n'))
