/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The service is killed and started again during one operation at a time: nothing is lost,
 * duplicated, or out of order. */

#include "tests/client/fixture.h"

#define N_AGENTS 3
#define N_KILLS  12

static void
restart(void)
{
    test_service_kill();
    test_service_start();
}

static void
assert_taken(WebLocksManager *manager, const char *name)
{
    g_autoptr(WebLocksOptions) options = test_if_available();
    g_autoptr(GError) error = NULL;

    g_assert_null(web_locks_manager_request_sync(manager, name, options, NULL, &error));
    g_assert_no_error(error);
}

/* ---- held locks and waiting requests */

static void
test_held(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), rival = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a"), next = NULL;
    g_auto(Losses) losses = {0};

    losses_watch(&losses, lock);
    for (guint i = 0; i < 3; i++) {
        restart();
        assert_taken(rival, "a");
        test_settle(manager);
        g_assert_cmpuint(losses.n_lost, ==, 0);
    }
    test_release(lock);
    next = test_lock(rival, "a");
    g_assert_cmpuint(web_locks_lock_get_token(next), >, web_locks_lock_get_token(lock));
}

static void
test_shared_ones(void)
{
    g_autoptr(WebLocksManager) one = test_manager_new(), two = test_manager_new();
    g_autoptr(WebLocksOptions) shared = test_shared();
    g_autoptr(WebLocksLock) first = NULL, second = NULL, third = NULL;
    g_auto(Answer) exclusive = {0};

    first = web_locks_manager_request_sync(one, "a", shared, NULL, NULL);
    second = web_locks_manager_request_sync(two, "a", shared, NULL, NULL);
    answer_ask(&exclusive, one, "a");
    test_settle(one);
    restart();
    test_release(first);
    test_settle(one);
    g_assert_cmpuint(exclusive.n_results, ==, 0);
    test_release(second);
    third = answer_expect_lock(&exclusive);
}

/* Requests of several agents stay in order. */
static void
test_waiting(void)
{
    g_autoptr(WebLocksManager) holder = test_manager_new();
    WebLocksManager *managers[N_AGENTS];
    Answer answers[2 * N_AGENTS] = {0};
    g_autoptr(WebLocksLock) lock = test_lock(holder, "a");

    for (guint i = 0; i < N_AGENTS; i++)
        managers[i] = test_manager_new();
    for (guint i = 0; i < G_N_ELEMENTS(answers); i++) {
        answer_ask(&answers[i], managers[i % N_AGENTS], "a");
        test_settle(managers[i % N_AGENTS]);
    }
    restart();
    test_settle(holder);
    for (guint i = 0; i < G_N_ELEMENTS(answers); i++) {
        test_release(lock);
        g_object_unref(lock);
        lock = answer_expect_lock(&answers[i]);
        for (guint later = i + 1; later < G_N_ELEMENTS(answers); later++)
            g_assert_cmpuint(answers[later].n_results, ==, 0);
        answer_clear(&answers[i]);
        if (i % 2 == 0)
            restart();
    }
    g_clear_object(&lock);
    for (guint i = 0; i < N_AGENTS; i++)
        g_object_unref(managers[i]);
}

/* It is granted before its agent has been notified of the new service. */
static void
test_granted_meanwhile(void)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), waiter = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(holder, "a"), next = NULL;
    g_auto(Answer) waiting = {0};

    answer_ask(&waiting, waiter, "a");
    test_settle(waiter);
    restart();
    test_release(lock);
    next = answer_expect_lock(&waiting);
    assert_taken(holder, "a");
}

/* The holder is killed together with the service. */
static void
test_holder_dies(void)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), waiter = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(holder, "a"), next = NULL;
    g_auto(Answer) waiting = {0};

    answer_ask(&waiting, waiter, "a");
    test_settle(waiter);
    test_service_kill();
    web_locks_agent_close(web_locks_manager_get_agent(holder));
    test_service_start();
    next = answer_expect_lock(&waiting);
}

