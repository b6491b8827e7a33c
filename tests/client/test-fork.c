/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* After fork() only the parent has the agent: nothing that the child does affects the parent's
 * locks and requests. */

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/client/fixture.h"

typedef struct {
    WebLocksManager *manager;
    WebLocksLock *lock; /* "a" */
} Parent;

static pid_t test_pid;

/* The leak sanitizer checks at exit. Memory of threads that fork() did not copy can't be freed in
 * the child, so the check is disabled there. */
int __lsan_is_turned_off(void);

int
__lsan_is_turned_off(void)
{
    return getpid() != test_pid;
}

/* Runs in the child; returns its exit status. The child doesn't use g_test. */
typedef int (*Child)(Parent *parent);

static void
fork_and_check(Child child, gboolean with_exit_handlers)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    Parent parent = {manager, test_lock(manager, "a")};
    g_autoptr(WebLocksLock) next = NULL;
    g_auto(Losses) losses = {0};
    g_auto(Answer) waiting = {0};
    int status = 0;
    pid_t pid;

    losses_watch(&losses, parent.lock);
    answer_ask(&waiting, other, "a");
    test_settle(other);

    pid = fork();
    g_assert_cmpint(pid, >=, 0);
    if (pid == 0) {
        status = child(&parent);
        if (with_exit_handlers)
            exit(status);
        _exit(status);
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 0);

    test_settle(manager);
    g_assert_true(web_locks_lock_get_held(parent.lock));
    g_assert_cmpuint(losses.n_lost, ==, 0);
    g_assert_cmpuint(waiting.n_results, ==, 0);
    assert_state(manager, "a | a");
    test_release(parent.lock);
    next = answer_expect_lock(&waiting);
    g_object_unref(parent.lock);
}

/* g_assert in the child would report a failure of the whole test, so this prints the line instead.
 * */
