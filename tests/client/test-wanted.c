/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whether somebody waits for a lock: its property `wanted`. */

#include "tests/client/fixture.h"
#include "tests/lib/case.h"

#define DEADLINE_US (test_factor() * 30 * G_TIME_SPAN_SECOND)

typedef struct {
    WebLocksLock *lock;
    GString *values; /* at each notification */
    GThread *thread;
} Watch;

static void
on_notify(WebLocksLock *lock, GParamSpec *pspec, gpointer data)
{
    Watch *watch = data;

    g_assert_true(watch->thread == g_thread_self());
    g_string_append_c(watch->values, web_locks_lock_get_wanted(lock) ? '1' : '0');
}

static void
watch_init(Watch *watch, WebLocksLock *lock)
{
    *watch = (Watch){lock, g_string_new(NULL), g_thread_self()};
    g_signal_connect(lock, "notify::wanted", G_CALLBACK(on_notify), watch);
}

static void
watch_clear(Watch *watch)
{
    g_signal_handlers_disconnect_by_data(watch->lock, watch);
    g_string_free(watch->values, TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Watch, watch_clear)

static gboolean
is_wanted(gpointer lock)
{
    return web_locks_lock_get_wanted(lock);
}

static gboolean
is_not_wanted(gpointer lock)
{
    return !web_locks_lock_get_wanted(lock);
}

static gboolean
has_one(gpointer watch)
{
    return ((const Watch *)watch)->values->len == 1;
}

static gboolean
has_two(gpointer watch)
{
    return ((const Watch *)watch)->values->len == 2;
}

/* What the holder's property was at each notification. */
TEST("/wanted/request", test_request)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(holder, "a"), unrelated = test_lock(holder, "b");
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_auto(Watch) watch = {0};
    g_auto(Answer) answer = {0};
    gboolean wanted = FALSE;

    watch_init(&watch, lock);
    g_assert_false(web_locks_lock_get_wanted(lock));
    web_locks_manager_request_async(other, "a", NULL, cancellable, answer_take, &answer);
    test_wait(has_one, &watch);
    g_object_get(lock, "wanted", &wanted, NULL);
    g_assert_true(wanted);
    g_cancellable_cancel(cancellable);
    answer_expect_error(&answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    test_wait(has_two, &watch);
    g_assert_cmpstr(watch.values->str, ==, "10");
    g_assert_false(web_locks_lock_get_wanted(unrelated));
}

/* The next holder of a lock that others wait for, and the end of a lock that was wanted. */
TEST("/wanted/ends", test_ends)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(holder, "a"), next = NULL, last = NULL;
    g_auto(Watch) watch = {0}, next_watch = {0};
    g_auto(Answer) first = {0}, second = {0};

    answer_ask(&first, other, "a");
    answer_ask(&second, other, "a");
    test_wait(is_wanted, lock);
    watch_init(&watch, lock);
    web_locks_lock_release(lock);
    g_assert_cmpstr(watch.values->str, ==, "0");
    next = answer_expect_lock(&first);
    test_wait(is_wanted, next);
    watch_init(&next_watch, next);
    g_object_unref(test_lock_stolen(holder, "a"));
    test_wait(has_one, &next_watch);
    g_assert_cmpstr(next_watch.values->str, ==, "0");
    last = answer_expect_lock(&second);
    test_settle(other);
    g_assert_false(web_locks_lock_get_wanted(last));
}

/* What has arrived counts. If nobody listens, nothing is queued for the context. */
TEST("/wanted/without-a-main-loop", test_without_a_main_loop)
{
    g_autoptr(WebLocksManager) other = test_manager_new();
    g_autoptr(GMainContext) context = g_main_context_new();
    g_auto(Answer) answer = {0};

    answer_ask(&answer, other, "a");
    {
        g_autoptr(WebLocksLock) before = answer_expect_lock(&answer);

        g_main_context_push_thread_default(context);
        {
            g_autoptr(WebLocksManager) holder = test_manager_new();
            g_autoptr(WebLocksLock) lock = test_lock_stolen(holder, "a");
            const gint64 deadline_us = g_get_monotonic_time() + DEADLINE_US;
            g_autoptr(GCancellable) cancellable = g_cancellable_new();
            g_auto(Answer) waits = {0};
            g_auto(Watch) watch = {0};

            g_main_context_pop_thread_default(context);
            for (guint i = 0; i < 20; i++) {
                g_cancellable_reset(cancellable);
                web_locks_manager_request_async(other, "a", NULL, cancellable, answer_take, &waits);
                while (!web_locks_lock_get_wanted(lock))
                    g_assert_cmpint(g_get_monotonic_time(), <, deadline_us);
                g_cancellable_cancel(cancellable);
                while (web_locks_lock_get_wanted(lock))
                    g_assert_cmpint(g_get_monotonic_time(), <, deadline_us);
                answer_expect_error(&waits, G_IO_ERROR, G_IO_ERROR_CANCELLED);
                answer_clear(&waits);
                waits = (Answer){0};
            }
            g_main_context_push_thread_default(context);
            watch_init(&watch, lock);
            test_iterate();
            g_assert_cmpstr(watch.values->str, ==, "");
        }
        g_main_context_pop_thread_default(context);
    }
}

/* The next service tells it again, or that it is so no more. */
TEST("/wanted/restart", test_restart)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksLock) a = test_lock(holder, "a"), b = test_lock(holder, "b");
    g_autoptr(WebLocksManager) goes = test_manager_new();
    g_auto(Watch) watch_a = {0}, watch_b = {0};
    g_auto(Answer) to_a = {0}, to_b = {0};

    watch_init(&watch_a, a);
    watch_init(&watch_b, b);
    answer_ask(&to_a, other, "a");
    answer_ask(&to_b, goes, "b");
    test_wait(has_one, &watch_a);
    test_wait(has_one, &watch_b);
    test_service_kill();
    web_locks_agent_close(web_locks_manager_get_agent(goes));
    test_service_start();
    test_wait(is_not_wanted, b);
    test_settle(holder);
    g_assert_true(web_locks_lock_get_wanted(a));
    g_assert_cmpstr(watch_a.values->str, ==, "1");
    g_assert_cmpstr(watch_b.values->str, ==, "10");
    web_locks_lock_release(a);
    g_object_unref(answer_expect_lock(&to_a));
}

TEST_MAIN(test_run(NULL))
