/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/service-methods.h"

#include <errno.h>
#include <stdlib.h>

#include "common/wire-names.h"
#include "service/bus/bus-service.h"
#include "service/bus/calls.h"
#include "service/core/lock-manager.h"
#include "service/core/principal.h"

int
service_methods_buckets(Client *client, sd_bus_message *call, sd_bus_error *error)
{
    g_autoptr(SdBusMessage) reply = calls_new_reply(call);
    GHashTableIter iter;
    LockManager *manager;
    int r = sd_bus_message_open_container(reply, 'a', "s");

    g_hash_table_iter_init(&iter, client->agent->principal->managers);
    while (r >= 0 && g_hash_table_iter_next(&iter, NULL, (gpointer *)&manager))
        if (manager->requests.length > 0) /* else it is only watched */
            r = sd_bus_message_append_basic(reply, 's', manager->bucket);
    if (r >= 0)
        r = sd_bus_message_close_container(reply);
    if (r < 0)
        return sd_bus_error_set_errno(error, r);
    outbox_take(&client->service->outbox, g_steal_pointer(&reply));
    return 0;
}

static int
get_version(sd_bus *bus,
            const char *path,
            const char *interface,
            const char *property,
            sd_bus_message *reply,
            void *userdata,
            sd_bus_error *error)
{
    return sd_bus_message_append(reply, "s", WEBLOCKS_VERSION);
}

static int
get_interface_version(sd_bus *bus,
                      const char *path,
                      const char *interface,
                      const char *property,
                      sd_bus_message *reply,
                      void *userdata,
                      sd_bus_error *error)
{
    return sd_bus_message_append(reply, "u", WIRE_INTERFACE_VERSION);
}

static int
get_limits(sd_bus *bus,
           const char *path,
           const char *interface,
           const char *property,
           sd_bus_message *reply,
           void *userdata,
           sd_bus_error *error)
{
    const BusService *service = userdata;
    int r = sd_bus_message_open_container(reply, 'a', "{st}");

    for (guint i = 0; i < N_LIMITS && r >= 0; i++)
        r = sd_bus_message_append(reply, "{st}", limits_table[i].name,
                                  (uint64_t)service->user_agent.limits.max[i]);
    return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int
enumerate_buckets(
    sd_bus *bus, const char *prefix, void *userdata, char ***out_nodes, sd_bus_error *error)
{
    char **nodes = calloc(2, sizeof *nodes); /* sd-bus frees them */

    if (nodes == NULL || (nodes[0] = strdup(WIRE_BUCKET_PREFIX "/default")) == NULL) {
        free(nodes);
        return -ENOMEM;
    }
    *out_nodes = nodes;
    return 0;
}

static const sd_bus_vtable service_vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD_WITH_NAMES(
        "Buckets", "", , "as", SD_BUS_PARAM(names), calls_on_method, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_PROPERTY("Version", "s", get_version, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_PROPERTY(
        "InterfaceVersion", "u", get_interface_version, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_PROPERTY("Limits", "a{st}", get_limits, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_VTABLE_END,
};

int
service_methods_export(BusService *service)
{
    int r = sd_bus_add_object_vtable(service->bus, NULL, WIRE_SERVICE_PATH, WIRE_SERVICE_INTERFACE,
                                     service_vtable, service);

    if (r < 0)
        return r;
    return sd_bus_add_node_enumerator(service->bus, NULL, WIRE_BUCKET_PREFIX, enumerate_buckets,
                                      service);
}
