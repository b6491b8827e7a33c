/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/bus-service.h"

#include "common/sd-bus-source.h"
#include "common/wire-names.h"
#include "service/bus/methods.h"
#include "service/bus/service-methods.h"
#include "service/bus/signals.h"

void
bus_service_tick(BusService *service)
{
    user_agent_set_time(&service->user_agent, g_get_monotonic_time(), g_get_real_time());
}

void
bus_service_end_turn(BusService *service)
{
    gint64 next_ms = user_agent_get_next_deadline_ms(&service->user_agent);

    outbox_flush(&service->outbox);
    watchers_send_pings(service);
    g_source_set_ready_time(service->deadline_source, next_ms < 0 ? -1 : next_ms * 1000);
}

static void
after_batch(gpointer data)
{
    bus_service_end_turn(data);
}

static void
on_bus_closed(gpointer data)
{
    lifecycle_bus_lost(data);
}

static gboolean
deadline_dispatch(GSource *source, GSourceFunc callback, gpointer user_data)
{
    return callback(user_data);
}

static gboolean
on_deadline(gpointer data)
{
    BusService *service = data;

    bus_service_tick(service);
    user_agent_expire(&service->user_agent);
    signals_announce(service, NULL, NULL);
    bus_service_end_turn(service);
    return G_SOURCE_CONTINUE;
}

static GSourceFuncs deadline_funcs = {.dispatch = deadline_dispatch};

static GSource *
attach_deadline_source(BusService *service)
{
    GSource *source = g_source_new(&deadline_funcs, sizeof(GSource));

    g_source_set_static_name(source, "time-outs of requests");
    g_source_set_callback(source, on_deadline, service, NULL);
    g_source_attach(source, NULL);
    return source;
}

/* What sd-bus answers by itself (Ping, Introspect, properties, bad calls) it sends at once: what
 * came before must have left by then, or a Ping would not be the barrier that it looks like. */
static int
on_any_message(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    const char *interface = sd_bus_message_get_interface(message);

    /* Anybody can send us a NameOwnerChanged or NameLost of their own, and sd-bus matches it. */
    if (sd_bus_message_is_signal(message, NULL, NULL) > 0 &&
        g_strcmp0(sd_bus_message_get_sender(message), WIRE_DRIVER_NAME) != 0)
        return 1;
    if (sd_bus_message_is_method_call(message, NULL, NULL) > 0 &&
        g_strcmp0(interface, WIRE_LOCKS_INTERFACE) != 0)
        bus_service_end_turn(userdata);
    return 0;
}

BusService *
bus_service_new(sd_bus *bus, const Limits *limits, const LifecycleOptions *options)
{
    BusService *service = g_new0(BusService, 1);

    service->bus = bus;
    service->verbose = g_log_get_debug_enabled();
    user_agent_init(&service->user_agent, limits);
    outbox_init(&service->outbox, bus);
    clients_init(&service->clients);
    watchers_init(&service->watchers);
    lifecycle_init(&service->lifecycle, options);
    service->deadline_source = attach_deadline_source(service);
    return service;
}

static void
destroy_source(GSource *source)
{
    if (source == NULL)
        return;
    g_source_destroy(source);
    g_source_unref(source);
}

void
bus_service_free(BusService *service)
{
    if (service == NULL)
        return;
    destroy_source(service->bus_source);
    destroy_source(service->deadline_source);
    lifecycle_fini(&service->lifecycle);
    clients_fini(service);
    watchers_fini(&service->watchers);
    outbox_fini(&service->outbox);
    user_agent_fini(&service->user_agent);
    sd_bus_flush_close_unref(service->bus);
    g_free(service);
}

int
bus_service_start(BusService *service)
{
    int r;

    if ((r = sd_bus_add_filter(service->bus, NULL, on_any_message, service)) < 0 ||
        (r = methods_export(service)) < 0 || (r = service_methods_export(service)) < 0 ||
        (r = clients_subscribe(service)) < 0 || (r = lifecycle_take_name(service)) < 0)
        return r;

    service->bus_source =
        sd_bus_source_attach(service->bus, NULL, after_batch, on_bus_closed, service);
    return 0;
}
