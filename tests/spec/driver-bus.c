/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs cases on weblocksd through a message bus. Each agent is a separate connection that uses
 * GDBus with proxies generated from introspection/, so a second implementation of D-Bus is tested,
 * too. */

#include "common/bus-names.h"
#include "tests/spec/bus-session.h"
#include "weblocks-proxies.h"

typedef struct {
    BusClient base;
    GDBusConnection *connection;
    GHashTable *buckets; /* bucket -> WlWebLocks */
} Client;

/* ---- clients */

static gpointer
start(const char *const *limits)
{
    return bus_session_start(sizeof(BusSession), limits);
}

static void
join(gpointer self, char letter)
{
    GDBusConnection *connection = private_bus_connect(bus_session_bus());
    Client *client = bus_session_add_client(self, sizeof(Client), letter,
                                            g_dbus_connection_get_unique_name(connection));

    client->connection = connection;
    client->buckets = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_object_unref);
}

static void
die(gpointer self, char letter)
{
    Client *client = bus_session_remove_client(self, letter);

    private_bus_kill_connection(bus_session_bus(), client->connection);
    g_hash_table_unref(client->buckets);
    g_object_unref(client->connection);
    bus_session_free_client(client);
}

/* ---- events */

typedef struct {
    BusSession *session;
    Client *client;
    char *bucket;
} Listener;

static void
listener_free(gpointer data, GClosure *closure)
{
    Listener *listener = data;

    g_free(listener->bucket);
    g_free(listener);
}

static SpecEvent *
add_event(const Listener *listener,
          SpecVerb kind,
          guint64 id,
          const char *name,
          const char *mode,
          const char *client_id)
{
    SpecEvent *event =
        spec_event_new(kind, id, bus_session_find_letter(listener->session, client_id));

    event->bucket = g_strdup(listener->bucket);
    event->name = g_strdup(name);
    event->mode = g_strdup(mode);
    g_queue_push_tail(&listener->client->base.events, event);
    return event;
}

static void
on_granted(WlWebLocks *proxy,
           guint64 id,
           const char *name,
           const char *mode,
           const char *client_id,
           guint64 token,
           gpointer data)
{
    add_event(data, SPEC_GRANTED, id, name, mode, client_id)->token = token;
}

static void
on_released(WlWebLocks *proxy,
            guint64 id,
            const char *name,
            const char *mode,
            const char *client_id,
            const char *reason,
            gpointer data)
{
    add_event(data, SPEC_RELEASED, id, name, mode, client_id)->reason = g_strdup(reason);
}

static void
on_waiting(WlWebLocks *proxy,
           guint64 id,
           const char *name,
           const char *mode,
           const char *client_id,
           gpointer data)
{
    add_event(data, SPEC_WAITING, id, name, mode, client_id);
}

static void
listen(BusSession *session, Client *client, const char *bucket, WlWebLocks *proxy)
{
    static const struct {
        const char *signal;
        GCallback callback;
    } signals[] = {{"granted", G_CALLBACK(on_granted)},
                   {"released", G_CALLBACK(on_released)},
                   {"waiting", G_CALLBACK(on_waiting)}};

    for (guint i = 0; i < G_N_ELEMENTS(signals); i++) {
        Listener *listener = g_new0(Listener, 1);

        listener->session = session;
        listener->client = client;
        listener->bucket = g_strdup(bucket);
        g_signal_connect_data(proxy, signals[i].signal, signals[i].callback, listener,
                              listener_free, (GConnectFlags)0);
    }
}

/* ---- objects */

static WlWebLocks *
get_proxy(BusSession *session, char letter, const char *bucket)
{
    Client *client = bus_session_get_client(session, letter);
    WlWebLocks *proxy = g_hash_table_lookup(client->buckets, bucket);
    g_autofree char *path = private_bus_make_path(bucket);
    g_autoptr(GError) error = NULL;

    if (proxy != NULL)
        return proxy;
    proxy = wl_web_locks_proxy_new_sync(client->connection, G_DBUS_PROXY_FLAGS_DO_NOT_AUTO_START,
                                        BUS_SERVICE_NAME, path, NULL, &error);
    g_assert_no_error(error);
    listen(session, client, bucket, proxy);
    g_hash_table_insert(client->buckets, g_strdup(bucket), proxy);
    return proxy;
}

/* ---- calls */

static void
take_error(SpecAnswer *answer, GError *error)
{
    g_autofree char *name = NULL;

    if (error == NULL)
        return;
    name = g_dbus_error_get_remote_error(error);
    if (name == NULL)
        name = g_strdup(error->message);
    g_dbus_error_strip_remote_error(error);
    answer->error = g_strdup(strrchr(name, '.') != NULL ? strrchr(name, '.') + 1 : name);
    answer->message = g_strdup(error->message);
}

