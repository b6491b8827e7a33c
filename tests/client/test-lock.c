/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A lock after the grant: released, downgraded, last reference dropped, stolen, with one
 * notification. */

#include "tests/client/fixture.h"
#include "tests/lib/case.h"

/* ---- released */

/* The second call does not wait for the first. */
TEST("/lock/released-twice-at-the-same-time", test_release_twice_at_the_same_time)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a");
    g_auto(Answer) first = {0}, second = {0};

    web_locks_lock_release_async(lock, NULL, answer_take, &first);
    g_assert_false(web_locks_lock_get_held(lock));
    web_locks_lock_release_async(lock, NULL, answer_take, &second);
    g_assert_cmpuint(first.n_results + second.n_results, ==, 0);
    assert_done(web_locks_lock_release_finish(lock, answer_wait(&first), &test_error));
    assert_fails(web_locks_lock_release_finish(lock, answer_wait(&second), &test_error),
                 WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_HELD);
}

/* One notification, and what follows on the same agent comes after the release. */
TEST("/lock/released-without-waiting", test_release_without_waiting)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a"), again = NULL, next = NULL;
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
    assert_fails(web_locks_lock_release_sync(lock, NULL, &test_error), WEB_LOCKS_ERROR,
                 WEB_LOCKS_ERROR_NOT_HELD);
    assert_state(manager, "a | a");
    g_assert_true(web_locks_lock_get_wanted(again)); /* more in tests/python/test_wanted.py */
    web_locks_lock_release(again);
    next = answer_expect_lock(&waiting);
    g_assert_cmpuint(losses.n_held_notifies, ==, 1);
    g_assert_cmpuint(losses.n_lost, ==, 0);
}

/* The service has ended it, and the notification is in the holder's socket when it is released. */
TEST("/lock/stolen-while-releasing", test_stolen_while_releasing)
{
    g_autoptr(WebLocksManager) other = test_manager_new();
    g_autoptr(GMainContext) context = g_main_context_new();
    g_autoptr(WebLocksLock) stolen = NULL;

    g_main_context_push_thread_default(context);
    {
        g_autoptr(WebLocksManager) holder = test_manager_new();
        g_autoptr(WebLocksLock) lock = test_lock(holder, "a");
        g_auto(Losses) losses = {0};
        g_auto(Answer) released = {0};

        losses_watch(&losses, lock);
        stolen = test_lock_stolen(other, "a");
        web_locks_lock_release_async(lock, NULL, answer_take, &released);
        assert_fails(web_locks_lock_release_finish(lock, answer_wait(&released), &test_error),
                     WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_STOLEN);
        test_settle(holder);
        g_assert_cmpuint(losses.n_lost, ==, 0); /* it was released before */
        g_assert_cmpuint(losses.n_held_notifies, ==, 1);
    }
    g_main_context_pop_thread_default(context);
    assert_state(other, "a | ");
}

/* ---- dropped */

/* The lock is the last object of its agent. */
TEST("/lock/dropped-last-of-its-agent", test_unref_last)
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

TEST("/lock/dropped-in-its-own-lost", test_unref_in_lost)
{
    g_autoptr(WebLocksManager) other = test_manager_new();
    WebLocksManager *holder = test_manager_new();
    WebLocksLock *lock = test_lock(holder, "a");
    g_autoptr(WebLocksLock) stolen = NULL;

    g_object_unref(holder); /* with the last reference, the agent is freed */
    g_signal_connect(lock, "lost", G_CALLBACK(on_lost_unref), &lock);
    g_object_add_weak_pointer(G_OBJECT(lock), (gpointer *)&lock);
    stolen = test_lock_stolen(other, "a");
    while (lock != NULL)
        g_main_context_iteration(NULL, TRUE);
    test_settle(other);
    assert_state(other, "a | ");
}

/* The lock is not taken out of the result. */
TEST("/lock/never-taken-out-of-the-answer", test_result_ignored)
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

/* The thread drops the lock, the last reference to the agent, while the agent's context runs here.
 */
TEST("/lock/dropped-in-another-thread-last-of-its-agent", test_unref_last_in_thread)
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

/* ---- downgraded */

static void
count(GObject *object, GParamSpec *pspec, gpointer data)
{
    ++*(guint *)data;
}

static void
ask_with(Answer *answer, WebLocksManager *manager, WebLocksOptions *take_options)
{
    web_locks_manager_request_async(manager, "a", take_options, NULL, answer_take, answer);
    g_object_unref(take_options);
    test_settle(manager);
}

static WebLocksOptions *
slots(guint n)
{
    WebLocksOptions *options = web_locks_options_new();

    web_locks_options_set_slots(options, n);
    return options;
}

