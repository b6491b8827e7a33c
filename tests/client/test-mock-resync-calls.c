/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The service dies and comes back: what becomes of calls that were under way, and of those that are
 * made while it is away. */

#include "tests/client/mock-scene.h"

#define NEXT_SERVICE ":1.3"
#define ANY_SERVICE  "org.w3.WebLocks"
#define DBUS_ERROR   "org.freedesktop.DBus.Error."
#define NOT_HELD     "org.w3.WebLocks.Error.NotHeld"
#define EMPTY        "(@a(sss) [], @a(sss) [])"

static guint64
get_key(GDBusMessage *call)
{
    g_autoptr(GVariant) key = mock_get_option(call, "key");

    return g_variant_get_uint64(key);
}

static GDBusMessage *
expect_by_key(Scene *s, guint64 key)
{
    GDBusMessage *call = mock_expect(s->mock, "Request");

    g_assert_cmpuint(get_key(call), ==, key);
    g_assert_cmpstr(g_dbus_message_get_destination(call), ==, s->owner);
    return call;
}

static GDBusMessage *
expect_with_id(Scene *s, const char *member, guint64 id)
{
    GDBusMessage *call = mock_expect(s->mock, member);

    g_assert_cmpuint(mock_get_id(call), ==, id);
    g_assert_cmpstr(g_dbus_message_get_destination(call), ==, s->owner);
    return call;
}

static void
answer_no_reply(Scene *s, GDBusMessage *call)
{
    mock_answer_error(s->mock, call, MOCK_BUS, DBUS_ERROR "NoReply");
    mock_flush(s->mock);
    test_iterate();
}

static void
answer_unknown(Scene *s, GDBusMessage *call)
{
    mock_answer_error(s->mock, call, MOCK_BUS, DBUS_ERROR "ServiceUnknown");
    mock_flush(s->mock);
    test_iterate();
}

static void
ask(Scene *s, Answer *answer, const char *name)
{
    web_locks_manager_request_async(s->manager, name, NULL, NULL, answer_take, answer);
    test_iterate();
}

/* The lock is there, and is let go. */
static void
check_lock(Scene *s, Answer *answer, guint64 token)
{
    g_autoptr(WebLocksLock) lock = answer_expect_lock(answer);

    g_assert_cmpuint(web_locks_lock_get_token(lock), ==, token);
    answer_clear(answer);
    g_clear_object(&lock);
    g_object_unref(scene_expect(s, "Release"));
}

/* The request is said again with its key, and granted in the answer. */
static void
check_said_again(Scene *s, GDBusMessage *call)
{
    g_autoptr(GDBusMessage) again = expect_by_key(s, get_key(call));

    mock_answer(s->mock, again, s->owner, "(uint64 5, uint64 6)");
    check_lock(s, &s->answer, 6);
}

/* The service dies with a call under way, and comes back. */
static void
restart_with(Scene *s, GDBusMessage *call, const char *list)
{
    g_autoptr(GDBusMessage) resync = NULL;

    scene_change_owner(s, NULL);
    answer_no_reply(s, call);
    resync = scene_expect_resync(s, ANY_SERVICE);
    scene_change_owner(s, NEXT_SERVICE);
    scene_answer_resync(s, resync, list);
}

/* ---- Request */

/* `data`: which comes first, the bus's word about the call or about the owner. */
static void
test_request(Scene *s, gconstpointer is_word_first)
{
    g_autoptr(GDBusMessage) call = scene_ask(s), resync = NULL;

    if (is_word_first != NULL) {
        answer_no_reply(s, call);
        g_object_unref(scene_expect_resync(s, MOCK_SERVICE)); /* is it there or not? */
        scene_change_owner(s, NULL);
    } else {
        scene_change_owner(s, NULL);
        answer_no_reply(s, call);
    }
    resync = scene_expect_resync(s, ANY_SERVICE);
    answer_unknown(s, resync);
    g_assert_cmpuint(s->answer.n_results, ==, 0);
    scene_change_owner(s, NEXT_SERVICE);
    scene_resync(s, SCENE_NOTHING);
    check_said_again(s, call);
}

/* The bus says nothing about it at all. */
static void
test_request_without_a_word(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_ask(s);

    scene_restart(s, NEXT_SERVICE, SCENE_NOTHING);
    check_said_again(s, call);
}

