/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The service dies and comes back, and is asked what it has of the agent: what becomes of that
 * which is held and that which waits. */

#include "tests/client/mock-scene.h"

#define NEXT_SERVICE  ":1.3"
#define THIRD_SERVICE ":1.4"
#define ANY_SERVICE   "org.w3.WebLocks"
#define DBUS_ERROR    "org.freedesktop.DBus.Error."
#define GRANTED       "(uint64 5, 'name', 'exclusive', '" MOCK_CLIENT "', uint64 6)"
#define TIMED_OUT     "(uint64 5, 'name', 'exclusive', '" MOCK_CLIENT "', 'timeout')"

static void
expect_released_at(Scene *s, guint64 id)
{
    g_autoptr(GDBusMessage) call = mock_expect(s->mock, "Release");

    g_assert_cmpuint(mock_get_id(call), ==, id);
    g_assert_cmpstr(g_dbus_message_get_destination(call), ==, s->owner);
}

static guint64
get_key(GDBusMessage *call)
{
    g_autoptr(GVariant) key = mock_get_option(call, "key");

    return g_variant_get_uint64(key);
}

/* A Request that is said again. */
static GDBusMessage *
expect_again(Scene *s, GDBusMessage *first)
{
    GDBusMessage *again = mock_expect(s->mock, "Request");

    g_assert_cmpuint(get_key(first), ==, get_key(again));
    g_assert_cmpstr(g_dbus_message_get_destination(again), ==, s->owner);
    g_assert_cmpstr(g_dbus_message_get_path(first), ==, g_dbus_message_get_path(again));
    return again;
}

static void
expect_lock(Scene *s, guint64 token)
{
    g_autoptr(WebLocksLock) lock = answer_expect_lock(&s->answer);
    g_autoptr(GDBusMessage) call = NULL;

    g_assert_cmpuint(web_locks_lock_get_token(lock), ==, token);
    g_assert_true(web_locks_lock_get_held(lock));
    answer_clear(&s->answer);
    g_clear_object(&lock);
    call = mock_expect(s->mock, "Release");
    g_assert_cmpstr(g_dbus_message_get_destination(call), ==, s->owner);
}

/* Nothing has happened to it, and it is released where the service is now. */
static void
check_held(Scene *s, WebLocksLock *lock, Losses *losses)
{
    g_auto(Answer) released = {0};
    g_autoptr(GDBusMessage) call = NULL;
    g_autoptr(GError) error = NULL;

    scene_barrier(s);
    g_assert_cmpuint(losses->n_lost, ==, 0);
    g_assert_true(web_locks_lock_get_held(lock));
    web_locks_lock_release_async(lock, NULL, answer_take, &released);
    call = mock_expect(s->mock, "Release");
    g_assert_cmpstr(g_dbus_message_get_destination(call), ==, s->owner);
    mock_answer(s->mock, call, s->owner, "()");
    g_assert_true(web_locks_lock_release_finish(lock, answer_wait(&released), &error));
    g_assert_no_error(error);
}

