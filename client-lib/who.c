/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The name by which people know who holds a lock or waits for it, in this one place: for the
 * command, the viewer, and every program that shows a WebLocksLockInfo. */

#include "client-lib/lock-info-private.h"

#include <string.h>
#include <unistd.h>

#include "common/boot-time.h"
#include "common/process-stat.h"
#include "common/program-name.h"

/* "rsync (pid 123)": the process id is of the process that runs under the lock. Otherwise the text
 * is a name. */
static char *
split_command(const char *command, guint *out_pid)
{
    static const char before_pid[] = " (pid ";
    const char *found = g_strrstr(command, before_pid);
    g_autofree char *number = NULL;
    guint64 pid;

    if (found == NULL || found == command || !g_str_has_suffix(found, ")"))
        return g_strdup(command);
    number = g_strdup(found + strlen(before_pid));
    number[strlen(number) - 1] = '\0';
    if (!g_ascii_string_to_unsigned(number, 10, 1, G_MAXINT32, &pid, NULL))
        return g_strdup(command);
    *out_pid = (guint)pid;
    return g_strndup(command, (gsize)(found - command));
}

/* Returns an owned name, or NULL. */
static char *
read_script(int directory)
{
    char line[PROCESS_FILE_BYTES];
    const gsize size = process_read_file(directory, "cmdline", line);
    g_autoptr(GPtrArray) words = g_ptr_array_new();

    for (gsize at = 0; at < size; at += strlen(line + at) + 1)
        g_ptr_array_add(words, line + at);
    g_ptr_array_add(words, NULL);
    return program_name_of_script((const char *const *)words->pdata);
}

/* A process on a terminal is a command, and not the application that shows the terminal, whose
 * cgroup it may be in. */
static char *
look_at_process(WebLocksLockInfo *info)
{
    const gint64 age_us = g_get_real_time() - web_locks_lock_info_get_since(info);
    ProcessStat stat;
    int directory =
        process_stat_open(web_locks_lock_info_get_pid(info), web_locks_lock_info_get_process(info),
                          boot_time_get_us() - age_us, &stat);
    char *who = NULL;

    if (directory < 0)
        return NULL;
    if (!stat.has_terminal) {
        g_autofree char *id = program_name_get_application_id(web_locks_lock_info_get_pid(info));

        who = id != NULL ? program_name_of_application(id) : NULL;
    }
    if (who == NULL)
        who = read_script(directory);
    if (who == NULL)
        who = g_utf8_make_valid(stat.name, -1);
    close(directory);
    return who;
}

/* Returns an owned name. What is in a sandbox can't pass for something else, and its process ids
 * are its own. */
static char *
get_who(WebLocksLockInfo *info)
{
    char *who;

    info->who_pid = info->pid;
    if (web_locks_lock_info_is_of_another_host(info))
        return g_strdup(info->client_id);
    if (*info->application != '\0') {
        who = program_name_of_application(info->application);
        return who != NULL ? who : g_strdup(info->application);
    }
    if (*info->command != '\0')
        return split_command(info->command, &info->who_pid);
    who = look_at_process(info);
    if (who != NULL)
        return who;
    if (*info->process != '\0')
        return g_strdup(info->process);
    return g_strdup(info->manager != NULL ? web_locks_manager_get_bucket(info->manager)
                                          : info->client_id);
}

void
web_locks_lock_info_find_who(WebLocksLockInfo *self)
{
    if (self->who == NULL)
        self->who = get_who(self);
}
