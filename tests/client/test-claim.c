/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Claims: their properties and notifications. */

#include <string.h>
#include <unistd.h>

#include "tests/client/fixture.h"

/* ---- the properties of a claim */

typedef struct {
    WebLocksClaim *claim; /* NULL: freed */
    GString *states;      /* each value that was notified, in order */
    GThread *thread;      /* in which all notifications were emitted */
    guint n_position;     /* the number of notifications of the position */
} Notified;

/* The properties are consistent at every notification. */
static void
assert_consistent(WebLocksClaim *claim)
{
    const WebLocksClaimState state = web_locks_claim_get_state(claim);
    const gboolean held = state == WEB_LOCKS_CLAIM_STATE_HELD;

    g_assert_cmpint(web_locks_claim_get_held(claim), ==, held);
    g_assert_cmpint(web_locks_claim_get_lock(claim) != NULL, ==, held);
    g_assert_cmpint(web_locks_claim_get_token(claim) != 0, ==, held);
    if (state != WEB_LOCKS_CLAIM_STATE_WAITING) {
        g_assert_null(web_locks_claim_get_holder(claim));
        g_assert_cmpuint(web_locks_claim_get_position(claim), ==, 0);
    }
    if (state == WEB_LOCKS_CLAIM_STATE_LOST || state == WEB_LOCKS_CLAIM_STATE_FAILED)
        g_assert_nonnull(web_locks_claim_get_error(claim));
    if (held || state == WEB_LOCKS_CLAIM_STATE_IDLE)
        g_assert_null(web_locks_claim_get_error(claim));
}

static void
on_notify(WebLocksClaim *claim, GParamSpec *pspec, gpointer data)
{
    Notified *notified = data;
    GEnumClass *class = g_type_class_peek(WEB_LOCKS_TYPE_CLAIM_STATE);

    assert_consistent(claim);
    g_assert_true(notified->thread == g_thread_self());
    if (strcmp(pspec->name, "position") == 0)
        notified->n_position++;
    if (strcmp(pspec->name, "state") == 0)
        g_string_append_printf(
            notified->states, "%s ",
            g_enum_get_value(class, (int)web_locks_claim_get_state(claim))->value_nick);
}

static void
notified_watch(Notified *notified, WebLocksClaim *claim)
{
    notified->claim = claim;
    notified->states = g_string_new(NULL);
    notified->thread = g_thread_self();
    g_object_add_weak_pointer(G_OBJECT(claim), (gpointer *)&notified->claim);
    g_signal_connect(claim, "notify", G_CALLBACK(on_notify), notified);
}

