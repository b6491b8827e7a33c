/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Claims that take over by asking first, and those that are asked. */

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/client/claims.h"
#include "tests/lib/case.h"

/* Longer than any test waits. */
#define LONG_MS  (1000u * 3600)
#define SHORT_MS 300u

static WebLocksClaim *
asking_new(WebLocksManager *manager, Notified *notified, guint grace)
{
    WebLocksClaim *claim = claim_new(manager, notified);

    web_locks_claim_set_grace(claim, grace);
    return claim;
}

static gboolean
is_wanted(gpointer claim)
{
    return web_locks_claim_get_wanted(claim);
}

/* Saves and yields, as an editor does. */
static void
on_wanted(WebLocksClaim *claim, GParamSpec *pspec, gpointer n_yields)
{
    if (!web_locks_claim_get_wanted(claim))
        return;
    ++*(guint *)n_yields;
    web_locks_claim_stop(claim);
}

TEST("/claim-asks/wanted", test_wanted)
{
    g_autoptr(WebLocksManager) one = test_manager_new(), two = test_manager_new();
    g_auto(Notified) notified_one = {0}, notified_two = {0};
    g_autoptr(WebLocksClaim) holder = claim_new(one, &notified_one);
    g_autoptr(WebLocksClaim) claim = claim_new(two, &notified_two);
    gboolean wanted = FALSE;

    g_assert_cmpuint(web_locks_claim_get_grace(holder), ==, 0);
    claim_start(holder, claim_is_held);
    g_assert_false(web_locks_claim_get_wanted(holder));
    web_locks_claim_start(claim);
    test_wait(is_wanted, holder);
    g_object_get(holder, "wanted", &wanted, NULL);
    g_assert_true(wanted);
    web_locks_claim_stop(claim);
    while (web_locks_claim_get_wanted(holder))
        g_main_context_iteration(NULL, TRUE);
    web_locks_claim_start(claim);
    test_wait(is_wanted, holder);
    web_locks_claim_stop(holder); /* Notified asserts that it is not wanted then */
    test_wait(claim_is_held, claim);
    g_assert_false(web_locks_claim_get_wanted(claim));
}

/* The holder yields long before the grace is over; the claim was not started. */
TEST("/claim-asks/yields", test_yields)
{
    g_autoptr(WebLocksManager) one = test_manager_new(), two = test_manager_new();
    g_auto(Notified) notified_one = {0}, notified_two = {0};
    g_autoptr(WebLocksClaim) holder = claim_new(one, &notified_one);
    g_autoptr(WebLocksClaim) claim = asking_new(two, &notified_two, LONG_MS);
    guint n_yields = 0;

    g_signal_connect(holder, "notify::wanted", G_CALLBACK(on_wanted), &n_yields);
    claim_start(holder, claim_is_held);
    assert_done(claim_take_over(claim, &test_error));
    g_assert_cmpuint(n_yields, ==, 1);
    g_assert_cmpstr(notified_one.states->str, ==, "waiting held idle ");
    g_assert_cmpstr(notified_two.states->str, ==, "waiting held ");
    g_signal_handlers_disconnect_by_data(holder, &n_yields);
}

/* The holder doesn't: the lock is stolen when the grace is over, and not before. */
TEST("/claim-asks/grace", test_grace)
{
    g_autoptr(WebLocksManager) one = test_manager_new(), two = test_manager_new();
    g_auto(Notified) notified_one = {0}, notified_two = {0};
    g_autoptr(WebLocksClaim) holder = claim_new(one, &notified_one);
    g_autoptr(WebLocksClaim) claim = asking_new(two, &notified_two, SHORT_MS);
    const gint64 begin_us = g_get_monotonic_time();

    claim_start(holder, claim_is_held);
    assert_done(claim_take_over(claim, &test_error));
    g_assert_cmpint(g_get_monotonic_time() - begin_us, >=, SHORT_MS * G_TIME_SPAN_MILLISECOND);
    test_wait(claim_is_over, holder);
    g_assert_cmpstr(notified_one.states->str, ==, "waiting held lost ");
    g_assert_cmpstr(notified_two.states->str, ==, "waiting held ");
    assert_state(one, "a | ");
}

