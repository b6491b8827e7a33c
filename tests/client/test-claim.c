/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Claims: holding, waiting, losing and failing. */

#include <unistd.h>

#include "tests/client/claims.h"
#include "tests/lib/case.h"

/* ---- holding */

TEST("/claim/hold", test_hold)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_auto(Notified) notified = {0};
    g_autoptr(WebLocksClaim) claim = claim_new(manager, &notified);

    claim_assert_consistent(claim);
    g_assert_true(web_locks_claim_get_manager(claim) == manager);
    g_assert_cmpstr(web_locks_claim_get_name(claim), ==, "a");
    g_assert_cmpint(web_locks_claim_get_mode(claim), ==, WEB_LOCKS_MODE_EXCLUSIVE);
    g_assert_null(web_locks_claim_get_why(claim));
    g_assert_false(web_locks_claim_get_reclaim(claim));
    web_locks_claim_start(claim);
    claim_start(claim, claim_is_held);
    web_locks_claim_start(claim);
    assert_state(other, "a | ");
    g_assert_cmpstr(web_locks_lock_get_name(web_locks_claim_get_lock(claim)), ==, "a");
    web_locks_claim_stop(claim);
    web_locks_claim_stop(claim);
    test_wait_for_state(other, " | ");
    claim_start(claim, claim_is_held);
    g_clear_object(&claim);
    g_assert_null(notified.claim);
    test_wait_for_state(other, " | ");
    g_assert_cmpstr(notified.states->str, ==, "waiting held idle waiting held ");
    g_assert_cmpuint(notified.n_position, ==, 0); /* it never waited for another holder */
}

/* A reference to the lock does not prolong the claim. */
TEST("/claim/lock-outlives", test_lock_outlives)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_auto(Notified) notified = {0};
    WebLocksClaim *claim = claim_new(manager, &notified);
    g_autoptr(WebLocksLock) lock = NULL;

    claim_start(claim, claim_is_held);
    lock = g_object_ref(web_locks_claim_get_lock(claim));
    g_object_unref(claim);
    g_assert_null(notified.claim);
    g_assert_false(web_locks_lock_get_held(lock));
    test_wait_for_state(other, " | ");
}

TEST("/claim/released-by-lock", test_released_by_lock)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_auto(Notified) notified = {0};
    g_autoptr(WebLocksClaim) claim = reclaim_new(manager, &notified);
    g_autoptr(WebLocksLock) lock = NULL;

    claim_start(claim, claim_is_held);
    lock = g_object_ref(web_locks_claim_get_lock(claim));
    test_release(lock);
    test_wait(claim_is_over, claim);
    claim_start(claim, claim_is_held);
    web_locks_lock_release(web_locks_claim_get_lock(claim)); /* drops the last reference */
    test_wait(claim_is_over, claim);
    g_assert_cmpstr(notified.states->str, ==, "waiting held idle waiting held idle ");
}

/* ---- waiting */

TEST("/claim/queue", test_queue)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), one = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(holder, "a"), noise = NULL;
    g_auto(Notified) notified_one = {0}, notified_two = {0};
    g_autoptr(WebLocksClaim) first = claim_new(one, &notified_one);
    /* Of the same agent: each is notified of its own position. */
    g_autoptr(WebLocksClaim) second = reclaim_new(one, &notified_two);
    WebLocksLockInfo *info;

    claim_start(first, claim_is_queued);
    claim_start(second, claim_is_queued);
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
    test_wait(claim_is_held, first);
    test_wait(claim_is_first, second);
    info = web_locks_claim_get_holder(second);
    g_assert_cmpstr(web_locks_lock_info_get_client_id(info), ==, test_client_id(one));
    web_locks_claim_stop(first);
    test_wait(claim_is_held, second);
    g_assert_cmpstr(notified_two.states->str, ==, "waiting held ");
    g_assert_cmpuint(notified_two.n_position, ==, 3); /* 2, 1, none */
}

