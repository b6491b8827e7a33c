/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sim-host-private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The path of a gateway's socket is the number of its host. The descriptor of a connection is twice
 * that for the lock service, and one more for the gateway. */
static SimHost *hosts[SIM_WHOLE_HOSTS_MAX];

void
sim_host_timer_in(SimHost *host, guint name, guint id, gint64 delay_us, SimFunc func)
{
    SimTimer *timer = g_new0(SimTimer, 1);

    *timer = (SimTimer){host, name, id};
    sim_loop_in(host->loop, delay_us, func, timer);
}

/* ---- packets between the lock service and the gateway */

typedef enum { SERVICE, GATEWAY } Side;

typedef struct Link Link;

/* In place of common/cluster-connection.c. */
struct ClusterConnection {
    Link *link;
    Side side;
    const ClusterConnectionHandler *handler;
    gpointer data;
    GByteArray *output;
};

struct Link {
    SimHost *host;
    ClusterConnection *ends[2]; /* NULL: closed, or not accepted yet */
    SimChannel channels[2];     /* of Message, to this side */
};

/* `size` is 0 for the end of the connection. */
typedef struct {
    guint32 size;
    guint64 packet[];
} Message;

static void
deliver(Link *link, Side side, const Message *message)
{
    const ClusterConnection *end = link->ends[side];
    g_auto(ClusterMessage) read = {0};
    ClusterHead head = {0};

    if (end == NULL)
        return;
    if (message->size == 0) {
        end->handler->closed("the peer has closed it", end->data);
        return;
    }
    memcpy(&head, message->packet, sizeof head);
    sim_trace(link->host->loop, "host %u: packet %u for the %s", link->host->number, head.kind,
              side == GATEWAY ? "gateway" : "service");
    g_assert_true(end->handler->read_packet(&read, message->packet, message->size));
    end->handler->received(&read, end->data);
}

static void
deliver_to_service(gpointer data, gpointer link)
{
    g_autofree Message *message = data;

    deliver(link, SERVICE, message);
}

static void
deliver_to_gateway(gpointer data, gpointer link)
{
    g_autofree Message *message = data;

    deliver(link, GATEWAY, message);
}

static void
report_lease(const SimHost *host, gconstpointer packet, guint32 size)
{
    g_auto(ClusterMessage) read = {0};

    g_assert_true(cluster_packet_read_from_gateway(&read, packet, size));
    if (read.kind == CLUSTER_PACKET_LEASE)
        host->class->leased(host->world, host->number, read.lease.deadline_us);
}

static void
send_one(const ClusterConnection *self, gconstpointer packet, guint32 size)
{
    SimLoop *loop = self->link->host->loop;
    Message *message = g_malloc(sizeof(Message) + size);

    message->size = size;
    if (size > 0)
        memcpy(message->packet, packet, size);
    sim_channel_send(&self->link->channels[!self->side], sim_range(loop, 0, 5 * MS), message);
}

static void
on_accept(gpointer data)
{
    const SimTimer *timer = data;
    Link *link = timer->host->links->pdata[timer->id];

    if (!sim_gateway_is_running(timer->host->gateway)) {
        deliver(link, SERVICE, &(Message){0});
        return;
    }
    sim_gateway_accept(timer->host->gateway, (int)(2 * timer->host->number + GATEWAY));
    sim_channel_block(&link->channels[GATEWAY], FALSE);
}

int
cluster_connection_open(const char *path)
{
    int number = atoi(path);

    errno = ECONNREFUSED;
    return sim_gateway_is_running(hosts[number]->gateway) ? 2 * number : -1;
}

ClusterConnection *
cluster_connection_new(int fd, const ClusterConnectionHandler *handler, gpointer data)
{
    ClusterConnection *self = g_new0(ClusterConnection, 1);
    Side side = fd % 2;
    SimHost *host = hosts[fd / 2];
    Link *link;

    if (side == SERVICE) {
        link = g_new0(Link, 1);
        link->host = host;
        sim_channel_init(&link->channels[SERVICE], host->loop, deliver_to_service, g_free, link);
        sim_channel_init(&link->channels[GATEWAY], host->loop, deliver_to_gateway, g_free, link);
        sim_channel_block(&link->channels[GATEWAY], TRUE);
        sim_host_timer_in(host, 0, host->links->len, sim_range(host->loop, 0, 1 * MS), on_accept);
        g_ptr_array_add(host->links, link);
    }
    link = host->links->pdata[host->links->len - 1];
    *self = (ClusterConnection){link, side, handler, data, g_byte_array_new()};
    link->ends[side] = self;
    return self;
}

void
cluster_connection_free(ClusterConnection *self)
{
    if (self == NULL)
        return;
    send_one(self, NULL, 0);
    self->link->ends[self->side] = NULL;
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
    ClusterHead head;

    for (guint i = 0; i < self->output->len; i += head.size) {
        memcpy(&head, self->output->data + i, sizeof head);
        if (self->side == GATEWAY)
            report_lease(self->link->host, self->output->data + i, head.size);
        send_one(self, self->output->data + i, head.size);
    }
    g_byte_array_set_size(self->output, 0);
}

/* The packets of two names are few. */
void
cluster_connection_await_writable(G_GNUC_UNUSED ClusterConnection *self)
{
    g_assert_not_reached();
}

static void
link_free(gpointer data)
{
    Link *link = data;

    sim_channel_clear(&link->channels[SERVICE]);
    sim_channel_clear(&link->channels[GATEWAY]);
    g_free(link);
}

/* ---- the gateway */

static void
on_gateway_start(gpointer data)
{
    const SimTimer *timer = data;

    sim_gateway_start(timer->host->gateway);
}

void
sim_host_end_gateway(SimHost *host, gboolean is_killed)
{
    if (!sim_gateway_is_running(host->gateway))
        return;
    sim_gateway_end(host->gateway, is_killed);
    sim_host_timer_in(host, 0, 0, sim_range(host->loop, 10 * MS, 3 * S), on_gateway_start);
}

/* ---- the host */

static void
end_turns(void)
{
    for (guint i = 0; i < SIM_WHOLE_HOSTS_MAX; i++)
        if (hosts[i] != NULL)
            sim_service_end_turn(hosts[i]->service);
}

SimHost *
sim_host_new(SimLoop *loop,
             SimServers *servers,
             const SimClaims *claims,
             guint number,
             guint timeout_secs,
             const SimHostClass *class,
             gpointer world)
{
    SimHost *host = g_new0(SimHost, 1);

    g_assert(number < SIM_WHOLE_HOSTS_MAX);
    hosts[number] = host;
    host->loop = loop;
    host->servers = servers;
    host->claims = claims;
    host->number = number;
    host->class = class;
    host->world = world;
    host->socket_path = g_strdup_printf("%u", number);
    host->asked = g_array_new(FALSE, FALSE, sizeof(SimAsked));
    host->links = g_ptr_array_new_with_free_func(link_free);
    host->gateway = sim_gateway_new(number, timeout_secs, SIM_TURN_SECS, host->socket_path);
    host->service = sim_service_new(host);
    sim_gateway_start(host->gateway);
    loop->after_each = end_turns;
    return host;
}

void
sim_host_free(SimHost *host)
{
    sim_gateway_free(host->gateway);
    sim_service_free(host->service);
    hosts[host->number] = NULL;
    g_ptr_array_unref(host->links);
    g_array_unref(host->asked);
    g_free(host->socket_path);
    g_free(host);
}
