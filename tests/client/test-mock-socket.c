/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Asking for a private socket: refused, not answered, forged, rude, too late, and good; and what is
 * believed on one. Run by a library that waits long for the script, but for the case in which it
 * waits in vain. */

#include "tests/client/mock-scene.h"

#define DBUS_ERROR   "org.freedesktop.DBus.Error."
#define NEXT_SERVICE ":1.3"
/* The library is a patient one. */
#ifdef ASK_TIMEOUT_US
#define IS_PATIENT TRUE
#else
#define IS_PATIENT FALSE
#endif
#define GRANTED "(uint64 5, 'name', 'exclusive', '" MOCK_CLIENT "', uint64 6)"
#define STOLEN  "(uint64 5, 'name', 'exclusive', '" MOCK_CLIENT "', 'stolen')"

/* ---- what goes by the bus */

/* Query and its answer, `n` times: no OpenPeer is among them. */
static void
query(Scene *s, guint n)
{
    for (guint i = 0; i < n; i++)
        scene_barrier(s);
}

/* The same, and behind the last there is one. */
static GDBusMessage *
query_until_asked(Scene *s, guint n)
{
    query(s, n);
    return mock_expect(s->mock, "OpenPeer");
}

/* And the agent knows. */
static void
answer_no(Scene *s, GDBusMessage *call, const char *error)
{
    mock_answer_error(s->mock, call, MOCK_SERVICE, error);
    mock_flush(s->mock);
    test_iterate();
}

static void
refuse(Scene *s, const char *error)
{
    g_autoptr(GDBusMessage) call = mock_expect(s->mock, "OpenPeer");

    answer_no(s, call, error);
}

/* ---- no socket */

/* This service has none: it isn't asked again, but the next one is. */
static void
check_refused(Scene *s)
{
    g_autoptr(WebLocksLock) lock = NULL;

    query(s, 20);
    lock = scene_lock(s);
    g_assert_cmpuint(web_locks_lock_get_token(lock), ==, 6);
    scene_change_owner(s, NEXT_SERVICE);
    scene_resync(s, SCENE_HELD);
    scene_open_socket(s, NEXT_SERVICE);
    query(s, 3);
    scene_close(s);
}

static void
test_refused(Scene *s, gconstpointer error)
{
    refuse(s, error);
    scene_be_connected(s);
    check_refused(s);
}

/* By the bus, say: a policy. */
static void
test_refused_by_bus(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = mock_expect(s->mock, "OpenPeer");

    mock_answer_error(s->mock, call, MOCK_BUS, DBUS_ERROR "AccessDenied");
    scene_be_connected(s);
    check_refused(s);
}

/* It may have one later: it is asked again, ever more seldom. */
static void
test_not_now(Scene *s, gconstpointer error)
{
    refuse(s, error);
    scene_be_connected(s);
    for (guint n_between = 1; n_between <= 15; n_between = 2 * n_between + 1) {
        g_autoptr(GDBusMessage) call = query_until_asked(s, n_between + 1);

        answer_no(s, call, error);
    }
    query(s, 32);
    scene_open_socket(s, MOCK_SERVICE);
    query(s, 3);

    /* Then the next time is the first again. */
    scene_close_socket(s);
    query(s, 1);
    refuse(s, error);
    query(s, 2);
    refuse(s, error);
}

static void
test_unanswered(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = mock_expect(s->mock, "OpenPeer"), again = NULL;
    g_autoptr(MockSocket) late = NULL;
    const gint64 begin_us = g_get_monotonic_time();
    gint64 waited_us;

    scene_be_connected(s);
    waited_us = g_get_monotonic_time() - begin_us;
    g_test_message("connected after %" G_GINT64_FORMAT " ms", waited_us / 1000);
    /* It takes 100 ms; a call may take 25 s. */
    g_assert_cmpint(waited_us, <, 10 * test_factor() * G_USEC_PER_SEC);

    /* Who has the other end must hear that nobody will use it. */
    late = mock_open_socket(s->mock, call, MOCK_SERVICE, MOCK_SOCKET_POLITE);
    test_wait(mock_socket_is_left, late);
    g_assert_false(mock_socket_is_open(late));
    again = query_until_asked(s, 2);
}

