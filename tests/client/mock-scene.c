/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/client/mock-scene.h"

/* ---- the beginning */

static void
start(Scene *s, gboolean private_socket)
{
    g_autoptr(GError) error = NULL;

    s->owner = MOCK_SERVICE;
    s->mock = mock_bus_new(s->owner);
    s->cancellable = g_cancellable_new();
    s->agent = g_object_new(WEB_LOCKS_TYPE_AGENT, "address", mock_bus_get_address(s->mock),
                            "private-socket", private_socket, NULL);
    s->manager = web_locks_agent_get_manager(s->agent, "bucket", &error);
    g_assert_no_error(error);
    web_locks_agent_connect_async(s->agent, NULL, answer_take, &s->connected);
}

void
scene_be_connected(Scene *s)
{
    g_autoptr(GError) error = NULL;

    web_locks_agent_connect_finish(s->agent, answer_wait(&s->connected), &error);
    g_assert_no_error(error);
    g_assert_cmpstr(web_locks_agent_get_client_id(s->agent), ==, MOCK_CLIENT);
    answer_clear(&s->connected);
}

void
scene_start(Scene *s, gconstpointer data)
{
    start(s, FALSE);
    scene_be_connected(s);
}

void
scene_start_asking(Scene *s, gconstpointer data)
{
    start(s, TRUE);
}

void
scene_start_on_socket(Scene *s, gconstpointer data)
{
    start(s, TRUE);
    scene_open_socket(s, MOCK_SERVICE);
    scene_be_connected(s);
    /* An answer on it shows that it is good. */
    scene_barrier(s);
}

/* ---- the end */

static void
end(Scene *s, gboolean strictly)
{
    answer_clear(&s->connected); /* these have the agent */
    answer_clear(&s->answer);
    g_clear_object(&s->manager);
    g_clear_object(&s->agent);
    g_clear_object(&s->cancellable);
    test_iterate();
    if (strictly) {
        mock_expect_end(s->mock);
        if (s->socket != NULL)
            mock_socket_expect_end(s->socket);
    }
    g_clear_pointer(&s->socket, mock_socket_free);
    mock_bus_free(s->mock);
}

void
scene_end(Scene *s, gconstpointer data)
{
    end(s, FALSE);
}

void
scene_end_strictly(Scene *s, gconstpointer data)
{
    end(s, TRUE);
}

/* ---- the service */

GDBusMessage *
scene_expect(Scene *s, const char *member)
{
    return s->socket != NULL ? mock_socket_expect(s->socket, member) : mock_expect(s->mock, member);
}

void
scene_answer(Scene *s, GDBusMessage *call, const char *body)
{
    if (s->socket != NULL)
        mock_socket_answer(s->socket, call, NULL, body);
    else
        mock_answer(s->mock, call, s->owner, body);
}

void
scene_signal(Scene *s, GDBusMessage *call, const char *member, const char *body)
{
    if (s->socket != NULL)
        mock_socket_signal(s->socket, call, NULL, member, body);
    else
        mock_signal(s->mock, call, s->owner, member, body);
}

/* Queries until there is an OpenPeer, behind one of them. */
static GDBusMessage *
be_asked_again(Scene *s)
{
    GDBusMessage *peer = NULL;

    while (peer == NULL) {
        g_auto(Answer) answer = {0};

        web_locks_manager_query_async(s->manager, NULL, answer_take, &answer);
        while (answer.n_results == 0) {
            g_autoptr(GDBusMessage) call = NULL;

            test_iterate();
            if (mock_count(s->mock) == 0)
                continue;
            call = mock_expect_any(s->mock);
            if (g_str_equal(g_dbus_message_get_member(call), "Query"))
                scene_answer(s, call, "(@a(sss) [], @a(sss) [])");
            else
                peer = g_steal_pointer(&call);
        }
    }
    return peer;
}

/* The agent does not wait long for its answer, and there are slow machines. */
void
scene_open_socket(Scene *s, const char *owner)
{
    g_autoptr(GDBusMessage) call = mock_expect(s->mock, "OpenPeer");

    for (guint n_attempts = 0; n_attempts < 5; n_attempts++) {
        g_clear_pointer(&s->socket, mock_socket_free);
        s->socket = mock_open_socket(s->mock, call, owner, MOCK_SOCKET_POLITE);
        if (mock_socket_wait(s->socket))
            return;
        g_clear_pointer(&s->socket, mock_socket_free);
        g_clear_object(&call);
        call = be_asked_again(s);
    }
    g_error("The agent takes no socket");
}

