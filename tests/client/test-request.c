/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Requests: which are granted, and when. */

#include <string.h>

#include "tests/client/fixture.h"

/* ---- granted */

static void
test_immediate(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksLock) lock = web_locks_manager_request_sync(manager, "a", NULL, NULL, &error);

    g_assert_no_error(error);
    g_assert_true(web_locks_lock_get_held(lock));
    g_assert_cmpstr(web_locks_lock_get_name(lock), ==, "a");
    g_assert_cmpint(web_locks_lock_get_mode(lock), ==, WEB_LOCKS_MODE_EXCLUSIVE);
    g_assert_cmpuint(web_locks_lock_get_token(lock), !=, 0);
    assert_state(manager, "a | ");
    test_release(lock);
    assert_state(manager, " | ");
}

static void
test_async(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_auto(Answer) answer = {0};
    g_autoptr(WebLocksLock) lock = NULL;

    answer_ask(&answer, manager, "a");
    g_assert_cmpuint(answer.n_results, ==, 0); /* never within the call */
    lock = answer_expect_lock(&answer);
    g_assert_true(answer.thread == g_thread_self());
}

static void
test_waiting(void)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), waiter = test_manager_new();
    g_autoptr(WebLocksLock) held = test_lock(holder, "a"), lock = NULL;
    g_auto(Answer) answer = {0};

    answer_ask(&answer, waiter, "a");
    test_wait_for_state(waiter, "a | a");
    g_assert_cmpuint(answer.n_results, ==, 0);
    test_release(held);
    lock = answer_expect_lock(&answer);
    g_assert_cmpuint(web_locks_lock_get_token(lock), >, web_locks_lock_get_token(held));
    assert_state(waiter, "a | ");
}

typedef struct {
    GPtrArray *order; /* of names of agents, borrowed */
    const char *agent;
    WebLocksLock *lock;
} Turn;

static void
on_turn(GObject *source, GAsyncResult *result, gpointer data)
{
    Turn *turn = data;
    g_autoptr(GError) error = NULL;

    turn->lock = web_locks_manager_request_finish(WEB_LOCKS_MANAGER(source), result, &error);
    g_assert_no_error(error);
    g_ptr_array_add(turn->order, (gpointer)turn->agent);
    /* Releases the lock, so that the next is granted. */
    g_clear_object(&turn->lock);
}

static gboolean
has_8(gpointer data)
{
    return ((GPtrArray *)data)->len == 8;
}

static void
test_fifo(void)
{
    static const char *const letters = "ABCDEFGH";
    g_autoptr(GPtrArray) order = g_ptr_array_new();
    g_autoptr(GPtrArray) managers = g_ptr_array_new_with_free_func(g_object_unref);
    g_autoptr(WebLocksManager) holder = test_manager_new();
    g_autoptr(WebLocksLock) held = test_lock(holder, "a");
    Turn turns[8] = {{0}};
    g_autoptr(GString) granted = g_string_new(NULL);

    for (guint i = 0; i < 8; i++) {
        WebLocksManager *manager = test_manager_new();

        g_ptr_array_add(managers, manager);
        turns[i].order = order;
        turns[i].agent = letters + i;
        web_locks_manager_request_async(manager, "a", NULL, NULL, on_turn, &turns[i]);
        test_settle(manager);
    }
    test_release(held);
    test_wait(has_8, order);
    for (guint i = 0; i < 8; i++)
        g_string_append_c(granted, *(const char *)order->pdata[i]);
    g_assert_cmpstr(granted->str, ==, letters);
}

/* The same with requests of one agent, whose answers come on one socket. */
static void
test_fifo_of_one_agent(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(GPtrArray) order = g_ptr_array_new();
    Turn turns[8] = {{0}};

    for (guint i = 0; i < 8; i++) {
        turns[i].order = order;
        turns[i].agent = &"ABCDEFGH"[i];
        web_locks_manager_request_async(manager, "a", NULL, NULL, on_turn, &turns[i]);
    }
    test_wait(has_8, order);
    for (guint i = 0; i < 8; i++)
        g_assert_true(order->pdata[i] == turns[i].agent);
}

static void
test_shared_together(void)
{
    g_autoptr(WebLocksManager) one = test_manager_new(), two = test_manager_new(),
                               three = test_manager_new();
    g_autoptr(WebLocksOptions) shared = test_shared();
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksLock) first = NULL, second = NULL, third = NULL;
    g_auto(Answer) exclusive = {0};

    first = web_locks_manager_request_sync(one, "a", shared, NULL, &error);
    g_assert_no_error(error);
    second = web_locks_manager_request_sync(two, "a", shared, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpint(web_locks_lock_get_mode(second), ==, WEB_LOCKS_MODE_SHARED);

    answer_ask(&exclusive, three, "a");
    test_wait_for_state(three, "a:s a:s | a");
    test_release(first);
    test_settle(three);
    g_assert_cmpuint(exclusive.n_results, ==, 0);
    test_release(second);
    third = answer_expect_lock(&exclusive);
    assert_state(three, "a | ");
}

