/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Handles. Everything here is so with and without cells, as WEBLOCKS_TEST_SERVICE_OPTION says; what
 * is different is checked by expect_parked(). */

#include "tests/client/fixture.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_THREADS 4
#define N_ROUNDS  400
/* More than there are cells in a page. */
#define N_HANDLES   80
#define DEADLINE_US (test_factor() * 30 * G_TIME_SPAN_SECOND)

static gboolean has_cells;

static WebLocksHandle *
handle_new(WebLocksManager *manager)
{
    return web_locks_manager_prepare(manager, "a", NULL);
}

static void
enter(WebLocksHandle *handle)
{
    g_autoptr(GError) error = NULL;
    const guint64 token = web_locks_handle_get_token(handle);

    g_assert_true(web_locks_handle_enter_sync(handle, NULL, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(web_locks_handle_get_token(handle), >, token);
    g_assert_true(web_locks_handle_get_held(handle));
    g_assert_true(web_locks_handle_get_entered(handle));
}

static void
refuse(WebLocksHandle *handle, GQuark domain, int code)
{
    g_autoptr(GError) error = NULL;

    g_assert_false(web_locks_handle_enter_sync(handle, NULL, &error));
    g_assert_error(error, domain, code);
}

static void
leave(WebLocksHandle *handle)
{
    web_locks_handle_leave(handle);
    g_assert_false(web_locks_handle_get_held(handle));
    g_assert_false(web_locks_handle_get_entered(handle));
    g_assert_null(web_locks_handle_get_error(handle));
}

/* The lock can be entered without a message, if there are cells. */
static void
expect_parked(WebLocksHandle *handle)
{
    const guint64 token = web_locks_handle_get_token(handle);

    g_assert_cmpint(web_locks_handle_try_enter(handle), ==, has_cells);
    if (!has_cells)
        return;
    g_assert_cmpuint(web_locks_handle_get_token(handle), ==, token + 1);
    g_assert_true(web_locks_handle_get_held(handle));
    web_locks_handle_leave(handle);
    g_assert_false(web_locks_handle_get_held(handle));
}

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
losses_watch_handle(Losses *losses, WebLocksHandle *handle)
{
    g_signal_connect(handle, "lost", G_CALLBACK(on_lost), losses);
    g_signal_connect(handle, "notify::held", G_CALLBACK(on_held_notify), losses);
}

/* ---- one thread */

static void
test_enter(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);
    g_autoptr(WebLocksLock) lock = NULL;
    guint64 token;

    g_assert_true(G_OBJECT_TYPE(handle) == web_locks_handle_get_type());
    g_assert_cmpuint(web_locks_handle_get_token(handle), ==, 0);
    g_assert_false(web_locks_handle_get_held(handle));
    g_assert_false(web_locks_handle_try_enter(handle));
    g_assert_cmpstr(web_locks_handle_get_name(handle), ==, "a");
    g_assert_true(web_locks_handle_get_manager(handle) == manager);
    for (guint i = 0; i < 3; i++) {
        enter(handle);
        leave(handle);
        expect_parked(handle);
        enter(handle);
        assert_state(other, "a | ");
        leave(handle);
        test_wait_for_state(other, " | ");
        g_assert_false(web_locks_handle_try_enter(handle));
    }
    token = web_locks_handle_get_token(handle);
    lock = test_lock(other, "a");
    g_assert_cmpuint(web_locks_lock_get_token(lock), >, token);
}

/* The lock socket of before the first handle has no cells, and is replaced. */
static void
test_after_locks(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);
    g_autoptr(WebLocksLock) held = test_lock(manager, "b"), others = test_lock(other, "c");
    g_autoptr(WebLocksLock) granted = NULL;
    g_auto(Answer) waits = {0};

    answer_ask(&waits, manager, "c");
    test_wait_for_state(other, "b c | c");
    enter(handle);
    leave(handle);
    expect_parked(handle);
    g_assert_true(web_locks_lock_get_held(held));
    test_release(others);
    granted = answer_expect_lock(&waits);
    assert_state(other, "b c | ");
}