/* Nobody but the service may give us one. */
static void
test_forged(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = mock_expect(s->mock, "OpenPeer");
    g_autoptr(MockSocket) forged = mock_open_socket(s->mock, call, MOCK_FORGER, MOCK_SOCKET_POLITE);

    scene_be_connected(s);
    test_wait(mock_socket_is_left, forged);
    g_assert_false(mock_socket_is_open(forged));
    query(s, 2);
    scene_open_socket(s, MOCK_SERVICE);
    query(s, 3);
}

static void
test_forged_refusal(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = mock_expect(s->mock, "OpenPeer");

    mock_answer_error(s->mock, call, MOCK_FORGER, DBUS_ERROR "AccessDenied");
    scene_be_connected(s);
    query(s, 2);
    scene_open_socket(s, MOCK_SERVICE);
    query(s, 3);
}

/* An answer without a socket. */
static void
test_empty(Scene *s, gconstpointer body)
{
    g_autoptr(GDBusMessage) call = mock_expect(s->mock, "OpenPeer");

    mock_answer(s->mock, call, MOCK_SERVICE, body);
    scene_be_connected(s);
    check_refused(s);
}

/* The service goes before it answers; nobody is left to answer, so connecting is over. */
static void
test_gone_while_asking(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = mock_expect(s->mock, "OpenPeer"), again = NULL;

    mock_name_owner_changed(s->mock, MOCK_BUS, NULL);
    scene_be_connected(s);
    scene_change_owner(s, MOCK_SERVICE);
    again = query_until_asked(s, 1);
}

static void
test_replaced_while_asking(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = mock_expect(s->mock, "OpenPeer");
    g_autoptr(MockSocket) old = NULL;

    scene_change_owner(s, NEXT_SERVICE);
    old = mock_open_socket(s->mock, call, MOCK_SERVICE, MOCK_SOCKET_POLITE);
    scene_open_socket(s, NEXT_SERVICE);
    scene_be_connected(s);
    test_wait(mock_socket_is_left, old);
    g_assert_false(mock_socket_is_open(old));
    query(s, 3);
}

/* Closed, and cut, in between. */
static void
test_closed_while_asking(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = mock_expect(s->mock, "OpenPeer");
    g_autoptr(GError) error = NULL;

    if (data != NULL)
        mock_bus_cut(s->mock);
    else
        scene_close(s);
    g_assert_false(web_locks_agent_connect_finish(s->agent, answer_wait(&s->connected), &error));
    g_assert_nonnull(error);
}

/* ---- a socket that is none */

/* All goes by the bus, and nothing else is tried with this service. */
static void
check_by_bus(Scene *s)
{
    g_autoptr(GDBusMessage) request = NULL, release = NULL;
    g_autoptr(WebLocksLock) lock = NULL;

    answer_ask(&s->answer, s->manager, "name");
    request = mock_expect(s->mock, "Request");
    mock_answer(s->mock, request, MOCK_SERVICE, "(uint64 5, uint64 6)");
    lock = answer_expect_lock(&s->answer);
    query(s, 20);
    g_clear_object(&lock);
    release = mock_expect(s->mock, "Release");
    scene_change_owner(s, NEXT_SERVICE);
    scene_resync(s, SCENE_NOTHING);
    scene_open_socket(s, NEXT_SERVICE);
    query(s, 1);
}

static void
test_rude(Scene *s, gconstpointer manners)
{
    g_autoptr(GDBusMessage) call = mock_expect(s->mock, "OpenPeer");
    g_autoptr(MockSocket) rude =
        mock_open_socket(s->mock, call, MOCK_SERVICE, (MockManners)GPOINTER_TO_INT(manners));

    scene_be_connected(s);
    test_wait(mock_socket_is_left, rude);
    test_iterate();
    check_by_bus(s);
}