static void
notified_clear(Notified *notified)
{
    if (notified->claim != NULL) {
        g_signal_handlers_disconnect_by_data(notified->claim, notified);
        g_object_remove_weak_pointer(G_OBJECT(notified->claim), (gpointer *)&notified->claim);
    }
    g_string_free(notified->states, TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Notified, notified_clear)

static gboolean
is_waiting(gpointer claim)
{
    return web_locks_claim_get_state(claim) == WEB_LOCKS_CLAIM_STATE_WAITING;
}

static gboolean
is_in_queue(gpointer claim)
{
    return is_waiting(claim) && web_locks_claim_get_holder(claim) != NULL &&
           web_locks_claim_get_position(claim) != 0;
}

static gboolean
is_held(gpointer claim)
{
    return web_locks_claim_get_held(claim);
}

static gboolean
is_over(gpointer claim)
{
    return !is_waiting(claim) && !is_held(claim);
}

static WebLocksClaim *
claim_new(WebLocksManager *manager, Notified *notified)
{
    WebLocksClaim *claim = web_locks_claim_new(manager, "a");

    notified_watch(notified, claim);
    return claim;
}

static WebLocksClaim *
reclaim_new(WebLocksManager *manager, Notified *notified)
{
    WebLocksClaim *claim = g_object_new(WEB_LOCKS_TYPE_CLAIM, "manager", manager, "name", "a",
                                        "why", "to edit", "reclaim", TRUE, NULL);

    notified_watch(notified, claim);
    return claim;
}

/* Steals the lock, and returns it held. */
static WebLocksLock *
steal(WebLocksManager *manager)
{
    g_autoptr(WebLocksOptions) options = test_steal();
    g_autoptr(GError) error = NULL;
    WebLocksLock *lock = web_locks_manager_request_sync(manager, "a", options, NULL, &error);

    g_assert_no_error(error);
    return lock;
}

static gboolean
take_over(WebLocksClaim *claim, GError **error)
{
    g_auto(Answer) answer = {0};

    web_locks_claim_take_over_async(claim, NULL, answer_take, &answer);
    return web_locks_claim_take_over_finish(claim, answer_wait(&answer), error);
}

/* ---- holding */

static void
test_hold(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_auto(Notified) notified = {0};
    g_autoptr(WebLocksClaim) claim = claim_new(manager, &notified);

    assert_consistent(claim);
    g_assert_true(web_locks_claim_get_manager(claim) == manager);
    g_assert_cmpstr(web_locks_claim_get_name(claim), ==, "a");
    g_assert_cmpint(web_locks_claim_get_mode(claim), ==, WEB_LOCKS_MODE_EXCLUSIVE);
    g_assert_null(web_locks_claim_get_why(claim));
    g_assert_false(web_locks_claim_get_reclaim(claim));
    web_locks_claim_start(claim);
    web_locks_claim_start(claim);
    test_wait(is_held, claim);
    web_locks_claim_start(claim);
    assert_state(other, "a | ");
    g_assert_cmpstr(web_locks_lock_get_name(web_locks_claim_get_lock(claim)), ==, "a");
    web_locks_claim_stop(claim);
    web_locks_claim_stop(claim);
    test_wait_for_state(other, " | ");
    web_locks_claim_start(claim);
    test_wait(is_held, claim);
    g_clear_object(&claim);
    g_assert_null(notified.claim);
    test_wait_for_state(other, " | ");
    g_assert_cmpstr(notified.states->str, ==, "waiting held idle waiting held ");
    g_assert_cmpuint(notified.n_position, ==, 0); /* it never waited for another holder */
}

/* A reference to the lock does not prolong the claim. */
static void
test_lock_outlives(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_auto(Notified) notified = {0};
    WebLocksClaim *claim = claim_new(manager, &notified);
    g_autoptr(WebLocksLock) lock = NULL;

    web_locks_claim_start(claim);
    test_wait(is_held, claim);
    lock = g_object_ref(web_locks_claim_get_lock(claim));
    g_object_unref(claim);
    g_assert_null(notified.claim);
    g_assert_false(web_locks_lock_get_held(lock));
    test_wait_for_state(other, " | ");
}

static void
test_released_by_lock(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_auto(Notified) notified = {0};
    g_autoptr(WebLocksClaim) claim = reclaim_new(manager, &notified);
    g_autoptr(WebLocksLock) lock = NULL;

    web_locks_claim_start(claim);
    test_wait(is_held, claim);
    lock = g_object_ref(web_locks_claim_get_lock(claim));
    test_release(lock);
    test_wait(is_over, claim);
    g_assert_cmpstr(notified.states->str, ==, "waiting held idle ");
}

/* ---- waiting */

static gboolean
is_first(gpointer claim)
{
    return web_locks_claim_get_position(claim) == 1;
}

static void
test_queue(void)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), one = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(holder, "a"), noise = NULL;
    g_auto(Notified) notified_one = {0}, notified_two = {0};
    g_autoptr(WebLocksClaim) first = claim_new(one, &notified_one);
    /* Of the same agent: each is notified of its own position. */
    g_autoptr(WebLocksClaim) second = reclaim_new(one, &notified_two);
    WebLocksLockInfo *info;

    web_locks_claim_start(first);
    test_wait(is_in_queue, first);
    web_locks_claim_start(second);
    test_wait(is_in_queue, second);
    g_assert_cmpuint(web_locks_claim_get_position(first), ==, 1);
    g_assert_cmpuint(web_locks_claim_get_position(second), ==, 2);
    info = web_locks_claim_get_holder(first);
    g_assert_cmpstr(web_locks_lock_info_get_client_id(info), ==, test_client_id(holder));
    g_assert_cmpuint(web_locks_lock_info_get_pid(info), ==, (guint)getpid());
    g_assert_cmpuint(web_locks_lock_info_get_token(info), ==, web_locks_lock_get_token(lock));

    /* Other names have no effect. */
    noise = test_lock(holder, "b");
    test_settle(one);
    g_assert_true(web_locks_claim_get_holder(first) == info);
    test_release(lock);
    test_wait(is_held, first);
    test_wait(is_first, second);
    info = web_locks_claim_get_holder(second);
    g_assert_cmpstr(web_locks_lock_info_get_client_id(info), ==, test_client_id(one));
    web_locks_claim_stop(first);
    test_wait(is_held, second);
    g_assert_cmpstr(notified_two.states->str, ==, "waiting held ");
    g_assert_cmpuint(notified_two.n_position, ==, 3); /* 2, 1, none */
}

