/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service.h"

#include <stdlib.h>

#include "admission.h"
#include "clock.h"
#include "cluster-calls.h"
#include "intake.h"
#include "late-replies.h"
#include "owners.h"
#include "scheduler.h"
#include "sd-bus-source.h"
#include "sleep.h"
#include "startup.h"
#include "state.h"
#include "watches.h"

struct Service {
    Server server;
    GSource *bus_source;
};

static void
after_batch(gpointer data)
{
    Server *server = data;

    if (outbox_is_backed_up(&server->bus.outbox))
        turn_add_output(&server->bus.outbox.output, 0); /* queued messages may be sendable again */
    server_end_turn(server);
}

static gboolean
may_read(gpointer data)
{
    const Server *server = data;

    return !outbox_is_backed_up(&server->bus.outbox) && !turn_is_full(&server->session.turn);
}

static void
on_closed(gpointer data)
{
    lifecycle_bus_lost(data);
}

static const SdBusSourceHooks bus_hooks = {
    .after_batch = after_batch,
    .may_read = may_read,
    .on_closed = on_closed,
};

static void
after_turn(Server *server)
{
    flow_controls_send_pings(&server->bus.flow);
    lifecycle_go_on_stopping(server);
}

Service *
service_new(sd_bus *bus, const Limits *limits, const LifecycleOptions *options)
{
    Service *service = g_new0(Service, 1);
    Server *server = &service->server;

    server_init(server, bus, limits);
    server->session.client_free = admission_free_client;
    server->after_turn = after_turn;
    server->watches = watches_new();
    server->late_replies = late_replies_new();
    server->lifecycle = lifecycle_new(options);
    clock_start(server);
    scheduler_start(server);
    return service;
}

/* Ends all requests in the core without notifications. */
static void
end_requests(Server *server)
{
    UserAgent *user_agent = &server->session.user_agent;
    GHashTableIter iter;
    Client *client;

    user_agent_shut_down(user_agent);
    g_hash_table_iter_init(&iter, server->session.clients);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&client))
        if (client->agent != NULL)
            user_agent_lose(user_agent, client->agent);
}

void
service_free(Service *service)
{
    Server *server = &service->server;

    if (service->bus_source != NULL) {
        g_source_destroy(service->bus_source);
        g_source_unref(service->bus_source);
    }
    /* First, since a successor may be waiting for its lock. And what ends below has not ended for
     * the clients. */
    startup_free(server);
    g_clear_pointer(&server->state, state_free);
    owners_unsubscribe(server);
    sleep_free(server);
    cluster_calls_fini(server);
    lifecycle_free(server->lifecycle);
    end_requests(server);
    late_replies_free(server->late_replies);
    clock_stop(server);
    server_fini(server);
    scheduler_stop(server);
    watches_free(server->watches);
    g_free(service);
}

void
service_set_cluster(Service *service, ClusterConfig *config, const char *socket_path)
{
    cluster_calls_init(&service->server, config, socket_path);
}

void
service_start(Service *service, const char *state_directory)
{
    Server *server = &service->server;
    sd_bus *bus = server->bus.connection;
    int r;

    if ((r = sd_bus_add_filter(bus, NULL, intake_on_message, server)) < 0 ||
        (r = owners_subscribe(server)) < 0) {
        g_warning("Can't serve on the bus: %s", g_strerror(-r));
        lifecycle_end(server, EXIT_FAILURE);
        return;
    }
    if (server->cluster != NULL)
        sleep_watch(server);
    startup_begin(server, state_directory);
    server_end_turn(server);
    service->bus_source = sd_bus_source_attach(bus, &bus_hooks, server);
}

int
service_run(Service *service)
{
    return lifecycle_run(&service->server);
}

void
service_stop(Service *service)
{
    lifecycle_stop(&service->server);
}