static GVariant *
make_options(const SpecRequest *wanted)
{
    GVariantDict dict;

    g_variant_dict_init(&dict, NULL);
    if (wanted->mode != NULL)
        g_variant_dict_insert(&dict, BUS_OPTION_MODE, "s", wanted->mode);
    if (wanted->if_available)
        g_variant_dict_insert(&dict, BUS_OPTION_IF_AVAILABLE, "b", TRUE);
    if (wanted->steal)
        g_variant_dict_insert(&dict, BUS_OPTION_STEAL, "b", TRUE);
    if (wanted->signal)
        g_variant_dict_insert(&dict, BUS_OPTION_SIGNAL, "b", TRUE);
    if (wanted->timeout_ms != 0)
        g_variant_dict_insert(&dict, BUS_OPTION_TIMEOUT, "u", wanted->timeout_ms);
    if (wanted->key != 0)
        g_variant_dict_insert(&dict, BUS_OPTION_KEY, "t", wanted->key);
    if (wanted->why != NULL)
        g_variant_dict_insert(&dict, BUS_OPTION_WHY, "s", wanted->why);
    return g_variant_dict_end(&dict);
}

static void
request_lock(gpointer self, char letter, const SpecRequest *wanted, SpecAnswer *answer)
{
    WlWebLocks *proxy = get_proxy(self, letter, wanted->bucket);
    g_autoptr(GError) error = NULL;

    if (wanted->steal_method)
        wl_web_locks_call_steal_sync(proxy, wanted->name, make_options(wanted), &answer->id,
                                     &answer->token, NULL, &error);
    else
        wl_web_locks_call_request_sync(proxy, wanted->name, make_options(wanted), &answer->id,
                                       &answer->token, NULL, &error);
    take_error(answer, error);
}

static void
release_lock(gpointer self, char letter, const char *bucket, guint64 id, SpecAnswer *answer)
{
    g_autoptr(GError) error = NULL;

    wl_web_locks_call_release_sync(get_proxy(self, letter, bucket), id, NULL, &error);
    take_error(answer, error);
}

static void
abort_request(gpointer self, char letter, const char *bucket, guint64 id, SpecAnswer *answer)
{
    g_autoptr(GError) error = NULL;

    wl_web_locks_call_abort_sync(get_proxy(self, letter, bucket), id, &answer->aborted, NULL,
                                 &error);
    take_error(answer, error);
}

static void
break_locks(gpointer self, char letter, const char *bucket, const char *name, SpecAnswer *answer)
{
    g_autoptr(GError) error = NULL;
    guint count = 0;

    wl_web_locks_call_break_sync(get_proxy(self, letter, bucket), name,
                                 g_variant_new("a{sv}", NULL), &count, NULL, &error);
    answer->id = count;
    take_error(answer, error);
}

static void
query(gpointer self, char letter, const char *bucket, GPtrArray *held, GPtrArray *pending)
{
    g_autoptr(GVariant) held_entries = NULL;
    g_autoptr(GVariant) pending_entries = NULL;
    g_autoptr(GError) error = NULL;

    wl_web_locks_call_query_sync(get_proxy(self, letter, bucket), &held_entries, &pending_entries,
                                 NULL, &error);
    g_assert_no_error(error);
    bus_session_append_rows(self, held_entries, held);
    bus_session_append_rows(self, pending_entries, pending);
}

static void
watch(gpointer self, char letter, const char *bucket)
{
    g_autoptr(GError) error = NULL;

    wl_web_locks_call_watch_sync(get_proxy(self, letter, bucket), TRUE, NULL, &error);
    g_assert_no_error(error);
}

/* ---- time */

/* The reply to a ping arrives after everything that the service sent before it, and GDBus
 * dispatches in order. */
static void
settle(gpointer self)
{
    const BusSession *session = self;

    for (guint i = 0; i < SPEC_AGENTS; i++) {
        const Client *client = (const Client *)session->clients[i];
        g_autoptr(GVariant) reply = NULL;
        g_autoptr(GError) error = NULL;

        if (client == NULL)
            continue;
        reply = g_dbus_connection_call_sync(client->connection, BUS_SERVICE_NAME, BUS_SERVICE_PATH,
                                            "org.freedesktop.DBus.Peer", "Ping", NULL, NULL,
                                            G_DBUS_CALL_FLAGS_NO_AUTO_START, -1, NULL, &error);
        g_assert_no_error(error);
        g_assert_nonnull(reply);
    }
    while (g_main_context_iteration(NULL, FALSE))
        ;
}

/* Events for other clients that are caused by an event are sent in the same turn, so they have
 * arrived after a ping. */
static void
await(gpointer self, char letter)
{
    bus_session_wait_event(self, letter);
    settle(self);
}

const SpecDriver spec_driver_bus = {
    .name = "bus",
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
    .watch = watch,
    .settle = settle,
    .await = await,
    .take_event = bus_session_take_event,
};
