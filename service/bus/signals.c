/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/signals.h"

#include "common/wire-names.h"
#include "service/bus/bus-service.h"
#include "service/bus/objects.h"
#include "service/core/lock-manager.h"
#include "service/core/lock-queue.h"
#include "service/core/lock-request.h"

typedef struct {
    const char *reason;
    gboolean owner_knows; /* from the reply to its own call, or because it is gone */
} EndsTableRow;

static const EndsTableRow ends_table[N_EFFECT_KINDS] = {
    [EFFECT_RELEASED] = {WIRE_REASON_RELEASED, TRUE},
    [EFFECT_ABORTED] = {WIRE_REASON_ABORTED, TRUE},
    [EFFECT_STOLEN] = {WIRE_REASON_STOLEN, FALSE},
    [EFFECT_TIMED_OUT] = {WIRE_REASON_TIMEOUT, FALSE},
    [EFFECT_TERMINATED] = {WIRE_REASON_TERMINATED, TRUE},
    [EFFECT_LOST] = {WIRE_REASON_LOST, FALSE},
};

static sd_bus_message *
new_signal(Client *client, const LockManager *manager, const char *member)
{
    g_autofree char *path = objects_path_from_bucket(manager->bucket);
    sd_bus_message *signal = NULL;
    int r;

    r = sd_bus_message_new_signal(client->service->bus, &signal, path, WIRE_LOCKS_INTERFACE,
                                  member);
    g_assert(r >= 0);
    r = sd_bus_message_set_destination(signal, client->unique_name);
    g_assert(r >= 0);
    return signal;
}

static void
send_effect(Client *client, const Effect *effect)
{
    const LockRequest *request = effect->request;
    const LockQueue *queue = request->queue;
    const char *mode = lock_mode_to_string(request->mode);
    const char *client_id = request->agent->client_id;
    sd_bus_message *signal;
    int r;

    if (effect->kind == EFFECT_GRANTED) {
        signal = new_signal(client, queue->manager, "Granted");
        r = sd_bus_message_append(signal, "tssst", request->id, queue->name, mode, client_id,
                                  request->token);
    } else {
        signal = new_signal(client, queue->manager, "Released");
        r = sd_bus_message_append(signal, "tssss", request->id, queue->name, mode, client_id,
                                  ends_table[effect->kind].reason);
    }
    g_assert(r >= 0);
    outbox_take(&client->service->outbox, signal);
}

void
signals_send_missed(Client *client, const LockManager *manager, guint64 count)
{
    sd_bus_message *signal = new_signal(client, manager, "Missed");
    int r = sd_bus_message_append(signal, "t", count);

    g_assert(r >= 0);
    outbox_take(&client->service->outbox, signal);
}

void
signals_announce(BusService *service, const LockRequest *answered, sd_bus_message *reply)
{
    Effects *effects = &service->user_agent.effects;

    for (guint i = 0; i < effects_get_length(effects); i++) {
        const Effect *effect = effects_get(effects, i);
        const LockManager *manager = effect->request->queue->manager;
        Client *owner = effect->request->agent->edge_data;
        gboolean is_answer = effect->kind == EFFECT_GRANTED && effect->request == answered;

        if (is_answer && reply != NULL)
            outbox_take(&service->outbox, g_steal_pointer(&reply));
        if (owner != NULL && (is_answer || ends_table[effect->kind].owner_knows))
            owner = NULL;
        if (owner != NULL)
            send_effect(owner, effect);

        for (GList *link = watchers_of_bucket(service, manager); link != NULL; link = link->next) {
            Watch *watch = link->data;

            if (watch->client != owner && watchers_admit(watch))
                send_effect(watch->client, effect);
        }
    }
    if (reply != NULL)
        outbox_take(&service->outbox, reply);
    effects_clear(effects);
}
