/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "owners.h"

#include "bus-names.h"
#include "lifecycle.h"
#include "scheduler.h"
#include "startup.h"

#define MATCH                               \
    "type='signal',"                        \
    "sender='" BUS_DRIVER_NAME "',"         \
    "path='" BUS_DRIVER_PATH "',"           \
    "interface='" BUS_DRIVER_INTERFACE "'," \
    "member='NameOwnerChanged',"

static int
on_disconnected(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    Server *server = userdata;
    const char *name, *old_owner, *new_owner;

    if (sd_bus_message_read(message, "sss", &name, &old_owner, &new_owner) < 0 || name[0] != ':' ||
        new_owner[0] != '\0')
        return 0;
    if (server->startup != NULL)
        startup_on_disconnected(server, name);
    scheduler_on_disconnected(server, name);
    return 0;
}

static int
on_owner_changed(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    Server *server = userdata;
    const char *name, *old_owner, *new_owner, *own_name;
    gboolean is_ours, was_ours;

    if (sd_bus_message_read(message, "sss", &name, &old_owner, &new_owner) < 0 ||
        !g_str_equal(name, BUS_SERVICE_NAME) ||
        sd_bus_get_unique_name(server->bus.connection, &own_name) < 0)
        return 0;
    is_ours = g_str_equal(new_owner, own_name);
    was_ours = g_str_equal(old_owner, own_name);
    if (server->startup == NULL) {
        if (was_ours)
            lifecycle_on_name_lost(server);
    } else if (is_ours) {
        startup_on_name_taken(server, old_owner);
    } else if (was_ours) {
        startup_on_name_lost(server);
    } else {
        startup_on_other_owner(server, new_owner[0] == '\0');
    }
    return 0;
}

int
owners_subscribe(Server *server)
{
    sd_bus *bus = server->bus.connection;
    /* Only names without a new owner: the bus filters the rest. */
    int r = sd_bus_add_match(bus, &server->disconnected, MATCH "arg2=''", on_disconnected, server);

    if (r >= 0)
        r = sd_bus_add_match(bus, &server->owner_changed, MATCH "arg0='" BUS_SERVICE_NAME "'",
                             on_owner_changed, server);
    return r;
}

void
owners_unsubscribe(Server *server)
{
    g_clear_pointer(&server->disconnected, sd_bus_slot_unref);
    g_clear_pointer(&server->owner_changed, sd_bus_slot_unref);
}
