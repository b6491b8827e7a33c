/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The blocks of tokens of a bucket, which engine_grant() counts.
 *
 * A version of a node is a counter that many hosts can raise at the same time, but it has 31 bits
 * only. So a block has a higher part, the generation, and a lower part of COUNT_BITS, which is the
 * version of ROOT/tokens/BUCKET/GENERATION. There is one such node, except before the first grant.
 * A version that does not fit the lower part is no block: the host that got it replaces the node by
 * that of the next generation, in one transaction, and grants again. Grants of other hosts fail
 * then, since the node is gone, and these hosts look for the next one. So every block of a
 * generation is committed before all blocks of the next, and blocks increase in the order of the
 * commits, whichever hosts end meanwhile.
 *
 * The first generation is made together with its parent, which is never deleted: so this happens
 * once. */

#include <string.h>

#include "cluster-packet.h"
#include "engine-private.h"

#define COUNT_BITS     16
#define COUNT_MAX      ((1 << COUNT_BITS) - 1)
#define GENERATION_MAX ((guint)(CLUSTER_BLOCK_MAX >> COUNT_BITS))

/* In an earlier format, the version of the bucket's node was the upper part of a token, above so
 * many bits. Nobody counts there any more. */
#define EARLIER_TOKEN_BITS 20

/* A grant, or a read of the last block: both begin with the generation. */
typedef struct Counting Counting;
struct Counting {
    Engine *engine;
    EngineCallback callback;
    gpointer data;
    char *bucket;
    void (*use)(Counting *counting); /* when the generation is known */
    guint generation;
    char *settings; /* of the bucket */
    /* Of a grant: */
    char *claim_path;
    char *user_path;
    gint32 version;
    EngineAnswer refusal; /* NO_NODE, of the generation that was tried last */
};

static Counting *
counting_new(Engine *engine,
             const char *bucket,
             void (*use)(Counting *counting),
             EngineCallback callback,
             gpointer data)
{
    Counting *counting = g_new0(Counting, 1);

    counting->engine = engine;
    counting->callback = callback;
    counting->data = data;
    counting->bucket = g_strdup(bucket);
    counting->use = use;
    return counting;
}

static void
counting_end(Counting *counting, const EngineAnswer *answer)
{
    counting->callback(answer, counting->data);
    g_free(counting->bucket);
    g_free(counting->settings);
    g_free(counting->claim_path);
    g_free(counting->user_path);
    g_free(counting);
}

static void
counting_fail(Counting *counting, const EngineAnswer *answer, const char *reason)
{
    EngineAnswer what = *answer;

    g_warning("ZooKeeper: the tokens of the bucket '%s': %s", counting->bucket, reason);
    what.result = ENGINE_OTHER;
    counting_end(counting, &what);
}

/* ---- the generation */

static void find_generation(Counting *counting);

static void
on_first_made(const EngineAnswer *answer, gpointer data)
{
    Counting *counting = data;

    if (answer->result == ENGINE_OK || answer->result == ENGINE_NODE_EXISTS)
        find_generation(counting);
    else if (answer->result == ENGINE_NO_NODE)
        counting_fail(counting, answer, "the node above its counter is missing");
    else
        counting_end(counting, answer);
}

static void
make_first(Counting *counting, gint32 earlier)
{
    Engine *engine = counting->engine;
    guint64 end = ((guint64)earlier + 1) << EARLIER_TOKEN_BITS;
    guint first = earlier > 0 ? (guint)(end >> (CLUSTER_BLOCK_BITS + COUNT_BITS)) + 1 : 0;
    g_autofree char *parent = engine_path_tokens(engine->root, counting->bucket);
    g_autofree char *path = engine_path_generation(engine->root, counting->bucket, first);
    EngineOperation *transaction = engine_transaction_new(2);

    engine_transaction_create(transaction, engine->acl, parent, "", ZOO_PERSISTENT);
    engine_transaction_create(transaction, engine->acl, path, "", ZOO_PERSISTENT);
    engine_transaction_send(transaction, engine, on_first_made, counting);
}

static void
on_bucket(const EngineAnswer *answer, gpointer data)
{
    Counting *counting = data;

    if (answer->result == ENGINE_OK)
        make_first(counting, answer->version);
    else if (answer->result == ENGINE_NO_NODE)
        counting_fail(counting, answer, "its node is missing");
    else
        counting_end(counting, answer);
}

static void
on_generations(const EngineAnswer *answer, gpointer data)
{
    Counting *counting = data;
    Engine *engine = counting->engine;
    guint64 found;

    if (answer->result == ENGINE_NO_NODE) {
        g_autofree char *path = engine_path_bucket(engine->root, counting->bucket);

        engine_request_get(engine, path, FALSE, on_bucket, counting);
    } else if (answer->result != ENGINE_OK) {
        counting_end(counting, answer);
    } else if (g_strv_length((char **)answer->children) != 1 ||
               !g_ascii_string_to_unsigned(answer->children[0], 10, 0, GENERATION_MAX, &found,
                                           NULL)) {
        counting_fail(counting, answer, "there is not one counter");
    } else if (counting->refusal.result == ENGINE_NO_NODE && found == counting->generation) {
        counting_end(counting, &counting->refusal); /* it was the claim that is gone */
    } else {
        counting->generation = (guint)found;
        g_hash_table_insert(engine->generations, g_strdup(counting->bucket),
                            GUINT_TO_POINTER(counting->generation));
        counting->use(counting);
    }
}

