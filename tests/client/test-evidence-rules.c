/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The rules of Evidence with their times, and the sentences. The states of processes are set by
 * this test; test-process-look.c uses real processes. */

#include "client-lib/evidence/evidence.h"
#include "client-lib/evidence/process-look.h"
#include "client-lib/evidence/process-tree.h"
#include "client-lib/lock-info-private.h"
#include "common/boot-time.h"

#define SECOND_US ((gint64)G_USEC_PER_SEC)
/* How long a case may take. */
#define CASE_US (20 * SECOND_US)

/* A held lock, and requests for it. Times are in seconds. */
typedef struct {
    const char *name;
    char state;     /* of the holder's process */
    guint n_others; /* requests of other clients */
    double idle;    /* how long the process has not run */
    double held;
    double self;       /* how long the holder has waited for its own lock; 0: it doesn't */
    gboolean is_cycle; /* the holder waits for a lock of the first of the other clients */
    Evidence evidence;
    const char *text;
    char below; /* the state of a process that comes from its command; 0: it has no command */
    const char *below_name; /* NULL: "rsync" */
} Case;

static const Case *now;
static guint n_looks;

char
process_look(ProcessLook *self,
             guint pid,
             const char *name,
             gint64 known_us,
             gint64 now_us,
             gint64 *out_idle_us)
{
    *out_idle_us = 0;
    if (pid == 9) {
        g_assert_cmpstr(name, ==, "");
        *out_idle_us = now->below == 'D' ? 11 * SECOND_US : 0;
        return now->below;
    }
    if (pid != 7)
        return 'S';
    g_assert_cmpstr(name, ==, now->below != 0 ? "weblocks" : "holder");
    g_assert_cmpint(ABS(now_us - boot_time_get_us()), <, CASE_US);
    g_assert_cmpint(ABS(now_us - known_us - (gint64)(now->held * (double)SECOND_US)), <, CASE_US);
    *out_idle_us = (gint64)(now->idle * (double)SECOND_US);
    n_looks++;
    return now->state;
}

/* The command is process 8, which has started process 9. */
GArray *
process_tree_list(guint pid, guint max)
{
    static const guint pids[] = {7, 8, 9};

    g_assert_cmpuint(pid, ==, 7);
    return g_array_append_vals(g_array_new(FALSE, FALSE, sizeof(guint)), pids, 3);
}

gboolean
process_tree_read(guint pid, ProcessStat *out)
{
    *out = (ProcessStat){0};
    g_strlcpy(out->name, now->below_name != NULL ? now->below_name : "rsync", sizeof out->name);
    return pid >= 8;
}

static void
add(GListStore *list, const char *state, guint pid, const char *name, double age)
{
    g_autofree char *client_id = g_strdup_printf(":1.%u", pid);
    g_autoptr(WebLocksLockInfo) info = NULL;
    GVariantDict entry;

    g_variant_dict_init(&entry, NULL);
    g_variant_dict_insert(&entry, "name", "s", name);
    g_variant_dict_insert(&entry, "clientId", "s", client_id);
    g_variant_dict_insert(&entry, "state", "s", state);
    g_variant_dict_insert(&entry, "pid", "u", pid);
    g_variant_dict_insert(&entry, "process", "s",
                          pid != 7          ? "other"
                          : now->below != 0 ? "weblocks"
                                            : "holder");
    g_variant_dict_insert(&entry, "age", "t", (guint64)(age * 1000));
    info = web_locks_lock_info_new_from_inspect(g_variant_dict_end(&entry));
    g_list_store_append(list, info);
}

static void
check(gconstpointer data)
{
    g_autoptr(GListStore) held = g_list_store_new(WEB_LOCKS_TYPE_LOCK_INFO);
    g_autoptr(GListStore) pending = g_list_store_new(WEB_LOCKS_TYPE_LOCK_INFO);
    g_autoptr(WebLocksLockInfo) info = NULL;

    now = data;
    n_looks = 0;
    add(held, "held", 7, "a", now->held);
    for (guint i = 0; i < now->n_others; i++)
        add(pending, "pending", 8 + i, "a", 0);
    if (now->self > 0)
        add(pending, "pending", 7, "a", now->self);
    if (now->is_cycle) {
        add(held, "held", 8, "b", 0);
        add(pending, "pending", 7, "b", 0);
    }
    info = g_list_model_get_item(G_LIST_MODEL(held), 0);
    evidence_update_lists(G_LIST_MODEL(held), G_LIST_MODEL(pending));
    g_assert_cmpstr(evidence_get_text(info), ==, now->text);
    g_assert_cmpint(evidence_get(info), ==, now->evidence);
    g_assert_cmpuint(n_looks, ==, now->n_others > 0 || now->self > 0);
}

