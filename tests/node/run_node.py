# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Runs a test on Node.js, on a private bus with a service, or skips it if there is no Node.js.

run_node.py [--no-service] FILE [TEST]...

WEBLOCKS_NODE may be another program that runs JavaScript as Node.js does."""

import os
import shutil
import subprocess
import sys

from buses import environment

HERE = os.path.dirname(os.path.abspath(__file__))
OLDEST = 18


def reason_to_skip(node):
    if node is None:
        return 'Node.js is not installed'
    version = subprocess.run([node, '--version'], capture_output=True, text=True, check=True).stdout
    if int(version.removeprefix('v').split('.')[0]) < OLDEST:
        return f'Node.js {version.strip()} is older than {OLDEST}'
    return None


def main():
    node = shutil.which(os.environ.get('WEBLOCKS_NODE', 'node'))
    reason = reason_to_skip(node)
    if reason is not None:
        print(f'1..0 # SKIP {reason}')
        return
    environment('WEBLOCKS_NODE_PACKAGE')
    options = sys.argv[1:2] if sys.argv[1] == '--no-service' else []
    runner = os.path.join(os.path.dirname(HERE), 'lib', 'run-with-service.py')
    os.execv(sys.executable, [
        sys.executable, runner, *options, node, '--no-warnings', '--expose-gc',
        f'--experimental-loader=file://{HERE}/loader.mjs', *sys.argv[1 + len(options):]])


main()
