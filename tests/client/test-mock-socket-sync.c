/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sync calls of a thread without a main loop, while the script is unkind to its private socket:
 * none of them hangs. */

#include "tests/client/mock-scene.h"

#define DBUS_ERROR   "org.freedesktop.DBus.Error."
#define NEXT_SERVICE ":1.3"
#define EMPTY        "(@a(sss) [], @a(sss) [])"

/* ---- the thread */

typedef struct {
    MockBus *mock;
    MockSocket *socket;
    GThread *thread;
    char *address;
    int step; /* what the thread is at; atomic */
    int is_done;
} Play;

enum {
    STEP_CONNECTED = 1,
    STEP_LOCKED,
    STEP_RELEASED,
    STEP_QUERIED,
    STEP_DROPPED,
};

static void
step(Play *play, int number)
{
    g_atomic_int_set(&play->step, number);
    g_main_context_wakeup(NULL);
}

/* Connects, takes a lock and releases it, queries, takes another one and drops it. */
static gpointer
run(gpointer data)
{
    Play *play = data;
    g_autoptr(GMainContext) context = g_main_context_new();
    g_autoptr(GError) error = NULL;

    g_main_context_push_thread_default(context);
    {
        g_autoptr(WebLocksAgent) agent =
            web_locks_agent_new_for_address_sync(play->address, NULL, &error);
        g_autoptr(WebLocksManager) manager = NULL;
        g_autoptr(WebLocksLock) lock = NULL;
        g_autoptr(WebLocksSnapshot) snapshot = NULL;

        g_assert_no_error(error);
        manager = web_locks_agent_get_manager(agent, "bucket", &error);
        step(play, STEP_CONNECTED);
        lock = web_locks_manager_request_sync(manager, "name", NULL, NULL, &error);
        g_assert_no_error(error);
        step(play, STEP_LOCKED);
        g_assert_true(web_locks_lock_release_sync(lock, NULL, &error));
        g_assert_no_error(error);
        g_clear_object(&lock);
        step(play, STEP_RELEASED);
        snapshot = web_locks_manager_query_sync(manager, NULL, &error);
        g_assert_no_error(error);
        step(play, STEP_QUERIED);
        lock = web_locks_manager_request_sync(manager, "name", NULL, NULL, &error);
        g_assert_no_error(error);
        g_clear_object(&lock);
        step(play, STEP_DROPPED);
    }
    while (g_main_context_iteration(context, FALSE))
        ;
    g_main_context_pop_thread_default(context);
    g_atomic_int_set(&play->is_done, TRUE);
    g_main_context_wakeup(NULL);
    return NULL;
}

static void
play_start(Play *play, gconstpointer data)
{
    play->mock = mock_bus_new(MOCK_SERVICE);
    play->address = g_strdup(mock_bus_get_address(play->mock));
    play->thread = g_thread_new("player", run, play);
}

static void
play_end(Play *play, gconstpointer data)
{
    test_wait(test_is_set, &play->is_done);
    g_thread_join(play->thread);
    g_clear_pointer(&play->socket, mock_socket_free);
    mock_bus_free(play->mock);
    g_free(play->address);
}

/* ---- the service */

static GDBusMessage *
next_call(Play *play, gboolean *out_is_on_socket)
{
    *out_is_on_socket = play->socket != NULL && mock_socket_count(play->socket) > 0;
    if (*out_is_on_socket)
        return mock_socket_expect_any(play->socket);
    return mock_count(play->mock) > 0 ? mock_expect_any(play->mock) : NULL;
}

typedef struct {
    Play *play;
    int step;
    const char *owner;
} Serve;

/* Answers what comes, wherever it comes, until the thread is so far. OpenPeer is refused. */
static gboolean
serve(gpointer data)
{
    const Serve *serve = data;
    Play *play = serve->play;
    gboolean is_on_socket;
    GDBusMessage *next;

    while ((next = next_call(play, &is_on_socket)) != NULL) {
        g_autoptr(GDBusMessage) call = next;
        const char *member = g_dbus_message_get_member(call);
        const char *body = g_str_equal(member, "Request")  ? "(uint64 5, uint64 6)"
                           : g_str_equal(member, "Query")  ? EMPTY
                           : g_str_equal(member, "Resync") ? "(@a(sttsstt) [],)"
                                                           : "()";

        if (g_dbus_message_get_flags(call) & G_DBUS_MESSAGE_FLAGS_NO_REPLY_EXPECTED)
            continue;
        if (is_on_socket)
            mock_socket_answer(play->socket, call, NULL, body);
        else if (g_str_equal(member, "OpenPeer"))
            mock_answer_error(play->mock, call, serve->owner, DBUS_ERROR "LimitsExceeded");
        else
            mock_answer(play->mock, call, serve->owner, body);
    }
    return g_atomic_int_get(&play->step) >= serve->step;
}

static void
serve_as(Play *play, int until, const char *owner)
{
    Serve data = {play, until, owner};

    test_wait_for(serve, &data, "the thread's next step");
}

static void
serve_until(Play *play, int until)
{
    serve_as(play, until, MOCK_SERVICE);
}

static void
serve_to_end(Play *play)
{
    serve_until(play, STEP_DROPPED);
}

/* The next OpenPeer gets a socket. */
static void
open_socket(Play *play, MockManners manners)
{
    g_autoptr(GDBusMessage) call = mock_expect(play->mock, "OpenPeer");

    play->socket = mock_open_socket(play->mock, call, MOCK_SERVICE, manners);
}

/* ---- the tests */

static void
test_good(Play *play, gconstpointer data)
{
    open_socket(play, MOCK_SOCKET_POLITE);
    serve_to_end(play);
}

