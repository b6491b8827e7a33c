/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A lock after the grant: released, last reference dropped, stolen, with one notification. */

#include "tests/client/fixture.h"

/* ---- released */

static void
test_release_twice(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a");
    g_autoptr(GError) error = NULL;
    g_auto(Losses) losses = {0};

    losses_watch(&losses, lock);
    test_release(lock);
    g_assert_false(web_locks_lock_release_sync(lock, NULL, &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_HELD);
    test_settle(manager);
    g_assert_cmpuint(losses.n_held_notifies, ==, 1);
    g_assert_cmpuint(losses.n_lost, ==, 0);
}

/* The second call does not wait for the first. */
static void
test_release_twice_at_the_same_time(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a");
    g_autoptr(GError) error = NULL;
    g_auto(Answer) first = {0}, second = {0};

    web_locks_lock_release_async(lock, NULL, answer_take, &first);
    g_assert_false(web_locks_lock_get_held(lock));
    web_locks_lock_release_async(lock, NULL, answer_take, &second);
    g_assert_cmpuint(first.n_results + second.n_results, ==, 0);
    g_assert_true(web_locks_lock_release_finish(lock, answer_wait(&first), &error));
    g_assert_no_error(error);
    g_assert_false(web_locks_lock_release_finish(lock, answer_wait(&second), &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_HELD);
}

/* One notification, and what follows on the same agent comes after the release. */
static void
test_release_without_waiting(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a"), again = NULL, next = NULL;
    g_autoptr(GError) error = NULL;
    g_auto(Losses) losses = {0};
    g_auto(Answer) waiting = {0};

    losses_watch(&losses, lock);
    web_locks_lock_release(lock);
    g_assert_false(web_locks_lock_get_held(lock));
    g_assert_null(web_locks_lock_get_error(lock));
    assert_state(manager, " | ");
    again = test_lock(manager, "a");
    answer_ask(&waiting, other, "a");
    test_settle(other);

    web_locks_lock_release(lock); /* no effect on the next lock */
    g_assert_false(web_locks_lock_release_sync(lock, NULL, &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_HELD);
    assert_state(manager, "a | a");
    web_locks_lock_release(again);
    next = answer_expect_lock(&waiting);
    g_assert_cmpuint(losses.n_held_notifies, ==, 1);
    g_assert_cmpuint(losses.n_lost, ==, 0);
}

static WebLocksLock *
steal(WebLocksManager *other, const char *name)
{
    g_autoptr(WebLocksOptions) options = test_steal();
    g_autoptr(GError) error = NULL;
    WebLocksLock *stolen = web_locks_manager_request_sync(other, name, options, NULL, &error);

    g_assert_no_error(error);
    return stolen;
}

static void
test_stolen(void)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(holder, "a"), stolen = NULL;
    g_autoptr(GError) error = NULL;
    g_auto(Losses) losses = {0};

    losses_watch(&losses, lock);
    stolen = steal(other, "a");
    test_wait(test_is_set, &losses.n_lost);
    test_settle(holder);
    g_assert_cmpuint(losses.n_lost, ==, 1);
    g_assert_cmpuint(losses.n_held_notifies, ==, 1);
    g_assert_cmpstr(losses.reason, ==, "stolen");
    g_assert_true(losses.thread == g_thread_self());
    g_assert_false(web_locks_lock_release_sync(lock, NULL, &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_STOLEN);
    g_assert_error(web_locks_lock_get_error(lock), WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_STOLEN);
    g_assert_null(web_locks_lock_get_error(stolen));
    assert_state(other, "a | ");
}

/* The service has ended it, and the notification is in the holder's socket when it is released. */
static void
test_stolen_while_releasing(void)
{
    g_autoptr(WebLocksManager) other = test_manager_new();
    g_autoptr(GMainContext) context = g_main_context_new();
    g_autoptr(WebLocksLock) stolen = NULL;

    g_main_context_push_thread_default(context);
    {
        g_autoptr(WebLocksManager) holder = test_manager_new();
        g_autoptr(WebLocksLock) lock = test_lock(holder, "a");
        g_autoptr(GError) error = NULL;
        g_auto(Losses) losses = {0};
        g_auto(Answer) released = {0};

        losses_watch(&losses, lock);
        stolen = steal(other, "a");
        web_locks_lock_release_async(lock, NULL, answer_take, &released);
        g_assert_false(web_locks_lock_release_finish(lock, answer_wait(&released), &error));
        g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_STOLEN);
        test_settle(holder);
        g_assert_cmpuint(losses.n_lost, ==, 0); /* it was released before */
        g_assert_cmpuint(losses.n_held_notifies, ==, 1);
    }
    g_main_context_pop_thread_default(context);
    assert_state(other, "a | ");
}

/* Releasing a lock that another client has meanwhile does not release that one's. */
static void
test_stolen_and_released(void)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(holder, "a"), stolen = steal(other, "a");

    web_locks_lock_release(lock);
    g_assert_false(web_locks_lock_get_held(lock));
    test_settle(holder);
    assert_state(other, "a | ");
    g_assert_true(web_locks_lock_get_held(stolen));
}

/* A lock without references of its holder can be stolen too. */
static void
test_stolen_and_dropped(void)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), other = test_manager_new();
    WebLocksLock *lock = test_lock(holder, "a");
    g_autoptr(WebLocksLock) stolen = steal(other, "a");

    g_object_unref(lock); /* ENDED is in transit, or has arrived */
    test_settle(holder);
    assert_state(other, "a | ");
    g_assert_true(web_locks_lock_get_held(stolen));
}

