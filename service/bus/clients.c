/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/clients.h"

#include "common/wire-names.h"
#include "service/bus/announce.h"
#include "service/bus/bus-faults.h"
#include "service/bus/kept-call.h"
#include "service/bus/peers.h"
#include "service/bus/replies.h"
#include "service/bus/watchers.h"
#include "service/core/principal.h"
#include "service/fault.h"
#include "service/state/state.h"

/* When there was no room for the question who somebody is, it is asked again, so many times. */
#define ASK_AGAIN_MS 20
#define ASKS_MAX     50

/* A call in `deferred`. */
typedef struct {
    sd_bus_message *call;
    guint64 position;
    CallSize size;
} DeferredCall;

/* What the bytes of its calls that wait are counted in, with those of others. */
static gsize *
get_bytes_together(const Client *client)
{
    LimitsAccount *account = client->agent != NULL ? client->agent->principal->account : NULL;

    if (account == NULL)
        return &client->edge->clients->n_bytes_waiting;
    return account->scope == SCOPE_APP ? &account->parent->n_bytes_waiting
                                       : &account->n_bytes_waiting;
}

/* Owned; NULL if none waits. */
static sd_bus_message *
take_first(Client *client, gboolean *out_is_readable)
{
    DeferredCall *deferred = g_queue_pop_head(&client->deferred);
    sd_bus_message *call;

    if (deferred == NULL)
        return NULL;
    call = deferred->call;
    *out_is_readable = deferred->size.is_readable;
    client->n_awaited -= sd_bus_message_get_expect_reply(call) > 0 ? 1 : 0;
    client->n_bytes_waiting -= deferred->size.n_bytes;
    *get_bytes_together(client) -= deferred->size.n_bytes;
    client->edge->clients->n_bytes_waiting_total -= deferred->size.n_bytes;
    g_free(deferred);
    return call;
}

static void
drop_deferred(Client *client)
{
    sd_bus_message *call;
    gboolean is_readable;

    while ((call = take_first(client, &is_readable)) != NULL)
        sd_bus_message_unref(call);
}

static void
end_asking(Client *client)
{
    if (!client->is_asked)
        return;
    client->is_asked = FALSE;
    client->edge->clients->n_unidentified--;
    g_clear_handle_id(&client->ask_again_id, g_source_remove);
    g_clear_pointer(&client->lookup, credentials_lookup_free);
}

static void
client_free(gpointer data)
{
    Client *client = data;

    end_asking(client);
    watchers_remove_client(client);
    peers_remove_client(client);
    confirm_clear(&client->confirm);
    drop_deferred(client);
    client->edge->clients->n_floods -= client->is_flood ? 1 : 0;
    if (client->agent != NULL) {
        client->agent->edge_data = NULL;
        agent_unref(client->agent);
    }
    g_free(client->unique_name);
    g_free(client);
}

Clients *
clients_new(ClientsServe serve)
{
    Clients *clients = g_new0(Clients, 1);

    clients->by_name = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, client_free);
    clients->serve = serve;
    return clients;
}

static void
lose_everything(Edge *edge)
{
    GHashTableIter iter;
    Client *client;

    edge_tick(edge);
    user_agent_shut_down(&edge->user_agent);
    g_hash_table_iter_init(&iter, edge->clients->by_name);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&client))
        if (client->agent != NULL)
            user_agent_lose(&edge->user_agent, client->agent);
}

/* By the bus they came, and so they are answered. */
static void
serve_first(Client *client)
{
    gboolean is_readable = FALSE;
    g_autoptr(SdBusMessage) call = take_first(client, &is_readable);

    client->link = &client->edge->bus_link; /* whatever the one before has opened */
    client->edge->clients->serve(client, call, is_readable);
}

/* They take effect no more, so they need not wait either. */
static void
answer_deferred(Edge *edge)
{
    GHashTableIter iter;
    Client *client;

    g_hash_table_iter_init(&iter, edge->clients->by_name);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&client))
        while (client->agent != NULL && !g_queue_is_empty(&client->deferred))
            serve_first(client);
}

