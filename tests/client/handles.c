/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/client/handles.h"

gboolean
handles_have_cells(void)
{
    return g_getenv("WEBLOCKS_TEST_SERVICE_OPTION") == NULL;
}

WebLocksHandle *
handle_new(WebLocksManager *manager)
{
    return web_locks_manager_prepare(manager, "a", NULL);
}

void
handle_enter(WebLocksHandle *handle)
{
    const guint64 token = web_locks_handle_get_token(handle);

    assert_done(web_locks_handle_enter_sync(handle, NULL, &test_error));
    g_assert_cmpuint(web_locks_handle_get_token(handle), >, token);
    g_assert_true(web_locks_handle_get_held(handle));
    g_assert_true(web_locks_handle_get_entered(handle));
}

void
handle_leave(WebLocksHandle *handle)
{
    web_locks_handle_leave(handle);
    g_assert_false(web_locks_handle_get_held(handle));
    g_assert_false(web_locks_handle_get_entered(handle));
    g_assert_null(web_locks_handle_get_error(handle));
}

void
handle_enter_and_leave(WebLocksHandle *handle)
{
    handle_enter(handle);
    handle_leave(handle);
}

void
handle_refuse(WebLocksHandle *handle, GQuark domain, int code)
{
    assert_fails(web_locks_handle_enter_sync(handle, NULL, &test_error), domain, code);
}

void
handle_entered(WebLocksHandle *handle, Answer *answer)
{
    assert_done(web_locks_handle_enter_finish(handle, answer_wait(answer), &test_error));
}

void
handle_not_entered(WebLocksHandle *handle, Answer *answer, GQuark domain, int code)
{
    assert_fails(web_locks_handle_enter_finish(handle, answer_wait(answer), &test_error), domain,
                 code);
}

void
handle_expect_parked(WebLocksHandle *handle)
{
    const guint64 token = web_locks_handle_get_token(handle);

    g_assert_cmpint(web_locks_handle_try_enter(handle), ==, handles_have_cells());
    if (!handles_have_cells())
        return;
    g_assert_cmpuint(web_locks_handle_get_token(handle), ==, token + 1);
    g_assert_true(web_locks_handle_get_held(handle));
    web_locks_handle_leave(handle);
    g_assert_false(web_locks_handle_get_held(handle));
}
