/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "notifications.h"

#include "encode.h"
#include "late-replies.h"
#include "lock-queue.h"
#include "lock-request.h"
#include "state.h"
#include "watches.h"

/* A reply that has not been sent yet, and its channel. */
typedef struct {
    Client *client; /* NULL: there is no reply, or it has been sent */
    const Channel *channel;
    const LockCall *call;
    const LockReply *reply;
} PendingReply;

static void
send_reply(PendingReply *pending)
{
    if (pending->client != NULL)
        pending->channel->reply(pending->client, pending->call, pending->reply);
    pending->client = NULL;
}

/* Effects that the reply to the client's own call reports, so that no event is sent. */
static const gboolean is_in_reply[N_EFFECT_KINDS] = {
    [EFFECT_WAITING] = TRUE,
    [EFFECT_RELEASED] = TRUE,
    [EFFECT_ABORTED] = TRUE,
};

/* Notes the changed requests for the store. */
static void
note_changes(Server *server)
{
    const Effects *effects = &server->user_agent.effects;

    if (server->state == NULL)
        return;
    for (guint i = 0; i < effects_get_length(effects); i++)
        state_note_request(server->state, effects_get(effects, i)->request);
}

/* Sends the reply to the call that has caused the effect, or keeps it if that is still undecided.
 * Then the client is not notified that its request waits: nothing with an id is sent before the
 * reply. Returns the client in that case, otherwise NULL. */
static const Client *
reply_to_effect(PendingReply *pending, const Effect *effect)
{
    Client *client = pending->client;

    if (client != NULL && effect->kind == EFFECT_WAITING &&
        late_replies_keep(client, pending->channel, pending->call, effect->request)) {
        pending->client = NULL;
        return client;
    }
    send_reply(pending);
    return NULL;
}

/* Sends the event of an effect to the client of the request, and returns that client, or NULL. A
 * terminated agent has no client, unless it was terminated because of its client's calls. */
static const Client *
notify_owner(Server *server, const Effect *effect)
{
    Client *owner = effect->request->agent->server_data;

    if (late_replies_send(server, effect) || owner == NULL || is_in_reply[effect->kind])
        return NULL;
    owner->channel->event(owner, effect);
    return owner->channel == owner->default_channel ? owner : NULL;
}

static void
notify(Server *server, PendingReply *pending)
{
    Effects *effects = &server->user_agent.effects;
    const LockReply *reply = pending->reply;

    note_changes(server);
    for (guint i = 0; i < effects_get_length(effects); i++) {
        const Effect *effect = effects_get(effects, i);
        gboolean is_answer = reply != NULL && effect->request == reply->request;

        /* A watcher that has got the event as the request's client gets no further signal. */
        const Client *notified =
            is_answer ? reply_to_effect(pending, effect) : notify_owner(server, effect);

        watches_notify(server, effect, notified);
    }
    if (pending->client != NULL && reply != NULL && reply->request != NULL)
        late_replies_send_id(server, reply->request);
    send_reply(pending);
    effects_clear(effects);
}

void
notify_effects(Server *server)
{
    PendingReply none = {NULL};

    if (effects_get_length(&server->user_agent.effects) > 0)
        notify(server, &none);
}

void
notify_reply(Client *client, const Channel *channel, const LockCall *call, const LockReply *reply)
{
    PendingReply pending = {client, channel, call, reply};

    notify(client->server, &pending);
}
