/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "objects.h"

#include "bus-names.h"
#include "cluster.h"
#include "config.h"
#include "encode.h"
#include "introspection-data.h"

/* ---- which objects there are */

/* The paths of objects that are not buckets, with the last element of a path below it. */
static const struct {
    const char *path;
    const char *child;
} paths[] = {
    [OBJECT_ROOT] = {"/", "org"},
    [OBJECT_ORG] = {"/org", "w3"},
    [OBJECT_W3] = {"/org/w3", "WebLocks"},
    [OBJECT_SERVICE] = {BUS_SERVICE_PATH, "bucket"},
    [OBJECT_BUCKETS] = {BUS_BUCKET_PREFIX, "default"},
};

ObjectKind
objects_find(const char *path, BucketPath *out_bucket)
{
    for (guint i = OBJECT_ROOT; i < G_N_ELEMENTS(paths); i++)
        if (g_str_equal(path, paths[i].path))
            return (ObjectKind)i;
    return bucket_path_decode(path, out_bucket) ? OBJECT_BUCKET : OBJECT_NONE;
}

gboolean
objects_have(ObjectKind object, const char *interface)
{
    if (g_str_equal(interface, BUS_LOCKS_INTERFACE))
        return object == OBJECT_BUCKET;
    if (g_str_equal(interface, BUS_SERVICE_INTERFACE))
        return object == OBJECT_SERVICE;
    return object != OBJECT_NONE && (g_str_equal(interface, BUS_PEER_INTERFACE) ||
                                     g_str_equal(interface, BUS_INTROSPECTABLE_INTERFACE) ||
                                     g_str_equal(interface, BUS_PROPERTIES_INTERFACE));
}

/* ---- properties */

static int
append_limits(sd_bus_message *reply, const Limits *limits)
{
    int r = sd_bus_message_open_container(reply, 'a', "{st}");

    for (guint i = 0; i < N_LIMITS && r >= 0; i++)
        r = sd_bus_message_append(reply, "{st}", limit_id_get_name(i), (uint64_t)limits->max[i]);
    return r < 0 ? r : sd_bus_message_close_container(reply);
}

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
append_lines(sd_bus_message *reply, const char *key, const char *text)
{
    g_autofree char *lines = g_strchomp(g_strdup(text));
    g_auto(GStrv) strings = g_strsplit(lines, "\n", -1);

    return append_strings(reply, key, strings);
}

static int
append_cluster(sd_bus_message *reply, const Server *server, const ClusterStatus *status)
{
    static const char *const states[] = {"off", "connecting", "active", "suspect", "lost"};
    static const char *const reasons[] = {"",
                                          "unreachable",
                                          "not-renewed",
                                          "service",
                                          "expired",
                                          "denied",
                                          "other-data",
                                          "older-data",
                                          "short-sessions",
                                          "storage",
                                          "addresses",
                                          "unexpected",
                                          "other-format",
                                          "other-cluster",
                                          "long-ticks",
                                          "other-settings"};
    static const ClusterStatus none = {.engine = "", .hosts = "", .id = "", .metrics = ""};
    const ClusterInfo info = cluster_get_info(server->cluster);
    g_auto(GStrv) buckets = get_bucket_names(server->cluster_config);
    const guint32 left_ms = (guint32)CLAMP(info.lease_left_us / 1000, 0, G_MAXUINT32);
    int r;

    if (status == NULL)
        status = &none;
    g_assert(info.state < G_N_ELEMENTS(states) && info.reason < G_N_ELEMENTS(reasons));
    if ((r = sd_bus_message_open_container(reply, 'a', "{sv}")) < 0 ||
        (r = sd_bus_message_append(reply, "{sv}{sv}{sv}{sv}{sv}", "state", "s", states[info.state],
                                   "reason", "s", reasons[info.reason], "leaseLeft", "u", left_ms,
                                   "server", "s", status->engine, "id", "s", status->id)) < 0 ||
        (r = append_lines(reply, "hosts", status->hosts)) < 0 ||
        (r = append_lines(reply, "metrics", status->metrics)) < 0 ||
        (r = append_strings(reply, "buckets", buckets)) < 0)
        return r;
    return sd_bus_message_close_container(reply);
}

