/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the library makes of signals: of nobody's locks, of others', twice, forged, or crossing what
 * it just said itself; and what cancelling sends. */

#include "tests/client/mock-scene.h"

#define GRANTED_5  "(uint64 5, 'name', 'exclusive', '" MOCK_CLIENT "', uint64 6)"
#define RELEASED_5 "(uint64 5, 'name', 'exclusive', '" MOCK_CLIENT "', '%s')"

static void
send_released(Scene *s, GDBusMessage *call, const char *sender, const char *reason)
{
    g_autofree char *body = g_strdup_printf(RELEASED_5, reason);

    mock_signal(s->mock, call, sender, "Released", body);
}

/* ---- signals that are not for what waits */

static void
test_not_ours(Scene *s, gconstpointer data)
{
    static const char *const bodies[] = {
        /* nobody's, and another client's with the same id */
        "(uint64 4, 'name', 'exclusive', '" MOCK_CLIENT "', uint64 6)",
        "(uint64 5, 'name', 'exclusive', ':1.8', uint64 6)",
        "(uint64 0, 'name', 'exclusive', '" MOCK_CLIENT "', uint64 6)",
        /* garbage */
        "()",
        "(uint64 5,)",
        "(uint64 5, 'name', 'exclusive', '" MOCK_CLIENT "')",
        "(uint64 5, 'name', 'exclusive', '" MOCK_CLIENT "', '6')",
        "(uint32 5, 'name', 'exclusive', '" MOCK_CLIENT "', uint64 6)",
        "('5', 'name', 'exclusive', '" MOCK_CLIENT "', uint64 6)",
        "(uint64 5, 7, 8, '" MOCK_CLIENT "', uint64 6)",
    };
    g_autoptr(GDBusMessage) call = scene_wait(s);
    g_autoptr(WebLocksLock) lock = NULL;

    for (guint i = 0; i < G_N_ELEMENTS(bodies); i++)
        mock_signal(s->mock, call, MOCK_SERVICE, "Granted", bodies[i]);
    mock_signal(s->mock, call, MOCK_SERVICE, "Released",
                "(uint64 5, 'name', 'exclusive', ':1.8', 'timeout')");
    mock_signal(s->mock, call, MOCK_SERVICE, "Released",
                "(uint64 5, 'name', 'exclusive', '" MOCK_CLIENT "', uint64 1)");
    mock_signal(s->mock, call, MOCK_SERVICE, "Invented", GRANTED_5);
    mock_signal(s->mock, call, MOCK_SERVICE, "Missed", "(uint64 5,)");
    mock_signal(s->mock, call, MOCK_SERVICE, "Missed", "('many',)");
    scene_barrier(s);
    g_assert_cmpuint(s->answer.n_results, ==, 0);

    mock_signal(s->mock, call, MOCK_SERVICE, "Granted", GRANTED_5);
    lock = answer_expect_lock(&s->answer);
    g_assert_cmpuint(web_locks_lock_get_token(lock), ==, 6);
}

static void
test_forged(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_wait(s);
    g_autoptr(WebLocksLock) lock = NULL;
    g_auto(Losses) losses = {0};

    mock_signal(s->mock, call, MOCK_FORGER, "Granted", GRANTED_5);
    send_released(s, call, MOCK_FORGER, "timeout");
    mock_name_owner_changed(s->mock, MOCK_FORGER, NULL);
    mock_name_owner_changed(s->mock, MOCK_FORGER, MOCK_FORGER);
    mock_signal(s->mock, call, MOCK_FORGER, "Granted", GRANTED_5);
    mock_signal(s->mock, call, MOCK_BUS, "Granted", GRANTED_5);
    scene_barrier(s);
    g_assert_cmpuint(s->answer.n_results, ==, 0);

    mock_signal(s->mock, call, MOCK_SERVICE, "Granted", GRANTED_5);
    lock = answer_expect_lock(&s->answer);
    losses_watch(&losses, lock);
    send_released(s, call, MOCK_FORGER, "stolen");
    mock_name_owner_changed(s->mock, MOCK_FORGER, NULL);
    scene_barrier(s);
    g_assert_true(web_locks_lock_get_held(lock));
    g_assert_cmpuint(losses.n_lost, ==, 0);
}

static void
test_twice(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_wait(s);
    g_autoptr(WebLocksLock) lock = NULL;
    g_auto(Losses) losses = {0};

    mock_signal(s->mock, call, MOCK_SERVICE, "Granted", GRANTED_5);
    mock_signal(s->mock, call, MOCK_SERVICE, "Granted", GRANTED_5);
    lock = answer_expect_lock(&s->answer);
    losses_watch(&losses, lock);
    mock_signal(s->mock, call, MOCK_SERVICE, "Granted", GRANTED_5);
    scene_barrier(s);
    g_assert_true(web_locks_lock_get_held(lock));

    send_released(s, call, MOCK_SERVICE, "stolen");
    send_released(s, call, MOCK_SERVICE, "stolen");
    send_released(s, call, MOCK_SERVICE, "lost");
    mock_signal(s->mock, call, MOCK_SERVICE, "Granted", GRANTED_5);
    scene_barrier(s);
    g_assert_cmpuint(losses.n_lost, ==, 1);
    g_assert_cmpstr(losses.reason, ==, "stolen");
    g_assert_cmpuint(losses.n_held_notifies, ==, 1);
    g_assert_cmpuint(s->answer.n_results, ==, 1);
}

