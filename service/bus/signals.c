/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/signals.h"

#include <string.h>

#include "common/wire-names.h"
#include "service/core/lock-manager.h"
#include "service/core/lock-queue.h"
#include "service/core/lock-request.h"
#include "service/fault.h"

static const char *const reasons[N_EFFECT_KINDS] = {
    [EFFECT_RELEASED] = WIRE_REASON_RELEASED,     [EFFECT_ABORTED] = WIRE_REASON_ABORTED,
    [EFFECT_STOLEN] = WIRE_REASON_STOLEN,         [EFFECT_TIMED_OUT] = WIRE_REASON_TIMEOUT,
    [EFFECT_TERMINATED] = WIRE_REASON_TERMINATED, [EFFECT_LOST] = WIRE_REASON_LOST,
};

static sd_bus_message *
new_signal(Client *client, const char *bucket, const char *member)
{
    const char *path = link_get_bucket_path(client->link, bucket);
    sd_bus_message *signal = NULL;
    int r;

    r = sd_bus_message_new_signal(client->link->bus, &signal, path, WIRE_LOCKS_INTERFACE, member);
    g_assert(r >= 0);
    r = sd_bus_message_set_destination(signal, client->unique_name);
    g_assert(r >= 0);
    return signal;
}

void
signals_send_effect(Client *client, const Effect *effect)
{
    const LockRequest *request = effect->request;
    const LockQueue *queue = request->queue;
    const char *mode = lock_mode_to_string(request->mode);
    const char *client_id = request->agent->client_id;
    sd_bus_message *signal;
    int r;

    if (effect->kind == EFFECT_GRANTED && fault_is_one_in(FAULT_GRANTED_DROPPED, 20))
        return;
    if (effect->kind == EFFECT_GRANTED) {
        signal = new_signal(client, queue->manager->bucket, "Granted");
        r = sd_bus_message_append(signal, "tssst", request->id, queue->name, mode, client_id,
                                  request->token);
    } else {
        signal = new_signal(client, queue->manager->bucket, "Released");
        r = sd_bus_message_append(signal, "tssss", request->id, queue->name, mode, client_id,
                                  reasons[effect->kind]);
    }
    g_assert(r >= 0);
    outbox_take(&client->link->outbox, signal,
                strlen(queue->name) + strlen(queue->manager->bucket));
}

void
signals_send_lost(Client *client, const char *bucket, guint64 id, const char *name, LockMode mode)
{
    sd_bus_message *signal = new_signal(client, bucket, "Released");
    int r = sd_bus_message_append(signal, "tssss", id, name, lock_mode_to_string(mode),
                                  client->unique_name, WIRE_REASON_LOST);

    g_assert(r >= 0);
    outbox_take(&client->link->outbox, signal, strlen(name) + strlen(bucket));
}

void
signals_send_missed(Client *client, const LockManager *manager, guint64 count)
{
    sd_bus_message *signal = new_signal(client, manager->bucket, "Missed");
    int r = sd_bus_message_append(signal, "t", count);

    g_assert(r >= 0);
    outbox_take(&client->link->outbox, signal, strlen(manager->bucket));
}
