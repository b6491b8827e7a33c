/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/announce.h"

#include "service/bus/bus-faults.h"
#include "service/bus/replies.h"
#include "service/bus/signals.h"
#include "service/bus/watchers.h"
#include "service/core/agent.h"
#include "service/core/lock-queue.h"
#include "service/core/lock-request.h"
#include "service/fault.h"
#include "service/state/state.h"

/* From the reply to its own call. Of a terminated agent there is no client left; unless it was
 * terminated for what it did, and that it is told. */
static const gboolean owner_knows[N_EFFECT_KINDS] = {
    [EFFECT_RELEASED] = TRUE,
    [EFFECT_ABORTED] = TRUE,
};

/* What the core did is in its effects, and in the request that it answered with: that one may wait,
 * which is no effect. */
static void
note_changes(Edge *edge, LockRequest *answered)
{
    const Effects *effects = &edge->user_agent.effects;

    if (edge->state == NULL)
        return;
    if (answered != NULL)
        state_note_request(edge->state, answered);
    for (guint i = 0; i < effects_get_length(effects); i++) {
        const Effect *effect = effects_get(effects, i);

        if (effect->kind != EFFECT_RELEASED || !fault_is(FAULT_RELEASE_NOT_PERSISTED))
            state_note_request(edge->state, effect->request);
    }
}

/* `caller` and `reply` are NULL if no call caused them. */
static void
announce(Edge *edge, Client *caller, LockRequest *answered, sd_bus_message *reply)
{
    Effects *effects = &edge->user_agent.effects;

    note_changes(edge, answered);
    for (guint i = 0; i < effects_get_length(effects); i++) {
        const Effect *effect = effects_get(effects, i);
        const LockManager *manager = effect->request->queue->manager;
        Client *owner = effect->request->agent->edge_data;
        gboolean is_answer = effect->kind == EFFECT_GRANTED && effect->request == answered;

        if (is_answer && reply != NULL)
            replies_put(caller, g_steal_pointer(&reply), 0);
        if (owner != NULL && (is_answer || owner_knows[effect->kind]))
            owner = NULL;
        if (owner != NULL)
            signals_send_effect(owner, effect);

        for (GList *link = watchers_of_bucket(edge, manager); link != NULL; link = link->next) {
            Watch *watch = link->data;

            if (watch->client != owner && watchers_admit(watch))
                signals_send_effect(watch->client, effect);
        }
        bus_faults_tell_effect(edge, effect);
    }
    if (reply != NULL)
        replies_put(caller, reply, 0);
    effects_clear(effects);
}

void
announce_effects(Edge *edge)
{
    announce(edge, NULL, NULL, NULL);
}

void
announce_answer(Client *client, LockRequest *answered, sd_bus_message *reply)
{
    announce(client->edge, client, answered, reply);
}
