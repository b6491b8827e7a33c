/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Public functions that no other file is about. test_symbols.py checks that each has a test. */

#include <string.h>
#include <unistd.h>

#include "tests/client/fixture.h"
#include "tests/lib/case.h"

TEST("/api/types", test_types)
{
    const GType types[] = {
        web_locks_agent_get_type(),     web_locks_lock_get_type(),    web_locks_manager_get_type(),
        web_locks_lock_info_get_type(), web_locks_monitor_get_type(), web_locks_options_get_type(),
        web_locks_snapshot_get_type(),  web_locks_claim_get_type(),   web_locks_request_get_type(),
    };
    GEnumClass *states = g_type_class_ref(web_locks_claim_state_get_type());
    GEnumClass *errors = g_type_class_ref(web_locks_error_get_type());
    GEnumClass *modes = g_type_class_ref(web_locks_mode_get_type());

    for (guint i = 0; i < G_N_ELEMENTS(types); i++) {
        g_assert_true(g_type_is_a(types[i], G_TYPE_OBJECT));
        g_assert_true(G_TYPE_IS_FINAL(types[i]));
        g_assert_true(g_str_has_prefix(g_type_name(types[i]), "WebLocks"));
    }
    g_assert_cmpstr(g_enum_get_value(modes, WEB_LOCKS_MODE_EXCLUSIVE)->value_nick, ==, "exclusive");
    g_assert_cmpstr(g_enum_get_value(modes, WEB_LOCKS_MODE_SHARED)->value_nick, ==, "shared");
    g_assert_cmpuint(errors->n_values, ==, 10);
    g_assert_cmpstr(g_enum_get_value(errors, WEB_LOCKS_ERROR_STOLEN)->value_nick, ==, "stolen");
    g_assert_cmpstr(g_quark_to_string(web_locks_error_quark()), ==, "web-locks-error-quark");
    g_assert_cmpstr(g_enum_get_value(errors, WEB_LOCKS_ERROR_CLOSED)->value_nick, ==, "closed");
    g_assert_cmpuint(states->n_values, ==, 6);
    g_assert_cmpstr(g_enum_get_value(states, WEB_LOCKS_CLAIM_STATE_LOST)->value_nick, ==, "lost");
    g_type_class_unref(states);
    g_type_class_unref(errors);
    g_type_class_unref(modes);
}

TEST("/api/version", test_version)
{
    g_assert_true(WEB_LOCKS_CHECK_VERSION(WEB_LOCKS_MAJOR_VERSION, WEB_LOCKS_MINOR_VERSION, 0));
    g_assert_false(WEB_LOCKS_CHECK_VERSION(WEB_LOCKS_MAJOR_VERSION, WEB_LOCKS_MINOR_VERSION,
                                           WEB_LOCKS_MICRO_VERSION + 1));
    g_assert_false(
        WEB_LOCKS_CHECK_VERSION(WEB_LOCKS_MAJOR_VERSION, WEB_LOCKS_MINOR_VERSION + 1, 0));
    g_assert_false(WEB_LOCKS_CHECK_VERSION(WEB_LOCKS_MAJOR_VERSION + 1, 0, 0));
    g_assert_true(web_locks_check_version(0, 0, G_MAXUINT));
    g_assert_true(web_locks_check_version(WEB_LOCKS_MAJOR_VERSION, WEB_LOCKS_MINOR_VERSION,
                                          WEB_LOCKS_MICRO_VERSION));
    g_assert_false(web_locks_check_version(WEB_LOCKS_MAJOR_VERSION, WEB_LOCKS_MINOR_VERSION,
                                           WEB_LOCKS_MICRO_VERSION + 1));
    g_assert_false(web_locks_check_version(G_MAXUINT, 0, 0));
}

static void
count_notify(GObject *object, GParamSpec *pspec, gpointer n_notifies)
{
    ++*(guint *)n_notifies;
}

TEST("/api/options", test_options)
{
    g_autoptr(WebLocksOptions) options = web_locks_options_new();
    guint n_notifies = 0;

    g_assert_cmpint(web_locks_options_get_mode(options), ==, WEB_LOCKS_MODE_EXCLUSIVE);
    g_assert_false(web_locks_options_get_if_available(options));
    g_assert_false(web_locks_options_get_steal(options));
    g_assert_cmpuint(web_locks_options_get_slots(options), ==, 1);
    g_assert_cmpuint(web_locks_options_get_timeout(options), ==, 0);
    g_signal_connect(options, "notify", G_CALLBACK(count_notify), &n_notifies);

    for (guint i = 0; i < 2; i++) { /* the second time there is no change, and no notification */
        web_locks_options_set_mode(options, WEB_LOCKS_MODE_SHARED);
        web_locks_options_set_if_available(options, TRUE);
        web_locks_options_set_steal(options, TRUE);
        web_locks_options_set_timeout(options, 12);
        web_locks_options_set_why(options, "because");
        web_locks_options_set_command(options, "rsync (pid 12)");
        web_locks_options_set_slots(options, 3);
        g_assert_cmpuint(n_notifies, ==, 7);
    }
    g_assert_cmpint(web_locks_options_get_mode(options), ==, WEB_LOCKS_MODE_SHARED);
    g_assert_true(web_locks_options_get_if_available(options));
    g_assert_true(web_locks_options_get_steal(options));
    g_assert_cmpuint(web_locks_options_get_timeout(options), ==, 12);
    g_assert_cmpstr(web_locks_options_get_why(options), ==, "because");
    g_assert_cmpstr(web_locks_options_get_command(options), ==, "rsync (pid 12)");
    g_assert_cmpuint(web_locks_options_get_slots(options), ==, 3);
}

