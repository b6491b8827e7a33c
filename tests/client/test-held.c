/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whether a lock is still held, in a program that runs no main loop: what has arrived counts. The
 * signal is emitted when the main context runs, and not before. */

#include "tests/client/fixture.h"
#include "tests/lib/case.h"

/* More packets than are read for one event, and fewer than the socket holds. */
#define N_LOCKS     24
#define DEADLINE_US (test_factor() * 30 * G_TIME_SPAN_SECOND)

static void
break_by_name(WebLocksManager *other, const char *name)
{
    g_assert_cmpint(no_error(web_locks_manager_break_sync(other, name, NULL, NULL, &test_error)),
                    ==, 1);
}

/* The service has sent all messages of a call when it answers the next one. */
static void
barrier(WebLocksManager *other)
{
    g_free(test_state(other));
}

TEST("/held/stolen", test_stolen)
{
    g_autoptr(WebLocksManager) other = test_manager_new();
    g_autoptr(GMainContext) context = g_main_context_new();

    g_main_context_push_thread_default(context);
    {
        g_autoptr(WebLocksManager) holder = test_manager_new();
        g_autoptr(WebLocksLock) lock = test_lock(holder, "a"), kept = test_lock(holder, "b");
        g_auto(Losses) losses = {0};
        g_auto(Answer) answer = {0};
        gboolean held = TRUE;

        losses_watch(&losses, lock);
        answer_ask(&answer, holder, "c");
        g_assert_true(web_locks_lock_get_held(lock));
        g_object_unref(test_lock_stolen(other, "a"));
        barrier(other);
        barrier(holder); /* a synchronous call reads both, and calls nobody */
        g_assert_cmpuint(losses.n_lost + losses.n_held_notifies + answer.n_results, ==, 0);
        g_object_get(lock, "held", &held, NULL);
        g_assert_false(held);
        g_assert_false(web_locks_lock_get_held(lock));
        g_assert_error(web_locks_lock_get_error(lock), WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_STOLEN);
        g_assert_true(web_locks_lock_get_held(kept));
        g_assert_cmpuint(losses.n_lost, ==, 0);
        test_wait(test_is_set, &losses.n_lost);
        g_assert_cmpuint(losses.n_held_notifies, ==, 1);
        g_assert_true(losses.thread == g_thread_self());
        g_object_unref(answer_expect_lock(&answer));
    }
    g_main_context_pop_thread_default(context);
}

/* Each loss is in a packet of its own, and the last one is found immediately, too. */
TEST("/held/many", test_many)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), other = test_manager_new();
    g_autoptr(GPtrArray) locks = g_ptr_array_new_with_free_func(g_object_unref);

    for (guint i = 0; i < N_LOCKS; i++) {
        g_autofree char *name = g_strdup_printf("%u", i);

        g_ptr_array_add(locks, test_lock(holder, name));
    }
    for (guint i = 0; i < N_LOCKS; i++)
        break_by_name(other, web_locks_lock_get_name(locks->pdata[i]));
    barrier(other);
    g_assert_false(web_locks_lock_get_held(locks->pdata[N_LOCKS - 1]));
    for (guint i = 0; i < N_LOCKS; i++)
        g_assert_false(web_locks_lock_get_held(locks->pdata[i]));
}

/* The service restarts without its state, which takes the library some messages to find out. */
TEST("/held/service-restarts-without-state", test_restarted_without_state)
{
    g_autoptr(WebLocksManager) holder = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(holder, "a");
    const gint64 deadline_us = g_get_monotonic_time() + DEADLINE_US;

    test_service_kill();
    test_service_start_with("--no-state");
    while (web_locks_lock_get_held(lock))
        g_assert_cmpint(g_get_monotonic_time(), <, deadline_us);
    g_assert_error(web_locks_lock_get_error(lock), WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LOST);
    test_service_stop();
    test_service_start();
}

TEST_MAIN(test_run(NULL))
