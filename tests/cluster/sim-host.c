/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sim-host-private.h"

#include <errno.h>
#include <stdlib.h>

/* The path of a gateway's socket is the number of its host, and so is the file descriptor. */
static SimHost *hosts[SIM_HOSTS_MAX];

void
sim_host_timer_in(SimHost *host, guint name, guint id, gint64 delay_us, SimFunc func)
{
    SimTimer *timer = g_new0(SimTimer, 1);

    *timer = (SimTimer){host, name, id};
    sim_loop_in(host->loop, delay_us, func, timer);
}

/* ---- packets between the lock service and the gateway */

/* In place of common/cluster-connection.c. */
struct ClusterConnection {
    SimHost *host;
    const ClusterConnectionHandler *handler;
    gpointer data;
    GByteArray *output;
};

typedef struct {
    SimHost *host;
    guint link;
    gboolean is_up;
    guint32 size; /* 0: the end of the connection */
    guint64 packet[];
} Message;

static void
receive_up(SimHost *host, const Message *message)
{
    if (message->link != host->gateway_link)
        return;
    if (message->size > 0) {
        g_auto(ClusterMessage) read = {0};

        g_assert_true(cluster_packet_read_from_service(&read, message->packet, message->size));
        sim_gateway_receive(host, &read);
    } else {
        host->gateway_link = 0;
        sim_gateway_closed(host);
    }
}

static void
receive_down(SimHost *host, const Message *message)
{
    const ClusterConnection *link = host->link;
    g_auto(ClusterMessage) read = {0};

    if (link == NULL || message->link != host->last_link)
        return;
    if (message->size == 0) {
        link->handler->closed("the peer has closed it", link->data);
        return;
    }
    g_assert_true(link->handler->read_packet(&read, message->packet, message->size));
    link->handler->received(&read, link->data);
}

static void
on_message(gpointer data)
{
    const Message *message = data;
    ClusterHead head = {0};

    if (message->size > 0)
        memcpy(&head, message->packet, sizeof head);
    sim_trace(message->host->loop, "host %u: packet %u for the %s", message->host->number,
              head.kind, message->is_up ? "gateway" : "service");
    if (message->is_up)
        receive_up(message->host, message);
    else
        receive_down(message->host, message);
}

static void
send_one(SimHost *host, gboolean is_up, gconstpointer packet, guint32 size)
{
    gint64 *last_us = is_up ? &host->last_up_us : &host->last_down_us;
    gint64 arrival_us = host->loop->now_us + sim_range(host->loop, 0, 5 * MS);
    Message *message = g_malloc(sizeof(Message) + size);

    message->host = host;
    message->link = is_up ? host->last_link : host->gateway_link;
    message->is_up = is_up;
    message->size = size;
    if (size > 0)
        memcpy(message->packet, packet, size);
    *last_us = MAX(*last_us, arrival_us);
    sim_loop_at(host->loop, *last_us, on_message, message);
}

void
sim_host_send(SimHost *host, gboolean is_up, GByteArray *packets)
{
    ClusterHead head;

    for (guint i = 0; i < packets->len; i += head.size) {
        memcpy(&head, packets->data + i, sizeof head);
        send_one(host, is_up, packets->data + i, head.size);
    }
    g_byte_array_set_size(packets, 0);
}

int
cluster_connection_open(const char *path)
{
    int number = atoi(path);

    errno = ECONNREFUSED;
    return hosts[number]->has_gateway ? number : -1;
}

ClusterConnection *
cluster_connection_new(int fd, const ClusterConnectionHandler *handler, gpointer data)
{
    ClusterConnection *self = g_new0(ClusterConnection, 1);
    SimHost *host = hosts[fd];

    *self = (ClusterConnection){host, handler, data, g_byte_array_new()};
    if (host->gateway_link != 0)
        sim_gateway_closed(host);
    host->link = self;
    host->gateway_link = ++host->last_link;
    return self;
}

void
cluster_connection_free(ClusterConnection *self)
{
    if (self == NULL)
        return;
    send_one(self->host, TRUE, NULL, 0);
    self->host->link = NULL;
    g_byte_array_unref(self->output);
    g_free(self);
}

GByteArray *
cluster_connection_get_output(ClusterConnection *self)
{
    return self->output;
}

void
cluster_connection_flush(ClusterConnection *self)
{
    sim_host_send(self->host, TRUE, self->output);
}

/* The packets of two names are few. */
void
cluster_connection_await_writable(G_GNUC_UNUSED ClusterConnection *self)
{
    g_assert_not_reached();
}

void
sim_host_close_gateway_link(SimHost *host)
{
    if (host->gateway_link != 0)
        send_one(host, FALSE, NULL, 0);
    host->gateway_link = 0;
}

/* ---- the host */

static void
end_turns(void)
{
    for (guint i = 0; i < SIM_HOSTS_MAX; i++)
        if (hosts[i] != NULL)
            sim_service_end_turn(hosts[i]->service);
}

SimHost *
sim_host_new(
    SimLoop *loop, SimEngine *engine, guint number, const SimHostClass *class, gpointer world)
{
    SimHost *host = g_new0(SimHost, 1);

    g_assert(number < SIM_HOSTS_MAX);
    hosts[number] = host;
    host->loop = loop;
    host->engine = engine;
    host->number = number;
    host->class = class;
    host->world = world;
    host->asked = g_array_new(FALSE, FALSE, sizeof(SimAsked));
    host->output = g_byte_array_new();
    host->service = sim_service_new(host);
    sim_gateway_init(host);
    loop->after_each = end_turns;
    return host;
}

void
sim_host_free(SimHost *host)
{
    hosts[host->number] = NULL;
    sim_gateway_clear(host);
    sim_service_free(host->service);
    g_byte_array_unref(host->output);
    g_array_unref(host->asked);
    g_free(host);
}
