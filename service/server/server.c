/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "server.h"

#include "cluster.h"
#include "state.h"

static void
commit(gpointer data)
{
    const Server *server = data;

    if (server->state != NULL)
        state_commit(server->state);
}

static void
wake_up(gpointer data)
{
    const Server *server = data;

    g_source_set_ready_time(server->scheduler, 0);
}

void
server_init(Server *server, sd_bus *connection, const Limits *limits)
{
    session_init(&server->session, limits);
    turn_init(&server->session.turn, commit, wake_up, server);
    bus_init(&server->bus, connection, &server->session);
    server->sockets = packet_sockets_new(&server->session);
    server->verbose = g_log_get_debug_enabled();
}

void
server_fini(Server *server)
{
    session_fini(&server->session);
    packet_sockets_free(server->sockets);
    bus_fini(&server->bus);
}

static void
end_turn_of_cluster(Server *server)
{
    cluster_end_turn(server->cluster);
    if (server->state != NULL)
        state_note_deadline(server->state, cluster_get_deadline_us(server->cluster));
}

void
server_end_turn(Server *server)
{
    gint64 next_ms = user_agent_get_next_deadline_ms(&server->session.user_agent);

    if (server->cluster != NULL && server->startup == NULL)
        end_turn_of_cluster(server);
    turn_end(&server->session.turn);
    if (server->state != NULL)
        state_compact(server->state);
    server->after_turn(server);
    g_source_set_ready_time(server->deadline_source, next_ms < 0 ? -1 : next_ms * 1000);
}
