/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The code of docs/library/losing.md, unchanged, with a holder that continues to write after its
 * lock was stolen. */

#include "tests/client/fixture.h"

typedef struct {
    guint64 greatest_token;
    char text[32];
} Resource;

#include "losing-snippet.h"
#include "tests/lib/case.h"

TEST("/fencing/late-writer", test_late_writer)
{
    g_autoptr(WebLocksManager) first = test_manager_new(), second = test_manager_new();
    g_autoptr(WebLocksLock) lost = test_lock(first, "a"), lock = NULL;
    Resource resource = {0};

    g_assert_true(resource_write(&resource, web_locks_lock_get_token(lost), "the first's"));
    /* The first agent's context does not run: it hasn't received the notification. */
    lock = test_lock_stolen(second, "a");
    g_assert_true(resource_write(&resource, web_locks_lock_get_token(lock), "the second's"));
    g_assert_false(resource_write(&resource, web_locks_lock_get_token(lost), "too late"));
    g_assert_true(resource_write(&resource, web_locks_lock_get_token(lock), "the second's again"));
    g_assert_cmpstr(resource.text, ==, "the second's again");
}

/* The next holder may write, also if the lock was not stolen. */
TEST("/fencing/next-writer", test_next_writer)
{
    g_autoptr(WebLocksManager) first = test_manager_new(), second = test_manager_new();
    Resource resource = {0};
    guint64 old_token = 0;

    for (guint i = 0; i < 10; i++) {
        g_autoptr(WebLocksLock) lock = test_lock(i % 2 == 0 ? first : second, "a");
        guint64 token = web_locks_lock_get_token(lock);

        g_assert_true(resource_write(&resource, token, "now"));
        g_assert_true(i == 0 || !resource_write(&resource, old_token, "then"));
        old_token = token;
        test_release(lock);
    }
}

TEST_MAIN(test_run(NULL))