/* What has happened to other locks until the socket was replaced is told nevertheless. */
static void
test_stolen_before_replaced(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);
    g_autoptr(WebLocksLock) held = test_lock(manager, "b"), others = test_lock(other, "c");
    g_autoptr(WebLocksLock) stolen = NULL;
    g_autoptr(WebLocksOptions) steal = test_steal();
    g_autoptr(GError) error = NULL;
    g_auto(Answer) stealing = {0}, entering = {0};

    test_service_pause();
    web_locks_manager_request_async(other, "b", steal, NULL, answer_take, &stealing);
    web_locks_handle_enter_async(handle, NULL, answer_take, &entering);
    g_assert_true(web_locks_lock_get_held(held)); /* reads what has arrived */
    test_service_resume();
    g_assert_true(web_locks_handle_enter_finish(handle, answer_wait(&entering), &error));
    stolen = answer_expect_lock(&stealing);
    test_settle(manager);
    g_assert_error(web_locks_lock_get_error(held), WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_STOLEN);
    leave(handle);
    enter(handle);
    leave(handle);
    expect_parked(handle);
}

/* The service ends before it opens the other socket. What was not sent may fail, since no service
 * is started on this bus. */
static void
test_killed_before_replaced(void)
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
    enter(handle);
    assert_state(other, "a b | ");
    leave(handle);
    enter(handle);
    leave(handle);
    expect_parked(handle);
}

/* That it is shown after a leave proves nothing of a parked lock, which a query ends. */
static void
test_dropped(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    WebLocksHandle *handle = handle_new(manager);

    enter(handle);
    g_object_unref(handle);
    test_wait_for_state(other, " | ");
    handle = handle_new(manager);
    enter(handle);
    leave(handle);
    g_object_unref(handle);
    g_object_unref(test_lock(other, "a"));
}

/* The second one that is entered requests the lock of the first, which is parked. */
static void
test_two(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) one = handle_new(manager), two = handle_new(other);

    for (guint i = 0; i < 3; i++) {
        enter(one);
        leave(one);
        expect_parked(one);
        enter(two);
        g_assert_false(web_locks_handle_try_enter(one));
        leave(two);
        expect_parked(two);
        g_assert_false(web_locks_handle_try_enter(one));
    }
}

static void
test_many(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(GPtrArray) handles = g_ptr_array_new_with_free_func(g_object_unref);
    guint n_parked = 0;

    for (guint round = 0; round < 2; round++) {
        for (guint i = 0; i < N_HANDLES; i++) {
            g_autofree char *name = g_strdup_printf("%u", i);

            g_ptr_array_add(handles, web_locks_manager_prepare(manager, name, NULL));
            enter(handles->pdata[i]);
        }
        n_parked = 0;
        for (guint i = 0; i < N_HANDLES; i++) {
            leave(handles->pdata[i]);
            if (!web_locks_handle_try_enter(handles->pdata[i]))
                continue;
            leave(handles->pdata[i]);
            n_parked++;
        }
        g_assert_cmpuint(n_parked, ==, has_cells ? 63 : 0);
        g_ptr_array_set_size(handles, 0);
        test_wait_for_state(manager, " | ");
    }
}

static void
test_refused(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    static const char *const options[] = {"if-available", "steal"};
    g_autoptr(WebLocksHandle) reserved = web_locks_manager_prepare(manager, "-", NULL);
    g_autoptr(GCancellable) cancelled = g_cancellable_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);
    g_autoptr(GError) error = NULL;

    refuse(reserved, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED);
    for (guint i = 0; i < G_N_ELEMENTS(options); i++) {
        g_autoptr(WebLocksOptions) wrong =
            g_object_new(WEB_LOCKS_TYPE_OPTIONS, options[i], TRUE, NULL);
        g_autoptr(WebLocksHandle) of_these = web_locks_manager_prepare(manager, "a", wrong);

        refuse(of_these, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED);
    }
    {
        g_autoptr(WebLocksOptions) shared = test_shared();
        g_autoptr(WebLocksOptions) slots = g_object_new(WEB_LOCKS_TYPE_OPTIONS, "slots", 2, NULL);
        g_autoptr(WebLocksHandle) of_shared = web_locks_manager_prepare(manager, "a", shared);
        g_autoptr(WebLocksHandle) of_slots = web_locks_manager_prepare(manager, "a", slots);

        refuse(of_shared, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED);
        refuse(of_slots, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED);
    }
    enter(handle);
    leave(handle);
    g_cancellable_cancel(cancelled);
    g_assert_false(web_locks_handle_enter_sync(handle, cancelled, &error));
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

