/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "server.h"

#include "cluster.h"
#include "notifications.h"
#include "state.h"

typedef struct {
    GSource parent;
    Server *server;
    void (*on_deadline)(Server *server);
} DeadlineSource;

static gboolean
deadline_dispatch(GSource *source, GSourceFunc callback, gpointer user_data)
{
    DeadlineSource *self = (DeadlineSource *)source;

    server_tick(self->server);
    self->on_deadline(self->server);
    server_end_turn(self->server);
    return G_SOURCE_CONTINUE;
}

static GSourceFuncs deadline_funcs = {.dispatch = deadline_dispatch};

static GSource *
attach_deadline_source(Server *server, void (*on_deadline)(Server *server))
{
    GSource *source = g_source_new(&deadline_funcs, sizeof(DeadlineSource));
    DeadlineSource *self = (DeadlineSource *)source;

    g_source_set_static_name(source, "time-outs of requests");
    self->server = server;
    self->on_deadline = on_deadline;
    g_source_attach(source, NULL);
    return source;
}

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
server_init(Server *server,
            sd_bus *connection,
            const Limits *limits,
            void (*on_deadline)(Server *server))
{
    session_init(&server->session, limits);
    turn_init(&server->session.turn, commit, wake_up, server);
    bus_init(&server->bus, connection, &server->session);
    server->sockets = packet_sockets_new(&server->session);
    server->verbose = g_log_get_debug_enabled();
    server->deadline_source = attach_deadline_source(server, on_deadline);
}

void
server_fini(Server *server)
{
    g_source_destroy(server->deadline_source);
    g_clear_pointer(&server->deadline_source, g_source_unref);
    session_fini(&server->session);
    packet_sockets_free(server->sockets);
    bus_fini(&server->bus);
}

void
server_tick(Server *server)
{
    session_tick(&server->session);
    if (server->cluster != NULL && cluster_check_lease(server->cluster))
        notify_effects(server);
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

    if (server->cluster != NULL)
        end_turn_of_cluster(server);
    turn_flush(&server->session.turn);
    server->after_turn(server);
    g_source_set_ready_time(server->deadline_source, next_ms < 0 ? -1 : next_ms * 1000);
}
