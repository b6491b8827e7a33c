/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A session with an ensemble of ZooKeeper servers, and the operations that lock claims need.
 *
 * An Engine is one session: when it has ended, the Engine is freed and another one is made, so no
 * operation of one session can reach the next. Everything runs in one thread, on the GMainContext
 * that was the thread's default when the Engine was made.
 *
 * Operations are asynchronous. Each is answered exactly once: from the main loop, or with
 * ENGINE_SESSION_LOST by engine_free(). No callback is called before the function that takes it has
 * returned. An answer and everything in it is valid during the callback. Operations are carried out
 * in the order in which they were started, and a read shows at least all that this session wrote
 * before it; of other sessions it may show an old state, unless an engine_sync() precedes it.
 *
 * A callback may free the Engine, and may start operations if the answer is not SESSION_LOST.
 *
 * The connection: a server that has pending operations and answers none of them for a fifth of the
 * session's timeout is left for the next one, with the same session. While nothing else is sent,
 * something is read every ENGINE_READ_US, since the servers count the time-out of a session from
 * what they got from it: see touches.h. A server that answers pings may still be cut off from the
 * others, and only an answered operation proves that it is not. When all servers have failed, there
 * is a pause before they are tried again: 50 ms, and twice as long each time, up to 1 s. The loss
 * of one server causes none. Nothing in here blocks except engine_new(), which looks up host names
 * (addresses need no look-up), and engine_free() while connected, which waits at most 4.5 s until
 * the server has closed the session.
 *
 * Paths: a lock name has a node, whose path engine_path_name() makes; a claim is a child of it. */

#pragma once

#include <glib.h>

#include "paths.h"

#define ENGINE_READ_US G_USEC_PER_SEC

/* The data of a bucket's node: its settings, which all hosts must have in common. An empty text
 * means `shared=no`. */
#define ENGINE_SETTINGS(is_shared) ((is_shared) ? "shared=yes" : "shared=no")

/* The longest tick of servers with which a session lives as long as touches.h says. */
#define ENGINE_TICK_MAX_MS 2000u

typedef struct Engine Engine;

typedef enum {
    ENGINE_OK,
    ENGINE_NO_NODE,         /* the node that the operation is about does not exist */
    ENGINE_NODE_EXISTS,     /* the node that would be created exists, or children of the one that
                               would be deleted */
    ENGINE_BAD_VERSION,     /* a claim of the same user was stolen since the list */
    ENGINE_CONNECTION_LOST, /* the outcome is not known */
    ENGINE_SESSION_LOST,    /* the session has ended; the outcome is not known */
    ENGINE_DENIED,          /* the nodes are not accessible with this credential */
    ENGINE_OTHER_FORMAT,    /* of the data, or hosts of an earlier one are connected */
    ENGINE_OTHER,           /* the nodes are not as they must be, or a bug; logged */
} EngineResult;

typedef enum {
    ENGINE_CONNECTING, /* also while another server is looked for; the session may live or not */
    ENGINE_CONNECTED,
    ENGINE_ENDED, /* expired, or the credential was refused; this is the last state */
} EngineState;

/* Reattaches to a session after a restart. Secret: with it, the session's nodes can be deleted. */
typedef struct {
    guint64 id;
    guint8 password[16];
    /* The least time-out that was negotiated for it. A new leader counts by the one that it was
     * made with, until it has touched the session. */
    guint timeout_ms;
} EngineSession;

typedef struct {
    EngineResult result;
    /* CLOCK_BOOTTIME in us, at or before the moment the operation was sent. */
    gint64 sent_us;
    /* The same clock: if the operation is a write that was committed, the servers count the
     * time-out of the session from this time on, or from a later one. */
    gint64 touched_us;
    /* The rest is set only if the result is ENGINE_OK, and as described for the operation. */
    gint32 version;
    guint64 block;
    guint32 n_created;
    const char *node;
    const char *text;
    const char *const *children;
} EngineAnswer;

typedef void (*EngineCallback)(const EngineAnswer *answer, gpointer data);

typedef struct {
    /* Called after each change of the state. Operations that the change ended have been answered.
     */
    void (*state_changed)(EngineState state, gpointer data);
    /* A watch fired, and is gone: children of the name changed (`claim` is NULL), or the claim with
     * this node name was deleted. May be called when nothing has changed, too. */
    void (*changed)(const char *name_path, const char *claim, gpointer data);
} EngineEvents;

typedef struct {
    const char *servers;          /* "host:port,host:port" */
    const char *root;             /* "/weblocks" */
    const char *credential;       /* "user:password" for the digest scheme; NULL: nodes are open */
    guint timeout_ms;             /* of the session, as requested */
    const EngineSession *session; /* to reattach to; NULL: a new session */
} EngineConfig;

/* Returns NULL and sets `error` (G_FILE_ERROR) if the servers can't be parsed or looked up. The
 * connection is made by the main loop. `events` is borrowed. */
Engine *
engine_new(const EngineConfig *config, const EngineEvents *events, gpointer data, GError **error);

/* Ends the session, so that its claims disappear; with `keeps_session`, it only closes the
 * connection, and the session can be reattached to until its timeout. Answers what is pending. */
void engine_free(Engine *self, gboolean keeps_session);

/* Known once the state has been ENGINE_CONNECTED. */
const EngineSession *engine_get_session(const Engine *self);