void
clients_serve_deferred(Edge *edge)
{
    GHashTableIter iter;
    Client *client;

    edge->clients->is_ending = TRUE;
    g_hash_table_iter_init(&iter, edge->clients->by_name);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&client))
        if (client->agent != NULL && !g_queue_is_empty(&client->deferred)) {
            confirm_waive(client);
            peers_serve_deferred(client);
            if (edge_has_said_enough(edge))
                edge_end_turn(edge);
        }
}

void
clients_lose_everything(Edge *edge)
{
    lose_everything(edge);
    announce_effects(edge);
    answer_deferred(edge);
}

void
clients_free(Edge *edge)
{
    lose_everything(edge);
    effects_clear(&edge->user_agent.effects);
    /* What a socket has not sent goes by the bus, and is looked up whose it is: in a table that is
     * empty, not in one that is being freed. */
    g_hash_table_remove_all(edge->clients->by_name);
    g_hash_table_unref(edge->clients->by_name);
    sd_bus_slot_unref(edge->clients->name_owner_changed);
    g_clear_pointer(&edge->clients, g_free);
}

/* [2.6] The agent has terminated. */
static void
remove_client(Client *client)
{
    Edge *edge = client->edge;

    watchers_remove_client(client);
    peers_close(client);
    if (client->agent != NULL) {
        edge_tick(edge);
        user_agent_terminate(&edge->user_agent, client->agent);
        client->agent->edge_data = NULL;
        announce_effects(edge);
        if (edge->state != NULL)
            state_note_agent_gone(edge->state, client->agent);
    }
    if (!fault_is(FAULT_CLIENT_KEPT))
        g_hash_table_remove(edge->clients->by_name, client->unique_name);
}

/* Everybody's end is told to us: whoever is not ours must cost next to nothing. */
static int
on_name_owner_changed(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    Edge *edge = userdata;
    const char *name, *old_owner, *new_owner;
    Client *client;

    if (sd_bus_message_read(message, "sss", &name, &old_owner, &new_owner) < 0)
        return 0;
    if (name[0] != ':' || new_owner[0] != '\0')
        return 0;

    bus_faults_search_clients(edge, name);
    client = g_hash_table_lookup(edge->clients->by_name, name);
    if (client != NULL && client->peer != NULL && fault_is(FAULT_SOCKET_OUTLIVES_NAME))
        return 0;
    if (client != NULL) {
        if (edge->verbose)
            g_debug("%s has left the bus", name);
        /* There is no order between the bus and a private socket. What was sent before the end
         * takes effect before it, the calls that wait too. */
        if (!fault_is(FAULT_TERMINATE_BEFORE_DRAIN))
            peers_read_last(client);
        remove_client(client);
    }
    return 0;
}

int
clients_subscribe(Edge *edge)
{
    /* Only names that nobody has any more: the bus filters the rest. */
    return sd_bus_add_match(edge->bus_link.bus, &edge->clients->name_owner_changed,
                            "type='signal',"
                            "sender='" WIRE_DRIVER_NAME "',"
                            "path='" WIRE_DRIVER_PATH "',"
                            "interface='" WIRE_DRIVER_INTERFACE "',"
                            "member='NameOwnerChanged',"
                            "arg2=''",
                            on_name_owner_changed, edge);
}

/* Answers what has waited with an error. It may ask again; what it was sent is not forgotten. */
static void
refuse_client(Client *client, LockResult result)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    sd_bus_message *call;
    gboolean is_readable;

    end_asking(client);
    replies_set_result(&error, client->edge, result);
    while ((call = take_first(client, &is_readable)) != NULL) {
        replies_put_error(client->link, call, &error);
        sd_bus_message_unref(call);
    }
    sd_bus_error_free(&error);
}

static LockResult
make_agent(Client *client, const Credentials *credentials)
{
    PrincipalIdentity identity;
    Principal *principal;
    LockResult result;

    if (credentials == NULL)
        return LOCK_RESULT_UNIDENTIFIED;
    identity = credentials->identity;
    bus_faults_mistake_identity(&identity);
    principal = principal_get(&client->edge->user_agent, &identity);
    result = agent_new(principal, client->unique_name, &client->agent);
    principal_unref(principal);
    if (result != LOCK_RESULT_OK)
        return result;
    client->agent->pid = credentials->pid;
    g_strlcpy(client->agent->process_name, credentials->process_name, AGENT_PROCESS_NAME_SIZE);
    client->agent->edge_data = client;
    return LOCK_RESULT_OK;
}

