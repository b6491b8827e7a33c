# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The npm package: npm installs it without a registry, and where it has no prebuilt addon, that is built.

test_package.py PACKAGE.tgz"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from glob import glob

from buses import environment
from harness import BusTestCase

PACKAGE = os.path.abspath(sys.argv.pop(1))
SCRIPT = "require('weblocks').locks.request('n', lock => console.log(`${lock.name} is held`));"
# In npm's log, and on a terminal.
PROGRESS = {'npm_config_update_notifier': 'false', 'npm_config_fund': 'false', 'npm_config_audit': 'false'}


@unittest.skipIf(shutil.which('node') is None, 'Node.js is not installed')
class Package(BusTestCase):
    def setUp(self):
        super().setUp()
        self.directory = self.enterContext(tempfile.TemporaryDirectory(prefix='weblocks-package-'))
        self.env = {**self.bus.environment(), **PROGRESS,
                    'LD_LIBRARY_PATH': environment('WEBLOCKS_LIBRARY_DIR'),
                    'PKG_CONFIG_PATH': environment('WEBLOCKS_PKG_CONFIG_DIR')}

    def run_in(self, *command, **env):
        result = subprocess.run(command, cwd=self.directory, env={**self.env, **env}, text=True,
                                capture_output=True, check=False, timeout=120)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout + result.stderr

    def unpack(self):
        modules = os.path.join(self.directory, 'node_modules')
        with tarfile.open(PACKAGE) as tar:
            tar.extractall(modules)
        os.rename(os.path.join(modules, 'package'), os.path.join(modules, 'weblocks'))
        return os.path.join(modules, 'weblocks')

    def test_npm_installs_it_without_a_registry(self):
        if shutil.which('npm') is None:
            self.skipTest('npm is not installed')
        self.run_in('npm', 'install', '--offline', '--no-package-lock', PACKAGE)
        self.assertEqual(self.run_in('node', '-e', SCRIPT), 'n is held\n')

    def test_the_prebuilt_addon_is_used(self):
        folder = self.unpack()
        self.assertEqual(self.run_in('node', os.path.join(folder, 'install.js'), CC='false'), '')
        self.assertEqual(self.run_in('node', '-e', SCRIPT), 'n is held\n')

    def test_the_addon_is_built_where_there_is_none(self):
        folder = self.unpack()
        shutil.rmtree(os.path.join(folder, 'prebuilds'))
        self.run_in('node', os.path.join(folder, 'install.js'), CC=environment('WEBLOCKS_CC'))
        self.assertEqual(len(glob(os.path.join(folder, 'build', '*.node'))), 1)
        self.assertEqual(self.run_in('node', '-e', SCRIPT), 'n is held\n')

    def test_the_package_can_be_installed_where_nothing_can_be_built(self):
        folder = self.unpack()
        shutil.rmtree(os.path.join(folder, 'prebuilds'))
        self.assertIn('the addon could not be built',
                      self.run_in('node', os.path.join(folder, 'install.js'), CC='false'))

    def test_the_object_has_no_path_of_the_build_and_stays_loaded(self):
        if shutil.which('readelf') is None:
            self.skipTest('binutils is not installed')
        addon, = glob(os.path.join(self.unpack(), 'prebuilds', '*', '*.node'))
        dynamic = self.run_in('readelf', '--dynamic', '--wide', addon)
        self.assertNotRegex(dynamic, 'RPATH|RUNPATH')
        self.assertRegex(dynamic, 'FLAGS_1.*NODELETE')
        self.assertIn('[libweblocks-1.so.0]', dynamic)
