/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/confirm.h"

#include "common/wire-names.h"
#include "service/bus/clients.h"
#include "service/bus/peers.h"
#include "service/bus/watchers.h"
#include "service/fault.h"

/* A client is asked after so many messages by the bus, */
#define PING_AFTER_SENT 64
/* and served no more calls by it if so many are unconfirmed. A message counts as one more for each
 * so many bytes. */
#define SENT_MAX      512
#define BYTES_COUNTED 4096
/* Of what it watches it is asked after so many signals, and gets no more than so many. */
#define PING_AFTER_WATCHED 256
#define WATCHED_MAX        1024
/* Who awaits one answer, for so long, may have so many more unconfirmed; and so many in all. */
#define IN_STEP_MS 20
#define CREDIT     64
#define CREDIT_MAX 16384
/* When the bus did not let the question through, it is asked again after this time. */
#define PING_AGAIN_SECS 1

void
confirm_init(Confirm *confirm, Client *client, Link *link)
{
    *confirm = (Confirm){.client = client, .link = link};
}

void
confirm_clear(Confirm *confirm)
{
    if (confirm->wants_ping)
        g_queue_remove(&confirm->client->edge->to_ping, confirm);
    confirm->wants_ping = FALSE;
    g_clear_handle_id(&confirm->ping_again_id, g_source_remove);
    g_clear_pointer(&confirm->ping, sd_bus_slot_unref);
    g_clear_handle_id(&confirm->in_step_id, g_source_remove);
    confirm->n_sent = 0;
    confirm->n_watched = 0;
    confirm->n_credit = 0;
}

static void
tell_missed(Client *client)
{
    if (confirm_of(client)->n_watched < WATCHED_MAX)
        watchers_tell_missed(client);
}

void
confirm_end(Confirm *confirm)
{
    confirm_clear(confirm);
    tell_missed(confirm->client);
}

static gboolean
is_of_bus(const Confirm *confirm)
{
    return confirm == &confirm->client->confirm;
}

Confirm *
confirm_of(Client *client)
{
    return client->link->client != NULL ? &client->link->confirm : &client->confirm;
}

/* What it watches has a bound of its own. */
static guint
count_answers(const Confirm *confirm)
{
    return confirm->n_sent - MIN(confirm->n_sent, confirm->n_watched);
}

static void
put_in_queue(Confirm *confirm)
{
    if (confirm->ping != NULL || confirm->ping_again_id != 0 || confirm->wants_ping)
        return;
    confirm->wants_ping = TRUE;
    g_queue_push_tail(&confirm->client->edge->to_ping, confirm);
}

static void
want_ping(Confirm *confirm)
{
    if (count_answers(confirm) >= PING_AFTER_SENT || confirm->n_watched >= PING_AFTER_WATCHED ||
        (is_of_bus(confirm) && confirm->client->is_flood))
        put_in_queue(confirm);
}

void
confirm_count(Outbox *outbox, sd_bus_message *message, gsize n_bytes)
{
    const Link *link = (const Link *)((char *)outbox - G_STRUCT_OFFSET(Link, outbox));
    Client *client =
        g_hash_table_lookup(link->edge->clients->by_name, sd_bus_message_get_destination(message));

    if (client == NULL)
        return;
    client->confirm.n_sent += 1 + (guint)(n_bytes / BYTES_COUNTED);
    want_ping(&client->confirm);
}

void
confirm_add(Client *client)
{
    client->confirm.n_sent++;
    want_ping(&client->confirm);
}

gboolean
confirm_admit_watched(Client *client)
{
    Confirm *confirm = confirm_of(client);
    gboolean is_admitted = confirm->n_watched < WATCHED_MAX;

    if (is_admitted)
        confirm->n_watched++;
    want_ping(confirm);
    return is_admitted;
}

gboolean
confirm_is_behind(const Client *client)
{
    const Confirm *confirm = &client->confirm;

    return count_answers(confirm) >= SENT_MAX + confirm->n_credit;
}

gboolean
confirm_is_full(const Client *client)
{
    return confirm_is_behind(client) && !client->confirm.is_waived &&
           !client->edge->user_agent.shutting_down && !fault_is(FAULT_NO_BARRIER);
}

void
confirm_ask(Client *client)
{
    put_in_queue(&client->confirm);
}

void
confirm_ask_of_watched(Client *client)
{
    put_in_queue(confirm_of(client));
}

void
confirm_waive(Client *client)
{
    client->confirm.is_waived = TRUE;
}

/* ---- the answer */