static void
test_closed_at_once(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = mock_expect(s->mock, "OpenPeer");
    g_autoptr(MockSocket) closed =
        mock_open_socket(s->mock, call, MOCK_SERVICE, MOCK_SOCKET_SILENT);

    mock_socket_close(closed);
    scene_be_connected(s);
    test_iterate();
    check_by_bus(s);
}

/* Nobody waits for it long; it ends before it has said a word, as a service does that has lost its
 * patience. Another time it may be quicker. */
static void
test_silent(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) peer = mock_expect(s->mock, "OpenPeer"), call = NULL;
    g_autoptr(MockSocket) silent =
        mock_open_socket(s->mock, peer, MOCK_SERVICE, MOCK_SOCKET_SILENT);
    g_autoptr(WebLocksLock) lock = NULL;

    scene_be_connected(s);
    test_wait(mock_socket_has_heard, silent);
    answer_ask(&s->answer, s->manager, "name");
    call = mock_expect(s->mock, "Request");
    mock_answer(s->mock, call, MOCK_SERVICE, "(uint64 5, uint64 6)");
    lock = answer_expect_lock(&s->answer);
    mock_socket_close(silent);
    test_iterate();
    query(s, 1);
    scene_open_socket(s, MOCK_SERVICE);
    query(s, 3);
    scene_close(s);
}

/* ---- a good one */

static void
test_used(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = NULL;
    g_autoptr(GDBusMessage) release = NULL;

    query(s, 50);
    lock = scene_lock(s);
    g_clear_object(&lock);
    release = scene_expect(s, "Release");
    g_assert_cmpuint(mock_get_id(release), ==, 5);
    g_assert_false((g_dbus_message_get_flags(release) & G_DBUS_MESSAGE_FLAGS_NO_REPLY_EXPECTED) ==
                   0);
}

/* Who is at the other end is the service, whatever it calls itself. */
static void
test_any_sender(Scene *s, gconstpointer sender)
{
    g_autoptr(GDBusMessage) first = NULL, second = NULL;
    g_autoptr(WebLocksLock) lock = NULL;
    g_auto(Losses) losses = {0};

    first = scene_ask(s);
    mock_socket_answer(s->socket, first, sender, "(uint64 5, uint64 0)");
    mock_socket_signal(s->socket, first, sender, "Granted", GRANTED);
    lock = answer_expect_lock(&s->answer);
    g_assert_cmpuint(web_locks_lock_get_token(lock), ==, 6);
    answer_clear(&s->answer);
    losses_watch(&losses, lock);
    mock_socket_signal(s->socket, first, sender, "Released", STOLEN);
    test_wait(test_is_set, &losses.n_lost);
    g_assert_cmpstr(losses.reason, ==, "stolen");
    second = scene_ask(s);
    mock_socket_answer_error(s->socket, second, sender, "org.w3.WebLocks.Error.Security");
    answer_expect_error(&s->answer, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_SECURITY);
}

/* But what comes by the bus has to come from the service. */
static void
test_forger_on_bus(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_wait(s);
    g_autoptr(WebLocksLock) lock = NULL;

    mock_signal(s->mock, call, MOCK_FORGER, "Granted",
                "(uint64 5, 'name', 'exclusive', '" MOCK_CLIENT "', uint64 99)");
    mock_flush(s->mock);
    query(s, 1);
    g_assert_cmpuint(s->answer.n_results, ==, 0);
    scene_signal(s, call, "Granted", GRANTED);
    lock = answer_expect_lock(&s->answer);
    g_assert_cmpuint(web_locks_lock_get_token(lock), ==, 6);
    scene_close(s);
}

