/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The service is killed or exits during many operations, and returns: the application only notices
 * a pause. With a service that stores no state, held locks are lost. */

#include "tests/client/fixture.h"
#include "tests/lib/case.h"

#define N_WAITS 5

/* Operations of every kind, in progress. */
typedef struct {
    WebLocksManager *manager;
    WebLocksLock *lock, *other;
    WebLocksMonitor *monitor;
    Losses losses, other_losses;
    Answer waits[N_WAITS];
    Answer in_flight, query, inspect, release, many;
} Load;

static void
load_start(Load *load)
{
    load->manager = test_manager_new();
    load->lock = test_lock(load->manager, "a");
    load->other = test_lock(load->manager, "b");
    load->monitor = no_error(web_locks_monitor_new_sync(load->manager, NULL, &test_error));
    losses_watch(&load->losses, load->lock);
    losses_watch(&load->other_losses, load->other);
    for (guint i = 0; i < N_WAITS; i++)
        answer_ask(&load->waits[i], load->manager, "a");
    test_settle(load->manager);
}

/* Makes calls that this service doesn't answer. */
static void
load_call(Load *load)
{
    static const char *const names[] = {"x", "y", NULL};

    answer_ask(&load->in_flight, load->manager, "c");
    web_locks_manager_query_async(load->manager, NULL, answer_take, &load->query);
    web_locks_manager_inspect_async(load->manager, NULL, NULL, answer_take, &load->inspect);
    web_locks_lock_release_async(load->other, NULL, answer_take, &load->release);
    web_locks_manager_request_many_async(load->manager, names, NULL, NULL, answer_take,
                                         &load->many);
    test_iterate();
    test_bus_settle();
}

/* The calls have succeeded, as if nothing had happened. */
static void
load_check_calls(Load *load)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksLock) lock = answer_expect_lock(&load->in_flight);
    g_autoptr(WebLocksSnapshot) query = NULL, inspection = NULL;
    g_autoptr(GPtrArray) locks = NULL;

    query = no_error(
        web_locks_manager_query_finish(load->manager, answer_wait(&load->query), &test_error));
    inspection =
        web_locks_manager_inspect_finish(load->manager, answer_wait(&load->inspect), &error);
    g_assert_no_error(error);
    assert_done(
        web_locks_lock_release_finish(load->other, answer_wait(&load->release), &test_error));
    locks = no_error(web_locks_manager_request_many_finish(load->manager, answer_wait(&load->many),
                                                           &test_error));
    g_assert_cmpuint(locks->len, ==, 2);
    g_assert_cmpuint(load->other_losses.n_lost, ==, 0);
}

/* The calls have completed, with any result. */
static void
load_wait_for_calls(Load *load)
{
    answer_wait(&load->in_flight);
    answer_wait(&load->query);
    answer_wait(&load->inspect);
    answer_wait(&load->release);
    answer_wait(&load->many);
}

/* Waiting requests are granted, one after the other; `token` is that of the lock before. */
static void
load_check_waits(Load *load, guint64 token)
{
    for (guint i = 0; i < N_WAITS; i++) {
        g_autoptr(WebLocksLock) next = answer_expect_lock(&load->waits[i]);

        for (guint later = i + 1; later < N_WAITS; later++)
            g_assert_cmpuint(load->waits[later].n_results, ==, 0);
        g_assert_cmpuint(web_locks_lock_get_token(next), >, token);
        token = web_locks_lock_get_token(next);
        answer_clear(&load->waits[i]);
        test_release(next);
    }
}

static void
load_check_held(Load *load)
{
    g_autoptr(WebLocksManager) rival = test_manager_new();
    g_autoptr(WebLocksOptions) options = test_if_available();

    test_settle(load->manager);
    g_assert_null(no_error(web_locks_manager_request_sync(rival, "a", options, NULL, &test_error)));
    g_assert_true(web_locks_lock_get_held(load->lock));
    g_assert_cmpuint(load->losses.n_lost, ==, 0);
    test_release(load->lock);
    load_check_waits(load, web_locks_lock_get_token(load->lock));
}

