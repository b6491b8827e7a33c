/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "lists.h"

#include "bucket-path.h"
#include "bus-names.h"
#include "cluster-packet.h"
#include "encode.h"
#include "lock-manager.h"
#include "lock-queue.h"
#include "objects.h"
#include "opened.h"
#include "principal.h"
#include "user-agent.h"
#include "wanted.h"

/* The approximate size of an entry of Inspect without its name. */
#define ENTRY_BYTES 512

/* The size of an entry of Observable without its strings, and the limit of lists of buckets, since
 * a bus delivers messages of up to 32 MiB. With the default limits the buckets of one uid always
 * fit. */
#define OBSERVABLE_ENTRY_BYTES 160
#define LIST_BYTES_MAX         (24UL * 1024 * 1024)

/* A message that is written by callbacks of the core. They can't return errors, so the first error
 * is kept here. */
typedef struct {
    sd_bus_message *message;
    const Server *server;
    const Agent *caller;
    gint64 now_us;
    GHashTable *opened; /* of the documents of the user: see opened_get_all(); otherwise NULL */
    int r;
    gsize n_bytes; /* of the strings in it, approximately */
} Writer;

static void
note(Writer *writer, int r)
{
    if (writer->r >= 0 && r < 0)
        writer->r = r;
}

/* All strings are from messages or constants, so sd-bus need not validate them again. */
static void
append_string(Writer *writer, const char *string)
{
    size_t length = strlen(string);
    char *space;
    int r = sd_bus_message_append_string_space(writer->message, length, &space);

    note(writer, r);
    if (r >= 0)
        memcpy(space, string, length + 1);
    writer->n_bytes += length + 8;
}

static void
append_lock_info(const LockRequest *request, gpointer data)
{
    Writer *writer = data;

    if (writer->r < 0)
        return;
    note(writer, sd_bus_message_open_container(writer->message, 'r', "sss"));
    append_string(writer, request->queue->name);
    append_string(writer, lock_mode_to_string(request->mode));
    append_string(writer, request->agent->client_id);
    note(writer, sd_bus_message_close_container(writer->message));
}

static void
append_lock_infos(Writer *writer, const LockManager *manager, LockRequestState state)
{
    note(writer, sd_bus_message_open_container(writer->message, 'a', "(sss)"));
    if (manager != NULL)
        lock_manager_snapshot(manager, state, append_lock_info, writer);
    if (writer->r >= 0)
        note(writer, sd_bus_message_close_container(writer->message));
}

/* [4.5] */
static void
append_query(Writer *writer, const LockManager *manager)
{
    append_lock_infos(writer, manager, LOCK_REQUEST_HELD);
    if (writer->r >= 0)
        append_lock_infos(writer, manager, LOCK_REQUEST_PENDING);
}

/* Whether the caller may see all of the request: of the documents of its user it sees that of its
 * own application only. */
static gboolean
is_shown(const Writer *writer, const LockRequest *request)
{
    return writer->opened == NULL || request->agent->principal == writer->caller->principal;
}

static gboolean
is_client_shown(const Writer *writer, const char *client_id)
{
    const Client *client;

    if (writer->opened == NULL)
        return TRUE;
    client = server_find_client(writer->server, client_id);
    return client != NULL && client->agent != NULL &&
           client->agent->principal == writer->caller->principal;
}

static void
append_blocked_by(Writer *writer, const InspectEntry *entry)
{
    note(writer, sd_bus_message_open_container(writer->message, 'e', "sv"));
    append_string(writer, "blockedBy");
    note(writer, sd_bus_message_open_container(writer->message, 'v', "as"));
    note(writer, sd_bus_message_open_container(writer->message, 'a', "s"));
    for (guint i = 0; i < entry->n_blocked_by; i++)
        if (is_shown(writer, entry->request) && is_client_shown(writer, entry->blocked_by[i]))
            append_string(writer, entry->blocked_by[i]);
    note(writer, sd_bus_message_close_container(writer->message));
    note(writer, sd_bus_message_close_container(writer->message));
    note(writer, sd_bus_message_close_container(writer->message));
}

