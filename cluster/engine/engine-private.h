/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the files of this library share: pending operations, and ZooKeeper's requests with an answer
 * of our type. */

#pragma once

#include <zookeeper/zookeeper.h>

#include "engine.h"
#include "touches.h"

struct Engine {
    gboolean is_freed; /* by its owner, in a callback */
    gboolean is_notifying;
    gboolean keeps_session;
    zhandle_t *zh;
    GSource *source;
    const EngineEvents *events;
    gpointer data;
    char *root;
    char *host_path;           /* this session's node below /sessions; NULL: has not joined */
    GHashTable *generations;   /* bucket -> the last one that was found: see tokens.c */
    GHashTable *version_reads; /* of operations.c, by the paths of users */
    const struct ACL_vector *acl;
    EngineSession session;
    EngineState state;
    EngineState reported_state;
    gint64 connected_us; /* g_get_monotonic_time(), of the current connection */
    gint64 answered_us;  /* the same, of the last answer */
    gint64 last_sent_us; /* the same, of the last operation */
    Touches touches;
    guint n_servers;
    guint n_failed;   /* attempts at a connection, since the last one that lasted */
    guint n_given_up; /* those of them that got no answer, since the last connection */
    GQueue pending;   /* EngineOperation: sent, in this order, and not answered */
    GQueue refused;   /* EngineOperation: could not be sent, answered at the next dispatch */
};

/* One request to the server. The client frees it by calling its completion; it may have been
 * answered before. */
typedef struct {
    GList link;     /* in `pending` or `refused` */
    Engine *engine; /* NULL: answered */
    EngineCallback callback;
    gpointer data;
    gint64 sent_us;
    gint64 sent_monotonic_us;
    gint64 touched_us; /* if it is a write that is committed */
    EngineResult refused_with;
    /* Of a multi request: */
    guint n_parts;
    guint n_typed; /* errors of these first parts are the caller's, of others ENGINE_OTHER */
    zoo_op_result_t *results;
    struct Stat *stats;
    char *created; /* path of the node that was created */
    guint created_size;
    int version_part; /* the part that gives `version`; -1: none */
} EngineOperation;

/* All of these are answered like public operations: once, and not before they return. */

/* OK: `node` is the last component of the created path. `mode` is one of ZooKeeper's. */
void engine_request_create(Engine *self,
                           const char *path,
                           const char *text,
                           int mode,
                           EngineCallback callback,
                           gpointer data);
/* OK: `text` and `version`. */
void engine_request_get(
    Engine *self, const char *path, gboolean watches, EngineCallback callback, gpointer data);
/* OK: `version`. */
void engine_request_set(Engine *self,
                        const char *path,
                        const char *text,
                        gint32 version,
                        EngineCallback callback,
                        gpointer data);
void engine_request_delete(Engine *self, const char *path, EngineCallback callback, gpointer data);

/* Parts of a transaction, in a fixed array with space for `n` of them. */
typedef struct {
    guint n;
    zoo_op_t *parts;
    EngineOperation *operation;
} EngineTransaction;

void engine_transaction_begin(EngineTransaction *transaction, guint n);
void engine_transaction_check(EngineTransaction *transaction, const char *path, gint32 version);
void engine_transaction_delete(EngineTransaction *transaction, const char *path);
void engine_transaction_create(EngineTransaction *transaction,
                               const struct ACL_vector *acl,
                               const char *path,
                               const char *text,
                               int mode);
/* Returns the number of the part. */
int engine_transaction_set(EngineTransaction *transaction,
                           const char *path,
                           const char *text,
                           gint32 version);
/* What is added after this is not the caller's: its errors are ENGINE_OTHER. */
void engine_transaction_end_typed(EngineTransaction *transaction);
void engine_transaction_send(EngineTransaction *transaction,
                             Engine *engine,
                             EngineCallback callback,
                             gpointer data);

/* Of engine.c. */
EngineOperation *engine_operation_new(EngineCallback callback, gpointer data);
/* `r` is what the client's function returned. */
void engine_operation_sent(EngineOperation *operation, Engine *self, int r);
/* Called by the completion: answers unless that has been done, and frees. */
void engine_operation_complete(EngineOperation *operation, EngineAnswer *answer, int r);
void engine_on_watch(zhandle_t *zh, int type, int state, const char *path, void *context);
