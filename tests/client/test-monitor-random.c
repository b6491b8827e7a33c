/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Monitors are updated by signals of random operations, and then show what Inspect replies, with
 * all details. `--seed` repeats a run. */

#include "tests/client/fixture.h"
#include "tests/lib/case.h"

#define AGENTS   4
#define REQUESTS 16
#define STEPS    400

/* A request or lock, or an empty slot. */
typedef struct {
    gboolean is_pending;
    GCancellable *cancellable; /* of a pending request that does not steal */
    WebLocksLock *lock;        /* NULL: not held */
} Slot;

static void
on_request(GObject *source, GAsyncResult *result, gpointer data)
{
    Slot *slot = data;
    g_autoptr(GError) error = NULL;

    slot->is_pending = FALSE;
    g_clear_object(&slot->cancellable);
    slot->lock = web_locks_manager_request_finish(WEB_LOCKS_MANAGER(source), result, &error);
    if (!g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED) &&
        !g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT))
        g_assert_no_error(error);
}

static void
start_request(Slot *slot, WebLocksManager *manager)
{
    g_autoptr(WebLocksOptions) options = web_locks_options_new();
    g_autofree char *name = g_strdup_printf("%d", g_test_rand_int_range(0, 3));

    slot->is_pending = TRUE;
    if (g_test_rand_int_range(0, 8) == 0)
        g_object_set(options, "steal", TRUE, NULL);
    else
        slot->cancellable = g_cancellable_new();
    if (slot->cancellable != NULL && g_test_rand_int_range(0, 2) == 0)
        g_object_set(options, "mode", WEB_LOCKS_MODE_SHARED, NULL);
    else if (slot->cancellable != NULL)
        g_object_set(options, "slots", g_test_rand_int_range(1, 4), NULL);
    if (slot->cancellable != NULL && g_test_rand_int_range(0, 4) == 0)
        g_object_set(options, "timeout", 1, NULL);
    g_object_set(options, "why", name, NULL);
    web_locks_manager_request_async(manager, name, options, slot->cancellable, on_request, slot);
}

static void
step(Slot *slot, WebLocksManager *const *managers)
{
    g_autoptr(GCancellable) cancellable = NULL;

    if (slot->lock != NULL && g_test_rand_int_range(0, 3) == 0) {
        web_locks_lock_downgrade_async(slot->lock, NULL, NULL, NULL);
    } else if (slot->lock != NULL) {
        g_clear_object(&slot->lock);
    } else if (!slot->is_pending) {
        start_request(slot, managers[g_test_rand_int_range(0, AGENTS)]);
    } else if (g_set_object(&cancellable, slot->cancellable)) {
        g_cancellable_cancel(cancellable);
    }
}

static char *
describe(GListModel *held, GListModel *pending)
{
    GListModel *const lists[] = {held, pending};
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < G_N_ELEMENTS(lists); i++) {
        for (guint at = 0; at < g_list_model_get_n_items(lists[i]); at++) {
            g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(lists[i], at);
            g_autofree char *blocked_by =
                g_strjoinv(" ", (char **)web_locks_lock_info_get_blocked_by(info));

            g_string_append_printf(
                text,
                "%s %s %d %d #%" G_GUINT64_FORMAT " token %" G_GUINT64_FORMAT
                " pid %u uid %u why %s slots %u at %u after [%s]\n",
                web_locks_lock_info_get_client_id(info), web_locks_lock_info_get_name(info),
                web_locks_lock_info_get_mode(info), web_locks_lock_info_get_held(info),
                web_locks_lock_info_get_id(info), web_locks_lock_info_get_token(info),
                web_locks_lock_info_get_pid(info), web_locks_lock_info_get_uid(info),
                web_locks_lock_info_get_why(info), web_locks_lock_info_get_slots(info),
                web_locks_lock_info_get_position(info), blocked_by);
        }
    }
    return g_string_free(text, FALSE);
}

typedef struct {
    WebLocksManager *manager;
    WebLocksMonitor *monitor;
    char *shown;
    char *inspected;
} Comparison;

static gboolean
is_equal(gpointer data)
{
    Comparison *self = data;
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksSnapshot) snapshot =
        web_locks_manager_inspect_sync(self->manager, NULL, NULL, &error);

    g_assert_no_error(error);
    g_free(self->shown);
    g_free(self->inspected);
    self->shown = describe(web_locks_monitor_get_held(self->monitor),
                           web_locks_monitor_get_pending(self->monitor));
    self->inspected =
        describe(web_locks_snapshot_get_held(snapshot), web_locks_snapshot_get_pending(snapshot));
    return g_str_equal(self->shown, self->inspected);
}

static void
assert_equal(WebLocksManager *manager, WebLocksMonitor *monitor)
{
    Comparison comparison = {manager, monitor};
    const gint64 deadline = g_get_monotonic_time() + 20 * test_factor() * G_TIME_SPAN_SECOND;

    while (!is_equal(&comparison) && g_get_monotonic_time() < deadline)
        test_iterate();
    g_assert_cmpstr(comparison.shown, ==, comparison.inspected);
    g_free(comparison.shown);
    g_free(comparison.inspected);
}

TEST("/monitor/random-operations", test_follows)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksManager) watcher = test_manager_new();
    g_autoptr(WebLocksMonitor) of_bucket = web_locks_monitor_new_sync(watcher, NULL, &error);
    g_autoptr(WebLocksAgent) agent = test_agent_new();
    g_autoptr(WebLocksMonitor) of_all = web_locks_monitor_new_all_sync(agent, NULL, &error);
    WebLocksManager *managers[AGENTS];
    Slot slots[REQUESTS] = {0};

    g_assert_no_error(error);
    for (guint i = 0; i < AGENTS; i++)
        managers[i] = test_manager_new();
    for (guint i = 0; i < STEPS; i++) {
        step(&slots[g_test_rand_int_range(0, REQUESTS)], managers);
        if (g_test_rand_int_range(0, 3) == 0)
            test_iterate();
        if (i % 40 != 39)
            continue;
        if (i == STEPS / 2 - 1) {
            test_service_kill();
            test_service_start();
        }
        assert_equal(watcher, of_bucket);
        assert_equal(watcher, of_all);
    }
    for (guint i = 0; i < REQUESTS; i++)
        if (slots[i].lock != NULL || slots[i].is_pending)
            step(&slots[i], managers);
    for (guint i = 0; i < REQUESTS; i++) {
        while (slots[i].is_pending)
            test_iterate();
        g_clear_object(&slots[i].lock);
    }
    assert_equal(watcher, of_bucket);
    assert_equal(watcher, of_all);
    for (guint i = 0; i < AGENTS; i++)
        g_object_unref(managers[i]);
}

TEST_MAIN(test_run(NULL))