/* A double click: one operation, one steal, and one result. Each call can be cancelled; when all
 * are, a claim that was not started before is idle again. */
TEST("/claim-asks/twice", test_twice)
{
    g_autoptr(WebLocksManager) one = test_manager_new(), two = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(one, "a");
    g_auto(Notified) notified = {0};
    g_autoptr(WebLocksClaim) claim = asking_new(two, &notified, LONG_MS);
    g_autoptr(GCancellable) one_click = g_cancellable_new(), two_clicks = g_cancellable_new();
    g_auto(Answer) first = {0}, second = {0}, third = {0};

    web_locks_claim_take_over_async(claim, one_click, answer_take, &first);
    web_locks_claim_take_over_async(claim, two_clicks, answer_take, &second);
    g_cancellable_cancel(one_click);
    assert_fails(web_locks_claim_take_over_finish(claim, answer_wait(&first), &test_error),
                 G_IO_ERROR, G_IO_ERROR_CANCELLED);
    g_assert_true(claim_is_waiting(claim));
    g_cancellable_cancel(two_clicks);
    assert_fails(web_locks_claim_take_over_finish(claim, answer_wait(&second), &test_error),
                 G_IO_ERROR, G_IO_ERROR_CANCELLED);
    g_assert_cmpstr(notified.states->str, ==, "waiting idle ");
    test_wait_for_state(one, "a | ");

    web_locks_claim_set_grace(claim, SHORT_MS);
    web_locks_claim_take_over_async(claim, NULL, answer_take, &third);
    assert_done(claim_take_over(claim, &test_error));
    assert_done(web_locks_claim_take_over_finish(claim, answer_wait(&third), &test_error));
    test_settle(two);
    g_assert_cmpstr(notified.states->str, ==, "waiting idle waiting held ");
    assert_state(one, "a | ");
}

/* A click after all others were cancelled, or the claim was stopped, while the steal that they have
 * begun is in progress. */
TEST("/claim-asks/again", test_again)
{
    g_autoptr(WebLocksManager) one = test_manager_new(), two = test_manager_new();

    for (guint is_stopped = 0; is_stopped < 2; is_stopped++) {
        g_autoptr(WebLocksLock) lock = test_lock(one, "a");
        g_auto(Notified) notified = {0};
        g_autoptr(WebLocksClaim) claim = asking_new(two, &notified, 0);
        g_autoptr(GCancellable) cancellable = g_cancellable_new();
        g_auto(Answer) answer = {0};

        test_service_pause();
        web_locks_claim_take_over_async(claim, cancellable, answer_take, &answer);
        if (is_stopped) {
            web_locks_claim_stop(claim);
        } else {
            g_cancellable_cancel(cancellable);
            answer_wait(&answer);
        }
        test_service_resume();
        assert_done(claim_take_over(claim, &test_error));
        assert_fails(web_locks_claim_take_over_finish(claim, answer_wait(&answer), &test_error),
                     G_IO_ERROR, G_IO_ERROR_CANCELLED);
        test_settle(two);
        g_assert_cmpstr(notified.states->str, ==, "held ");
        assert_state(one, "a | ");
        answer_clear(&answer);
        g_clear_object(&claim);
        test_wait_for_state(one, " | ");
    }
}

/* The same, but the second click only asks. The holder has lost the lock by the first one. */
TEST("/claim-asks/again-asks", test_again_asks)
{
    g_autoptr(WebLocksManager) one = test_manager_new(), two = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(one, "a");
    g_auto(Notified) notified = {0};
    g_autoptr(WebLocksClaim) claim = asking_new(two, &notified, 0);
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_auto(Answer) first = {0}, second = {0};

    claim_start(claim, claim_is_queued);
    test_service_pause();
    web_locks_claim_take_over_async(claim, cancellable, answer_take, &first);
    g_cancellable_cancel(cancellable);
    g_main_context_iteration(NULL, FALSE); /* the call is cancelled, and its steal has not ended */
    g_assert_cmpuint(first.n_results, ==, 0);
    web_locks_claim_set_grace(claim, LONG_MS);
    web_locks_claim_take_over_async(claim, NULL, answer_take, &second);
    assert_fails(web_locks_claim_take_over_finish(claim, answer_wait(&first), &test_error),
                 G_IO_ERROR, G_IO_ERROR_CANCELLED);
    test_service_resume();
    assert_done(web_locks_claim_take_over_finish(claim, answer_wait(&second), &test_error));
    g_assert_cmpstr(notified.states->str, ==, "waiting held ");
}

