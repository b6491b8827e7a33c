# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Services with a planted fault in one defence each: at least one test must fail.

A row is a fault of tests/faults/ and the cases that detect it, of a test with the harness of the
bus tests: only those are run. That they pass without the fault is tested separately.
`test_faults.py FAULT...` runs these rows. Faults in stored state are listed in state/ and
storm/."""

import multiprocessing
import os
import re
import sys
import tempfile
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# For each row.
SECONDS = 120 * float(os.environ.get('WEBLOCKS_TEST_TIMEOUT_FACTOR', '1'))

# Shorter time limits, for messages that are missing because of the fault. The library reads these variables when it is
# loaded, which is once for all rows.
os.environ.update(WEBLOCKS_TEST_FAULT='', WEBLOCKS_FULL_SIZE='0', WEBLOCKS_TEST_TIMEOUT_FACTOR=str(SECONDS / 400))
import harness  # pylint: disable=unused-import
import tap
from buses import TEST_ALL, die_with_parent
from tap import diagnostic

# The fault, the program, its case or class of cases, and what fails: that, or a case or anything with these words.
FAULTS = [
    # Signals are broadcast: the monitor of every test detects it.
    ('broadcast', 'bus/test_signals.py', 'Owners.test_timeout', 'a broadcast'),
    # Replies contain the entries of another principal's bucket with that name.
    ('query-unfiltered', 'bus/test_isolation.py', 'Random', 'Random.test_as_if_alone'),
    ('query-unfiltered', 'bus/test_isolation.py', 'Guesses.test_of_another_principal'),
    # An id is looked up among the requests of all clients.
    ('foreign-ids', 'bus/test_isolation.py', 'Guesses.test_of_another_principal'),
    ('foreign-ids', 'bus/test_isolation.py', 'Guesses.test_of_another_client'),
    # An error contains the name of another client's lock.
    ('error-contains-name', 'bus/test_isolation.py', 'Random', 'Random.test_as_if_alone'),
    # Each invalid call adds a line to the log.
    ('log-unlimited', 'bus/test_log.py', 'Flood.test_bad_calls_of_another_user'),
    # The log contains names of locks, unescaped.
    ('log-unescaped', 'bus/test_isolation.py', 'Canaries.test_in_errors_and_in_the_log'),
    # The id of a released lock is reused.
    ('id-reused', 'bus/test_isolation.py', 'Guesses.test_an_id_of_before'),
    # A lock socket continues to work after its client's end.
    ('socket-outlives-name', 'bus/test_socket_order.py', 'Refilled.test_it_ends_with_the_name'),
    # A client's disconnect takes effect before its last calls.
    ('terminate-before-drain', 'bus/test_socket_order.py', 'LastPackets.test_while_the_service_is_stopped'),
    # A watcher gets the events of all buckets with that name.
    ('watch-unfiltered', 'bus/test_signals.py', 'OtherUsers.test_watching_shows_only_own_locks', 'does not watch'),
    # A user can observe or break the locks of other users.
    ('path-unchecked', 'bus/test_break.py', 'Paths.test_a_user_observes_own_applications_only'),
    ('break-unchecked', 'bus/test_break.py', 'Paths.test_a_user_observes_own_applications_only'),
    ('observable-unfiltered', 'bus/test_break.py', 'Paths.test_a_user_observes_own_applications_only'),
    # Private sessions are shown by their names, or joined by their public names.
    ('session-in-buckets', 'bus/test_isolation.py', 'Sessions.test_names_reach_members_only'),
    ('session-listed', 'bus/test_isolation.py', 'Sessions.test_names_reach_members_only'),
    ('session-watched', 'bus/test_isolation.py', 'Sessions.test_names_reach_members_only'),
    ('session-joined', 'bus/test_isolation.py', 'Sessions.test_names_reach_members_only'),
    # Waiting is sent to clients that do not watch, or is dropped without being counted.
    ('waiting-unwatched', 'bus/test_signals.py', 'Owners.test_timeout', 'does not watch'),
    ('waiting-not-missed', 'bus/test_break.py', 'WatchAll.test_missed'),
    # Holders that don't read are sent each change of who waits for their locks.
    ('wanted-unread', 'bus/test_wanted.py', 'Floods.test_a_socket_that_is_not_read'),
    ('wanted-unacknowledged', 'bus/test_wanted.py', 'Floods.test_a_stopped_process'),
    # A downgrade is not stored, or its signal is sent to the client itself.
    ('downgrade-not-persisted', 'bus/test_state.py', 'Kept.test_counting_locks_and_downgrades_go_on'),
    ('downgraded-unwatched', 'bus/test_signals.py', 'Watchers.test_downgraded', 'does not watch'),
    # The service exits when idle with unread calls.
    ('exit-without-drain', 'bus/test_lifecycle.py', 'IdleExitRace.test_no_call_is_lost'),
    # A client that doesn't read is served; with too many deferred calls it keeps its locks.
    ('no-barrier', 'bus/test_hostile.py', 'Held.test_no_more_than_512_are_in_the_bus'),
    ('flood-not-terminated', 'bus/test_hostile.py', 'Floods.test_its_locks_end'),
    # A uid leaves nothing to others; a message that could not be sent is dropped; types are not checked.
    ('share-ignored', 'bus/test_shares.py', 'Flood.test_a_quarter_is_left'),
    ('retry-dropped', 'bus/test_send_errors.py', 'SendErrors.test_the_end_goes_on_after_a_retry'),
    ('option-unchecked', 'bus/test_random_calls.py', 'RandomCalls.test_all_methods_in_the_introspection_data'),
    # A request is granted after its time-out, before the timer is dispatched.
    ('expiry-by-timer', 'bus/test_signals.py', 'Owners.test_a_release_after_the_timeout_grants_nothing'),
    # A lock with a cell: its client goes on entering it, others see it wrongly, or wait for nothing.
    ('pages-left-open', 'bus/test_cells.py', 'Killed.test_held'),
    ('parked-taken-for-held', 'bus/test_cells.py', 'Killed.test_parked'),
    ('query-closes-nothing', 'bus/test_cells.py', 'Looking.test_looking_closes'),
    ('cell-while-watched', 'bus/test_cells.py', 'Looking.test_no_cell_while_somebody_watches'),
    ('cell-tokens-kept', 'bus/test_cells.py', 'Local.test_held_makes_others_wait'),
    ('cell-token-unlimited', 'bus/test_cells.py', 'Hostile.test_any_bytes_in_the_page'),
    ('cells-gone-left-open', 'bus/test_cells.py', 'Removed.test_the_pages'),
    ('cells-of-others-left-open', 'bus/test_cells.py', 'Killed.test_of_another_bus'),
    ('tokens-from-the-clock', 'bus/test_cells.py', 'Tokens.test_lost_states'),
    # Locks of several hosts are held beyond the lease.
    ('lease-deadline-ignored', 'cluster/test_permits.py', 'Lease.test_over'),
    # All clients are searched at each disconnect.
    ('linear-disconnect-search', 'bus/test_unrelated_clients.py', 'UnrelatedClients.test_beside_many_clients'),
    # Sandboxes: their identification, their limits, and the documents of their users.
    ('lookup-error-unsandboxed', 'sandbox/test_apps.py', 'BadFiles.test_symlink'),
    ('root-error-unsandboxed', 'sandbox/test_lookup.py', 'Errors.test_opens_for_an_app'),
    ('pid-not-checked-again', 'sandbox/test_credentials.py', 'Credentials.test_second_reply_differs'),
    ('pid-not-checked-again', 'sandbox/test_credentials.py', 'Credentials.test_ended_before_second_answer'),
    ('process-end-ignored', 'sandbox/test_credentials.py', 'Credentials.test_ended_before_second_answer'),
    ('app-id-ignored', 'sandbox/test_apps.py', 'Apart.test_direct'),
    ('app-id-ignored', 'sandbox/test_apps.py', 'Apart.test_behind_proxies'),
    ('app-limit-ignored', 'sandbox/test_limits.py', 'Limits.test_requests'),
    ('app-limit-ignored', 'sandbox/test_limits.py', 'Limits.test_clients'),
    ('app-id-ignored', 'sandbox/test_apps_isolation.py', 'Random.test_as_if_alone'),
    ('app-id-ignored', 'sandbox/test_apps_isolation.py', 'RandomBehindProxies.test_as_if_alone'),
    ('app-id-ignored', 'sandbox/test_apps_isolation.py', 'Guesses.test_of_another_principal'),
    ('app-id-ignored', 'sandbox/test_apps_isolation.py', 'Walks.test_what_is_there'),
    ('fuse-mount-read', 'sandbox/test_apps.py', 'BadFiles.test_file_system_that_never_replies'),
    ('lookups-take-all-descriptors', 'sandbox/test_credentials.py', 'Many.test_lookups'),
    ('client-not-freed', 'sandbox/test_exiting_processes.py', 'ExitingProcesses.test_nothing_remains'),
    ('document-unproved', 'sandbox/test_documents.py', 'Proofs.test_deleted'),
    ('document-unproved', 'sandbox/test_documents.py', 'Proofs.test_something_else_at_the_path'),
    ('document-read-only', 'sandbox/test_documents.py', 'Proofs.test_read_only_bind'),
    ('document-unopened', 'sandbox/test_documents.py', 'Rights.test_only_what_is_opened'),
    ('document-stolen', 'sandbox/test_documents.py', 'Rights.test_only_what_is_opened'),
    ('document-of-others-shown', 'sandbox/test_documents.py', 'Rights.test_what_is_listed'),
    ('document-unpermitted', 'sandbox/test_document_portal.py', 'Portal.test_what_it_may_not_write'),
    ('portal-unshared', 'sandbox/test_document_portal.py', 'Portal.test_many_of_one_application'),
    ('document-key-forgotten', 'sandbox/test_documents.py', 'Restarts.test_locks_are_restored_and_names_forgotten'),
    ('foreign-root-accepted', 'sandbox/test_users.py', 'WithoutPrivileges.test_app_behind_a_proxy'),
]


def run_case(program, case, fault, output):
    """In a process of its own."""
    die_with_parent()
    for number in (1, 2):
        os.dup2(output, number)
    os.environ['WEBLOCKS_TEST_FAULT'] = fault
    sys.argv = [os.path.join(TESTS, program), case]
    tap.run(tap.load(sys.argv[0]))


def run(*row):
    """Returns (exit status, output)."""
    with tempfile.TemporaryFile('w+', errors='replace') as file:
        process = multiprocessing.get_context('fork').Process(target=run_case, args=(*row, file.fileno()))
        process.start()
        process.join(SECONDS)
        if process.is_alive():
            process.kill()
            process.join()
        file.seek(0)
        return process.exitcode, file.read()


def notices(status, output, words):
    """Whether the test fails with an assertion for this fault."""
    failed = [line for line in output.splitlines() if line.startswith('not ok')]
    return status == 1 and failed and (
        words in output if ' ' in words else any(words in line for line in failed))


def rows(asked):
    """Those of these faults; of all the first one for each, with --all all."""
    seen = set()
    for fault, *row in FAULTS:
        if fault in asked or not asked and (TEST_ALL or fault not in seen):
            yield fault, *row
        seen.add(fault)


def main():
    number = 0
    failed = False
    for fault, program, case, *words in rows(sys.argv[1:]):
        start = time.monotonic()
        status, output = run(program, case, fault)
        diagnostic(f'{time.monotonic() - start:.1f} s')
        skipped = 'not ok' not in output and re.search('# SKIP (.*)', output)
        good = skipped or notices(status, output, *words or [case])
        number += 1
        reason = f' # SKIP {skipped[1]}' if skipped else ''
        failed = failed or not good
        print(f"{'ok' if good else 'not ok'} {number} - {program} {case} with {fault}{reason}", flush=True)
        if not good:
            diagnostic(f'ended with {status}: {output}')
    print(f'1..{number}')
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