static void
test_both_shared(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksClaim) one = g_object_new(WEB_LOCKS_TYPE_CLAIM, "manager", manager, "name",
                                                "a", "mode", WEB_LOCKS_MODE_SHARED, NULL);
    g_autoptr(WebLocksClaim) two = g_object_new(WEB_LOCKS_TYPE_CLAIM, "manager", other, "name", "a",
                                                "mode", WEB_LOCKS_MODE_SHARED, NULL);
    g_autoptr(GError) error = NULL;

    web_locks_claim_start(one);
    web_locks_claim_start(two);
    test_wait(is_held, one);
    test_wait(is_held, two);
    web_locks_claim_stop(two);
    g_assert_false(take_over(two, &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED);
    g_assert_cmpint(web_locks_claim_get_state(two), ==, WEB_LOCKS_CLAIM_STATE_IDLE);
    g_assert_true(web_locks_claim_get_held(one));
}

static void
test_stop_waiting(void)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), manager = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(holder, "a");
    g_auto(Notified) notified = {0}, notified_dropped = {0};
    g_autoptr(WebLocksClaim) claim = claim_new(manager, &notified);
    WebLocksClaim *dropped;

    web_locks_claim_start(claim);
    web_locks_claim_stop(claim); /* before the service's answer */
    web_locks_claim_start(claim);
    test_wait(is_in_queue, claim);
    web_locks_claim_stop(claim);
    test_wait_for_state(holder, "a | ");
    dropped = claim_new(manager, &notified_dropped);
    web_locks_claim_start(dropped);
    test_wait(is_in_queue, dropped);
    g_object_unref(dropped);
    g_assert_null(notified_dropped.claim);
    test_wait_for_state(holder, "a | ");
    test_release(lock);
    test_settle(manager);
    assert_state(holder, " | ");
    g_assert_cmpstr(notified.states->str, ==, "waiting idle waiting idle ");
}

/* The grant and the abort are sent at the same time. */
static void
test_stop_at_grant(void)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), manager = test_manager_new();

    for (guint i = 0; i < 20; i++) {
        WebLocksLock *lock = test_lock(holder, "a");
        g_auto(Notified) notified = {0};
        g_autoptr(WebLocksClaim) claim = claim_new(manager, &notified);

        web_locks_claim_start(claim);
        test_wait(is_in_queue, claim);
        test_release(lock);
        for (guint n = 0; n < i; n++)
            g_main_context_iteration(NULL, FALSE);
        web_locks_claim_stop(claim);
        assert_consistent(claim);
        test_wait_for_state(holder, " | ");
        g_assert_cmpint(web_locks_claim_get_state(claim), ==, WEB_LOCKS_CLAIM_STATE_IDLE);
        g_object_unref(lock);
    }
}

/* ---- losing */

static void
test_lost(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_auto(Notified) notified = {0};
    g_autoptr(WebLocksClaim) claim = claim_new(manager, &notified);
    g_autoptr(WebLocksLock) loot = NULL;

    web_locks_claim_start(claim);
    test_wait(is_held, claim);
    loot = steal(other);
    test_wait(is_over, claim);
    g_assert_error(web_locks_claim_get_error(claim), WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_STOLEN);
    assert_state(other, "a | ");
    web_locks_claim_start(claim);
    g_assert_null(web_locks_claim_get_error(claim));
    test_wait(is_in_queue, claim);
    test_release(loot);
    test_wait(is_held, claim);
    g_assert_cmpstr(notified.states->str, ==, "waiting held lost waiting held ");
}

