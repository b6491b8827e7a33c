/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which client watches which bucket, or all that it may observe, and how many signals a watcher has
 * missed.
 *
 * What a client is told about its own requests is bounded by what it asked for; what a watcher is
 * told is not. So a watcher is sent only as many signals as flow control allows, and all watchers
 * together only so many bytes in a turn; the rest is counted, and told by `Missed` when the watcher
 * has read what it was sent. Watchers are told by the bus, also those with a lock socket. A watch
 * keeps the manager of its bucket, so a bucket may be watched before anything is in it. A watch of
 * all has no manager: it is found by the account that holds all which its client may observe
 * (principal_get_scope), and a client that has both gets each signal once. */

#pragma once

#include <glib.h>

#include "core-types.h"
#include "effects.h"
#include "lock-result.h"
#include "server.h"

typedef struct {
    Client *client;       /* not owned; it owns this */
    LockManager *manager; /* a reference; NULL: all that the client may observe */
    guint64 n_missed;
    GList in_client;
    GList in_subject;
} Watch;

struct Watches {
    /* LockManager or, of a watch of all, LimitsAccount -> GQueue of Watch, by Watch.in_subject */
    GHashTable *by_subject;
    guint n_watches;
};

Watches *watches_new(void);
void watches_free(Watches *watches);

/* Turns on (again) or off (again) the watch of a bucket, or of all if `manager` is NULL; refuses
 * with a limit of watches. */
LockResult watches_set(Client *client, LockManager *manager, gboolean enable);
void watches_remove_client(Client *client);

/* Sends the signal of an effect to the watchers of its bucket, or counts it as missed; but not to
 * the client that it has been sent to as its own. */
void watches_tell(Server *server, const Effect *effect, const Client *told);

/* Tells the client how many signals it has missed, if it has read enough. */
void watches_tell_missed(Client *client);
