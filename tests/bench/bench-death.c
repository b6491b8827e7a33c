/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The time from the end of a client with very many locks until the next client has its lock.
 *
 *     bench-death ADDRESS HELD WAITING
 *
 * Prints `death`: microseconds from SIGKILL of a process with HELD locks and WAITING pending
 * requests until another process's request for the last of these locks is granted. */

#include "bulk.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    const char *address;
    guint n_held;
    guint n_waiting;
} Scene;

static void
on_never_granted(GObject *source, GAsyncResult *result, gpointer data)
{
    bench_die("killed process", "it was granted what another one holds");
}

static G_NORETURN void
run_killed_process(const Scene *scene, int fd)
{
    WebLocksAgent *agent;
    WebLocksManager *manager;

    bench_wait_notified(fd); /* the contended is held */
    agent = bench_agent_new(scene->address);
    manager = bench_manager_new(agent, "bulk");
    bulk_hold(manager, scene->n_held);
    bulk_wait(manager, scene->n_waiting, on_never_granted, NULL);
    bench_notify(fd);
    for (;;)
        pause();
}

static void
on_granted(GObject *source, GAsyncResult *result, gpointer data)
{
    g_autoptr(GError) error = NULL;
    WebLocksLock **lock = data;

    *lock = web_locks_manager_request_finish(WEB_LOCKS_MANAGER(source), result, &error);
    bench_check_error(error, "request");
}

static void
measure(const Scene *scene, pid_t killed, int fd)
{
    g_autoptr(WebLocksAgent) agent = bench_agent_new(scene->address);
    g_autoptr(WebLocksManager) manager = bench_manager_new(agent, "bulk");
    g_autoptr(WebLocksLock) contended = bench_request(manager, BULK_NAME);
    g_autofree char *name = g_strdup_printf("document %u", scene->n_held - 1);
    WebLocksLock *lock = NULL;
    guint64 begin;

    bench_notify(fd);
    bench_wait_notified(fd);
    web_locks_manager_request_async(manager, name, NULL, NULL, on_granted, &lock);
    bench_barrier(agent);
    if (lock != NULL || !web_locks_lock_get_held(contended))
        bench_die("killed process", "it does not hold its locks, or has the contended");
    begin = bench_now();
    bench_check_errno(kill(killed, SIGKILL) == 0, "kill");
    while (lock == NULL)
        g_main_context_iteration(NULL, TRUE);
    bench_print("death", (double)(bench_now() - begin) / 1000);
    g_object_unref(lock);
    bench_check_errno(waitpid(killed, NULL, 0) == killed, "waiting for the killed process");
}

int
main(int argc, char **argv)
{
    Scene scene;
    int pair[2];
    pid_t killed;

    if (argc != 4) {
        fprintf(stderr, "usage: bench-death ADDRESS HELD WAITING\n");
        return 2;
    }
    scene.address = argv[1];
    scene.n_held = bench_number(argv[2]);
    scene.n_waiting = bench_number(argv[3]);
    bench_make_pair(pair);
    killed = bench_fork();
    if (killed == 0) {
        close(pair[0]);
        run_killed_process(&scene, pair[1]);
    }
    close(pair[1]);
    measure(&scene, killed, pair[0]);
    return EXIT_SUCCESS;
}