/* The service is there all the time; then it has answered it by now. */
static void
test_request_and_no_death(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_ask(s), resync = NULL;

    answer_no_reply(s, call);
    resync = scene_expect_resync(s, MOCK_SERVICE);
    scene_answer_resync(s, resync, SCENE_WAITING);
    check_said_again(s, call);
}

/* The service has it: that is found out by its key, and nobody gives it back. */
static void
test_request_known(Scene *s, gconstpointer list)
{
    g_autoptr(GDBusMessage) call = scene_ask(s);

    restart_with(s, call, list);
    check_said_again(s, call);
}

/* Given up while it was under way; what comes of it is handed back. */
static void
test_request_abandoned(Scene *s, gconstpointer is_granted)
{
    g_autoptr(GDBusMessage) call = scene_ask_cancellably(s), again = NULL, abort = NULL;

    g_cancellable_cancel(s->cancellable);
    answer_expect_error(&s->answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    scene_restart(s, NEXT_SERVICE, is_granted != NULL ? SCENE_HELD : SCENE_WAITING);
    again = expect_by_key(s, get_key(call));
    if (is_granted != NULL) {
        mock_answer(s->mock, again, NEXT_SERVICE, "(uint64 5, uint64 6)");
        g_object_unref(expect_with_id(s, "Release", 5));
    } else {
        mock_answer(s->mock, again, NEXT_SERVICE, "(uint64 5, uint64 0)");
        abort = expect_with_id(s, "Abort", 5);
        mock_answer(s->mock, abort, NEXT_SERVICE, "(true,)");
    }
    scene_barrier(s);
}

/* One waited, one was under way, two are new: they stand in the row in that order. */
static void
test_order(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) first = scene_wait(s), second = NULL, resync = NULL;
    Answer answers[3] = {0};

    ask(s, &answers[0], "name");
    second = mock_expect(s->mock, "Request");
    scene_change_owner(s, NULL);
    resync = scene_expect_resync(s, ANY_SERVICE);
    ask(s, &answers[1], "name");
    answer_no_reply(s, second);
    scene_change_owner(s, NEXT_SERVICE);
    ask(s, &answers[2], "name");
    g_assert_cmpuint(mock_count(s->mock), ==, 0);
    scene_answer_resync(s, resync, SCENE_NOTHING);
    for (guint64 key = 1; key <= 4; key++) {
        g_autoptr(GDBusMessage) call = expect_by_key(s, key);

        mock_answer(s->mock, call, NEXT_SERVICE,
                    key == 1   ? "(uint64 1, uint64 11)"
                    : key == 2 ? "(uint64 2, uint64 12)"
                    : key == 3 ? "(uint64 3, uint64 13)"
                               : "(uint64 4, uint64 14)");
    }
    check_lock(s, &s->answer, 11);
    for (guint i = 0; i < G_N_ELEMENTS(answers); i++)
        check_lock(s, &answers[i], 12 + i);
    for (guint i = 0; i < G_N_ELEMENTS(answers); i++)
        answer_clear(&answers[i]);
}