TEST("/claim/shared", test_both_shared)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksClaim) one = g_object_new(WEB_LOCKS_TYPE_CLAIM, "manager", manager, "name",
                                                "a", "mode", WEB_LOCKS_MODE_SHARED, NULL);
    g_autoptr(WebLocksClaim) two = g_object_new(WEB_LOCKS_TYPE_CLAIM, "manager", other, "name", "a",
                                                "mode", WEB_LOCKS_MODE_SHARED, NULL);

    web_locks_claim_start(one);
    web_locks_claim_start(two);
    test_wait(claim_is_held, one);
    test_wait(claim_is_held, two);
    web_locks_claim_stop(two);
    assert_fails(claim_take_over(two, &test_error), WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED);
    g_assert_cmpint(web_locks_claim_get_state(two), ==, WEB_LOCKS_CLAIM_STATE_IDLE);
    g_assert_true(web_locks_claim_get_held(one));
}

TEST("/claim/stop-waiting", test_stop_waiting)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), manager = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(holder, "a");
    g_auto(Notified) notified = {0}, notified_dropped = {0};
    g_autoptr(WebLocksClaim) claim = claim_new(manager, &notified);
    WebLocksClaim *dropped;

    web_locks_claim_start(claim);
    web_locks_claim_stop(claim); /* before the service's answer */
    claim_start(claim, claim_is_queued);
    web_locks_claim_stop(claim);
    test_wait_for_state(holder, "a | ");
    dropped = claim_new(manager, &notified_dropped);
    claim_start(dropped, claim_is_queued);
    g_object_unref(dropped);
    g_assert_null(notified_dropped.claim);
    test_wait_for_state(holder, "a | ");
    test_release(lock);
    test_settle(manager);
    assert_state(holder, " | ");
    g_assert_cmpstr(notified.states->str, ==, "waiting idle waiting idle ");
}

/* The grant and the abort are sent at the same time. */
TEST("/claim/stop-at-grant", test_stop_at_grant)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), manager = test_manager_new();

    for (guint i = 0; i < 20; i++) {
        WebLocksLock *lock = test_lock(holder, "a");
        g_auto(Notified) notified = {0};
        g_autoptr(WebLocksClaim) claim = claim_new(manager, &notified);

        claim_start(claim, claim_is_queued);
        test_release(lock);
        for (guint n = 0; n < i; n++)
            g_main_context_iteration(NULL, FALSE);
        web_locks_claim_stop(claim);
        claim_assert_consistent(claim);
        test_wait_for_state(holder, " | ");
        g_assert_cmpint(web_locks_claim_get_state(claim), ==, WEB_LOCKS_CLAIM_STATE_IDLE);
        g_object_unref(lock);
    }
}

/* ---- losing */

/* With the property `reclaim` it is requested again, and otherwise by the application. */
TEST("/claim/lost", test_lost)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();

    for (guint is_reclaimed = 0; is_reclaimed < 2; is_reclaimed++) {
        g_auto(Notified) notified = {0};
        g_autoptr(WebLocksClaim) claim =
            is_reclaimed ? reclaim_new(manager, &notified) : claim_new(manager, &notified);
        g_autoptr(WebLocksLock) loot = NULL;
        guint64 token;

        claim_start(claim, claim_is_held);
        token = web_locks_claim_get_token(claim);
        loot = test_lock_stolen(other, "a");
        test_wait(is_reclaimed ? claim_is_queued : claim_is_over, claim);
        g_assert_error(web_locks_claim_get_error(claim), WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_STOLEN);
        if (!is_reclaimed) {
            assert_state(other, "a | ");
            web_locks_claim_start(claim);
            g_assert_null(web_locks_claim_get_error(claim));
            test_wait(claim_is_queued, claim);
        }
        test_release(loot);
        test_wait(claim_is_held, claim);
        g_assert_cmpuint(web_locks_claim_get_token(claim), >, token);
        g_assert_cmpstr(notified.states->str, ==, "waiting held lost waiting held ");
        g_clear_object(&claim);
        test_wait_for_state(other, " | ");
    }
}

static void
on_lost_stop(WebLocksClaim *claim, GParamSpec *pspec, gpointer data)
{
    if (web_locks_claim_get_state(claim) == WEB_LOCKS_CLAIM_STATE_LOST)
        web_locks_claim_stop(claim);
}

