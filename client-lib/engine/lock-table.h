/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What an agent requests and holds, by keys, and the calls that have had no answer yet.
 *
 * - Calls are sent in the order in which they are made, and answered in that order. If the socket
 *   ends, those without an answer are sent again on the next one, in their old order. A request
 *   keeps its key, so that it is never queued twice.
 * - When a socket is opened, all entries are compared with what the service has. Whatever it has
 *   under a key of ours that is in no entry is given back; keys that are not ours are left alone.
 * - Something that is given back without waiting for an answer is unconfirmed until a later call is
 *   answered. Until then it is a reason to open another socket.
 *
 * All functions are called with the session lock held. */

#pragma once

#include "client-lib/engine/recovery.h"

typedef struct LockTable LockTable;
typedef struct LockEntry LockEntry;

typedef struct {
    /* Appends its call to the queue. */
    void (*write)(LockEntry *self, guint64 serial, GByteArray *queue);
    /* The answer to that. */
    void (*answered)(LockEntry *self, const PacketAnswer *answer);
    /* Its call has to wait for a socket. */
    void (*delayed)(LockEntry *self);
    /* There is no socket for now, and the service has never seen its call. */
    void (*failed)(LockEntry *self, const GError *error);
    /* The service has granted it; has ended it. */
    void (*granted)(LockEntry *self, guint64 token);
    void (*ended)(LockEntry *self, PacketReason reason);
    /* A socket was opened, and this is what the service has; NULL: nothing. */
    void (*compared)(LockEntry *self, const PacketLiveEntry *live);
    /* It all ends: for those that are held for `reason`, for others by `error`. */
    void (*finished)(LockEntry *self, PacketReason reason, const GError *error);
    /* The table does not refer to it any more. */
    void (*left)(LockEntry *self);
} LockEntryFuncs;

/* The first member of a larger struct. */
struct LockEntry {
    const LockEntryFuncs *funcs;
    guint64 key;

    /* of lock-table.c */
    gboolean is_live;    /* found by its key */
    gboolean is_calling; /* in the list of calls */
    gboolean was_sent;   /* the service may know of its call, from a socket before this one */
    guint64 number;      /* of the call: their order */
    guint64 serial;      /* of the packet; 0: not sent on this socket */
    guint64 position;    /* of the packet's end, in bytes */
    GList link;
};

typedef struct {
    gboolean (*connect)(gpointer data, GError **error);
    /* Something that had to wait was sent, or will not be. */
    void (*progress)(gpointer data);
    /* There won't be another socket; the entries are still there. */
    void (*finished)(const GError *error, gpointer data);
} LockTableFuncs;

LockTable *lock_table_new(Session *session, Bus *bus, const LockTableFuncs *funcs, gpointer data);
void lock_table_free(LockTable *self);
Recovery *lock_table_get_recovery(LockTable *self);

/* Adds an entry, which gets a new key. It stays until it is removed, and its call is over. */
void lock_table_add(LockTable *self, LockEntry *entry);
void lock_table_remove(LockTable *self, LockEntry *entry);

/* Sends the call of an entry; `is_urgent`: now, if the kernel takes it, and everything before it.
 */
void lock_table_call(LockTable *self, LockEntry *entry, gboolean is_urgent);

/* The same, in its old place, on the next socket. */
void lock_table_call_again(LockTable *self, LockEntry *entry);

/* Removes a request that waits, or has no answer yet; what was, or will be, granted is given back.
 */
void lock_table_give_up(LockTable *self, LockEntry *entry);

/* Removes a lock that is held, and releases it without waiting for an answer. */
void lock_table_drop(LockTable *self, LockEntry *entry);

/* Removes a lock whose release has had no answer. */
void lock_table_abandon(LockTable *self, LockEntry *entry);

/* The number of a bucket on this socket; for `write`. */
guint32 lock_table_bind_bucket(LockTable *self, GRefString *bucket);

/* Whether the service has been sent everything. */
gboolean lock_table_is_settled(LockTable *self);

/* Ends all entries. */
void lock_table_finish(LockTable *self, PacketReason reason, const GError *error);

/* Whether the service may have anything of this agent, or of the one before. */
gboolean lock_table_is_needed(const LockTable *self);

/* Tells the service that the agent ends: now, or when there is a socket again; it is needed until
 * then. Nothing if the service has nothing. */
void lock_table_end(LockTable *self);
gboolean lock_table_is_ending(const LockTable *self);

/* The same for an agent that had the same unique name before: the first socket begins with that. */
void lock_table_end_other(LockTable *self);