/* In the client's own bucket; other buckets are in the tests of the service. */
TEST("/api/break", test_break)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a"), second = NULL;
    g_autoptr(WebLocksSnapshot) snapshot = NULL;
    g_autoptr(WebLocksLockInfo) info = NULL;
    g_autoptr(GPtrArray) observable = NULL;
    g_autoptr(GError) error = NULL;
    g_auto(Answer) answer = {0};
    WebLocksManager *listed;

    observable =
        web_locks_agent_list_observable_sync(web_locks_manager_get_agent(manager), NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(observable->len, ==, 1);
    listed = observable->pdata[0];
    g_assert_null(web_locks_manager_get_application(listed));
    g_assert_cmpuint(web_locks_manager_get_uid(listed), ==, getuid());
    g_assert_cmpuint(web_locks_manager_get_uid(manager), ==, getuid());
    snapshot = no_error(web_locks_manager_inspect_sync(listed, "a", NULL, &test_error));
    info = g_list_model_get_item(web_locks_snapshot_get_held(snapshot), 0);
    g_assert_cmpstr(web_locks_lock_info_get_application(info), ==, "");
    g_assert_cmpint(web_locks_manager_break_sync(listed, "b", NULL, NULL, &error), ==, 0);
    g_assert_cmpint(web_locks_manager_break_sync(listed, "a", info, NULL, &error), ==, 1);
    g_assert_cmpint(no_error(web_locks_manager_break_sync(listed, "a", info, NULL, &test_error)),
                    ==, 0);
    second = test_lock(manager, "a");
    web_locks_manager_break_async(manager, "a", NULL, NULL, answer_take, &answer);
    g_assert_cmpint(
        no_error(web_locks_manager_break_finish(manager, answer_wait(&answer), &test_error)), ==,
        1);
    assert_fails(web_locks_manager_break_sync(manager, "-a", NULL, NULL, &test_error) >= 0,
                 WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED);
}

static gboolean
is_empty(gpointer list)
{
    return g_list_model_get_n_items(list) == 0;
}

/* Beside a monitor of one bucket of the same agent: the service sends each signal once. */
TEST("/api/monitors-of-all-buckets", test_monitors_of_all)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    WebLocksAgent *agent = web_locks_manager_get_agent(manager);
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a");
    g_autoptr(WebLocksMonitor) of_bucket = NULL, monitor = NULL, sync = NULL;
    g_autoptr(WebLocksLockInfo) info = NULL;
    g_autoptr(WebLocksSnapshot) snapshot = NULL;
    g_auto(Answer) answer = {0};

    of_bucket = no_error(web_locks_monitor_new_sync(manager, NULL, &test_error));
    web_locks_monitor_new_all_async(agent, NULL, answer_take, &answer);
    monitor = no_error(web_locks_monitor_new_all_finish(answer_wait(&answer), &test_error));
    sync = no_error(web_locks_monitor_new_all_sync(agent, NULL, &test_error));
    g_assert_null(web_locks_monitor_get_manager(monitor));
    info = g_list_model_get_item(web_locks_monitor_get_held(sync), 0);
    g_assert_cmpstr(web_locks_manager_get_bucket(web_locks_lock_info_get_manager(info)), ==,
                    web_locks_manager_get_bucket(manager));
    g_assert_true(web_locks_lock_info_get_held(info));
    g_assert_cmpuint(web_locks_lock_info_get_id(info), !=, 0);
    g_clear_object(&info);
    info = g_list_model_get_item(web_locks_monitor_get_held(of_bucket), 0);
    g_assert_true(web_locks_lock_info_get_manager(info) == manager);
    g_clear_object(&info);
    snapshot = no_error(web_locks_manager_inspect_sync(manager, NULL, NULL, &test_error));
    info = g_list_model_get_item(web_locks_snapshot_get_held(snapshot), 0);
    g_assert_true(web_locks_lock_info_get_manager(info) == manager);
    g_clear_object(&info);
    g_clear_object(&snapshot);
    snapshot = no_error(web_locks_manager_query_sync(manager, NULL, &test_error));
    info = g_list_model_get_item(web_locks_snapshot_get_held(snapshot), 0);
    g_assert_null(web_locks_lock_info_get_manager(info));
    test_release(lock);
    test_wait(is_empty, web_locks_monitor_get_held(of_bucket));
    test_wait(is_empty, web_locks_monitor_get_held(monitor));
    test_wait(is_empty, web_locks_monitor_get_held(sync));
}

