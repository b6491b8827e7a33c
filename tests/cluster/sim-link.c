/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sim-link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster-connection.h"
#include "sim-channel.h"
#include "sim-servers.h"

/* The path of a gateway's socket is the number of its host. The descriptor of a connection is twice
 * that for the lock service, and one more for the gateway. */
static SimLinks *links_of[SIM_HOSTS_MAX];

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

struct SimLinks {
    SimLoop *loop;
    SimGateway *gateway;
    guint host;
    SimLeased leased; /* or NULL */
    gpointer data;
    GPtrArray *all; /* of Link */
};

struct Link {
    SimLinks *links;
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
    sim_trace(link->links->loop, "host %u: packet %u for the %s", link->links->host, head.kind,
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
report_lease(const SimLinks *links, gconstpointer packet, guint32 size)
{
    g_auto(ClusterMessage) read = {0};

    g_assert_true(cluster_packet_read_from_gateway(&read, packet, size));
    if (read.kind == CLUSTER_PACKET_LEASE)
        links->leased(links->data, links->host, read.lease.deadline_us);
}

static void
send_one(const ClusterConnection *self, gconstpointer packet, guint32 size)
{
    SimLoop *loop = self->link->links->loop;
    Message *message = g_malloc(sizeof(Message) + size);

    message->size = size;
    if (size > 0)
        memcpy(message->packet, packet, size);
    sim_channel_send(&self->link->channels[!self->side], sim_range(loop, 0, 5 * MS), message);
}

static void
on_accept(gpointer data)
{
    Link *link = *(Link **)data;
    const SimLinks *links = link->links;

    if (!sim_gateway_is_running(links->gateway)) {
        deliver(link, SERVICE, &(Message){0});
        return;
    }
    sim_gateway_accept(links->gateway, (int)(2 * links->host + GATEWAY));
    sim_channel_block(&link->channels[GATEWAY], FALSE);
}

int
cluster_connection_open(const char *path)
{
    int number = atoi(path);

    errno = ECONNREFUSED;
    return sim_gateway_is_running(links_of[number]->gateway) ? 2 * number : -1;
}

ClusterConnection *
cluster_connection_new(int fd, const ClusterConnectionHandler *handler, gpointer data)
{
    ClusterConnection *self = g_new0(ClusterConnection, 1);
    Side side = fd % 2;
    SimLinks *links = links_of[fd / 2];
    Link *link;

    if (side == SERVICE) {
        link = g_new0(Link, 1);
        link->links = links;
        sim_channel_init(&link->channels[SERVICE], links->loop, deliver_to_service, g_free, link);
        sim_channel_init(&link->channels[GATEWAY], links->loop, deliver_to_gateway, g_free, link);
        sim_channel_block(&link->channels[GATEWAY], TRUE);
        sim_loop_in(links->loop, sim_range(links->loop, 0, 1 * MS), on_accept,
                    g_memdup2(&link, sizeof(Link *)));
        g_ptr_array_add(links->all, link);
    }
    link = links->all->pdata[links->all->len - 1];
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
        if (self->side == GATEWAY && self->link->links->leased != NULL)
            report_lease(self->link->links, self->output->data + i, head.size);
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

/* ---- */

SimLinks *
sim_links_new(SimLoop *loop, guint host, SimGateway *gateway, SimLeased leased, gpointer data)
{
    SimLinks *links = g_new0(SimLinks, 1);

    *links =
        (SimLinks){loop, gateway, host, leased, data, g_ptr_array_new_with_free_func(link_free)};
    links_of[host] = links;
    return links;
}

void
sim_links_free(SimLinks *links)
{
    links_of[links->host] = NULL;
    g_ptr_array_unref(links->all);
    g_free(links);
}