static void
test_timeout(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksOptions) options =
        g_object_new(WEB_LOCKS_TYPE_OPTIONS, "timeout", 1, "why", "to wait", NULL);
    g_autoptr(WebLocksHandle) handle = web_locks_manager_prepare(manager, "a", options);
    g_autoptr(WebLocksLock) lock = test_lock(other, "a");

    refuse(handle, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT);
    test_release(lock);
    enter(handle);
    leave(handle);
}

static void
test_recursion(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);
    g_autoptr(WebLocksRequest) request = NULL;
    g_autoptr(GError) error = NULL;

    for (guint i = 0; i < 2; i++) { /* the second time without a message */
        enter(handle);
        refuse(handle, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE);
        request = web_locks_handle_request(handle, NULL);
        while (!web_locks_request_wait(request))
            ;
        g_assert_false(web_locks_handle_take(handle, request, &error));
        g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE);
        g_clear_error(&error);
        g_clear_object(&request);
        leave(handle);
    }
}

static void
test_not_entered(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);

    for (guint i = 0; i < 2; i++) {
        g_test_expect_message("WebLocks", G_LOG_LEVEL_CRITICAL, "*lock != NULL*");
        web_locks_handle_leave(handle);
        g_test_assert_expected_messages();
        enter(handle);
        leave(handle);
    }
}

/* ---- other clients */

static void
test_queue(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);
    g_autoptr(WebLocksLock) lock = NULL;
    g_auto(Answer) waiting = {0}, entering = {0};
    g_autoptr(GError) error = NULL;

    for (guint i = 0; i < 3; i++) {
        enter(handle);
        answer_ask(&waiting, other, "a");
        test_wait_for_state(manager, "a | a");
        g_assert_null(web_locks_handle_get_error(handle));
        leave(handle);
        lock = answer_expect_lock(&waiting);
        web_locks_handle_enter_async(handle, NULL, answer_take, &entering);
        test_wait_for_state(manager, "a | a");
        g_assert_cmpuint(entering.n_results, ==, 0);
        test_release(lock);
        g_clear_object(&lock);
        g_assert_true(web_locks_handle_enter_finish(handle, answer_wait(&entering), &error));
        g_assert_no_error(error);
        leave(handle);
        answer_clear(&waiting);
        answer_clear(&entering);
    }
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
    leave(handle);
}

static void
test_stolen(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);
    g_auto(Losses) losses = {0};

    losses_watch_handle(&losses, handle);
    for (guint i = 0; i < 3; i++) {
        enter(handle);
        leave(handle);
        enter(handle);
        g_object_unref(test_lock_stolen(other, "a"));
        expect_loss(handle, &losses, WEB_LOCKS_ERROR_STOLEN);
        /* Nobody has what is stolen from a parked one. */
        enter(handle);
        leave(handle);
        g_object_unref(test_lock_stolen(other, "a"));
        test_settle(manager);
        g_assert_cmpuint(losses.n_lost, ==, 0);
        g_assert_false(web_locks_handle_get_held(handle));
        g_assert_null(web_locks_handle_get_error(handle));
    }
}

/* A loss that comes after the leave isn't reported. */
static void
test_stolen_unread(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);
    g_auto(Losses) losses = {0};

    losses_watch_handle(&losses, handle);
    enter(handle);
    g_object_unref(test_lock_stolen(other, "a"));
    leave(handle);
    test_settle(manager);
    g_assert_cmpuint(losses.n_lost, ==, 0);
    enter(handle);
    leave(handle);
}

