# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The tests of this directory fail with the faults of tests/faults/. That they pass without is
tested separately."""

import os
import subprocess
import sys

from sandboxcase import why_no_sandbox

HERE = os.path.dirname(os.path.abspath(__file__))

# The fault, and a case that detects it.
FAULTS = [
    ('lookup-error-unsandboxed', 'test_apps.py', 'BadFiles.test_symlink'),
    ('root-error-unsandboxed', 'test_lookup.py', 'Errors.test_opens_for_an_app'),
    ('pid-not-checked-again', 'test_credentials.py', 'Credentials.test_second_reply_differs'),
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
    ('fuse-mount-read', 'test_apps.py',
     'BadFiles.test_file_system_that_never_replies'),
    ('lookups-take-all-descriptors', 'test_credentials.py', 'Many.test_lookups'),
    ('client-not-freed', 'test_exiting_processes.py', 'ExitingProcesses.test_nothing_remains'),
    ('document-unproved', 'test_documents.py', 'Proofs.test_deleted'),
    ('document-unproved', 'test_documents.py', 'Proofs.test_something_else_at_the_path'),
    ('document-read-only', 'test_documents.py', 'Proofs.test_read_only_bind'),
    ('document-unopened', 'test_documents.py', 'Rights.test_only_what_is_opened'),
    ('document-stolen', 'test_documents.py', 'Rights.test_only_what_is_opened'),
    ('document-of-others-shown', 'test_documents.py', 'Rights.test_what_is_listed'),
    ('document-unpermitted', 'test_document_portal.py', 'Portal.test_what_it_may_not_write'),
    ('portal-unshared', 'test_document_portal.py', 'Portal.test_many_of_one_application'),
    ('document-key-forgotten', 'test_documents.py',
     'Restarts.test_locks_are_restored_and_names_forgotten'),
    ('foreign-root-accepted', 'test_users.py', 'WithoutPrivileges.test_app_behind_a_proxy'),
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
        output = done.stdout + done.stderr
        # The case fails by an assertion, or because a message, also one to a client of the test, is
        # missing; not by another error.
        noticed = done.returncode != 0 and f'not ok 1 - {case}' in output and \
            any(word in output for word in EXPECTED)
        skipped = ' # SKIP' in output
        print(f"{'ok' if noticed or skipped else 'not ok'} {number} - {case} with {fault}"
              f"{' # SKIP like the case' if skipped else ''}")
        for line in output.splitlines():
            if not (noticed or skipped) or any(word in line for word in EXPECTED):
                print('#', line)
        sys.stdout.flush()
    print(f'1..{len(FAULTS)}')


if __name__ == '__main__':
    main()