static void
append_entry(const InspectEntry *entry, gpointer data)
{
    Writer *writer = data;
    const LockRequest *request = entry->request;
    const PrincipalIdentity *identity = &request->agent->principal->identity;
    const gboolean held = request->state == LOCK_REQUEST_HELD, is_full = is_shown(writer, request);
    const guint64 none = 0;
    const char *name = request->queue->name;

    if (writer->opened != NULL)
        name = g_hash_table_lookup(writer->opened, name);
    if (writer->r < 0)
        return;
    note(writer, sd_bus_message_open_container(writer->message, 'a', "{sv}"));
    note(writer,
         sd_bus_message_append(writer->message,
                               "{sv}{sv}{sv}{sv}{sv}{sv}{sv}{sv}{sv}{sv}{sv}{sv}{sv}{sv}{sv}{sv}",
                               "id", "t", is_full ? request->id : none, "name", "s", name, "mode",
                               "s", lock_mode_to_string(request->mode), "state", "s",
                               held ? BUS_STATE_HELD : BUS_STATE_PENDING, "clientId", "s",
                               is_full ? request->agent->client_id : "", "token", "t",
                               is_full ? request->token : none, "why", "s",
                               is_full && request->why != NULL ? request->why : "", "for", "s",
                               is_full && request->command != NULL ? request->command : "", "age",
                               "t", (guint64)(writer->now_us - request->since_us) / 1000, "pid",
                               "u", is_full ? request->agent->pid : 0, "process", "s",
                               is_full ? request->agent->process_name : "", "app", "s",
                               is_full ? identity->app_id : "", "uid", "u", identity->uid,
                               "position", "u", entry->position, "cursor", "t", request->sequence,
                               "key", "t", request->agent == writer->caller ? request->key : 0));
    note(writer, sd_bus_message_append(writer->message, "{sv}", "slots", "u", request->slots));
    append_blocked_by(writer, entry);
    note(writer, sd_bus_message_close_container(writer->message));
    writer->n_bytes += ENTRY_BYTES + strlen(name);
}

/* What is known of another host: its claim, not its requests. All keys are present. */
static void
append_row(Writer *writer, const ClusterRow *row, const InspectFilter *filter, guint32 uid)
{
    const gint64 age_us = MAX(g_get_real_time() - row->since_us, 0);
    const gboolean held = row->state == CLUSTER_ROW_HOLDS;
    const LockMode mode = row->mode == PERMIT_SHARED ? LOCK_MODE_SHARED : LOCK_MODE_EXCLUSIVE;
    const guint64 none = 0;
    g_autofree char *client_id = g_strconcat(BUS_HOST_PREFIX, row->host, NULL);

    if ((filter->by_state && (filter->state == LOCK_REQUEST_HELD) != held) ||
        (filter->client_id != NULL && !g_str_equal(client_id, filter->client_id)))
        return;
    note(writer,
         sd_bus_message_append(
             writer->message, "a{sv}", 19, "id", "t", none, "name", "s", filter->name, "mode", "s",
             lock_mode_to_string(mode), "state", "s", held ? BUS_STATE_HELD : BUS_STATE_PENDING,
             "clientId", "s", client_id, "token", "t", none, "why", "s", "", "for", "s", "", "age",
             "t", (guint64)age_us / 1000, "pid", "u", 0u, "process", "s", "", "app", "s", "", "uid",
             "u", uid, "position", "u", 0u, "cursor", "t", G_MAXUINT64, "key", "t", none, "slots",
             "u", 1u, "blockedBy", "as", 0, "host", "s", row->host));
    writer->n_bytes += ENTRY_BYTES + strlen(filter->name);
}

/* The rows of other hosts, which match the filter, are appended to the last page. */
static void
append_inspect(
    Writer *writer, LockManager *manager, const InspectFilter *filter, GVariant *rows, guint32 uid)
{
    gboolean more = FALSE;
    GVariantIter iter;
    ClusterRow row;

    note(writer, sd_bus_message_open_container(writer->message, 'a', "a{sv}"));
    if (manager != NULL)
        more = lock_manager_inspect(manager, filter, append_entry, writer);
    if (rows != NULL && !more) {
        g_variant_iter_init(&iter, rows);
        while (writer->r >= 0 && cluster_row_next(&iter, &row))
            append_row(writer, &row, filter, uid);
    }
    if (writer->r < 0)
        return;
    note(writer, sd_bus_message_close_container(writer->message));
    note(writer, sd_bus_message_append(writer->message, "b", more));
}

/* ---- documents of the user */

typedef struct {
    const Writer *writer;
    const InspectFilter *filter; /* as the client has sent it */
} DocumentFilter;

