/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Threads and main contexts: which thread dispatches what, and that there is no deadlock. */

#include <sys/resource.h>
#include <unistd.h>

#include "tests/client/fixture.h"
#include "tests/lib/case.h"

/* A thread with its own thread-default main context. */
typedef struct {
    void (*func)(gpointer data);
    gpointer data;
} Task;

static gpointer
run_with_context(gpointer data)
{
    const Task *task = data;
    g_autoptr(GMainContext) context = g_main_context_new();

    g_main_context_push_thread_default(context);
    task->func(task->data);
    test_iterate();
    g_main_context_pop_thread_default(context);
    return NULL;
}

static void
run_in_threads(guint n_threads, void (*func)(gpointer data), gpointer data)
{
    const Task task = {func, data};
    g_autoptr(GPtrArray) threads = g_ptr_array_new();

    for (guint i = 0; i < n_threads; i++)
        g_ptr_array_add(threads, g_thread_new("with-context", run_with_context, (gpointer)&task));
    for (guint i = 0; i < n_threads; i++)
        g_thread_join(g_ptr_array_index(threads, i));
}

/* ---- one agent, many threads */

static int n_inside; /* threads that hold the lock */

static void
enter_and_leave(WebLocksLock *lock)
{
    g_assert_true(web_locks_lock_get_held(lock));
    g_assert_cmpint(g_atomic_int_add(&n_inside, 1), ==, 0);
    g_thread_yield();
    g_assert_cmpint(g_atomic_int_add(&n_inside, -1), ==, 1);
}

static void
use_sync(gpointer data)
{
    WebLocksManager *manager = data;

    for (guint i = 0; i < 100; i++) {
        g_autoptr(WebLocksLock) lock =
            no_error(web_locks_manager_request_sync(manager, "a", NULL, NULL, &test_error));

        enter_and_leave(lock);
        if (i % 2 == 0)
            test_release(lock);
    }
}

/* The agent's context is not iterated. */
TEST("/contexts/an-agent-of-many-threads", test_shared_sync)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();

    run_in_threads(4, use_sync, manager);
    test_wait_for_state(manager, " | ");
}

typedef struct {
    GMainContext *context;
    WebLocksManager *manager;
    guint n_ready;
    int is_over;
} Owner;

static gpointer
own_agent(gpointer data)
{
    Owner *owner = data;

    g_main_context_push_thread_default(owner->context);
    owner->manager = test_manager_new();
    g_atomic_int_set(&owner->n_ready, 1);
    while (!g_atomic_int_get(&owner->is_over))
        g_main_context_iteration(owner->context, TRUE);
    g_clear_object(&owner->manager);
    test_iterate();
    g_main_context_pop_thread_default(owner->context);
    return NULL;
}

static GThread *
owner_start(Owner *owner)
{
    GThread *thread;

    owner->context = g_main_context_new();
    thread = g_thread_new("owner", own_agent, owner);
    while (!g_atomic_int_get(&owner->n_ready))
        g_thread_yield();
    return thread;
}

static void
owner_end(Owner *owner, GThread *thread)
{
    g_atomic_int_set(&owner->is_over, 1);
    g_main_context_wakeup(owner->context);
    g_thread_join(thread);
    g_main_context_unref(owner->context);
}

/* Results are delivered in the calling thread; the agent's context runs elsewhere. */
static void
use_both(gpointer data)
{
    WebLocksManager *manager = data;

    for (guint i = 0; i < 50; i++) {
        g_auto(Answer) answer = {0};
        g_autoptr(WebLocksLock) lock = NULL;

        answer_ask(&answer, manager, "b");
        lock = answer_expect_lock(&answer);
        g_assert_true(answer.thread == g_thread_self());
        g_assert_true(answer.context == g_main_context_get_thread_default());
        test_release(lock);
    }
    use_sync(manager);
}

TEST("/contexts/an-agent-of-another-thread", test_foreign)
{
    Owner owner = {0};
    GThread *thread = owner_start(&owner);
    g_autoptr(WebLocksManager) observer = test_manager_new();

    run_in_threads(3, use_both, owner.manager);
    test_wait_for_state(observer, " | ");
    owner_end(&owner, thread);
}

/* The signal is emitted in the agent's main context, whichever thread requested the lock. */
TEST("/contexts/lost-in-the-agents-context", test_lost_in_the_agents_context)
{
    Owner owner = {0};
    GThread *thread = owner_start(&owner);
    g_autoptr(WebLocksManager) other = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(owner.manager, "a"), stolen = NULL;
    g_auto(Losses) losses = {0};

    losses_watch(&losses, lock);
    stolen = test_lock_stolen(other, "a");
    while (!test_is_set(&losses.n_lost))
        g_thread_yield();
    g_clear_object(&lock);
    owner_end(&owner, thread);
    g_assert_true(losses.thread == thread);
}

/* ---- a sync call in a callback */

typedef struct {
    WebLocksManager *manager;
    guint n_done;
} Nested;