static void
test_reclaim(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_auto(Notified) notified = {0};
    g_autoptr(WebLocksClaim) claim = reclaim_new(manager, &notified);
    g_autoptr(WebLocksLock) loot = NULL;
    guint64 token;

    web_locks_claim_start(claim);
    test_wait(is_held, claim);
    token = web_locks_claim_get_token(claim);
    loot = steal(other);
    test_wait(is_in_queue, claim);
    g_assert_error(web_locks_claim_get_error(claim), WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_STOLEN);
    test_release(loot);
    test_wait(is_held, claim);
    g_assert_cmpuint(web_locks_claim_get_token(claim), >, token);
    g_assert_cmpstr(notified.states->str, ==, "waiting held lost waiting held ");
}

static void
on_lost_stop(WebLocksClaim *claim, GParamSpec *pspec, gpointer data)
{
    if (web_locks_claim_get_state(claim) == WEB_LOCKS_CLAIM_STATE_LOST)
        web_locks_claim_stop(claim);
}

/* A handler can prevent the new request. */
static void
test_reclaim_stopped(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksClaim) claim =
        g_object_new(WEB_LOCKS_TYPE_CLAIM, "manager", manager, "name", "a", "reclaim", TRUE, NULL);
    g_autoptr(WebLocksLock) loot = NULL;

    g_signal_connect(claim, "notify::state", G_CALLBACK(on_lost_stop), NULL);
    web_locks_claim_start(claim);
    test_wait(is_held, claim);
    loot = steal(other);
    test_wait(is_over, claim);
    g_assert_cmpint(web_locks_claim_get_state(claim), ==, WEB_LOCKS_CLAIM_STATE_IDLE);
    test_settle(manager);
    assert_state(other, "a | ");
}

/* ---- taking over */

static void
test_take_over(void)
{
    g_autoptr(WebLocksManager) one = test_manager_new(), two = test_manager_new();
    g_auto(Notified) notified_one = {0}, notified_two = {0};
    g_autoptr(WebLocksClaim) holder = reclaim_new(one, &notified_one);
    g_autoptr(WebLocksClaim) claim = reclaim_new(two, &notified_two);
    g_autoptr(GError) error = NULL;

    web_locks_claim_start(holder);
    test_wait(is_held, holder);
    web_locks_claim_start(claim);
    test_wait(is_in_queue, claim);
    g_assert_true(take_over(claim, &error));
    g_assert_no_error(error);
    g_assert_true(web_locks_claim_get_held(claim));
    test_wait(is_in_queue, holder);
    g_assert_true(take_over(claim, &error)); /* it already holds the lock */
    test_settle(two);
    g_assert_true(web_locks_claim_get_held(claim));
    test_wait_for_state(one, "a | a"); /* its own request is aborted */
    g_assert_true(take_over(holder, &error));
    test_wait(is_in_queue, claim);
    g_assert_cmpstr(notified_one.states->str, ==, "waiting held lost waiting held ");
    g_assert_cmpstr(notified_two.states->str, ==, "waiting held lost waiting ");
}

/* The second call, and the third while the first is being answered, have no effect: the claim does
 * not steal from itself. */
static void
test_take_over_twice(void)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), manager = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(holder, "a");
    g_auto(Notified) notified = {0};
    g_autoptr(WebLocksClaim) claim = reclaim_new(manager, &notified);
    g_autoptr(GError) error = NULL;
    g_auto(Answer) first = {0}, second = {0};
    guint64 token;

    web_locks_claim_take_over_async(claim, NULL, answer_take, &first);
    web_locks_claim_take_over_async(claim, NULL, answer_take, &second);
    g_assert_false(web_locks_claim_take_over_finish(claim, answer_wait(&second), &error));
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_PENDING);
    g_clear_error(&error);
    g_assert_true(web_locks_claim_take_over_finish(claim, answer_wait(&first), &error));
    g_assert_no_error(error);
    token = web_locks_claim_get_token(claim);
    test_settle(manager);
    g_assert_cmpuint(web_locks_claim_get_token(claim), ==, token);
    g_assert_cmpstr(notified.states->str, ==, "held ");
    assert_state(holder, "a | ");
    g_assert_true(take_over(claim, &error)); /* it is held already */
    g_assert_no_error(error);
}

