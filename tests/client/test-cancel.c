/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Cancelling a request at every moment of its life. The messages are in scripts/requests.txt. */

#include "tests/client/fixture.h"

static void
ask(Answer *answer, WebLocksManager *manager, GCancellable *cancellable)
{
    web_locks_manager_request_async(manager, "a", NULL, cancellable, answer_take, answer);
}

static void
test_already(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_autoptr(GError) error = NULL;
    g_auto(Answer) answer = {0};

    g_cancellable_cancel(cancellable);
    ask(&answer, manager, cancellable);
    g_assert_cmpuint(answer.n_results, ==, 0);
    answer_expect_error(&answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    g_assert_null(web_locks_manager_request_sync(manager, "a", NULL, cancellable, &error));
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    assert_state(manager, " | ");
}

/* An invalid name is an error of the caller, cancelled or not. */
static void
test_already_and_bad(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_autoptr(GError) error = NULL;

    g_cancellable_cancel(cancellable);
    g_assert_null(web_locks_manager_request_sync(manager, "-a", NULL, cancellable, &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED);
}

/* The request behind it, which only waited for it, is granted. */
static void
test_waiting(void)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), waiter = test_manager_new(),
                               next = test_manager_new();
    g_autoptr(WebLocksOptions) shared = test_shared();
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksLock) held =
        web_locks_manager_request_sync(holder, "a", shared, NULL, &error);
    g_autoptr(WebLocksLock) lock = NULL;
    g_auto(Answer) answer = {0}, next_answer = {0};

    ask(&answer, waiter, cancellable);
    test_settle(waiter);
    web_locks_manager_request_async(next, "a", shared, NULL, answer_take, &next_answer);
    test_settle(next);
    assert_state(next, "a:s | a a:s");
    g_cancellable_cancel(cancellable);
    answer_expect_error(&answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    lock = answer_expect_lock(&next_answer);
    assert_state(next, "a:s a:s | ");
}

/* There is no answer yet, and so no id to abort. */
static void
test_before_the_answer(void)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), waiter = test_manager_new();
    g_autoptr(WebLocksLock) held = test_lock(holder, "a");
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_auto(Answer) answer = {0};

    ask(&answer, waiter, cancellable);
    g_cancellable_cancel(cancellable);
    answer_expect_error(&answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    test_wait_for_state(waiter, "a | ");
    test_release(held);
    assert_state(waiter, " | ");
}

static void
test_before_the_answer_when_free(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_auto(Answer) answer = {0};

    ask(&answer, manager, cancellable);
    g_cancellable_cancel(cancellable);
    answer_expect_error(&answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    test_wait_for_state(manager, " | ");
}

/* The service has granted it, and the grant is in the waiting agent's socket when it is cancelled.
 * */
static void
test_crossing(void)
{
    g_autoptr(WebLocksManager) holder = test_manager_new();
    g_autoptr(WebLocksLock) held = test_lock(holder, "a");
    g_autoptr(GMainContext) context = g_main_context_new();
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_auto(Answer) answer = {0};

    /* The waiting agent's context is iterated by the test only. */
    g_main_context_push_thread_default(context);
    {
        g_autoptr(WebLocksManager) waiter = test_manager_new();

        ask(&answer, waiter, cancellable);
        test_settle(waiter);

        test_release(held);
        assert_state(holder, "a | "); /* the waiting agent's */
        g_cancellable_cancel(cancellable);
        answer_expect_error(&answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
        test_wait_for_state(waiter, " | ");
        answer_clear(&answer);
    }
    g_main_context_pop_thread_default(context);
}

/* The same after all references have been dropped; other agents of the process continue. */
static void
test_crossing_and_dropped(void)
{
    g_autoptr(WebLocksManager) holder = test_manager_new();
    g_autoptr(WebLocksLock) held = test_lock(holder, "a"), again = NULL;
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_autoptr(GError) error = NULL;
    g_auto(Answer) answer = {0};

    {
        g_autoptr(WebLocksManager) waiter = test_manager_new();

        ask(&answer, waiter, cancellable);
        test_settle(waiter);
        test_release(held);
        g_cancellable_cancel(cancellable);
        answer_expect_error(&answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
        answer_clear(&answer);
    }
    again = web_locks_manager_request_sync(holder, "a", NULL, NULL, &error);
    g_assert_no_error(error);
}

static void
test_after_grant(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksLock) lock =
        web_locks_manager_request_sync(manager, "a", NULL, cancellable, &error);

    g_assert_no_error(error);
    g_cancellable_cancel(cancellable);
    test_settle(manager);
    g_assert_true(web_locks_lock_get_held(lock));
    assert_state(manager, "a | ");
}

static void
test_after_timeout(void)
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

/* One cancellable for many requests, some granted, some waiting. */
static void
test_one_for_many(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_autoptr(WebLocksLock) lock = NULL;
    Answer answers[10] = {{0}};

    for (guint i = 0; i < 10; i++)
        ask(&answers[i], manager, cancellable);
    lock = answer_expect_lock(&answers[0]);
    g_cancellable_cancel(cancellable);
    for (guint i = 1; i < 10; i++)
        answer_expect_error(&answers[i], G_IO_ERROR, G_IO_ERROR_CANCELLED);
    test_wait_for_state(manager, "a | ");
    for (guint i = 0; i < 10; i++)
        answer_clear(&answers[i]);
}

/* ---- sync calls */

static gpointer
cancel_when_waiting(gpointer data)
{
    g_autoptr(GMainContext) context = g_main_context_new();

    g_main_context_push_thread_default(context);
    {
        g_autoptr(WebLocksManager) observer = test_manager_new();

        test_wait_for_state(observer, "a | a");
    }
    g_main_context_pop_thread_default(context);
    g_cancellable_cancel(data);
    return NULL;
}

static void
test_sync_from_thread(void)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), waiter = test_manager_new();
    g_autoptr(WebLocksLock) held = test_lock(holder, "a");
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_autoptr(GError) error = NULL;
    GThread *thread = g_thread_new("canceller", cancel_when_waiting, cancellable);

    g_assert_null(web_locks_manager_request_sync(waiter, "a", NULL, cancellable, &error));
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    g_thread_join(thread);
    test_wait_for_state(holder, "a | ");
}

