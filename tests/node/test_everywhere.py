# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The addon, as it was built once, on other versions of Node.js and on other runtimes, and beside a module with a GLib
of its own: those that `./dev test --all` has installed by npm."""

import os
import shutil
import subprocess

from buses import environment
from harness import PATIENCE, BusTestCase

HERE = os.path.dirname(os.path.abspath(__file__))
OUTPUT = 'n exclusive 1\nnull\nTimeoutError\nstolen\nAbortError\nacquired\nend\n'
BESIDE_SHARP = 2 * 'n 1 16x8\nstolen\nAbortError\n' + '/libvips-cpp,/libglib-2.0.so.0,/libweblocks-1.so\n'


class Case(BusTestCase):
    def find(self, path):
        module = os.path.join(environment('WEBLOCKS_NODE_MODULES'), path)
        if not os.path.exists(module):
            self.skipTest(f'npm has not installed {path.split("/bin")[0]}')
        return module

    def run_program(self, *command):
        """Returns what it has printed."""
        env = {**self.bus.environment(), 'LD_LIBRARY_PATH': environment('WEBLOCKS_LIBRARY_DIR'),
               'WEBLOCKS_NODE_MODULES': environment('WEBLOCKS_NODE_MODULES'),
               'WEBLOCKS_NODE_PACKAGE': environment('WEBLOCKS_NODE_PACKAGE')}
        result = subprocess.run(command, env=env, text=True, capture_output=True, check=False, timeout=PATIENCE)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout


class Everywhere(Case):
    def check(self, path, *arguments):
        output = self.run_program(self.find(path), *arguments, os.path.join(HERE, 'everywhere.cjs'))
        self.assertEqual(output, OUTPUT)

    def test_node_18(self):
        self.check('node18/bin/node')

    def test_node_20(self):
        self.check('node20/bin/node')

    def test_node_22(self):
        self.check('node22/bin/node')

    def test_node_24(self):
        self.check('node24/bin/node')

    def test_bun(self):
        self.check('@oven/bun-linux-x64/bin/bun')

    def test_deno(self):
        self.check('@deno/linux-x64-glibc/deno', 'run', '--allow-all')


class Sharp(Case):
    """It is linked with a GLib of its own, in libvips."""

    def check(self, when):
        self.find('sharp')
        if shutil.which('node') is None:
            self.skipTest('Node.js is not installed')
        self.assertEqual(self.run_program('node', os.path.join(HERE, 'sharp.cjs'), when), BESIDE_SHARP)

    def test_loaded_before(self):
        self.check('before')

    def test_loaded_after(self):
        self.check('after')