void
scene_close_socket(Scene *s)
{
    mock_socket_expect_end(s->socket);
    mock_socket_close(s->socket);
    g_clear_pointer(&s->socket, mock_socket_free);
    test_iterate();
}

void
scene_change_owner(Scene *s, const char *owner)
{
    s->owner = owner;
    mock_name_owner_changed(s->mock, MOCK_BUS, owner);
    mock_flush(s->mock);
    test_iterate();
}

GDBusMessage *
scene_expect_resync(Scene *s, const char *destination)
{
    GDBusMessage *call = scene_expect(s, "Resync");

    g_assert_cmpstr(g_dbus_message_get_destination(call), ==, destination);
    g_assert_cmpstr(g_dbus_message_get_path(call), ==, "/org/w3/WebLocks");
    g_assert_cmpstr(g_dbus_message_get_interface(call), ==, "org.w3.WebLocks.Service");
    g_assert_null(g_dbus_message_get_body(call));
    g_assert_cmpint(g_dbus_message_get_flags(call) & G_DBUS_MESSAGE_FLAGS_NO_AUTO_START, ==, 0);
    return call;
}

void
scene_answer_resync(Scene *s, GDBusMessage *call, const char *list)
{
    g_autofree char *body = g_strdup_printf("(%s,)", list);

    scene_answer(s, call, body);
    if (s->socket == NULL)
        mock_flush(s->mock);
    test_iterate();
}

void
scene_resync(Scene *s, const char *list)
{
    g_autoptr(GDBusMessage) call = scene_expect(s, "Resync");

    scene_answer_resync(s, call, list);
}

void
scene_restart(Scene *s, const char *owner, const char *list)
{
    g_autoptr(GDBusMessage) call = NULL;

    scene_change_owner(s, NULL);
    call = scene_expect_resync(s, "org.w3.WebLocks");
    scene_change_owner(s, owner);
    scene_answer_resync(s, call, list);
}

/* ---- the agent */

static GDBusMessage *
ask(Scene *s, GCancellable *cancellable)
{
    web_locks_manager_request_async(s->manager, "name", NULL, cancellable, answer_take, &s->answer);
    return scene_expect(s, "Request");
}

GDBusMessage *
scene_ask(Scene *s)
{
    return ask(s, NULL);
}

GDBusMessage *
scene_ask_cancellably(Scene *s)
{
    return ask(s, s->cancellable);
}

static GDBusMessage *
let_wait(Scene *s, GDBusMessage *call)
{
    scene_answer(s, call, "(uint64 5, uint64 0)");
    scene_barrier(s);
    g_assert_cmpuint(s->answer.n_results, ==, 0);
    return call;
}

GDBusMessage *
scene_wait(Scene *s)
{
    return let_wait(s, scene_ask(s));
}

GDBusMessage *
scene_wait_cancellably(Scene *s)
{
    return let_wait(s, scene_ask_cancellably(s));
}

WebLocksLock *
scene_lock(Scene *s)
{
    g_autoptr(GDBusMessage) call = scene_ask(s);
    g_auto(Answer) answer = {0};

    scene_answer(s, call, "(uint64 5, uint64 6)");
    answer_wait(&s->answer);
    answer = s->answer;
    s->answer = (Answer){0};
    return answer_expect_lock(&answer);
}

void
scene_barrier(Scene *s)
{
    g_auto(Answer) answer = {0};
    g_autoptr(GDBusMessage) call = NULL;
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksSnapshot) snapshot = NULL;

    web_locks_manager_query_async(s->manager, NULL, answer_take, &answer);
    call = scene_expect(s, "Query");
    scene_answer(s, call, "(@a(sss) [], @a(sss) [])");
    snapshot = web_locks_manager_query_finish(s->manager, answer_wait(&answer), &error);
    g_assert_no_error(error);
    test_iterate();
}

void
scene_close(Scene *s)
{
    web_locks_agent_close(s->agent);
}
