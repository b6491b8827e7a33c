/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/service-methods.h"

#include <string.h>
#include <unistd.h>

#include "common/wire-names.h"
#include "service/bus/peers.h"
#include "service/bus/replies.h"
#include "service/core/lock-manager.h"
#include "service/core/lock-queue.h"
#include "service/core/principal.h"

/* What a descriptor on its way counts for: a bus has room for few. */
#define DESCRIPTOR_BYTES (64UL * 1024)

int
service_methods_buckets(Client *client, sd_bus_message *call, sd_bus_error *error)
{
    g_autoptr(SdBusMessage) reply = replies_new(call);
    GHashTableIter iter;
    LockManager *manager;
    gsize n_bytes = 0;
    int r = sd_bus_message_open_container(reply, 'a', "s");

    g_hash_table_iter_init(&iter, client->agent->principal->managers);
    while (r >= 0 && g_hash_table_iter_next(&iter, NULL, (gpointer *)&manager)) {
        if (manager->requests.length == 0)
            continue; /* it is only watched */
        r = sd_bus_message_append_basic(reply, 's', manager->bucket);
        n_bytes += strlen(manager->bucket) + 8;
    }
    if (r >= 0)
        r = sd_bus_message_close_container(reply);
    if (r < 0)
        return sd_bus_error_set_errno(error, r);
    return replies_put_list(client, g_steal_pointer(&reply), n_bytes, error);
}

static int
append_live_request(sd_bus_message *reply, const LockRequest *request, gint64 now_us)
{
    gint64 left_ms = 0;

    if (request->deadline_ms != 0) /* 0 would be for ever */
        left_ms = CLAMP(request->deadline_ms - now_us / 1000, 1, G_MAXUINT32);
    return sd_bus_message_append(
        reply, "(sttsstt)", request->queue->manager->bucket, request->id, request->key,
        request->queue->name, lock_mode_to_string(request->mode), request->token, (guint64)left_ms);
}

int
service_methods_resync(Client *client, sd_bus_message *call, sd_bus_error *error)
{
    g_autoptr(SdBusMessage) reply = replies_new(call);
    gint64 now_us = client->edge->user_agent.now_us;
    gsize n_bytes = 0;
    int r = sd_bus_message_open_container(reply, 'a', "(sttsstt)");

    for (GList *link = client->agent->requests.head; r >= 0 && link != NULL; link = link->next) {
        const LockRequest *request = link->data;

        r = append_live_request(reply, request, now_us);
        n_bytes += strlen(request->queue->name) + strlen(request->queue->manager->bucket) + 64;
    }
    if (r >= 0)
        r = sd_bus_message_close_container(reply);
    if (r < 0)
        return sd_bus_error_set_errno(error, r);
    replies_put(client, g_steal_pointer(&reply), n_bytes); /* refused, it would be missed */
    return 0;
}

/* The socket's place in the client's stream of messages is that of this reply: what was said before
 * comes before it by the bus, what is said later comes by the socket. */
int
service_methods_open_peer(Client *client, sd_bus_message *call, sd_bus_error *error)
{
    g_autoptr(SdBusMessage) reply = replies_new(call);
    LimitId limit;
    int fd, r;

    if (client->link->client != NULL)
        return sd_bus_error_set(error, WIRE_ERROR_NOT_SUPPORTED,
                                "A private socket is asked for over the bus");
    r = peers_open(client, &fd, &limit);
    if (r == -EDQUOT)
        return replies_set_result(error, client->edge, lock_result_limit(limit));
    if (r >= 0) {
        r = sd_bus_message_append_basic(reply, 'h', &fd); /* a copy */
        close(fd);
    }
    if (r < 0) {
        peers_close(client);
        return sd_bus_error_setf(error, WIRE_ERROR_LIMITS_EXCEEDED,
                                 "There are no sockets to be had now: %s", g_strerror(-r));
    }
    outbox_take(&client->edge->bus_link.outbox, g_steal_pointer(&reply), DESCRIPTOR_BYTES);
    return 0;
}
