/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "interfaces.h"

#include <errno.h>
#include <stdlib.h>

#include "bus-names.h"
#include "config.h"

/* sd-bus calls this before it dispatches. Only a valid bucket path is an object. */
static int
find_bucket(sd_bus *bus,
            const char *path,
            const char *interface,
            void *userdata,
            void **out_found,
            sd_bus_error *error)
{
    if (bus_get_bucket(userdata, path) == NULL)
        return 0;
    *out_found = userdata;
    return 1;
}

/* The callback of all methods. Calls of the interfaces are taken out before sd-bus dispatches them
 * (decode.h), so it refuses any call that only sd-bus accepts. */
static int
refuse_method(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    return sd_bus_error_set(error, BUS_ERROR_UNKNOWN_METHOD, "there is no such method");
}

#define METHOD(member, in, in_names, out, out_names)                              \
    SD_BUS_METHOD_WITH_NAMES(member, in, in_names, out, out_names, refuse_method, \
                             SD_BUS_VTABLE_UNPRIVILEGED)

static const sd_bus_vtable lock_manager_vtable[] = {
    SD_BUS_VTABLE_START(0),
    METHOD("Request",
           "sa{sv}",
           SD_BUS_PARAM(name) SD_BUS_PARAM(options),
           "tt",
           SD_BUS_PARAM(id) SD_BUS_PARAM(token)),
    METHOD("Steal",
           "sa{sv}",
           SD_BUS_PARAM(name) SD_BUS_PARAM(options),
           "tt",
           SD_BUS_PARAM(id) SD_BUS_PARAM(token)),
    METHOD("Release", "t", SD_BUS_PARAM(id), "", ),
    METHOD("Abort", "t", SD_BUS_PARAM(id), "b", SD_BUS_PARAM(aborted)),
    METHOD("Query", "", , "a(sss)a(sss)", SD_BUS_PARAM(held) SD_BUS_PARAM(pending)),
    METHOD("Inspect",
           "a{sv}",
           SD_BUS_PARAM(filter),
           "aa{sv}b",
           SD_BUS_PARAM(entries) SD_BUS_PARAM(more)),
    METHOD("Watch", "b", SD_BUS_PARAM(enable), "", ),
    METHOD("Break", "sa{sv}", SD_BUS_PARAM(name) SD_BUS_PARAM(options), "u", SD_BUS_PARAM(count)),
    SD_BUS_SIGNAL_WITH_NAMES("Waiting",
                             "tsss",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(name) SD_BUS_PARAM(mode)
                                 SD_BUS_PARAM(clientId),
                             0),
    SD_BUS_SIGNAL_WITH_NAMES("Granted",
                             "tssst",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(name) SD_BUS_PARAM(mode)
                                 SD_BUS_PARAM(clientId) SD_BUS_PARAM(token),
                             0),
    SD_BUS_SIGNAL_WITH_NAMES("Released",
                             "tssss",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(name) SD_BUS_PARAM(mode)
                                 SD_BUS_PARAM(clientId) SD_BUS_PARAM(reason),
                             0),
    SD_BUS_SIGNAL_WITH_NAMES("Missed", "t", SD_BUS_PARAM(count), 0),
    SD_BUS_VTABLE_END,
};

static int
append_limits(sd_bus_message *reply, const Limits *limits)
{
    int r = sd_bus_message_open_container(reply, 'a', "{st}");

    for (guint i = 0; i < N_LIMITS && r >= 0; i++)
        r = sd_bus_message_append(reply, "{st}", limit_id_get_name(i), (uint64_t)limits->max[i]);
    return r < 0 ? r : sd_bus_message_close_container(reply);
}

/* ---- the property Cluster */

static int
append_strings(sd_bus_message *reply, const char *key, char **strings)
{
    int r;

    if ((r = sd_bus_message_open_container(reply, 'e', "sv")) < 0 ||
        (r = sd_bus_message_append(reply, "s", key)) < 0 ||
        (r = sd_bus_message_open_container(reply, 'v', "as")) < 0 ||
        (r = sd_bus_message_append_strv(reply, strings)) < 0 ||
        (r = sd_bus_message_close_container(reply)) < 0)
        return r;
    return sd_bus_message_close_container(reply);
}

/* Returns the lines of a text, owned. */
static char **
split_lines(const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autoptr(GStrvBuilder) builder = g_strv_builder_new();

    for (guint i = 0; lines[i] != NULL; i++)
        if (lines[i][0] != '\0')
            g_strv_builder_add(builder, lines[i]);
    return g_strv_builder_end(builder);
}

/* Returns the names that clients use, owned. */
static char **
get_bucket_names(const ClusterConfig *config)
{
    g_autoptr(GStrvBuilder) builder = g_strv_builder_new();

    for (guint i = 0; config != NULL && i < config->buckets->len; i++) {
        const ClusterBucketConfig *bucket = config->buckets->pdata[i];
        g_autofree char *name = g_strconcat(BUS_CLUSTER_PREFIX, bucket->name, NULL);

        g_strv_builder_add(builder, name);
    }
    return g_strv_builder_end(builder);
}