/* OpenPeer is asked behind a call, and answered before it. */
static void
test_opened_with_call_under_way(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = NULL;
    g_autoptr(WebLocksLock) lock = NULL;

    refuse(s, DBUS_ERROR "NoReply");
    scene_be_connected(s);
    query(s, 1);
    call = scene_ask(s);
    scene_open_socket(s, MOCK_SERVICE);
    query(s, 1);
    g_assert_cmpuint(s->answer.n_results, ==, 0);
    mock_answer(s->mock, call, MOCK_SERVICE, "(uint64 5, uint64 6)");
    lock = answer_expect_lock(&s->answer);
    g_clear_object(&lock);
    g_clear_object(&call);
    call = scene_expect(s, "Release");
}

/* ---- spoilt */

/* A Request goes by the bus before OpenPeer is answered; it waits, as id 5. NULL: the answer was
 * too late for the agent. */
static GDBusMessage *
spoil(Scene *s)
{
    g_autoptr(GDBusMessage) peer = mock_expect(s->mock, "OpenPeer");
    GDBusMessage *request;

    web_locks_manager_request_async(s->manager, "name", NULL, s->cancellable, answer_take,
                                    &s->answer);
    request = mock_expect(s->mock, "Request");
    s->socket = mock_open_socket(s->mock, peer, MOCK_SERVICE, MOCK_SOCKET_POLITE);
    scene_be_connected(s);
    mock_answer(s->mock, request, MOCK_SERVICE, "(uint64 5, uint64 0)");
    mock_flush(s->mock);
    if (!mock_socket_wait(s->socket)) {
        g_test_skip("This machine is too slow");
        scene_close(s);
        g_clear_object(&request);
    }
    return request;
}

/* The query of scene_barrier() by the bus, though there is a socket. */
static void
query_by_bus(Scene *s, guint n)
{
    MockSocket *socket = g_steal_pointer(&s->socket);

    query(s, n);
    s->socket = socket;
}

static void
test_spoilt(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) request = spoil(s);
    g_autoptr(WebLocksLock) lock = NULL;
    g_autoptr(MockSocket) spoilt = NULL;

    if (request == NULL)
        return;
    query_by_bus(s, 1);
    g_assert_cmpuint(mock_socket_count(s->socket), ==, 0);
    scene_signal(s, request, "Granted", GRANTED);
    lock = answer_expect_lock(&s->answer);
    g_assert_cmpuint(web_locks_lock_get_token(lock), ==, 6);

    query_by_bus(s, 1);
    g_assert_false(mock_socket_is_left(s->socket));
    spoilt = g_steal_pointer(&s->socket);
    scene_open_socket(s, MOCK_SERVICE);
    test_wait(mock_socket_is_left, spoilt);
    query(s, 3);
    scene_close(s);
}

/* What was sent on it before the next one was opened is taken in. */
static void
test_spoilt_and_next(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) request = spoil(s), peer = NULL;
    g_autoptr(WebLocksLock) lock = NULL;
    g_autoptr(MockSocket) spoilt = NULL;
    g_auto(Losses) losses = {0};

    if (request == NULL)
        return;
    query_by_bus(s, 2);
    peer = mock_expect(s->mock, "OpenPeer");
    scene_signal(s, request, "Granted", GRANTED);
    spoilt = g_steal_pointer(&s->socket);
    mock_socket_close(spoilt);
    s->socket = mock_open_socket(s->mock, peer, MOCK_SERVICE, MOCK_SOCKET_POLITE);
    test_wait(mock_socket_is_open, s->socket);
    scene_signal(s, request, "Released", STOLEN);
    lock = answer_expect_lock(&s->answer);
    losses_watch(&losses, lock);
    query(s, 1);
    g_assert_false(web_locks_lock_get_held(lock));
}

static void
test_spoilt_and_closed(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) request = spoil(s);
    g_autoptr(WebLocksLock) lock = NULL;

    if (request == NULL)
        return;
    query_by_bus(s, 1);
    scene_close_socket(s);
    mock_signal(s->mock, request, MOCK_SERVICE, "Granted", GRANTED);
    lock = answer_expect_lock(&s->answer);
    query(s, 1);
    scene_open_socket(s, MOCK_SERVICE);
    query(s, 3);
    scene_close(s);
}

/* ---- the socket and the bus at once */

