# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The declarations of a module declare what it exports, and TypeScript's compiler infers the intended
types.

test_types.py MODULE DECLARATIONS USES IMPORT

USES imports IMPORT. What it has to accept is in it, and after @ts-expect-error what it has to refuse."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from buses import environment, read_text

MODULE, DECLARATIONS, USES = map(os.path.abspath, sys.argv[1:4])
IMPORT = sys.argv[4]
LIBRARIES = ['dom'] if IMPORT == 'weblocks' else []  # AbortSignal is Node.js's
del sys.argv[1:5]


def read(path):
    return read_text(path)


def declarations(path):
    """The names that a file declares, with those of the files that it exports again."""
    text = read(path)
    names = set(re.findall(r'^export (?:class|const|function) (\w+)', text, re.MULTILINE))
    for other in re.findall(r"^export \* from '(.+)\.js';$", text, re.MULTILINE):
        names |= declarations(os.path.join(os.path.dirname(path), f'{other}.d.ts'))
    return names


class Types(unittest.TestCase):
    def test_the_exports(self):
        listed = re.findall(r'export (?:const )?\{([^}]+)\}', read(MODULE))
        exported = {name.strip() for names in listed for name in names.split(',')}
        exported |= set(re.findall(r'^export (?:class|const|function) (\w+)', read(MODULE),
                                   re.MULTILINE))
        self.assertEqual(declarations(DECLARATIONS), exported)

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
                    'lib': ['es2022', *LIBRARIES], 'types': [], 'moduleResolution': 'bundler',
                    'paths': {IMPORT: [DECLARATIONS]}}, 'files': [USES]}, file)
            result = subprocess.run([node, compiler, '-p', config], capture_output=True, text=True,
                                    check=False)
        self.assertEqual((result.stdout, result.returncode), ('', 0))
