/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "clock.h"

#include "cluster.h"
#include "notifications.h"

typedef struct {
    GSource parent;
    Server *server;
} DeadlineSource;

static gboolean
deadline_dispatch(GSource *source, GSourceFunc callback, gpointer user_data)
{
    Server *server = ((DeadlineSource *)source)->server;

    clock_tick(server);
    server_end_turn(server);
    return G_SOURCE_CONTINUE;
}

static GSourceFuncs deadline_funcs = {.dispatch = deadline_dispatch};

void
clock_start(Server *server)
{
    GSource *source = g_source_new(&deadline_funcs, sizeof(DeadlineSource));

    g_source_set_static_name(source, "time-outs of requests");
    ((DeadlineSource *)source)->server = server;
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
clock_tick(Server *server)
{
    UserAgent *user_agent = &server->session.user_agent;

    session_tick(&server->session);
    if (server->cluster != NULL)
        cluster_check_lease(server->cluster);
    user_agent_expire(user_agent);
    if (effects_get_length(&user_agent->effects) > 0)
        notify_effects(server);
}