static gboolean
is_lost(gpointer lock)
{
    return !web_locks_lock_get_held(lock);
}

/* The grant was sent on the socket, the theft by the bus, when both are read. */
static void
test_socket_first(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) request = spoil(s);
    g_autoptr(WebLocksLock) lock = NULL;
    g_autoptr(GError) error = NULL;

    if (request == NULL)
        return;
    query_by_bus(s, 1);
    scene_signal(s, request, "Granted", GRANTED);
    mock_signal(s->mock, request, MOCK_SERVICE, "Released", STOLEN);
    mock_flush(s->mock);
    lock = answer_get_lock(&s->answer, &error);
    g_assert_no_error(error);
    test_wait(is_lost, lock);
    scene_close(s);
}

static void
test_socket_before_end(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) request = scene_wait(s);
    g_autoptr(WebLocksLock) lock = NULL;
    g_autoptr(GError) error = NULL;

    scene_signal(s, request, "Granted", GRANTED);
    mock_name_owner_changed(s->mock, MOCK_BUS, NULL);
    mock_flush(s->mock);
    lock = answer_get_lock(&s->answer, &error);
    g_assert_no_error(error);
    g_assert_nonnull(lock);
    g_assert_true(web_locks_lock_get_held(lock));
    g_object_unref(mock_expect(s->mock, "Resync"));
    scene_close(s);
}

/* An answer by the bus is no older than what came by the socket: the grant crosses the Abort, and
 * is handed back. */
static void
test_socket_before_answer(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) request = spoil(s), abort = NULL, release = NULL;

    if (request == NULL)
        return;
    query_by_bus(s, 1);
    g_cancellable_cancel(s->cancellable);
    abort = mock_expect(s->mock, "Abort");
    scene_signal(s, request, "Granted", GRANTED);
    mock_answer_error(s->mock, abort, MOCK_SERVICE, "org.w3.WebLocks.Error.NotHeld");
    mock_flush(s->mock);
    answer_expect_error(&s->answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    release = mock_expect(s->mock, "Release");
    g_assert_cmpuint(mock_get_id(release), ==, 5);
}

/* What is sent from within a message of the socket is no reason to leave the socket with all that
 * stands behind that message: a lock that nobody wants any more, and one that somebody awaits. */
static void
test_sent_within_a_message(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) peer = mock_expect(s->mock, "OpenPeer");
    g_autoptr(GDBusMessage) unwanted = NULL, awaited = NULL, abort = NULL, release = NULL;
    g_autoptr(WebLocksLock) lock = NULL;
    g_auto(Answer) answer = {0};

    unwanted = scene_ask_cancellably(s);
    mock_answer(s->mock, unwanted, MOCK_SERVICE, "(uint64 5, uint64 0)");
    answer_ask(&answer, s->manager, "awaited");
    awaited = mock_expect(s->mock, "Request");
    mock_answer(s->mock, awaited, MOCK_SERVICE, "(uint64 7, uint64 0)");
    mock_flush(s->mock);
    test_iterate();
    g_cancellable_cancel(s->cancellable);
    abort = mock_expect(s->mock, "Abort");
    s->socket = mock_open_socket(s->mock, peer, MOCK_SERVICE, MOCK_SOCKET_POLITE);
    scene_be_connected(s);
    if (!mock_socket_wait(s->socket)) {
        g_test_skip("This machine is too slow");
        scene_close(s);
        return;
    }
    scene_signal(s, unwanted, "Granted", GRANTED);
    scene_signal(s, awaited, "Granted",
                 "(uint64 7, 'awaited', 'exclusive', '" MOCK_CLIENT "', uint64 8)");
    lock = answer_expect_lock(&answer);
    g_assert_cmpuint(web_locks_lock_get_token(lock), ==, 8);
    answer_expect_error(&s->answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    release = mock_expect(s->mock, "Release");
    g_assert_cmpuint(mock_get_id(release), ==, 5);
    mock_answer(s->mock, abort, MOCK_SERVICE, "(false,)");
    scene_close(s);
}