static void
test_if_available_both(void)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksOptions) options = test_if_available();
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksLock) held = test_lock(holder, "a"), none = NULL, again = NULL;
    g_auto(Answer) answer = {0};

    none = web_locks_manager_request_sync(other, "a", options, NULL, &error);
    g_assert_no_error(error);
    g_assert_null(none);
    web_locks_manager_request_async(other, "a", options, NULL, answer_take, &answer);
    none = answer_get_lock(&answer, &error);
    g_assert_no_error(error);
    g_assert_null(none);
    assert_state(other, "a | "); /* nothing remains of it */
    test_release(held);
    again = test_lock(other, "a");
}

static void
test_stolen(void)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), other = test_manager_new(),
                               waiter = test_manager_new();
    g_autoptr(WebLocksLock) held = test_lock(holder, "a"), stolen = NULL, last = NULL;
    g_autoptr(WebLocksOptions) steal = test_steal();
    g_autoptr(GError) error = NULL;
    g_auto(Losses) losses = {0};
    g_auto(Answer) waiting = {0};

    losses_watch(&losses, held);
    answer_ask(&waiting, waiter, "a");
    test_settle(waiter);
    stolen = web_locks_manager_request_sync(other, "a", steal, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(web_locks_lock_get_token(stolen), >, web_locks_lock_get_token(held));
    test_wait(test_is_set, &losses.n_lost);
    g_assert_cmpstr(losses.reason, ==, "stolen");
    g_assert_false(losses.was_held);
    assert_state(other, "a | a"); /* the waiting request still waits */
    test_release(stolen);
    last = answer_expect_lock(&waiting);
}

static void
test_timed_out(void)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), waiter = test_manager_new();
    g_autoptr(WebLocksOptions) options = g_object_new(WEB_LOCKS_TYPE_OPTIONS, "timeout", 50, NULL);
    g_autoptr(WebLocksLock) held = test_lock(holder, "a"), none = NULL;
    g_autoptr(GError) error = NULL;
    gint64 start = g_get_monotonic_time();
    g_auto(Answer) answer = {0};

    none = web_locks_manager_request_sync(waiter, "a", options, NULL, &error);
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT);
    g_assert_null(none);
    g_assert_cmpint(g_get_monotonic_time() - start, >=, 50 * 1000);
    web_locks_manager_request_async(waiter, "a", options, NULL, answer_take, &answer);
    answer_expect_error(&answer, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT);
    assert_state(waiter, "a | ");
}

/* A time-out limits the waiting only. */
static void
test_timeout_not_of_holding(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksOptions) options = g_object_new(WEB_LOCKS_TYPE_OPTIONS, "timeout", 1, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksLock) lock =
        web_locks_manager_request_sync(manager, "a", options, NULL, &error);
    gint64 until = g_get_monotonic_time() + 30 * 1000;

    g_assert_no_error(error);
    while (g_get_monotonic_time() < until)
        test_settle(manager);
    g_assert_true(web_locks_lock_get_held(lock));
    assert_state(manager, "a | ");
}

/* ---- names */

static char *
name_of_length(guint length)
{
    return g_strnfill(length, 'n');
}

static void
check_good_name(const char *name)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, name);
    g_autofree char *state = test_state(manager), *expected = g_strdup_printf("%s | ", name);

    g_assert_cmpstr(web_locks_lock_get_name(lock), ==, name);
    g_assert_cmpstr(state, ==, expected);
    test_release(lock);
}

static void
test_good_names(void)
{
    g_autofree char *longest = name_of_length(1024);

    check_good_name("");
    check_good_name("a-");
    check_good_name("\x10");
    check_good_name("\x7f");
    check_good_name("g\xc3\xb6nnen \xf0\x9f\x94\x92");
    check_good_name("\xef\xbf\xbd"); /* U+FFFD is valid */
    check_good_name(longest);
}

static void
check_bad_name(const char *name, GQuark domain, int code)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksLock) lock =
        web_locks_manager_request_sync(manager, name, NULL, NULL, &error);
    g_auto(Answer) answer = {0};

    g_assert_error(error, domain, code);
    g_assert_null(lock);
    web_locks_manager_request_async(manager, name, NULL, NULL, answer_take, &answer);
    answer_expect_error(&answer, domain, code);
    assert_state(manager, " | ");
}