/* The one that waits is granted with it, and the token stays; once more changes nothing. */
TEST("/lock/downgraded", test_downgrade)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a"), shared = NULL;
    const guint64 token = web_locks_lock_get_token(lock);
    g_auto(Answer) waiting = {0}, downgraded = {0};
    guint n_notifies = 0;

    g_signal_connect(lock, "notify::mode", G_CALLBACK(count), &n_notifies);
    ask_with(&waiting, other, test_shared());
    g_assert_cmpint(web_locks_lock_get_mode(lock), ==, WEB_LOCKS_MODE_EXCLUSIVE);
    web_locks_lock_downgrade_async(lock, NULL, answer_take, &downgraded);
    assert_done(web_locks_lock_downgrade_finish(lock, answer_wait(&downgraded), &test_error));
    g_assert_cmpint(web_locks_lock_get_mode(lock), ==, WEB_LOCKS_MODE_SHARED);
    g_assert_cmpuint(n_notifies, ==, 1);
    shared = answer_expect_lock(&waiting);
    assert_state(manager, "a:s a:s | ");
    assert_done(web_locks_lock_downgrade_sync(lock, NULL, &test_error));
    test_settle(manager);
    g_assert_cmpuint(n_notifies, ==, 1);
    g_assert_true(web_locks_lock_get_held(lock));
    g_assert_cmpuint(web_locks_lock_get_token(lock), ==, token);
}

/* Both before the main context runs. */
TEST("/lock/downgraded-and-lost", test_downgrade_and_lose)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a"), stolen = NULL;
    g_autoptr(WebLocksOptions) steal = web_locks_options_new();
    g_autoptr(GError) error = NULL;
    g_auto(Losses) losses = {0};
    guint n_notifies = 0;

    web_locks_options_set_steal(steal, TRUE);
    losses_watch(&losses, lock);
    g_signal_connect(lock, "notify::mode", G_CALLBACK(count), &n_notifies);
    g_assert_true(web_locks_lock_downgrade_sync(lock, NULL, &error));
    g_assert_no_error(error);
    stolen = web_locks_manager_request_sync(other, "a", steal, NULL, &error);
    g_assert_no_error(error);
    while (web_locks_lock_get_held(lock))
        g_thread_yield();
    g_assert_cmpuint(n_notifies + losses.n_lost, ==, 0);
    test_wait(test_is_set, &losses.n_lost);
    g_assert_cmpuint(n_notifies, ==, 1);
}

TEST("/lock/downgrade-refused", test_downgrade_refused)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(GCancellable) cancelled = g_cancellable_new();
    g_auto(Answer) first = {0}, second = {0};
    g_autoptr(WebLocksLock) lock = NULL, another = NULL;
    g_autoptr(WebLocksSnapshot) snapshot = NULL;
    g_autoptr(WebLocksLockInfo) info = NULL;

    ask_with(&first, manager, slots(2));
    ask_with(&second, other, slots(2));
    lock = answer_expect_lock(&first);
    another = answer_expect_lock(&second);
    assert_fails(web_locks_lock_downgrade_sync(lock, NULL, &test_error), WEB_LOCKS_ERROR,
                 WEB_LOCKS_ERROR_INVALID_STATE);
    g_assert_cmpint(web_locks_lock_get_mode(lock), ==, WEB_LOCKS_MODE_EXCLUSIVE);
    snapshot = no_error(web_locks_manager_inspect_sync(manager, "a", NULL, &test_error));
    info = g_list_model_get_item(web_locks_snapshot_get_held(snapshot), 1);
    g_assert_cmpuint(web_locks_lock_info_get_slots(info), ==, 2);

    test_release(another);
    g_cancellable_cancel(cancelled);
    assert_fails(web_locks_lock_downgrade_sync(lock, cancelled, &test_error), G_IO_ERROR,
                 G_IO_ERROR_CANCELLED);
    assert_done(web_locks_lock_downgrade_sync(lock, NULL, &test_error));
    assert_fails(web_locks_lock_downgrade_sync(another, NULL, &test_error), WEB_LOCKS_ERROR,
                 WEB_LOCKS_ERROR_NOT_HELD);
}

/* The last reference is that of the task, which ends with the answer. */
TEST("/lock/downgraded-and-dropped", test_downgrade_and_drop)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();

    for (guint i = 0; i < 20; i++) {
        g_autofree char *name = g_strdup_printf("%u", i);
        WebLocksLock *lock = test_lock(manager, name);

        web_locks_lock_downgrade_async(lock, NULL, NULL, NULL);
        g_object_unref(lock);
        if (i % 2 == 0)
            test_settle(manager);
    }
    test_wait_for_state(manager, " | ");
}

TEST_MAIN(test_run(NULL))
