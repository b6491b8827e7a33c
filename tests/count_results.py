# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Counts test results, subtest by subtest; the last line is `N passed, N failed, N skipped`.

Arguments: logs of `meson test` (testlog*.json), and files with one `pass NAME` or `fail NAME`
a line. Fails if a test failed, if a test program crashed, timed out or ran no test, or if a log
is missing, empty or incomplete.
"""

import json
import os
import re
import sys

TAP_LINE = re.compile(r'(?P<bad>not )?ok\b *\d* *-? *(?P<name>[^#]*)(?:#\s*(?P<directive>.*))?')
NOTHING_TO_RUN = re.compile(r'1\.\.0\s*#\s*skip(?P<reason>.*)', re.IGNORECASE)


class Count:
    """What came out, with a line for everything that isn't plain success."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.remarks = []

    def add_pass(self):
        self.passed += 1

    def add_fail(self, what):
        self.failed += 1
        self.remarks.append(f'FAILED   {what}')

    def add_skip(self, what):
        self.skipped += 1
        self.remarks.append(f'skipped  {what}')


def count_program(count, name, program):
    """One test program: its TAP lines, and what meson says of it as a whole."""
    failed_before = count.failed
    subtests = 0
    whole_skip = None
    for line in program.get('stdout', '').splitlines():
        match = TAP_LINE.match(line)
        if match:
            subtests += 1
            subtest = f'{name}: {match["name"].strip()}'
            directive = match['directive'] or ''
            if match['bad']:
                count.add_fail(subtest)
            elif directive.lower().startswith('skip'):
                count.add_skip(f'{subtest} ({directive[4:].strip()})')
            else:
                count.add_pass()
        else:
            whole_skip = whole_skip or NOTHING_TO_RUN.match(line)

    result = program['result']
    if result in ('OK', 'SKIP'):
        if subtests == 0 and whole_skip:
            count.add_skip(f'{name} ({whole_skip["reason"].strip()})')
        elif subtests == 0 and result == 'OK':
            # No TAP: its exit status is the one test that it is.
            count.add_pass()
        elif subtests == 0:
            count.add_fail(f'{name}: ran no test')
    elif count.failed == failed_before:
        count.add_fail(f'{name}: {result}, exit status {program.get("returncode")}')


def count_meson(count, path):
    setup = os.path.basename(path).removeprefix('testlog').removesuffix('.json')
    with open(path, encoding='utf-8', errors='replace') as file:
        programs = [json.loads(line) for line in file if line.strip()]
    if not programs:
        count.add_fail(f'{path} has no test')
    # The last file that meson writes.
    elif not os.path.exists(path.removesuffix('.json') + '.junit.xml'):
        count.add_fail(f'{path} is incomplete: meson ended early')
    for program in programs:
        count_program(count, program['name'] + setup, program)


def count_plain(count, path):
    with open(path, encoding='utf-8') as file:
        for line in file:
            verdict, _, name = line.strip().partition(' ')
            if verdict == 'pass':
                count.add_pass()
            else:
                count.add_fail(name)


def main():
    count = Count()
    for path in sys.argv[1:]:
        if not os.path.exists(path):
            count.add_fail(f'{path} is missing')
        elif path.endswith('.json'):
            count_meson(count, path)
        else:
            count_plain(count, path)
    for remark in sorted(count.remarks, reverse=True):
        print(remark)
    print(f'{count.passed} passed, {count.failed} failed, {count.skipped} skipped')
    return 1 if count.failed or not count.passed else 0


if __name__ == '__main__':
    sys.exit(main())