static void
on_not_called(void)
{
    g_assert_not_reached();
}

/* As Python does it. */
static void
test_exit(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);
    g_autoptr(GError) error = NULL;

    for (guint i = 0; i < 3; i++) {
        enter(handle);
        web_locks_handle_exit(handle, i == 0 ? on_not_called : NULL, NULL, &error);
        g_assert_no_error(error);
        g_assert_false(web_locks_handle_get_entered(handle));
        expect_parked(handle);
        web_locks_handle_exit(handle, NULL, NULL, &error);
        g_assert_no_error(error);
    }
    enter(handle);
    g_object_unref(test_lock_stolen(other, "a"));
    web_locks_handle_exit(handle, NULL, NULL, &error);
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_STOLEN);
    g_clear_error(&error);
    g_assert_false(web_locks_handle_get_entered(handle));
    enter(handle);
    g_object_unref(test_lock_stolen(other, "a"));
    web_locks_handle_exit(handle, on_not_called, NULL, &error);
    g_assert_no_error(error);
    enter(handle);
    leave(handle);
}

/* Who has lost the lock is still inside. */
static void
test_lost_and_not_left(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);
    g_auto(Answer) entering = {0};
    g_autoptr(GError) error = NULL;

    enter(handle);
    g_object_unref(test_lock_stolen(other, "a"));
    web_locks_handle_enter_async(handle, NULL, answer_take, &entering);
    g_assert_false(web_locks_handle_enter_finish(handle, answer_wait(&entering), &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE);
    test_wait_for_state(other, " | ");
    leave(handle);
    enter(handle);
    leave(handle);
}

static void
test_agent_closed(void)
{
    for (guint is_parked = 0; is_parked < 2; is_parked++) {
        g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
        g_autoptr(WebLocksHandle) handle = handle_new(manager);
        g_auto(Losses) losses = {0};

        losses_watch_handle(&losses, handle);
        enter(handle);
        if (is_parked)
            leave(handle);
        web_locks_agent_close(web_locks_manager_get_agent(manager));
        if (!is_parked)
            expect_loss(handle, &losses, WEB_LOCKS_ERROR_LOST);
        g_assert_false(web_locks_handle_try_enter(handle));
        refuse(handle, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE);
        g_object_unref(test_lock_stolen(other, "a"));
        g_assert_cmpuint(losses.n_lost, ==, 0);
    }
}

/* ---- asynchronously */

static void
test_async(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);
    g_auto(Answer) first = {0}, second = {0}, third = {0};
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_autoptr(GError) error = NULL;

    web_locks_handle_enter_async(handle, NULL, answer_take, &first);
    g_assert_true(web_locks_handle_enter_finish(handle, answer_wait(&first), &error));
    web_locks_handle_enter_async(handle, cancellable, answer_take, &second);
    web_locks_handle_enter_async(handle, NULL, answer_take, &third);
    assert_state(manager, "a | a a");
    g_cancellable_cancel(cancellable);
    g_assert_false(web_locks_handle_enter_finish(handle, answer_wait(&second), &error));
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    g_clear_error(&error);
    assert_state(manager, "a | a");
    web_locks_handle_leave(handle);
    g_assert_true(web_locks_handle_enter_finish(handle, answer_wait(&third), &error));
    assert_state(manager, "a | ");
    leave(handle);
    test_wait_for_state(manager, " | ");
}

/* The second one was requested while the first one was pending, and is granted at once, since the
 * first one is parked when the service reads it. */
