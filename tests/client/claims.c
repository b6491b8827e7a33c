/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/client/claims.h"

#include <string.h>

void
claim_assert_consistent(WebLocksClaim *claim)
{
    const WebLocksClaimState state = web_locks_claim_get_state(claim);
    const gboolean held = state == WEB_LOCKS_CLAIM_STATE_HELD;

    g_assert_cmpint(web_locks_claim_get_held(claim), ==, held);
    g_assert_cmpint(web_locks_claim_get_lock(claim) != NULL, ==, held);
    g_assert_cmpint(web_locks_claim_get_token(claim) != 0, ==, held);
    g_assert_true(held || !web_locks_claim_get_wanted(claim));
    if (state != WEB_LOCKS_CLAIM_STATE_WAITING) {
        g_assert_null(web_locks_claim_get_holder(claim));
        g_assert_cmpuint(web_locks_claim_get_position(claim), ==, 0);
    }
    if (state == WEB_LOCKS_CLAIM_STATE_LOST || state == WEB_LOCKS_CLAIM_STATE_FAILED ||
        state == WEB_LOCKS_CLAIM_STATE_UNAVAILABLE)
        g_assert_nonnull(web_locks_claim_get_error(claim));
    if (held || state == WEB_LOCKS_CLAIM_STATE_IDLE)
        g_assert_null(web_locks_claim_get_error(claim));
}

static void
on_notify(WebLocksClaim *claim, GParamSpec *pspec, gpointer data)
{
    Notified *notified = data;
    GEnumClass *class = g_type_class_peek(WEB_LOCKS_TYPE_CLAIM_STATE);

    claim_assert_consistent(claim);
    g_assert_true(notified->thread == g_thread_self());
    if (strcmp(pspec->name, "position") == 0)
        notified->n_position++;
    if (strcmp(pspec->name, "state") == 0)
        g_string_append_printf(
            notified->states, "%s ",
            g_enum_get_value(class, (int)web_locks_claim_get_state(claim))->value_nick);
}

void
notified_watch(Notified *notified, WebLocksClaim *claim)
{
    notified->claim = claim;
    notified->states = g_string_new(NULL);
    notified->thread = g_thread_self();
    g_object_add_weak_pointer(G_OBJECT(claim), (gpointer *)&notified->claim);
    g_signal_connect(claim, "notify", G_CALLBACK(on_notify), notified);
}

void
notified_clear(Notified *notified)
{
    if (notified->claim != NULL) {
        g_signal_handlers_disconnect_by_data(notified->claim, notified);
        g_object_remove_weak_pointer(G_OBJECT(notified->claim), (gpointer *)&notified->claim);
    }
    g_string_free(notified->states, TRUE);
}

gboolean
claim_is_waiting(gpointer claim)
{
    return web_locks_claim_get_state(claim) == WEB_LOCKS_CLAIM_STATE_WAITING;
}

gboolean
claim_is_queued(gpointer claim)
{
    return claim_is_waiting(claim) && web_locks_claim_get_holder(claim) != NULL &&
           web_locks_claim_get_position(claim) != 0;
}

gboolean
claim_is_first(gpointer claim)
{
    return web_locks_claim_get_position(claim) == 1;
}

gboolean
claim_is_held(gpointer claim)
{
    return web_locks_claim_get_held(claim);
}

gboolean
claim_is_over(gpointer claim)
{
    return !claim_is_waiting(claim) && !claim_is_held(claim);
}

WebLocksClaim *
claim_new(WebLocksManager *manager, Notified *notified)
{
    WebLocksClaim *claim = web_locks_claim_new(manager, "a");

    web_locks_claim_set_grace(claim, 0);
    notified_watch(notified, claim);
    return claim;
}

WebLocksClaim *
reclaim_new(WebLocksManager *manager, Notified *notified)
{
    WebLocksClaim *claim = g_object_new(WEB_LOCKS_TYPE_CLAIM, "manager", manager, "name", "a",
                                        "why", "to edit", "reclaim", TRUE, "grace", 0u, NULL);

    notified_watch(notified, claim);
    return claim;
}

gboolean
claim_take_over(WebLocksClaim *claim, GError **error)
{
    g_auto(Answer) answer = {0};

    web_locks_claim_take_over_async(claim, NULL, answer_take, &answer);
    return web_locks_claim_take_over_finish(claim, answer_wait(&answer), error);
}

void
claim_start(WebLocksClaim *claim, TestCondition until)
{
    web_locks_claim_start(claim);
    test_wait_for(until, claim, "the state of the claim");
}