#define CHECK(expression)                                                               \
    G_STMT_START                                                                        \
    {                                                                                   \
        if (!(expression)) {                                                            \
            g_printerr("child: %s:%d: %s is false\n", __FILE__, __LINE__, #expression); \
            return 1;                                                                   \
        }                                                                               \
    }                                                                                   \
    G_STMT_END

static int
do_nothing(Parent *parent)
{
    return 0;
}

static void
test_exit(void)
{
    fork_and_check(do_nothing, TRUE);
}

static void
test_quick_exit(void)
{
    fork_and_check(do_nothing, FALSE);
}

static int
look(Parent *parent)
{
    gboolean held = TRUE;

    CHECK(!web_locks_lock_get_held(parent->lock));
    g_object_get(parent->lock, "held", &held, NULL);
    CHECK(!held);
    CHECK(g_str_equal(web_locks_lock_get_name(parent->lock), "a"));
    return 0;
}

static void
test_not_held(void)
{
    fork_and_check(look, FALSE);
}

static int
unref(Parent *parent)
{
    g_object_unref(parent->lock);
    g_object_unref(parent->manager);
    while (g_main_context_iteration(NULL, FALSE))
        ;
    return 0;
}

static void
test_unref(void)
{
    fork_and_check(unref, TRUE);
}

static gboolean
fails_with(GError *error, int code)
{
    gboolean right = g_error_matches(error, WEB_LOCKS_ERROR, code);

    if (!right)
        g_printerr("child: got %s\n", error != NULL ? error->message : "no error");
    g_clear_error(&error);
    return right;
}

static int
release(Parent *parent)
{
    GError *error = NULL;

    web_locks_lock_release(parent->lock);
    CHECK(!web_locks_lock_release_sync(parent->lock, NULL, &error));
    CHECK(fails_with(error, WEB_LOCKS_ERROR_INVALID_STATE));
    return 0;
}

static void
test_release_child(void)
{
    fork_and_check(release, FALSE);
}

static int
use(Parent *parent)
{
    const char *const names[] = {"b", "c", NULL};
    GError *error = NULL;

    CHECK(web_locks_manager_request_sync(parent->manager, "b", NULL, NULL, &error) == NULL);
    CHECK(fails_with(g_steal_pointer(&error), WEB_LOCKS_ERROR_INVALID_STATE));
    CHECK(web_locks_manager_request_many_sync(parent->manager, names, NULL, NULL, &error) == NULL);
    CHECK(fails_with(g_steal_pointer(&error), WEB_LOCKS_ERROR_INVALID_STATE));
    CHECK(web_locks_manager_query_sync(parent->manager, NULL, &error) == NULL);
    CHECK(fails_with(g_steal_pointer(&error), WEB_LOCKS_ERROR_INVALID_STATE));
    CHECK(web_locks_manager_inspect_sync(parent->manager, NULL, NULL, &error) == NULL);
    CHECK(fails_with(g_steal_pointer(&error), WEB_LOCKS_ERROR_INVALID_STATE));
    CHECK(web_locks_monitor_new_sync(parent->manager, NULL, &error) == NULL);
    CHECK(fails_with(g_steal_pointer(&error), WEB_LOCKS_ERROR_INVALID_STATE));
    CHECK(web_locks_agent_list_observable_sync(web_locks_manager_get_agent(parent->manager), NULL,
                                               &error) == NULL);
    CHECK(fails_with(g_steal_pointer(&error), WEB_LOCKS_ERROR_INVALID_STATE));
    CHECK(!g_initable_init(G_INITABLE(web_locks_manager_get_agent(parent->manager)), NULL, &error));
    CHECK(fails_with(g_steal_pointer(&error), WEB_LOCKS_ERROR_INVALID_STATE));
    return 0;
}

static void
test_use(void)
{
    fork_and_check(use, FALSE);
}

static int
close_agent(Parent *parent)
{
    web_locks_agent_close(web_locks_manager_get_agent(parent->manager));
    while (g_main_context_iteration(NULL, FALSE))
        ;
    return 0;
}

static void
test_close(void)
{
    fork_and_check(close_agent, FALSE);
}

/* Iterating the parent's main context in the child sends nothing to the bus. */
static int
iterate(Parent *parent)
{
    for (guint i = 0; i < 20; i++)
        g_main_context_iteration(NULL, FALSE);
    return 0;
}

static void
test_iterate_child(void)
{
    fork_and_check(iterate, FALSE);
}

/* With a new agent, the child is another client. */
static int
use_own(Parent *parent)
{
    GMainContext *context = g_main_context_new();
    WebLocksOptions *options;
    WebLocksManager *manager;
    WebLocksAgent *agent;
    WebLocksLock *lock;
    GError *error = NULL;

    g_main_context_push_thread_default(context);
    options = g_object_new(WEB_LOCKS_TYPE_OPTIONS, "if-available", TRUE, NULL);
    agent = web_locks_agent_new(G_BUS_TYPE_NONE, test_bus()->address);
    manager = web_locks_manager_new(agent, web_locks_manager_get_bucket(parent->manager));
    lock = web_locks_manager_request_sync(manager, "a", options, NULL, &error);
    CHECK(lock == NULL && error == NULL);
    lock = web_locks_manager_request_sync(manager, "b", options, NULL, &error);
    CHECK(lock != NULL && web_locks_lock_get_held(lock));
    CHECK(web_locks_lock_release_sync(lock, NULL, &error));
    return 0;
}

static void
test_own(void)
{
    fork_and_check(use_own, FALSE);
}

/* The parent's default agent is not that of the child. */
static int
use_default(Parent *parent)
{
    WebLocksAgent *agent = web_locks_agent_dup_default(G_BUS_TYPE_SESSION);
    GError *error = NULL;

    CHECK(g_initable_init(G_INITABLE(agent), NULL, &error));
    CHECK(error == NULL);
    return 0;
}

static void
test_default(void)
{
    g_autoptr(WebLocksAgent) agent = web_locks_agent_dup_default(G_BUS_TYPE_SESSION);
    g_autoptr(GError) error = NULL;

    g_assert_true(g_initable_init(G_INITABLE(agent), NULL, &error));
    g_assert_no_error(error);
    fork_and_check(use_default, FALSE);
    g_assert_true(web_locks_agent_get_connected(agent));
}

/* ---- fork() while another thread is in web_locks_agent_dup_default()
 *
 * A child that inherits a locked mutex of the library hangs when it needs that. GLib has locks of
 * its own, which nobody unlocks in the child; on a busy machine, on which a thread is often
 * interrupted while it has one of them, many children may hang there. The address for which a child
 * waits tells which it is. */

#define N_CHILDREN 100
/* A machine may stall. */
#define CHILD_SECONDS (test_factor() * 20)

typedef struct {
    int is_stopped; /* atomic */
    int n_steps;    /* atomic */
} Loop;

/* The agent exists all the time, so it is only looked up, with the mutex locked. */
static gpointer
run_loop(gpointer data)
{
    Loop *loop = data;
    g_autoptr(GMainContext) context = g_main_context_new();
    WebLocksAgent *agent;

    g_main_context_push_thread_default(context);
    agent = web_locks_agent_dup_default(G_BUS_TYPE_SESSION);
    while (!g_atomic_int_get(&loop->is_stopped)) {
        g_object_unref(web_locks_agent_dup_default(G_BUS_TYPE_SESSION));
        g_atomic_int_inc(&loop->n_steps);
    }
    g_object_unref(agent);
    test_iterate();
    g_main_context_pop_thread_default(context);
    return NULL;
}

/* A default agent of its own, whose lock it acquires and releases. */
static int
use_in_child(void)
{
    g_autoptr(GMainContext) context = g_main_context_new();
    g_autofree char *name = g_strdup_printf("%d", (int)getpid());
    WebLocksAgent *agent;
    WebLocksManager *manager;
    WebLocksLock *lock;
    GError *error = NULL;

    g_main_context_push_thread_default(context);
    agent = web_locks_agent_dup_default(G_BUS_TYPE_SESSION);
    manager = web_locks_manager_new(agent, "children");
    CHECK(manager != NULL);
    lock = web_locks_manager_request_sync(manager, name, NULL, NULL, &error);
    CHECK(lock != NULL && error == NULL);
    CHECK(web_locks_lock_release_sync(lock, NULL, &error));
    g_object_unref(lock);
    g_object_unref(manager);
    g_object_unref(agent);
    return 0;
}

static pid_t
fork_one(void)
{
    pid_t pid = fork();

    g_assert_cmpint(pid, >=, 0);
    if (pid == 0) {
        alarm(4 * CHILD_SECONDS); /* should the parent fail */
        _exit(use_in_child());
    }
    return pid;
}

/* Whether a process waits for a mutex that is not one of the library's. */
static gboolean
waits_for_other_mutex(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/syscall", (int)pid);
    g_autofree char *text = NULL;
    unsigned long address;
    long number;
    Dl_info info = {0};

    if (!g_file_get_contents(path, &text, NULL, NULL) ||
        sscanf(text, "%ld %lx", &number, &address) != 2 || number != SYS_futex)
        return FALSE;
    /* What is not in a library is memory that GLib has allocated for a lock. */
    return dladdr((void *)address, &info) == 0 || strstr(info.dli_fname, "libweblocks") == NULL;
}

/* Returns FALSE if the child has hung, but not in the library. */
static gboolean
join(pid_t pid, gint64 until_us)
{
    int status = 0;
    pid_t ended;

    while ((ended = waitpid(pid, &status, WNOHANG)) == 0 && g_get_monotonic_time() < until_us)
        g_usleep(1000);
    if (ended == 0) {
        g_assert_true(waits_for_other_mutex(pid));
        kill(pid, SIGKILL);
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        return FALSE;
    }
    g_assert_cmpint(ended, ==, pid);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 0);
    return TRUE;
}