static int
append_cluster(sd_bus_message *reply, const ClusterInfo *info)
{
    static const char *const states[] = {"off", "connecting", "active", "suspect", "lost"};
    static const char *const reasons[] = {
        "",           "unreachable", "not-renewed",    "service", "expired",   "denied",
        "other-data", "older-data",  "short-sessions", "storage", "addresses", "unexpected",
    };
    g_auto(GStrv) hosts = split_lines(info->hosts);
    g_auto(GStrv) buckets = get_bucket_names(info->config);
    const guint32 left_ms = (guint32)CLAMP(info->lease_left_us / 1000, 0, G_MAXUINT32);
    int r;

    g_assert(info->state < G_N_ELEMENTS(states) && info->reason < G_N_ELEMENTS(reasons));
    if ((r = sd_bus_message_open_container(reply, 'a', "{sv}")) < 0 ||
        (r = sd_bus_message_append(reply, "{sv}{sv}{sv}{sv}", "state", "s", states[info->state],
                                   "reason", "s", reasons[info->reason], "leaseLeft", "u", left_ms,
                                   "server", "s", info->engine)) < 0 ||
        (r = append_strings(reply, "hosts", hosts)) < 0 ||
        (r = append_strings(reply, "buckets", buckets)) < 0)
        return r;
    return sd_bus_message_close_container(reply);
}

/* ---- */

static int
get_property(sd_bus *bus,
             const char *path,
             const char *interface,
             const char *property,
             sd_bus_message *reply,
             void *userdata,
             sd_bus_error *error)
{
    const Bus *self = userdata;
    ClusterInfo info;

    if (g_str_equal(property, "Cluster")) {
        self->get_cluster_info(&info, self->data);
        return append_cluster(reply, &info);
    }
    if (g_str_equal(property, "Version"))
        return sd_bus_message_append(reply, "s", WEBLOCKS_VERSION);
    if (g_str_equal(property, "InterfaceVersion"))
        return sd_bus_message_append(reply, "u", BUS_INTERFACE_VERSION);
    return append_limits(reply, &self->server->user_agent.limits);
}

/* The node above the buckets exists for introspection only; it is not a bucket. */
static int
refuse_prefix(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    const char *interface = sd_bus_message_get_interface(call);

    if (g_strcmp0(interface, BUS_LOCKS_INTERFACE) != 0)
        return 0;
    return sd_bus_error_set(error, BUS_ERROR_UNKNOWN_OBJECT, "this is not the path of a bucket");
}

static int
enumerate_buckets(
    sd_bus *bus, const char *prefix, void *userdata, char ***out_nodes, sd_bus_error *error)
{
    char **nodes = calloc(2, sizeof *nodes); /* sd-bus frees them */

    if (nodes == NULL || (nodes[0] = strdup(BUS_BUCKET_PREFIX "/default")) == NULL) {
        free(nodes);
        return -ENOMEM;
    }
    *out_nodes = nodes;
    return 0;
}

static const sd_bus_vtable service_vtable[] = {
    SD_BUS_VTABLE_START(0),
    METHOD("Buckets", "", , "as", SD_BUS_PARAM(names)),
    METHOD("Observable", "", , "a(oa{sv})", SD_BUS_PARAM(buckets)),
    METHOD("Watch", "b", SD_BUS_PARAM(enable), "", ),
    METHOD("OpenSocket",
           "a{sv}",
           SD_BUS_PARAM(options),
           "ha{sv}",
           SD_BUS_PARAM(socket) SD_BUS_PARAM(parameters)),
    METHOD("Resync", "", , "a(sttsstt)", SD_BUS_PARAM(requests)),
    SD_BUS_PROPERTY("Version", "s", get_property, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_PROPERTY("InterfaceVersion", "u", get_property, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_PROPERTY("Limits", "a{st}", get_property, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_PROPERTY("Cluster", "a{sv}", get_property, 0, 0),
    SD_BUS_VTABLE_END,
};

int
interfaces_export(Bus *bus, BusGetClusterInfo get_cluster_info, gpointer data)
{
    sd_bus *connection = bus->connection;
    int r;

    bus->get_cluster_info = get_cluster_info;
    bus->data = data;
    /* The paths of others are below a node above the service's, so that introspection does not show
     * a node for each kind. */
    if ((r = sd_bus_add_fallback_vtable(connection, NULL, BUS_BUCKET_PREFIX, BUS_LOCKS_INTERFACE,
                                        lock_manager_vtable, find_bucket, bus)) < 0 ||
        (r = sd_bus_add_fallback_vtable(connection, NULL, "/org/w3", BUS_LOCKS_INTERFACE,
                                        lock_manager_vtable, find_bucket, bus)) < 0 ||
        (r = sd_bus_add_object_vtable(connection, NULL, BUS_SERVICE_PATH, BUS_SERVICE_INTERFACE,
                                      service_vtable, bus)) < 0 ||
        (r = sd_bus_add_object(connection, NULL, BUS_BUCKET_PREFIX, refuse_prefix, bus)) < 0)
        return r;
    return sd_bus_add_node_enumerator(connection, NULL, BUS_BUCKET_PREFIX, enumerate_buckets, bus);
}
