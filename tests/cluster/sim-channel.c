/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sim-channel.h"

typedef struct {
    SimChannel *channel;
    guint generation;
    gpointer message;
    GDestroyNotify free_message;
} Delivery;

static void
delivery_free(gpointer data)
{
    Delivery *delivery = data;

    if (delivery->message != NULL)
        delivery->free_message(delivery->message);
    g_free(delivery);
}

void
sim_channel_init(SimChannel *channel,
                 SimLoop *loop,
                 void (*deliver)(gpointer message, gpointer data),
                 GDestroyNotify free_message,
                 gpointer data)
{
    *channel =
        (SimChannel){.loop = loop, .deliver = deliver, .free_message = free_message, .data = data};
    g_queue_init(&channel->held);
}

void
sim_channel_clear(SimChannel *channel)
{
    g_queue_clear_full(&channel->held, channel->free_message);
}

static void
on_delivery(gpointer data)
{
    Delivery *delivery = data;
    SimChannel *channel = delivery->channel;

    if (delivery->generation != channel->generation)
        return;
    if (channel->is_blocked)
        g_queue_push_tail(&channel->held, g_steal_pointer(&delivery->message));
    else
        channel->deliver(g_steal_pointer(&delivery->message), channel->data);
}

void
sim_channel_send(SimChannel *channel, gint64 delay_us, gpointer message)
{
    Delivery *delivery = g_new0(Delivery, 1);

    *delivery = (Delivery){channel, channel->generation, message, channel->free_message};
    channel->last_us = MAX(channel->last_us, channel->loop->now_us + delay_us);
    sim_loop_add(channel->loop, channel->last_us, on_delivery, delivery, delivery_free);
}

void
sim_channel_reset(SimChannel *channel)
{
    channel->generation++;
    sim_channel_clear(channel);
}

void
sim_channel_block(SimChannel *channel, gboolean is_blocked)
{
    channel->is_blocked = is_blocked;
    while (!channel->is_blocked && channel->held.length > 0)
        channel->deliver(g_queue_pop_head(&channel->held), channel->data);
}
