/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "gateway.h"

#include <errno.h>

#define DELAY_MIN_MS 50
#define DELAY_MAX_MS 1000

static void connect_later(Gateway *self);

/* ---- the connection */

static void
on_received(const ClusterMessage *message, gpointer data)
{
    Gateway *self = data;

    if (message->kind == CLUSTER_PACKET_SYNCED) /* this gateway works */
        self->delay_ms = DELAY_MIN_MS;
    self->functions->tick(self->data);
    if (self->connection != NULL) /* it may be disconnected meanwhile */
        self->functions->received(message, self->data);
}

void
gateway_disconnect(Gateway *self)
{
    if (self->connection == NULL)
        return;
    turn_remove_output(&self->output);
    g_clear_pointer(&self->connection, cluster_connection_free);
    self->functions->disconnected(self->data);
    connect_later(self);
}

static void
on_closed(const char *reason, gpointer data)
{
    Gateway *self = data;

    g_message("the gateway to the cluster is disconnected: %s", reason);
    self->functions->tick(self->data);
    gateway_disconnect(self);
}

static const ClusterConnectionHandler handler = {
    .read_packet = cluster_packet_read_from_gateway,
    .received = on_received,
    .closed = on_closed,
};

/* ---- connecting */

static gboolean
on_retry(gpointer data)
{
    Gateway *self = data;

    self->retry_id = 0;
    self->functions->tick(self->data);
    gateway_connect(self);
    return G_SOURCE_REMOVE;
}

static void
connect_later(Gateway *self)
{
    if (self->retry_id != 0 || !self->functions->is_needed(self->data))
        return;
    self->retry_id = g_timeout_add(self->delay_ms, on_retry, self);
    self->delay_ms = MIN(2 * self->delay_ms, DELAY_MAX_MS);
}

void
gateway_connect(Gateway *self)
{
    int fd;

    if (self->connection != NULL || self->retry_id != 0)
        return;
    fd = cluster_connection_open(self->path);
    if (fd < 0) {
        g_debug("%s: no gateway to the cluster: %s", self->path, g_strerror(errno));
        connect_later(self);
        return;
    }
    self->connection = cluster_connection_new(fd, &handler, self);
    cluster_packet_write(gateway_get_output(self), CLUSTER_PACKET_HELLO, CLUSTER_PACKET_VERSION);
    self->functions->connected(fd, self->data);
}

GByteArray *
gateway_get_output(Gateway *self)
{
    if (self->connection == NULL)
        return NULL;
    turn_add_output(&self->output, 0);
    return cluster_connection_get_output(self->connection);
}

void
gateway_await_writable(Gateway *self)
{
    cluster_connection_await_writable(self->connection);
}

static void
flush(TurnOutput *output)
{
    Gateway *self = (Gateway *)((char *)output - G_STRUCT_OFFSET(Gateway, output));

    cluster_connection_flush(self->connection);
}

/* ---- */

void
gateway_init(
    Gateway *self, const char *path, Turn *turn, const GatewayFunctions *functions, gpointer data)
{
    *self = (Gateway){
        .path = g_strdup(path),
        .functions = functions,
        .data = data,
        .output = {.turn = turn, .flush = flush},
        .delay_ms = DELAY_MIN_MS,
    };
}

void
gateway_fini(Gateway *self)
{
    g_clear_handle_id(&self->retry_id, g_source_remove);
    turn_remove_output(&self->output);
    g_clear_pointer(&self->connection, cluster_connection_free);
    g_free(self->path);
}