/* ---- names of documents */

static void
on_opened(GObject *source, GAsyncResult *result, gpointer data)
{
    *(GAsyncResult **)data = g_object_ref(result);
}

static gboolean
has_result(gpointer result)
{
    return *(GAsyncResult **)result != NULL;
}

/* Outside of a sandbox: no service is asked. */
static char *
name_for_file(GFile *file)
{
    g_autoptr(WebLocksAgent) agent = web_locks_agent_new(G_BUS_TYPE_NONE, "unix:path=/nonexistent");
    g_autoptr(GAsyncResult) result = NULL;
    g_autoptr(WebLocksManager) manager = NULL;
    gboolean excludes_all = FALSE;
    char *name = NULL;

    web_locks_agent_open_document_async(agent, file, NULL, on_opened, &result);
    test_wait(has_result, &result);
    manager = no_error(
        web_locks_agent_open_document_finish(agent, result, &name, &excludes_all, &test_error));
    g_assert_cmpstr(web_locks_manager_get_bucket(manager), ==, WEB_LOCKS_DOCUMENTS_BUCKET);
    g_assert_true(excludes_all);
    return name;
}

static char *
name_for_path(const char *path)
{
    g_autoptr(GFile) file = g_file_new_for_path(path);

    return name_for_file(file);
}

TEST("/api/opening-cancelled", test_opening_cancelled)
{
    g_autoptr(WebLocksAgent) agent = web_locks_agent_new(G_BUS_TYPE_NONE, "unix:path=/nonexistent");
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_autoptr(GFile) file = g_file_new_for_path("/nonexistent");
    g_autoptr(GAsyncResult) result = NULL;
    char *name;

    web_locks_agent_open_document_async(agent, file, cancellable, on_opened, &result);
    g_cancellable_cancel(cancellable);
    test_wait(has_result, &result);
    assert_fails(web_locks_agent_open_document_finish(agent, result, &name, NULL, &test_error),
                 G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

TEST("/api/document-names", test_document_names)
{
    g_autofree char *made = no_error(g_dir_make_tmp("weblocks-documents-XXXXXX", &test_error));
    g_autofree char *directory = realpath(made, NULL);
    g_autofree char *target = g_build_filename(directory, "a b", NULL);
    g_autofree char *link = g_build_filename(directory, "link", NULL);
    g_autofree char *expected = g_filename_to_uri(target, NULL, NULL);
    g_autofree char *missing = name_for_path(target), *deep = g_strnfill(1100, 'd');
    g_autofree char *deep_path = g_build_filename("/nonexistent", deep, NULL);
    g_autofree char *hash = name_for_path(deep_path), *resolved = NULL, *remote = NULL;
    g_autoptr(GFile) url = g_file_new_for_uri("https://example.org/a%20b");

    g_assert_cmpstr(missing, ==, expected); /* it is not there yet */
    assert_done(g_file_set_contents(target, "", 0, &test_error));
    g_assert_cmpint(symlink("a b", link), ==, 0);
    resolved = name_for_path(link);
    g_assert_cmpstr(resolved, ==, expected);
    remote = name_for_file(url);
    g_assert_cmpstr(remote, ==, "https://example.org/a%20b");
    g_assert_true(g_str_has_prefix(hash, "sha256:"));
    g_assert_cmpuint(strlen(hash), ==, strlen("sha256:") + 64);
    g_assert_cmpint(unlink(link), ==, 0);
    g_assert_cmpint(unlink(target), ==, 0);
    g_assert_cmpint(rmdir(directory), ==, 0);
}

/* ---- buckets of groups */

TEST("/api/groups", test_groups)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *of_root = web_locks_bucket_for_group("root", &error);
    g_autofree char *of_number = web_locks_bucket_for_group("4294967294", &error);
    g_autofree char *canonical = web_locks_bucket_for_group("007", &error);

    g_assert_no_error(error);
    g_assert_cmpstr(of_root, ==, "group:0");
    g_assert_cmpstr(of_number, ==, "group:4294967294");
    g_assert_cmpstr(canonical, ==, "group:7");
    assert_fails(web_locks_bucket_for_group("no-such-group", &test_error), G_IO_ERROR,
                 G_IO_ERROR_NOT_FOUND);
    g_assert_null(web_locks_bucket_for_group("4294967295", &error)); /* (gid_t)-1 */
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND);
}

TEST_MAIN(test_run(NULL))