/* Stopping the claim ends it, and a claim that was started before stays started otherwise. */
TEST("/claim-asks/stopped", test_stopped)
{
    g_autoptr(WebLocksManager) one = test_manager_new(), two = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(one, "a");
    g_auto(Notified) notified = {0};
    g_autoptr(WebLocksClaim) claim = asking_new(two, &notified, LONG_MS);
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_auto(Answer) first = {0}, second = {0};

    web_locks_claim_start(claim);
    web_locks_claim_take_over_async(claim, cancellable, answer_take, &first);
    test_wait(claim_is_queued, claim);
    g_cancellable_cancel(cancellable);
    assert_fails(web_locks_claim_take_over_finish(claim, answer_wait(&first), &test_error),
                 G_IO_ERROR, G_IO_ERROR_CANCELLED);
    g_assert_true(claim_is_queued(claim));
    web_locks_claim_take_over_async(claim, NULL, answer_take, &second);
    web_locks_claim_stop(claim);
    assert_fails(web_locks_claim_take_over_finish(claim, answer_wait(&second), &test_error),
                 G_IO_ERROR, G_IO_ERROR_CANCELLED);
    g_assert_cmpstr(notified.states->str, ==, "waiting idle ");
    test_wait_for_state(one, "a | ");
}

/* A request that fails is the result, and nothing is stolen. */
TEST("/claim-asks/fails", test_fails)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksClaim) claim = web_locks_claim_new(manager, "-a");

    g_assert_cmpuint(web_locks_claim_get_grace(claim), ==, 10000);
    assert_fails(claim_take_over(claim, &test_error), WEB_LOCKS_ERROR,
                 WEB_LOCKS_ERROR_NOT_SUPPORTED);
    g_assert_cmpint(web_locks_claim_get_state(claim), ==, WEB_LOCKS_CLAIM_STATE_FAILED);
}

/* ---- a holder that is stopped */

static void
hold_and_wait(const char *bucket, int held_fd)
{
    g_autoptr(WebLocksAgent) agent = test_agent_new();
    g_autoptr(WebLocksManager) manager = web_locks_manager_new(agent, bucket);
    g_autoptr(WebLocksLock) lock = NULL;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    lock = test_lock(manager, "a");
    g_assert_cmpint(write(held_fd, "", 1), ==, 1);
    for (;;)
        pause();
}

/* The grace is an hour, and the holder is a process that is stopped before, or meanwhile. */
static void
check_stopped_holder(gboolean is_stopped_before)
{
    g_autoptr(WebLocksManager) manager = NULL;
    g_auto(Notified) notified = {0};
    g_autoptr(WebLocksClaim) claim = NULL;
    g_auto(Answer) answer = {0};
    int fds[2];
    char byte;
    pid_t pid;

    g_assert_cmpint(pipe(fds), ==, 0);
    pid = fork();
    if (pid == 0)
        hold_and_wait(test_bucket(), fds[1]);
    g_assert_cmpint(pid, >, 0);
    g_assert_cmpint(read(fds[0], &byte, 1), ==, 1);
    manager = test_manager_new();
    claim = asking_new(manager, &notified, LONG_MS);
    if (is_stopped_before)
        kill(pid, SIGSTOP);
    web_locks_claim_take_over_async(claim, NULL, answer_take, &answer);
    test_wait(claim_is_queued, claim);
    if (!is_stopped_before)
        kill(pid, SIGSTOP);
    assert_done(web_locks_claim_take_over_finish(claim, answer_wait(&answer), &test_error));
    g_assert_cmpstr(notified.states->str, ==, "waiting held ");
    kill(pid, SIGKILL);
    g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
    close(fds[0]);
    close(fds[1]);
}

TEST("/claim-asks/stopped-holder", test_stopped_holder)
{
    check_stopped_holder(TRUE);
    check_stopped_holder(FALSE);
}

TEST_MAIN(test_run(NULL))