static void
check_lost(Scene *s, WebLocksLock *lock, Losses *losses)
{
    g_auto(Answer) released = {0};
    g_autoptr(GError) error = NULL;

    test_wait(test_is_set, &losses->n_lost);
    g_assert_cmpuint(losses->n_lost, ==, 1);
    g_assert_cmpuint(losses->n_held_notifies, ==, 1);
    g_assert_cmpstr(losses->reason, ==, "lost");
    web_locks_lock_release_async(lock, NULL, answer_take, &released);
    g_assert_false(web_locks_lock_release_finish(lock, answer_wait(&released), &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
}

/* ---- what is held */

static void
test_held(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_auto(Losses) losses = {0};

    losses_watch(&losses, lock);
    scene_restart(s, NEXT_SERVICE, SCENE_HELD);
    check_held(s, lock, &losses);
}

/* Nobody knows anything yet. */
static void
test_held_while_away(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_autoptr(GDBusMessage) call = NULL;
    g_auto(Losses) losses = {0};

    losses_watch(&losses, lock);
    scene_change_owner(s, NULL);
    call = scene_expect_resync(s, ANY_SERVICE);
    mock_answer_error(s->mock, call, MOCK_BUS, DBUS_ERROR "ServiceUnknown");
    mock_flush(s->mock);
    test_iterate();
    g_assert_true(web_locks_lock_get_held(lock));
    g_assert_cmpuint(mock_count(s->mock), ==, 0);
    g_clear_object(&call);

    scene_change_owner(s, NEXT_SERVICE);
    call = scene_expect_resync(s, NEXT_SERVICE);
    g_assert_true(web_locks_lock_get_held(lock));
    scene_answer_resync(s, call, SCENE_HELD);
    check_held(s, lock, &losses);
}

static void
test_held_and_missing(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_auto(Losses) losses = {0};

    losses_watch(&losses, lock);
    scene_restart(s, NEXT_SERVICE, SCENE_NOTHING);
    check_lost(s, lock, &losses);
    scene_barrier(s);
}

/* It is another lock, which nobody here knows of. */
static void
test_held_with_another_token(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_auto(Losses) losses = {0};

    losses_watch(&losses, lock);
    scene_restart(s, NEXT_SERVICE, "[" SCENE_RECORD(5, 1, "name", 7) "]");
    expect_released_at(s, 5);
    check_lost(s, lock, &losses);
    scene_barrier(s);
}

/* The bus tells that the name has gone from one to the other. */
static void
test_replaced(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_autoptr(GDBusMessage) call = NULL;
    g_auto(Losses) losses = {0};

    losses_watch(&losses, lock);
    scene_change_owner(s, NEXT_SERVICE);
    call = scene_expect_resync(s, NEXT_SERVICE);
    scene_answer_resync(s, call, SCENE_HELD);
    check_held(s, lock, &losses);
}

/* A service that keeps nothing, and knows of no Resync. */
static void
test_old_service(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_autoptr(GDBusMessage) resync = NULL, waiting = NULL, again = NULL;
    g_auto(Losses) losses = {0};

    losses_watch(&losses, lock);
    waiting = scene_ask(s);
    mock_answer(s->mock, waiting, MOCK_SERVICE, "(uint64 8, uint64 0)");
    scene_change_owner(s, NEXT_SERVICE);
    resync = scene_expect_resync(s, NEXT_SERVICE);
    mock_answer_error(s->mock, resync, NEXT_SERVICE, DBUS_ERROR "UnknownMethod");
    again = expect_again(s, waiting);
    check_lost(s, lock, &losses);
    mock_answer(s->mock, again, NEXT_SERVICE, "(uint64 1, uint64 9)");
    expect_lock(s, 9);
}

/* ---- what waits */

static void
test_waiting(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_wait(s);

    scene_restart(s, NEXT_SERVICE, SCENE_WAITING);
    scene_barrier(s);
    g_assert_cmpuint(s->answer.n_results, ==, 0);
    mock_signal(s->mock, call, NEXT_SERVICE, "Granted", GRANTED);
    expect_lock(s, 6);
}

static void
test_granted_meanwhile(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_wait(s);

    scene_restart(s, NEXT_SERVICE, SCENE_HELD);
    expect_lock(s, 6);
}

static void
test_waiting_and_missing(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_wait(s), again = NULL;

    scene_restart(s, NEXT_SERVICE, SCENE_NOTHING);
    again = expect_again(s, call);
    mock_answer(s->mock, again, NEXT_SERVICE, "(uint64 1, uint64 0)");
    scene_barrier(s);
    g_assert_cmpuint(s->answer.n_results, ==, 0);
    mock_signal(s->mock, call, NEXT_SERVICE, "Granted",
                "(uint64 1, 'name', 'exclusive', '" MOCK_CLIENT "', uint64 7)");
    expect_lock(s, 7);
}

/* What has our id is another request. */
static void
test_waiting_with_another_key(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_wait(s), abort = NULL, again = NULL;

    scene_restart(s, NEXT_SERVICE, "[" SCENE_RECORD(5, 99, "name", 0) "]");
    again = expect_again(s, call);
    abort = mock_expect(s->mock, "Abort");
    g_assert_cmpuint(mock_get_id(abort), ==, 5);
    mock_answer(s->mock, again, NEXT_SERVICE, "(uint64 6, uint64 7)");
    mock_answer(s->mock, abort, NEXT_SERVICE, "(true,)");
    expect_lock(s, 7);
}

/* The wait is counted from its beginning. */
static void
test_time_left(Scene *s, gconstpointer timeout_ms)
{
    guint timeout = GPOINTER_TO_UINT(timeout_ms);
    g_autoptr(WebLocksOptions) options =
        g_object_new(WEB_LOCKS_TYPE_OPTIONS, "timeout", timeout, "mode", WEB_LOCKS_MODE_SHARED,
                     "why", "to see", NULL);
    g_autoptr(GDBusMessage) call = NULL, again = NULL;
    g_autoptr(GVariant) left = NULL, mode = NULL, why = NULL;
    const gint64 until_us = g_get_monotonic_time() + 20 * G_TIME_SPAN_MILLISECOND;

    web_locks_manager_request_async(s->manager, "name", options, NULL, answer_take, &s->answer);
    call = mock_expect(s->mock, "Request");
    mock_answer(s->mock, call, MOCK_SERVICE, "(uint64 5, uint64 0)");
    scene_barrier(s);
    while (g_get_monotonic_time() < until_us)
        test_iterate();
    scene_restart(s, NEXT_SERVICE, SCENE_NOTHING);
    again = expect_again(s, call);
    left = mock_get_option(again, "timeout");
    g_assert_cmpuint(g_variant_get_uint32(left), <=, timeout > 19 ? timeout - 19 : 1);
    g_assert_cmpuint(g_variant_get_uint32(left), >=, 1);
    mode = mock_get_option(again, "mode");
    g_assert_cmpstr(g_variant_get_string(mode, NULL), ==, "shared");
    why = mock_get_option(again, "why");
    g_assert_cmpstr(g_variant_get_string(why, NULL), ==, "to see");
    mock_answer(s->mock, again, NEXT_SERVICE, "(uint64 9, uint64 0)");
    mock_signal(s->mock, call, NEXT_SERVICE, "Released",
                "(uint64 9, 'name', 'shared', '" MOCK_CLIENT "', 'timeout')");
    answer_expect_error(&s->answer, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT);
}

/* ---- signals on both sides of the answer */

static void
test_granted_before(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_wait(s), resync = NULL;

    scene_change_owner(s, NEXT_SERVICE);
    resync = scene_expect_resync(s, NEXT_SERVICE);
    mock_signal(s->mock, call, NEXT_SERVICE, "Granted", GRANTED);
    answer_wait(&s->answer);
    scene_answer_resync(s, resync, SCENE_HELD);
    scene_barrier(s);
    expect_lock(s, 6);
}

static void
test_granted_after(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_wait(s);
    g_autoptr(WebLocksLock) lock = NULL;
    g_auto(Losses) losses = {0};

    scene_restart(s, NEXT_SERVICE, SCENE_HELD);
    lock = answer_expect_lock(&s->answer);
    losses_watch(&losses, lock);
    mock_signal(s->mock, call, NEXT_SERVICE, "Granted", GRANTED);
    check_held(s, lock, &losses);
}

/* The time-out that the service has told is not forgotten. */
static void
test_ended_before(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_wait(s), resync = NULL;

    scene_change_owner(s, NEXT_SERVICE);
    resync = scene_expect_resync(s, NEXT_SERVICE);
    mock_signal(s->mock, call, NEXT_SERVICE, "Released", TIMED_OUT);
    answer_expect_error(&s->answer, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT);
    scene_answer_resync(s, resync, SCENE_NOTHING);
    scene_barrier(s);
}

static void
test_stolen_after(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = NULL;
    g_autoptr(GDBusMessage) call = scene_wait(s);
    g_auto(Losses) losses = {0};

    scene_restart(s, NEXT_SERVICE, SCENE_HELD);
    lock = answer_expect_lock(&s->answer);
    losses_watch(&losses, lock);
    mock_signal(s->mock, call, NEXT_SERVICE, "Released",
                "(uint64 5, 'name', 'exclusive', '" MOCK_CLIENT "', 'stolen')");
    test_wait(test_is_set, &losses.n_lost);
    g_assert_cmpstr(losses.reason, ==, "stolen");
    scene_barrier(s);
    g_assert_cmpuint(losses.n_lost, ==, 1);
}

/* As the service does that takes in its state before it takes the name. */
static void
test_signal_before_name(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_wait(s), resync = NULL;

    scene_change_owner(s, NULL);
    mock_signal(s->mock, call, NEXT_SERVICE, "Granted", GRANTED);
    resync = scene_expect_resync(s, ANY_SERVICE);
    mock_flush(s->mock);
    test_iterate();
    g_assert_cmpuint(s->answer.n_results, ==, 0);
    scene_change_owner(s, NEXT_SERVICE);
    scene_answer_resync(s, resync, SCENE_HELD);
    expect_lock(s, 6);
}

/* ---- what nobody here wants */

static void
test_unwanted(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_autoptr(GDBusMessage) abort = NULL;

    scene_restart(s, NEXT_SERVICE,
                  "[" SCENE_RECORD(5, 1, "name", 6) "," SCENE_RECORD(7, 2, "b", 8) "," SCENE_RECORD(
                      9, 3, "c", 0) "]");
    expect_released_at(s, 7);
    abort = mock_expect(s->mock, "Abort");
    g_assert_cmpuint(mock_get_id(abort), ==, 9);
    mock_answer(s->mock, abort, NEXT_SERVICE, "(true,)");
    scene_barrier(s);
    g_assert_true(web_locks_lock_get_held(lock));
    mock_signal(s->mock, abort, NEXT_SERVICE, "Granted",
                "(uint64 9, 'c', 'exclusive', '" MOCK_CLIENT "', uint64 10)");
    scene_barrier(s);
    scene_close(s);
}

/* It is granted on the way to be given up. */
static void
test_unwanted_and_granted(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_autoptr(GDBusMessage) abort = NULL;

    scene_restart(s, NEXT_SERVICE,
                  "[" SCENE_RECORD(5, 1, "name", 6) "," SCENE_RECORD(9, 3, "c", 0) "]");
    abort = mock_expect(s->mock, "Abort");
    mock_signal(s->mock, abort, NEXT_SERVICE, "Granted",
                "(uint64 9, 'c', 'exclusive', '" MOCK_CLIENT "', uint64 10)");
    mock_answer(s->mock, abort, NEXT_SERVICE, "(false,)");
    expect_released_at(s, 9);
    scene_barrier(s);
    scene_close(s);
}

/* A lock was dropped, and it may be that the service has not heard of it. That starts nobody.
 * `data`: what the next one has. */
static void
test_dropped(Scene *s, gconstpointer list)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);

    g_clear_object(&lock);
    expect_released_at(s, 5);
    scene_change_owner(s, NULL);
    g_assert_cmpuint(mock_count(s->mock), ==, 0);
    scene_change_owner(s, NEXT_SERVICE);
    scene_resync(s, list);
    if (g_str_equal(list, SCENE_HELD))
        expect_released_at(s, 5);
    scene_barrier(s);
}

