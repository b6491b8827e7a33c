/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Claims that take over, whose service restarts, or that are freed in a handler. */

#include "tests/client/claims.h"
#include "tests/lib/case.h"

/* ---- taking over */

TEST("/claim/take-over", test_take_over)
{
    g_autoptr(WebLocksManager) one = test_manager_new(), two = test_manager_new();
    g_auto(Notified) notified_one = {0}, notified_two = {0};
    g_autoptr(WebLocksClaim) holder = reclaim_new(one, &notified_one);
    g_autoptr(WebLocksClaim) claim = reclaim_new(two, &notified_two);

    claim_start(holder, claim_is_held);
    claim_start(claim, claim_is_queued);
    assert_done(claim_take_over(claim, &test_error));
    g_assert_true(web_locks_claim_get_held(claim));
    test_wait(claim_is_queued, holder);
    assert_done(claim_take_over(claim, &test_error)); /* it already holds the lock */
    test_settle(two);
    g_assert_true(web_locks_claim_get_held(claim));
    test_wait_for_state(one, "a | a"); /* its own request is aborted */
    assert_done(claim_take_over(holder, &test_error));
    test_wait(claim_is_queued, claim);
    g_assert_cmpstr(notified_one.states->str, ==, "waiting held lost waiting held ");
    g_assert_cmpstr(notified_two.states->str, ==, "waiting held lost waiting ");
}

/* Of the same agent, so that the service reads in this order: it grants the request of the claim,
 * and then takes the lock from it. */
TEST("/claim/take-over-at-grant", test_take_over_at_grant)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a");
    g_auto(Notified) notified = {0};
    g_autoptr(WebLocksClaim) claim = reclaim_new(manager, &notified);
    g_auto(Answer) taken = {0};

    claim_start(claim, claim_is_queued);
    web_locks_lock_release(lock);
    web_locks_claim_take_over_async(claim, NULL, answer_take, &taken);
    assert_done(web_locks_claim_take_over_finish(claim, answer_wait(&taken), &test_error));
    test_settle(manager);
    g_assert_true(web_locks_claim_get_held(claim));
    g_assert_cmpstr(notified.states->str, ==, "waiting held ");
    test_wait_for_state(other, "a | ");
    web_locks_claim_stop(claim);
    test_wait_for_state(other, " | ");
}

/* The request is granted before the failure of the take-over, whose result comes later. */
TEST("/claim/take-over-fails-at-grant", test_take_over_fails_at_grant)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a");
    g_auto(Notified) notified = {0};
    g_autoptr(WebLocksClaim) claim = claim_new(manager, &notified);
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_auto(Answer) taken = {0};

    claim_start(claim, claim_is_queued);
    test_release(lock);
    g_free(test_state(manager)); /* the grant has arrived, and its callback has not run yet */
    g_cancellable_cancel(cancellable);
    web_locks_claim_take_over_async(claim, cancellable, answer_take, &taken);
    assert_fails(web_locks_claim_take_over_finish(claim, answer_wait(&taken), &test_error),
                 G_IO_ERROR, G_IO_ERROR_CANCELLED);
    test_wait(claim_is_held, claim);
    g_assert_cmpstr(notified.states->str, ==, "waiting held ");
    assert_state(other, "a | ");
}

/* ---- the service */

TEST("/claim/service-restart", test_service_restart)
{
    g_autoptr(WebLocksManager) one = test_manager_new(), two = test_manager_new();
    g_auto(Notified) notified_one = {0}, notified_two = {0};
    g_autoptr(WebLocksClaim) held = claim_new(one, &notified_one),
                             waiting = claim_new(two, &notified_two);
    g_autoptr(WebLocksManager) other = test_manager_new();
    g_autoptr(WebLocksClaim) last = web_locks_claim_new(other, "a");
    guint64 token;

    claim_start(held, claim_is_held);
    claim_start(waiting, claim_is_queued);
    token = web_locks_claim_get_token(held);
    test_service_kill();
    test_service_start();
    /* The view continues with the next service. */
    claim_start(last, claim_is_queued);
    g_assert_cmpuint(web_locks_claim_get_position(last), ==, 2);
    test_wait(claim_is_queued, waiting);
    g_assert_cmpuint(web_locks_claim_get_token(held), ==, token);
    web_locks_claim_stop(held);
    test_wait(claim_is_held, waiting);
    test_wait(claim_is_first, last);
    g_assert_cmpstr(notified_one.states->str, ==, "waiting held idle ");
    g_assert_cmpstr(notified_two.states->str, ==, "waiting held ");
}

static gboolean
is_held_again(gpointer notified)
{
    return g_str_has_suffix(((Notified *)notified)->states->str, "lost waiting held ");
}

