/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* ZooKeeper's requests and transactions: the client's completions become EngineAnswers. */

#include <string.h>

#include "engine-private.h"

static const char *
last_component(const char *path)
{
    return strrchr(path, '/') + 1;
}

static void
on_done(int r, const void *data)
{
    engine_operation_complete((EngineOperation *)data, &(EngineAnswer){0}, r);
}

static void
on_created(int r, const char *path, const void *data)
{
    EngineAnswer answer = {0};

    if (r == ZOK)
        answer.node = last_component(path);
    engine_operation_complete((EngineOperation *)data, &answer, r);
}

static void
on_synced(int r, const char *path, const void *data)
{
    on_done(r, data);
}

void
engine_on_stat(int r, const struct Stat *stat, const void *data)
{
    on_done(r, data);
}

static void
on_data(int r, const char *value, int size, const struct Stat *stat, const void *data)
{
    g_autofree char *text = NULL;
    EngineAnswer answer = {0};

    if (r == ZOK) {
        text = size > 0 ? g_strndup(value, (gsize)size) : g_strdup("");
        answer.text = text;
        answer.version = stat->version;
    }
    engine_operation_complete((EngineOperation *)data, &answer, r);
}

static void
on_children(int r, const struct String_vector *strings, const struct Stat *stat, const void *data)
{
    g_autoptr(GPtrArray) children = g_ptr_array_new();
    EngineAnswer answer = {0};

    if (r == ZOK) {
        for (int i = 0; i < strings->count; i++)
            g_ptr_array_add(children, strings->data[i]);
        g_ptr_array_add(children, NULL);
        answer.children = (const char *const *)children->pdata;
        answer.version = stat->version;
    }
    engine_operation_complete((EngineOperation *)data, &answer, r);
}

void
engine_request_create(Engine *self,
                      const char *path,
                      const char *text,
                      int mode,
                      EngineCallback callback,
                      gpointer data)
{
    EngineOperation *operation = engine_operation_new(callback, data);
    int r = zoo_acreate(self->zh, path, text, (int)strlen(text), self->acl, mode, on_created,
                        operation);

    engine_operation_sent(operation, self, r);
}

void
engine_request_get(
    Engine *self, const char *path, gboolean watches, EngineCallback callback, gpointer data)
{
    EngineOperation *operation = engine_operation_new(callback, data);
    int r = zoo_awget(self->zh, path, watches ? engine_on_watch : NULL, self, on_data, operation);

    engine_operation_sent(operation, self, r);
}

void
engine_notify(
    Engine *self, const char *name_path, const char *name, EngineCallback callback, gpointer data)
{
    EngineOperation *operation = engine_operation_new(callback, data);
    int r = zoo_aset(self->zh, name_path, name, (int)strlen(name), -1, engine_on_stat, operation);

    engine_operation_sent(operation, self, r);
}

void
engine_list(
    Engine *self, const char *path, gboolean watches, EngineCallback callback, gpointer data)
{
    EngineOperation *operation = engine_operation_new(callback, data);
    int r = zoo_awget_children2(self->zh, path, watches ? engine_on_watch : NULL, self, on_children,
                                operation);

    engine_operation_sent(operation, self, r);
}

void
engine_request_delete(Engine *self, const char *path, EngineCallback callback, gpointer data)
{
    EngineOperation *operation = engine_operation_new(callback, data);

    engine_operation_sent(operation, self, zoo_adelete(self->zh, path, -1, on_done, operation));
}

void
engine_sync(Engine *self, const char *path, EngineCallback callback, gpointer data)
{
    EngineOperation *operation = engine_operation_new(callback, data);

    engine_operation_sent(operation, self, zoo_async(self->zh, path, on_synced, operation));
}

EngineOperation *
engine_transaction_new(guint n)
{
    EngineOperation *self = engine_operation_new(NULL, NULL);

    self->parts = g_new0(zoo_op_t, n);
    self->results = g_new0(zoo_op_result_t, n);
    self->stats = g_new0(struct Stat, n);
    self->n_typed = n;
    return self;
}

void
engine_transaction_check(EngineOperation *self, const char *path, gint32 version)
{
    zoo_check_op_init(&self->parts[self->n_parts++], path, version);
}

void
engine_transaction_delete(EngineOperation *self, const char *path)
{
    zoo_delete_op_init(&self->parts[self->n_parts++], path, -1);
}

void
engine_transaction_create(EngineOperation *self,
                          const struct ACL_vector *acl,
                          const char *path,
                          const char *text,
                          int mode)
{
    /* ZooKeeper's sequence numbers have at most eleven characters. */
    gsize size = mode == ZOO_EPHEMERAL_SEQUENTIAL ? strlen(path) + 12 : 0;

    if (size > 0)
        self->created = g_malloc0(size);
    zoo_create_op_init(&self->parts[self->n_parts++], path, text, (int)strlen(text), acl, mode,
                       size > 0 ? self->created : NULL, (int)size);
}

int
engine_transaction_set(EngineOperation *self, const char *path, const char *text, gint32 version)
{
    guint part = self->n_parts++;

    zoo_set_op_init(&self->parts[part], path, text, (int)strlen(text), version, &self->stats[part]);
    return (int)part;
}

void
engine_transaction_end_typed(EngineOperation *self)
{
    self->n_typed = self->n_parts;
}

/* ZooKeeper counts the creations of children, and shows twice that number less the children that
 * are left (DataNode.copyStat()). */
static guint32
get_n_created(const struct Stat *stat)
{
    return ((guint32)stat->cversion + (guint32)stat->numChildren) / 2;
}

/* The error of the part that failed. If none did, each has the error of the whole. */
static int
judge_parts(EngineOperation *operation, int r)
{
    for (guint i = 0; i < operation->n_parts; i++) {
        int part_r = operation->results[i].err;

        if (part_r == ZOK || part_r == ZRUNTIMEINCONSISTENCY)
            continue;
        if (i < operation->n_typed || part_r != ZNONODE)
            return part_r;
        g_warning("ZooKeeper: the node of this session is missing");
        return ZDATAINCONSISTENCY;
    }
    return r;
}

static void
on_transaction(int r, const void *data)
{
    EngineOperation *operation = (EngineOperation *)data;
    EngineAnswer answer = {0};

    if (r < ZAPIERROR && operation->engine != NULL)
        r = judge_parts(operation, r);
    if (r == ZOK && operation->created != NULL)
        answer.node = last_component(operation->created);
    if (r == ZOK && operation->version_part >= 0) {
        answer.version = operation->stats[operation->version_part].version;
        answer.n_created = get_n_created(&operation->stats[operation->version_part]);
    }
    engine_operation_complete(operation, &answer, r);
}

void
engine_transaction_send(EngineOperation *self,
                        Engine *engine,
                        EngineCallback callback,
                        gpointer data)
{
    self->callback = callback;
    self->data = data;
    engine_operation_sent(self, engine,
                          zoo_amulti(engine->zh, (int)self->n_parts, self->parts, self->results,
                                     on_transaction, self));
    g_clear_pointer(&self->parts, g_free);
}
