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
    char *text; /* the data of the last node; those above have none */
    int mode;   /* and its mode; those above are persistent */
    guint next;
} Making;

static void
making_end(Making *making, EngineResult result, const EngineAnswer *last)
{
    EngineCallback callback = making->callback;
    gpointer data = making->data;

    g_ptr_array_unref(making->paths);
    g_free(making->text);
    g_free(making);
    callback(
        &(EngineAnswer){.result = result, .sent_us = last->sent_us, .touched_us = last->touched_us},
        data);
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

/* The last node is tried first, since it mostly exists, or those above it do. */
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

/* Makes `path` below `above`, and what is between them. NO_NODE: `above` doesn't exist. */
static void
make(Engine *self,
     const char *above,
     const char *path,
     const char *text,
     int mode,
     EngineCallback callback,
     gpointer data)
{
    Making *making = g_new0(Making, 1);

    making->engine = self;
    making->callback = callback;
    making->data = data;
    making->text = g_strdup(text);
    making->mode = mode;
    making->paths = g_ptr_array_new_with_free_func(g_free);
    for (const char *slash = path + strlen(above) + 1; (slash = strchr(slash, '/')) != NULL;
         slash++)
        g_ptr_array_add(making->paths, g_strndup(path, (gsize)(slash - path)));
    g_ptr_array_add(making->paths, g_strdup(path));
    making->next = making->paths->len - 1;
    make_next(making);
}

typedef struct {
    EngineCallback callback;
    gpointer data;
} Ensuring;

/* Without the root, nothing is as it must be: this host has joined. */
static void
on_name_made(const EngineAnswer *answer, gpointer data)
{
    g_autofree Ensuring *ensuring = data;
    EngineAnswer what = *answer;

    if (answer->result == ENGINE_NO_NODE) {
        g_warning("ZooKeeper: the root of all nodes is missing");
        what.result = ENGINE_OTHER;
    }
    ensuring->callback(&what, ensuring->data);
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
    Ensuring *ensuring = g_new0(Ensuring, 1);

    *ensuring = (Ensuring){callback, data};
    make(self, self->root, path, name, ZOO_CONTAINER, on_name_made, ensuring);
}

/* The steps of joining, each a callback of the one before: the root; its identification, which is
 * written if there is none; the nodes below it; the session's node. If the root is deleted
 * meanwhile, they begin again. */
typedef struct {
    Engine *engine;
    EngineCallback callback;
    gpointer data;
    char *host_path;
    char *expected;
    char *instance;
} Joining;

static void
joining_end(Joining *joining, const EngineAnswer *answer, EngineResult result)
{
    EngineAnswer what = {
        .result = result, .sent_us = answer->sent_us, .touched_us = answer->touched_us};

    if (result == ENGINE_OK)
        what.text = joining->instance;
    joining->callback(&what, joining->data);
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
        joining_end(joining, answer, answer->result);
        return;
    }
    g_clear_pointer(&joining->instance, g_free);
    make_root(joining);
}

static void
on_host_made(const EngineAnswer *answer, gpointer data)
{
    Joining *joining = data;

    if (answer->result != ENGINE_OK) {
        joining_failed(joining, answer);
        return;
    }
    g_free(joining->engine->host_path);
    joining->engine->host_path = g_strdup(joining->host_path);
    joining_end(joining, answer, ENGINE_OK);
}

static void
on_buckets_made(const EngineAnswer *answer, gpointer data)
{
    Joining *joining = data;

    if (answer->result != ENGINE_OK) {
        joining_failed(joining, answer);
        return;
    }
    make(joining->engine, joining->engine->root, joining->host_path, "", ZOO_EPHEMERAL,
         on_host_made, joining);
}

static void
on_identified(Joining *joining, const EngineAnswer *answer)
{
    g_autofree char *path = g_strconcat(joining->engine->root, "/buckets", NULL);

    if (joining->expected != NULL && !g_str_equal(joining->expected, joining->instance)) {
        joining_end(joining, answer, ENGINE_BAD_VERSION);
        return;
    }
    make(joining->engine, joining->engine->root, path, "", ZOO_PERSISTENT, on_buckets_made,
         joining);
}

static void on_root_made(const EngineAnswer *answer, gpointer data);

static void
on_instance_written(const EngineAnswer *answer, gpointer data)
{
    Joining *joining = data;

    if (answer->result == ENGINE_OK) {
        on_identified(joining, answer);
    } else if (answer->result == ENGINE_BAD_VERSION) {
        /* Another host was first. */
        g_clear_pointer(&joining->instance, g_free);
        on_root_made(&(EngineAnswer){.result = ENGINE_OK}, joining);
    } else {
        joining_failed(joining, answer);
    }
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
on_root_read(const EngineAnswer *answer, gpointer data)
{
    Joining *joining = data;

    if (answer->result != ENGINE_OK) {
        joining_failed(joining, answer);
    } else if (answer->text[0] != '\0') {
        joining->instance = g_strdup(answer->text);
        on_identified(joining, answer);
    } else if (joining->expected != NULL) {
        joining_end(joining, answer, ENGINE_BAD_VERSION);
    } else {
        joining->instance = new_instance();
        engine_request_set(joining->engine, joining->engine->root, joining->instance,
                           answer->version, on_instance_written, joining);
    }
}

static void
on_root_made(const EngineAnswer *answer, gpointer data)
{
    Joining *joining = data;

    if (answer->result != ENGINE_OK) {
        joining_end(joining, answer, answer->result);
        return;
    }
    engine_request_get(joining->engine, joining->engine->root, FALSE, on_root_read, joining);
}

static void
make_root(Joining *joining)
{
    make(joining->engine, "", joining->engine->root, "", ZOO_PERSISTENT, on_root_made, joining);
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
