/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "notifications.h"

#include "encode.h"
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
static const gboolean owner_knows[N_EFFECT_KINDS] = {
    [EFFECT_WAITING] = TRUE,
    [EFFECT_RELEASED] = TRUE,
    [EFFECT_ABORTED] = TRUE,
};

/* Notes the changed requests for the store. */
static void
note_changes(Server *server)
{
    const Effects *effects = &server->session.user_agent.effects;

    if (server->state == NULL)
        return;
    for (guint i = 0; i < effects_get_length(effects); i++)
        state_note_request(server->state, effects_get(effects, i)->request);
}

/* Sends the event of an effect to the client of the request, and returns that client, or NULL. A
 * terminated agent has no client, unless it was terminated because of its client's calls. */
static Client *
notify_owner(const Effect *effect, gboolean is_answer)
{
    Client *owner = effect->request->agent->server_data;

    if (owner == NULL || is_answer || owner_knows[effect->kind])
        return NULL;
    owner->channel->event(owner, effect);
    return owner->channel == owner->default_channel ? owner : NULL;
}

static void
notify(Server *server, PendingReply *pending)
{
    Effects *effects = &server->session.user_agent.effects;
    const LockReply *reply = pending->reply;

    note_changes(server);
    for (guint i = 0; i < effects_get_length(effects); i++) {
        const Effect *effect = effects_get(effects, i);
        gboolean is_answer = reply != NULL && effect->request == reply->request;

        if (is_answer)
            send_reply(pending);
        /* A watcher that has got the event as the request's client gets no further signal. */
        watches_notify(server, effect, notify_owner(effect, is_answer));
    }
    send_reply(pending);
    effects_clear(effects);
}

void
notify_effects(Server *server)
{
    PendingReply none = {NULL};

    notify(server, &none);
}

void
notify_reply(Client *client, const Channel *channel, const LockCall *call, const LockReply *reply)
{
    PendingReply pending = {client, channel, call, reply};

    notify(server_of(client), &pending);
}
