# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""docs/standard.md has a row for each step of the standard's algorithms, and each code and test that it names
exists.

test_standard.py SOURCE [TEST]..."""

import os
import re
import sys
import unittest


SOURCE = os.path.abspath(sys.argv.pop(1))
# The sections that require something, and how many steps their algorithms have.
SECTIONS = {'2': 0, '2.1': 0, '2.2': 4, '2.3': 0, '2.4': 2, '2.5': 9, '2.6': 2, '3.1': 0, '3.2': 0, '3.2.1': 12,
            '3.2.2': 6, '3.3': 0, '4.1': 4, '4.2': 7, '4.3': 7, '4.4': 2, '4.5': 6, '6.1': 0, '6.2': 0, '6.3': 0}


def read(*path):
    with open(os.path.join(SOURCE, *path), encoding='utf-8') as file:
        return file.read()


def rows():
    """[(numbers, code, test)]"""
    found = re.findall(r'^\| (\d[^|]*) \|[^|]*\|([^|]*)\|([^|]*)\|$', read('docs', 'standard.md'), re.MULTILINE)
    return [tuple(cell.strip() for cell in row) for row in found]


def named(cell):
    """[(path, name)], with the name '' for a whole file."""
    path = None
    for item in cell.split(', '):
        match = re.fullmatch(r'(?:`([^`]+)` ?)?([\w-]*)', item)
        if match is None or (match[1] or path) is None:
            raise AssertionError(f'not understood: {cell}')
        path = match[1] or path
        yield path, match[2]


class Standard(unittest.TestCase):
    def test_every_step_has_a_row(self):
        steps = {section: set() for section in SECTIONS}
        for numbers, _code, _test in rows():
            section, _, places = numbers.partition('/')
            self.assertIn(section, SECTIONS)
            first, _, last = places.partition('–')
            if first:
                steps[section] |= set(range(int(first.split('.')[0]), int((last or first).split('.')[0]) + 1))
        self.assertEqual({section: sorted(found) for section, found in steps.items()},
                         {section: list(range(1, count + 1)) for section, count in SECTIONS.items()})
        self.assertEqual({numbers.partition('/')[0] for numbers, _code, _test in rows()}, set(SECTIONS))

    def check(self, folder, cell):
        for path, name in named(cell):
            path = os.path.join(folder, 'spec/cases.txt' if path == 'spec' else path)
            if path.endswith('spec/cases.txt'):
                self.assertRegex(read(path), rf'(?m)^case {re.escape(name)}(:|$)', cell)
            else:
                self.assertRegex(read(path), rf'(^|\b){re.escape(name)}(\b|$)', cell)

    def test_code(self):
        for _numbers, code, _test in rows():
            self.check('', code)

    def test_tests(self):
        for _numbers, _code, test in rows():
            self.check('tests', test)
