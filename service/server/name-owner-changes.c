/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "name-owner-changes.h"

#include "bus-names.h"
#include "bus.h"
#include "ownership.h"
#include "scheduler.h"

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
    ownership_on_disconnected(server, name);
    scheduler_on_disconnected(server, name);
    return 0;
}

static int
on_owner_changed(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    Server *server = userdata;
    const char *name, *old_owner, *new_owner;

    if (sd_bus_message_read(message, "sss", &name, &old_owner, &new_owner) >= 0 &&
        g_str_equal(name, BUS_SERVICE_NAME))
        ownership_on_name_changed(server, old_owner, new_owner);
    return 0;
}

int
name_owner_changes_subscribe(Server *server)
{
    sd_bus *bus = server->bus->connection;
    /* Only names without a new owner: the bus filters the rest. */
    int r = sd_bus_add_match(bus, NULL, MATCH "arg2=''", on_disconnected, server);

    if (r >= 0)
        r = sd_bus_add_match(bus, NULL, MATCH "arg0='" BUS_SERVICE_NAME "'", on_owner_changed,
                             server);
    return r;
}
