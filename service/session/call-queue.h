/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The deferred calls of a client: calls by the bus that have to wait because the client is not
 * identified yet, has unread answers, or does not read its lock socket.
 *
 * Their bytes are counted for the client, for all clients of its uid (in its account; clients that
 * are not identified are counted together) and for all. Which of these sums is too large is for the
 * server to ask and to act upon. */

#pragma once

#include <glib.h>

#include "lock-call.h"

/* Of all queues of a service. */
typedef struct {
    gsize n_bytes_unidentified;
    gsize n_bytes;
} CallQueueTotals;

typedef struct {
    GQueue calls; /* of deferred calls */
    gsize n_bytes;
    guint n_awaited;         /* of the calls: those that want a reply */
    gsize *group;            /* the bytes of all clients of the same uid */
    CallQueueTotals *totals; /* not owned */
} CallQueue;

void call_queue_init(CallQueue *queue, CallQueueTotals *totals);

/* Drops all calls. */
void call_queue_clear(CallQueue *queue);

/* The client has been identified. */
void call_queue_set_account(CallQueue *queue, LimitsAccount *account);

/* Appends a copy of the call. */
void call_queue_push(CallQueue *queue, const LockCall *call, const Limits *limits);

/* Removes and returns the first call, owned; NULL if there is none. */
LockCall *call_queue_pop(CallQueue *queue);

gboolean call_queue_is_empty(const CallQueue *queue);

/* Whether `n_calls` more calls fit into what one client may have; if not, by which limit. */
gboolean call_queue_has_room(const CallQueue *queue,
                             guint n_calls,
                             const Limits *limits,
                             LimitId *out_limit);
