/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "process-stat.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The numbers of fields behind the state, in stat. */
#define FIELD_PARENT   1
#define FIELD_TERMINAL 4
#define FIELD_START    19

gsize
process_read_file(int directory, const char *name, char buffer[PROCESS_FILE_BYTES])
{
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t n = -1;

    if (fd >= 0) {
        do
            n = read(fd, buffer, PROCESS_FILE_BYTES - 1);
        while (n < 0 && errno == EINTR);
        close(fd);
    }
    buffer[MAX(n, 0)] = '\0';
    return (gsize)MAX(n, 0);
}

static gint64
ticks_to_us(guint64 ticks)
{
    const guint64 rate = (guint64)MAX(sysconf(_SC_CLK_TCK), 1);

    return (gint64)(ticks / rate * G_USEC_PER_SEC + ticks % rate * G_USEC_PER_SEC / rate);
}

/* Parses "PID (NAME) STATE ...". The name may contain spaces and parentheses. */
static gboolean
read_stat(int directory, ProcessStat *out_stat)
{
    char text[PROCESS_FILE_BYTES];
    g_auto(GStrv) fields = NULL;
    char *begin, *end;

    process_read_file(directory, "stat", text);
    begin = strchr(text, '(');
    end = strrchr(text, ')');
    if (begin == NULL || end == NULL || end < begin || end[1] != ' ')
        return FALSE;
    fields = g_strsplit(end + 2, " ", FIELD_START + 2);
    if (g_strv_length(fields) <= FIELD_START)
        return FALSE;
    *end = '\0';
    g_strlcpy(out_stat->name, g_strchomp(begin + 1), sizeof out_stat->name);
    out_stat->state = fields[0][0];
    out_stat->parent = (guint)g_ascii_strtoull(fields[FIELD_PARENT], NULL, 10);
    out_stat->has_terminal = g_ascii_strtoll(fields[FIELD_TERMINAL], NULL, 10) != 0;
    out_stat->start_ticks = g_ascii_strtoull(fields[FIELD_START], NULL, 10);
    out_stat->start_us = ticks_to_us(out_stat->start_ticks);
    return TRUE;
}

int
process_stat_open(guint pid, const char *name, gint64 known_us, ProcessStat *out_stat)
{
    g_autofree char *path = g_strdup_printf("/proc/%u", pid);
    int directory = pid > 0 ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

    if (directory < 0)
        return -1;
    if (read_stat(directory, out_stat) && out_stat->start_us <= known_us &&
        (*name == '\0' || g_str_equal(name, out_stat->name)))
        return directory;
    close(directory);
    return -1;
}