/* The handle is made, told, and then told that it is nothing: in that order. */
static void
test_granted_and_stolen(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_wait(s);
    g_autoptr(WebLocksLock) lock = NULL;
    g_autoptr(GError) error = NULL;
    g_auto(Answer) released = {0};

    mock_signal(s->mock, call, MOCK_SERVICE, "Granted", GRANTED_5);
    send_released(s, call, MOCK_SERVICE, "stolen");
    scene_barrier(s);
    lock = answer_expect_lock(&s->answer);
    g_assert_false(web_locks_lock_get_held(lock));
    web_locks_lock_release_async(lock, NULL, answer_take, &released);
    g_assert_false(web_locks_lock_release_finish(lock, answer_wait(&released), &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_STOLEN);
    scene_barrier(s); /* and no Release was sent */
}

/* A reason of a later service, for a lock and for a wait. */
static void
test_unknown_reason(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_autoptr(GDBusMessage) call = NULL;
    g_auto(Losses) losses = {0};

    losses_watch(&losses, lock);
    call = scene_ask(s);
    mock_answer(s->mock, call, MOCK_SERVICE, "(uint64 8, uint64 0)");
    send_released(s, call, MOCK_SERVICE, "reorganised");
    mock_signal(s->mock, call, MOCK_SERVICE, "Released",
                "(uint64 8, 'name', 'exclusive', '" MOCK_CLIENT "', 'reorganised')");
    answer_expect_error(&s->answer, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    test_wait(test_is_set, &losses.n_lost);
    g_assert_cmpstr(losses.reason, ==, "lost");
}

static void
test_timeout(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_wait(s);

    send_released(s, call, MOCK_SERVICE, "timeout");
    answer_expect_error(&s->answer, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT);
    scene_barrier(s);
}

/* ---- cancelling */

static void
test_already_cancelled(Scene *s, gconstpointer data)
{
    g_cancellable_cancel(s->cancellable);
    web_locks_manager_request_async(s->manager, "name", NULL, s->cancellable, answer_take,
                                    &s->answer);
    answer_expect_error(&s->answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    scene_barrier(s); /* nothing was sent */
}

static void
test_cancel_waiting(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_wait_cancellably(s), abort = NULL;
    g_autoptr(GVariant) signal = mock_get_option(call, "signal");

    g_assert_true(g_variant_get_boolean(signal));
    g_cancellable_cancel(s->cancellable);
    answer_expect_error(&s->answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    abort = mock_expect(s->mock, "Abort");
    g_assert_cmpuint(mock_get_id(abort), ==, 5);
    mock_answer(s->mock, abort, MOCK_SERVICE, "(true,)");
    scene_barrier(s);
}

/* Cancelled while its answer is on its way: what the answer gives goes back. */
static void
test_cancel_before_answer(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_ask_cancellably(s), back = NULL;

    g_cancellable_cancel(s->cancellable);
    answer_expect_error(&s->answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    scene_barrier(s); /* there is no id yet to abort */
    mock_answer(s->mock, call, MOCK_SERVICE, "(uint64 5, uint64 6)");
    back = mock_expect(s->mock, "Release");
    g_assert_cmpuint(mock_get_id(back), ==, 5);
    scene_barrier(s);
}

static void
test_cancel_before_wait(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_ask_cancellably(s), abort = NULL, back = NULL;

    g_cancellable_cancel(s->cancellable);
    answer_expect_error(&s->answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    mock_answer(s->mock, call, MOCK_SERVICE, "(uint64 5, uint64 0)");
    abort = mock_expect(s->mock, "Abort");
    /* A grant was faster than the Abort. */
    mock_signal(s->mock, call, MOCK_SERVICE, "Granted", GRANTED_5);
    mock_answer(s->mock, abort, MOCK_SERVICE, "(false,)");
    back = mock_expect(s->mock, "Release");
    g_assert_cmpuint(mock_get_id(back), ==, 5);
    scene_barrier(s);
}

/* The agent goes, and only then the answer to the Abort comes. */
static void
test_cancel_and_drop_all(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_wait_cancellably(s), abort = NULL;

    g_cancellable_cancel(s->cancellable);
    answer_expect_error(&s->answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    abort = mock_expect(s->mock, "Abort");
    answer_clear(&s->answer);
    g_clear_object(&s->manager);
    g_clear_object(&s->agent);
    test_iterate();
    mock_answer(s->mock, abort, MOCK_SERVICE, "(true,)");
    test_wait(mock_is_left, s->mock);
}

/* The same, with the answer to the Request. */
static void
test_cancel_early_and_drop_all(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_ask_cancellably(s);

    g_cancellable_cancel(s->cancellable);
    answer_expect_error(&s->answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    answer_clear(&s->answer);
    g_clear_object(&s->manager);
    g_clear_object(&s->agent);
    test_iterate();
    mock_answer(s->mock, call, MOCK_SERVICE, "(uint64 5, uint64 6)");
    test_wait(mock_is_left, s->mock);
}

static void
test_forged_abort(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_wait_cancellably(s), first = NULL, second = NULL;

    g_cancellable_cancel(s->cancellable);
    first = mock_expect(s->mock, "Abort");
    mock_answer(s->mock, first, MOCK_FORGER, "(true,)");
    second = mock_expect(s->mock, "Abort");
    g_assert_cmpuint(mock_get_id(second), ==, 5);
    mock_answer(s->mock, second, MOCK_SERVICE, "(true,)");
    scene_barrier(s);
    answer_expect_error(&s->answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

/* Neither is told twice, whichever comes first. */
static void
test_timeout_crosses_abort(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_wait_cancellably(s), abort = NULL;

    g_cancellable_cancel(s->cancellable);
    answer_expect_error(&s->answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    abort = mock_expect(s->mock, "Abort");
    send_released(s, call, MOCK_SERVICE, "timeout");
    mock_answer(s->mock, abort, MOCK_SERVICE, "(false,)");
    scene_barrier(s);
    g_assert_cmpuint(s->answer.n_results, ==, 1);
}

static void
test_abort_fails(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_wait_cancellably(s), abort = NULL;

    g_cancellable_cancel(s->cancellable);
    abort = mock_expect(s->mock, "Abort");
    mock_answer_error(s->mock, abort, MOCK_SERVICE, "org.w3.WebLocks.Error.InvalidState");
    scene_barrier(s);
    answer_expect_error(&s->answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

/* Cancelled between the grant and the callback: the callback gets no lock, and the service has it
 * back. */
static gboolean
cancel(gpointer cancellable)
{
    g_cancellable_cancel(cancellable);
    return G_SOURCE_REMOVE;
}

static void
test_grant_crosses_cancel(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_wait_cancellably(s), back = NULL;
    const char *way = data;

    mock_signal(s->mock, call, MOCK_SERVICE, "Granted", GRANTED_5);
    if (g_str_equal(way, "before"))
        g_cancellable_cancel(s->cancellable);
    else
        g_idle_add_full(G_PRIORITY_HIGH, cancel, s->cancellable, NULL);
    answer_expect_error(&s->answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    answer_clear(&s->answer);
    /* It may have been faster than the grant, and then it aborts first. */
    for (;;) {
        g_clear_object(&back);
        back = mock_expect_any(s->mock);
        if (!g_str_equal(g_dbus_message_get_member(back), "Abort"))
            break;
        mock_answer(s->mock, back, MOCK_SERVICE, "(false,)");
    }
    g_assert_cmpstr(g_dbus_message_get_member(back), ==, "Release");
    g_assert_cmpuint(mock_get_id(back), ==, 5);
    scene_barrier(s);
}

static void
test_cancel_after_grant(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_wait_cancellably(s);
    g_autoptr(WebLocksLock) lock = NULL;

    mock_signal(s->mock, call, MOCK_SERVICE, "Granted", GRANTED_5);
    lock = answer_expect_lock(&s->answer);
    g_cancellable_cancel(s->cancellable);
    scene_barrier(s);
    g_assert_true(web_locks_lock_get_held(lock));
}

#define ADD(name, func) g_test_add("/mock-signals/" name, Scene, NULL, scene_start, func, scene_end)

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("of-others-and-garbage", test_not_ours);
    ADD("forged", test_forged);
    ADD("twice", test_twice);
    ADD("granted-and-stolen-at-once", test_granted_and_stolen);
    ADD("an-unknown-reason", test_unknown_reason);
    ADD("timeout", test_timeout);
    ADD("already-cancelled-sends-nothing", test_already_cancelled);
    ADD("cancelled-while-waiting", test_cancel_waiting);
    ADD("cancelled-before-the-answer", test_cancel_before_answer);
    ADD("cancelled-before-it-waits-then-granted", test_cancel_before_wait);
    ADD("cancelled-and-all-dropped", test_cancel_and_drop_all);
    ADD("cancelled-early-and-all-dropped", test_cancel_early_and_drop_all);
    ADD("a-forged-abort", test_forged_abort);
    ADD("a-timeout-crosses-the-abort", test_timeout_crosses_abort);
    ADD("the-abort-fails", test_abort_fails);
    g_test_add("/mock-signals/cancelled-before-the-grant-is-read", Scene, "before", scene_start,
               test_grant_crosses_cancel, scene_end);
    g_test_add("/mock-signals/cancelled-as-the-grant-is-read", Scene, "during", scene_start,
               test_grant_crosses_cancel, scene_end);
    ADD("cancelled-after-the-grant", test_cancel_after_grant);
    return g_test_run();
}