static void ask_later(Client *client);

static void
on_identified(const Credentials *credentials, gboolean wants_room, gpointer data)
{
    Client *client = data;
    Edge *edge = client->edge;
    LockResult result;

    if (wants_room) {
        ask_later(client);
        return;
    }
    result = make_agent(client, credentials);
    if (result != LOCK_RESULT_OK) {
        refuse_client(client, result);
        return;
    }

    end_asking(client); /* and the credentials are no more */
    edge->clients->n_bytes_waiting -= client->n_bytes_waiting;
    *get_bytes_together(client) += client->n_bytes_waiting;
    while (clients_serve_due(client))
        ;
}

static void
ask(Client *client)
{
    client->lookup =
        principals_look_up(client->edge->bus_link.bus, client->unique_name, on_identified, client);
    if (client->lookup == NULL)
        ask_later(client);
}

static gboolean
on_ask_again(gpointer data)
{
    Client *client = data;
    Edge *edge = client->edge;

    client->ask_again_id = 0;
    ask(client);
    edge_end_turn(edge);
    return G_SOURCE_REMOVE;
}

static void
ask_later(Client *client)
{
    g_clear_pointer(&client->lookup, credentials_lookup_free);
    if (client->n_asks_left-- > 0)
        client->ask_again_id = g_timeout_add(ASK_AGAIN_MS, on_ask_again, client);
    else
        refuse_client(client, LOCK_RESULT_UNIDENTIFIED);
}

static Client *
client_new(Edge *edge, const char *unique_name)
{
    Client *client = g_new0(Client, 1);

    client->edge = edge;
    client->link = &edge->bus_link;
    client->unique_name = g_strdup(unique_name);
    g_queue_init(&client->deferred);
    g_queue_init(&client->watches);
    confirm_init(&client->confirm, client, &edge->bus_link);
    g_hash_table_insert(edge->clients->by_name, client->unique_name, client);
    return client;
}

void
clients_restore(Edge *edge, Agent *agent)
{
    Client *client = client_new(edge, agent->client_id);

    client->agent = agent_ref(agent);
    agent->edge_data = client;
}

Client *
clients_get(Edge *edge, const char *unique_name)
{
    Client *client = g_hash_table_lookup(edge->clients->by_name, unique_name);

    return client != NULL ? client : client_new(edge, unique_name);
}

gboolean
clients_identify(Client *client)
{
    if (client->agent != NULL || client->is_asked)
        return TRUE;
    if (client->edge->clients->is_ending)
        return FALSE;
    client->is_asked = TRUE;
    client->edge->clients->n_unidentified++;
    client->n_asks_left = ASKS_MAX;
    ask(client);
    return TRUE;
}

/* ---- calls that wait */

CallSize
clients_measure(const Client *client, sd_bus_message *call)
{
    const guint32 *max = client->edge->user_agent.limits.max;
    CallSize size;

    size.n_bytes = kept_call_measure(call, max[LIMIT_BYTES_WAITING], &size.is_readable);
    return size;
}

static gboolean
has_room(const Client *client, guint n_calls, gsize n_bytes, LimitId *out_limit)
{
    const guint32 *max = client->edge->user_agent.limits.max;

    *out_limit = client->n_bytes_waiting + n_bytes > max[LIMIT_BYTES_WAITING] ? LIMIT_BYTES_WAITING
                                                                              : LIMIT_CALLS_WAITING;
    return *out_limit == LIMIT_CALLS_WAITING &&
           client->deferred.length + n_calls <= max[LIMIT_CALLS_WAITING];
}

gboolean
clients_may_defer(const Client *client, gsize n_bytes, LimitId *out_limit)
{
    return has_room(client, 1, n_bytes, out_limit);
}

guint64
clients_get_last_position(const Client *client)
{
    const DeferredCall *last = client->deferred.tail != NULL ? client->deferred.tail->data : NULL;

    return last != NULL ? last->position : 0;
}

gboolean
clients_has_due(const Client *client)
{
    const DeferredCall *first = client->deferred.head != NULL ? client->deferred.head->data : NULL;

    return first != NULL && !client->is_asked && first->position <= client->n_socket_bytes &&
           !confirm_is_full(client);
}