/* A filter must not reveal more than the entries do. */
static gboolean
admits_document(const LockRequest *request, gpointer data)
{
    const DocumentFilter *self = data;
    const InspectFilter *filter = self->filter;
    const char *name = g_hash_table_lookup(self->writer->opened, request->queue->name);

    return name != NULL &&
           (is_shown(self->writer, request) || (filter->client_id == NULL && !filter->by_id)) &&
           (filter->name == NULL || g_str_equal(name, filter->name)) &&
           (filter->prefix == NULL || g_str_has_prefix(name, filter->prefix));
}

/* What the caller sees of the documents that it has opened. */
static void
append_documents(Writer *writer, const Client *client, LockManager *manager, const LockCall *call)
{
    g_autoptr(GHashTable) opened = opened_get_all(client);
    DocumentFilter documents = {writer, &call->filter};
    InspectFilter filter = call->filter;

    filter.name = filter.prefix = NULL;
    filter.admits = admits_document;
    filter.data = &documents;
    writer->opened = opened;
    append_inspect(writer, manager, &filter, NULL, 0);
    writer->opened = NULL;
}

/* ---- buckets */

typedef void (*BucketFunc)(gpointer data, const char *bucket);

/* Without the private sessions in which the caller has no request. */
static void
visit_buckets_of(const Principal *principal, const Agent *caller, BucketFunc func, gpointer data)
{
    GHashTableIter iter;
    LockManager *manager;

    g_hash_table_iter_init(&iter, principal->managers);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&manager))
        if (manager->requests.length > 0 && /* else it is only watched */
            lock_manager_get_name_for(manager, caller) == manager->bucket)
            func(data, manager->bucket);
}

/* The names that the caller can use: its own, and those that it shares. */
static void
visit_buckets(const Client *client, BucketFunc func, gpointer data)
{
    Principal *own = client->agent->principal, *other;
    GHashTableIter iter;

    visit_buckets_of(own, client->agent, func, data);
    g_hash_table_iter_init(&iter, own->user_agent->principals);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&other))
        if (principal_has_members(&other->identity) && client_may_observe(client, other))
            visit_buckets_of(other, client->agent, func, data);
}

static void
append_bucket(gpointer data, const char *bucket)
{
    Writer *writer = data;

    if (writer->r >= 0)
        append_string(writer, bucket);
}

static void
append_buckets(Writer *writer, const Client *client)
{
    note(writer, sd_bus_message_open_container(writer->message, 'a', "s"));
    visit_buckets(client, append_bucket, writer);
    if (writer->r >= 0)
        note(writer, sd_bus_message_close_container(writer->message));
}

static void
append_node(gpointer data, const char *bucket)
{
    g_autofree char *path = bucket_path_encode(bucket);
    GString *nodes = data;

    if (!g_str_equal(bucket, "default") && nodes->len < LIST_BYTES_MAX)
        g_string_append_printf(nodes, "<node name=\"%s\"/>\n", strrchr(path, '/') + 1);
}

static void
append_tree(Writer *writer, const Client *client)
{
    g_autoptr(GString) nodes = g_string_new(NULL);
    g_autofree char *xml = NULL;

    visit_buckets(client, append_node, nodes);
    xml = objects_describe(OBJECT_BUCKETS, nodes->str);
    append_string(writer, xml);
}

static const char *const kind_names[] = {
    [PRINCIPAL_UNSANDBOXED] = BUS_KIND_USER, [PRINCIPAL_FLATPAK] = BUS_KIND_FLATPAK,
    [PRINCIPAL_SNAP] = BUS_KIND_SNAP,        [PRINCIPAL_GROUP] = BUS_KIND_GROUP,
    [PRINCIPAL_CLUSTER] = BUS_KIND_CLUSTER,
};

/* A bucket that has members has the caller's uid, by whose path it is addressed. */
static void
append_observable_bucket(Writer *writer, const Principal *observer, const LockManager *manager)
{
    const PrincipalIdentity *owner = &manager->principal->identity;
    const gboolean has_members = principal_has_members(owner);
    const guint32 uid = has_members ? observer->identity.uid : owner->uid;
    const char *app_id = has_members ? "" : owner->app_id;
    const char *bucket = lock_manager_get_name_for(manager, writer->caller);
    g_autofree char *path = bucket_path_encode_for(&observer->identity, owner, bucket);

    note(writer,
         sd_bus_message_append(writer->message, "(oa{sv})", path, 6, "uid", "u", uid, "kind", "s",
                               kind_names[owner->kind], "app", "s", app_id, "bucket", "s", bucket,
                               "held", "u", (guint32)manager->n_held, "pending", "u",
                               (guint32)(manager->requests.length - manager->n_held)));
    writer->n_bytes += OBSERVABLE_ENTRY_BYTES + strlen(path) + strlen(bucket) + strlen(app_id);
}