/* ---- dropped */

static void
test_unref(void)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), waiter = test_manager_new();
    WebLocksLock *lock = test_lock(holder, "a");
    g_autoptr(WebLocksLock) next = NULL;
    g_auto(Answer) answer = {0};

    answer_ask(&answer, waiter, "a");
    test_settle(waiter);
    g_object_unref(lock);
    next = answer_expect_lock(&answer);
    assert_state(holder, "a | ");
}

/* The lock is the last object of its agent. */
static void
test_unref_last(void)
{
    g_autoptr(WebLocksManager) observer = test_manager_new();
    WebLocksManager *manager = test_manager_new();
    WebLocksLock *lock = test_lock(manager, "a");

    g_object_unref(manager);
    test_iterate();
    assert_state(observer, "a | "); /* the lock keeps the connection open */
    g_assert_true(web_locks_lock_get_held(lock));
    g_object_unref(lock);
    test_wait_for_state(observer, " | ");
}

static void
on_lost_unref(WebLocksLock *lock, const GError *loss, gpointer data)
{
    WebLocksLock **own = data;

    g_assert_true(*own == lock);
    g_clear_object(own);
}

static void
test_unref_in_lost(void)
{
    g_autoptr(WebLocksManager) other = test_manager_new();
    WebLocksManager *holder = test_manager_new();
    WebLocksLock *lock = test_lock(holder, "a");
    g_autoptr(WebLocksLock) stolen = NULL;

    g_object_unref(holder); /* with the last reference, the agent is freed */
    g_signal_connect(lock, "lost", G_CALLBACK(on_lost_unref), &lock);
    g_object_add_weak_pointer(G_OBJECT(lock), (gpointer *)&lock);
    stolen = steal(other, "a");
    while (lock != NULL)
        g_main_context_iteration(NULL, TRUE);
    test_settle(other);
    assert_state(other, "a | ");
}

static void
on_lock_unref(GObject *source, GAsyncResult *result, gpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksLock) lock =
        web_locks_manager_request_finish(WEB_LOCKS_MANAGER(source), result, &error);

    g_assert_no_error(error);
    g_assert_true(web_locks_lock_get_held(lock));
    ++*(guint *)data;
}

static void
test_unref_in_callback(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    guint n_granted = 0;

    web_locks_manager_request_async(manager, "a", NULL, NULL, on_lock_unref, &n_granted);
    test_wait(test_is_set, &n_granted);
    assert_state(manager, " | ");
}

/* The lock is not taken out of the result. */
static void
test_result_ignored(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_auto(Answer) answer = {0};

    answer_ask(&answer, manager, "a");
    answer_wait(&answer);
    assert_state(manager, "a | ");
    answer_clear(&answer);
    test_wait_for_state(manager, " | ");
    web_locks_manager_request_async(manager, "b", NULL, NULL, NULL, NULL);
    test_wait_for_state(manager, " | ");
}

static gpointer
unref_in_thread(gpointer lock)
{
    g_object_unref(lock);
    return NULL;
}

static void
test_unref_in_thread(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();

    for (guint i = 0; i < 50; i++)
        g_thread_join(g_thread_new("unref", unref_in_thread, test_lock(manager, "a")));
    test_wait_for_state(manager, " | ");
}

/* The thread drops the lock, the last reference to the agent, while the agent's context runs here.
 */
