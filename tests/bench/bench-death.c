/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The time from the end of a client with very many locks until the next client has its lock.
 *
 *     bench-death ADDRESS HELD WAITING
 *
 * Prints `death`: microseconds from SIGKILL of a process with HELD locks and WAITING pending
 * requests until another process's request for the last of these locks is granted. */

#include "crowd.h"

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
    bench_die("victim", "it was granted what another one holds");
}

static G_NORETURN void
live_as_victim(const Scene *scene, int fd)
{
    WebLocksAgent *agent;
    WebLocksManager *manager;

    bench_hear(fd); /* the gate is held */
    agent = bench_agent_new(scene->address);
    manager = bench_manager_new(agent, "crowd");
    crowd_hold(manager, scene->n_held);
    crowd_wait(manager, scene->n_waiting, on_never_granted, NULL);
    bench_tell(fd);
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
measure(const Scene *scene, pid_t victim, int fd)
{
    g_autoptr(WebLocksAgent) agent = bench_agent_new(scene->address);
    g_autoptr(WebLocksManager) manager = bench_manager_new(agent, "crowd");
    g_autoptr(WebLocksLock) gate = bench_request(manager, CROWD_GATE);
    g_autofree char *name = g_strdup_printf("document %u", scene->n_held - 1);
    WebLocksLock *lock = NULL;
    guint64 begin;

    bench_tell(fd);
    bench_hear(fd);
    web_locks_manager_request_async(manager, name, NULL, NULL, on_granted, &lock);
    bench_barrier(agent);
    if (lock != NULL || !web_locks_lock_get_held(gate))
        bench_die("victim", "it does not hold its locks, or has the gate");
    begin = bench_now();
    bench_check_errno(kill(victim, SIGKILL) == 0, "killing the victim");
    while (lock == NULL)
        g_main_context_iteration(NULL, TRUE);
    bench_print("death", (double)(bench_now() - begin) / 1000);
    g_object_unref(lock);
    bench_check_errno(waitpid(victim, NULL, 0) == victim, "waiting for the victim");
}

int
main(int argc, char **argv)
{
    Scene scene;
    int pair[2];
    pid_t victim;

    if (argc != 4) {
        fprintf(stderr, "usage: bench-death ADDRESS HELD WAITING\n");
        return 2;
    }
    scene.address = argv[1];
    scene.n_held = bench_number(argv[2]);
    scene.n_waiting = bench_number(argv[3]);
    bench_make_pair(pair);
    victim = bench_fork();
    if (victim == 0) {
        close(pair[0]);
        live_as_victim(&scene, pair[1]);
    }
    close(pair[1]);
    measure(&scene, victim, pair[0]);
    return EXIT_SUCCESS;
}