/* ---- other calls */

static void
test_query(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_autoptr(GError) error = NULL;
    g_auto(Answer) answer = {0};

    web_locks_manager_query_async(manager, cancellable, answer_take, &answer);
    g_cancellable_cancel(cancellable);
    g_assert_null(web_locks_manager_query_finish(manager, answer_wait(&answer), &error));
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    test_settle(manager);
    g_assert_cmpuint(answer.n_results, ==, 1);
}

/* A release is done or not: one that was cancelled before it began leaves the lock held. */
static void
test_release_cancelled(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a");
    g_autoptr(GCancellable) before = g_cancellable_new(), during = g_cancellable_new();
    g_autoptr(GError) error = NULL;
    g_auto(Answer) answer = {0};

    g_cancellable_cancel(before);
    g_assert_false(web_locks_lock_release_sync(lock, before, &error));
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    g_assert_true(web_locks_lock_get_held(lock));
    assert_state(manager, "a | ");
    g_clear_error(&error);

    web_locks_lock_release_async(lock, during, answer_take, &answer);
    g_cancellable_cancel(during);
    g_assert_true(web_locks_lock_release_finish(lock, answer_wait(&answer), &error));
    g_assert_no_error(error);
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
    g_test_add_func("/cancel/already", test_already);
    g_test_add_func("/cancel/already-and-a-bad-name", test_already_and_bad);
    g_test_add_func("/cancel/while-waiting", test_waiting);
    g_test_add_func("/cancel/before-the-answer", test_before_the_answer);
    g_test_add_func("/cancel/before-the-answer-when-free", test_before_the_answer_when_free);
    g_test_add_func("/cancel/crosses-the-grant", test_crossing);
    g_test_add_func("/cancel/crosses-the-grant-with-dropped-references", test_crossing_and_dropped);
    g_test_add_func("/cancel/after-the-grant", test_after_grant);
    g_test_add_func("/cancel/after-the-timeout", test_after_timeout);
    g_test_add_func("/cancel/one-cancellable-for-many", test_one_for_many);
    g_test_add_func("/cancel/sync-from-another-thread", test_sync_from_thread);
    g_test_add_func("/cancel/query", test_query);
    g_test_add_func("/cancel/release", test_release_cancelled);
    g_test_add_data_func("/cancel/with-steal", "steal", test_with_option);
    g_test_add_data_func("/cancel/with-if-available", "if-available", test_with_option);
    g_test_add_data_func("/cancel/with-steal-unanswered", "steal", test_with_option_unanswered);
    g_test_add_data_func("/cancel/with-if-available-unanswered", "if-available",
                         test_with_option_unanswered);
    return test_run(NULL);
}
