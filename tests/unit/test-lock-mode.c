/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* common/lock-mode: the two strings, and no others. */

#include "common/lock-mode.h"

static void
test_words(void)
{
    LockMode mode;

    g_assert_cmpstr(lock_mode_to_string(LOCK_MODE_EXCLUSIVE), ==, "exclusive");
    g_assert_cmpstr(lock_mode_to_string(LOCK_MODE_SHARED), ==, "shared");
    g_assert_true(lock_mode_from_string("exclusive", &mode));
    g_assert_cmpint(mode, ==, LOCK_MODE_EXCLUSIVE);
    g_assert_true(lock_mode_from_string("shared", &mode));
    g_assert_cmpint(mode, ==, LOCK_MODE_SHARED);
}

static void
test_other_words(void)
{
    static const char *const others[] = {"",        "foo",   "Shared",     "SHARED", "shared ",
                                         " shared", "share", "exclusive2", "x",      "null"};

    for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
        LockMode mode = (LockMode)42;

        g_assert_false(lock_mode_from_string(others[i], &mode));
        g_assert_cmpint(mode, ==, 42);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/lock-mode/words", test_words);
    g_test_add_func("/lock-mode/other-words", test_other_words);
    return g_test_run();
}