static void
test_beside_default_agent(void)
{
    Loop loop = {0};
    GThread *thread = g_thread_new("loop", run_loop, &loop);
    pid_t pids[N_CHILDREN];
    guint n_hung = 0;
    gint64 until_us;

    for (guint i = 0; i < N_CHILDREN; i++) {
        const int n_steps = g_atomic_int_get(&loop.n_steps);

        while (g_atomic_int_get(&loop.n_steps) == n_steps)
            g_thread_yield();
        pids[i] = fork_one();
    }
    g_atomic_int_set(&loop.is_stopped, TRUE);
    g_thread_join(thread);
    until_us = g_get_monotonic_time() + CHILD_SECONDS * G_USEC_PER_SEC;
    for (guint i = 0; i < N_CHILDREN; i++)
        n_hung += join(pids[i], until_us) ? 0 : 1;
    g_test_message("%u of %d children wait for a lock of GLib", n_hung, N_CHILDREN);
    g_assert_cmpuint(n_hung, <, N_CHILDREN / 2);
}

int
main(int argc, char **argv)
{
    test_pid = getpid();
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/fork/child-exits", test_exit);
    g_test_add_func("/fork/child-exits-without-handlers", test_quick_exit);
    g_test_add_func("/fork/child-does-not-hold", test_not_held);
    g_test_add_func("/fork/child-drops-all", test_unref);
    g_test_add_func("/fork/child-releases", test_release_child);
    g_test_add_func("/fork/child-uses-the-agent", test_use);
    g_test_add_func("/fork/child-closes-the-agent", test_close);
    g_test_add_func("/fork/child-runs-the-main-context", test_iterate_child);
    g_test_add_func("/fork/child-with-an-agent-of-its-own", test_own);
    g_test_add_func("/fork/child-with-the-default-agent", test_default);
    g_test_add_func("/fork/beside-default-agent", test_beside_default_agent);
    return test_run(NULL);
}
