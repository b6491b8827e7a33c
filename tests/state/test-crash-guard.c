/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* state/crash-guard: a record at which three processes have crashed within ten seconds is left out.
 */

#include "service/state/crash-guard.h"
#include "tests/lib/case.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND G_USEC_PER_SEC

static char *path;

/* Acts as a process that crashes while it restores this record, after another one. Returns whether
 * the record was left out. */
static gboolean
crash_by(guint64 agent, guint64 id, gint64 now_us, int signal_number)
{
    const struct rlimit no_core = {0, 0};
    pid_t pid = fork();
    int status;

    g_assert_cmpint(pid, >=, 0);
    if (pid == 0) {
        setrlimit(RLIMIT_CORE, &no_core);
        for (int number = 1; number < 32; number++)
            signal(number, SIG_DFL); /* those of a sanitizer would report it */
        crash_guard_begin(path, now_us);
        if (crash_guard_skips(agent, id + 1) || crash_guard_skips(agent, id))
            _exit(EXIT_FAILURE);
        raise(signal_number);
        _exit(EXIT_SUCCESS);
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    if (!WIFEXITED(status))
        g_assert_cmpint(WTERMSIG(status), ==, signal_number);
    return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILURE;
}

static gboolean
crash_at(guint64 agent, guint64 id, gint64 now_us)
{
    return crash_by(agent, id, now_us, SIGSEGV);
}

/* Each kind of fault counts, and nothing else that ends a process. */
TEST("/crash-guard/signals", test_signals)
{
    static const int faults[] = {SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
    static const int others[] = {SIGKILL, SIGTERM, SIGXFSZ, SIGPIPE, SIGXCPU};

    for (guint i = 0; i < G_N_ELEMENTS(faults); i++) {
        for (guint k = 0; k < 3; k++)
            g_assert_false(crash_by(5, 6, 100 * SECOND, faults[i]));
        g_assert_true(crash_by(5, 6, 100 * SECOND, faults[i]));
        g_remove(path);
    }
    for (guint i = 0; i < G_N_ELEMENTS(others) * 4; i++)
        g_assert_false(crash_by(5, 6, 100 * SECOND, others[i / 4]));
    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
}

/* What has crashed at another record, or at none, does not make one be restored again. */
TEST("/crash-guard/two-causes", test_two_causes)
{
    for (guint i = 0; i < 3; i++)
        g_assert_false(crash_at(5, 6, 100 * SECOND));
    for (guint i = 0; i < 3; i++)
        g_assert_false(crash_at(7, 8, 101 * SECOND));
    for (guint i = 0; i < 3; i++)
        g_assert_false(crash_at(0, 0, 102 * SECOND));
    g_assert_true(crash_at(5, 6, 103 * SECOND));
    g_assert_true(crash_at(7, 8, 103 * SECOND));
    g_assert_true(crash_at(0, 0, 103 * SECOND));
    g_remove(path);
}

/* Other crashes are no reason: not within ten seconds, at different records, or at a monotonic time
 * that is behind that in the file, which is of another boot. */
TEST("/crash-guard/not-counted", test_not_counted)
{
    for (gint64 i = 0; i < 8; i++)
        g_assert_false(crash_at(5, 6, (100 + 6 * i) * SECOND));
    g_remove(path);
    for (gint64 i = 0; i < 8; i++)
        g_assert_false(crash_at(5, 6, (1000 - 20 * i) * SECOND));
    g_remove(path);
    for (guint i = 0; i < 16; i++)
        g_assert_false(crash_at(5 + i % 8, 6, 100 * SECOND + i));
    g_remove(path);
    for (guint i = 0; i < 16; i++)
        g_assert_false(crash_at(5, 6 + 4 * (i % 8), 100 * SECOND + i));
    g_remove(path);
}

TEST("/crash-guard/success-resets-the-count", test_success_resets_the_count)
{
    g_assert_false(crash_at(5, 6, 1));
    g_assert_false(crash_at(5, 6, 2));
    crash_guard_begin(path, 3);
    g_assert_false(crash_guard_skips(5, 6));
    crash_guard_end(FALSE);
    g_assert_true(g_file_test(path, G_FILE_TEST_EXISTS));
    crash_guard_begin(path, 3);
    crash_guard_end(TRUE);
    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
    g_assert_false(crash_at(5, 6, 4));
    g_remove(path);
}

TEST("/crash-guard/unusable-file", test_unusable_file)
{
    for (guint i = 0; i < 5; i++) {
        crash_guard_begin("/nowhere/crash-guard", i);
        g_assert_false(crash_guard_skips(5, 6));
        crash_guard_end(TRUE);
    }
}

int
main(int argc, char **argv)
{
    g_autofree char *directory = g_dir_make_tmp("weblocks-crash-guard-XXXXXX", NULL);
    int result;

    g_test_init(&argc, &argv, NULL);
    test_cases_add();
    g_assert_nonnull(directory);
    path = g_build_filename(directory, "crash-guard", NULL);
    result = g_test_run();
    g_assert_cmpint(g_rmdir(directory), ==, 0);
    g_free(path);
    return result;
}
