# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The cases in web-platform-tests.md exist, and their files are run by Meson on GJS and on Node.js.

A file runs all its cases, and prints how many, so a case that exists was run."""

import os
import re
import subprocess
import unittest

from harness import PATIENCE

HERE = os.path.dirname(os.path.abspath(__file__))


def read(*path):
    with open(os.path.join(HERE, *path), encoding='utf-8') as file:
        return file.read()


def cases():
    """{file: its cases in the tables}"""
    result = {}
    for row in re.findall(r'^\| (?!subtest).+ \|$', read('web-platform-tests.md'), re.MULTILINE):
        file, *names = re.findall('`([^`]+)`', row)
        if not names:
            raise ValueError(f'no case: {row}')
        result.setdefault(file, set()).update(names)
    return result


class WebPlatform(unittest.TestCase):
    def test_every_case_exists(self):
        for file, names in cases().items():
            with self.subTest(file):
                existing = subprocess.run(['gjs', '-m', os.path.join(HERE, file), '--list'], text=True,
                                          capture_output=True, check=True, timeout=PATIENCE).stdout
                self.assertEqual(names - set(existing.splitlines()), set())

    def test_their_files_run_on_gjs_and_node(self):
        for folder in ('.', '../node'):
            run = set(re.findall("^ +'([a-z-]+)',$", read(folder, 'meson.build'), re.MULTILINE))
            self.assertEqual({file.removesuffix('.js') for file in cases()} - run, set(), folder)
