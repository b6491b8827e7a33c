/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/bus-service.h"

#include <errno.h>

#include "common/sd-bus-source.h"
#include "common/wire-names.h"
#include "service/bus/announce.h"
#include "service/bus/calls.h"
#include "service/bus/clients.h"
#include "service/bus/interfaces.h"
#include "service/bus/peers.h"
#include "service/bus/recovery.h"
#include "service/bus/sums.h"
#include "service/bus/watchers.h"
#include "service/fault.h"
#include "service/state/state.h"

struct BusService {
    Edge edge;
    GSource *bus_source;
};

static void
after_batch(gpointer data)
{
    Edge *edge = data;

    if (outbox_is_backed_up(&edge->bus_link.outbox))
        outbox_flush(&edge->bus_link.outbox); /* some may have been written */
    edge_end_turn(edge);
}

static gboolean
may_read(gpointer data)
{
    Edge *edge = data;

    return !outbox_is_backed_up(&edge->bus_link.outbox) && !edge_has_said_enough(edge);
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
after_send(Edge *edge)
{
    if (FAULT_BUILD)
        sums_check(edge);
    confirm_send_pings(edge);
    lifecycle_go_on_stopping(edge);
}

static void
on_deadline(Edge *edge)
{
    user_agent_expire(&edge->user_agent);
    announce_effects(edge);
}

static int
on_any_message(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    Edge *edge = userdata;

    /* Anybody can send us a NameOwnerChanged or NameLost of their own, and sd-bus matches it. */
    if (sd_bus_message_is_signal(message, NULL, NULL) > 0 &&
        g_strcmp0(sd_bus_message_get_sender(message), WIRE_DRIVER_NAME) != 0)
        return 1;

    if (clients_ignore(edge, message) || calls_take(&edge->bus_link, message))
        return 1;
    edge_before_message(edge, message);
    return 0;
}

static const PeersServe peers_serve = {
    .export = interfaces_export,
    .take = calls_take,
};

BusService *
bus_service_new(sd_bus *bus, const Limits *limits, const LifecycleOptions *options)
{
    BusService *service = g_new0(BusService, 1);
    Edge *edge = &service->edge;

    edge_init(edge, bus, limits, on_deadline);
    edge->after_send = after_send;
    edge->bus_link.outbox.taken = confirm_count;
    edge->clients = clients_new(calls_serve);
    edge->peers = peers_new(edge, &peers_serve);
    edge->watchers = watchers_new();
    edge->lifecycle = lifecycle_new(options);
    return service;
}

void
bus_service_free(BusService *service)
{
    if (service->bus_source != NULL) {
        g_source_destroy(service->bus_source);
        g_source_unref(service->bus_source);
    }
    /* First, since a successor may be waiting for it; what ends below is not the clients' end. */
    g_clear_pointer(&service->edge.state, state_free);
    lifecycle_free(service->edge.lifecycle);
    clients_free(&service->edge);
    peers_free(service->edge.peers);
    watchers_free(service->edge.watchers);
    edge_fini(&service->edge);
    g_free(service);
}

/* With --replace the name comes first: that is what makes the other instance leave. Calls that come
 * meanwhile wait in the socket. */
static int
take_over(Edge *edge, gboolean replace, const char *state_directory)
{
    g_autoptr(GError) error = NULL;
    int r = replace ? lifecycle_take_name(edge) : 0;

    if (r < 0)
        return r;
    if (!replace && lifecycle_is_name_taken(edge))
        return -EEXIST;
    if (state_directory != NULL && !recovery_run(edge, state_directory, &error)) {
        if (lifecycle_is_name_taken(edge))
            return replace ? -ECANCELED : -EEXIST;
        g_warning("%s", error->message);
        return -EIO;
    }
    return replace ? 0 : lifecycle_take_name(edge);
}

int
bus_service_start(BusService *service, const char *state_directory)
{
    Edge *edge = &service->edge;
    gboolean replace = edge->lifecycle->options.replace;
    int r;

    if ((r = sd_bus_add_filter(edge->bus_link.bus, NULL, on_any_message, edge)) < 0 ||
        (r = interfaces_export(&edge->bus_link)) < 0 || (r = clients_subscribe(edge)) < 0 ||
        (r = take_over(edge, replace, state_directory)) < 0)
        return r;

    edge_end_turn(edge); /* what happened while nobody was here */
    service->bus_source = sd_bus_source_attach(edge->bus_link.bus, NULL, &bus_hooks, edge, NULL);
    return 0;
}

int
bus_service_run(BusService *service)
{
    return lifecycle_run(&service->edge);
}

void
bus_service_stop(BusService *service)
{
    lifecycle_stop(&service->edge);
}
