/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The service's side of a script: the messages that it expects and sends. */

#include <string.h>

#include "common/bus-names.h"
#include "tests/client/script.h"

/* ---- expected messages */

static gboolean
has_call(gpointer data)
{
    const Script *s = data;

    return mock_service_peek(s->service) != NULL;
}

void
script_expect_call(Script *s, const char *member)
{
    if (s->service == NULL)
        script_fail(s, "no service is running");
    test_wait_for(has_call, s, s->where);
    g_set_object(&s->call, NULL);
    s->call = mock_service_take(s->service);
    if (!g_str_equal(g_dbus_message_get_member(s->call), member))
        script_fail(s, "the client called %s", g_dbus_message_get_member(s->call));
}

/* The filter `after` of Inspect. */
static void
check_after(Script *s, const char *expected)
{
    g_autoptr(GVariant) filters = NULL;
    guint64 after = 0;

    g_variant_get(g_dbus_message_get_body(s->call), "(@a{sv})", &filters);
    g_variant_lookup(filters, "after", "t", &after);
    if (after != g_ascii_strtoull(expected, NULL, 10))
        script_fail(s, "the client asked for what is after %" G_GUINT64_FORMAT, after);
}

/* METHOD [after CURSOR]; METHOD PATH */
static void
expect_call(Script *s, char **words)
{
    script_expect_call(s, words[0]);
    if (g_strcmp0(words[1], "after") == 0) {
        check_after(s, words[2]);
        return;
    }
    if (words[1] != NULL && !g_str_equal(g_dbus_message_get_path(s->call), words[1]))
        script_fail(s, "the client called %s at %s", words[0], g_dbus_message_get_path(s->call));
}

static void
expect_packet(Script *s, char **words)
{
    g_autofree PacketHead *head = NULL;

    if (s->socket == NULL)
        script_fail(s, "no socket has been sent");
    head = mock_socket_receive(s->socket, s->where);
    if (head != NULL)
        script_check_message(s, head, words);
    else if (!g_str_equal(words[0], "EOF"))
        script_fail(s, "the client closed the socket");
    else
        g_clear_pointer(&s->socket, mock_socket_free);
}

/* > MESSAGE, in capitals; or > METHOD, see expect_call() */
static void
do_expect(Script *s, char **words)
{
    if (g_ascii_islower(words[1][strlen(words[1]) - 1]))
        expect_call(s, words + 1);
    else
        expect_packet(s, words + 1);
}

/* A call on the bus is processed after all earlier messages of the client. */
void
script_check_quiet(Script *s)
{
    g_autoptr(WebLocksManager) manager = web_locks_manager_new(s->agent, "bucket");
    Operation query = {.kind = OPERATION_QUERY, .target = G_OBJECT(manager)};

    test_iterate();
    if (s->service == NULL)
        return;
    if (manager != NULL && web_locks_agent_get_connected(s->agent)) {
        operation_start(&query, s->is_sync);
        script_expect_call(s, "Query");
        mock_service_reply(s->service, s->call, "(@a(sss) [], @a(sss) [])");
        test_wait_for(operation_has_ended, &query, s->where);
        g_assert_no_error(query.error);
        operation_clear(&query);
        test_iterate();
    }
    if (mock_service_peek(s->service) != NULL)
        script_fail(s, "before this, the client called %s",
                    g_dbus_message_get_member(mock_service_peek(s->service)));
    if (s->socket != NULL && mock_socket_has_message(s->socket)) {
        char *nothing[] = {NULL};
        g_autofree PacketHead *head = mock_socket_receive(s->socket, s->where);

        script_check_message(s, head, nothing);
    }
}

/* ---- messages on the bus */

static void
forget_unanswered(Script *s)
{
    ScriptCall *call;

    while ((call = g_queue_pop_head(&s->unanswered)) != NULL) {
        g_free(call->of);
        g_free(call);
    }
}

/* socket [small] [version N] [handle N]. Calls on the previous socket get no answer any more. */
static void
send_socket(Script *s, char **words)
{
    guint32 version = PACKET_VERSION;
    gboolean is_small = FALSE;
    int fd, handle = 0;

    for (; words[0] != NULL; words++) {
        if (g_str_equal(words[0], "small"))
            is_small = TRUE;
        else if (g_str_equal(words[0], "handle"))
            handle = (int)g_ascii_strtoll(*++words, NULL, 10);
        else
            version = (guint32)g_ascii_strtoull(*++words, NULL, 10);
    }
    forget_unanswered(s);
    g_clear_pointer(&s->socket, mock_socket_free);
    s->socket = mock_socket_new(is_small, &fd);
    mock_service_reply_socket(s->service, s->call, fd, handle, version);
}