/* "address:port" of the server in use; NULL if there is none. Valid until the next call. */
const char *engine_get_server(const Engine *self);

/* Makes the nodes that everything else needs and the session's node below /sessions. It must have
 * been answered with ENGINE_OK before engine_grant(), engine_steal() and engine_renew() are called;
 * done again, it changes nothing. Reads that are started when it has been answered show everything
 * committed before it. OK: `text` is the identification of the ensemble's data, which the root has.
 * If `instance` is not NULL and not the same, nothing is made, and the result is
 * ENGINE_BAD_VERSION; `text` is what the root has, or NULL. OTHER_FORMAT: nothing is made; `text`
 * says why. */
void engine_join(
    Engine *self, const char *host, const char *instance, EngineCallback callback, gpointer data);

/* Makes the node of a bucket with these settings, unless it exists. OTHER: there is no root. */
void engine_ensure_bucket(
    Engine *self, const char *bucket, const char *settings, EngineCallback callback, gpointer data);

/* Makes the node of a lock name, and those above it up to the root, unless they exist. The server
 * deletes it some time after its last claim. OTHER: there is no root. */
void engine_ensure_name(Engine *self,
                        const char *bucket,
                        guint32 uid,
                        const char *name,
                        EngineCallback callback,
                        gpointer data);

/* Creates a claim with the next sequence number, which ends with the session; and deletes `old`, a
 * claim of one's own (NULL: none), both or none. OK: `node` is its name, `prefix` and ten digits.
 * NO_NODE: the name's node is gone, ensure it; or `old` is. */
void engine_create_claim(Engine *self,
                         const char *name_path,
                         const char *old,
                         const char *prefix,
                         const char *text,
                         EngineCallback callback,
                         gpointer data);

/* OK: `children` are the node names in no order. With `watches`, `changed` is called once when a
 * child comes or goes. */
void engine_list(
    Engine *self, const char *path, gboolean watches, EngineCallback callback, gpointer data);

/* When to call `changed`, once. */
typedef enum {
    ENGINE_WATCH_NOTHING,
    ENGINE_WATCH_CLAIMS, /* a claim comes or goes */
    ENGINE_WATCH_NAME,   /* engine_notify() or engine_steal() is committed, by any host */
} EngineWatch;

/* As engine_list(), of the claims of a name. OK: `version` is the number of steals from claims of
 * the user in this bucket, from before the list. Lists that are sent before another one of the user
 * has been answered may have the same number. */
void engine_list_claims(
    Engine *self, const char *name_path, EngineWatch watch, EngineCallback callback, gpointer data);

/* Writes the node of a name again. */
void engine_notify(
    Engine *self, const char *name_path, const char *name, EngineCallback callback, gpointer data);

/* OK: `text` is the claim's data. With `watches`, `changed` is called once when it is deleted.
 * NO_NODE: it doesn't exist, and nothing is watched. */
void engine_read_claim(Engine *self,
                       const char *name_path,
                       const char *claim,
                       gboolean watches,
                       EngineCallback callback,
                       gpointer data);

/* Grants a claim of one's own if it exists and nothing of the user was stolen since the list with
 * this `version`. OK: `block` is the bucket's next block of tokens. NO_NODE: the claim is gone.
 * OTHER: also if there are no more blocks. */
void engine_grant(Engine *self,
                  const char *name_path,
                  const char *claim,
                  gint32 version,
                  EngineCallback callback,
                  gpointer data);

/* If nothing of the user was stolen since the list with this `version`: deletes the claims
 * `holders` and creates the claim `claim` (full node name) of one's own, which is not granted by
 * that. With a NULL `claim`, only deletes, whatever was stolen. OK: `n_created` is the number of
 * claims that had been made for the name since its node was, modulo 2^31: the next one would have
 * had it as its sequence number. NO_NODE: one of the holders is gone. */
void engine_steal(Engine *self,
                  const char *name_path,
                  const char *name,
                  gint32 version,
                  const char *const *holders,
                  const char *claim,
                  const char *text,
                  EngineCallback callback,
                  gpointer data);

/* Deletes a claim or, if `claim` is NULL, the node of a name. NO_NODE: it doesn't exist.
 * NODE_EXISTS: the name has claims. */
void engine_delete(
    Engine *self, const char *name_path, const char *claim, EngineCallback callback, gpointer data);

/* A committed write, which proves that the session lived when it was sent. */
void engine_renew(Engine *self, EngineCallback callback, gpointer data);

/* OK: `block` is the bucket's last block of tokens, `text` are its settings. NO_NODE: it has no
 * node. */
void engine_read_block(Engine *self, const char *bucket, EngineCallback callback, gpointer data);

/* Reads that are started after this one show everything committed before it. */
void engine_sync(Engine *self, const char *path, EngineCallback callback, gpointer data);

/* OK: `children` are the hosts that have joined: see engine_path_parse_host(). */
void engine_list_hosts(Engine *self, EngineCallback callback, gpointer data);

/* Returns whether the claim is to be deleted. */
typedef gboolean (*EngineFilter)(const char *name_path, const char *claim, gpointer data);

/* Deletes those claims of these names (NULL: of all; not none) that the filter selects. OK: all of
 * them have been deleted. */
void engine_sweep(
    Engine *self, char **name_paths, EngineFilter filter, EngineCallback callback, gpointer data);
