/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The requests and locks of an agent, indexed by key, and the queue of pending calls.
 *
 * - Calls are sent in the order in which they are made, and answered in that order. When the socket
 *   ends, pending calls are sent again on the next one in their original order. A request keeps
 *   its key, so the service never queues it twice.
 * - When a socket is opened, all entries are compared with the live requests that the service
 *   lists. Live requests without an entry are released or aborted.
 * - A release or abort that requests no answer is unacknowledged until a later call is answered.
 *   While anything is unacknowledged, recovery opens another socket.
 *
 * The table owns the recovery. It borrows its entries: each belongs to the larger struct that it is
 * part of. All functions are called with the session lock held. */

#pragma once

#include "client-lib/engine/recovery.h"

typedef struct LockTable LockTable;
typedef struct LockEntry LockEntry;

typedef struct {
    /* Appends the packet message of the entry's call to `queue`. */
    void (*write)(LockEntry *self, guint64 serial, GByteArray *queue);
    /* The call was answered. */
    void (*answered)(LockEntry *self, const PacketAnswer *answer);
    /* No socket can be opened for now, and the call was never sent. */
    void (*failed)(LockEntry *self, const GError *error);
    /* The service has sent GRANTED or ENDED for the entry's key. */
    void (*granted)(LockEntry *self, guint64 token);
    void (*ended)(LockEntry *self, PacketReason reason);
    /* The service has sent WANTED for it. */
    void (*wanted)(LockEntry *self, gboolean wanted);
    /* A socket was opened. `live` is the service's entry for this key; NULL: it has none. */
    void (*compared)(LockEntry *self, const PacketLiveEntry *live);
    /* The table ends. Held locks are lost for `reason`; other operations fail with `error`. */
    void (*finished)(LockEntry *self, PacketReason reason, const GError *error);
    /* The table has dropped its last pointer to the entry, which may be freed. */
    void (*left)(LockEntry *self);
} LockEntryFuncs;

/* To be embedded as the first member of a larger struct. */
struct LockEntry {
    const LockEntryFuncs *funcs;
    guint64 key;

    /* private to lock-table.c */
    gboolean is_live;    /* in the index of keys, unless it has none */
    gboolean is_calling; /* in the queue of pending calls */
    gboolean was_sent;   /* the call was sent on an earlier socket, so the service may have it */
    guint64 number;      /* of the call; numbers grow in the order of calls */
    guint64 serial;      /* of the packet message; 0: not sent on this socket */
    guint64 position; /* of the end of the packet message, in bytes since the socket was opened */
    GList link;       /* in the queue of pending calls */
    GList live_link;  /* in the list of those in the index */
};

/* `finished` is called if no further socket will be opened. The entries are still in the table. */
LockTable *lock_table_new(Session *session,
                          Bus *bus,
                          void (*finished)(const GError *error, gpointer data),
                          gpointer data);
void lock_table_free(LockTable *self);
Recovery *lock_table_get_recovery(LockTable *self);

/* Adds an entry and gives it a new key. */
void lock_table_add(LockTable *self, LockEntry *entry);

/* Initializes an entry without a key, of which the table has its call only. The call does not fail
 * while no socket can be opened, so `failed` is not called, nor what is about a key. */
void lock_entry_init_call(LockEntry *entry);

/* When a call is sent, with everything before it in the queue. A SLOW one is sent together with
 * what the deliveries request that are queued, or what else is in the batch; a FAST one only waits
 * for the end of a batch, and an URGENT one, for which a thread waits, for nothing. */
typedef enum {
    LOCK_CALL_SLOW,
    LOCK_CALL_FAST,
    LOCK_CALL_URGENT,
} LockCallHaste;
void lock_table_call(LockTable *self, LockEntry *entry, LockCallHaste haste);

/* Sends the calls that were to wait for the deliveries, when these have run. */
void lock_table_send(LockTable *self);

/* Between these, operations of this thread that don't wait are not sent; the end of the batch sends
 * them, all together. It is no batch while another thread is in one. */
void lock_table_begin_batch(LockTable *self);
void lock_table_end_batch(LockTable *self);

/* Sends the call of an entry again on the next socket, at its original place. */
void lock_table_call_again(LockTable *self, LockEntry *entry);

/* Removes an entry of which the service has nothing any more. The table refers to it until its
 * call, if that was sent, is answered or the socket has ended; then funcs.left is called. */
void lock_table_forget(LockTable *self, LockEntry *entry);

/* Forgets a request that is pending or unanswered. If it was granted or will be, it is released. */
void lock_table_abort(LockTable *self, LockEntry *entry);

/* Forgets a held lock, or one whose release is unanswered, and sends a release that requests no
 * answer unless one was sent. If the socket ends before it is acknowledged, the lock is released on
 * the next one. */
void lock_table_release(LockTable *self, LockEntry *entry);

/* Whether all calls have been sent to the service. */
gboolean lock_table_is_settled(LockTable *self);

/* Calls funcs.finished of all entries. */
void lock_table_finish(LockTable *self, PacketReason reason, const GError *error);