/* An answer to what was said later: the service has heard of it. */
static void
test_dropped_and_confirmed(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);

    g_clear_object(&lock);
    expect_released_at(s, 5);
    scene_barrier(s);
    scene_change_owner(s, NULL);
    scene_change_owner(s, NEXT_SERVICE);
    scene_barrier(s);
}

static void
test_dropped_while_away(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_autoptr(GDBusMessage) call = NULL;

    scene_change_owner(s, NULL);
    call = scene_expect_resync(s, ANY_SERVICE);
    g_clear_object(&lock);
    test_iterate();
    g_assert_cmpuint(mock_count(s->mock), ==, 0);
    scene_change_owner(s, NEXT_SERVICE);
    scene_answer_resync(s, call, SCENE_HELD);
    expect_released_at(s, 5);
    scene_barrier(s);
}

static void
test_nothing_at_stake(Scene *s, gconstpointer data)
{
    scene_barrier(s);
    scene_change_owner(s, NULL);
    scene_change_owner(s, NEXT_SERVICE);
    scene_change_owner(s, THIRD_SERVICE);
    scene_barrier(s);
}

/* ---- the question, and no answer */

/* Nobody but the one who has the name is believed. */
static void
test_forged(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_autoptr(GDBusMessage) call = NULL, again = NULL;
    g_auto(Losses) losses = {0};

    losses_watch(&losses, lock);
    scene_change_owner(s, NEXT_SERVICE);
    call = scene_expect_resync(s, NEXT_SERVICE);
    mock_answer(s->mock, call, MOCK_FORGER, "(" SCENE_NOTHING ",)");
    again = scene_expect_resync(s, NEXT_SERVICE);
    g_assert_true(web_locks_lock_get_held(lock));
    scene_answer_resync(s, again, SCENE_HELD);
    check_held(s, lock, &losses);
}

