/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Handles: entering and leaving. How they are lost is in test-handle-lost.c. */

#include "tests/client/handles.h"
#include "tests/lib/case.h"

#define N_THREADS 4
#define N_ROUNDS  400
/* More than there are cells in a page. */
#define N_HANDLES 80

/* ---- one thread */

TEST("/handle/enter", test_enter)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);
    g_autoptr(WebLocksLock) lock = NULL;
    guint64 token;

    g_assert_true(G_OBJECT_TYPE(handle) == web_locks_handle_get_type());
    g_assert_cmpuint(web_locks_handle_get_token(handle), ==, 0);
    g_assert_false(web_locks_handle_get_held(handle));
    g_assert_cmpstr(web_locks_handle_get_name(handle), ==, "a");
    g_assert_true(web_locks_handle_get_manager(handle) == manager);
    for (guint i = 0; i < 3; i++) {
        g_assert_false(web_locks_handle_try_enter(handle));
        handle_enter_and_leave(handle);
        handle_expect_parked(handle);
        handle_enter(handle);
        assert_state(other, "a | ");
        handle_leave(handle);
        test_wait_for_state(other, " | ");
    }
    token = web_locks_handle_get_token(handle);
    lock = test_lock(other, "a");
    g_assert_cmpuint(web_locks_lock_get_token(lock), >, token);
}

/* The second one that is entered requests the lock of the first, which is parked. */
TEST("/handle/two", test_two)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) one = handle_new(manager), two = handle_new(other);

    for (guint i = 0; i < 3; i++) {
        handle_enter_and_leave(one);
        handle_expect_parked(one);
        handle_enter(two);
        g_assert_false(web_locks_handle_try_enter(one));
        handle_leave(two);
        handle_expect_parked(two);
        g_assert_false(web_locks_handle_try_enter(one));
    }
}

TEST("/handle/many", test_many)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(GPtrArray) handles = g_ptr_array_new_with_free_func(g_object_unref);

    for (guint round = 0; round < 2; round++) {
        guint n_parked = 0;

        for (guint i = 0; i < N_HANDLES; i++) {
            g_autofree char *name = g_strdup_printf("%u", i);

            g_ptr_array_add(handles, web_locks_manager_prepare(manager, name, NULL));
            handle_enter(handles->pdata[i]);
        }
        for (guint i = 0; i < N_HANDLES; i++) {
            handle_leave(handles->pdata[i]);
            if (!web_locks_handle_try_enter(handles->pdata[i]))
                continue;
            handle_leave(handles->pdata[i]);
            n_parked++;
        }
        g_assert_cmpuint(n_parked, ==, handles_have_cells() ? 63 : 0);
        /* The next one gets the cell of one that is dropped. */
        g_ptr_array_remove_index(handles, 0);
        handle_enter(handles->pdata[N_HANDLES - 2]);
        handle_leave(handles->pdata[N_HANDLES - 2]);
        handle_expect_parked(handles->pdata[N_HANDLES - 2]);
        g_ptr_array_set_size(handles, 0);
        test_wait_for_state(manager, " | ");
    }
}

/* That it is shown after a leave proves nothing of a parked lock, which a query ends. */
TEST("/handle/dropped", test_dropped)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();

    for (guint is_parked = 0; is_parked < 2; is_parked++) {
        WebLocksHandle *handle = handle_new(manager);

        handle_enter(handle);
        if (is_parked)
            handle_leave(handle);
        g_object_unref(handle);
        if (!is_parked)
            test_wait_for_state(other, " | ");
    }
    g_object_unref(test_lock(other, "a"));
}

TEST("/handle/refused", test_refused)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    WebLocksOptions *const refused[] = {test_if_available(), test_steal(), test_shared(),
                                        g_object_new(WEB_LOCKS_TYPE_OPTIONS, "slots", 2, NULL),
                                        NULL};
    g_autoptr(GCancellable) cancelled = g_cancellable_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);

    for (guint i = 0; i < G_N_ELEMENTS(refused); i++) {
        g_autoptr(WebLocksOptions) options = refused[i];
        g_autoptr(WebLocksHandle) bad =
            web_locks_manager_prepare(manager, options != NULL ? "a" : "-", options);

        handle_refuse(bad, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED);
    }
    handle_enter_and_leave(handle);
    g_cancellable_cancel(cancelled);
    assert_fails(web_locks_handle_enter_sync(handle, cancelled, &test_error), G_IO_ERROR,
                 G_IO_ERROR_CANCELLED);
}

TEST("/handle/timeout", test_timeout)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksOptions) options =
        g_object_new(WEB_LOCKS_TYPE_OPTIONS, "timeout", 1, "why", "to wait", NULL);
    g_autoptr(WebLocksHandle) handle = web_locks_manager_prepare(manager, "a", options);
    g_autoptr(WebLocksLock) lock = test_lock(other, "a");

    handle_refuse(handle, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT);
    test_release(lock);
    handle_enter_and_leave(handle);
}

