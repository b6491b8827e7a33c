# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""What a configuration has found and a list of packages lacks is noticed, whatever this machine has."""

import contextlib
import io
import os
import shutil
import sys
import tempfile
import unittest

from buses import environment, read_text, write_text

SOURCE = environment('WEBLOCKS_SOURCE_DIR')
BUILD = environment('WEBLOCKS_BUILD_DIR')
sys.path.append(os.path.join(SOURCE, 'tests', 'bare'))
import listed_packages


@unittest.skipUnless(shutil.which('dpkg') and shutil.which('update-desktop-database'),
                     'needs dpkg and desktop-file-utils')
class ListedPackages(unittest.TestCase):
    def check(self, log, *packages):
        """Returns (exit status, output) for a configuration with this log."""
        with tempfile.TemporaryDirectory(prefix='weblocks-listed-') as build:
            os.mkdir(os.path.join(build, 'meson-logs'))
            write_text(os.path.join(build, 'meson-logs', 'meson-log.txt'), log)
            output = io.StringIO()
            with contextlib.redirect_stdout(output), contextlib.chdir(SOURCE):
                return listed_packages.main(build, *packages), output.getvalue()

    def test_a_program(self):
        """With which ./dev demo failed on a machine that had nothing."""
        line = 'Program update-desktop-database found: YES (/usr/bin/update-desktop-database)\n'
        status, output = self.check(line, 'libc6-dev')
        self.assertEqual(status, 1)
        self.assertIn(': desktop-file-utils\n', output)
        self.assertEqual(self.check(line, 'libc6-dev', 'desktop-file-utils')[0], 0)

    def test_what_a_listed_package_depends_on(self):
        line = 'Run-time dependency gio-unix-2.0 found: YES 2.74.6\n'
        self.assertEqual(self.check(line, 'desktop-file-utils')[0], 1)
        self.assertEqual(self.check(line, 'libglib2.0-dev')[0], 0)

    def test_headers_libraries_and_modules(self):
        for line, package in (('Has header "zookeeper/zookeeper.h" : YES \n', 'libzookeeper-st-dev'),
                              ('Library zookeeper_st found: YES\n', 'libzookeeper-st-dev'),
                              ('Program python3 (gi) found: YES (/usr/bin/python3) modules: gi\n',
                               'python3-gi')):
            with self.subTest(line):
                status, output = self.check(line, 'python3')
                self.assertEqual(status, 1)
                self.assertIn(f': {package}\n', output)
                self.assertEqual(self.check(line, package)[0], 0)

    def test_what_no_package_has(self):
        with tempfile.NamedTemporaryFile() as program:
            status, output = self.check(f'Program own found: YES ({program.name})\n', 'python3')
            self.assertEqual(status, 1)
            self.assertIn(f'no package has {program.name}', output)

    def test_a_log_in_which_nothing_is_recognized(self):
        self.assertEqual(self.check('The Meson build system\n', 'python3')[0], 1)

    def test_the_log_of_this_build(self):
        """Without any list, about everything is missing: the lines of this version of meson are recognized."""
        output = self.check(read_text(os.path.join(BUILD, 'meson-logs', 'meson-log.txt')))[1]
        for package in ('libglib2.0-dev', 'libsystemd-dev', 'ninja-build', 'pkgconf'):
            self.assertIn(f': {package}', output)
        # Whatever compiler that is.
        self.assertIn(' C compiler for the host machine: ', output)

    def test_a_compiler(self):
        """With what comes before it in CC, and options behind it."""
        for compiler in 'cc', 'ccache cc', '/usr/bin/ccache distcc cc -m64':
            with self.subTest(compiler):
                status, output = self.check(f'C compiler for the host machine: {compiler} (gcc 12.2.0 "cc (Debian)")\n',
                                            'python3')
                self.assertEqual(status, 1)
                self.assertRegex(output, r': (gcc|clang)[-\d]*\n')
