/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/evidence/process-look.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Longer than a line of stat, whose numbers are of limited size; and than most lists of groups. */
#define FILE_MAX_BYTES 2048
/* Where systemd mounts the unified hierarchy of control groups. */
#define GROUPS_DIRECTORY "/sys/fs/cgroup"
/* In the list of a process's groups, the one in the unified hierarchy. */
#define UNIFIED_PREFIX "0::"
/* The fields of stat between the state and the start time. */
#define FIELDS_BEFORE_START 18

static gboolean
read_file(int directory, const char *name, char buffer[FILE_MAX_BYTES])
{
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t n;

    if (fd < 0)
        return FALSE;
    do
        n = read(fd, buffer, FILE_MAX_BYTES - 1);
    while (n < 0 && errno == EINTR);
    close(fd);
    buffer[MAX(n, 0)] = '\0';
    return n > 0;
}

/* Parses "PID (NAME) STATE ...". The name may contain spaces and parentheses. */
static gboolean
parse_stat(char *stat, char **out_name, char *out_state, guint64 *out_start_ticks)
{
    char *begin = strchr(stat, '('), *end = strrchr(stat, ')');
    const char *field;

    if (begin == NULL || end == NULL || end < begin || end[1] != ' ')
        return FALSE;
    *end = '\0';
    *out_name = g_strchomp(begin + 1);
    *out_state = end[2];
    field = end + 2;
    for (guint i = 0; field != NULL && i <= FIELDS_BEFORE_START; i++) {
        field = strchr(field, ' ');
        if (field != NULL)
            field++;
    }
    if (field == NULL)
        return FALSE;
    *out_start_ticks = g_ascii_strtoull(field, NULL, 10);
    return TRUE;
}

static gint64
ticks_to_us(guint64 ticks)
{
    const guint64 rate = (guint64)MAX(sysconf(_SC_CLK_TCK), 1);

    return (gint64)(ticks / rate * G_USEC_PER_SEC + ticks % rate * G_USEC_PER_SEC / rate);
}

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
    char groups[FILE_MAX_BYTES], events[FILE_MAX_BYTES];
    const char *path = read_file(directory, "cgroup", groups) ? parse_group(groups) : NULL;
    g_autofree char *file =
        path != NULL ? g_strconcat(GROUPS_DIRECTORY, path, "/cgroup.events", NULL) : NULL;

    return file != NULL && read_file(AT_FDCWD, file, events) &&
           strstr(events, "frozen 1\n") != NULL;
}

/* The run time of the main thread is not known if the kernel was built without it. */
static void
measure_idle_time(ProcessLook *self, int directory, char state, gint64 now_us)
{
    char buffer[FILE_MAX_BYTES];
    guint64 run_ns;

    if ((state != 'R' && state != 'D') || !read_file(directory, "schedstat", buffer)) {
        self->idle_since_us = 0;
        return;
    }
    run_ns = g_ascii_strtoull(buffer, NULL, 10);
    if (self->idle_since_us == 0 || self->run_ns != run_ns)
        self->idle_since_us = now_us;
    self->run_ns = run_ns;
}

/* The descriptor refers to one process: if that ends, nothing more can be read. */
static char
look(ProcessLook *self, int directory, const char *name, gint64 known_us, gint64 now_us)
{
    char buffer[FILE_MAX_BYTES];
    char *name_now;
    char state;
    guint64 start_ticks;

    if (!read_file(directory, "stat", buffer) ||
        !parse_stat(buffer, &name_now, &state, &start_ticks))
        return '\0';
    if (ticks_to_us(start_ticks) > known_us || (*name != '\0' && strcmp(name, name_now) != 0) ||
        (self->start_ticks != 0 && self->start_ticks != start_ticks))
        return '\0';
    self->start_ticks = start_ticks;
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
    g_autofree char *path = g_strdup_printf("/proc/%u", pid);
    int directory = pid > 0 ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    char state = '\0';

    if (directory >= 0) {
        state = look(self, directory, name, known_us, now_us);
        close(directory);
    }
    if (state == '\0')
        self->idle_since_us = 0;
    *out_idle_us = self->idle_since_us != 0 ? now_us - self->idle_since_us : 0;
    return state;
}