/* After a stop it can take over again, also while the first one is unanswered. */
static void
test_take_over_stopped(void)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), manager = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(holder, "a");
    g_auto(Notified) notified = {0};
    g_autoptr(WebLocksClaim) claim = claim_new(manager, &notified);
    g_autoptr(GError) error = NULL;
    g_auto(Answer) first = {0};

    web_locks_claim_take_over_async(claim, NULL, answer_take, &first);
    web_locks_claim_stop(claim);
    g_assert_true(take_over(claim, &error));
    g_assert_no_error(error);
    g_assert_false(web_locks_claim_take_over_finish(claim, answer_wait(&first), &error));
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    test_settle(manager);
    g_assert_true(web_locks_claim_get_held(claim));
    g_assert_cmpstr(notified.states->str, ==, "held ");
    assert_state(holder, "a | ");
}

/* Of the same agent, so that the service reads in this order: it grants the request of the claim,
 * and then takes the lock from it. */
static void
test_take_over_at_grant(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a");
    g_auto(Notified) notified = {0};
    g_autoptr(WebLocksClaim) claim = reclaim_new(manager, &notified);
    g_autoptr(GError) error = NULL;
    g_auto(Answer) taken = {0};

    web_locks_claim_start(claim);
    test_wait(is_in_queue, claim);
    web_locks_lock_release(lock);
    web_locks_claim_take_over_async(claim, NULL, answer_take, &taken);
    g_assert_true(web_locks_claim_take_over_finish(claim, answer_wait(&taken), &error));
    g_assert_no_error(error);
    test_settle(manager);
    g_assert_true(web_locks_claim_get_held(claim));
    g_assert_cmpstr(notified.states->str, ==, "waiting held ");
    test_wait_for_state(other, "a | ");
    web_locks_claim_stop(claim);
    test_wait_for_state(other, " | ");
}

/* The request is granted before the failure of the take-over, whose result comes later. */
static void
test_take_over_fails_at_grant(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a");
    g_auto(Notified) notified = {0};
    g_autoptr(WebLocksClaim) claim = claim_new(manager, &notified);
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_autoptr(GError) error = NULL;
    g_auto(Answer) taken = {0};

    web_locks_claim_start(claim);
    test_wait(is_in_queue, claim);
    test_release(lock);
    g_free(test_state(manager)); /* the grant has arrived, and its callback has not run yet */
    g_cancellable_cancel(cancellable);
    web_locks_claim_take_over_async(claim, cancellable, answer_take, &taken);
    g_assert_false(web_locks_claim_take_over_finish(claim, answer_wait(&taken), &error));
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    test_wait(is_held, claim);
    g_assert_cmpstr(notified.states->str, ==, "waiting held ");
    assert_state(other, "a | ");
}

/* ---- failing */

static void
expect_failure(WebLocksManager *manager, const char *name, GQuark domain, int code)
{
    g_autoptr(WebLocksClaim) claim = web_locks_claim_new(manager, name);
    g_auto(Notified) notified = {0};

    notified_watch(&notified, claim);
    web_locks_claim_set_reclaim(claim, TRUE); /* a failure for other reasons is not retried */
    web_locks_claim_start(claim);
    test_wait(is_over, claim);
    g_assert_true(g_error_matches(web_locks_claim_get_error(claim), domain, code));
    web_locks_claim_stop(claim);
    g_assert_null(web_locks_claim_get_error(claim));
    g_assert_cmpstr(notified.states->str, ==, "waiting failed idle ");
}

static void
test_bad_names(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autofree char *long_name = g_strnfill(1025, 'a'), *endless = g_strnfill(40000, 'a');
    g_autoptr(WebLocksClaim) empty = web_locks_claim_new(manager, "");
    g_autoptr(WebLocksManager) nowhere = g_object_new(
        WEB_LOCKS_TYPE_MANAGER, "agent", web_locks_manager_get_agent(manager), "bucket", "", NULL);

    expect_failure(manager, "-a", WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED);
    expect_failure(manager, long_name, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LIMITS);
    expect_failure(manager, endless, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LIMITS);
    expect_failure(manager, "\xff", G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT);
    expect_failure(nowhere, "a", G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT);
    web_locks_claim_start(empty); /* a valid name */
    test_wait(is_held, empty);
}