/* It is asked again, after a while. `data`: an error, or a body that makes no sense. */
static void
test_no_answer(Scene *s, gconstpointer data)
{
    const char *answer = data;
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_autoptr(GDBusMessage) call = NULL, again = NULL;
    g_auto(Losses) losses = {0};
    gint64 asked_us;

    losses_watch(&losses, lock);
    scene_change_owner(s, NEXT_SERVICE);
    call = scene_expect_resync(s, NEXT_SERVICE);
    asked_us = g_get_monotonic_time();
    if (answer[0] == '(')
        mock_answer(s->mock, call, NEXT_SERVICE, answer);
    else
        mock_answer_error(s->mock, call, NEXT_SERVICE, answer);
    again = scene_expect_resync(s, NEXT_SERVICE);
    g_assert_cmpint(g_get_monotonic_time() - asked_us, >, G_TIME_SPAN_SECOND / 2);
    g_assert_true(web_locks_lock_get_held(lock));
    scene_answer_resync(s, again, SCENE_HELD);
    check_held(s, lock, &losses);
}

/* The next one dies of it, and is not called again at once; if somebody else brings it back, it is
 * asked. */
static void
test_dies_again(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_autoptr(GDBusMessage) call = NULL, again = NULL;
    g_auto(Losses) losses = {0};

    losses_watch(&losses, lock);
    scene_change_owner(s, NULL);
    call = scene_expect_resync(s, ANY_SERVICE);
    scene_change_owner(s, NEXT_SERVICE);
    scene_change_owner(s, NULL);
    mock_answer_error(s->mock, call, MOCK_BUS, DBUS_ERROR "NoReply");
    mock_flush(s->mock);
    test_iterate();
    g_assert_cmpuint(mock_count(s->mock), ==, 0);
    scene_change_owner(s, THIRD_SERVICE);
    again = scene_expect_resync(s, THIRD_SERVICE);
    scene_answer_resync(s, again, SCENE_HELD);
    check_held(s, lock, &losses);
}