/* The second time without a message. */
TEST("/handle/recursion", test_recursion)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);

    for (guint i = 0; i < 2; i++) {
        g_autoptr(WebLocksRequest) request = NULL;

        handle_enter(handle);
        handle_refuse(handle, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE);
        request = web_locks_handle_request(handle, NULL);
        while (!web_locks_request_wait(request))
            ;
        assert_fails(web_locks_handle_take(handle, request, &test_error), WEB_LOCKS_ERROR,
                     WEB_LOCKS_ERROR_INVALID_STATE);
        handle_leave(handle);
    }
}

TEST("/handle/not-entered", test_not_entered)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);

    for (guint i = 0; i < 2; i++) {
        g_test_expect_message("WebLocks", G_LOG_LEVEL_CRITICAL, "*lock != NULL*");
        web_locks_handle_leave(handle);
        g_test_assert_expected_messages();
        handle_enter_and_leave(handle);
    }
}

/* ---- other clients */

TEST("/handle/queue", test_queue)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);

    for (guint i = 0; i < 3; i++) {
        g_auto(Answer) waiting = {0}, entering = {0};
        g_autoptr(WebLocksLock) lock = NULL;

        handle_enter(handle);
        answer_ask(&waiting, other, "a");
        test_wait_for_state(manager, "a | a");
        g_assert_null(web_locks_handle_get_error(handle));
        handle_leave(handle);
        lock = answer_expect_lock(&waiting);
        web_locks_handle_enter_async(handle, NULL, answer_take, &entering);
        test_wait_for_state(manager, "a | a");
        g_assert_cmpuint(entering.n_results, ==, 0);
        test_release(lock);
        handle_entered(handle, &entering);
        handle_leave(handle);
    }
}

/* The lock socket of before the first handle has no cells, and is replaced. */
TEST("/handle/after-locks", test_after_locks)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);
    g_autoptr(WebLocksLock) held = test_lock(manager, "b"), others = test_lock(other, "c");
    g_autoptr(WebLocksLock) granted = NULL;
    g_auto(Answer) waits = {0};

    answer_ask(&waits, manager, "c");
    test_wait_for_state(other, "b c | c");
    handle_enter_and_leave(handle);
    handle_expect_parked(handle);
    g_assert_true(web_locks_lock_get_held(held));
    test_release(others);
    granted = answer_expect_lock(&waits);
    assert_state(other, "b c | ");
}

/* ---- asynchronously */

TEST("/handle/async", test_async)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);
    g_auto(Answer) first = {0}, second = {0}, third = {0};
    g_autoptr(GCancellable) cancellable = g_cancellable_new();

    web_locks_handle_enter_async(handle, NULL, answer_take, &first);
    handle_entered(handle, &first);
    web_locks_handle_enter_async(handle, cancellable, answer_take, &second);
    web_locks_handle_enter_async(handle, NULL, answer_take, &third);
    assert_state(manager, "a | a a");
    g_cancellable_cancel(cancellable);
    handle_not_entered(handle, &second, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    assert_state(manager, "a | a");
    web_locks_handle_leave(handle);
    handle_entered(handle, &third);
    assert_state(manager, "a | ");
    handle_leave(handle);
    test_wait_for_state(manager, " | ");
}

/* The second one was requested while the first one was pending, and is granted at once, since the
 * first one is parked when the service reads it. */
TEST("/handle/requested-meanwhile", test_requested_meanwhile)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);
    g_auto(Answer) first = {0}, second = {0};
    guint64 token;

    handle_enter_and_leave(handle);
    g_object_unref(test_lock(other, "a"));
    web_locks_handle_enter_async(handle, NULL, answer_take, &first);
    for (guint i = 0; i < 2; i++)
        g_object_unref(test_lock(other, "b")); /* after these the service has granted the first */
    test_service_pause();
    web_locks_handle_enter_async(handle, NULL, answer_take, &second);
    if (!handles_have_cells())
        test_service_resume();
    handle_entered(handle, &first);
    token = web_locks_handle_get_token(handle);
    web_locks_handle_leave(handle);
    if (handles_have_cells())
        test_service_resume();
    handle_entered(handle, &second);
    g_assert_cmpuint(web_locks_handle_get_token(handle), >, token);
    assert_state(other, "a | ");
    handle_leave(handle);
    handle_enter_and_leave(handle);
    handle_expect_parked(handle);
}

/* Whoever does not take the result does not hold the lock. */
TEST("/handle/untaken", test_untaken)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksHandle) handle = handle_new(manager);

    for (guint is_parked = 0; is_parked < 2; is_parked++) {
        g_auto(Answer) answer = {0};

        if (is_parked)
            handle_enter_and_leave(handle);
        web_locks_handle_enter_async(handle, NULL, answer_take, &answer);
        answer_wait(&answer);
        answer_clear(&answer);
        test_wait_for_state(other, " | ");
        handle_enter_and_leave(handle);
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

    for (guint i = 0; i < N_ROUNDS; i++) {
        guint64 token;

        assert_done(web_locks_handle_enter_sync(self->handle, NULL, &test_error));
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
TEST("/handle/threads", test_threads)
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

TEST_MAIN(test_run(NULL))
