/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the files of this library share: pending operations, and ZooKeeper's requests with an answer
 * of our type. */

#pragma once

#include <zookeeper/zookeeper.h>

#include "engine.h"
#include "touches.h"

/* Runs the handle of ZooKeeper's single-threaded client on a GMainContext: see source.c. */
typedef struct {
    GSource parent;
    Engine *engine;
    int fd; /* -1: not connected */
    gpointer fd_tag;
    GIOCondition waits_for;
    gint64 since_us; /* g_get_monotonic_time() when the connection with this descriptor was begun */
    gint64 begun_us; /* by CLOCK_BOOTTIME, then or earlier */
    gint64 patience_us;
    gint64 wakes_us;
    gint64 connects_us; /* the next attempt at a connection is not made before */
    gboolean is_lost;   /* since the last dispatch */
} EngineSource;

struct Engine {
    gboolean is_freed; /* by its owner, in a callback */
    gboolean is_dispatching;
    gboolean keeps_session;
    zhandle_t *zh;
    EngineSource *source;
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
    /* Of a transaction: */
    guint n_parts;
    zoo_op_t *parts; /* until it is sent */
    guint n_typed;   /* errors of these first parts are the caller's, of others ENGINE_OTHER */
    zoo_op_result_t *results;
    struct Stat *stats;
    char *created;    /* path of the node that was created */
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
void engine_request_delete(Engine *self, const char *path, EngineCallback callback, gpointer data);

/* A completion: only whether it was done. */
void engine_on_stat(int r, const struct Stat *stat, const void *data);

/* A transaction of up to `n` parts. The strings must stay valid until it is sent. */
EngineOperation *engine_transaction_new(guint n);
void engine_transaction_check(EngineOperation *self, const char *path, gint32 version);
void engine_transaction_delete(EngineOperation *self, const char *path);
/* At most one is sequential. */
void engine_transaction_create(EngineOperation *self,
                               const struct ACL_vector *acl,
                               const char *path,
                               const char *text,
                               int mode);
/* Returns the number of the part. */
int
engine_transaction_set(EngineOperation *self, const char *path, const char *text, gint32 version);
/* What is added after this is not the caller's: its errors are ENGINE_OTHER. */
void engine_transaction_end_typed(EngineOperation *self);
void engine_transaction_send(EngineOperation *self,
                             Engine *engine,
                             EngineCallback callback,
                             gpointer data);

/* Attaches the source of the engine's handle to `context` (NULL: the default context). The engine
 * destroys it before it closes the handle. */
EngineSource *engine_source_new(Engine *self, GMainContext *context);

/* What the source calls, in the thread of the context. The connection, or an attempt at one, has
 * ended: nothing that was sent will be answered. The handle calls the completions only when it has
 * another connection. If `connects_us` is not set, the next attempt is made immediately. */
void engine_on_lost(Engine *self);
/* The last call of a dispatch. Only in it the source may be destroyed, and the handle closed. */
void engine_on_dispatched(Engine *self);
/* Whether there is something to dispatch apart from the connection. */
gboolean engine_is_ready(const Engine *self);
/* When (g_get_monotonic_time()) the server will have been silent for too long: then it is left for
 * the next one. -1: never. And it is left; engine_on_lost() follows. */
gint64 engine_get_patience_us(const Engine *self);
void engine_on_gave_up(Engine *self);
/* Sends something if nothing was sent for too long. Returns when (g_get_monotonic_time()) to call
 * it again. */
gint64 engine_keep_alive(Engine *self);

/* Of engine.c. */
EngineOperation *engine_operation_new(EngineCallback callback, gpointer data);
/* `r` is what the client's function returned. */
void engine_operation_sent(EngineOperation *operation, Engine *self, int r);
/* Called by the completion: answers unless that has been done, and frees. */
void engine_operation_complete(EngineOperation *operation, EngineAnswer *answer, int r);
void engine_on_watch(zhandle_t *zh, int type, int state, const char *path, void *context);