static void
test_requested_meanwhile(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);
    g_auto(Answer) first = {0}, second = {0};
    g_autoptr(GError) error = NULL;
    guint64 token;

    enter(handle);
    leave(handle);
    g_object_unref(test_lock(other, "a"));
    web_locks_handle_enter_async(handle, NULL, answer_take, &first);
    for (guint i = 0; i < 2; i++)
        g_object_unref(test_lock(other, "b")); /* after these the service has granted the first */
    test_service_pause();
    web_locks_handle_enter_async(handle, NULL, answer_take, &second);
    if (has_cells) {
        g_assert_true(web_locks_handle_enter_finish(handle, answer_wait(&first), &error));
        token = web_locks_handle_get_token(handle);
        web_locks_handle_leave(handle);
        test_service_resume();
    } else {
        test_service_resume();
        g_assert_true(web_locks_handle_enter_finish(handle, answer_wait(&first), &error));
        token = web_locks_handle_get_token(handle);
        web_locks_handle_leave(handle);
    }
    g_assert_true(web_locks_handle_enter_finish(handle, answer_wait(&second), &error));
    g_assert_no_error(error);
    g_assert_cmpuint(web_locks_handle_get_token(handle), >, token);
    assert_state(other, "a | ");
    leave(handle);
    enter(handle);
    leave(handle);
    expect_parked(handle);
}

/* Whoever does not take the result does not hold the lock. */
static void
test_untaken(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);

    for (guint is_parked = 0; is_parked < 2; is_parked++) {
        g_auto(Answer) answer = {0};

        if (is_parked) {
            enter(handle);
            leave(handle);
        }
        web_locks_handle_enter_async(handle, NULL, answer_take, &answer);
        answer_wait(&answer);
        answer_clear(&answer);
        test_wait_for_state(other, " | ");
        enter(handle);
        leave(handle);
    }
}

/* ---- threads */

typedef struct {
    WebLocksHandle *handle;
    guint *n_inside; /* of all threads; not atomic */
    guint64 *last_token;
} Racer;

static gpointer
race(gpointer data)
{
    const Racer *self = data;
    g_autoptr(GError) error = NULL;

    for (guint i = 0; i < N_ROUNDS; i++) {
        guint64 token;

        if (!web_locks_handle_enter_sync(self->handle, NULL, &error))
            g_error("could not enter: %s", error->message);
        token = web_locks_handle_get_token(self->handle);
        g_assert_cmpuint(token, >, *self->last_token);
        g_assert_cmpuint(*self->n_inside, ==, 0);
        ++*self->n_inside;
        if (i % 8 == 0)
            g_thread_yield();
        *self->last_token = token;
        --*self->n_inside;
        web_locks_handle_leave(self->handle);
    }
    return NULL;
}

/* Two share one handle, one has its own of the same agent, one of another. */
static void
test_threads(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) one = handle_new(manager), two = handle_new(manager),
                              three = handle_new(other);
    WebLocksHandle *handles[N_THREADS] = {one, one, two, three};
    GThread *threads[N_THREADS];
    Racer racers[N_THREADS];
    guint n_inside = 0;
    guint64 last_token = 0;

    for (guint i = 0; i < N_THREADS; i++) {
        racers[i] = (Racer){handles[i], &n_inside, &last_token};
        threads[i] = g_thread_new("racer", race, &racers[i]);
    }
    for (guint i = 0; i < N_THREADS; i++)
        g_thread_join(threads[i]);
    test_wait_for_state(manager, " | ");
}

/* ---- fork() */

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

static void
test_fork(void)
{
    for (guint is_parked = 0; is_parked < 2; is_parked++) {
        g_autoptr(WebLocksManager) manager = test_manager_new();
        g_autoptr(WebLocksHandle) handle = handle_new(manager);
        int status = 0;
        pid_t pid;

        enter(handle);
        if (is_parked)
            leave(handle);
        pid = fork();
        g_assert_cmpint(pid, >=, 0);
        if (pid == 0)
            _exit(use_in_child(handle));
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        g_assert_true(WIFEXITED(status));
        g_assert_cmpint(WEXITSTATUS(status), ==, 0);
        if (!is_parked) {
            g_assert_true(web_locks_handle_get_held(handle));
            leave(handle);
        }
        expect_parked(handle);
        test_wait_for_state(manager, " | ");
    }
}

/* ---- the service ends */

