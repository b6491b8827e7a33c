/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Making nodes that others may make at the same time: those of the tree, and of a lock name. */

#include <string.h>

#include "engine-private.h"

/* Identifications of an ensemble's data are 32 hex digits. */
#define INSTANCE_BYTES 16

/* A list of nodes that is made from the first to the last; one that exists is as good as made. If
 * one is deleted meanwhile, by another host that doesn't need it any more, it is made again. */
typedef struct {
    Engine *engine;
    EngineCallback callback;
    gpointer data;
    GPtrArray *paths;
    char *text; /* the data of the last node; the others have none */
    int mode;   /* and its mode; the others are persistent */
    guint next;
    gboolean has_joined; /* without the root, nothing is as it must be */
} Making;

static void
making_end(Making *making, EngineResult result, const EngineAnswer *last)
{
    EngineAnswer answer = {.sent_us = last->sent_us, .touched_us = last->touched_us};
    EngineCallback callback = making->callback;
    gpointer data = making->data;

    answer.result = result;
    if (making->has_joined && result == ENGINE_NO_NODE) {
        g_warning("ZooKeeper: the root of all nodes is missing");
        answer.result = ENGINE_OTHER;
    }
    g_ptr_array_unref(making->paths);
    g_free(making->text);
    g_free(making);
    callback(&answer, data);
}

static void on_made(const EngineAnswer *answer, gpointer data);

static void
make_next(Making *making)
{
    gboolean is_last = making->next + 1 == making->paths->len;

    engine_request_create(making->engine, making->paths->pdata[making->next],
                          is_last ? making->text : "", is_last ? making->mode : ZOO_PERSISTENT,
                          on_made, making);
}

static void
on_made(const EngineAnswer *answer, gpointer data)
{
    Making *making = data;
    gboolean is_made = answer->result == ENGINE_OK || answer->result == ENGINE_NODE_EXISTS;
    gboolean is_last = making->next + 1 == making->paths->len;

    if (is_made && is_last) {
        making_end(making, ENGINE_OK, answer);
    } else if (is_made) {
        making->next++;
        make_next(making);
    } else if (answer->result == ENGINE_NO_NODE && making->next > 0) {
        making->next = 0;
        make_next(making);
    } else {
        making_end(making, answer->result, answer);
    }
}

static Making *
making_new(Engine *self, const char *text, int mode, EngineCallback callback, gpointer data)
{
    Making *making = g_new0(Making, 1);

    making->engine = self;
    making->callback = callback;
    making->data = data;
    making->text = g_strdup(text);
    making->mode = mode;
    making->paths = g_ptr_array_new_with_free_func(g_free);
    return making;
}

/* Makes `path` below `above`, and what is between them. NO_NODE: `above` doesn't exist. The last
 * node is tried first, since it mostly exists, or those above it do. */
static void
make(Making *making, const char *above, const char *path)
{
    for (const char *slash = path + strlen(above) + 1; (slash = strchr(slash, '/')) != NULL;
         slash++)
        g_ptr_array_add(making->paths, g_strndup(path, (gsize)(slash - path)));
    g_ptr_array_add(making->paths, g_strdup(path));
    making->next = making->paths->len - 1;
    make_next(making);
}

void
engine_ensure_bucket(
    Engine *self, const char *bucket, const char *settings, EngineCallback callback, gpointer data)
{
    g_autofree char *path = engine_path_bucket(self->root, bucket);
    Making *making = making_new(self, settings, ZOO_PERSISTENT, callback, data);

    making->has_joined = TRUE;
    make(making, self->root, path);
}

void
engine_ensure_name(Engine *self,
                   const char *bucket,
                   guint32 uid,
                   const char *name,
                   EngineCallback callback,
                   gpointer data)
{
    g_autofree char *path = engine_path_name(self->root, bucket, uid, name);
    Making *making = making_new(self, name, ZOO_CONTAINER, callback, data);

    making->has_joined = TRUE;
    make(making, self->root, path);
}

/* The data of the root. Format 1 had only the identification, and was without "format 1 ". Gateways
 * of that format make their nodes in ROOT/hosts. So a host that writes this format replaces that
 * node by one in which nobody can make nodes, in the same commit: this fails while a host is
 * connected, and then no earlier gateway can connect any more. The next format does so with
 * ROOT/sessions. */
#define FORMAT        2
#define FORMAT_PREFIX "format "

static const char *const children_of_format[] = {"buckets", "hosts", "sessions", "tokens", NULL};
static const char *const nodes_of_root[] = {"sessions", "buckets", "tokens", NULL};

/* The steps of joining, each a callback of the one before: the root; its data and its children,
 * and the format is written if it is an earlier one or none; the nodes below it, down to the
 * session's. If the root is deleted or changed meanwhile, they begin again. */
typedef struct {
    Engine *engine;
    EngineCallback callback;
    gpointer data;
    char *host_path;
    char *expected;
    guint64 format; /* 0: there are no data */
    gint32 version; /* of the root */
    char *instance; /* NULL: not known */
    gboolean has_hosts;
} Joining;

static void
joining_end(Joining *joining, const EngineAnswer *answer, EngineResult result, const char *text)
{
    joining->callback(&(EngineAnswer){.result = result,
                                      .sent_us = answer->sent_us,
                                      .touched_us = answer->touched_us,
                                      .text = text},
                      joining->data);
    g_free(joining->host_path);
    g_free(joining->expected);
    g_free(joining->instance);
    g_free(joining);
}

static void make_root(Joining *joining);

/* A step below the root was not done. */
static void
joining_failed(Joining *joining, const EngineAnswer *answer)
{
    if (answer->result != ENGINE_NO_NODE) {
        joining_end(joining, answer, answer->result, joining->instance);
        return;
    }
    make_root(joining);
}

