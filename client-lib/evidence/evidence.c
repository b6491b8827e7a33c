/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/evidence/evidence.h"

#include <glib/gi18n.h>

#include "client-lib/evidence/process-look.h"
#include "client-lib/evidence/process-tree.h"
#include "client-lib/evidence/wait-graph.h"
#include "common/boot-time.h"

#define SECOND_US        ((gint64)G_USEC_PER_SEC)
#define NOT_SCHEDULED_US (10 * SECOND_US)
#define SELF_WAIT_US     (60 * SECOND_US)
#define HELD_LONG_US     (3600 * SECOND_US)
/* Of the processes that come from a command, so many are looked at. */
#define COMMAND_PROCESSES_MAX 64

/* What is stored with a WebLocksLockInfo. */
typedef struct {
    gint64 since_us; /* of the lock */
    gint64 known_us; /* the same by boot_time_get_us(), which is never set */
    ProcessLook look;
    GHashTable *looks; /* process id -> ProcessLook, of those that come from its command; or NULL */
    Evidence flags;
    char *text; /* NULL: none */
} Record;

static void
record_free(gpointer data)
{
    Record *self = data;

    g_clear_pointer(&self->looks, g_hash_table_unref);
    g_free(self->text);
    g_free(self);
}

static Record *
find_record(WebLocksLockInfo *info)
{
    return g_object_get_data(G_OBJECT(info), "evidence");
}

static Record *
ensure_record(WebLocksLockInfo *info)
{
    const gint64 since_us = web_locks_lock_info_get_since(info);
    Record *record = find_record(info);

    if (record == NULL) {
        record = g_new0(Record, 1);
        g_object_set_data_full(G_OBJECT(info), "evidence", record, record_free);
    }
    if (record->since_us != since_us) {
        record->since_us = since_us;
        record->known_us = boot_time_get_us() - (g_get_real_time() - since_us);
        record->look = (ProcessLook){0};
        g_clear_pointer(&record->looks, g_hash_table_unref);
    }
    return record;
}

Evidence
evidence_get(WebLocksLockInfo *info)
{
    const Record *record = find_record(info);

    return record != NULL ? record->flags : 0;
}

const char *
evidence_get_text(WebLocksLockInfo *info)
{
    const Record *record = find_record(info);

    return record != NULL && record->text != NULL ? record->text : "";
}

/* ---- the rules */

typedef struct {
    Evidence flags;
    GString *text;
} Finding;

static void G_GNUC_PRINTF(3, 4) add(Finding *self, Evidence flag, const char *format, ...)
{
    va_list arguments;

    self->flags |= flag;
    if (self->text->len > 0)
        g_string_append_c(self->text, ' ');
    va_start(arguments, format);
    g_string_append_vprintf(self->text, format, arguments);
    va_end(arguments);
}

char *
evidence_format_time(gint64 us)
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

/* `who` begins the sentence, or is "". Returns the state of the process. */
static char
look_at_process(
    Finding *self, ProcessLook *look, guint pid, const char *name, gint64 known_us, const char *who)
{
    gint64 idle_us;
    char state = process_look(look, pid, name, known_us, boot_time_get_us(), &idle_us);
    g_autofree char *time = evidence_format_time(idle_us);
    g_autofree char *text = NULL;

    if (state == 'T') {
        add(self, EVIDENCE_STOPPED, "%s%s", who, _("The process is stopped."));
    } else if (state == 't') {
        add(self, EVIDENCE_STOPPED, "%s%s", who, _("A debugger has stopped the process."));
    } else if (state == PROCESS_LOOK_FROZEN) {
        add(self, EVIDENCE_STOPPED, "%s%s", who, _("The process is in a frozen control group."));
    } else if (idle_us >= NOT_SCHEDULED_US) {
        text =
            g_strdup_printf(state == 'D'
                                /* Translators: %s is a time such as "15 s". */
                                ? _("The process has been in uninterruptible sleep for %s.")
                                : _("The process has been ready to run for %s, but has not run."),
                            time);
        add(self, EVIDENCE_NOT_SCHEDULED, "%s%s", who, text);
    }
    return state;
}

/* Looks at the processes that come from the command of `weblocks run`, which itself only waits for
 * it, until there is evidence about one. */