#define STOPPED       EVIDENCE_STOPPED
#define NOT_SCHEDULED EVIDENCE_NOT_SCHEDULED
#define HELD_LONG     EVIDENCE_HELD_LONG
#define CYCLE         EVIDENCE_CYCLE

static const Case cases[] = {
    {"sleeping", 'S', 1, 0, 5, 0, FALSE, 0, ""},
    {"no-process", '\0', 1, 0, 5, 0, FALSE, 0, ""},
    {"no-waiting-requests", 'T', 0, 1000, 100000, 0, FALSE, 0, ""},
    {"stopped", 'T', 1, 0, 5, 0, FALSE, STOPPED, "The process is stopped."},
    {"debugger", 't', 1, 0, 5, 0, FALSE, STOPPED, "A debugger has stopped the process."},
    {"frozen", PROCESS_LOOK_FROZEN, 1, 0, 5, 0, FALSE, STOPPED,
     "The process is in a frozen control group."},
    {"uninterruptible-short", 'D', 1, 9.999, 50, 0, FALSE, 0, ""},
    {"uninterruptible", 'D', 1, 10, 50, 0, FALSE, NOT_SCHEDULED,
     "The process has been in uninterruptible sleep for 10 s."},
    {"runnable-short", 'R', 1, 9.999, 50, 0, FALSE, 0, ""},
    {"runnable", 'R', 1, 130, 500, 0, FALSE, NOT_SCHEDULED,
     "The process has been ready to run for 2 min, but has not run."},
    {"held-short", 'S', 1, 0, 3580, 0, FALSE, 0, ""},
    {"held-long", 'S', 1, 0, 3600, 0, FALSE, HELD_LONG, "Held for 1 h, and 1 request waits."},
    {"held-longer", 'S', 3, 0, 200000, 0, FALSE, HELD_LONG, "Held for 2 d, and 3 requests wait."},
    {"self-short", 'S', 0, 0, 100, 40, FALSE, 0, ""},
    {"self", 'S', 0, 0, 100, 60, FALSE, CYCLE,
     "The process has waited for 1 min for a lock that it holds itself."},
    {"self-and-others", 'S', 2, 0, 100, 90, FALSE, CYCLE,
     "The process has waited for 1 min for a lock that it holds itself."},
    {"cycle", 'S', 1, 0, 1, 0, TRUE, CYCLE,
     "Waiting for each other: holder (process 7), other (process 8)."},
    {"cycle-and-self", 'S', 1, 0, 100, 90, TRUE, CYCLE,
     "Waiting for each other: holder (process 7), other (process 8)."},
    {"command", 'S', 1, 0, 5, 0, FALSE, 0, "", 'S'},
    {"command-stopped", 'S', 1, 0, 5, 0, FALSE, STOPPED,
     "rsync (process 9): The process is stopped.", 'T'},
    {"command-uninterruptible", 'S', 1, 0, 5, 0, FALSE, NOT_SCHEDULED,
     "rsync (process 9): The process has been in uninterruptible sleep for 11 s.", 'D'},
    {"command-cut-name", 'S', 1, 0, 5, 0, FALSE, STOPPED,
     "a: b\357\277\275 (process 9): The process is stopped.", 'T', "a:\nb\303"},
    {"command-gone", '\0', 1, 0, 5, 0, FALSE, 0, "", 'T'},
    {"all", 'T', 2, 0, 86400, 0, TRUE, STOPPED | HELD_LONG | CYCLE,
     "The process is stopped. Held for 1 d, and 2 requests wait. "
     "Waiting for each other: holder (process 7), other (process 8)."},
};

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = g_strconcat("/evidence-rules/", cases[i].name, NULL);

        g_test_add_data_func(path, &cases[i], check);
    }
    return g_test_run();
}