static void
on_nodes_made(const EngineAnswer *answer, gpointer data)
{
    Joining *joining = data;

    if (answer->result != ENGINE_OK) {
        joining_failed(joining, answer);
        return;
    }
    g_free(joining->engine->host_path);
    joining->engine->host_path = g_strdup(joining->host_path);
    joining_end(joining, answer, ENGINE_OK, joining->instance);
}

/* The node above the session's is tried when that can't be made. */
static void
make_nodes(Joining *joining)
{
    Making *making = making_new(joining->engine, "", ZOO_EPHEMERAL, on_nodes_made, joining);

    for (guint i = 0; nodes_of_root[i] != NULL; i++)
        g_ptr_array_add(making->paths,
                        g_strconcat(joining->engine->root, "/", nodes_of_root[i], NULL));
    g_ptr_array_add(making->paths, g_strdup(joining->host_path));
    making->next = 1;
    make_next(making);
}

/* ---- the format */

static void
on_format_written(const EngineAnswer *answer, gpointer data)
{
    Joining *joining = data;

    if (answer->result == ENGINE_OK)
        make_nodes(joining);
    else if (answer->result == ENGINE_NODE_EXISTS && joining->has_hosts)
        joining_end(joining, answer, ENGINE_OTHER_FORMAT,
                    "hosts with an earlier version are connected");
    else if (answer->result == ENGINE_NODE_EXISTS || answer->result == ENGINE_BAD_VERSION)
        make_root(joining); /* another host was first */
    else
        joining_failed(joining, answer);
}

static char *
new_instance(void)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < INSTANCE_BYTES / 4; i++)
        g_string_append_printf(text, "%08x", g_random_int());
    return g_string_free(text, FALSE);
}

static void
write_format(Joining *joining)
{
    Engine *engine = joining->engine;
    struct ACL nothing_is_made = {.perms = ZOO_PERM_READ, .id = engine->acl->data[0].id};
    const struct ACL_vector acl = {.count = 1, .data = &nothing_is_made};
    g_autofree char *hosts = g_strconcat(engine->root, "/hosts", NULL);
    g_autofree char *text = NULL;
    EngineOperation *transaction;

    if (joining->instance == NULL)
        joining->instance = new_instance();
    text = g_strdup_printf(FORMAT_PREFIX "%d %s", FORMAT, joining->instance);
    transaction = engine_transaction_new(3);
    engine_transaction_set(transaction, engine->root, text, joining->version);
    if (joining->has_hosts)
        engine_transaction_delete(transaction, hosts);
    engine_transaction_create(transaction, &acl, hosts, "", ZOO_PERSISTENT);
    engine_transaction_send(transaction, engine, on_format_written, joining);
}

static const char *
find_unknown(const char *const *children)
{
    for (; *children != NULL; children++)
        if (!g_strv_contains(children_of_format, *children))
            return *children;
    return NULL;
}

static void
on_root_listed(const EngineAnswer *answer, gpointer data)
{
    Joining *joining = data;
    const char *unknown;
    g_autofree char *text = NULL;

    if (answer->result != ENGINE_OK) {
        joining_failed(joining, answer);
        return;
    }
    unknown = find_unknown(answer->children);
    if (joining->format > FORMAT)
        text =
            g_strdup_printf("the format is %" G_GUINT64_FORMAT ", and that of this version is %d",
                            joining->format, FORMAT);
    else if (unknown != NULL)
        text = g_strdup_printf("there is a node '%s', which this version does not know", unknown);
    joining->has_hosts = g_strv_contains(answer->children, "hosts");
    if (text != NULL)
        joining_end(joining, answer, ENGINE_OTHER_FORMAT, text);
    else if (joining->expected != NULL && g_strcmp0(joining->expected, joining->instance) != 0)
        joining_end(joining, answer, ENGINE_BAD_VERSION, joining->instance);
    else if (joining->format < FORMAT)
        write_format(joining);
    else
        make_nodes(joining);
}

static void
on_root_read(const EngineAnswer *answer, gpointer data)
{
    Joining *joining = data;
    const char *id = answer->text;
    char *end;

    if (answer->result != ENGINE_OK) {
        joining_failed(joining, answer);
        return;
    }
    joining->version = answer->version;
    joining->format = id[0] != '\0' ? 1 : 0;
    if (g_str_has_prefix(id, FORMAT_PREFIX)) {
        joining->format = g_ascii_strtoull(id + strlen(FORMAT_PREFIX), &end, 10);
        id = *end == ' ' ? end + 1 : end;
    }
    joining->instance = id[0] != '\0' ? g_strdup(id) : NULL;
    engine_list(joining->engine, joining->engine->root, FALSE, on_root_listed, joining);
}

static void
on_root_made(const EngineAnswer *answer, gpointer data)
{
    Joining *joining = data;

    if (answer->result != ENGINE_OK) {
        joining_end(joining, answer, answer->result, joining->instance);
        return;
    }
    engine_request_get(joining->engine, joining->engine->root, FALSE, on_root_read, joining);
}

static void
make_root(Joining *joining)
{
    g_clear_pointer(&joining->instance, g_free);
    make(making_new(joining->engine, "", ZOO_PERSISTENT, on_root_made, joining), "",
         joining->engine->root);
}

/* The read may be of an old state, so it is of a server that has what was committed. */
void
engine_join(
    Engine *self, const char *host, const char *instance, EngineCallback callback, gpointer data)
{
    Joining *joining = g_new0(Joining, 1);

    joining->engine = self;
    joining->callback = callback;
    joining->data = data;
    joining->host_path = engine_path_host(self->root, host, self->session.id);
    joining->expected = g_strdup(instance);
    make_root(joining);
}
