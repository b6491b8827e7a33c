# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The tests beside this one fail with the faults of tests/faults/. That they pass without is tested by
themselves."""

import os
import subprocess
import sys

from sandboxcase import why_no_sandbox

HERE = os.path.dirname(os.path.abspath(__file__))

# The fault, and a case that notices it.
FAULTS = [
    ('lookup-error-unsandboxed', 'test_apps.py', 'BadFiles.test_symlink'),
    ('root-error-unsandboxed', 'test_lookup.py', 'Errors.test_opens_for_an_app'),
    ('pid-not-checked-again', 'test_credentials.py', 'Credentials.test_asked_again'),
    ('pid-not-checked-again', 'test_credentials.py', 'Credentials.test_ended_before_second_answer'),
    ('process-end-ignored', 'test_credentials.py', 'Credentials.test_ended_before_second_answer'),
    ('app-id-ignored', 'test_apps.py', 'Apart.test_direct'),
    ('app-id-ignored', 'test_apps.py', 'Apart.test_behind_proxies'),
    ('app-limit-ignored', 'test_limits.py', 'Limits.test_requests'),
    ('app-limit-ignored', 'test_limits.py', 'Limits.test_clients'),
    ('app-id-ignored', 'test_apps_isolation.py', 'Random.test_as_if_alone'),
    ('app-id-ignored', 'test_apps_isolation.py', 'RandomBehindProxies.test_as_if_alone'),
    ('app-id-ignored', 'test_apps_isolation.py', 'Guesses.test_of_another_principal'),
    ('app-id-ignored', 'test_apps_isolation.py', 'Walks.test_what_is_there'),
    ('served-mount-looked-into', 'test_apps.py',
     'BadFiles.test_file_system_that_never_answers'),
    ('lookups-take-all-descriptors', 'test_credentials.py', 'Many.test_lookups'),
    ('client-kept', 'test_crowd.py', 'Crowd.test_nothing_stays'),
    ('root-taken-for-ours', 'test_users.py', 'WithoutPrivileges.test_app_behind_a_proxy'),
]

EXPECTED = ('AssertionError: ', 'TimeoutError: ')


def run(script, case, fault):
    env = os.environ | {'WEBLOCKS_TEST_FAULT': fault, 'WEBLOCKS_FULL_SIZE': '0'}
    return subprocess.run([sys.executable, os.path.join(HERE, script), case], env=env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def main():
    if why_no_sandbox():
        print(f'1..0 # SKIP {why_no_sandbox()}')
        return
    for number, (fault, script, case) in enumerate(FAULTS, 1):
        done = run(script, case, fault)
        said = done.stdout + done.stderr
        # It fails by an assertion, or since nothing comes, to a client of the test too; not by
        # something else.
        noticed = done.returncode != 0 and f'not ok 1 - {case}' in said and \
            any(word in said for word in EXPECTED)
        skipped = ' # SKIP' in said
        print(f"{'ok' if noticed or skipped else 'not ok'} {number} - {case} with {fault}"
              f"{' # SKIP as it does' if skipped else ''}")
        for line in said.splitlines():
            if not (noticed or skipped) or any(word in line for word in EXPECTED):
                print('#', line)
        sys.stdout.flush()
    print(f'1..{len(FAULTS)}')


if __name__ == '__main__':
    main()
