/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config.h"

#include "client-lib/evidence.h"

#include <glib/gi18n-lib.h>

#include "client-lib/lock-info-private.h"
#include "client-lib/process-look.h"
#include "common/boot-time.h"

/* WebLocksEvidence documents these. */
#define SECOND_US        ((gint64)G_USEC_PER_SEC)
#define NOT_SCHEDULED_US (10 * SECOND_US)
#define SELF_WAIT_US     (60 * SECOND_US)
#define HELD_LONG_US     (3600 * SECOND_US)

typedef struct {
    WebLocksEvidence flags;
    GString *text;
} Finding;

static void G_GNUC_PRINTF(3, 4) add(Finding *self, WebLocksEvidence flag, const char *format, ...)
{
    va_list arguments;

    self->flags |= flag;
    if (self->text->len > 0)
        g_string_append_c(self->text, ' ');
    va_start(arguments, format);
    g_string_append_vprintf(self->text, format, arguments);
    va_end(arguments);
}

/* Returns an owned text of one unit. */
static char *
format_time(gint64 us)
{
    const guint seconds = (guint)MIN(us / SECOND_US, G_MAXUINT);

    if (seconds < 60)
        return g_strdup_printf(_("%u s"), seconds);
    if (seconds < 3600)
        return g_strdup_printf(_("%u min"), seconds / 60);
    if (seconds < 24 * 3600)
        return g_strdup_printf(_("%u h"), seconds / 3600);
    return g_strdup_printf(_("%u d"), seconds / (24 * 3600));
}

static void
look_at_process(Finding *self, WebLocksLockInfo *info, gint64 now_us)
{
    gint64 idle_us;
    char state = process_look(web_locks_lock_info_get_look(info), web_locks_lock_info_get_pid(info),
                              web_locks_lock_info_get_process(info),
                              web_locks_lock_info_get_since_boot(info), now_us, &idle_us);
    g_autofree char *time = format_time(idle_us);

    if (state == 'T')
        add(self, WEB_LOCKS_EVIDENCE_STOPPED, "%s", _("The process is stopped."));
    else if (state == 't')
        add(self, WEB_LOCKS_EVIDENCE_STOPPED, "%s", _("A debugger has stopped the process."));
    else if (state == PROCESS_LOOK_FROZEN)
        add(self, WEB_LOCKS_EVIDENCE_STOPPED, "%s", _("The process is in a frozen control group."));
    else if (idle_us >= NOT_SCHEDULED_US && state == 'D')
        add(self, WEB_LOCKS_EVIDENCE_NOT_SCHEDULED,
            /* Translators: %s is a time such as "15 s". */
            _("The process has been in uninterruptible sleep for %s."), time);
    else if (idle_us >= NOT_SCHEDULED_US)
        add(self, WEB_LOCKS_EVIDENCE_NOT_SCHEDULED,
            _("The process has been ready to run for %s, but has not run."), time);
}

static void
look_at_age(Finding *self, WebLocksLockInfo *info, guint n_waiting, gint64 now_us)
{
    const gint64 age_us = now_us - web_locks_lock_info_get_since_boot(info);
    g_autofree char *time = NULL;

    /* That of a query is not known. */
    if (age_us < HELD_LONG_US || web_locks_lock_info_get_since_boot(info) == 0)
        return;
    time = format_time(age_us);
    add(self, WEB_LOCKS_EVIDENCE_HELD_LONG,
        g_dngettext(GETTEXT_PACKAGE, "Held for %s, and %u request waits.",
                    "Held for %s, and %u requests wait.", n_waiting),
        time, n_waiting);
}

static void
look_at_cycle(Finding *self, const WaitFinding *wait, gint64 now_us)
{
    if (wait->n_clients > 1) {
        /* Translators: %s is a list of processes. */
        add(self, WEB_LOCKS_EVIDENCE_CYCLE, _("Waiting for each other: %s."), wait->clients);
    } else if (wait->n_clients == 1 && now_us - wait->self_since_us >= SELF_WAIT_US) {
        g_autofree char *time = format_time(now_us - wait->self_since_us);

        add(self, WEB_LOCKS_EVIDENCE_CYCLE,
            _("The process has waited for %s for a lock that it holds itself."), time);
    }
}

void
evidence_update(WebLocksLockInfo *info, const WaitGraph *graph)
{
    const gint64 now_us = boot_time_get_us();
    const WaitFinding wait = wait_graph_find(graph, info);
    Finding finding = {0};

    if (!web_locks_lock_info_get_held(info) || wait.n_waiting == 0) {
        *web_locks_lock_info_get_look(info) = (ProcessLook){0};
        web_locks_lock_info_set_evidence(info, 0, NULL);
        return;
    }
    finding.text = g_string_new(NULL);
    look_at_process(&finding, info, now_us);
    look_at_age(&finding, info, wait.n_waiting, now_us);
    look_at_cycle(&finding, &wait, now_us);
    web_locks_lock_info_set_evidence(info, finding.flags,
                                     g_string_free(finding.text, finding.flags == 0));
}

/**
 * web_locks_lock_info_update_evidence:
 * @held: a list model of [class@WebLocks.LockInfo]: held locks
 * @pending: a list model of [class@WebLocks.LockInfo]: pending requests
 *
 * Updates [property@WebLocks.LockInfo:evidence] of all held locks, which may be those of several
 * [class@WebLocks.Snapshot] that web_locks_manager_inspect_async() has returned: see
 * [flags@WebLocks.Evidence] for the rules.
 *
 * This reads up to four small files of /proc and /sys for each held lock for which a request is
 * pending.
 * For a [class@WebLocks.Monitor] see web_locks_monitor_update_evidence().
 *
 * Since: 0.1
 */
void
web_locks_lock_info_update_evidence(GListModel *held, GListModel *pending)
{
    g_autoptr(WaitGraph) graph = NULL;

    g_return_if_fail(G_IS_LIST_MODEL(held));
    g_return_if_fail(G_IS_LIST_MODEL(pending));

    graph = wait_graph_new(held, pending);
    for (guint i = 0; i < g_list_model_get_n_items(held); i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(held, i);

        evidence_update(info, graph);
    }
}
