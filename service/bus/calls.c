/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/calls.h"

#include "common/wire-names.h"
#include "service/bus/clients.h"
#include "service/bus/methods.h"
#include "service/bus/replies.h"
#include "service/bus/service-methods.h"

typedef int (*CallHandler)(Client *client, sd_bus_message *call, sd_bus_error *error);

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

        if (g_str_equal(row->member, member) && g_str_equal(row->interface, interface))
            return row;
    }
    g_assert_not_reached();
}

void
calls_serve(Client *client, sd_bus_message *call)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    int r;

    edge_tick(client->edge);
    r = find_row(call)->handler(client, call, &error);
    if (r < 0 && !sd_bus_error_is_set(&error))
        sd_bus_error_set(&error, WIRE_ERROR_INVALID_ARGS, "The message body can't be read");
    if (client->edge->verbose)
        g_debug("%s %s: %s", client->unique_name, sd_bus_message_get_member(call),
                r < 0 ? error.name : "done");
    if (r < 0)
        replies_put_error(client->edge, call, &error);
    sd_bus_error_free(&error);
}

static void
refuse(Edge *edge, sd_bus_message *call, LockResult result)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;

    replies_set_result(&error, edge, result);
    replies_put_error(edge, call, &error);
    sd_bus_error_free(&error);
}

int
calls_on_method(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    Edge *edge = userdata;
    const char *sender = sd_bus_message_get_sender(call);
    Client *client;

    if (sd_bus_message_get_expect_reply(call) <= 0 && !find_row(call)->useful_without_reply)
        return 1;

    client = clients_get(edge, sender);
    if (client == NULL)
        refuse(edge, call, LOCK_RESULT_UNIDENTIFIED);
    else if (client->agent != NULL)
        calls_serve(client, call);
    else if (edge->user_agent.shutting_down)
        refuse(edge, call, LOCK_RESULT_SHUTTING_DOWN); /* the answer may not find us any more */
    else if (!clients_defer(client, call))
        refuse(edge, call, lock_result_limit(LIMIT_CALLS_BEFORE_IDENTIFIED));
    return 1;
}
