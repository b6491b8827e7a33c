/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "operations.h"

#include "cell-offers.h"
#include "cluster-calls.h"
#include "cluster.h"
#include "lock-manager.h"
#include "packet-socket.h"
#include "state.h"
#include "watches.h"

/* ---- effects */

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
    [EFFECT_DOWNGRADED] = TRUE,
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

/* Sends the event of an effect to the client of the request, and returns that client, or NULL. A
 * terminated agent has no client, unless it was terminated because of its client's calls. */
static const Client *
notify_owner(const Effect *effect)
{
    Client *owner = effect->request->agent->server_data;

    if (owner == NULL || is_in_reply[effect->kind])
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

        /* A watcher that has got the event as the request's client gets no further signal. */
        const Client *notified = NULL;

        if (effect->kind == EFFECT_CELL_CLOSED)
            continue;
        if (reply != NULL && effect->request == reply->request)
            send_reply(pending);
        else
            notified = notify_owner(effect);
        if (watches_exist(server))
            watches_notify(server, effect, notified);
    }
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

/* ---- time */

void
clock_tick(Server *server)
{
    UserAgent *user_agent = &server->user_agent;

    user_agent_set_time(user_agent, g_get_monotonic_time(), g_get_real_time());
    if (server->cluster != NULL)
        cluster_check_lease(server->cluster);
    user_agent_expire(user_agent);
    notify_effects(server);
}

/* ---- lock operations */

static void
reserve(Server *server, const LockCall *call, const Target *target)
{
    if (server->state != NULL)
        state_reserve(server->state, lock_text_bytes(target->bucket, target->name,
                                                     call->options.why, call->options.command));
}

/* Closes the cells that may be why a request was refused, since parked locks count as held ones.
 * Returns FALSE if there were none. */
static gboolean
close_cells_for_room(const Client *client, LockResult result)
{
    UserAgent *user_agent = &client->server->user_agent;
    Principal *principal = client->agent->principal;
    const guint n_cells = user_agent->cells.length;

    if (n_cells == 0 || result < LOCK_RESULT_NO_ROOM ||
        result == lock_result_limit(LIMIT_NAME_BYTES) ||
        result == lock_result_limit(LIMIT_WHY_BYTES))
        return FALSE;
    if (result == lock_result_limit(LIMIT_REQUESTS_PER_CLIENT))
        cells_close_of(client->agent);
    else if (result == lock_result_limit(LIMIT_REQUESTS_PER_APP) ||
             result == lock_result_limit(LIMIT_TEXT_BYTES_PER_APP))
        cells_close_seen_by(principal);
    else if (result == lock_result_limit(LIMIT_REQUESTS_PER_UID) ||
             result == lock_result_limit(LIMIT_TEXT_BYTES_PER_UID))
        cells_close_seen_by(principal->of_uid != NULL ? principal->of_uid : principal);
    else
        cells_close_all(user_agent);
    return user_agent->cells.length < n_cells;
}

static void
request(Client *client, const Channel *channel, const LockCall *call, const Target *target)
{
    Server *server = client->server;
    g_autoptr(LockManager) manager = NULL;
    LockRequest *live = NULL;
    LockReply reply = {call->refusal_name == NULL ? target->result : LOCK_RESULT_NOT_CARRIABLE};

    if (reply.result == LOCK_RESULT_OK) {
        reserve(server, call, target);
        manager = channel == &socket_channel
                      ? packet_socket_get_manager(client, target)
                      : user_agent_get_manager(&server->user_agent, &target->owner, target->bucket);
        reply.result =
            lock_manager_request(manager, client->agent, target->name, &call->options, &live);
        if (close_cells_for_room(client, reply.result)) {
            reserve(server, call, target);
            reply.result =
                lock_manager_request(manager, client->agent, target->name, &call->options, &live);
        }
        reply.request = live;
    }
    notify_reply(client, channel, call, &reply);
    if (server->stage == SERVER_DRAINING) {
        cluster_calls_end_undecided(client);
        notify_effects(server);
    }
}

/* Releases, downgrades or aborts what the agent has by the key or, in the bucket, by the id. */
static void
change_own(Client *client, const Channel *channel, const LockCall *call, const Target *target)
{
    Agent *agent = client->agent;
    const LockRequest *live = call->key != 0 ? agent_find_key(agent, call->key) : NULL;
    LockManager *manager = call->key == 0 ? target_find_manager(target) : NULL;
    guint64 id = live != NULL ? live->id : call->id;
    LockReply reply = {call->kind == LOCK_CALL_ABORT ? LOCK_RESULT_OK : LOCK_RESULT_NOT_HELD};

    if (live != NULL)
        manager = live->queue->manager;
    if (manager != NULL && call->kind == LOCK_CALL_RELEASE)
        reply.result = lock_manager_release(manager, agent, id);
    else if (manager != NULL && call->kind == LOCK_CALL_DOWNGRADE)
        reply.result = lock_manager_downgrade(manager, agent, id);
    else if (manager != NULL)
        reply.aborted = lock_manager_abort(manager, agent, id);
    notify_reply(client, channel, call, &reply);
}

void
operations_replace_agent(Client *client)
{
    client->agent->server_data = NULL;
    user_agent_replace(&client->server->user_agent, client->agent);
    notify_effects(client->server);
    client->agent->server_data = client;
}

/* ---- */

void
operations_begin(const Client *client, const LockCall *call)
{
    clock_tick(client->server);
    if (client->server->user_agent.cells.length > 0)
        cell_offers_before_call(client, call);
    if (client->server->verbose)
        g_debug("%s: %s%s", client->unique_name, lock_call_get_name(call),
                call->refusal_name != NULL ? ", not well-formed" : "");
}

void
operations_serve(Client *client, const Channel *channel, const LockCall *call, const Target *target)
{
    const LockReply done = {LOCK_RESULT_OK};

    if (call->kind == LOCK_CALL_REQUEST) {
        request(client, channel, call, target);
    } else if (lock_call_is_about_own(call)) {
        change_own(client, channel, call, target);
    } else {
        if (call->kind == LOCK_CALL_END)
            operations_replace_agent(client);
        channel->reply(client, call, &done);
    }
}