static void
test_unref_last_in_thread(void)
{
    g_autoptr(WebLocksManager) observer = test_manager_new();

    for (guint i = 0; i < 20; i++) {
        WebLocksManager *manager = test_manager_new();
        WebLocksLock *lock = test_lock(manager, "a");
        GThread *thread;

        g_object_unref(manager);
        thread = g_thread_new("unref", unref_in_thread, lock);
        test_wait_for_state(observer, " | ");
        g_thread_join(thread);
    }
}

typedef struct {
    WebLocksLock *lock;
    guint is_done;
} Releaser;

static gpointer
release_in_thread(gpointer data)
{
    Releaser *releaser = data;

    test_release(releaser->lock);
    g_atomic_int_set(&releaser->is_done, 1);
    g_main_context_wakeup(NULL);
    return NULL;
}

/* However it is released, it notifies that it is not held any more. */
static void
test_release_in_thread(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a");
    Releaser releaser = {lock, 0};
    g_auto(Losses) losses = {0};
    GThread *thread;

    losses_watch(&losses, lock);
    thread = g_thread_new("release", release_in_thread, &releaser);
    test_wait(test_is_set, &releaser.is_done);
    g_thread_join(thread);
    test_settle(manager);
    assert_state(manager, " | ");
    g_assert_cmpuint(losses.n_held_notifies, ==, 1);
    g_assert_cmpuint(losses.n_lost, ==, 0);
    /* cppcheck-suppress memleak ; freed by joining the thread */
}

/* ---- lost */

static void
test_lost_when_closed(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a"), other = test_lock(manager, "b");
    g_autoptr(GError) error = NULL;
    g_auto(Losses) losses = {0}, other_losses = {0};

    losses_watch(&losses, lock);
    losses_watch(&other_losses, other);
    web_locks_agent_close(web_locks_manager_get_agent(manager));
    g_assert_cmpuint(losses.n_lost, ==, 0); /* never within a call */
    g_assert_false(web_locks_lock_get_held(lock));
    test_wait(test_is_set, &losses.n_lost);
    test_wait(test_is_set, &other_losses.n_lost);
    test_iterate();
    g_assert_cmpuint(losses.n_lost, ==, 1);
    g_assert_cmpstr(losses.reason, ==, "terminated");
    g_assert_cmpstr(other_losses.reason, ==, "terminated");
    g_assert_false(web_locks_lock_release_sync(lock, NULL, &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LOST);
}

static void
test_properties(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a");
    g_autofree char *name = NULL;
    WebLocksMode mode = WEB_LOCKS_MODE_SHARED;
    guint64 token = 0;
    gboolean held = FALSE;

    g_object_get(lock, "name", &name, "mode", &mode, "token", &token, "held", &held, NULL);
    g_assert_cmpstr(name, ==, "a");
    g_assert_cmpint(mode, ==, WEB_LOCKS_MODE_EXCLUSIVE);
    g_assert_cmpuint(token, ==, web_locks_lock_get_token(lock));
    g_assert_true(held);
    test_release(lock);
    g_object_get(lock, "held", &held, NULL);
    g_assert_false(held);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/lock/released-twice", test_release_twice);
    g_test_add_func("/lock/released-twice-at-the-same-time", test_release_twice_at_the_same_time);
    g_test_add_func("/lock/released-without-waiting", test_release_without_waiting);
    g_test_add_func("/lock/stolen", test_stolen);
    g_test_add_func("/lock/stolen-while-releasing", test_stolen_while_releasing);
    g_test_add_func("/lock/stolen-and-released", test_stolen_and_released);
    g_test_add_func("/lock/stolen-and-dropped", test_stolen_and_dropped);
    g_test_add_func("/lock/dropped", test_unref);
    g_test_add_func("/lock/dropped-last-of-its-agent", test_unref_last);
    g_test_add_func("/lock/dropped-in-its-own-lost", test_unref_in_lost);
    g_test_add_func("/lock/dropped-in-the-callback", test_unref_in_callback);
    g_test_add_func("/lock/never-taken-out-of-the-answer", test_result_ignored);
    g_test_add_func("/lock/dropped-in-another-thread", test_unref_in_thread);
    g_test_add_func("/lock/dropped-in-another-thread-last-of-its-agent", test_unref_last_in_thread);
    g_test_add_func("/lock/released-in-another-thread", test_release_in_thread);
    g_test_add_func("/lock/lost-when-the-agent-is-closed", test_lost_when_closed);
    g_test_add_func("/lock/properties", test_properties);
    return test_run(NULL);
}
