/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The longest delay that an application has when the service is killed: it requests and releases a
 * lock, one pair after the other, while the service ends and is started again.
 *
 *     bench-pause ADDRESS
 *
 * For each line of standard input it kills the process that owns the service's name, and prints
 * `pause`: the longest time of a pair until the service has replied again. Meanwhile it holds
 * another lock, and fails if that is lost. */

#include "bench.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define PAIRS_BEFORE 50
#define PAIRS_AFTER  50
#define RETRY_US     500

/* If the bus can't start the service, a request without one is refused immediately. */
static WebLocksLock *
request(WebLocksManager *manager)
{
    for (;;) {
        g_autoptr(GError) error = NULL;
        WebLocksLock *lock = web_locks_manager_request_sync(manager, "printer", NULL, NULL, &error);

        if (!g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE)) {
            bench_check_error(error, "request");
            return lock;
        }
        bench_pause(RETRY_US);
    }
}

static double
run_pairs(WebLocksManager *manager, guint count)
{
    double longest = 0;

    for (guint i = 0; i < count; i++) {
        guint64 begin = bench_now();
        g_autoptr(WebLocksLock) lock = request(manager);

        bench_release(lock);
        longest = MAX(longest, (double)(bench_now() - begin) / 1000);
    }
    return longest;
}

int
main(int argc, char **argv)
{
    g_autoptr(GDBusConnection) connection = NULL;
    g_autoptr(WebLocksAgent) agent = NULL;
    g_autoptr(WebLocksManager) manager = NULL;
    g_autoptr(WebLocksLock) held = NULL;
    char line[16];

    if (argc != 2)
        bench_die("usage", "bench-pause ADDRESS");
    connection = bench_connect(argv[1]);
    agent = bench_agent_new(argv[1]);
    manager = bench_manager_new(agent, "bench");
    held = bench_request(manager, "held");
    while (fgets(line, sizeof line, stdin) != NULL) {
        run_pairs(manager, PAIRS_BEFORE);
        bench_check_errno(kill(bench_get_service_pid(connection), SIGKILL) == 0, "kill");
        bench_print("pause", run_pairs(manager, PAIRS_AFTER));
        fflush(stdout);
        if (!web_locks_lock_get_held(held))
            bench_die("held", "the lock was lost");
    }
    return EXIT_SUCCESS;
}