/* The one that was asked lost the name before it answered. */
static void
test_replaced_again(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_autoptr(GDBusMessage) call = NULL, again = NULL;
    g_auto(Losses) losses = {0};

    losses_watch(&losses, lock);
    scene_change_owner(s, NEXT_SERVICE);
    call = scene_expect_resync(s, NEXT_SERVICE);
    scene_change_owner(s, THIRD_SERVICE);
    again = scene_expect_resync(s, THIRD_SERVICE);
    mock_answer(s->mock, call, NEXT_SERVICE, "(" SCENE_NOTHING ",)");
    mock_flush(s->mock);
    test_iterate();
    g_assert_true(web_locks_lock_get_held(lock));
    scene_answer_resync(s, again, SCENE_HELD);
    check_held(s, lock, &losses);
}

/* ---- the agent goes meanwhile */

static void
test_closed(Scene *s, gconstpointer is_cut)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_autoptr(GDBusMessage) call = scene_ask(s);
    g_auto(Losses) losses = {0};

    losses_watch(&losses, lock);
    scene_change_owner(s, NULL);
    g_object_unref(scene_expect_resync(s, ANY_SERVICE));
    if (is_cut != NULL)
        mock_bus_cut(s->mock);
    else
        scene_close(s);
    answer_expect_error(&s->answer, WEB_LOCKS_ERROR,
                        is_cut != NULL ? WEB_LOCKS_ERROR_UNAVAILABLE : WEB_LOCKS_ERROR_ABORT);
    test_wait(test_is_set, &losses.n_lost);
    g_assert_cmpstr(losses.reason, ==, "terminated");
}