static void
test_agent_closed(void)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), other = test_manager_new();
    g_auto(Notified) notified_holder = {0}, notified = {0};
    g_autoptr(WebLocksClaim) held = reclaim_new(holder, &notified_holder);
    g_autoptr(WebLocksClaim) waiting = reclaim_new(other, &notified);

    web_locks_claim_start(held);
    test_wait(is_held, held);
    web_locks_claim_start(waiting);
    test_wait(is_in_queue, waiting);
    web_locks_agent_close(web_locks_manager_get_agent(other));
    test_wait(is_over, waiting);
    g_assert_error(web_locks_claim_get_error(waiting), WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_CLOSED);
    web_locks_agent_close(web_locks_manager_get_agent(holder));
    test_wait(is_over, held);
    g_assert_error(web_locks_claim_get_error(held), WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE);
    g_assert_cmpstr(notified_holder.states->str, ==, "waiting held lost waiting failed ");
    web_locks_claim_start(waiting);
    test_wait(is_over, waiting);
    g_assert_error(web_locks_claim_get_error(waiting), WEB_LOCKS_ERROR,
                   WEB_LOCKS_ERROR_INVALID_STATE);
}

/* ---- the service */

static void
test_service_restart(void)
{
    g_autoptr(WebLocksManager) one = test_manager_new(), two = test_manager_new();
    g_auto(Notified) notified_one = {0}, notified_two = {0};
    g_autoptr(WebLocksClaim) held = claim_new(one, &notified_one),
                             waiting = claim_new(two, &notified_two);
    g_autoptr(WebLocksManager) other = test_manager_new();
    g_autoptr(WebLocksClaim) last = web_locks_claim_new(other, "a");
    guint64 token;

    web_locks_claim_start(held);
    test_wait(is_held, held);
    web_locks_claim_start(waiting);
    test_wait(is_in_queue, waiting);
    token = web_locks_claim_get_token(held);
    test_service_kill();
    test_service_start();
    /* The view continues with the next service. */
    web_locks_claim_start(last);
    test_wait(is_in_queue, last);
    g_assert_cmpuint(web_locks_claim_get_position(last), ==, 2);
    test_wait(is_in_queue, waiting);
    g_assert_cmpuint(web_locks_claim_get_token(held), ==, token);
    web_locks_claim_stop(held);
    test_wait(is_held, waiting);
    test_wait(is_first, last);
    g_assert_cmpstr(notified_one.states->str, ==, "waiting held idle ");
    g_assert_cmpstr(notified_two.states->str, ==, "waiting held ");
}

static gboolean
is_held_again(gpointer notified)
{
    return g_str_has_suffix(((Notified *)notified)->states->str, "lost waiting held ");
}

