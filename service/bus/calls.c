/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/calls.h"

#include <errno.h>

#include "common/wire-names.h"
#include "service/bus/bus-service.h"
#include "service/bus/errors.h"
#include "service/bus/methods.h"
#include "service/bus/service-methods.h"

typedef struct {
    const char *interface;
    const char *member;
    CallHandler handler;
    /* What only asks, or gives an id that nobody would know, is not served without a reply. */
    gboolean useful_without_reply;
} CallsTableRow;

static const CallsTableRow calls_table[] = {
    {WIRE_LOCKS_INTERFACE, "Request", methods_request, FALSE},
    {WIRE_LOCKS_INTERFACE, "Steal", methods_steal, FALSE},
    {WIRE_LOCKS_INTERFACE, "Release", methods_release, TRUE},
    {WIRE_LOCKS_INTERFACE, "Abort", methods_abort, TRUE},
    {WIRE_LOCKS_INTERFACE, "Query", methods_query, FALSE},
    {WIRE_LOCKS_INTERFACE, "Inspect", methods_inspect, FALSE},
    {WIRE_LOCKS_INTERFACE, "Watch", methods_watch, TRUE},
    {WIRE_SERVICE_INTERFACE, "Buckets", service_methods_buckets, FALSE},
};

static const CallsTableRow *
find_row(sd_bus_message *call)
{
    const char *interface = sd_bus_message_get_interface(call);
    const char *member = sd_bus_message_get_member(call);

    for (guint i = 0; i < G_N_ELEMENTS(calls_table); i++) {
        const CallsTableRow *row = &calls_table[i];

        /* Without an interface, sd-bus has found the member on this object. */
        if (g_str_equal(row->member, member) &&
            (interface == NULL || g_str_equal(row->interface, interface)))
            return row;
    }
    g_assert_not_reached();
}

sd_bus_message *
calls_new_reply(sd_bus_message *call)
{
    sd_bus_message *reply = NULL;
    int r;

    if (sd_bus_message_get_expect_reply(call) <= 0)
        return NULL;
    r = sd_bus_message_new_method_return(call, &reply);
    g_assert(r >= 0);
    return reply;
}

void
calls_reply_error(BusService *service, sd_bus_message *call, const sd_bus_error *error)
{
    sd_bus_message *reply = NULL;

    if (sd_bus_message_get_expect_reply(call) <= 0)
        return;
    if (sd_bus_message_new_method_error(call, &reply, error) >= 0)
        outbox_take(&service->outbox, reply);
}

int
calls_set_error(sd_bus_error *error, BusService *service, LockResult result)
{
    errors_set_from_result(error, result, &service->user_agent.limits);
    return -EINVAL;
}

void
calls_serve(Client *client, sd_bus_message *call)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    int r;

    bus_service_tick(client->service);
    r = find_row(call)->handler(client, call, &error);
    if (client->service->verbose)
        g_debug("%s %s: %s", client->unique_name, sd_bus_message_get_member(call),
                r < 0 ? error.name : "done");
    if (r < 0)
        calls_reply_error(client->service, call, &error);
    sd_bus_error_free(&error);
}

void
calls_receive(BusService *service, sd_bus_message *call)
{
    const char *sender = sd_bus_message_get_sender(call);
    Client *client;

    if (sd_bus_message_get_expect_reply(call) <= 0 && !find_row(call)->useful_without_reply)
        return;

    client = sender != NULL ? clients_get(service, sender) : NULL;
    if (client == NULL)
        return; /* only without memory or bus: the caller's bus will tell it */

    if (client->agent != NULL) {
        calls_serve(client, call);
    } else if (!clients_defer(client, call)) {
        sd_bus_error error = SD_BUS_ERROR_NULL;

        calls_set_error(&error, service, lock_result_limit(LIMIT_CALLS_BEFORE_IDENTIFIED));
        calls_reply_error(service, call, &error);
        sd_bus_error_free(&error);
    }
}

int
calls_on_method(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    BusService *service = userdata;

    if (!lifecycle_hold_call(service, call))
        calls_receive(service, call);
    return 1;
}
