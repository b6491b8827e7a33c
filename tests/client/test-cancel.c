/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Cancelling. The moments of a request at which it is cancelled are in scripts/requests.txt. */

#include "tests/client/fixture.h"
#include "tests/lib/case.h"

/* An invalid name is an error of the caller, cancelled or not. */
TEST("/cancel/already-and-a-bad-name", test_already_and_bad)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(GCancellable) cancellable = g_cancellable_new();

    g_cancellable_cancel(cancellable);
    assert_fails(web_locks_manager_request_sync(manager, "-a", NULL, cancellable, &test_error),
                 WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED);
}

TEST("/cancel/after-the-timeout", test_after_timeout)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), waiter = test_manager_new();
    g_autoptr(WebLocksLock) held = test_lock(holder, "a");
    g_autoptr(WebLocksOptions) options = g_object_new(WEB_LOCKS_TYPE_OPTIONS, "timeout", 1, NULL);
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_auto(Answer) answer = {0};

    web_locks_manager_request_async(waiter, "a", options, cancellable, answer_take, &answer);
    answer_expect_error(&answer, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT);
    g_cancellable_cancel(cancellable);
    test_settle(waiter);
    g_assert_cmpuint(answer.n_results, ==, 1);
}

/* ---- other calls */

TEST("/cancel/query", test_query)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_auto(Answer) answer = {0};

    web_locks_manager_query_async(manager, cancellable, answer_take, &answer);
    g_cancellable_cancel(cancellable);
    assert_fails(web_locks_manager_query_finish(manager, answer_wait(&answer), &test_error),
                 G_IO_ERROR, G_IO_ERROR_CANCELLED);
    test_settle(manager);
    g_assert_cmpuint(answer.n_results, ==, 1);
}

/* A release is done or not: one that was cancelled before it began leaves the lock held. */
TEST("/cancel/release", test_release_cancelled)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a");
    g_autoptr(GCancellable) before = g_cancellable_new(), during = g_cancellable_new();
    g_autoptr(GError) error = NULL;
    g_auto(Answer) answer = {0};

    g_cancellable_cancel(before);
    assert_fails(web_locks_lock_release_sync(lock, before, &test_error), G_IO_ERROR,
                 G_IO_ERROR_CANCELLED);
    g_assert_true(web_locks_lock_get_held(lock));
    assert_state(manager, "a | ");
    g_clear_error(&error);

    web_locks_lock_release_async(lock, during, answer_take, &answer);
    g_cancellable_cancel(during);
    assert_done(web_locks_lock_release_finish(lock, answer_wait(&answer), &test_error));
    assert_state(manager, " | ");
}

/* A cancellable can be used with options that never wait too: unused, and cancelled at any time. */
static void
test_with_option(gconstpointer property)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksOptions) options = g_object_new(WEB_LOCKS_TYPE_OPTIONS, property, TRUE, NULL);
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_autoptr(WebLocksLock) lock = NULL;
    g_auto(Answer) granted = {0}, cancelled = {0}, already = {0};

    web_locks_manager_request_async(manager, "a", options, cancellable, answer_take, &granted);
    lock = answer_expect_lock(&granted);
    web_locks_manager_request_async(manager, "b", options, cancellable, answer_take, &cancelled);
    g_cancellable_cancel(cancellable);
    answer_expect_error(&cancelled, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    web_locks_manager_request_async(manager, "c", options, cancellable, answer_take, &already);
    answer_expect_error(&already, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    g_assert_true(web_locks_lock_get_held(lock));
    test_wait_for_state(manager, "a | ");
}

/* The service is stopped: cancelling completes the call nevertheless. */
static void
test_with_option_unanswered(gconstpointer property)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksOptions) options = g_object_new(WEB_LOCKS_TYPE_OPTIONS, property, TRUE, NULL);
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_auto(Answer) answer = {0};

    test_service_pause();
    web_locks_manager_request_async(manager, "a", options, cancellable, answer_take, &answer);
    test_iterate();
    g_assert_cmpuint(answer.n_results, ==, 0);
    g_cancellable_cancel(cancellable);
    answer_expect_error(&answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    test_service_resume();
    test_wait_for_state(manager, " | ");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    test_cases_add();
    g_test_add_data_func("/cancel/with-steal", "steal", test_with_option);
    g_test_add_data_func("/cancel/with-if-available", "if-available", test_with_option);
    g_test_add_data_func("/cancel/with-steal-unanswered", "steal", test_with_option_unanswered);
    g_test_add_data_func("/cancel/with-if-available-unanswered", "if-available",
                         test_with_option_unanswered);
    return test_run(NULL);
}
