/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The lock socket with the real service: which process has it; a main loop that does not run. That
 * lock operations never use the bus is in tests/python/test_socket.py. */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/client/fixture.h"
#include "tests/lib/case.h"

/* ---- processes */

static void
read_link(int fd, char *target, gsize size)
{
    char path[32];
    ssize_t n;

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    n = readlink(path, target, size - 1);
    target[MAX(n, 0)] = '\0';
}

/* Holds "a", forks a child that stays, and reports it. The child writes how many of its parent's
 * sockets it has. Restricted to what a forked process may do: no g_test. */
static void
hold_and_fork(const char *bucket, int to_test, int from_test)
{
    WebLocksAgent *agent;
    WebLocksManager *manager;
    WebLocksLock *lock;
    gboolean had_socket[256];
    char target[64];
    guint8 n_sockets = 0;

    g_main_context_push_thread_default(g_main_context_new());
    for (int fd = 0; fd < 256; fd++) {
        read_link(fd, target, sizeof target);
        had_socket[fd] = target[0] != '\0';
    }
    agent = web_locks_agent_new(G_BUS_TYPE_NONE, test_bus()->address);
    manager = web_locks_manager_new(agent, bucket);
    lock = web_locks_manager_request_sync(manager, "a", NULL, NULL, NULL);
    if (lock == NULL)
        _exit(1);
    for (int fd = 0; fd < 256; fd++) {
        read_link(fd, target, sizeof target);
        had_socket[fd] = !had_socket[fd] && g_str_has_prefix(target, "socket:");
        if (had_socket[fd])
            n_sockets++;
    }
    if (write(to_test, &n_sockets, 1) != 1)
        _exit(1);
    if (fork() == 0) {
        guint8 n_nothings = 0;

        for (int fd = 0; fd < 256; fd++) {
            read_link(fd, target, sizeof target);
            if (had_socket[fd] && g_str_equal(target, "/dev/null"))
                n_nothings++;
        }
        if (write(to_test, &n_nothings, 1) != 1)
            _exit(1);
    }
    _exit(read(from_test, target, 1) < 0); /* exits when the test closes it */
}

TEST("/socket/fork", test_fork)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksLock) lock = NULL;
    g_auto(Answer) answer = {0};
    int from_child[2], to_child[2], status;
    guint8 n_sockets, n_nothings;
    pid_t pid;

    g_assert_cmpint(pipe(from_child), ==, 0);
    g_assert_cmpint(pipe(to_child), ==, 0);
    pid = fork();
    g_assert_cmpint(pid, >=, 0);
    if (pid == 0) {
        close(to_child[1]);
        hold_and_fork(test_bucket(), from_child[1], to_child[0]);
    }
    g_assert_cmpint(read(from_child[0], &n_sockets, 1), ==, 1);
    g_assert_cmpint(read(from_child[0], &n_nothings, 1), ==, 1);
    g_assert_cmpuint(n_sockets, ==, 2); /* to the bus, and to the service */
    g_assert_cmpuint(n_nothings, ==, n_sockets);

    answer_ask(&answer, manager, "a");
    test_settle(manager);
    g_assert_cmpuint(answer.n_results, ==, 0);
    kill(pid, SIGKILL);
    lock = answer_expect_lock(&answer); /* although the child is still running */
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    close(to_child[1]);
    /* The read returns when the child has exited. */
    close(from_child[1]);
    g_assert_cmpint(read(from_child[0], &n_sockets, 1), ==, 0);
    close(from_child[0]);
    close(to_child[0]);
}

/* ---- a main loop that doesn't run */

/* A dropped lock is released: another agent gets it, although the first one's context is not
 * iterated. */
static void
assert_free(WebLocksManager *other)
{
    g_autoptr(WebLocksOptions) options =
        g_object_new(WEB_LOCKS_TYPE_OPTIONS, "timeout", 5000 * test_factor(), NULL);
    g_autoptr(WebLocksLock) lock =
        no_error(web_locks_manager_request_sync(other, "a", options, NULL, &test_error));

    g_assert_nonnull(lock);
    test_release(lock);
}

typedef struct {
    WebLocksManager *other;
    guint n_left;
} Blocked;

static void
on_lock(GObject *source, GAsyncResult *result, gpointer data)
{
    Blocked *blocked = data;
    WebLocksManager *manager = WEB_LOCKS_MANAGER(source);
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksLock) lock = web_locks_manager_request_finish(manager, result, &error);

    g_assert_no_error(error);
    g_clear_object(&lock);
    assert_free(blocked->other);
    if (--blocked->n_left > 0)
        web_locks_manager_request_async(manager, "a", NULL, NULL, on_lock, blocked);
}

static gboolean
is_done(gpointer blocked)
{
    return ((Blocked *)blocked)->n_left == 0;
}

TEST("/socket/blocked-async", test_blocked_async)
{
    g_autoptr(WebLocksManager) other = test_manager_new();

    for (guint i = 0; i < 20; i++) {
        g_autoptr(WebLocksManager) manager = test_manager_new();
        Blocked blocked = {other, 4};

        web_locks_manager_request_async(manager, "a", NULL, NULL, on_lock, &blocked);
        test_wait(is_done, &blocked);
    }
}

TEST_MAIN(test_run(NULL))
