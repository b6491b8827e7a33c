/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/evidence/process-look.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/process-stat.h"

/* Where systemd mounts the unified hierarchy of control groups. */
#define GROUPS_DIRECTORY "/sys/fs/cgroup"
/* In the list of a process's groups, the one in the unified hierarchy. */
#define UNIFIED_PREFIX "0::"

/* Returns the path of the group in the unified hierarchy; or NULL if there is no line with it, or
 * not all of one. */
static const char *
parse_group(char *groups)
{
    char *line =
        g_str_has_prefix(groups, UNIFIED_PREFIX) ? groups : strstr(groups, "\n" UNIFIED_PREFIX);
    char *path = line != NULL ? strchr(line, '/') : NULL;
    char *end = path != NULL ? strchr(path, '\n') : NULL;

    if (end == NULL)
        return NULL;
    *end = '\0';
    return path;
}

/* The kernel reports the same for all groups below a frozen one. The root has no such file. */
static gboolean
is_frozen(int directory)
{
    char groups[PROCESS_FILE_BYTES], events[PROCESS_FILE_BYTES];
    const char *path =
        process_read_file(directory, "cgroup", groups) > 0 ? parse_group(groups) : NULL;
    g_autofree char *file =
        path != NULL ? g_strconcat(GROUPS_DIRECTORY, path, "/cgroup.events", NULL) : NULL;

    return file != NULL && process_read_file(AT_FDCWD, file, events) > 0 &&
           strstr(events, "frozen 1\n") != NULL;
}

/* The run time of the main thread is not known if the kernel was built without it. */
static void
measure_idle_time(ProcessLook *self, int directory, char state, gint64 now_us)
{
    char buffer[PROCESS_FILE_BYTES];
    guint64 run_ns;

    if ((state != 'R' && state != 'D') || process_read_file(directory, "schedstat", buffer) == 0) {
        self->idle_since_us = 0;
        return;
    }
    run_ns = g_ascii_strtoull(buffer, NULL, 10);
    if (self->idle_since_us == 0 || self->run_ns != run_ns)
        self->idle_since_us = now_us;
    self->run_ns = run_ns;
}

static char
look(ProcessLook *self, int directory, const ProcessStat *stat, gint64 now_us)
{
    char state = stat->state;

    if (self->start_ticks != 0 && self->start_ticks != stat->start_ticks)
        return '\0';
    self->start_ticks = stat->start_ticks;
    if ((state == 'S' || state == 'D') && is_frozen(directory))
        state = PROCESS_LOOK_FROZEN;
    measure_idle_time(self, directory, state, now_us);
    return state;
}

char
process_look(ProcessLook *self,
             guint pid,
             const char *name,
             gint64 known_us,
             gint64 now_us,
             gint64 *out_idle_us)
{
    ProcessStat stat;
    int directory = process_stat_open(pid, name, known_us, &stat);
    char state = '\0';

    if (directory >= 0) {
        state = look(self, directory, &stat, now_us);
        close(directory);
    }
    if (state == '\0')
        self->idle_since_us = 0;
    *out_idle_us = self->idle_since_us != 0 ? now_us - self->idle_since_us : 0;
    return state;
}