static void
check_lost(Losses *losses, WebLocksLock *lock)
{
    test_wait(test_is_set, &losses->n_lost);
    g_assert_cmpstr(losses->reason, ==, "lost");
    g_assert_cmpuint(losses->n_held_notifies, ==, 1);
    g_assert_false(web_locks_lock_get_held(lock));
    assert_fails(web_locks_lock_release_sync(lock, NULL, &test_error), WEB_LOCKS_ERROR,
                 WEB_LOCKS_ERROR_LOST);
    g_assert_error(web_locks_lock_get_error(lock), WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LOST);
}

/* The same agent continues with the next service. */
static void
load_check_again(Load *load)
{
    g_autoptr(WebLocksLock) again = test_lock(load->manager, "a");

    g_assert_cmpuint(web_locks_lock_get_token(again), >, web_locks_lock_get_token(load->lock));
    test_wait_for_state(load->manager, "a | ");
    test_release(again);
}

static void
load_end(Load *load)
{
    g_clear_object(&load->lock);
    g_clear_object(&load->other);
    g_clear_object(&load->monitor);
    g_clear_object(&load->manager);
    losses_clear(&load->losses);
    losses_clear(&load->other_losses);
    for (guint i = 0; i < N_WAITS; i++)
        answer_clear(&load->waits[i]);
    answer_clear(&load->in_flight);
    answer_clear(&load->query);
    answer_clear(&load->inspect);
    answer_clear(&load->release);
    answer_clear(&load->many);
}

TEST("/service-gone/killed", test_killed)
{
    Load load = {0};

    load_start(&load);
    test_service_pause();
    load_call(&load);
    test_service_kill();
    test_service_start();
    load_check_calls(&load);
    load_check_held(&load);
    load_check_again(&load);
    load_end(&load);
}

/* Held locks are lost; waiting requests and calls without an answer are sent again. */
TEST("/service-gone/killed-without-state", test_killed_without_state)
{
    Load load = {0};

    load_start(&load);
    test_service_pause();
    load_call(&load);
    test_service_kill();
    test_service_start_with("--no-state");
    load_check_calls(&load);
    check_lost(&load.losses, load.lock);
    load_check_waits(&load, 0);
    g_assert_cmpuint(load.losses.n_lost, ==, 1);
    load_end(&load);
    test_service_stop();
    test_service_start();
}

TEST("/service-gone/stopped", test_stopped)
{
    Load load = {0};

    load_start(&load);
    test_service_stop();
    load_call(&load);
    test_service_start();
    g_assert_true(web_locks_lock_get_held(load.lock));
    g_assert_cmpuint(load.losses.n_lost, ==, 0);
    test_release(load.lock);
    load_check_waits(&load, web_locks_lock_get_token(load.lock));
    load_wait_for_calls(&load);
    load_end(&load);
}

/* A service without stored state notifies clients of their losses before it exits. */
TEST("/service-gone/stopped-without-state", test_stopped_without_state)
{
    Load load = {0};

    test_service_stop();
    test_service_start_with("--no-state");
    load_start(&load);
    test_service_stop();
    check_lost(&load.losses, load.lock);
    check_lost(&load.other_losses, load.other);
    for (guint i = 0; i < N_WAITS; i++)
        answer_expect_error(&load.waits[i], WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    test_service_start();
    load_check_again(&load);
    load_end(&load);
}

TEST("/service-gone/replaced", test_replaced)
{
    Load load = {0};

    test_service_stop();
    test_service_start_with("--replace");
    load_start(&load);
    load_call(&load);
    test_service_start_with("--replace");
    load_check_calls(&load);
    load_check_held(&load);
    load_check_again(&load);
    load_end(&load);
    test_service_stop();
    test_service_start();
}

TEST_MAIN(test_run(NULL))
