/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "crash-guard.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define DEATHS_MAX    3
#define DEATHS_WITHIN (10L * G_USEC_PER_SEC)

/* How many are stored, so that a record remains left out if something else crashes too. */
#define N_DEATHS 16

/* GLib's fatal errors raise SIGTRAP. */
static const int faults[] = {SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};

typedef struct {
    guint64 agent, id; /* 0: not at a record */
    gint64 start_us;   /* monotonic time at which the process began; 0: not used */
} Death;

static struct {
    char *path;             /* NULL: there is no guard */
    Death deaths[N_DEATHS]; /* the contents of the file: the last ones */
    Death next;             /* what is noted if this process crashes now */
    struct sigaction before[G_N_ELEMENTS(faults)];
} guard;

/* Only calls functions that a signal handler may call. The process then ends as it would have
 * without it. */
static void
on_fault(int number)
{
    int fd = open(guard.path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd >= 0) {
        memmove(guard.deaths, guard.deaths + 1, sizeof guard.deaths - sizeof guard.next);
        guard.deaths[N_DEATHS - 1] = guard.next;
        if (write(fd, guard.deaths, sizeof guard.deaths) < 0)
            unlink(guard.path);
        close(fd);
    }
    for (guint i = 0; i < G_N_ELEMENTS(faults); i++)
        sigaction(faults[i], &guard.before[i], NULL);
    raise(number);
}

void
crash_guard_begin(const char *path, gint64 now_us)
{
    const struct sigaction action = {.sa_handler = on_fault};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    crash_guard_end(FALSE);
    memset(&guard, 0, sizeof guard);
    guard.path = g_strdup(path);
    guard.next.start_us = now_us;
    if (fd >= 0 && read(fd, guard.deaths, sizeof guard.deaths) != sizeof guard.deaths)
        memset(guard.deaths, 0, sizeof guard.deaths);
    if (fd >= 0)
        close(fd);
    for (guint i = 0; i < G_N_ELEMENTS(faults); i++)
        sigaction(faults[i], &action, &guard.before[i]);
}

gboolean
crash_guard_skips(guint64 agent, guint64 id)
{
    gint64 times[DEATHS_MAX] = {0}; /* of the last ones at this record */

    for (guint i = 0; i < N_DEATHS; i++) {
        const Death *death = &guard.deaths[i];

        if (death->start_us == 0 || death->agent != agent || death->id != id)
            continue;
        memmove(times, times + 1, sizeof times - sizeof times[0]);
        times[DEATHS_MAX - 1] = death->start_us;
        /* The times may be those of another boot. */
        if (times[0] != 0 && times[0] <= death->start_us &&
            death->start_us - times[0] <= DEATHS_WITHIN)
            return TRUE;
    }
    guard.next.agent = agent;
    guard.next.id = id;
    return FALSE;
}

void
crash_guard_end(gboolean is_over)
{
    if (guard.path == NULL)
        return;
    for (guint i = 0; i < G_N_ELEMENTS(faults); i++)
        sigaction(faults[i], &guard.before[i], NULL);
    if (is_over)
        unlink(guard.path);
    g_clear_pointer(&guard.path, g_free);
}
