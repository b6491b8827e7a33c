/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs cases on weblocksd by packets: each agent has a connection to the bus, and a lock socket for
 * everything except queries. The case's ids are the keys of the requests. */

#include <poll.h>

#include "common/bus-names.h"
#include "tests/lib/raw-client.h"
#include "tests/spec/bus-session.h"

#define PATIENCE_MS 20000

/* Keys of requests without a key in the case, distinct from those in cases. */
#define FIRST_KEY 1000000u

typedef struct {
    BusClient base;
    GDBusConnection *connection;
    RawClient *socket;
    GHashTable *requests; /* key -> const SpecRequest of the case */
} Client;

typedef struct {
    BusSession base;
    guint64 last_key;
} Session;

static const char *
get_skip_reason_of_step(const SpecStep *step)
{
    const char *mode = step->request.mode;

    if (step->verb == SPEC_RELEASE || step->verb == SPEC_ABORT) {
        if (step->bucket != NULL)
            return "RELEASE and ABORT name no bucket";
        if (g_strcmp0(step->label, "0") == 0)
            return "key 0 is malformed";
    }
    if (step->verb == SPEC_WATCH)
        return "signals for watchers are sent on the bus, in no order with packets";
    if (mode != NULL && !g_str_equal(mode, "shared") && !g_str_equal(mode, "exclusive"))
        return "a mode is a number";
    return NULL;
}

static const char *
get_skip_reason(const SpecCase *spec)
{
    const char *reason = NULL;

    for (guint i = 0; reason == NULL && i < spec->steps->len; i++)
        reason = get_skip_reason_of_step(spec->steps->pdata[i]);
    return reason;
}

/* ---- clients */

static gpointer
start(const char *const *limits)
{
    Session *session = bus_session_start(sizeof(Session), limits);

    session->last_key = FIRST_KEY;
    return session;
}

static void
join(gpointer self, char letter)
{
    GDBusConnection *connection = private_bus_connect(bus_session_bus());
    Client *client = bus_session_add_client(self, sizeof(Client), letter,
                                            g_dbus_connection_get_unique_name(connection));

    client->connection = connection;
    client->requests = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    client->socket = raw_client_new(client->connection);
    g_assert_cmpuint(
        ((const PacketLive *)raw_client_expect(client->socket, PACKET_LIVE))->n_entries, ==, 0);
}

static void
die(gpointer self, char letter)
{
    Client *client = bus_session_remove_client(self, letter);

    private_bus_kill_connection(bus_session_bus(), client->connection);
    raw_client_free(client->socket);
    g_object_unref(client->connection);
    g_hash_table_unref(client->requests);
    bus_session_free_client(client);
}

/* ---- messages of the service */

static SpecEvent *
add_event(Client *client, SpecVerb kind, guint64 key)
{
    const SpecRequest *request = g_hash_table_lookup(client->requests, &key);
    SpecEvent *event = spec_event_new(kind, key, client->base.letter);

    g_assert_nonnull(request);
    event->bucket = g_strdup(request->bucket);
    event->name = g_strdup(request->name);
    event->mode = g_strdup(request->mode != NULL ? request->mode : "exclusive");
    g_queue_push_tail(&client->base.events, event);
    return event;
}

static void
take_event_message(Client *client, const PacketHead *head)
{
    static const char *const reasons[] = {
        [PACKET_REASON_STOLEN] = "stolen",
        [PACKET_REASON_TIMEOUT] = "timeout",
        [PACKET_REASON_TERMINATED] = "terminated",
        [PACKET_REASON_LOST] = "lost",
    };

    if (head->kind == PACKET_GRANTED) {
        const PacketGranted *granted = (const PacketGranted *)head;

        add_event(client, SPEC_GRANTED, granted->key)->token = granted->token;
    } else {
        const PacketEnded *ended = (const PacketEnded *)head;

        g_assert_cmpuint(head->kind, ==, PACKET_ENDED);
        g_assert_cmpuint(ended->reason, <, G_N_ELEMENTS(reasons));
        add_event(client, SPEC_RELEASED, ended->key)->reason = g_strdup(reasons[ended->reason]);
    }
}