/* Errors of the bus itself, or of sd-bus, say nothing about what the client has read. */
static gboolean
is_from_client(const Confirm *confirm, sd_bus_message *reply)
{
    const char *sender = sd_bus_message_get_sender(reply);

    if (!is_of_bus(confirm))
        return g_strcmp0(sender, WIRE_LOCAL_NAME) != 0;
    return g_strcmp0(sender, confirm->client->unique_name) == 0;
}

static void
go_on(Confirm *confirm)
{
    Client *client = confirm->client;

    tell_missed(client);
    if (is_of_bus(confirm))
        clients_go_on(client);
    want_ping(confirm);
}

static gboolean
on_in_step(gpointer data)
{
    Confirm *confirm = data;
    Client *client = confirm->client;

    if (client->n_awaited != 1 || confirm->n_credit >= CREDIT_MAX || client->is_flood) {
        confirm->in_step_id = 0;
        return G_SOURCE_REMOVE;
    }
    if (confirm_is_full(client)) {
        confirm->n_credit += CREDIT;
        go_on(confirm);
        edge_end_turn(client->edge);
    }
    return G_SOURCE_CONTINUE; /* there may be others before the one that is awaited */
}

void
confirm_ask_or_credit(Client *client)
{
    Confirm *confirm = &client->confirm;

    confirm_ask(client);
    /* When there is nothing else to read: then it is the only one indeed. */
    if (confirm->in_step_id == 0)
        confirm->in_step_id =
            g_timeout_add_full(G_PRIORITY_DEFAULT_IDLE, IN_STEP_MS, on_in_step, confirm, NULL);
}

/* A bus may be awaiting so many answers for us already, from whoever doesn't give them, that it
 * passes on no other question. Then who can't be asked is served as slowly as that. */
static gboolean
on_ping_again(gpointer data)
{
    Confirm *confirm = data;
    Edge *edge = confirm->client->edge;

    confirm->ping_again_id = 0;
    if (confirm->is_refused) {
        confirm->n_sent -= MIN(count_answers(confirm), PING_AFTER_SENT);
        go_on(confirm);
    }
    want_ping(confirm);
    edge_end_turn(edge);
    return G_SOURCE_REMOVE;
}

static int
on_pong(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    Confirm *confirm = userdata;

    g_clear_pointer(&confirm->ping, sd_bus_slot_unref);
    confirm->is_refused = FALSE;
    if (!is_from_client(confirm, reply)) {
        confirm->is_refused = sd_bus_message_is_method_error(reply, WIRE_ERROR_LIMITS_EXCEEDED) > 0;
        confirm->ping_again_id = g_timeout_add_seconds(PING_AGAIN_SECS, on_ping_again, confirm);
        return 1;
    }
    confirm->n_credit = 0;
    confirm->n_sent -= confirm->n_sent_before_ping;
    confirm->n_watched -= confirm->n_watched_before_ping;
    go_on(confirm);
    return 1;
}

/* ---- the question */

static void
send_ping(Confirm *confirm)
{
    g_autoptr(SdBusMessage) ping = NULL;
    sd_bus *bus = confirm->link->bus;
    int r = sd_bus_message_new_method_call(bus, &ping, confirm->client->unique_name, "/",
                                           "org.freedesktop.DBus.Peer", "Ping");

    confirm->n_sent_before_ping = confirm->n_sent;
    confirm->n_watched_before_ping = confirm->n_watched;
    /* Without a time limit: however late it reads, it has read what came before. */
    if (r >= 0)
        r = sd_bus_call_async(bus, &confirm->ping, ping, on_pong, confirm, UINT64_MAX);
    if (r < 0)
        confirm->ping_again_id = g_timeout_add_seconds(PING_AGAIN_SECS, on_ping_again, confirm);
}

/* A client that has gone over to a private socket is told nothing by the bus until it calls there
 * again; then it is asked. */
static gboolean
may_ask(const Confirm *confirm)
{
    Client *client = confirm->client;

    return !is_of_bus(confirm) || client->link == confirm->link || client->is_flood ||
           !g_queue_is_empty(&client->deferred);
}

void
confirm_send_pings(Edge *edge)
{
    for (guint n_left = edge->to_ping.length; n_left > 0; n_left--) {
        Confirm *confirm = g_queue_pop_head(&edge->to_ping);
        const Outbox *outbox = &confirm->link->outbox;

        g_assert(outbox->bus == NULL || outbox->bus == confirm->link->bus);
        if (outbox_get_length(outbox) > 0 || outbox_is_backed_up(outbox)) {
            g_queue_push_tail(&edge->to_ping, confirm); /* it must not overtake what it asks for */
            continue;
        }
        confirm->wants_ping = FALSE;
        if (may_ask(confirm))
            send_ping(confirm);
    }
}
