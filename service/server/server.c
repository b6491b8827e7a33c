/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "server.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "admission.h"
#include "cell-offers.h"
#include "cluster-calls.h"
#include "cluster.h"
#include "document-calls.h"
#include "intake.h"
#include "lifecycle.h"
#include "ownership.h"
#include "packet-socket.h"
#include "scheduler.h"
#include "sleep.h"
#include "state.h"

/* ---- turns */

void
server_end_turn(Server *server)
{
    if (bus_is_backed_up(server->bus))
        turn_add_output(&server->bus->output, 0); /* queued messages may be sendable again */
    scheduler_end_turn(server);
    if (server->state != NULL)
        state_compact(server->state);
    flow_control_send_pings(server->bus);
    if (server->stage == SERVER_STOPPING)
        ownership_release_name(server);
    if (server->stage == SERVER_DRAINING)
        lifecycle_end_turn(server);
}

/* ---- running */

int
server_run(Server *server)
{
    while (server->stage != SERVER_ENDED) {
        g_main_context_iteration(NULL, TRUE);
        if (server->stage != SERVER_ENDED)
            server_end_turn(server);
    }
    return server->exit_status;
}

void
server_start(Server *server)
{
    sd_bus *bus = server->bus->connection;
    int r;

    if ((r = sd_bus_add_filter(bus, NULL, intake_on_message, server)) < 0 ||
        (r = ownership_subscribe(server)) < 0) {
        lifecycle_fail(server, "Can't serve on the bus: %s", g_strerror(-r));
        return;
    }
    if (server->cluster != NULL)
        sleep_watch(server);
    ownership_take(server);
    server->bus_source = intake_attach(server);
}

/* ---- */

/* A restored state has another one. */
static void
choose_document_key(Server *server)
{
    guint64 *key = server->user_agent.document_key;
    const gsize size = sizeof server->user_agent.document_key;

    if (getrandom(key, size, 0) != (gssize)size)
        g_error("getrandom() failed: %s", g_strerror(errno));
}

Server *
server_new(sd_bus *bus, const Limits *limits, const ServerOptions *options)
{
    Server *server = g_new0(Server, 1);
    const StateOptions state_options = {
        .directory = options->state_directory,
        .offers_cells = options->offers_cells,
        .end_pages = cell_offers_end_all,
        .data = server,
    };

    server_init(server, limits);
    server->client_free = admission_free_client;
    server->verbose = g_log_get_debug_enabled();
    server->serves_groups = options->serves_groups;
    server->bus = g_new0(Bus, 1);
    bus_init(server->bus, bus, server);
    server->sockets = packet_sockets_new(server);
    server->idle_exit_us = (gint64)(options->idle_exit_secs * G_USEC_PER_SEC);
    server->ownership = ownership_new(options->replace, &state_options);
    document_calls_init(server);
    choose_document_key(server);
    scheduler_start(server);
    return server;
}

/* Ends all requests in the core without notifications. */
static void
end_requests(Server *server)
{
    GHashTableIter iter;
    Client *client;

    user_agent_shut_down(&server->user_agent);
    g_hash_table_iter_init(&iter, server->clients);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&client))
        if (client->agent != NULL)
            user_agent_lose(&server->user_agent, client->agent);
}

void
server_free(Server *server)
{
    if (server->bus_source != NULL)
        g_source_destroy(server->bus_source);
    g_clear_pointer(&server->bus_source, g_source_unref);
    cell_offers_end_all(server);
    /* Before the rest, since a successor may be waiting for its lock. And what ends below has not
     * ended for the clients. */
    ownership_free(server->ownership);
    g_clear_pointer(&server->state, state_free);
    sleep_free(server);
    end_requests(server);
    cluster_calls_fini(server);
    document_calls_fini(server);
    server_fini(server);
    packet_sockets_free(server->sockets);
    bus_fini(server->bus);
    g_free(server->bus);
    scheduler_stop(server);
    lifecycle_fini(server);
    g_free(server);
}
