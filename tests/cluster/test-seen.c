/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* seen: what the gateway stores of the engine's data, and files that it refuses. */

#include "cluster/gateway/seen.h"

#include <glib/gstdio.h>

typedef struct {
    char *directory;
    char *path;
} Fixture;

static void
set_up(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    fixture->directory = g_dir_make_tmp("test-seen-XXXXXX", NULL);
    g_assert_nonnull(fixture->directory);
    fixture->path = g_build_filename(fixture->directory, "seen", NULL);
}

static void
tear_down(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_remove(fixture->path);
    g_rmdir(fixture->directory);
    g_free(fixture->path);
    g_free(fixture->directory);
}

static Seen *
load(const Fixture *fixture)
{
    g_autoptr(GError) error = NULL;
    Seen *seen = seen_new(fixture->directory, &error);

    g_assert_no_error(error);
    return seen;
}

static void
test_stored(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    Seen *seen = load(fixture);
    g_autoptr(GError) error = NULL;

    g_assert_null(seen_get_instance(seen));
    g_assert_cmpuint(seen_get_block(seen, "farm"), ==, 0);
    g_assert_true(seen_set_instance(seen, "0123", &error));
    g_assert_no_error(error);
    seen_raise_block(seen, "farm", 7);
    seen_raise_block(seen, "farm", 6);
    seen_raise_block(seen, "b.u_i-ld", 2147483647);
    g_assert_cmpuint(seen_get_block(seen, "farm"), ==, 7);
    seen_free(seen);

    seen = load(fixture);
    g_assert_cmpstr(seen_get_instance(seen), ==, "0123");
    g_assert_cmpuint(seen_get_block(seen, "farm"), ==, 7);
    g_assert_cmpuint(seen_get_block(seen, "b.u_i-ld"), ==, 2147483647);
    g_assert_cmpuint(seen_get_block(seen, "other"), ==, 0);
    g_assert_false(seen_is_refused(seen));
    seen_refuse(seen);
    /* An administrator deletes it, and restarts the gateway. */
    g_assert_cmpint(g_remove(fixture->path), ==, 0);
    seen_free(seen);
    g_assert_false(g_file_test(fixture->path, G_FILE_TEST_EXISTS));
}

static void
test_refused(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autoptr(Seen) seen = load(fixture);
    g_autoptr(Seen) next = NULL;

    g_assert_true(seen_set_instance(seen, "0123", NULL));
    seen_refuse(seen);
    g_assert_true(seen_is_refused(seen));
    next = load(fixture);
    g_assert_true(seen_is_refused(next));
}

static void
test_damaged(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    static const char *const damaged[] = {
        "",
        "0123",
        "[Data]\n",
        "[Data]\nInstance=\n",
        "[Blocks]\nfarm=1\n",
        "[Data]\nInstance=0123\n[Blocks]\nfarm=\n",
        "[Data]\nInstance=0123\n[Blocks]\nfarm=-1\n",
        "[Data]\nInstance=0123\n[Blocks]\nfarm=0\n",
        "[Data]\nInstance=0123\n[Blocks]\nfarm=7x\n",
        "[Data]\nInstance=0123\nRefused=\n",
        "[Data]\nInstance=0123\nRefused=false\n",
        "[Data]\nInstance=\xff\n",
    };

    for (guint i = 0; i < G_N_ELEMENTS(damaged); i++) {
        g_autoptr(GError) error = NULL;

        g_assert_true(g_file_set_contents(fixture->path, damaged[i], -1, NULL));
        g_test_message("file %u", i);
        g_assert_null(seen_new(fixture->directory, &error));
        g_assert_error(error, G_KEY_FILE_ERROR, G_KEY_FILE_ERROR_INVALID_VALUE);
        g_assert_true(g_str_has_prefix(error->message, fixture->path));
    }
}

static void
test_unreadable(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autoptr(GError) error = NULL;

    g_assert_cmpint(g_mkdir(fixture->path, 0700), ==, 0);
    g_assert_null(seen_new(fixture->directory, &error));
    g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_ISDIR);
}

static GLogWriterOutput
count_warning(GLogLevelFlags level,
              G_GNUC_UNUSED const GLogField *fields,
              G_GNUC_UNUSED gsize n_fields,
              gpointer n_warnings)
{
    if ((level & G_LOG_LEVEL_WARNING) != 0)
        ++*(guint *)n_warnings;
    return G_LOG_WRITER_HANDLED;
}

static void
test_unwritable(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    static guint n_warnings;
    g_autoptr(Seen) seen = load(fixture);
    g_autoptr(Seen) again = NULL;
    g_autoptr(GError) error = NULL;

    g_log_set_always_fatal(G_LOG_FATAL_MASK);
    g_log_set_writer_func(count_warning, &n_warnings, NULL);
    g_assert_cmpint(g_rmdir(fixture->directory), ==, 0);
    g_assert_false(seen_set_instance(seen, "0123", &error));
    g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
    g_assert_null(seen_get_instance(seen));
    seen_raise_block(seen, "farm", 7);
    g_assert_cmpuint(n_warnings, ==, 0);
    seen_store(seen);
    while (n_warnings == 0)
        g_main_context_iteration(NULL, TRUE);
    g_assert_cmpuint(seen_get_block(seen, "farm"), ==, 7);

    /* The next attempt works. */
    g_assert_cmpint(g_mkdir(fixture->directory, 0700), ==, 0);
    g_assert_true(seen_set_instance(seen, "0123", NULL));
    seen_free(g_steal_pointer(&seen));
    g_assert_cmpuint(n_warnings, ==, 1);
    again = load(fixture);
    g_assert_cmpuint(seen_get_block(again, "farm"), ==, 7);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/seen/stored", Fixture, NULL, set_up, test_stored, tear_down);
    g_test_add("/seen/refused", Fixture, NULL, set_up, test_refused, tear_down);
    g_test_add("/seen/damaged", Fixture, NULL, set_up, test_damaged, tear_down);
    g_test_add("/seen/unreadable", Fixture, NULL, set_up, test_unreadable, tear_down);
    g_test_add("/seen/unwritable", Fixture, NULL, set_up, test_unwritable, tear_down);
    return g_test_run();
}