/* A handler can prevent the new request. */
TEST("/claim/reclaim-stopped", test_reclaim_stopped)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksClaim) claim =
        g_object_new(WEB_LOCKS_TYPE_CLAIM, "manager", manager, "name", "a", "reclaim", TRUE, NULL);
    g_autoptr(WebLocksLock) loot = NULL;

    g_signal_connect(claim, "notify::state", G_CALLBACK(on_lost_stop), NULL);
    claim_start(claim, claim_is_held);
    loot = test_lock_stolen(other, "a");
    test_wait(claim_is_over, claim);
    g_assert_cmpint(web_locks_claim_get_state(claim), ==, WEB_LOCKS_CLAIM_STATE_IDLE);
    test_settle(manager);
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
    claim_start(claim, claim_is_over);
    g_assert_true(g_error_matches(web_locks_claim_get_error(claim), domain, code));
    web_locks_claim_stop(claim);
    g_assert_null(web_locks_claim_get_error(claim));
    g_assert_cmpstr(notified.states->str, ==, "waiting failed idle ");
}

TEST("/claim/bad-names", test_bad_names)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autofree char *long_name = g_strnfill(1025, 'a');
    g_autoptr(WebLocksClaim) empty = web_locks_claim_new(manager, "");
    g_autoptr(WebLocksManager) nowhere = g_object_new(
        WEB_LOCKS_TYPE_MANAGER, "agent", web_locks_manager_get_agent(manager), "bucket", "", NULL);

    expect_failure(manager, "-a", WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED);
    expect_failure(manager, long_name, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LIMITS);
    expect_failure(manager, "\xff", G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT);
    expect_failure(nowhere, "a", G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT);
    web_locks_claim_start(empty); /* a valid name */
    test_wait(claim_is_held, empty);
}

TEST("/claim/agent-closed", test_agent_closed)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), other = test_manager_new();
    g_auto(Notified) notified_holder = {0}, notified = {0};
    g_autoptr(WebLocksClaim) held = reclaim_new(holder, &notified_holder);
    g_autoptr(WebLocksClaim) waiting = reclaim_new(other, &notified);

    claim_start(held, claim_is_held);
    claim_start(waiting, claim_is_queued);
    web_locks_agent_close(web_locks_manager_get_agent(other));
    test_wait(claim_is_over, waiting);
    g_assert_error(web_locks_claim_get_error(waiting), WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_CLOSED);
    web_locks_agent_close(web_locks_manager_get_agent(holder));
    test_wait(claim_is_over, held);
    g_assert_error(web_locks_claim_get_error(held), WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE);
    g_assert_cmpstr(notified_holder.states->str, ==, "waiting held lost waiting failed ");
    claim_start(waiting, claim_is_over);
    g_assert_error(web_locks_claim_get_error(waiting), WEB_LOCKS_ERROR,
                   WEB_LOCKS_ERROR_INVALID_STATE);
}

/* ---- contexts */

typedef struct {
    WebLocksManager *manager;
    guint is_done;
} ThreadRun;

/* A claim in another thread than its agent. */
static gpointer
claim_in_thread(gpointer data)
{
    ThreadRun *run = data;
    g_autoptr(GMainContext) context = g_main_context_new();

    g_main_context_push_thread_default(context);
    {
        g_autoptr(WebLocksManager) other = test_manager_new();
        g_auto(Notified) notified = {0};
        g_autoptr(WebLocksLock) lock = test_lock(other, "a"), loot = NULL;
        g_autoptr(WebLocksClaim) claim = reclaim_new(run->manager, &notified);

        claim_start(claim, claim_is_queued);
        test_release(lock);
        test_wait(claim_is_held, claim);
        loot = test_lock_stolen(other, "a");
        test_wait(claim_is_queued, claim);
        test_release(loot);
        test_wait(claim_is_held, claim);
        g_assert_cmpstr(notified.states->str, ==, "waiting held lost waiting held ");
    }
    test_iterate();
    g_main_context_pop_thread_default(context);
    g_atomic_int_set(&run->is_done, 1);
    g_main_context_wakeup(NULL);
    return NULL;
}