static void
test_timeout(void)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), waiter = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(holder, "a");
    g_autoptr(WebLocksOptions) options = web_locks_options_new();
    Answer waiting[2] = {0};
    gint64 begin_us = g_get_monotonic_time();

    /* One ends between the two services, the other later. */
    web_locks_options_set_timeout(options, 20);
    web_locks_manager_request_async(waiter, "a", options, NULL, answer_take, &waiting[0]);
    test_settle(waiter);
    test_service_kill();
    while (g_get_monotonic_time() < begin_us + 50 * G_TIME_SPAN_MILLISECOND)
        test_iterate();
    test_service_start();
    answer_expect_error(&waiting[0], WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT);

    begin_us = g_get_monotonic_time();
    web_locks_options_set_timeout(options, 400);
    web_locks_manager_request_async(waiter, "a", options, NULL, answer_take, &waiting[1]);
    test_settle(waiter);
    restart();
    answer_expect_error(&waiting[1], WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT);
    g_assert_cmpint(g_get_monotonic_time() - begin_us, >=, 400 * G_TIME_SPAN_MILLISECOND);
    answer_clear(&waiting[0]);
    answer_clear(&waiting[1]);
}

/* ---- operations in flight: the service is stopped, so it is killed before it reads them */

static void
test_request_in_flight(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    Answer answers[5] = {0};

    test_release(test_lock(manager, "before")); /* the socket is open */
    test_service_pause();
    for (guint i = 0; i < G_N_ELEMENTS(answers); i++)
        answer_ask(&answers[i], manager, "a");
    test_iterate();
    test_bus_settle();
    restart();
    for (guint i = 0; i < G_N_ELEMENTS(answers); i++) {
        g_autoptr(WebLocksLock) lock = answer_expect_lock(&answers[i]);

        for (guint later = i + 1; later < G_N_ELEMENTS(answers); later++)
            g_assert_cmpuint(answers[later].n_results, ==, 0);
        answer_clear(&answers[i]);
        test_release(lock);
    }
    assert_state(manager, " | ");
}

/* The service has processed it, and its answer was not read. */
static void
test_request_processed(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksLock) lock = NULL;
    g_auto(Answer) answer = {0};

    answer_ask(&answer, manager, "a");
    test_wait_for_state(other, "a | ");
    restart();
    lock = answer_expect_lock(&answer);
    assert_state(other, "a | ");
    test_release(lock);
    assert_state(other, " | ");
}

static void
test_release_in_flight(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a");
    g_auto(Answer) released = {0};
    g_autoptr(GError) error = NULL;

    test_service_pause();
    web_locks_lock_release_async(lock, NULL, answer_take, &released);
    test_iterate();
    test_bus_settle();
    restart();
    g_assert_true(web_locks_lock_release_finish(lock, answer_wait(&released), &error));
    g_assert_no_error(error);
    assert_state(manager, " | ");
}

/* No call waits for the release. */
static void
test_drop_in_flight(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a"), next = NULL;
    g_auto(Answer) waiting = {0};

    answer_ask(&waiting, other, "a");
    test_settle(other);
    test_service_pause();
    g_clear_object(&lock);
    test_iterate();
    restart();
    next = answer_expect_lock(&waiting);
}

static void
test_drop_while_away(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a"), next = NULL;
    g_auto(Answer) waiting = {0};

    answer_ask(&waiting, other, "a");
    test_settle(other);
    test_service_kill();
    test_iterate();
    g_clear_object(&lock);
    test_service_start();
    next = answer_expect_lock(&waiting);
}

/* Requests behind it are granted. */
static void
test_abort_in_flight(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a"), next = NULL;
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_auto(Answer) given_up = {0}, behind = {0};

    web_locks_manager_request_async(manager, "a", NULL, cancellable, answer_take, &given_up);
    answer_ask(&behind, manager, "a");
    test_settle(manager);
    test_service_pause();
    g_cancellable_cancel(cancellable);
    answer_expect_error(&given_up, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    restart();
    test_release(lock);
    next = answer_expect_lock(&behind);
    test_wait_for_state(manager, "a | ");
}

/* ---- threads that wait without a main loop */

typedef struct {
    WebLocksManager *manager;
    guint n_done; /* atomic */
} SyncWait;

static gpointer
wait_sync(gpointer data)
{
    SyncWait *self = data;
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksLock) lock =
        web_locks_manager_request_sync(self->manager, "a", NULL, NULL, &error);

    g_assert_no_error(error);
    g_assert_true(web_locks_lock_get_held(lock));
    g_atomic_int_inc(&self->n_done);
    g_assert_true(web_locks_lock_release_sync(lock, NULL, &error));
    g_assert_no_error(error);
    return NULL;
}

