/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "server.h"

#include "cluster.h"
#include "lifecycle.h"
#include "notifications.h"
#include "state.h"

static void
write_demands(const Server *server)
{
    cluster_write_demands(server->cluster);
    if (server->state != NULL)
        state_note_deadline(server->state, cluster_get_deadline_us(server->cluster));
}

static void
commit(gpointer data)
{
    Server *server = data;

    if (!lifecycle_is_serving(server)) /* the restored agents have no clients yet */
        return;
    notify_effects(server);
    if (server->cluster != NULL)
        write_demands(server);
    if (server->state != NULL)
        state_commit(server->state);
}

void
server_init(Server *server, sd_bus *connection, const Limits *limits)
{
    session_init(&server->session, limits);
    turn_init(&server->session.turn, commit, server);
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

void
server_end_turn(Server *server)
{
    gint64 next_ms;

    if (outbox_is_backed_up(&server->bus.outbox))
        turn_add_output(&server->bus.outbox.output, 0); /* queued messages may be sendable again */
    turn_end(&server->session.turn);
    server->after_turn(server);
    next_ms = user_agent_get_next_deadline_ms(&server->session.user_agent);
    g_source_set_ready_time(server->deadline_source, next_ms < 0 ? -1 : next_ms * 1000);
}