static int
append_value(sd_bus_message *reply,
             guint property,
             const Client *client,
             const ClusterStatus *status)
{
    switch (property) {
    case PROPERTY_VERSION:
        return sd_bus_message_append(reply, "s", WEBLOCKS_VERSION);
    case PROPERTY_INTERFACE_VERSION:
        return sd_bus_message_append(reply, "u", BUS_INTERFACE_VERSION);
    case PROPERTY_LIMITS:
        return append_limits(reply, &client->server->user_agent.limits);
    case PROPERTY_CLUSTER:
    default:
        return append_cluster(reply, client->server, status);
    }
}

static const struct {
    const char *name;
    const char *type;
} properties[N_PROPERTIES] = {
    [PROPERTY_VERSION] = {"Version", "s"},
    [PROPERTY_INTERFACE_VERSION] = {"InterfaceVersion", "u"},
    [PROPERTY_LIMITS] = {"Limits", "a{st}"},
    [PROPERTY_CLUSTER] = {"Cluster", "a{sv}"},
};

guint
objects_find_property(ObjectKind object, const char *interface, const char *name)
{
    guint i = 0;

    if (object != OBJECT_SERVICE ||
        (interface[0] != '\0' && !g_str_equal(interface, BUS_SERVICE_INTERFACE)))
        return N_PROPERTIES;
    while (i < N_PROPERTIES && !g_str_equal(properties[i].name, name))
        i++;
    return i;
}

static int
append_variant(sd_bus_message *reply, guint i, const Client *client, const ClusterStatus *status)
{
    int r;

    if ((r = sd_bus_message_open_container(reply, 'v', properties[i].type)) < 0 ||
        (r = append_value(reply, i, client, status)) < 0)
        return r;
    return sd_bus_message_close_container(reply);
}

static int
append_all(sd_bus_message *reply, const Client *client, const ClusterStatus *status, guint n)
{
    int r = sd_bus_message_open_container(reply, 'a', "{sv}");

    for (guint i = 0; i < n && r >= 0; i++)
        if ((r = sd_bus_message_open_container(reply, 'e', "sv")) >= 0 &&
            (r = sd_bus_message_append(reply, "s", properties[i].name)) >= 0 &&
            (r = append_variant(reply, i, client, status)) >= 0)
            r = sd_bus_message_close_container(reply);
    return r < 0 ? r : sd_bus_message_close_container(reply);
}

/* ---- introspection */

char *
objects_describe(ObjectKind object, const char *nodes)
{
    g_autoptr(GString) text = g_string_new(
        "<!DOCTYPE node PUBLIC \"-//freedesktop//DTD D-BUS Object Introspection 1.0//EN\"\n"
        "\"http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd\">\n"
        "<node>\n");

    g_string_append(text, standard_xml);
    if (object == OBJECT_BUCKET)
        g_string_append(text, locks_xml);
    else
        g_string_append_printf(text, "%s<node name=\"%s\"/>\n%s",
                               object == OBJECT_SERVICE ? service_xml : "", paths[object].child,
                               nodes != NULL ? nodes : "");
    g_string_append(text, "</node>\n");
    return g_string_free(g_steal_pointer(&text), FALSE);
}

/* ---- replies */

static int
append_machine_id(sd_bus_message *reply)
{
    char text[33];
    sd_id128_t id;
    int r = sd_id128_get_machine(&id);

    return r < 0 ? r : sd_bus_message_append(reply, "s", sd_id128_to_string(id, text));
}

void
objects_reply(Client *client, const LockCall *call, const ClusterStatus *status)
{
    sd_bus_message *reply = encode_new_reply(client, call);
    g_autofree char *xml = NULL;
    int r = 0;

    if (reply == NULL)
        return;
    if (call->kind == LOCK_CALL_MACHINE_ID)
        r = append_machine_id(reply);
    else if (call->kind == LOCK_CALL_GET)
        r = append_variant(reply, call->item, client, status);
    else if (call->kind == LOCK_CALL_GET_ALL)
        r = append_all(reply, client, status, call->item);
    else if (call->kind == LOCK_CALL_INTROSPECT)
        r = sd_bus_message_append(reply, "s", xml = objects_describe((ObjectKind)call->item, NULL));
    if (r >= 0) {
        bus_send(client, reply, xml != NULL ? strlen(xml) : 0);
        return;
    }
    sd_bus_message_unref(reply);
    encode_errno(client, call, r);
}
