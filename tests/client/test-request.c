/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Requests that are refused without a call, and options. Which requests are granted, and when, is
 * in tests/spec/cases.txt, which also runs through the library. */

#include <string.h>

#include "tests/client/fixture.h"
#include "tests/lib/case.h"

/* ---- names */

static void
check_bad_name(const char *name, GQuark domain, int code)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    const char *const names[] = {"a", name, NULL};
    g_auto(Answer) answer = {0};

    assert_fails(web_locks_manager_request_sync(manager, name, NULL, NULL, &test_error), domain,
                 code);
    web_locks_manager_request_async(manager, name, NULL, NULL, answer_take, &answer);
    answer_expect_error(&answer, domain, code);
    assert_fails(web_locks_manager_request_many_sync(manager, names, NULL, NULL, &test_error),
                 domain, code);
    if (domain == G_IO_ERROR)
        assert_fails(web_locks_monitor_new_for_name(manager, name, &test_error), domain, code);
    assert_state(manager, " | "); /* not even "a" was requested */
}

TEST("/request/bad-names", test_bad_names)
{
    static const char *const bad[] = {
        "\xff",             /* not UTF-8 */
        "half \xc3",        /* truncated */
        "\xed\xa0\x80",     /* a surrogate */
        "\xc0\xaf",         /* overlong */
        "\xef\xbf\xbf",     /* U+FFFF */
        "\xef\xbf\xbe",     /* U+FFFE */
        "\xef\xb7\x90",     /* U+FDD0 */
        "\xef\xb7\xaf",     /* U+FDEF */
        "\xf0\x9f\xbf\xbf", /* U+1FFFF */
        "\xf4\x8f\xbf\xbe", /* U+10FFFE */
    };
    g_autofree char *too_long = g_strnfill(1025, 'n');

    for (guint i = 0; i < G_N_ELEMENTS(bad); i++)
        check_bad_name(bad[i], G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT);
    check_bad_name("-", WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED);
    check_bad_name("-reserved", WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED);
    check_bad_name(too_long, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LIMITS);
}

static void
check_bad_option(
    WebLocksManager *manager, WebLocksOptions *options, GQuark domain, int code, const char *text)
{
    g_autoptr(GError) error = NULL;

    g_assert_null(web_locks_manager_request_sync(manager, "a", options, NULL, &error));
    g_assert_error(error, domain, code);
    g_assert_nonnull(strstr(error->message, text));
}

/* A huge name is refused without being read as a whole, let alone copied. */
TEST("/request/huge-names", test_huge_names)
{
    const gsize size = 200 * 1024 * 1024;
    g_autofree char *huge = g_malloc(size + 1);
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksOptions) options = web_locks_options_new();
    gint64 begin_us;

    memset(huge, 'n', size);
    huge[size] = '\0';
    begin_us = g_get_monotonic_time();
    for (guint i = 0; i < 100; i++) {
        g_autoptr(GError) error = NULL;

        g_assert_null(web_locks_manager_request_sync(manager, huge, NULL, NULL, &error));
        g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LIMITS);
        g_assert_nonnull(strstr(error->message, "nameBytes"));
        assert_fails(web_locks_manager_inspect_sync(manager, huge, NULL, &test_error),
                     WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LIMITS);
    }
    /* Reading it once takes longer than all of this. */
    g_assert_cmpint(g_get_monotonic_time() - begin_us, <, test_factor() * G_TIME_SPAN_SECOND);
    check_bad_name(huge, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LIMITS);
    assert_fails(web_locks_monitor_new_for_name(manager, huge, &test_error), WEB_LOCKS_ERROR,
                 WEB_LOCKS_ERROR_LIMITS);
    huge[0] = '-';
    check_bad_name(huge, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED);
    assert_fails(web_locks_manager_break_sync(manager, huge, NULL, NULL, &test_error) >= 0,
                 WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED);
    web_locks_options_set_why(options, huge);
    check_bad_option(manager, options, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LIMITS, "'why'");
    web_locks_options_set_why(options, NULL);
    web_locks_options_set_command(options, huge);
    check_bad_option(manager, options, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LIMITS, "'command'");
    web_locks_options_set_command(options, "\xff");
    check_bad_option(manager, options, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT, "");
    assert_state(manager, " | ");
}

/* That the agent is unusable is checked before everything else [3.2.1]. */
TEST("/request/of-a-closed-agent", test_closed_first)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    const char *const names[] = {"a", "-", NULL};
    g_autoptr(WebLocksOptions) options =
        g_object_new(WEB_LOCKS_TYPE_OPTIONS, "steal", TRUE, "if-available", TRUE, NULL);
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_auto(Answer) name = {0}, both = {0}, cancelled = {0}, many = {0};

    g_cancellable_cancel(cancellable);
    web_locks_agent_close(web_locks_manager_get_agent(manager));
    web_locks_manager_request_async(manager, "-", NULL, NULL, answer_take, &name);
    answer_expect_error(&name, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE);
    web_locks_manager_request_async(manager, "a", options, NULL, answer_take, &both);
    answer_expect_error(&both, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE);
    web_locks_manager_request_async(manager, "a", NULL, cancellable, answer_take, &cancelled);
    answer_expect_error(&cancelled, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE);
    assert_fails(web_locks_manager_request_sync(manager, "-", options, cancellable, &test_error),
                 WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE);

    assert_fails(
        web_locks_manager_request_many_sync(manager, names, options, cancellable, &test_error),
        WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE);
    web_locks_manager_request_many_async(manager, names, options, NULL, answer_take, &many);
    assert_fails(web_locks_manager_request_many_finish(manager, answer_wait(&many), &test_error),
                 WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE);
}

/* ---- options */

TEST("/request/bad-options", test_bad_options)
{
    static const struct {
        gboolean steal, if_available;
        WebLocksMode mode;
        guint timeout_ms;
    } rows[] = {
        {TRUE, TRUE, WEB_LOCKS_MODE_EXCLUSIVE, 0},
        {TRUE, FALSE, WEB_LOCKS_MODE_SHARED, 0},
        {FALSE, TRUE, WEB_LOCKS_MODE_EXCLUSIVE, 5},
    };
    g_autoptr(WebLocksManager) manager = test_manager_new();

    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(WebLocksOptions) options = g_object_new(
            WEB_LOCKS_TYPE_OPTIONS, "steal", rows[i].steal, "if-available", rows[i].if_available,
            "mode", rows[i].mode, "timeout", rows[i].timeout_ms, NULL);

        if (rows[i].timeout_ms > 0)
            check_bad_option(manager, options, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT, "");
        else
            check_bad_option(manager, options, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED, "");
    }
    assert_state(manager, " | ");
}

/* Later changes of the options don't affect a request that has been made. */
TEST("/request/options-are-copied", test_options_copied)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksOptions) options = test_shared();
    g_auto(Answer) answer = {0};
    g_autoptr(WebLocksLock) lock = NULL;

    web_locks_manager_request_async(manager, "a", options, NULL, answer_take, &answer);
    web_locks_options_set_mode(options, WEB_LOCKS_MODE_EXCLUSIVE);
    lock = answer_expect_lock(&answer);
    g_assert_cmpint(web_locks_lock_get_mode(lock), ==, WEB_LOCKS_MODE_SHARED);
    assert_state(manager, "a:s | ");
}

TEST_MAIN(test_run(NULL))