static void
test_bad_names(void)
{
    static const char *const bad[] = {
        "\xff",             /* not UTF-8 */
        "half \xc3",        /* truncated */
        "\xed\xa0\x80",     /* a surrogate */
        "\xc0\xaf",         /* overlong */
        "\xef\xbf\xbf",     /* U+FFFF */
        "\xef\xbf\xbe",     /* U+FFFE */
        "\xef\xb7\x90",     /* U+FDD0 */
        "\xef\xb7\xaf",     /* U+FDEF */
        "\xf0\x9f\xbf\xbf", /* U+1FFFF */
        "\xf4\x8f\xbf\xbe", /* U+10FFFE */
    };
    g_autofree char *too_long = name_of_length(1025);

    for (guint i = 0; i < G_N_ELEMENTS(bad); i++)
        check_bad_name(bad[i], G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT);
    check_bad_name("-", WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED);
    check_bad_name("-reserved", WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED);
    check_bad_name(too_long, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LIMITS);
}

/* A huge name is refused without being read as a whole, let alone copied. */
static void
test_huge_names(void)
{
    const gsize size = 200 * 1024 * 1024;
    g_autofree char *huge = g_malloc(size + 1);
    const char *const names[] = {"a", huge, NULL};
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksOptions) options = web_locks_options_new();
    g_autoptr(GError) error = NULL;
    gint64 begin_us;

    memset(huge, 'n', size);
    huge[size] = '\0';
    begin_us = g_get_monotonic_time();
    for (guint i = 0; i < 100; i++) {
        g_clear_error(&error);
        g_assert_null(web_locks_manager_request_sync(manager, huge, NULL, NULL, &error));
        g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LIMITS);
        g_assert_nonnull(strstr(error->message, "nameBytes"));
        g_clear_error(&error);
        g_assert_null(web_locks_manager_inspect_sync(manager, huge, NULL, &error));
        g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LIMITS);
    }
    /* Reading it once takes longer than all of this. */
    g_assert_cmpint(g_get_monotonic_time() - begin_us, <, test_factor() * G_TIME_SPAN_SECOND);
    g_clear_error(&error);
    g_assert_null(web_locks_manager_request_many_sync(manager, names, NULL, NULL, &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LIMITS);
    huge[0] = '-';
    g_clear_error(&error);
    g_assert_null(web_locks_manager_request_sync(manager, huge, NULL, NULL, &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED);
    g_clear_error(&error);
    web_locks_options_set_why(options, huge);
    g_assert_null(web_locks_manager_request_sync(manager, "a", options, NULL, &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LIMITS);
    g_clear_error(&error);
    g_assert_cmpint(web_locks_manager_break_sync(manager, huge, NULL, NULL, &error), ==, -1);
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED);
    g_clear_error(&error);
    g_assert_null(web_locks_manager_inspect_sync(manager, huge, NULL, &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LIMITS);
    g_clear_error(&error);
    g_assert_null(web_locks_monitor_new_for_name(manager, huge, &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LIMITS);
    assert_state(manager, " | ");
}

/* That the agent is unusable is checked before everything else [3.2.1]. */
static void
test_closed_first(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    const char *const names[] = {"a", "-", NULL};
    g_autoptr(WebLocksOptions) options =
        g_object_new(WEB_LOCKS_TYPE_OPTIONS, "steal", TRUE, "if-available", TRUE, NULL);
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_autoptr(GError) error = NULL;
    g_auto(Answer) name = {0}, both = {0}, cancelled = {0}, many = {0};

    g_cancellable_cancel(cancellable);
    web_locks_agent_close(web_locks_manager_get_agent(manager));
    web_locks_manager_request_async(manager, "-", NULL, NULL, answer_take, &name);
    answer_expect_error(&name, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE);
    web_locks_manager_request_async(manager, "a", options, NULL, answer_take, &both);
    answer_expect_error(&both, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE);
    web_locks_manager_request_async(manager, "a", NULL, cancellable, answer_take, &cancelled);
    answer_expect_error(&cancelled, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE);
    g_assert_null(web_locks_manager_request_sync(manager, "-", options, cancellable, &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE);
    g_clear_error(&error);

    g_assert_null(
        web_locks_manager_request_many_sync(manager, names, options, cancellable, &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE);
    g_clear_error(&error);
    web_locks_manager_request_many_async(manager, names, options, NULL, answer_take, &many);
    g_assert_null(web_locks_manager_request_many_finish(manager, answer_wait(&many), &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE);
}

static void
test_buckets_apart(void)
{
    g_autoptr(WebLocksAgent) agent = test_agent_new();
    g_autoptr(WebLocksManager) one = test_manager_of(agent);
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksManager) two = web_locks_manager_new(agent, "another bucket");
    g_autoptr(WebLocksLock) lock_1 = test_lock(one, "a"), lock_2 = test_lock(two, "a");

    assert_state(one, "a | ");
    assert_state(two, "a | ");
}

/* ---- options */

typedef struct {
    gboolean steal, if_available, shared;
    guint timeout_ms;
    gboolean is_invalid_argument; /* else NOT_SUPPORTED */
} BadOptions;

static void
test_bad_options(void)
{
    static const BadOptions rows[] = {
        {.steal = TRUE, .if_available = TRUE},
        {.steal = TRUE, .shared = TRUE},
        {.if_available = TRUE, .timeout_ms = 5, .is_invalid_argument = TRUE},
    };
    g_autoptr(WebLocksManager) manager = test_manager_new();

    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        const BadOptions *row = &rows[i];
        g_autoptr(WebLocksOptions) options = g_object_new(
            WEB_LOCKS_TYPE_OPTIONS, "steal", row->steal, "if-available", row->if_available, "mode",
            row->shared ? WEB_LOCKS_MODE_SHARED : WEB_LOCKS_MODE_EXCLUSIVE, "timeout",
            row->timeout_ms, NULL);
        g_autoptr(GError) error = NULL;
        g_autoptr(WebLocksLock) lock =
            web_locks_manager_request_sync(manager, "a", options, NULL, &error);

        g_assert_null(lock);
        if (row->is_invalid_argument)
            g_assert_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT);
        else
            g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED);
    }
    assert_state(manager, " | ");
}

/* Later changes of the options don't affect a request that has been made. */
static void
test_options_copied(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksOptions) options = test_shared();
    g_auto(Answer) answer = {0};
    g_autoptr(WebLocksLock) lock = NULL;

    web_locks_manager_request_async(manager, "a", options, NULL, answer_take, &answer);
    web_locks_options_set_mode(options, WEB_LOCKS_MODE_EXCLUSIVE);
    lock = answer_expect_lock(&answer);
    g_assert_cmpint(web_locks_lock_get_mode(lock), ==, WEB_LOCKS_MODE_SHARED);
    assert_state(manager, "a:s | ");
}

static void
test_why_too_long(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autofree char *longest = name_of_length(256), *too_long = name_of_length(257);
    g_autoptr(WebLocksOptions) options = g_object_new(WEB_LOCKS_TYPE_OPTIONS, "why", longest, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksLock) lock =
        web_locks_manager_request_sync(manager, "a", options, NULL, &error);
    g_autoptr(WebLocksLock) none = NULL;

    g_assert_no_error(error);
    g_assert_nonnull(lock);
    web_locks_options_set_why(options, too_long);
    none = web_locks_manager_request_sync(manager, "b", options, NULL, &error);
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LIMITS);
}