/* The next service has no stored state. */
static void
test_service_without_state(void)
{
    g_autoptr(WebLocksManager) one = test_manager_new(), two = test_manager_new();
    g_auto(Notified) notified_one = {0}, notified_two = {0};
    g_autoptr(WebLocksClaim) again = reclaim_new(one, &notified_one),
                             lost = claim_new(two, &notified_two);
    g_autoptr(WebLocksLock) lock = NULL;

    web_locks_claim_start(lost);
    test_wait(is_held, lost);
    web_locks_claim_start(again);
    test_wait(is_in_queue, again);
    test_service_kill();
    test_service_start_with("--no-state");
    test_wait(is_over, lost);
    test_wait(is_held, again);
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
is_waiting_again(gpointer claim)
{
    return is_waiting(claim) && web_locks_claim_get_error(claim) != NULL;
}

static void
test_service_missing(void)
{
    g_autoptr(WebLocksManager) one = test_manager_new(), two = test_manager_new();
    g_auto(Notified) notified_one = {0}, notified_two = {0};
    g_autoptr(WebLocksClaim) failing = claim_new(one, &notified_one);
    g_autoptr(WebLocksClaim) patient = reclaim_new(two, &notified_two);

    test_service_stop();
    web_locks_claim_start(failing);
    web_locks_claim_start(patient);
    test_wait(is_over, failing);
    g_assert_error(web_locks_claim_get_error(failing), WEB_LOCKS_ERROR,
                   WEB_LOCKS_ERROR_UNAVAILABLE);
    test_wait(is_waiting_again, patient);
    g_assert_error(web_locks_claim_get_error(patient), WEB_LOCKS_ERROR,
                   WEB_LOCKS_ERROR_UNAVAILABLE);
    test_service_start();
    test_wait(is_held, patient);
    g_assert_cmpstr(notified_one.states->str, ==, "waiting failed ");
    g_assert_cmpstr(notified_two.states->str, ==, "waiting failed waiting held ");
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

static void
test_dropped_in_handler(void)
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
            test_wait(is_held, drop.claim);
            g_object_unref(steal(other));
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

static void
test_dropped_in_view(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(other, "a");
    Drop drop = {web_locks_claim_new(manager, "a"), WEB_LOCKS_CLAIM_STATE_WAITING};

    g_signal_connect(drop.claim, "notify::holder", G_CALLBACK(on_holder_drop), &drop);
    web_locks_claim_start(drop.claim);
    test_wait(is_dropped, &drop);
    test_wait_for_state(other, "a | ");
}

/* ---- contexts */

/* A claim in another thread than its agent. */
static gpointer
claim_in_thread(gpointer data)
{
    WebLocksManager *manager = data;
    g_autoptr(GMainContext) context = g_main_context_new();
    g_autoptr(WebLocksManager) other = NULL;

    g_main_context_push_thread_default(context);
    other = test_manager_new();
    {
        g_auto(Notified) notified = {0};
        g_autoptr(WebLocksLock) lock = test_lock(other, "a"), loot = NULL;
        g_autoptr(WebLocksClaim) claim = reclaim_new(manager, &notified);

        web_locks_claim_start(claim);
        test_wait(is_in_queue, claim);
        test_release(lock);
        test_wait(is_held, claim);
        loot = steal(other);
        test_wait(is_in_queue, claim);
        test_release(loot);
        test_wait(is_held, claim);
        g_assert_cmpstr(notified.states->str, ==, "waiting held lost waiting held ");
    }
    g_clear_object(&other);
    test_iterate();
    g_main_context_pop_thread_default(context);
    return NULL;
}

static gboolean
is_joined(gpointer done)
{
    return g_atomic_int_get((int *)done) > 0;
}

typedef struct {
    WebLocksManager *manager;
    int done;
} ThreadRun;

static gpointer
run_thread(gpointer data)
{
    ThreadRun *run = data;

    claim_in_thread(run->manager);
    g_atomic_int_set(&run->done, 1);
    g_main_context_wakeup(NULL);
    return NULL;
}

static void
test_other_context(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), observer = test_manager_new();
    ThreadRun run = {manager, 0};
    GThread *thread = g_thread_new("claim", run_thread, &run);

    test_wait(is_joined, &run.done);
    g_thread_join(thread);
    test_wait_for_state(observer, " | ");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/claim/hold", test_hold);
    g_test_add_func("/claim/lock-outlives", test_lock_outlives);
    g_test_add_func("/claim/released-by-lock", test_released_by_lock);
    g_test_add_func("/claim/queue", test_queue);
    g_test_add_func("/claim/shared", test_both_shared);
    g_test_add_func("/claim/stop-waiting", test_stop_waiting);
    g_test_add_func("/claim/stop-at-grant", test_stop_at_grant);
    g_test_add_func("/claim/lost", test_lost);
    g_test_add_func("/claim/reclaim", test_reclaim);
    g_test_add_func("/claim/reclaim-stopped", test_reclaim_stopped);
    g_test_add_func("/claim/take-over", test_take_over);
    g_test_add_func("/claim/take-over-twice", test_take_over_twice);
    g_test_add_func("/claim/take-over-stopped", test_take_over_stopped);
    g_test_add_func("/claim/take-over-at-grant", test_take_over_at_grant);
    g_test_add_func("/claim/take-over-fails-at-grant", test_take_over_fails_at_grant);
    g_test_add_func("/claim/bad-names", test_bad_names);
    g_test_add_func("/claim/agent-closed", test_agent_closed);
    g_test_add_func("/claim/service-restart", test_service_restart);
    g_test_add_func("/claim/service-without-state", test_service_without_state);
    g_test_add_func("/claim/service-missing", test_service_missing);
    g_test_add_func("/claim/dropped-in-handler", test_dropped_in_handler);
    g_test_add_func("/claim/dropped-in-view", test_dropped_in_view);
    g_test_add_func("/claim/other-context", test_other_context);
    return test_run(NULL);
}