TEST("/claim/other-context", test_other_context)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), observer = test_manager_new();
    ThreadRun run = {manager, 0};
    GThread *thread = g_thread_new("claim", claim_in_thread, &run);

    test_wait(test_is_set, &run.is_done);
    g_thread_join(thread);
    test_wait_for_state(observer, " | ");
}

/* ---- documents */

static WebLocksClaim *
document_claim_new(Notified *notified)
{
    g_autoptr(WebLocksAgent) agent = test_agent_new();
    g_autoptr(GFile) file = g_file_new_for_path("/nonexistent/document");
    WebLocksClaim *claim = web_locks_claim_new_for_file(agent, file);

    web_locks_claim_set_grace(claim, 0);
    notified_watch(notified, claim);
    return claim;
}

TEST("/claim/document", test_document)
{
    g_auto(Notified) notified_one = {0}, notified_two = {0};
    g_autoptr(WebLocksClaim) one = document_claim_new(&notified_one);
    g_autoptr(WebLocksClaim) two = document_claim_new(&notified_two);
    g_autofree char *uri = g_file_get_uri(web_locks_claim_get_file(one));

    g_assert_null(web_locks_claim_get_manager(one));
    g_assert_null(web_locks_claim_get_name(one));
    g_assert_false(web_locks_claim_get_excludes_all(one));
    claim_start(one, claim_is_held);
    g_assert_cmpstr(web_locks_claim_get_name(one), ==, uri);
    g_assert_cmpstr(web_locks_manager_get_bucket(web_locks_claim_get_manager(one)), ==,
                    WEB_LOCKS_DOCUMENTS_BUCKET);
    g_assert_true(web_locks_claim_get_excludes_all(one));
    claim_start(two, claim_is_queued);
    web_locks_claim_stop(one);
    test_wait(claim_is_held, two);
    assert_done(claim_take_over(one, &test_error));
    test_wait(claim_is_over, two);
    g_assert_cmpstr(notified_two.states->str, ==, "waiting held lost ");
}

/* The claim is stopped, or dropped, before the document has been opened. */
TEST("/claim/document-stopped", test_document_stopped)
{
    g_auto(Notified) notified = {0}, dropped = {0};
    g_autoptr(WebLocksClaim) claim = document_claim_new(&notified);
    WebLocksClaim *other = document_claim_new(&dropped);
    g_auto(Answer) answer = {0};

    web_locks_claim_start(claim);
    web_locks_claim_stop(claim);
    web_locks_claim_take_over_async(claim, NULL, answer_take, &answer);
    web_locks_claim_stop(claim);
    assert_fails(web_locks_claim_take_over_finish(claim, answer_wait(&answer), &test_error),
                 G_IO_ERROR, G_IO_ERROR_CANCELLED);
    web_locks_claim_start(other);
    g_object_unref(other);
    g_assert_null(dropped.claim);
    claim_start(claim, claim_is_held);
    g_assert_cmpstr(notified.states->str, ==, "waiting idle waiting held ");
}

/* The request is granted while a take-over opens the document, and is cancelled. */
TEST("/claim/document-granted", test_document_granted)
{
    g_auto(Notified) notified_one = {0}, notified_two = {0};
    g_autoptr(WebLocksClaim) one = document_claim_new(&notified_one);
    g_autoptr(WebLocksClaim) two = document_claim_new(&notified_two);
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_auto(Answer) answer = {0};

    claim_start(one, claim_is_held);
    claim_start(two, claim_is_queued);
    web_locks_claim_take_over_async(two, cancellable, answer_take, &answer);
    assert_done(web_locks_lock_release_sync(web_locks_claim_get_lock(one), NULL, &test_error));
    g_cancellable_cancel(cancellable);
    assert_fails(web_locks_claim_take_over_finish(two, answer_wait(&answer), &test_error),
                 G_IO_ERROR, G_IO_ERROR_CANCELLED);
    test_wait(claim_is_held, two);
    g_assert_cmpstr(notified_two.states->str, ==, "waiting held ");
}

TEST_MAIN(test_run(NULL))
