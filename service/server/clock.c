/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "clock.h"

#include "cluster.h"
#include "notifications.h"

void
clock_tick(Server *server)
{
    UserAgent *user_agent = &server->user_agent;

    user_agent_set_time(user_agent, g_get_monotonic_time(), g_get_real_time());
    if (server->cluster != NULL)
        cluster_check_lease(server->cluster);
    user_agent_expire(user_agent);
    notify_effects(server);
}

static gboolean
on_deadline(gpointer server)
{
    clock_tick(server);
    return G_SOURCE_CONTINUE;
}

static gboolean
deadline_dispatch(GSource *source, GSourceFunc callback, gpointer server)
{
    return callback(server);
}

static GSourceFuncs deadline_funcs = {.dispatch = deadline_dispatch};

void
clock_start(Server *server)
{
    GSource *source = g_source_new(&deadline_funcs, sizeof(GSource));

    g_source_set_static_name(source, "time-outs of requests");
    g_source_set_callback(source, on_deadline, server, NULL);
    g_source_attach(source, NULL);
    server->deadline_source = source;
}

void
clock_stop(Server *server)
{
    g_source_destroy(server->deadline_source);
    g_clear_pointer(&server->deadline_source, g_source_unref);
}

void
clock_arm(Server *server)
{
    gint64 next_ms = user_agent_get_next_deadline_ms(&server->user_agent);

    g_source_set_ready_time(server->deadline_source, next_ms < 0 ? -1 : next_ms * 1000);
}
