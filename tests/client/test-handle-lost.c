/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Handles whose lock is lost: it is stolen, the agent or the service ends; and child processes. */

#include "tests/client/handles.h"
#include "tests/lib/case.h"

#include <sys/wait.h>
#include <unistd.h>

#define DEADLINE_US (test_factor() * 30 * G_TIME_SPAN_SECOND)

static void
on_lost(WebLocksHandle *handle, GError *error, gpointer data)
{
    Losses *losses = data;
    g_autoptr(GError) same = web_locks_handle_get_error(handle);

    losses->n_lost++;
    g_assert_error(same, error->domain, error->code);
    g_assert_false(web_locks_handle_get_held(handle));
}

static void
on_held_notify(WebLocksHandle *handle, GParamSpec *pspec, gpointer data)
{
    ((Losses *)data)->n_held_notifies++;
}

static void
watch(Losses *losses, WebLocksHandle *handle)
{
    g_signal_connect(handle, "lost", G_CALLBACK(on_lost), losses);
    g_signal_connect(handle, "notify::held", G_CALLBACK(on_held_notify), losses);
}

static void
steal(WebLocksManager *other)
{
    g_object_unref(test_lock_stolen(other, "a"));
}

static void
expect_loss(WebLocksHandle *handle, Losses *losses, int code)
{
    g_autoptr(GError) error = NULL;
    const gint64 deadline_us = g_get_monotonic_time() + DEADLINE_US;

    while ((error = web_locks_handle_get_error(handle)) == NULL)
        g_assert_cmpint(g_get_monotonic_time(), <, deadline_us);
    g_assert_error(error, WEB_LOCKS_ERROR, code);
    g_assert_false(web_locks_handle_get_held(handle));
    test_wait(test_is_set, &losses->n_lost);
    g_assert_cmpuint(losses->n_held_notifies, ==, 1);
    losses->n_lost = losses->n_held_notifies = 0;
    handle_leave(handle);
}

/* ---- stolen */

TEST("/handle/stolen", test_stolen)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);
    g_auto(Losses) losses = {0};

    watch(&losses, handle);
    for (guint i = 0; i < 3; i++) {
        handle_enter_and_leave(handle);
        handle_enter(handle);
        steal(other);
        expect_loss(handle, &losses, WEB_LOCKS_ERROR_STOLEN);
        /* Nobody has what is stolen from a parked one. */
        handle_enter_and_leave(handle);
        steal(other);
        test_settle(manager);
        g_assert_cmpuint(losses.n_lost, ==, 0);
        g_assert_false(web_locks_handle_get_held(handle));
        g_assert_null(web_locks_handle_get_error(handle));
    }
    /* A loss that comes after the leave isn't reported. */
    handle_enter(handle);
    steal(other);
    handle_leave(handle);
    test_settle(manager);
    g_assert_cmpuint(losses.n_lost, ==, 0);
    handle_enter_and_leave(handle);
}

static void
on_not_called(void)
{
    g_assert_not_reached();
}

/* As Python does it: a loss is an error, unless the body has failed. */
TEST("/handle/exit", test_exit)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);
    g_autoptr(GError) error = NULL;

    for (guint i = 0; i < 3; i++) {
        handle_enter(handle);
        web_locks_handle_exit(handle, i == 0 ? on_not_called : NULL, NULL, &error);
        g_assert_no_error(error);
        g_assert_false(web_locks_handle_get_entered(handle));
        handle_expect_parked(handle);
        web_locks_handle_exit(handle, NULL, NULL, &error);
        g_assert_no_error(error);
    }
    for (guint has_failed = 0; has_failed < 2; has_failed++) {
        handle_enter(handle);
        steal(other);
        web_locks_handle_exit(handle, has_failed ? on_not_called : NULL, NULL, &error);
        if (has_failed)
            g_assert_no_error(error);
        else
            g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_STOLEN);
        g_clear_error(&error);
        g_assert_false(web_locks_handle_get_entered(handle));
    }
    handle_enter_and_leave(handle);
}

/* Who has lost the lock is still inside. */
TEST("/handle/lost-and-not-left", test_lost_and_not_left)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);
    g_auto(Answer) entering = {0};

    handle_enter(handle);
    steal(other);
    web_locks_handle_enter_async(handle, NULL, answer_take, &entering);
    handle_not_entered(handle, &entering, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE);
    test_wait_for_state(other, " | ");
    handle_leave(handle);
    handle_enter_and_leave(handle);
}

/* ---- the agent */

TEST("/handle/agent-closed", test_agent_closed)
{
    for (guint is_parked = 0; is_parked < 2; is_parked++) {
        g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
        g_autoptr(WebLocksHandle) handle = handle_new(manager);
        g_auto(Losses) losses = {0};

        watch(&losses, handle);
        handle_enter(handle);
        if (is_parked)
            handle_leave(handle);
        web_locks_agent_close(web_locks_manager_get_agent(manager));
        if (!is_parked)
            expect_loss(handle, &losses, WEB_LOCKS_ERROR_LOST);
        g_assert_false(web_locks_handle_try_enter(handle));
        handle_refuse(handle, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE);
        steal(other);
        g_assert_cmpuint(losses.n_lost, ==, 0);
    }
}

/* Runs in the child; returns its exit status. */
static int
use_in_child(WebLocksHandle *handle)
{
    g_autoptr(GError) error = NULL;

    if (web_locks_handle_get_held(handle) || web_locks_handle_try_enter(handle) ||
        web_locks_handle_get_entered(handle))
        return 1;
    web_locks_handle_leave(handle);
    if (web_locks_handle_enter_sync(handle, NULL, &error) ||
        !g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE))
        return 2;
    if (web_locks_handle_get_error(handle) != NULL)
        return 3;
    g_object_unref(handle);
    return 0;
}