/* Sends what has been written, and returns the answer to the last call. */
static const PacketAnswer *
call(Client *client)
{
    const guint64 serial = client->socket->last_serial;
    const PacketHead *head;

    raw_client_send(client->socket);
    for (;;) {
        head = raw_client_receive(client->socket);
        g_assert_nonnull(head);
        if (head->kind == PACKET_ANSWER)
            break;
        take_event_message(client, head);
    }
    g_assert_cmpuint(head->serial, ==, serial);
    return (const PacketAnswer *)head;
}

/* ---- calls */

static void
take_answer(const PacketAnswer *from, SpecAnswer *answer)
{
    static const struct {
        const char *name;
        const char *message; /* packets have no message: the words that cases check */
    } errors[N_PACKET_ERRORS] = {
        [PACKET_ERROR_INVALID_ARGS] = {"InvalidArgs", "timeout, key, name or why"},
        [PACKET_ERROR_NOT_SUPPORTED] = {"NotSupported", "name, steal or signal"},
        [PACKET_ERROR_INVALID_STATE] = {"InvalidState", ""},
        [PACKET_ERROR_NOT_HELD] = {"NotHeld", ""},
        [PACKET_ERROR_LIMITS_EXCEEDED] = {"LimitsExceeded", NULL},
    };

    answer->token = from->token;
    answer->aborted = from->aborted;
    answer->error = g_strdup(errors[from->error].name);
    answer->message = g_strdup(from->error == PACKET_ERROR_LIMITS_EXCEEDED && from->limit > 0
                                   ? limit_id_get_name(from->limit - 1)
                                   : errors[from->error].message);
}

static void
request_lock(gpointer self, char letter, const SpecRequest *wanted, SpecAnswer *answer)
{
    Session *session = self;
    Client *client = bus_session_get_client(session, letter);
    const guint64 key = wanted->key != 0 ? wanted->key : ++session->last_key;
    const PacketAnswer *reply;
    guint8 options = 0;

    if (wanted->if_available)
        options |= PACKET_OPTION_IF_AVAILABLE;
    if (wanted->steal || wanted->steal_method)
        options |= PACKET_OPTION_STEAL;
    if (wanted->signal)
        options |= PACKET_OPTION_SIGNAL;
    packet_write_request(
        client->socket->out, raw_client_next_serial(client->socket), key, wanted->timeout_ms,
        g_strcmp0(wanted->mode, "shared") == 0 ? LOCK_MODE_SHARED : LOCK_MODE_EXCLUSIVE, options,
        wanted->bucket, wanted->name, wanted->why);
    reply = call(client);
    take_answer(reply, answer);
    answer->id = reply->state != PACKET_STATE_NONE ? key : 0;
    /* A repeated request changes nothing about the first. */
    if (answer->id != 0 && !g_hash_table_contains(client->requests, &key))
        g_hash_table_insert(client->requests, g_memdup2(&key, sizeof key), (gpointer)wanted);
}

static void
call_with_key(Session *session, char letter, PacketKind kind, guint64 key, SpecAnswer *answer)
{
    Client *client = bus_session_get_client(session, letter);

    packet_write_key(client->socket->out, kind, 0, raw_client_next_serial(client->socket), key);
    take_answer(call(client), answer);
    if (answer->error == NULL && (kind == PACKET_RELEASE || answer->aborted))
        g_hash_table_remove(client->requests, &key);
}

static void
release_lock(gpointer self, char letter, const char *bucket, guint64 id, SpecAnswer *answer)
{
    call_with_key(self, letter, PACKET_RELEASE, id, answer);
}

