# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""test-random fails if the core makes the mistakes that can be asked for (faulty-lock-manager.c),
and tells it by few operations.

    test_faults.py TEST-RANDOM-FAULTY
"""

import os
import re
import subprocess
import sys

# The mistake, and by how many operations it can be shown at most, the agent's coming with them.
FAULTS = [('timeout-if-available-accepted', 3), ('last-come-first-served', 12)]


def run(program, fault):
    env = {key: value for key, value in os.environ.items() if key != 'WEBLOCKS_FAULT'}
    if fault is not None:
        env['WEBLOCKS_FAULT'] = fault
    done = subprocess.run([program, '--tap'], env=env, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def main():
    program = sys.argv[1]
    print(f'1..{1 + len(FAULTS)}')
    status, text = run(program, None)
    print('ok' if status == 0 else 'not ok', '1 - no fault')
    for number, (fault, most) in enumerate(FAULTS, 2):
        status, text = run(program, fault)
        match = re.search(r'(\d+) operations show it', text)
        good = status != 0 and match is not None and 0 < int(match[1]) <= most
        print('ok' if good else 'not ok', number, '-', fault)
        for line in text.splitlines():
            print('#', line)
    sys.stdout.flush()


if __name__ == '__main__':
    main()