static void
test_killed(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) inside = handle_new(manager);
    g_autoptr(WebLocksHandle) parked = web_locks_manager_prepare(manager, "b", NULL);
    g_auto(Losses) losses = {0};

    losses_watch_handle(&losses, inside);
    for (guint i = 0; i < 3; i++) {
        enter(inside);
        leave(inside);
        enter(inside);
        enter(parked);
        leave(parked);
        test_service_kill();
        test_service_start();
        test_wait_for_state(other, "a | ");
        test_settle(manager);
        g_assert_true(web_locks_handle_get_held(inside));
        g_assert_false(web_locks_handle_get_held(parked));
        g_object_unref(test_lock(other, "b"));
        leave(inside);
        test_wait_for_state(other, " | ");
        g_assert_false(web_locks_handle_try_enter(parked));
        enter(parked);
        leave(parked);
        expect_parked(parked);
    }
    g_assert_cmpuint(losses.n_lost, ==, 0);
}

static void
test_without_state(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksHandle) inside = handle_new(manager);
    g_autoptr(WebLocksHandle) parked = web_locks_manager_prepare(manager, "b", NULL);
    g_auto(Losses) losses = {0}, none = {0};

    losses_watch_handle(&losses, inside);
    losses_watch_handle(&none, parked);
    enter(inside);
    enter(parked);
    leave(parked);
    test_service_kill();
    test_service_start_with("--no-state");
    expect_loss(inside, &losses, WEB_LOCKS_ERROR_LOST);
    test_settle(manager);
    g_assert_cmpuint(none.n_lost, ==, 0);
    /* Tokens may begin below those of the instance whose state is lost. */
    g_assert_true(web_locks_handle_enter_sync(inside, NULL, NULL));
    leave(inside);
    g_assert_true(web_locks_handle_enter_sync(parked, NULL, NULL));
    leave(parked);
    test_service_stop();
    test_service_start();
}

static void
test_replaced(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) inside = handle_new(manager);
    g_autoptr(WebLocksHandle) parked = web_locks_manager_prepare(manager, "b", NULL);

    test_service_stop();
    test_service_start_with("--replace");
    enter(inside);
    enter(parked);
    leave(parked);
    test_service_start_with("--replace");
    assert_state(other, "a | ");
    g_assert_true(web_locks_handle_get_held(inside));
    leave(inside);
    enter(parked);
    leave(parked);
    test_wait_for_state(other, " | ");
}

int
main(int argc, char **argv)
{
    has_cells = g_getenv("WEBLOCKS_TEST_SERVICE_OPTION") == NULL;
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/handle/enter", test_enter);
    g_test_add_func("/handle/after-locks", test_after_locks);
    g_test_add_func("/handle/stolen-before-replaced", test_stolen_before_replaced);
    g_test_add_func("/handle/killed-before-replaced", test_killed_before_replaced);
    g_test_add_func("/handle/dropped", test_dropped);
    g_test_add_func("/handle/two", test_two);
    g_test_add_func("/handle/many", test_many);
    g_test_add_func("/handle/refused", test_refused);
    g_test_add_func("/handle/timeout", test_timeout);
    g_test_add_func("/handle/recursion", test_recursion);
    g_test_add_func("/handle/not-entered", test_not_entered);
    g_test_add_func("/handle/queue", test_queue);
    g_test_add_func("/handle/stolen", test_stolen);
    g_test_add_func("/handle/stolen-unread", test_stolen_unread);
    g_test_add_func("/handle/exit", test_exit);
    g_test_add_func("/handle/lost-and-not-left", test_lost_and_not_left);
    g_test_add_func("/handle/agent-closed", test_agent_closed);
    g_test_add_func("/handle/async", test_async);
    g_test_add_func("/handle/requested-meanwhile", test_requested_meanwhile);
    g_test_add_func("/handle/untaken", test_untaken);
    g_test_add_func("/handle/threads", test_threads);
    g_test_add_func("/handle/fork", test_fork);
    g_test_add_func("/handle/killed", test_killed);
    g_test_add_func("/handle/without-state", test_without_state);
    g_test_add_func("/handle/replaced", test_replaced);
    return test_run(NULL);
}
