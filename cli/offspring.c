/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/offspring.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "cli/language.h"
#include "cli/status.h"
#include "client-lib/evidence/process-tree.h"

/* With more than this, a command is not ended at once, but in several rounds. */
#define PROCESSES_MAX 10000
/* The time between rounds. */
#define ROUND_MS 200

typedef void (*Report)(const ProcessStat *stat, guint pid, int error);

/* Sends a signal to each one, or only looks if `number` is 0. Returns how many there are that this
 * process may signal. */
static guint
signal_each(const Offspring *self, int number, Report report)
{
    g_autoptr(GArray) pids = process_tree_list((guint)self->root, PROCESSES_MAX);
    guint n = 0;

    for (guint i = self->root == getpid() ? 1 : 0; i < pids->len; i++) {
        const guint pid = g_array_index(pids, guint, i);
        ProcessStat stat;
        int error;

        if (!process_tree_read(pid, &stat) || stat.state == 'Z')
            continue;
        error = kill((pid_t)pid, number) < 0 ? errno : 0;
        if (error == 0)
            n++;
        if (report != NULL)
            report(&stat, pid, error);
    }
    return n;
}

void
offspring_signal(const Offspring *self, int number)
{
    signal_each(self, number, NULL);
}

gboolean
offspring_has_ended(const Offspring *self)
{
    return signal_each(self, 0, NULL) == 0;
}

static void
report_refused(const ProcessStat *stat, guint pid, int error)
{
    if (error == EPERM)
        complain(_("'%s' (pid %u) belongs to another user, and continues without the lock"),
                 stat->name, pid);
}

static void
report_killed(const ProcessStat *stat, guint pid, int error)
{
    if (error == 0)
        complain(_("'%s' is still running; killing it"), stat->name);
}

/* Those that were killed may have started others in time. */
static gboolean
on_round(gpointer data)
{
    Offspring *self = data;

    signal_each(self, SIGKILL, NULL);
    self->changed(self->data);
    return G_SOURCE_CONTINUE;
}

static gboolean
on_grace_over(gpointer data)
{
    Offspring *self = data;

    self->timer_id = g_timeout_add(ROUND_MS, on_round, self);
    signal_each(self, SIGKILL, report_killed);
    self->changed(self->data);
    return G_SOURCE_REMOVE;
}

void
offspring_end(Offspring *self)
{
    const double grace_ms = MIN(self->grace * 1000, (double)G_MAXINT32);

    self->timer_id = g_timeout_add((guint)grace_ms, on_grace_over, self);
    signal_each(self, SIGTERM, report_refused);
    /* A stopped process handles SIGTERM only after SIGCONT. */
    signal_each(self, SIGCONT, NULL);
}

void
offspring_clear(Offspring *self)
{
    g_clear_handle_id(&self->timer_id, g_source_remove);
}
