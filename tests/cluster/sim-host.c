/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sim-host-private.h"

static SimHost *hosts[SIM_WHOLE_HOSTS_MAX];

void
sim_host_timer_in(SimHost *host, guint name, guint id, gint64 delay_us, SimFunc func)
{
    SimTimer *timer = g_new0(SimTimer, 1);

    *timer = (SimTimer){host, name, id};
    sim_loop_in(host->loop, delay_us, func, timer);
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
    host->gateway = sim_gateway_new(number, timeout_secs, SIM_TURN_SECS, host->socket_path);
    host->links = sim_links_new(loop, number, host->gateway, class->leased, world);
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
    sim_links_free(host->links);
    g_array_unref(host->asked);
    g_free(host->socket_path);
    g_free(host);
}
