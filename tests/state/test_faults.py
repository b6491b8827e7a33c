# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The tests of state fail if the service makes the mistakes that can be asked for (see
service/fault.h): each with the mistake, and none without.

    test_faults.py TEST-STATE-FAULTY
"""

import os
import subprocess
import sys

# The mistake, and the test that notices it.
FAULTS = [
    ('token-not-persisted', '/state/tokens-grow'),
    ('order-lost', '/state/order'),
    ('bus-id-ignored', '/state/later/another-bus'),
]


def run(program, path, fault):
    env = {key: value for key, value in os.environ.items() if key != 'WEBLOCKS_FAULT'}
    if fault is not None:
        env['WEBLOCKS_FAULT'] = fault
    return subprocess.run([program, '--tap', '-p', path], env=env, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)


def main():
    program = sys.argv[1]
    print(f'1..{2 * len(FAULTS)}')
    number = 0
    for fault, path in FAULTS:
        for asked in (None, fault):
            number += 1
            done = run(program, path, asked)
            # It fails by an assertion of that very file, not by something else.
            noticed = done.returncode != 0 and 'test-state.c' in done.stdout + done.stderr
            passed = done.returncode == 0 and f'ok 1 {path}' in done.stdout
            good = noticed if asked else passed
            print(f"{'ok' if good else 'not ok'} {number} - {path} with {asked or 'no fault'}")
            for line in (done.stdout + done.stderr).splitlines():
                if not good or 'ERROR' in line:
                    print('#', line)
    sys.stdout.flush()


if __name__ == '__main__':
    main()