gboolean
clients_serve_due(Client *client)
{
    if (!clients_has_due(client))
        return FALSE;
    serve_first(client);
    return TRUE;
}

/* ---- floods */

/* [2.6] What it has ends, so that nobody waits for it; and it is not heard until it has read what
 * it was sent. */
static void
make_flood(Client *client)
{
    Edge *edge = client->edge;

    g_info("%s calls and calls, and doesn't read: it has lost its locks", client->unique_name);
    drop_deferred(client);
    watchers_remove_client(client);
    peers_close(client);
    client->is_flood = TRUE;
    edge->clients->n_floods++;
    if (client->agent != NULL) {
        edge_tick(edge);
        user_agent_replace(&edge->user_agent, client->agent);
        announce_effects(edge);
    }
    confirm_ask(client);
}

/* Of all whose bytes are counted there, or of everybody, the one with the most. */
static Client *
find_greatest(const Clients *clients, const gsize *together)
{
    Client *other, *greatest = NULL;
    GHashTableIter iter;

    g_hash_table_iter_init(&iter, clients->by_name);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&other))
        if ((together == NULL || get_bytes_together(other) == together) &&
            (greatest == NULL || other->n_bytes_waiting > greatest->n_bytes_waiting))
            greatest = other;
    return greatest;
}

/* NULL: nobody has too much waiting, as far as it is this one's doing. */
static Client *
find_flood(Client *client)
{
    const guint32 *max = client->edge->user_agent.limits.max;
    const Clients *clients = client->edge->clients;
    const gsize *together = get_bytes_together(client);
    LimitId limit;

    if (!has_room(client, 0, 0, &limit))
        return client;
    if (*together > max[LIMIT_BYTES_WAITING_PER_UID])
        return find_greatest(clients, together);
    if (clients->n_bytes_waiting_total > max[LIMIT_BYTES_WAITING_TOTAL])
        return find_greatest(clients, NULL);
    return NULL;
}

/* Sees to it that not too much waits. */
static void
bound_waiting(Client *client)
{
    Client *flood;

    while ((flood = find_flood(client)) != NULL && !fault_is(FAULT_FLOOD_KEPT)) {
        /* What waits for a private socket only can be served: then all others have to wait. An
         * error instead would be lost on a call that wants no answer. */
        if (flood->agent != NULL)
            peers_serve_deferred(flood);
        if (!g_queue_is_empty(&flood->deferred))
            make_flood(flood);
    }
}

/* One that is too long waits no longer than for bound_waiting(). */
static sd_bus_message *
keep(const Client *client, sd_bus_message *call, CallSize size)
{
    sd_bus_message *kept = NULL;

    if (size.n_bytes <= client->edge->user_agent.limits.max[LIMIT_BYTES_WAITING])
        kept = kept_call_copy(call, size.is_readable);
    return kept != NULL ? kept : sd_bus_message_ref(call);
}

void
clients_defer(Client *client, sd_bus_message *call, CallSize size, guint64 position)
{
    DeferredCall *deferred = g_new(DeferredCall, 1);

    *deferred = (DeferredCall){
        .call = keep(client, call, size),
        .position = MAX(position, clients_get_last_position(client)),
        .size = size,
    };
    g_queue_push_tail(&client->deferred, deferred);
    client->n_bytes_waiting += size.n_bytes;
    client->n_awaited += sd_bus_message_get_expect_reply(call) > 0 ? 1 : 0;
    *get_bytes_together(client) += size.n_bytes;
    client->edge->clients->n_bytes_waiting_total += size.n_bytes;
    if (confirm_is_full(client))
        confirm_ask_or_credit(client);
    bound_waiting(client);
}

gboolean
clients_ignore(const Edge *edge, sd_bus_message *message)
{
    const Client *client;

    if (edge->clients->n_floods == 0 || sd_bus_message_is_method_call(message, NULL, NULL) <= 0)
        return FALSE;
    client = g_hash_table_lookup(edge->clients->by_name, sd_bus_message_get_sender(message));
    return client != NULL && client->is_flood;
}

void
clients_go_on(Client *client)
{
    if (client->is_flood && !confirm_is_full(client)) {
        client->is_flood = FALSE;
        client->edge->clients->n_floods--;
    }
    peers_notice_due(client);
}