TEST("/handle/fork", test_fork)
{
    for (guint is_parked = 0; is_parked < 2; is_parked++) {
        g_autoptr(WebLocksManager) manager = test_manager_new();
        g_autoptr(WebLocksHandle) handle = handle_new(manager);
        int status = 0;
        pid_t pid;

        handle_enter(handle);
        if (is_parked)
            handle_leave(handle);
        pid = fork();
        g_assert_cmpint(pid, >=, 0);
        if (pid == 0)
            _exit(use_in_child(handle));
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        g_assert_cmpint(status, ==, 0);
        if (!is_parked) {
            g_assert_true(web_locks_handle_get_held(handle));
            handle_leave(handle);
        }
        handle_expect_parked(handle);
        test_wait_for_state(manager, " | ");
    }
}

/* ---- the lock socket of before the first handle is replaced */

/* What has happened to other locks until then is told nevertheless. */
TEST("/handle/stolen-before-replaced", test_stolen_before_replaced)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);
    g_autoptr(WebLocksLock) held = test_lock(manager, "b"), stolen = NULL;
    g_autoptr(WebLocksOptions) options = test_steal();
    g_auto(Answer) stealing = {0}, entering = {0};

    g_object_unref(test_lock(other, "c"));
    test_service_pause();
    web_locks_manager_request_async(other, "b", options, NULL, answer_take, &stealing);
    web_locks_handle_enter_async(handle, NULL, answer_take, &entering);
    g_assert_true(web_locks_lock_get_held(held)); /* reads what has arrived */
    test_service_resume();
    handle_entered(handle, &entering);
    stolen = answer_expect_lock(&stealing);
    test_settle(manager);
    g_assert_error(web_locks_lock_get_error(held), WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_STOLEN);
    handle_leave(handle);
    handle_enter_and_leave(handle);
    handle_expect_parked(handle);
}

/* The service ends before it opens the other socket. What was not sent may fail, since no service
 * is started on this bus. */
TEST("/handle/killed-before-replaced", test_killed_before_replaced)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);
    g_autoptr(WebLocksLock) held = test_lock(manager, "b"), granted = NULL;
    g_autoptr(GError) error = NULL;
    g_auto(Answer) before = {0}, entering = {0};

    test_service_pause();
    answer_ask(&before, manager, "a");
    web_locks_handle_enter_async(handle, NULL, answer_take, &entering);
    test_service_kill();
    test_service_start();
    granted = answer_expect_lock(&before);
    g_assert_true(web_locks_lock_get_held(held));
    test_release(granted);
    if (web_locks_handle_enter_finish(handle, answer_wait(&entering), &error))
        web_locks_handle_leave(handle);
    else
        g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    handle_enter(handle);
    assert_state(other, "a b | ");
    handle_leave(handle);
    handle_enter_and_leave(handle);
    handle_expect_parked(handle);
}

/* ---- the service ends */

TEST("/handle/killed", test_killed)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) inside = handle_new(manager);
    g_autoptr(WebLocksHandle) parked = web_locks_manager_prepare(manager, "b", NULL);
    g_auto(Losses) losses = {0};

    watch(&losses, inside);
    for (guint i = 0; i < 3; i++) {
        handle_enter_and_leave(inside);
        handle_enter(inside);
        handle_enter_and_leave(parked);
        test_service_kill();
        test_service_start();
        test_wait_for_state(other, "a | ");
        test_settle(manager);
        g_assert_true(web_locks_handle_get_held(inside));
        g_assert_false(web_locks_handle_get_held(parked));
        g_object_unref(test_lock(other, "b"));
        handle_leave(inside);
        test_wait_for_state(other, " | ");
        g_assert_false(web_locks_handle_try_enter(parked));
        handle_enter_and_leave(parked);
        handle_expect_parked(parked);
    }
    g_assert_cmpuint(losses.n_lost, ==, 0);
}

/* Tokens may begin below those of the instance whose state is lost. */
TEST("/handle/without-state", test_without_state)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksHandle) inside = handle_new(manager);
    g_autoptr(WebLocksHandle) parked = web_locks_manager_prepare(manager, "b", NULL);
    g_auto(Losses) losses = {0}, none = {0};

    watch(&losses, inside);
    watch(&none, parked);
    handle_enter(inside);
    handle_enter_and_leave(parked);
    test_service_kill();
    test_service_start_with("--no-state");
    expect_loss(inside, &losses, WEB_LOCKS_ERROR_LOST);
    test_settle(manager);
    g_assert_cmpuint(none.n_lost, ==, 0);
    assert_done(web_locks_handle_enter_sync(inside, NULL, &test_error));
    handle_leave(inside);
    assert_done(web_locks_handle_enter_sync(parked, NULL, &test_error));
    handle_leave(parked);
    test_service_stop();
    test_service_start();
}

TEST("/handle/replaced", test_replaced)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) inside = handle_new(manager);
    g_autoptr(WebLocksHandle) parked = web_locks_manager_prepare(manager, "b", NULL);

    test_service_stop();
    test_service_start_with("--replace");
    handle_enter(inside);
    handle_enter_and_leave(parked);
    test_service_start_with("--replace");
    assert_state(other, "a | ");
    g_assert_true(web_locks_handle_get_held(inside));
    handle_leave(inside);
    handle_enter_and_leave(parked);
    test_wait_for_state(other, " | ");
}

TEST_MAIN(test_run(NULL))
