/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "crash-guard.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define DEATHS_MAX    3
#define DEATHS_WITHIN (10L * G_USEC_PER_SEC)

/* More than one, so that a record remains left out if something else crashes too. */
#define N_COUNTS 4

/* GLib's fatal errors raise SIGTRAP. */
static const int faults[] = {SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};

typedef struct {
    guint64 agent, id; /* 0: not at a record */
    guint64 n_deaths;  /* 0: not used */
    gint64 first_us;   /* monotonic time of the first of these */
} CrashCount;

static struct {
    char *path; /* NULL: there is no guard */
    gint64 now_us;
    CrashCount counts[N_COUNTS]; /* the contents of the file */
    guint64 agent, id;           /* what is being restored */
    struct sigaction before[G_N_ELEMENTS(faults)];
} guard;

/* Returns the count of that record, otherwise the oldest one. */
static CrashCount *
find_count(guint64 agent, guint64 id)
{
    CrashCount *oldest = guard.counts;

    for (guint i = 0; i < N_COUNTS; i++) {
        CrashCount *count = &guard.counts[i];

        if (count->n_deaths > 0 && count->agent == agent && count->id == id)
            return count;
        if (count->n_deaths == 0 || count->first_us < oldest->first_us)
            oldest = count;
    }
    return oldest;
}

/* The time may be that of another boot. */
static gboolean
is_recent(const CrashCount *count)
{
    return guard.now_us >= count->first_us && guard.now_us - count->first_us <= DEATHS_WITHIN;
}

static void
count_death(void)
{
    CrashCount *count = find_count(guard.agent, guard.id);

    if (count->n_deaths > 0 && count->agent == guard.agent && count->id == guard.id &&
        is_recent(count))
        count->n_deaths++;
    else
        *count = (CrashCount){guard.agent, guard.id, 1, guard.now_us};
}

/* Only calls functions that a signal handler may call. The process then ends as it would have
 * without it. */
static void
on_fault(int number)
{
    int fd = open(guard.path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd >= 0) {
        count_death();
        if (write(fd, guard.counts, sizeof guard.counts) < 0)
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
    guard.now_us = now_us;
    if (fd >= 0 && read(fd, guard.counts, sizeof guard.counts) != sizeof guard.counts)
        memset(guard.counts, 0, sizeof guard.counts);
    if (fd >= 0)
        close(fd);
    for (guint i = 0; i < G_N_ELEMENTS(faults); i++)
        sigaction(faults[i], &action, &guard.before[i]);
}

gboolean
crash_guard_skips(guint64 agent, guint64 id)
{
    const CrashCount *count = find_count(agent, id);

    if (count->n_deaths >= DEATHS_MAX && count->agent == agent && count->id == id)
        return TRUE;
    guard.agent = agent;
    guard.id = id;
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
