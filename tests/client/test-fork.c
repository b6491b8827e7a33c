/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* After fork() only the parent has the agent: nothing that the child does affects the parent's
 * locks and requests. */

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/client/fixture.h"
#include "tests/lib/case.h"

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

TEST("/fork/child-exits", test_quick_exit)
{
    fork_and_check(do_nothing, FALSE);
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

static void
iterate(void)
{
    while (g_main_context_iteration(NULL, FALSE))
        continue;
}

/* It holds nothing, and its calls fail. */
static int
check_calls(Parent *parent)
{
    const char *const names[] = {"b", "c", NULL};
    gboolean held = TRUE;
    GError *error = NULL;

    CHECK(!web_locks_lock_get_held(parent->lock));
    g_object_get(parent->lock, "held", &held, NULL);
    CHECK(!held);
    CHECK(g_str_equal(web_locks_lock_get_name(parent->lock), "a"));
    web_locks_lock_release(parent->lock);
    CHECK(!web_locks_lock_release_sync(parent->lock, NULL, &error));
    CHECK(fails_with(g_steal_pointer(&error), WEB_LOCKS_ERROR_INVALID_STATE));
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

/* Everything that a child could do with what it has of its parent, up to the exit handlers. */
static int
use_all(Parent *parent)
{
    int status;

    iterate();
    status = check_calls(parent);
    web_locks_agent_close(web_locks_manager_get_agent(parent->manager));
    iterate();
    g_object_unref(parent->lock);
    g_object_unref(parent->manager);
    iterate();
    return status;
}

TEST("/fork/child-uses-everything", test_use)
{
    fork_and_check(use_all, TRUE);
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

TEST("/fork/child-with-an-agent-of-its-own", test_own)
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

TEST("/fork/child-with-the-default-agent", test_default)
{
    g_autoptr(WebLocksAgent) agent = web_locks_agent_dup_default(G_BUS_TYPE_SESSION);

    assert_done(g_initable_init(G_INITABLE(agent), NULL, &test_error));
    fork_and_check(use_default, FALSE);
    g_assert_true(web_locks_agent_get_connected(agent));
}

int
main(int argc, char **argv)
{
    test_pid = getpid();
    g_test_init(&argc, &argv, NULL);
    test_cases_add();
    return test_run(NULL);
}