static void
find_generation(Counting *counting)
{
    g_autofree char *path = engine_path_tokens(counting->engine->root, counting->bucket);

    engine_list(counting->engine, path, FALSE, on_generations, counting);
}

/* ---- grants */

static void
on_replaced(const EngineAnswer *answer, gpointer data)
{
    Counting *counting = data;

    if (answer->result == ENGINE_OK || answer->result == ENGINE_NO_NODE ||
        answer->result == ENGINE_NODE_EXISTS)
        find_generation(counting); /* it is another one now, whoever has replaced it */
    else
        counting_end(counting, answer);
}

static void
replace_generation(Counting *counting, const EngineAnswer *answer)
{
    Engine *engine = counting->engine;
    g_autofree char *path = NULL, *next = NULL;
    EngineOperation *transaction;

    if (counting->generation == GENERATION_MAX) {
        counting_fail(counting, answer, "all are used up");
        return;
    }
    path = engine_path_generation(engine->root, counting->bucket, counting->generation);
    next = engine_path_generation(engine->root, counting->bucket, counting->generation + 1);
    transaction = engine_transaction_new(2);
    engine_transaction_delete(transaction, path);
    engine_transaction_create(transaction, engine->acl, next, "", ZOO_PERSISTENT);
    engine_transaction_send(transaction, engine, on_replaced, counting);
}

static guint64
get_block(const Counting *counting, gint32 count)
{
    return (guint64)counting->generation << COUNT_BITS | (guint64)count;
}

static void
on_granted(const EngineAnswer *answer, gpointer data)
{
    Counting *counting = data;
    EngineAnswer what = *answer;

    counting->refusal = *answer;
    if (answer->result == ENGINE_NO_NODE) {
        find_generation(counting);
    } else if (answer->result == ENGINE_OK && answer->version > COUNT_MAX) {
        replace_generation(counting, answer);
    } else {
        what.block = get_block(counting, answer->version);
        counting_end(counting, &what);
    }
}

static void
grant(Counting *counting)
{
    Engine *self = counting->engine;
    g_autofree char *path =
        engine_path_generation(self->root, counting->bucket, counting->generation);
    EngineOperation *transaction = engine_transaction_new(4);

    engine_transaction_check(transaction, counting->claim_path, -1);
    engine_transaction_check(transaction, counting->user_path, counting->version);
    transaction->version_part = engine_transaction_set(transaction, path, "", -1);
    engine_transaction_end_typed(transaction);
    engine_transaction_set(transaction, self->host_path, "", -1);
    engine_transaction_send(transaction, self, on_granted, counting);
}

void
engine_grant(Engine *self,
             const char *name_path,
             const char *claim,
             gint32 version,
             EngineCallback callback,
             gpointer data)
{
    g_autofree char *user_path = g_path_get_dirname(name_path);
    g_autofree char *bucket_path = g_path_get_dirname(user_path);
    const char *bucket = strrchr(bucket_path, '/') + 1;
    Counting *counting = counting_new(self, bucket, grant, callback, data);
    gpointer generation;

    g_assert(self->host_path != NULL);
    counting->claim_path = g_strconcat(name_path, "/", claim, NULL);
    counting->user_path = g_steal_pointer(&user_path);
    counting->version = version;
    if (g_hash_table_lookup_extended(self->generations, bucket, NULL, &generation)) {
        counting->generation = GPOINTER_TO_UINT(generation);
        grant(counting);
    } else {
        find_generation(counting);
    }
}

/* ---- the last block */

static void
on_count(const EngineAnswer *answer, gpointer data)
{
    Counting *counting = data;
    EngineAnswer what = *answer;

    if (answer->result == ENGINE_NO_NODE) {
        find_generation(counting); /* it was replaced meanwhile */
        return;
    }
    what.text = counting->settings;
    what.block = get_block(counting, MIN(answer->version, COUNT_MAX));
    counting_end(counting, &what);
}

static void
read_count(Counting *counting)
{
    Engine *engine = counting->engine;
    g_autofree char *path =
        engine_path_generation(engine->root, counting->bucket, counting->generation);

    engine_request_get(engine, path, FALSE, on_count, counting);
}

static void
on_settings(const EngineAnswer *answer, gpointer data)
{
    Counting *counting = data;

    if (answer->result != ENGINE_OK) {
        counting_end(counting, answer);
        return;
    }
    counting->settings = g_strdup(answer->text);
    find_generation(counting);
}

void
engine_read_block(Engine *self, const char *bucket, EngineCallback callback, gpointer data)
{
    g_autofree char *path = engine_path_bucket(self->root, bucket);

    engine_request_get(self, path, FALSE, on_settings,
                       counting_new(self, bucket, read_count, callback, data));
}
