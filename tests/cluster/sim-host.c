/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sim-host-private.h"

void
sim_host_timer_in(SimHost *host, guint name, guint id, gint64 delay_us, SimFunc func)
{
    SimTimer *timer = g_new0(SimTimer, 1);

    *timer = (SimTimer){host, name, id};
    sim_loop_in(host->loop, delay_us, func, timer);
}

/* ---- messages between the lock service and the gateway */

static void
on_message(gpointer data)
{
    SimMessage *head = data;

    if (head->host->is_linked && head->link == head->host->link)
        head->func(data);
}

static void
send_message(SimHost *host, gint64 *last_us, SimFunc func, gpointer message)
{
    gint64 arrival_us = host->loop->now_us + sim_range(host->loop, 0, 5 * MS);

    *(SimMessage *)message = (SimMessage){host, host->link, func};
    *last_us = MAX(*last_us, arrival_us);
    sim_loop_at(host->loop, *last_us, on_message, message);
}

void
sim_host_send_up(SimHost *host, SimFunc func, gpointer message)
{
    send_message(host, &host->last_up_us, func, message);
}

void
sim_host_send_down(SimHost *host, SimFunc func, gpointer message)
{
    send_message(host, &host->last_down_us, func, message);
}

void
sim_host_connect(SimHost *host)
{
    host->link++;
    host->is_linked = host->has_gateway;
    sim_service_begin_connection(host);
    if (!host->has_gateway)
        return;
    sim_gateway_connected(host);
    sim_service_connected(host);
}

/* ---- the host */

SimHost *
sim_host_new(
    SimLoop *loop, SimEngine *engine, guint number, const SimHostClass *class, gpointer world)
{
    SimHost *host = g_new0(SimHost, 1);

    host->loop = loop;
    host->engine = engine;
    host->number = number;
    host->class = class;
    host->world = world;
    sim_service_init(host);
    sim_gateway_init(host);
    return host;
}

void
sim_host_free(SimHost *host)
{
    sim_gateway_clear(host);
    sim_service_clear(host);
    g_free(host);
}
