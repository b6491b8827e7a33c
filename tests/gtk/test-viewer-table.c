/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The models of the viewer, without a window: what they refer to is freed with them; the order of
 * a queue; how a name is quoted in a command, and isolated in a sentence. */

#include "tests/client/fixture.h"
#include "tests/lib/case.h"
#include "viewer/describe.h"
#include "viewer/lock-table.h"
#include "viewer/shell-word.h"

static gboolean
is_one_held_and_one_pending(gpointer monitor)
{
    return g_list_model_get_n_items(web_locks_monitor_get_held(monitor)) == 1 &&
           g_list_model_get_n_items(web_locks_monitor_get_pending(monitor)) == 1;
}

/* As when another monitor takes the place of one whose bus has ended. */
TEST("/viewer-table/is-freed", test_table_is_freed)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksManager) other = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a");
    g_auto(Answer) answer = {0};
    WebLocksMonitor *monitor = test_monitor_new_all(web_locks_manager_get_agent(manager));
    ViewerLockTable *table;
    ViewerApplicationList *list;
    gpointer entry, resource, application;

    answer_ask(&answer, other, "a");
    test_wait(is_one_held_and_one_pending, monitor);
    list = viewer_application_list_new();
    table = viewer_lock_table_new(monitor, list);
    g_assert_cmpuint(g_list_model_get_n_items(G_LIST_MODEL(list->applications)), ==, 1);
    entry = g_list_model_get_item(G_LIST_MODEL(table->held.entries), 0);
    resource = VIEWER_ENTRY(entry)->resource;
    application = VIEWER_ENTRY(entry)->application;
    g_assert_cmpuint(g_list_model_get_n_items(G_LIST_MODEL(VIEWER_RESOURCE(resource)->queue)), ==,
                     1);
    g_object_add_weak_pointer(entry, &entry);
    g_object_add_weak_pointer(resource, &resource);
    g_object_add_weak_pointer(application, &application);
    g_object_unref(entry);
    viewer_lock_table_free(table);
    g_assert_cmpuint(g_list_model_get_n_items(G_LIST_MODEL(list->applications)), ==, 0);
    viewer_application_list_free(list);
    g_assert_null(entry);
    g_assert_null(resource);
    g_assert_null(application);
    g_assert_finalize_object(monitor);
    test_release(lock);
    g_clear_object(&lock);
    lock = answer_expect_lock(&answer);
}

static gboolean
are_two_pending(gpointer monitor)
{
    return g_list_model_get_n_items(web_locks_monitor_get_pending(monitor)) == 2;
}

static gboolean
is_one_pending(gpointer monitor)
{
    return g_list_model_get_n_items(web_locks_monitor_get_pending(monitor)) == 1;
}

static void
on_notify(WebLocksLockInfo *info, GParamSpec *pspec, gpointer n_changes)
{
    ++*(guint *)n_changes;
}

/* The entry of a request stays the same when its position changes. */
TEST("/viewer-table/queue", test_queue)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksManager) one = test_manager_new(), two = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a");
    g_autoptr(WebLocksMonitor) monitor = test_monitor_new_all(web_locks_manager_get_agent(manager));
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_auto(Answer) aborted = {0}, answer = {0};
    ViewerApplicationList *list = viewer_application_list_new();
    ViewerLockTable *table;
    g_autoptr(ViewerEntry) holder = NULL, last = NULL, left = NULL;
    GListModel *queue;
    guint n_changes = 0;

    web_locks_manager_request_async(one, "a", NULL, cancellable, answer_take, &aborted);
    test_wait(is_one_pending, monitor);
    answer_ask(&answer, two, "a");
    test_wait(are_two_pending, monitor);
    table = viewer_lock_table_new(monitor, list);
    holder = g_list_model_get_item(G_LIST_MODEL(table->held.entries), 0);
    queue = G_LIST_MODEL(holder->resource->queue);
    last = g_list_model_get_item(queue, 1);
    g_assert_cmpuint(web_locks_lock_info_get_position(last->info), ==, 2);
    g_signal_connect(last->info, "notify::position", G_CALLBACK(on_notify), &n_changes);
    g_cancellable_cancel(cancellable);
    answer_expect_error(&aborted, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    test_wait(is_one_pending, monitor);
    left = g_list_model_get_item(queue, 0);
    g_assert_true(left == last);
    g_assert_cmpuint(g_list_model_get_n_items(queue), ==, 1);
    g_assert_cmpuint(web_locks_lock_info_get_position(last->info), ==, 1);
    g_assert_cmpuint(n_changes, ==, 1);
    viewer_lock_table_free(table);
    viewer_application_list_free(list);
    test_release(lock);
    g_clear_object(&lock);
    lock = answer_expect_lock(&answer);
}

/* In a command that is pasted: no character of it is a key or invisible, and the shell restores the
 * text. */
TEST("/viewer-table/quoted-for-shell", test_quoted_for_shell)
{
    static const char *const words[][2] = {
        {"", "''"},
        {"a b $(reboot) ! ~ ä 漢", "'a b $(reboot) ! ~ ä 漢'"},
        {"it's", "'it'\\''s'"},
        {"a\n\033[2J\003reboot\r1", "$'a\\n\\033[2J\\003reboot\\r1'"},
        {"\t'\\x\"\177é1", "$'\\t\\'\\\\x\\\"\\177\\303\\2511'"},
        {"\u202ex\u200b\u2028\302\205\u00a0\u3164\ufe0f",
         "$'\\342\\200\\256x\\342\\200\\213\\342\\200\\250\\302\\205\\302\\240\\343\\205\\244"
         "\\357\\270\\217'"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(words); i++) {
        g_autofree char *word = viewer_quote_for_shell(words[i][0]);
        g_autofree char *script = g_strconcat("printf %s ", word, NULL);
        const char *const argv[] = {"bash", "-c", script, NULL};
        g_autofree char *output = NULL;
        g_autoptr(GError) error = NULL;

        g_assert_cmpstr(word, ==, words[i][1]);
        g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &output, NULL,
                     NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(output, ==, words[i][0]);
    }
}

/* In a sentence, a name of another direction, or that changes it, ends with the name. */
TEST("/viewer-table/isolated", test_isolated)
{
    static const char *const names[][2] = {
        {"rsync", "rsync"},
        {"é", "\u2068é\u2069"},
        {"\u05d0 1", "\u2068\u05d0 1\u2069"},
        {"a\u202eb\u2066c\u2069\u2069d\u202c", "\u2068abcd\u2069"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *name = viewer_isolate(names[i][0]);

        g_assert_cmpstr(name, ==, names[i][1]);
    }
}

TEST_MAIN(test_run(NULL))