/* It is made when nobody serves, and nobody can be started; what is older waits on. */
static void
test_new_request_in_vain(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) waiting = scene_wait(s), flying = NULL, resync = NULL, again = NULL;
    g_auto(Answer) in_flight = {0}, new = {0}, newer = {0};

    ask(s, &in_flight, "b");
    flying = mock_expect(s->mock, "Request");
    scene_change_owner(s, NULL);
    answer_no_reply(s, flying);
    resync = scene_expect_resync(s, ANY_SERVICE);
    ask(s, &new, "c");
    ask(s, &newer, "d");
    g_assert_cmpuint(mock_count(s->mock), ==, 0); /* one question at a time */
    answer_unknown(s, resync);
    g_clear_object(&resync);
    answer_expect_error(&new, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    answer_expect_error(&newer, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    answer_clear(&new);
    answer_clear(&newer);

    /* Each may be the one that it can be started for. */
    ask(s, &new, "c");
    resync = scene_expect_resync(s, ANY_SERVICE);
    answer_unknown(s, resync);
    answer_expect_error(&new, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    g_assert_cmpuint(s->answer.n_results, ==, 0);
    g_assert_cmpuint(in_flight.n_results, ==, 0);

    scene_change_owner(s, NEXT_SERVICE);
    scene_resync(s, SCENE_HELD);
    again = expect_by_key(s, get_key(flying));
    check_lock(s, &s->answer, 6);
    mock_answer(s->mock, again, NEXT_SERVICE, "(uint64 8, uint64 9)");
    check_lock(s, &in_flight, 9);
}

/* Nobody knows yet that the service has left. */
static void
test_bounced(Scene *s, gconstpointer is_served)
{
    g_autoptr(GDBusMessage) call = scene_ask(s), resync = NULL, again = NULL;

    answer_unknown(s, call);
    g_object_unref(scene_expect_resync(s, MOCK_SERVICE));
    scene_change_owner(s, NULL);
    resync = scene_expect_resync(s, ANY_SERVICE);
    if (is_served != NULL) {
        scene_change_owner(s, NEXT_SERVICE);
        scene_answer_resync(s, resync, SCENE_NOTHING);
        again = expect_by_key(s, get_key(call));
        mock_answer(s->mock, again, NEXT_SERVICE, "(uint64 8, uint64 9)");
        check_lock(s, &s->answer, 9);
    } else {
        answer_unknown(s, resync);
        answer_expect_error(&s->answer, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    }
}

/* Made and given up while nobody serves: nobody ever hears of it. */
static void
test_new_request_cancelled(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_autoptr(GDBusMessage) resync = NULL;
    g_auto(Answer) answer = {0};

    scene_change_owner(s, NULL);
    resync = scene_expect_resync(s, ANY_SERVICE);
    web_locks_manager_request_async(s->manager, "b", NULL, s->cancellable, answer_take, &answer);
    test_iterate();
    g_cancellable_cancel(s->cancellable);
    answer_expect_error(&answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    scene_change_owner(s, NEXT_SERVICE);
    scene_answer_resync(s, resync, SCENE_HELD);
    scene_barrier(s);
    scene_close(s);
}

/* ---- Release */

typedef enum { RELEASE_HELD, RELEASE_GONE, RELEASE_NOT_HELD } ReleaseEnd;

static void
test_release_in_flight(Scene *s, gconstpointer end)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_autoptr(GDBusMessage) call = NULL, again = NULL;
    g_auto(Answer) released = {0};
    g_autoptr(GError) error = NULL;

    web_locks_lock_release_async(lock, NULL, answer_take, &released);
    call = expect_with_id(s, "Release", 5);
    restart_with(s, call, GPOINTER_TO_INT(end) == RELEASE_GONE ? SCENE_NOTHING : SCENE_HELD);
    if (GPOINTER_TO_INT(end) != RELEASE_GONE) {
        g_assert_cmpuint(released.n_results, ==, 0);
        again = expect_with_id(s, "Release", 5);
        if (GPOINTER_TO_INT(end) == RELEASE_HELD)
            mock_answer(s->mock, again, NEXT_SERVICE, "()");
        else
            mock_answer_error(s->mock, again, NEXT_SERVICE, NOT_HELD);
    }
    g_assert_true(web_locks_lock_release_finish(lock, answer_wait(&released), &error));
    g_assert_no_error(error);
    scene_barrier(s);
}

/* It is released while nobody serves. */
static void
test_release_while_away(Scene *s, gconstpointer list)
{
    gboolean is_held = g_str_equal(list, SCENE_HELD);
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_autoptr(GDBusMessage) resync = NULL, call = NULL;
    g_auto(Answer) released = {0};
    g_auto(Losses) losses = {0};
    g_autoptr(GError) error = NULL;

    losses_watch(&losses, lock);
    scene_change_owner(s, NULL);
    resync = scene_expect_resync(s, ANY_SERVICE);
    web_locks_lock_release_async(lock, NULL, answer_take, &released);
    test_iterate();
    g_assert_false(web_locks_lock_get_held(lock));
    g_assert_cmpuint(mock_count(s->mock), ==, 0);
    scene_change_owner(s, NEXT_SERVICE);
    scene_answer_resync(s, resync, list);
    if (is_held) {
        call = expect_with_id(s, "Release", 5);
        mock_answer(s->mock, call, NEXT_SERVICE, "()");
    }
    g_assert_cmpint(web_locks_lock_release_finish(lock, answer_wait(&released), &error), ==,
                    is_held);
    if (is_held)
        g_assert_no_error(error);
    else
        g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    g_assert_cmpuint(losses.n_lost, ==, 0); /* it was given up before */
    scene_barrier(s);
}

/* It does not wait for ever; when the service is back after all, it is given back. */
static void
test_release_in_vain(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_auto(Answer) released = {0};
    g_autoptr(GError) error = NULL;

    scene_change_owner(s, NULL);
    web_locks_lock_release_async(lock, NULL, answer_take, &released);
    while (released.n_results == 0) {
        g_autoptr(GDBusMessage) resync = NULL;

        test_iterate();
        if (mock_count(s->mock) == 0)
            continue;
        resync = scene_expect_resync(s, ANY_SERVICE);
        answer_unknown(s, resync);
    }
    g_assert_false(web_locks_lock_release_finish(lock, released.result, &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    scene_change_owner(s, NEXT_SERVICE);
    scene_resync(s, SCENE_HELD);
    g_object_unref(expect_with_id(s, "Release", 5));
    scene_barrier(s);
}

/* ---- Abort */

/* Given up before it died, with the Abort under way, or while it is away. */
static void
test_abort(Scene *s, gconstpointer is_away)
{
    g_autoptr(GDBusMessage) call = scene_wait_cancellably(s), abort = NULL, again = NULL;

    if (is_away == NULL) {
        g_cancellable_cancel(s->cancellable);
        abort = expect_with_id(s, "Abort", 5);
        scene_restart(s, NEXT_SERVICE, SCENE_WAITING);
    } else {
        g_autoptr(GDBusMessage) resync = NULL;

        scene_change_owner(s, NULL);
        resync = scene_expect_resync(s, ANY_SERVICE);
        g_cancellable_cancel(s->cancellable);
        scene_change_owner(s, NEXT_SERVICE);
        scene_answer_resync(s, resync, SCENE_WAITING);
    }
    again = expect_with_id(s, "Abort", 5);
    mock_answer(s->mock, again, NEXT_SERVICE, "(true,)");
    scene_barrier(s);
    answer_expect_error(&s->answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

/* It has done it, or has granted it. */
static void
test_abort_and_end(Scene *s, gconstpointer list)
{
    g_autoptr(GDBusMessage) call = scene_wait_cancellably(s), abort = NULL;

    g_cancellable_cancel(s->cancellable);
    abort = expect_with_id(s, "Abort", 5);
    restart_with(s, abort, list);
    if (g_str_equal(list, SCENE_HELD))
        g_object_unref(expect_with_id(s, "Release", 5));
    scene_barrier(s);
    answer_expect_error(&s->answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

/* ---- questions */

static void
check_query(Scene *s, Answer *query)
{
    g_autoptr(GDBusMessage) call = mock_expect(s->mock, "Query");
    g_autoptr(WebLocksSnapshot) snapshot = NULL;
    g_autoptr(GError) error = NULL;

    mock_answer(s->mock, call, s->owner, EMPTY);
    snapshot = web_locks_manager_query_finish(s->manager, answer_wait(query), &error);
    g_assert_no_error(error);
    g_assert_nonnull(snapshot);
}

static void
test_query(Scene *s, gconstpointer is_away)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_autoptr(GDBusMessage) call = NULL, resync = NULL;
    g_auto(Answer) query = {0};

    if (is_away == NULL) {
        web_locks_manager_query_async(s->manager, NULL, answer_take, &query);
        call = mock_expect(s->mock, "Query");
        scene_change_owner(s, NULL);
        answer_no_reply(s, call);
        resync = scene_expect_resync(s, ANY_SERVICE);
    } else {
        scene_change_owner(s, NULL);
        resync = scene_expect_resync(s, ANY_SERVICE);
        web_locks_manager_query_async(s->manager, NULL, answer_take, &query);
    }
    answer_unknown(s, resync);
    g_assert_cmpuint(query.n_results, ==, 0);
    scene_change_owner(s, NEXT_SERVICE);
    scene_resync(s, SCENE_HELD);
    check_query(s, &query);
    scene_close(s);
}

/* A service about to leave refuses what it is asked; the next one does not. */
static void
test_query_refused(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = NULL;
    g_auto(Answer) query = {0};

    web_locks_manager_query_async(s->manager, NULL, answer_take, &query);
    call = mock_expect(s->mock, "Query");
    mock_answer_error(s->mock, call, MOCK_SERVICE, "org.w3.WebLocks.Error.InvalidState");
    mock_flush(s->mock);
    test_iterate();
    g_assert_cmpuint(query.n_results, ==, 0);
    scene_restart(s, NEXT_SERVICE, SCENE_NOTHING);
    check_query(s, &query);
}

/* ---- the private socket */

/* All goes on by the bus; then there is a new socket. */
static void
test_socket(Scene *s, gconstpointer is_end_first)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_autoptr(GDBusMessage) call = scene_ask(s), again = NULL;
    g_autoptr(MockSocket) old = NULL;
    g_auto(Losses) losses = {0};

    losses_watch(&losses, lock);
    if (is_end_first != NULL) {
        g_autoptr(GDBusMessage) bounced = NULL;

        scene_close_socket(s);
        bounced = expect_by_key(s, get_key(call));
        g_object_unref(mock_expect(s->mock, "OpenPeer"));
        answer_unknown(s, bounced);
        g_object_unref(scene_expect_resync(s, MOCK_SERVICE));
    } else {
        old = g_steal_pointer(&s->socket);
    }
    scene_restart(s, NEXT_SERVICE, SCENE_HELD);
    again = expect_by_key(s, get_key(call));
    scene_open_socket(s, NEXT_SERVICE);
    mock_answer(s->mock, again, NEXT_SERVICE, "(uint64 8, uint64 9)");
    check_lock(s, &s->answer, 9);
    scene_barrier(s);
    g_assert_cmpuint(losses.n_lost, ==, 0);
    scene_close(s);
}

/* ---- main */

#define ADD(name, func, data) \
    g_test_add("/mock-resync-calls/" name, Scene, data, scene_start, func, scene_end_strictly)
#define ADD_ON_SOCKET(name, func, data)                                              \
    g_test_add("/mock-resync-calls/" name, Scene, data, scene_start_on_socket, func, \
               scene_end_strictly)

static void
add_requests(void)
{
    ADD("request", test_request, NULL);
    ADD("request-and-an-early-word", test_request, "early");
    ADD("request-without-a-word", test_request_without_a_word, NULL);
    ADD("request-and-no-death", test_request_and_no_death, NULL);
    ADD("request-known/waits", test_request_known, SCENE_WAITING);
    ADD("request-known/granted", test_request_known, SCENE_HELD);
    ADD("request-abandoned/waits", test_request_abandoned, NULL);
    ADD("request-abandoned/granted", test_request_abandoned, "granted");
    ADD("order", test_order, NULL);
    ADD("new-request/in-vain", test_new_request_in_vain, NULL);
    ADD("new-request/cancelled", test_new_request_cancelled, NULL);
    ADD("bounced", test_bounced, NULL);
    ADD("bounced-and-served", test_bounced, "served");
}

int
main(int argc, char **argv)
{
    /* How long a Release waits for the service. */
    g_setenv("SYSTEMD_BUS_TIMEOUT", "2s", TRUE);
    g_test_init(&argc, &argv, NULL);
    add_requests();
    ADD("release/held", test_release_in_flight, GINT_TO_POINTER(RELEASE_HELD));
    ADD("release/gone", test_release_in_flight, GINT_TO_POINTER(RELEASE_GONE));
    ADD("release/not-held", test_release_in_flight, GINT_TO_POINTER(RELEASE_NOT_HELD));
    ADD("release-while-away/held", test_release_while_away, SCENE_HELD);
    ADD("release-while-away/gone", test_release_while_away, SCENE_NOTHING);
    ADD("release-in-vain", test_release_in_vain, NULL);
    ADD("abort", test_abort, NULL);
    ADD("abort-while-away", test_abort, "away");
    ADD("abort/gone", test_abort_and_end, SCENE_NOTHING);
    ADD("abort/granted", test_abort_and_end, SCENE_HELD);
    ADD("query", test_query, NULL);
    ADD("query-while-away", test_query, "away");
    ADD("query-refused", test_query_refused, NULL);
    ADD_ON_SOCKET("socket", test_socket, NULL);
    ADD_ON_SOCKET("socket-ends-first", test_socket, "ends");
    return g_test_run();
}