/* ---- main */

#define ADD(name, start, func, data) \
    g_test_add("/mock-socket/" name, Scene, data, start, func, scene_end_strictly)

static void
add_asking(void)
{
    ADD("refused/unknown-method", scene_start_asking, test_refused, DBUS_ERROR "UnknownMethod");
    ADD("refused/limits-exceeded", scene_start_asking, test_refused, DBUS_ERROR "LimitsExceeded");
    ADD("refused/access-denied", scene_start_asking, test_refused, DBUS_ERROR "AccessDenied");
    ADD("refused/not-supported", scene_start_asking, test_refused,
        "org.w3.WebLocks.Error.NotSupported");
    ADD("refused/by-the-bus", scene_start_asking, test_refused_by_bus, NULL);
    ADD("refused/by-a-forger", scene_start_asking, test_forged_refusal, NULL);
    ADD("not-now/no-reply", scene_start_asking, test_not_now, DBUS_ERROR "NoReply");
    ADD("not-now/timeout", scene_start_asking, test_not_now, DBUS_ERROR "Timeout");
    ADD("not-now/service-unknown", scene_start_asking, test_not_now, DBUS_ERROR "ServiceUnknown");
    ADD("not-now/name-has-no-owner", scene_start_asking, test_not_now, DBUS_ERROR "NameHasNoOwner");
    ADD("not-now/about-to-leave", scene_start_asking, test_not_now,
        "org.w3.WebLocks.Error.InvalidState");
    ADD("forged", scene_start_asking, test_forged, NULL);
    ADD("without-a-descriptor", scene_start_asking, test_empty, "()");
    ADD("with-something-else", scene_start_asking, test_empty, "('socket',)");
    ADD("gone-while-asking", scene_start_asking, test_gone_while_asking, NULL);
    ADD("replaced-while-asking", scene_start_asking, test_replaced_while_asking, NULL);
    ADD("closed-while-asking", scene_start_asking, test_closed_while_asking, NULL);
    ADD("cut-while-asking", scene_start_asking, test_closed_while_asking, "cut");
    ADD("closed-at-once", scene_start_asking, test_closed_at_once, NULL);
    ADD("closed-in-the-handshake", scene_start_asking, test_rude,
        GINT_TO_POINTER(MOCK_SOCKET_ENDS));
    ADD("rejects-external", scene_start_asking, test_rude, GINT_TO_POINTER(MOCK_SOCKET_REJECTS));
    ADD("mumbles", scene_start_asking, test_rude, GINT_TO_POINTER(MOCK_SOCKET_MUMBLES));
    ADD("silent", scene_start_asking, test_silent, NULL);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!IS_PATIENT) {
        ADD("unanswered", scene_start_asking, test_unanswered, NULL);
        return g_test_run();
    }
    add_asking();
    ADD("used", scene_start_on_socket, test_used, NULL);
    ADD("sender/none", scene_start_on_socket, test_any_sender, NULL);
    ADD("sender/service", scene_start_on_socket, test_any_sender, MOCK_SERVICE);
    ADD("sender/another", scene_start_on_socket, test_any_sender, MOCK_FORGER);
    ADD("forger-on-the-bus", scene_start_on_socket, test_forger_on_bus, NULL);
    ADD("call-under-way", scene_start_asking, test_opened_with_call_under_way, NULL);
    ADD("sent-within-a-message", scene_start_asking, test_sent_within_a_message, NULL);
    ADD("spoilt", scene_start_asking, test_spoilt, NULL);
    ADD("spoilt-and-the-next", scene_start_asking, test_spoilt_and_next, NULL);
    ADD("spoilt-and-closed", scene_start_asking, test_spoilt_and_closed, NULL);
    ADD("before-the-bus/signal", scene_start_asking, test_socket_first, NULL);
    ADD("before-the-bus/end", scene_start_on_socket, test_socket_before_end, NULL);
    ADD("before-the-bus/answer", scene_start_asking, test_socket_before_answer, NULL);
    return g_test_run();
}