static void
abort_request(gpointer self, char letter, const char *bucket, guint64 id, SpecAnswer *answer)
{
    call_with_key(self, letter, PACKET_ABORT, id, answer);
}

/* On the bus, like all calls other than lock operations. */
static void
break_locks(gpointer self, char letter, const char *bucket, const char *name, SpecAnswer *answer)
{
    const Client *client = bus_session_get_client(self, letter);
    g_autoptr(GVariant) reply = NULL;
    g_autofree char *path = private_bus_make_path(bucket);
    g_autoptr(GError) error = NULL;
    guint32 count = 0;

    reply = g_dbus_connection_call_sync(
        client->connection, BUS_SERVICE_NAME, path, BUS_LOCKS_INTERFACE, "Break",
        g_variant_new("(sa{sv})", name, NULL), G_VARIANT_TYPE("(u)"),
        G_DBUS_CALL_FLAGS_NO_AUTO_START, -1, NULL, &error);
    if (reply != NULL)
        g_variant_get(reply, "(u)", &count);
    answer->id = count;
    if (error != NULL) {
        g_autofree char *remote = g_dbus_error_get_remote_error(error);

        answer->error = g_strdup(strrchr(remote, '.') + 1);
        answer->message = g_strdup(error->message);
    }
}

static void
query(gpointer self, char letter, const char *bucket, GPtrArray *held, GPtrArray *pending)
{
    const Client *client = bus_session_get_client(self, letter);
    g_autoptr(GVariant) reply = NULL, held_entries = NULL, pending_entries = NULL;
    g_autofree char *path = private_bus_make_path(bucket);
    g_autoptr(GError) error = NULL;

    reply = g_dbus_connection_call_sync(
        client->connection, BUS_SERVICE_NAME, path, BUS_LOCKS_INTERFACE, "Query", NULL,
        G_VARIANT_TYPE("(a(sss)a(sss))"), G_DBUS_CALL_FLAGS_NO_AUTO_START, -1, NULL, &error);
    g_assert_no_error(error);
    g_variant_get(reply, "(@a(sss)@a(sss))", &held_entries, &pending_entries);
    bus_session_append_rows(self, held_entries, held);
    bus_session_append_rows(self, pending_entries, pending);
}

/* ---- time */

/* Everything that the bus has sent to the service, such as disconnects, comes before the ping; its
 * effects come before the answer to SYNC. */
static void
settle(gpointer self)
{
    const BusSession *session = self;

    private_bus_ping_service(bus_session_bus());
    for (guint i = 0; i < SPEC_AGENTS; i++) {
        Client *client = (Client *)session->clients[i];

        if (client == NULL)
            continue;
        packet_write_head(client->socket->out, PACKET_SYNC, raw_client_next_serial(client->socket));
        call(client);
    }
}

/* Events for other clients that are caused by an event are sent in the same turn, so they have
 * arrived after settle(). */
static void
await(gpointer self, char letter)
{
    Client *client = bus_session_get_client(self, letter);
    struct pollfd polled = {.fd = client->socket->fd, .events = POLLIN};

    if (client->base.events.length == 0)
        poll(&polled, 1, PATIENCE_MS);
    settle(self);
}

static SpecEvent *
take_event(gpointer self, char letter)
{
    Client *client = bus_session_get_client(self, letter);
    SpecEvent *event = bus_session_take_event(self, letter);

    if (event != NULL && event->kind == SPEC_RELEASED)
        g_hash_table_remove(client->requests, &event->id);
    return event;
}

const SpecDriver spec_driver_socket = {
    .name = "socket",
    .get_skip_reason = get_skip_reason,
    .set_up = bus_session_set_up,
    .tear_down = bus_session_tear_down,
    .start = start,
    .stop = bus_session_stop,
    .join = join,
    .die = die,
    .request = request_lock,
    .release = release_lock,
    .abort = abort_request,
    .break_locks = break_locks,
    .query = query,
    .settle = settle,
    .await = await,
    .take_event = take_event,
};
