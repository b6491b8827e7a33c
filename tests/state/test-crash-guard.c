/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* state/crash-guard: a record at which three processes have crashed within ten seconds is left out.
 */

#include "service/state/crash-guard.h"

#include <glib/gstdio.h>
#include <unistd.h>

#define SECOND G_USEC_PER_SEC

static char *path;

/* Acts as a process that crashes while it restores this record, after another one. Returns whether
 * the record was left out. */
static gboolean
crash_at(guint64 agent, guint64 id, gint64 now_us)
{
    CrashGuard guard;
    gboolean is_skipped;

    crash_guard_begin(&guard, path, now_us);
    g_assert_false(crash_guard_skips(&guard, agent, id + 1));
    is_skipped = crash_guard_skips(&guard, agent, id);
    if (is_skipped)
        g_assert_false(crash_guard_skips(&guard, agent, id + 2));
    close(guard.fd);
    g_free(guard.path);
    return is_skipped;
}

static void
test_three_crashes(void)
{
    for (guint i = 0; i < 3; i++)
        g_assert_false(crash_at(5, 6, 100 * SECOND + i));
    g_assert_true(crash_at(5, 6, 105 * SECOND));
    g_remove(path);
}

static void
test_not_within_ten_seconds(void)
{
    for (gint64 i = 0; i < 8; i++)
        g_assert_false(crash_at(5, 6, (100 + 6 * i) * SECOND));
    g_remove(path);
}

static void
test_different_records(void)
{
    for (guint i = 0; i < 8; i++)
        g_assert_false(crash_at(5 + i % 2, 6, 100 * SECOND + i));
    g_remove(path);
    for (guint i = 0; i < 8; i++)
        g_assert_false(crash_at(5, 6 + 4 * (i % 2), 100 * SECOND + i));
    g_remove(path);
}

/* A monotonic clock behind the time in the file is that of another boot. */
static void
test_clock_behind(void)
{
    for (gint64 i = 0; i < 8; i++)
        g_assert_false(crash_at(5, 6, (1000 - 20 * i) * SECOND));
    g_remove(path);
}

static void
test_success_resets_the_count(void)
{
    CrashGuard guard;

    g_assert_false(crash_at(5, 6, 1));
    g_assert_false(crash_at(5, 6, 2));
    crash_guard_begin(&guard, path, 3);
    g_assert_false(crash_guard_skips(&guard, 5, 6));
    crash_guard_end(&guard);
    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
    g_assert_false(crash_at(5, 6, 4));
    g_remove(path);
}

static void
test_unusable_file(void)
{
    for (guint i = 0; i < 5; i++) {
        CrashGuard guard;

        crash_guard_begin(&guard, "/nowhere/crash-guard", i);
        g_assert_false(crash_guard_skips(&guard, 5, 6));
        crash_guard_end(&guard);
    }
}

int
main(int argc, char **argv)
{
    g_autofree char *directory = g_dir_make_tmp("weblocks-crash-guard-XXXXXX", NULL);
    int result;

    g_test_init(&argc, &argv, NULL);
    g_assert_nonnull(directory);
    path = g_build_filename(directory, "crash-guard", NULL);
    g_test_add_func("/crash-guard/three-crashes", test_three_crashes);
    g_test_add_func("/crash-guard/not-within-ten-seconds", test_not_within_ten_seconds);
    g_test_add_func("/crash-guard/different-records", test_different_records);
    g_test_add_func("/crash-guard/clock-behind", test_clock_behind);
    g_test_add_func("/crash-guard/success-resets-the-count", test_success_resets_the_count);
    g_test_add_func("/crash-guard/unusable-file", test_unusable_file);
    result = g_test_run();
    g_assert_cmpint(g_rmdir(directory), ==, 0);
    g_free(path);
    return result;
}
