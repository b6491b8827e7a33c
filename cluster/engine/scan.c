/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads claims from the whole tree (buckets, their users, their names, the names' claims) or of
 * some names. Several reads run at the same time, but no more than READS_MAX, since all operations
 * that are started meanwhile are carried out after them: a renewal of the lease waits for so many
 * reads at most. Nodes that disappear are skipped. */

#include <string.h>

#include "engine-private.h"

#define READS_MAX 64

typedef enum { LEVEL_BUCKETS, LEVEL_USERS, LEVEL_NAMES, LEVEL_CLAIMS } Level;

typedef struct {
    Engine *engine;
    EngineCallback callback;
    gpointer data;
    char *part;
    guint limit;
    GPtrArray *claims;
    GQueue waiting; /* of Read, owned: not sent yet */
    guint n_sent;   /* reads that have not been answered */
    EngineResult result;
    gint64 sent_us; /* of the first read */
} Scan;

/* One read of children, or of the data of a name. */
typedef struct {
    Scan *scan;
    Level level; /* of the children */
    char *path;
    GPtrArray *claims; /* of a name whose data are read: those that get its name; else NULL */
} Read;

static void
claim_free(gpointer data)
{
    EngineClaim *claim = data;

    g_free(claim->name_path);
    g_free(claim->bucket);
    g_free(claim->name);
    g_free(claim->node);
    g_free(claim);
}

/* A claim is gone if the node of its name is. */
static void
drop_nameless(Scan *scan)
{
    for (guint i = scan->claims->len; i > 0; i--) {
        const EngineClaim *claim = scan->claims->pdata[i - 1];

        if (claim->name == NULL)
            g_ptr_array_remove_index(scan->claims, i - 1);
    }
}

static void
scan_end(Scan *scan)
{
    EngineAnswer what = {.sent_us = scan->sent_us};

    drop_nameless(scan);
    what.result = scan->result;
    if (scan->result == ENGINE_OK)
        what.claims = scan->claims;
    scan->callback(&what, scan->data);
    g_ptr_array_unref(scan->claims);
    g_free(scan->part);
    g_free(scan);
}

/* The read is sent when it is its turn. */
static Read *
read_new(Scan *scan, Level level, const char *path)
{
    Read *read = g_new0(Read, 1);

    read->scan = scan;
    read->level = level;
    read->path = g_strdup(path);
    g_queue_push_tail(&scan->waiting, read);
    return read;
}

static void
read_free(gpointer data)
{
    Read *read = data;

    g_clear_pointer(&read->claims, g_ptr_array_unref);
    g_free(read->path);
    g_free(read);
}

static void on_name(const EngineAnswer *answer, gpointer data);
static void on_children(const EngineAnswer *answer, gpointer data);

static void
send_reads(Scan *scan)
{
    while (scan->n_sent < READS_MAX && scan->waiting.length > 0) {
        Read *read = g_queue_pop_head(&scan->waiting);

        if (read->claims == NULL && scan->claims->len >= scan->limit) {
            read_free(read); /* it would only find more claims */
            continue;
        }
        scan->n_sent++;
        if (read->claims != NULL)
            engine_request_get(scan->engine, read->path, FALSE, on_name, read);
        else
            engine_list(scan->engine, read->path, FALSE, on_children, read);
    }
}

/* After an error nothing more is read. */
static void
read_end(Read *read, const EngineAnswer *answer)
{
    Scan *scan = read->scan;

    read_free(read);
    if (answer->result != ENGINE_OK && answer->result != ENGINE_NO_NODE)
        scan->result = answer->result;
    if (scan->sent_us == 0)
        scan->sent_us = answer->sent_us;
    scan->n_sent--;
    if (scan->result == ENGINE_OK)
        send_reads(scan);
    else
        g_queue_clear_full(&scan->waiting, read_free);
    if (scan->n_sent == 0)
        scan_end(scan);
}

static void
on_name(const EngineAnswer *answer, gpointer data)
{
    Read *read = data;

    if (answer->result == ENGINE_OK)
        for (guint i = 0; i < read->claims->len; i++)
            ((EngineClaim *)read->claims->pdata[i])->name = g_strdup(answer->text);
    read_end(read, answer);
}

/* `path` is that of a name: .../BUCKET/UID/HASH. */
static EngineClaim *
claim_new(const char *path, const char *node)
{
    EngineClaim *claim = g_new0(EngineClaim, 1);
    g_autofree char *user_path = g_path_get_dirname(path);
    g_autofree char *bucket_path = g_path_get_dirname(user_path);

    claim->name_path = g_strdup(path);
    claim->node = g_strdup(node);
    claim->bucket = g_path_get_basename(bucket_path);
    claim->uid = (guint32)g_ascii_strtoull(strrchr(user_path, '/') + 1, NULL, 10);
    return claim;
}

static void
read_claims(Read *read, const char *const *nodes)
{
    Scan *scan = read->scan;
    g_autoptr(GPtrArray) found = g_ptr_array_new();

    for (; *nodes != NULL && scan->claims->len < scan->limit; nodes++) {
        EngineClaim *claim;

        if (strstr(*nodes, scan->part) == NULL)
            continue;
        claim = claim_new(read->path, *nodes);
        g_ptr_array_add(scan->claims, claim);
        g_ptr_array_add(found, claim);
    }
    if (found->len > 0)
        read_new(scan, LEVEL_CLAIMS, read->path)->claims = g_steal_pointer(&found);
}

static void
on_children(const EngineAnswer *answer, gpointer data)
{
    Read *read = data;
    Scan *scan = read->scan;

    if (answer->result == ENGINE_OK && scan->result == ENGINE_OK && read->level == LEVEL_CLAIMS) {
        read_claims(read, answer->children);
    } else if (answer->result == ENGINE_OK && scan->result == ENGINE_OK) {
        for (const char *const *node = answer->children; *node != NULL; node++) {
            g_autofree char *path = g_strconcat(read->path, "/", *node, NULL);

            read_new(scan, read->level + 1, path);
        }
    }
    read_end(read, answer);
}

void
engine_scan(Engine *self,
            char **name_paths,
            const char *part,
            guint limit,
            EngineCallback callback,
            gpointer data)
{
    Scan *scan = g_new0(Scan, 1);
    g_autofree char *path = g_strconcat(self->root, "/buckets", NULL);

    g_assert(name_paths == NULL || *name_paths != NULL);
    scan->engine = self;
    scan->callback = callback;
    scan->data = data;
    scan->part = g_strdup(part);
    scan->limit = limit;
    scan->claims = g_ptr_array_new_with_free_func(claim_free);
    if (name_paths == NULL)
        read_new(scan, LEVEL_BUCKETS, path);
    for (; name_paths != NULL && *name_paths != NULL; name_paths++)
        read_new(scan, LEVEL_CLAIMS, *name_paths);
    send_reads(scan);
}
