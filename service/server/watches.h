/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Watches: the clients that watch a bucket, or all buckets that they may observe, and the number of
 * signals dropped for each.
 *
 * The number of events for a client's own requests is bounded by its calls; the number of signals
 * for a watcher is not. So a watcher is sent only as many signals as flow control allows, and all
 * watchers together a bounded number of bytes per turn. Further signals are counted, and `Missed`
 * with their number is sent when the watcher has read its messages. Signals for watchers are always
 * sent on the bus, even if the client has a lock socket. A watch of a bucket is in the list
 * of the lock manager, and owns a reference to it, so an empty bucket can be watched. A watch of
 * all buckets has no manager: it is in the list of the account that includes everything its client
 * may observe (principal_get_scope). A client with both kinds of watches gets each signal once.
 * A private session and its public name are two objects, each with its own watches; those of the
 * latter get the signals even if they have got them by the name. */

#pragma once

#include <glib.h>

#include "client.h"
#include "core-types.h"
#include "lock-queue.h"
#include "lock-result.h"

typedef struct {
    Client *client;       /* borrowed; the client owns the watch */
    LockManager *manager; /* owned reference; NULL: all buckets that the client may observe */
    guint64 n_missed;
    GList in_client;
    GList in_subject; /* in the list of the manager or the account */
} Watch;

/* Whether any client watches anything. */
static inline gboolean
watches_exist(const Server *server)
{
    return server->user_agent.total.n[CHARGE_WATCH] > 0;
}

/* Adds or removes the watch of a bucket, or of all buckets if `manager` is NULL. Does nothing if it
 * is there already, or not there. Fails with a limit of watches. */
LockResult watches_set(Client *client, LockManager *manager, gboolean enable);
void watches_remove_client(Client *client);

/* Sends the signal of an effect to the watchers of its bucket, or counts it as dropped. Leaves out
 * `notified`, the client that has already received it as the owner of the request. Nothing to do
 * if there is no watch. */
void watches_notify(Server *server, const Effect *effect, const Client *notified);

/* Sends `Missed` for dropped signals, if the client has read enough. */
void watches_notify_missed(Client *client);