static void
on_lost_nested(WebLocksLock *lock, const GError *loss, gpointer data)
{
    Nested *nested = data;
    g_autoptr(WebLocksLock) inner =
        no_error(web_locks_manager_request_sync(nested->manager, "inner", NULL, NULL, &test_error));

    test_release(inner);
    assert_fails(web_locks_lock_release_sync(lock, NULL, &test_error), WEB_LOCKS_ERROR,
                 WEB_LOCKS_ERROR_STOLEN);
    nested->n_done++;
}

TEST("/contexts/a-sync-call-in-lost", test_sync_in_lost)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a"), stolen = NULL;
    Nested nested = {manager, 0};

    g_signal_connect(lock, "lost", G_CALLBACK(on_lost_nested), &nested);
    stolen = test_lock_stolen(other, "a");
    test_wait(test_is_set, &nested.n_done);
}

/* ---- async and sync calls of one agent, mixed */

TEST("/contexts/sync-calls-after-async-ones", test_sync_after_async)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    WebLocksAgent *agent = web_locks_manager_get_agent(manager);
    g_autoptr(WebLocksLock) lock = NULL;
    g_auto(Answer) connect = {0}, ask = {0};

    g_async_initable_init_async(G_ASYNC_INITABLE(agent), G_PRIORITY_DEFAULT, NULL, answer_take,
                                &connect);
    assert_done(g_initable_init(G_INITABLE(agent), NULL, &test_error));
    answer_ask(&ask, manager, "a");
    assert_done(
        g_async_initable_init_finish(G_ASYNC_INITABLE(agent), answer_wait(&connect), &test_error));
    lock = answer_expect_lock(&ask);
}

/* A thread waits in a synchronous call for a lock that this thread releases with the same agent. */
static void
wait_for_lock(gpointer data)
{
    g_autoptr(WebLocksLock) lock =
        no_error(web_locks_manager_request_sync(data, "a", NULL, NULL, &test_error));

    g_assert_nonnull(lock);
}

TEST("/contexts/a-thread-waits-for-its-own-agent", test_waits_for_own_agent)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    WebLocksLock *lock = test_lock(manager, "a");
    const Task task = {wait_for_lock, manager};
    GThread *thread = g_thread_new("waiter", run_with_context, (gpointer)&task);

    test_wait_for_state(manager, "a | a");
    test_release(lock);
    g_object_unref(lock);
    g_thread_join(thread);
    test_wait_for_state(manager, " | ");
}

/* The agent is closed while other threads use it. */
static void
ask_until_closed(gpointer data)
{
    g_autoptr(GError) error = NULL;

    while (error == NULL) {
        g_autoptr(WebLocksLock) lock =
            web_locks_manager_request_sync(data, "a", NULL, NULL, &error);
    }
    g_assert_true(error->domain == WEB_LOCKS_ERROR);
}

static gpointer
close_soon(gpointer data)
{
    WebLocksManager *manager = data;

    for (guint i = 0; i < 20; i++)
        test_settle(manager);
    web_locks_agent_close(web_locks_manager_get_agent(manager));
    return NULL;
}

TEST("/contexts/closed-by-another-thread", test_closed_by_another)
{
    for (guint i = 0; i < 10; i++) {
        g_autoptr(WebLocksManager) manager = test_manager_new();
        GThread *closer = g_thread_new("closer", close_soon, manager);

        run_in_threads(2, ask_until_closed, manager);
        g_thread_join(closer);
    }
}

/* ---- no descriptor is left, so a thread that has not waited before can't be woken by one */

typedef struct {
    WebLocksManager *manager;
    GCancellable *cancellable;
    guint is_cancelled;
} Unwoken;

static gpointer
wait_until_cancelled(gpointer data)
{
    Unwoken *unwoken = data;
    g_autoptr(GError) error = NULL;

    g_assert_null(
        web_locks_manager_request_sync(unwoken->manager, "a", NULL, unwoken->cancellable, &error));
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    g_atomic_int_set(&unwoken->is_cancelled, TRUE);
    g_main_context_wakeup(NULL);
    return NULL;
}

TEST("/contexts/no-descriptors", test_no_descriptors)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), holder = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(holder, "a"), connected = test_lock(manager, "b");
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    Unwoken unwoken = {manager, cancellable, FALSE};
    const int lowest = dup(STDERR_FILENO);
    struct rlimit before, none;
    g_autoptr(GThread) waiter = NULL;

    g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &before), ==, 0);
    none = (struct rlimit){(rlim_t)lowest, before.rlim_max};
    close(lowest);
    g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &none), ==, 0);
    waiter = g_thread_new("waiter", wait_until_cancelled, &unwoken);
    test_wait_for_state(holder, "a b | a");
    g_cancellable_cancel(cancellable);
    test_wait(test_is_set, &unwoken.is_cancelled);
    g_thread_join(g_steal_pointer(&waiter));
    g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &before), ==, 0);
}

TEST_MAIN(test_run(NULL))