/* Two requests of one agent, whose main context is not iterated. */
static void
test_sync(void)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), observer = test_manager_new();
    g_autoptr(GMainContext) context = g_main_context_new();
    g_autoptr(WebLocksLock) lock = test_lock(holder, "a");
    SyncWait wait = {0};
    GThread *threads[2];

    g_main_context_push_thread_default(context);
    wait.manager = test_manager_new();
    g_main_context_pop_thread_default(context);
    for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
        threads[i] = g_thread_new("waiter", wait_sync, &wait);
    test_wait_for_state(observer, "a | a a");
    restart();
    restart();
    assert_state(observer, "a | a a");
    g_assert_cmpuint(g_atomic_int_get(&wait.n_done), ==, 0);
    test_release(lock);
    for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
        g_thread_join(threads[i]);
    assert_state(observer, " | ");
    g_object_unref(wait.manager);
}

/* ---- all of these together, while the service is killed repeatedly */

typedef struct {
    int n_inside; /* atomic, like the others */
    int n_turns;
    gboolean is_over;
} Load;

static gpointer
take_turns(gpointer data)
{
    Load *load = data;
    g_autoptr(GMainContext) context = g_main_context_new();
    g_autoptr(WebLocksManager) manager = NULL;
    guint64 token = 0;

    g_main_context_push_thread_default(context);
    manager = test_manager_new();
    while (!g_atomic_int_get(&load->is_over)) {
        g_autoptr(GError) error = NULL;
        g_autoptr(WebLocksLock) lock =
            web_locks_manager_request_sync(manager, "a", NULL, NULL, &error);

        /* The request was made while no service was running. */
        if (g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE))
            continue;
        g_assert_no_error(error);
        g_assert_cmpint(g_atomic_int_add(&load->n_inside, 1), ==, 0);
        g_assert_cmpuint(web_locks_lock_get_token(lock), >, token);
        token = web_locks_lock_get_token(lock);
        g_atomic_int_inc(&load->n_turns);
        g_thread_yield();
        g_assert_true(web_locks_lock_get_held(lock));
        g_atomic_int_add(&load->n_inside, -1);
        if (g_random_boolean())
            g_clear_object(&lock);
        else
            test_release(lock);
    }
    g_clear_object(&manager);
    g_main_context_pop_thread_default(context);
    return NULL;
}

static void
test_load(void)
{
    Load load = {0};
    GThread *threads[4];

    for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
        threads[i] = g_thread_new("turns", take_turns, &load);
    for (guint i = 0; i < N_KILLS; i++) {
        int n_turns = g_atomic_int_get(&load.n_turns);

        while (g_atomic_int_get(&load.n_turns) < n_turns + 20)
            g_main_context_iteration(NULL, FALSE);
        restart();
    }
    g_atomic_int_set(&load.is_over, TRUE);
    for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
        g_thread_join(threads[i]);
    g_test_message("%d turns, %d kills", load.n_turns, N_KILLS);
}

/* ---- main */

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/resync/held", test_held);
    g_test_add_func("/resync/shared", test_shared_ones);
    g_test_add_func("/resync/waiting", test_waiting);
    g_test_add_func("/resync/granted-meanwhile", test_granted_meanwhile);
    g_test_add_func("/resync/holder-dies", test_holder_dies);
    g_test_add_func("/resync/timeout", test_timeout);
    g_test_add_func("/resync/request-in-flight", test_request_in_flight);
    g_test_add_func("/resync/request-processed", test_request_processed);
    g_test_add_func("/resync/release-in-flight", test_release_in_flight);
    g_test_add_func("/resync/drop-in-flight", test_drop_in_flight);
    g_test_add_func("/resync/drop-while-away", test_drop_while_away);
    g_test_add_func("/resync/abort-in-flight", test_abort_in_flight);
    g_test_add_func("/resync/sync", test_sync);
    g_test_add_func("/resync/load", test_load);
    return test_run(NULL);
}
