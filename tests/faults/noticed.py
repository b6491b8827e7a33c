# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Runs a test program that is built with a planted fault: it must fail, and print something that matches
the pattern. That it passes without the fault is a separate test.

    noticed.py PATTERN PROGRAM [ARGUMENT]...
"""

import os
import re
import subprocess
import sys
import tempfile


def run(command):
    """The program aborts, and so it does not remove its files."""
    parent = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix='weblocks-noticed-', dir=parent) as directory:
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors='replace', check=False,
                              env={**os.environ, 'WEBLOCKS_TEST_DIRECTORY': directory})


def main():
    pattern, *command = sys.argv[1:]
    done = run(command)
    noticed = done.returncode != 0 and re.search(pattern, done.stdout) is not None
    for line in done.stdout.splitlines()[-30:]:
        print('#', line)
    print(f'# exit status {done.returncode}; the output has to match: {pattern}')
    print('ok' if noticed else 'not ok', '1 - the fault is noticed')
    print('1..1')
    sys.exit(0 if noticed else 1)


if __name__ == '__main__':
    main()
