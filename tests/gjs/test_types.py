# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""weblocks.d.ts declares what weblocks.js exports, and TypeScript's compiler infers the intended
types.

test_types.py DIRECTORY_OF_THE_MODULE"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from buses import environment
from tap import main

MODULE = os.path.abspath(sys.argv.pop(1))
HERE = os.path.dirname(os.path.abspath(__file__))


def read(name):
    with open(os.path.join(MODULE, name), encoding='utf-8') as file:
        return file.read()


class Types(unittest.TestCase):
    def test_the_exports(self):
        listed = re.findall(r'export \{([^}]+)\}', read('weblocks.js'))
        exported = {name.strip() for names in listed for name in names.split(',')}
        exported |= set(re.findall(r'^export (?:class|const|function) (\w+)', read('weblocks.js'),
                                   re.MULTILINE))
        declared = set(re.findall(r'^export (?:class|const|function) (\w+)', read('weblocks.d.ts'),
                                  re.MULTILINE))
        self.assertEqual(declared, exported)

    def test_uses(self):
        compiler = os.path.join(environment('WEBLOCKS_NODE_MODULES'), 'typescript', 'bin', 'tsc')
        node = shutil.which('node')
        if node is None or not os.path.exists(compiler):
            self.skipTest('no Node.js with the package typescript')
        with tempfile.TemporaryDirectory() as directory:
            config = os.path.join(directory, 'tsconfig.json')
            with open(config, 'w', encoding='utf-8') as file:
                json.dump({'compilerOptions': {
                    'strict': True, 'noEmit': True, 'target': 'es2022', 'module': 'esnext',
                    'lib': ['es2022'], 'types': [], 'moduleResolution': 'bundler',
                    'paths': {'file:///usr/share/weblocks-1/gjs/*': [f'{MODULE}/*']}},
                    'files': [os.path.join(HERE, 'types', 'uses.ts')]}, file)
            result = subprocess.run([node, compiler, '-p', config], capture_output=True, text=True,
                                    check=False)
        self.assertEqual((result.stdout, result.returncode), ('', 0))


if __name__ == '__main__':
    main()