static void
append_observable_of(Writer *writer, const Principal *observer, const Principal *observed)
{
    GHashTableIter iter;
    LockManager *manager;

    g_hash_table_iter_init(&iter, observed->managers);
    while (writer->r >= 0 && writer->n_bytes < LIST_BYTES_MAX &&
           g_hash_table_iter_next(&iter, NULL, (gpointer *)&manager))
        if (manager->requests.length > 0)
            append_observable_bucket(writer, observer, manager);
}

/* The caller's own buckets first. */
static void
append_observable(Writer *writer, const Client *client)
{
    Principal *principal = client->agent->principal;
    GHashTableIter iter;
    Principal *other;

    note(writer, sd_bus_message_open_container(writer->message, 'a', "(oa{sv})"));
    append_observable_of(writer, principal, principal);
    g_hash_table_iter_init(&iter, principal->user_agent->principals);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&other))
        if (other != principal && client_may_observe(client, other))
            append_observable_of(writer, principal, other);
    if (writer->r >= 0)
        note(writer, sd_bus_message_close_container(writer->message));
}

/* ---- requests of the caller */

static void
append_live_request(Writer *writer, LockRequest *request)
{
    const LockManager *manager = request->queue->manager;
    const Principal *principal = request->agent->principal;
    const char *bucket = lock_manager_get_name_of(manager, principal);
    g_autofree char *name = opened_make_name(principal->user_agent, bucket, request->queue->name);
    gint64 left_ms = 0;

    if (request->deadline_ms != 0) /* a value of 0 would mean no time-out */
        left_ms = CLAMP(request->deadline_ms - writer->now_us / 1000, 1, G_MAXUINT32);
    note(writer,
         sd_bus_message_append(writer->message, "(sttssttb)", bucket, request->id, request->key,
                               name, lock_mode_to_string(request->mode), request->token,
                               (guint64)left_ms, (int)wanted_report(request)));
    writer->n_bytes += strlen(name) + strlen(bucket) + 64;
}

static void
append_resync(Writer *writer)
{
    note(writer, sd_bus_message_open_container(writer->message, 'a', "(sttssttb)"));
    for (GList *link = writer->caller->requests.head; writer->r >= 0 && link != NULL;
         link = link->next)
        append_live_request(writer, link->data);
    if (writer->r >= 0)
        note(writer, sd_bus_message_close_container(writer->message));
}

/* ---- */

static void
append_list(Writer *writer,
            const Client *client,
            const LockCall *call,
            const Target *target,
            GVariant *rows)
{
    if (call->kind == LOCK_CALL_QUERY) {
        append_query(writer, target_find_manager(target));
    } else if (call->kind == LOCK_CALL_INSPECT && target->bucket != call->bucket) {
        append_documents(writer, client, target_find_manager(target), call);
    } else if (call->kind == LOCK_CALL_INSPECT) {
        append_inspect(writer, target_find_manager(target), &call->filter, rows, target->owner.uid);
    } else if (call->kind == LOCK_CALL_BUCKETS) {
        append_buckets(writer, client);
    } else if (call->kind == LOCK_CALL_TREE) {
        append_tree(writer, client);
    } else if (call->kind == LOCK_CALL_OBSERVABLE) {
        append_observable(writer, client);
    } else {
        g_assert(call->kind == LOCK_CALL_RESYNC);
        append_resync(writer);
    }
}

void
lists_send(Client *client, const LockCall *call, const Target *target, GVariant *rows)
{
    Writer writer = {
        .message = encode_new_reply(client, call),
        .server = client->server,
        .caller = client->agent,
        .now_us = client->server->user_agent.now_us,
    };

    if (writer.message == NULL)
        return;
    append_list(&writer, client, call, target, rows);
    if (writer.r >= 0) {
        bus_send(client, writer.message, writer.n_bytes);
        return;
    }
    sd_bus_message_unref(writer.message);
    encode_errno(client, call, writer.r);
}