static void
send_error(Script *s, const char *name)
{
    static const char *const own_errors[] = {"NotSupported", "Security", "InvalidState", "NotHeld",
                                             NULL};
    g_autofree char *full =
        g_strconcat(strchr(name, '.') != NULL           ? ""
                    : g_strv_contains(own_errors, name) ? BUS_ERROR_PREFIX
                                                        : "org.freedesktop.DBus.Error.",
                    name, NULL);

    mock_service_reply_error(s->service, s->call, full);
}

/* signal MEMBER BODY [PATH]: to the agent. "%s" is its unique name; without a path it is that of
 * the bucket "bucket". */
static void
send_signal(Script *s, char **words)
{
    const char *client_id = web_locks_agent_get_client_id(s->agent);
    g_auto(GStrv) parts = g_strsplit(words[1], "%s", -1);
    g_autofree char *body = g_strjoinv(client_id, parts);

    mock_service_signal(s->service, client_id, words[2], words[0], body);
}

/* ---- messages on the socket */

static void
send_packet(Script *s, char **words)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();

    if (s->socket == NULL)
        script_fail(s, "no socket has been sent");
    script_write_message(s, bytes, words);
    mock_socket_send(s->socket, bytes);
}

static void
send_text(Script *s, const char *text)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();

    g_byte_array_append(bytes, (const guint8 *)text, (guint)strlen(text));
    mock_socket_send(s->socket, bytes);
}

/* < MESSAGE [+ MESSAGE]...; < EOF; < text TEXT; to the last call on the bus: < socket, < reply
 * BODY, < error NAME; < signal MEMBER BODY */
static void
do_send(Script *s, char **words)
{
    words++;
    if (g_str_equal(words[0], "EOF"))
        g_clear_pointer(&s->socket, mock_socket_free);
    else if (g_str_equal(words[0], "text"))
        send_text(s, words[1]);
    else if (g_str_equal(words[0], "socket"))
        send_socket(s, words + 1);
    else if (g_str_equal(words[0], "reply"))
        mock_service_reply(s->service, s->call, words[1]);
    else if (g_str_equal(words[0], "error"))
        send_error(s, words[1]);
    else if (g_str_equal(words[0], "signal"))
        send_signal(s, words + 1);
    else
        send_packet(s, words);
}

/* [small] [LABEL waits | LABEL held TOKEN]...: the next call is OpenSocket, and gets one. */
static void
do_open(Script *s, char **words)
{
    char *small[] = {(char *)"small", NULL}, *none[] = {NULL};
    const gboolean is_small = g_strcmp0(words[1], "small") == 0;
    g_auto(GStrv) live = g_strdupv(words + (is_small ? 1 : 0));

    script_expect_call(s, "OpenSocket");
    send_socket(s, is_small ? small : none);
    g_free(live[0]);
    live[0] = g_strdup("LIVE");
    send_packet(s, live);
}

/* ---- start and end */

/* [first]: the service that was replaced */
static void
do_die(Script *s, char **words)
{
    if (words[1] != NULL) {
        g_clear_pointer(&s->socket, mock_socket_free);
        g_clear_pointer(&s->replaced, mock_service_free);
        return;
    }
    g_clear_pointer(&s->socket, mock_socket_free);
    g_clear_pointer(&s->service, mock_service_free);
    test_iterate();
}

static void
do_return(Script *s, char **words)
{
    s->service = mock_service_new(test_bus());
}

/* The name is taken over by another service, and the first one continues. */
static void
do_replace(Script *s, char **words)
{
    s->replaced = s->service;
    s->service = mock_service_new(test_bus());
    test_iterate();
}

/* "unopened": about the beginning of the case. */
static void
do_nothing(Script *s, char **words)
{
}

const ScriptVerb script_service_verbs[] = {
    {">", do_expect},      {"<", do_send},          {"open", do_open},        {"die", do_die},
    {"return", do_return}, {"replace", do_replace}, {"unopened", do_nothing}, {NULL, NULL},
};