/* The next service has no stored state. */
TEST("/claim/service-without-state", test_service_without_state)
{
    g_autoptr(WebLocksManager) one = test_manager_new(), two = test_manager_new();
    g_auto(Notified) notified_one = {0}, notified_two = {0};
    g_autoptr(WebLocksClaim) again = reclaim_new(one, &notified_one),
                             lost = claim_new(two, &notified_two);
    g_autoptr(WebLocksLock) lock = NULL;

    claim_start(lost, claim_is_held);
    claim_start(again, claim_is_queued);
    test_service_kill();
    test_service_start_with("--no-state");
    test_wait(claim_is_over, lost);
    test_wait(claim_is_held, again);
    g_assert_cmpstr(notified_two.states->str, ==, "waiting held lost ");
    g_assert_cmpstr(notified_one.states->str, ==, "waiting held ");
    test_service_kill();
    test_service_start_with("--no-state");
    test_wait(is_held_again, &notified_one);
    g_assert_cmpstr(notified_one.states->str, ==, "waiting held lost waiting held ");
    test_service_kill();
    test_service_start();
}

static gboolean
is_unavailable(gpointer claim)
{
    return web_locks_claim_get_state(claim) == WEB_LOCKS_CLAIM_STATE_UNAVAILABLE;
}

/* Two claims that wait for a service: when there is one, one of them holds the lock, and the other
 * waits in its queue. */
TEST("/claim/service-missing", test_service_missing)
{
    g_autoptr(WebLocksManager) one = test_manager_new(), two = test_manager_new(),
                               three = test_manager_new();
    g_auto(Notified) notified_one = {0}, notified_two = {0}, notified_three = {0};
    g_autoptr(WebLocksClaim) ending = claim_new(one, &notified_one);
    g_autoptr(WebLocksClaim) first = reclaim_new(two, &notified_two);
    g_autoptr(WebLocksClaim) second = reclaim_new(three, &notified_three);
    const char *of_held = "waiting unavailable held ";
    const char *of_queued = "waiting unavailable idle waiting unavailable waiting ";

    test_service_stop();
    web_locks_claim_start(ending);
    web_locks_claim_start(first);
    web_locks_claim_start(second);
    test_wait(is_unavailable, ending);
    test_wait(is_unavailable, first);
    test_wait(is_unavailable, second);
    g_assert_error(web_locks_claim_get_error(first), WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    web_locks_claim_start(first); /* no effect, since it waits for a service */
    web_locks_claim_stop(second);
    test_service_start();
    test_wait(claim_is_held, first);
    test_service_stop();
    web_locks_claim_start(second);
    test_wait(is_unavailable, second);
    test_service_start();
    test_wait(claim_is_queued, second);
    g_assert_error(web_locks_claim_get_error(second), WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    g_assert_cmpstr(notified_one.states->str, ==, "waiting unavailable ");
    g_assert_cmpstr(notified_two.states->str, ==, of_held);
    g_assert_cmpstr(notified_three.states->str, ==, of_queued);
    web_locks_claim_stop(first);
    test_wait(claim_is_held, second);
    /* Without the property it is requested again only by the application. */
    g_assert_true(is_unavailable(ending));
    claim_start(ending, claim_is_queued);
}

/* ---- freed in a handler */

typedef struct {
    WebLocksClaim *claim;
    WebLocksClaimState state; /* in which it is freed */
} Drop;

static void
on_state_drop(WebLocksClaim *claim, GParamSpec *pspec, gpointer data)
{
    Drop *drop = data;

    if (drop->claim != NULL && web_locks_claim_get_state(claim) == drop->state)
        g_clear_object(&drop->claim);
}

static gboolean
is_dropped(gpointer drop)
{
    return ((Drop *)drop)->claim == NULL;
}

TEST("/claim/dropped-in-handler", test_dropped_in_handler)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();

    for (guint state = WEB_LOCKS_CLAIM_STATE_WAITING; state <= WEB_LOCKS_CLAIM_STATE_FAILED;
         state++) {
        const gboolean fails = state == WEB_LOCKS_CLAIM_STATE_FAILED;
        Drop drop = {g_object_new(WEB_LOCKS_TYPE_CLAIM, "manager", manager, "name",
                                  fails ? "-" : "a", "reclaim", TRUE, NULL),
                     (WebLocksClaimState)state};
        WebLocksClaim *gone = drop.claim;

        g_object_add_weak_pointer(G_OBJECT(gone), (gpointer *)&gone);
        g_signal_connect(drop.claim, "notify::state", G_CALLBACK(on_state_drop), &drop);
        web_locks_claim_start(drop.claim);
        if (state == WEB_LOCKS_CLAIM_STATE_LOST) {
            test_wait(claim_is_held, drop.claim);
            g_object_unref(test_lock_stolen(other, "a"));
        }
        test_wait(is_dropped, &drop);
        g_assert_null(gone);
        test_settle(manager);
        test_wait_for_state(other, " | ");
    }
}

static void
on_holder_drop(WebLocksClaim *claim, GParamSpec *pspec, gpointer drop)
{
    g_clear_object(&((Drop *)drop)->claim);
}

TEST("/claim/dropped-in-view", test_dropped_in_view)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(other, "a");
    Drop drop = {web_locks_claim_new(manager, "a"), WEB_LOCKS_CLAIM_STATE_WAITING};

    g_signal_connect(drop.claim, "notify::holder", G_CALLBACK(on_holder_drop), &drop);
    web_locks_claim_start(drop.claim);
    test_wait(is_dropped, &drop);
    test_wait_for_state(other, "a | ");
}

TEST_MAIN(test_run(NULL))