static void
look_at_command(Finding *self, Record *record, guint keeper)
{
    g_autoptr(GArray) pids = process_tree_list(keeper, COMMAND_PROCESSES_MAX);
    g_autoptr(GHashTable) before = g_steal_pointer(&record->looks);

    record->looks = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    for (guint i = 1; i < pids->len && self->flags == 0; i++) {
        const guint pid = g_array_index(pids, guint, i);
        const ProcessLook *last =
            before != NULL ? g_hash_table_lookup(before, GUINT_TO_POINTER(pid)) : NULL;
        ProcessLook *look = g_memdup2(last != NULL ? last : &(ProcessLook){0}, sizeof *look);
        g_autofree char *process = NULL;
        g_autofree char *who = NULL;
        ProcessStat stat;

        g_hash_table_replace(record->looks, GUINT_TO_POINTER(pid), look);
        if (!process_tree_read(pid, &stat))
            continue;
        /* Translators: the name of a process, and its process id. */
        process = g_strdup_printf(_("%s (process %u)"), stat.name, pid);
        who = g_strconcat(process, ": ", NULL);
        look_at_process(self, look, pid, "", boot_time_get_us(), who);
    }
}

static void
look_at_holder(Finding *self, Record *record, WebLocksLockInfo *info)
{
    const guint pid = web_locks_lock_info_get_pid(info);
    const char *name = web_locks_lock_info_get_process(info);

    if (look_at_process(self, &record->look, pid, name, record->known_us, "") != '\0' &&
        g_str_equal(name, WAIT_GRAPH_COMMAND))
        look_at_command(self, record, pid);
}

static void
look_at_age(Finding *self, WebLocksLockInfo *info, guint n_waiting)
{
    const gint64 age_us = g_get_real_time() - web_locks_lock_info_get_since(info);
    g_autofree char *time = NULL;

    /* That of a query is not known. */
    if (age_us < HELD_LONG_US || web_locks_lock_info_get_since(info) == 0)
        return;
    time = evidence_format_time(age_us);
    add(self, EVIDENCE_HELD_LONG,
        g_dngettext(NULL, "Held for %s, and %u request waits.",
                    "Held for %s, and %u requests wait.", n_waiting),
        time, n_waiting);
}

static void
look_at_cycle(Finding *self, const WaitFinding *wait)
{
    const gint64 self_us = g_get_real_time() - wait->self_since_us;

    if (wait->n_clients > 1) {
        /* Translators: %s is a list of processes. */
        add(self, EVIDENCE_CYCLE, _("Waiting for each other: %s."), wait->clients);
    } else if (wait->n_clients == 1 && self_us >= SELF_WAIT_US) {
        g_autofree char *time = evidence_format_time(self_us);

        add(self, EVIDENCE_CYCLE,
            _("The process has waited for %s for a lock that it holds itself."), time);
    }
}

/* ---- updates */

/* Takes the text; NULL if it is empty. Names that processes choose have any bytes, such as half a
 * character where the kernel has cut the name, and line feeds. */
static char *
make_line(GString *text)
{
    g_autofree char *bytes = g_string_free(text, text->len == 0);

    return bytes != NULL ? g_strdelimit(g_utf8_make_valid(bytes, -1), "\n\r", ' ') : NULL;
}

static gboolean
update(const WaitGraph *graph, WebLocksLockInfo *info)
{
    const WaitFinding wait = wait_graph_find(graph, info);
    Record *record = ensure_record(info);
    g_autofree char *before = g_steal_pointer(&record->text);
    Finding finding = {0};

    if (web_locks_lock_info_get_held(info) && wait.n_waiting > 0) {
        finding.text = g_string_new(NULL);
        look_at_holder(&finding, record, info);
        look_at_age(&finding, info, wait.n_waiting);
        look_at_cycle(&finding, &wait);
        record->text = make_line(finding.text);
    } else {
        record->look = (ProcessLook){0};
        g_clear_pointer(&record->looks, g_hash_table_unref);
    }
    record->flags = finding.flags;
    g_free(wait.clients);
    return g_strcmp0(before, record->text) != 0;
}

void
evidence_update_lists(GListModel *held, GListModel *pending)
{
    g_autoptr(WaitGraph) graph = wait_graph_new(held, pending);

    for (guint i = 0; i < g_list_model_get_n_items(held); i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(held, i);

        update(graph, info);
    }
}

/* ---- a monitor: its graph is kept until its lists change */

static void
drop_graph(GObject *monitor)
{
    g_signal_handlers_disconnect_by_func(monitor, drop_graph, NULL);
    g_object_set_data(monitor, "wait-graph", NULL);
}

gboolean
evidence_update(WebLocksMonitor *monitor, WebLocksLockInfo *info)
{
    WaitGraph *graph = g_object_get_data(G_OBJECT(monitor), "wait-graph");

    if (graph == NULL) {
        graph = wait_graph_new(web_locks_monitor_get_held(monitor),
                               web_locks_monitor_get_pending(monitor));
        g_object_set_data_full(G_OBJECT(monitor), "wait-graph", graph,
                               (GDestroyNotify)wait_graph_free);
        g_signal_connect(monitor, "changed", G_CALLBACK(drop_graph), NULL);
    }
    return update(graph, info);
}
