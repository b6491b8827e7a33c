/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A decoded call: every D-Bus message and packet is decoded into this plain struct when it arrives.
 *
 * The strings belong to the decoder and are valid until the call has been served. A deferred call
 * is a copy (lock_call_copy) that owns its strings, truncated to slightly more than their limits,
 * so that its size is bounded. */

#pragma once

#include <string.h>

#include <glib.h>

#include "bus-names.h"
#include "inspect.h"
#include "lock-queue.h"
#include "lock-result.h"
#include "principal.h"

typedef struct Client Client;

typedef enum {
    /* Lock operations, on the bus or on a lock socket. */
    LOCK_CALL_REQUEST,
    LOCK_CALL_RELEASE,
    LOCK_CALL_ABORT,
    LOCK_CALL_DOWNGRADE,
    /* Only on a lock socket. */
    LOCK_CALL_SYNC,
    LOCK_CALL_END,
    /* Only on the bus, as all that follow. */
    LOCK_CALL_WATCH,
    LOCK_CALL_BREAK,
    /* From here on they change nothing: lock_call_changes_nothing(). */
    LOCK_CALL_QUERY,
    LOCK_CALL_INSPECT,
    LOCK_CALL_BUCKETS,
    LOCK_CALL_TREE, /* Introspect of the object above all buckets */
    LOCK_CALL_OBSERVABLE,
    LOCK_CALL_RESYNC,
    LOCK_CALL_OPEN_SOCKET,
    LOCK_CALL_OPEN_DOCUMENT,
    /* Of the interfaces of D-Bus itself, and calls of nothing, which are all refused. From here on
     * they concern no agent: lock_call_needs_agent(). */
    LOCK_CALL_PING,
    LOCK_CALL_MACHINE_ID,
    LOCK_CALL_INTROSPECT,
    LOCK_CALL_GET,
    LOCK_CALL_GET_ALL,
    LOCK_CALL_UNKNOWN,
} LockCallKind;

/* The owner of a call's bucket, according to its object path. */
typedef struct {
    gboolean is_other;          /* FALSE: the caller's own, and the rest is not set */
    gboolean has_uid;           /* the path names a uid; FALSE: of the caller's uid */
    PrincipalIdentity identity; /* its uid is set only if has_uid */
} BucketOwner;

typedef struct LockCall {
    LockCallKind kind;
    gboolean wants_reply;
    guint64 serial;       /* of the message or packet */
    const char *bucket;   /* NULL if the call is not about one */
    BucketOwner owner;    /* of the bucket */
    const char *name;     /* of REQUEST and BREAK */
    LockOptions options;  /* of REQUEST */
    guint64 id;           /* of RELEASE, ABORT and DOWNGRADE on the bus */
    guint64 key;          /* of the same on a lock socket */
    gboolean enable;      /* of WATCH */
    InspectFilter filter; /* of INSPECT and BREAK */
    guint32 version;      /* of OPEN_SOCKET */
    guint item;           /* of INTROSPECT, GET and GET_ALL: see dbus/objects.h */

    /* Of OPEN_DOCUMENT: what the caller's descriptor proves, and the name of the lock; or what the
     * document portal has to be asked for. */
    LockResult proof;
    gboolean is_of_portal;
    char *document; /* owned; NULL: nothing is proved */

    /* The D-Bus error for the reply if the call could not be decoded; otherwise NULL. */
    const char *refusal_name; /* static */
    char *refusal_text;       /* owned */
    gsize n_bytes;            /* of a copy: the memory that it uses */
} LockCall;

/* The core's result. `request` is borrowed and only set for REQUEST, if the request is live. */
typedef struct {
    LockResult result;
    const LockRequest *request;
    gboolean aborted;
    guint32 n_ended; /* of BREAK */
} LockReply;

/* How replies and events are sent to a client. There are two implementations, for the bus and for
 * lock sockets. */
typedef struct {
    /* Replies to a lock operation, SYNC or END. */
    void (*reply)(Client *client, const LockCall *call, const LockReply *reply);

    /* Notifies the client that its request was granted, or has ended without a call of its own. */
    void (*event)(Client *client, const Effect *effect);

    /* Notifies the client that its lock is wanted, or no longer wanted. */
    void (*wanted)(Client *client, const LockRequest *request);

    /* Whether the client has read all that it was sent by `wanted`. If not, it becomes runnable
     * when it has. */
    gboolean (*admits_wanted)(Client *client);

    /* Whether messages can be sent. If not, the client's calls are not served: back-pressure. */
    gboolean (*is_writable)(const Client *client);
} Channel;

/* Whether the reply is all that comes of the call. */
static inline gboolean
lock_call_changes_nothing(const LockCall *call)
{
    return call->kind >= LOCK_CALL_QUERY;
}

/* Whether the call is made by an agent: only then its client has to be identified. */
static inline gboolean
lock_call_needs_agent(const LockCall *call)
{
    return call->kind < LOCK_CALL_PING;
}

/* Whether the call is about a lock or request that the caller has: it may always give it up. */
static inline gboolean
lock_call_is_about_own(const LockCall *call)
{
    return call->kind >= LOCK_CALL_RELEASE && call->kind <= LOCK_CALL_DOWNGRADE;
}

/* Whether the call is about a bucket that several machines share. */
static inline gboolean
lock_call_is_clustered(const LockCall *call)
{
    return call->bucket != NULL &&
           strncmp(call->bucket, BUS_CLUSTER_PREFIX, strlen(BUS_CLUSTER_PREFIX)) == 0;
}

/* Returns a static name for the log. */
const char *lock_call_get_name(const LockCall *call);

/* Returns an owned copy. A string that exceeds its limit is truncated to one byte more than the
 * limit, so that the call is refused with the same error. */
LockCall *lock_call_copy(const LockCall *call, const Limits *limits);
void lock_call_free(LockCall *call);

/* Frees the members that a call on the stack owns. */
void lock_call_clear(LockCall *call);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(LockCall, lock_call_clear)