static void
test_refused(Play *play, gconstpointer error)
{
    g_autoptr(GDBusMessage) call = mock_expect(play->mock, "OpenPeer");

    mock_answer_error(play->mock, call, MOCK_SERVICE, error);
    serve_to_end(play);
}

static void
test_unanswered(Play *play, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = mock_expect(play->mock, "OpenPeer");

    serve_until(play, STEP_CONNECTED);
    serve_to_end(play);
}

/* Behind each call as well. */
static void
test_never_answered(Play *play, gconstpointer data)
{
    while (g_atomic_int_get(&play->step) < STEP_DROPPED) {
        g_autoptr(GDBusMessage) call = mock_expect_any(play->mock);
        const char *member = g_dbus_message_get_member(call);

        if (g_str_equal(member, "Request"))
            mock_answer(play->mock, call, MOCK_SERVICE, "(uint64 5, uint64 6)");
        else if (g_str_equal(member, "Query"))
            mock_answer(play->mock, call, MOCK_SERVICE, EMPTY);
        else if (g_str_equal(member, "Release") &&
                 !(g_dbus_message_get_flags(call) & G_DBUS_MESSAGE_FLAGS_NO_REPLY_EXPECTED))
            mock_answer(play->mock, call, MOCK_SERVICE, "()");
        else if (g_str_equal(member, "Release"))
            break;
    }
    serve_to_end(play);
}

static void
test_forged(Play *play, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = mock_expect(play->mock, "OpenPeer");
    g_autoptr(MockSocket) forged =
        mock_open_socket(play->mock, call, MOCK_FORGER, MOCK_SOCKET_POLITE);

    serve_to_end(play);
}

static void
test_rude(Play *play, gconstpointer manners)
{
    open_socket(play, (MockManners)GPOINTER_TO_INT(manners));
    serve_to_end(play);
}

static void
test_silent(Play *play, gconstpointer data)
{
    open_socket(play, MOCK_SOCKET_SILENT);
    test_wait(mock_socket_has_heard, play->socket);
    mock_socket_close(play->socket);
    serve_to_end(play);
}

/* It closes with a call of each kind under way. */
static void
test_closed(Play *play, gconstpointer member)
{
    g_autoptr(GDBusMessage) call = NULL;

    open_socket(play, MOCK_SOCKET_POLITE);
    for (;;) {
        call = mock_socket_expect_any(play->socket);
        if (g_str_equal(g_dbus_message_get_member(call), member))
            break;
        mock_socket_answer(play->socket, call, NULL,
                           g_str_equal(g_dbus_message_get_member(call), "Request")
                               ? "(uint64 5, uint64 6)"
                               : "()");
        g_clear_object(&call);
    }
    mock_socket_close(play->socket);
    g_clear_pointer(&play->socket, mock_socket_free);
    serve_to_end(play);
}

/* Between two calls, when nobody looks. */
static void
test_closed_between(Play *play, gconstpointer data)
{
    open_socket(play, MOCK_SOCKET_POLITE);
    serve_until(play, STEP_LOCKED);
    mock_socket_close(play->socket);
    g_clear_pointer(&play->socket, mock_socket_free);
    serve_to_end(play);
}

/* The service is replaced, with a call under way on its socket; the next one answers. */
static void
test_replaced(Play *play, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = NULL;

    open_socket(play, MOCK_SOCKET_POLITE);
    call = mock_socket_expect(play->socket, "Request");
    mock_name_owner_changed(play->mock, MOCK_BUS, NEXT_SERVICE);
    if (data != NULL)
        mock_socket_close(play->socket);
    test_wait(mock_socket_is_left, play->socket);
    g_clear_pointer(&play->socket, mock_socket_free);
    serve_as(play, STEP_DROPPED, NEXT_SERVICE);
}

/* It goes while the thread connects. */
static void
test_gone_while_asking(Play *play, gconstpointer owner)
{
    g_autoptr(GDBusMessage) call = mock_expect(play->mock, "OpenPeer");

    mock_name_owner_changed(play->mock, MOCK_BUS, owner);
    if (owner == NULL) {
        serve_until(play, STEP_CONNECTED);
        mock_name_owner_changed(play->mock, MOCK_BUS, NEXT_SERVICE);
    }
    serve_as(play, STEP_DROPPED, NEXT_SERVICE);
}

/* ---- main */

#define ADD(name, func, data) \
    g_test_add("/mock-socket-sync/" name, Play, data, play_start, func, play_end)

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("good", test_good, NULL);
    ADD("refused", test_refused, DBUS_ERROR "UnknownMethod");
    ADD("not-now", test_refused, DBUS_ERROR "NoReply");
    ADD("unanswered", test_unanswered, NULL);
    ADD("never-answered", test_never_answered, NULL);
    ADD("forged", test_forged, NULL);
    ADD("rude/ends", test_rude, GINT_TO_POINTER(MOCK_SOCKET_ENDS));
    ADD("rude/rejects", test_rude, GINT_TO_POINTER(MOCK_SOCKET_REJECTS));
    ADD("rude/mumbles", test_rude, GINT_TO_POINTER(MOCK_SOCKET_MUMBLES));
    ADD("rude/silent", test_silent, NULL);
    ADD("closed/request", test_closed, "Request");
    ADD("closed/release", test_closed, "Release");
    ADD("closed/query", test_closed, "Query");
    ADD("closed/between", test_closed_between, NULL);
    ADD("replaced", test_replaced, NULL);
    ADD("replaced-and-closed", test_replaced, "closed");
    ADD("gone-while-asking", test_gone_while_asking, NULL);
    ADD("replaced-while-asking", test_gone_while_asking, NEXT_SERVICE);
    return g_test_run();
}