static void
test_limit_of_requests(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(GPtrArray) locks = g_ptr_array_new_with_free_func(g_object_unref);
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksLock) none = NULL, others = NULL;

    for (guint i = 0; i < 20; i++) {
        g_autofree char *name = g_strdup_printf("n%u", i);

        g_ptr_array_add(locks, test_lock(manager, name));
    }
    none = web_locks_manager_request_sync(manager, "one more", NULL, NULL, &error);
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LIMITS);
    g_assert_nonnull(strstr(error->message, "requestsPerClient"));
    others = test_lock(other, "one more");
    g_ptr_array_set_size(locks, 19);
    g_ptr_array_add(locks, test_lock(manager, "one instead"));
}

int
main(int argc, char **argv)
{
    static const char *const limits[] = {"requestsPerClient=20", NULL};

    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/request/granted-at-once", test_immediate);
    g_test_add_func("/request/async", test_async);
    g_test_add_func("/request/waits-for-the-release", test_waiting);
    g_test_add_func("/request/first-come-first-served", test_fifo);
    g_test_add_func("/request/huge-names", test_huge_names);
    g_test_add_func("/request/of-a-closed-agent", test_closed_first);
    g_test_add_func("/request/first-come-first-served-within-an-agent", test_fifo_of_one_agent);
    g_test_add_func("/request/shared", test_shared_together);
    g_test_add_func("/request/if-available", test_if_available_both);
    g_test_add_func("/request/steal", test_stolen);
    g_test_add_func("/request/timeout", test_timed_out);
    g_test_add_func("/request/timeout-is-of-waiting-only", test_timeout_not_of_holding);
    g_test_add_func("/request/good-names", test_good_names);
    g_test_add_func("/request/bad-names", test_bad_names);
    g_test_add_func("/request/buckets-are-apart", test_buckets_apart);
    g_test_add_func("/request/bad-options", test_bad_options);
    g_test_add_func("/request/options-are-copied", test_options_copied);
    g_test_add_func("/request/why-is-limited", test_why_too_long);
    g_test_add_func("/request/requests-are-limited", test_limit_of_requests);
    return test_run(limits);
}
