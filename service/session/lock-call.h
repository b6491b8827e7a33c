/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A call of the contract as a plain struct: what every call becomes at the door, whether it came as
 * a D-Bus message or as a packet.
 *
 * Its strings belong to whoever decoded it and live until the call has been served. A call that has
 * to wait is copied (lock_call_copy), with its strings cut to what can still make a difference; so
 * a deferred call is small and of known size, whatever came. */

#pragma once

#include <glib.h>

#include "effects.h"
#include "inspect.h"
#include "lock-request.h"
#include "lock-result.h"
#include "principal.h"

typedef struct Client Client;

typedef enum {
    /* Lock operations, by the bus or by a lock socket. */
    LOCK_CALL_REQUEST,
    LOCK_CALL_RELEASE,
    LOCK_CALL_ABORT,
    /* By a lock socket only. */
    LOCK_CALL_SYNC,
    LOCK_CALL_END,
    /* By the bus only. */
    LOCK_CALL_QUERY,
    LOCK_CALL_INSPECT,
    LOCK_CALL_WATCH,
    LOCK_CALL_BREAK,
    LOCK_CALL_BUCKETS,
    LOCK_CALL_OBSERVABLE,
    LOCK_CALL_RESYNC,
    LOCK_CALL_OPEN_SOCKET,
    LOCK_CALL_PING,  /* that had to wait */
    LOCK_CALL_OTHER, /* not of the contract; sd-bus would have answered it, had it not had to wait
                      */
} LockCallKind;

/* Whose bucket a call is about, as its object path says. */
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
    guint64 id;           /* of RELEASE and ABORT by the bus */
    guint64 key;          /* of RELEASE and ABORT by a lock socket */
    gboolean enable;      /* of WATCH */
    InspectFilter filter; /* of INSPECT and BREAK */
    guint32 version;      /* of OPEN_SOCKET */

    /* Set if the call could not be decoded: the D-Bus error to answer it with. */
    const char *refusal_name; /* static */
    char *refusal_text;       /* owned */
} LockCall;

/* What the core answers. `request` is that of REQUEST, if it is live; borrowed. */
typedef struct {
    LockResult result;
    const LockRequest *request;
    gboolean aborted;
    guint32 n_ended; /* of BREAK */
} LockReply;

/* How a client is answered and told of events: once for the bus, once for lock sockets. */
typedef struct {
    /* Answers a lock operation, SYNC or END. */
    void (*reply)(Client *client, const LockCall *call, const LockReply *reply);

    /* Tells the client that its request was granted, or has ended without its asking. */
    void (*event)(Client *client, const Effect *effect);

    /* Whether the client reads what it is sent, as far as is known: else it is served no more. */
    gboolean (*is_writable)(const Client *client);
} Channel;

/* What is left of a call if nobody reads the answer. */
typedef enum {
    LOCK_CALL_ACTS,     /* all of it */
    LOCK_CALL_GIVES_ID, /* an id that nobody would know, unless the client's end follows anyway */
    LOCK_CALL_ASKS,     /* nothing */
} LockCallUse;
LockCallUse lock_call_get_use(const LockCall *call);

/* For the log; static. */
const char *lock_call_get_name(const LockCall *call);

/* An owned copy. A text that is longer than `limits` allow is cut to one byte more than that: it
 * will be refused in the same way. `*out_n_bytes` is what the copy takes. */
LockCall *lock_call_copy(const LockCall *call, const Limits *limits, gsize *out_n_bytes);
void lock_call_free(LockCall *call);

/* Frees what a call on the stack owns. */
void lock_call_clear(LockCall *call);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(LockCall, lock_call_clear)