/* ---- main */

#define ADD(name, func, data) \
    g_test_add("/mock-resync/" name, Scene, data, scene_start, func, scene_end_strictly)

static void
add_questions(void)
{
    ADD("forged", test_forged, NULL);
    ADD("refused", test_no_answer, DBUS_ERROR "LimitsExceeded");
    ADD("about-to-leave", test_no_answer, "org.w3.WebLocks.Error.InvalidState");
    ADD("garbage/empty", test_no_answer, "()");
    ADD("garbage/another-list", test_no_answer, "([('bucket', uint64 5)],)");
    ADD("dies-again", test_dies_again, NULL);
    ADD("replaced-again", test_replaced_again, NULL);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("held", test_held, NULL);
    ADD("held-while-it-is-away", test_held_while_away, NULL);
    ADD("held-and-missing", test_held_and_missing, NULL);
    ADD("held-with-another-token", test_held_with_another_token, NULL);
    ADD("replaced", test_replaced, NULL);
    ADD("a-service-that-keeps-nothing", test_old_service, NULL);
    ADD("waiting", test_waiting, NULL);
    ADD("granted-meanwhile", test_granted_meanwhile, NULL);
    ADD("waiting-and-missing", test_waiting_and_missing, NULL);
    ADD("waiting-with-another-key", test_waiting_with_another_key, NULL);
    ADD("time-left", test_time_left, GUINT_TO_POINTER(60000));
    ADD("no-time-left", test_time_left, GUINT_TO_POINTER(2));
    ADD("granted-before-the-answer", test_granted_before, NULL);
    ADD("granted-after-the-answer", test_granted_after, NULL);
    ADD("ended-before-the-answer", test_ended_before, NULL);
    ADD("stolen-after-the-answer", test_stolen_after, NULL);
    ADD("granted-before-it-has-the-name", test_signal_before_name, NULL);
    ADD("unwanted", test_unwanted, NULL);
    ADD("unwanted-and-granted", test_unwanted_and_granted, NULL);
    ADD("dropped", test_dropped, SCENE_HELD);
    ADD("dropped-and-heard", test_dropped, SCENE_NOTHING);
    ADD("dropped-and-confirmed", test_dropped_and_confirmed, NULL);
    ADD("dropped-while-it-is-away", test_dropped_while_away, NULL);
    ADD("nothing-at-stake", test_nothing_at_stake, NULL);
    add_questions();
    ADD("closed", test_closed, NULL);
    ADD("bus-dies", test_closed, "cut");
    return g_test_run();
}
