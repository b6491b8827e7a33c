# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A target finds the mistakes that can be asked for (service/fault.h, faulty-lock-manager.c), by
its corpus alone: each with the mistake, and nothing without.

    test_faults.py TARGET REPLAY-TARGET-FAULTY CORPUS
"""

import os
import subprocess
import sys

FAULTS = {
    'decoder': ['option-unchecked'],
    'operations': ['timeout-if-available-accepted', 'last-come-first-served'],
}


def run(program, corpus, fault):
    env = {key: value for key, value in os.environ.items() if key != 'WEBLOCKS_FAULT'}
    if fault is not None:
        env['WEBLOCKS_FAULT'] = fault
    return subprocess.run([program, corpus], env=env, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, errors='replace', check=False)


def main():
    target, program, corpus = sys.argv[1:]
    asked = [None, *FAULTS[target]]
    print(f'1..{len(asked)}')
    for number, fault in enumerate(asked, 1):
        done = run(program, corpus, fault)
        # The replay dies of it: by a signal, or by a sanitizer.
        good = done.returncode not in (0, 2) if fault else done.returncode == 0
        print('ok' if good else 'not ok', number, '-', fault or 'no fault')
        for line in done.stderr.splitlines()[:20]:
            print('#', line)
    sys.stdout.flush()


if __name__ == '__main__':
    main()
