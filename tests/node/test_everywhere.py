# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The addon, as it was built once, on other versions of Node.js and on other runtimes: those that
`./dev test --all` has installed by npm."""

import os
import subprocess

from buses import environment
from harness import PATIENCE, BusTestCase, main

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'everywhere.cjs')
OUTPUT = 'n exclusive 1\nnull\nTimeoutError\nstolen\nAbortError\nacquired\nend\n'


class Everywhere(BusTestCase):
    def check(self, path, *arguments):
        runtime = os.path.join(environment('WEBLOCKS_NODE_MODULES'), path)
        if not os.path.exists(runtime):
            self.skipTest(f'npm has not installed {path.split("/bin")[0]}')
        env = {**self.bus.environment(), 'LD_LIBRARY_PATH': environment('WEBLOCKS_LIBRARY_DIR'),
               'WEBLOCKS_NODE_PACKAGE': environment('WEBLOCKS_NODE_PACKAGE')}
        result = subprocess.run([runtime, *arguments, PROGRAM], env=env, text=True, capture_output=True,
                                check=False, timeout=PATIENCE)
        self.assertEqual((result.stdout, result.returncode), (OUTPUT, 0), result.stderr)

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


if __name__ == '__main__':
    main()
