/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The first lock of a client: from the creation of an agent, which connects to the bus, until the
 * lock is granted.
 *
 *     bench-first ADDRESS WAY COUNT
 *
 * WAY is
 *   running    the service runs;
 *   activated  it is ended before each request, which makes the bus start it. */

#include "bench.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define WARM_UP 3
#define POLL_US 500

static void
end_service(GDBusConnection *connection)
{
    const pid_t pid = bench_get_service_pid(connection);

    if (pid != 0)
        bench_check_errno(kill(pid, SIGTERM) == 0, "kill");
    while (bench_get_service_pid(connection) != 0)
        bench_pause(POLL_US);
}

int
main(int argc, char **argv)
{
    g_autoptr(GDBusConnection) connection = NULL;
    gboolean is_activated;
    BenchSamples *samples;
    guint count;

    bench_check_usage(argc == 4, "ADDRESS running|activated COUNT");
    is_activated = strcmp(argv[2], "activated") == 0;
    count = bench_number(argv[3]);
    connection = bench_connect(argv[1]);
    samples = bench_samples_new_shared(count);
    for (guint i = 0; i < WARM_UP + count; i++) {
        g_autoptr(WebLocksAgent) agent = NULL;
        g_autoptr(WebLocksManager) manager = NULL;
        g_autoptr(WebLocksLock) lock = NULL;
        guint64 begin;

        if (is_activated)
            end_service(connection);
        begin = bench_now();
        agent = web_locks_agent_new(G_BUS_TYPE_NONE, argv[1]);
        manager = bench_manager_new(agent, "bench");
        lock = bench_request(manager, "printer");
        if (i >= WARM_UP)
            bench_samples_add(samples, begin, bench_now());
        bench_release(lock);
    }
    bench_samples_print(samples, "");
    bench_samples_free(samples);
    return EXIT_SUCCESS;
}
