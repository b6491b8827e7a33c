/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which client watches which bucket, and how many signals a watcher has missed.
 *
 * What a client is told about its own requests is bounded by what it asked for; what a watcher is
 * told is not. So a watcher is sent only as many signals as flow control allows, and all watchers
 * together only so many bytes in a turn; the rest is counted, and told by `Missed` when the watcher
 * has read what it was sent. Watchers are told by the bus, also those with a lock socket. A watch
 * keeps the manager of its bucket, so a bucket may be watched before anything is in it. */

#pragma once

#include <glib.h>

#include "core-types.h"
#include "lock-result.h"
#include "server.h"

typedef struct {
    Client *client;       /* not owned; it owns this */
    LockManager *manager; /* a reference */
    guint64 n_missed;
    GList in_client;
    GList in_bucket;
} Watch;

struct Watches {
    GHashTable *by_manager; /* LockManager -> GQueue of Watch, by Watch.in_bucket */
    guint n_watches;
};

Watches *watches_new(void);
void watches_free(Watches *watches);

/* Turns on (again) or off (again); refuses with a limit of watches. */
LockResult watches_set(Client *client, LockManager *manager, gboolean enable);
void watches_remove_client(Client *client);

/* Links of Watch; NULL for none. */
GList *watches_of_bucket(const Server *server, const LockManager *manager);

/* Whether one more signal may be sent to this watcher; if not, it is counted as missed. */
gboolean watches_admit(Watch *watch);

/* Tells the client how many signals it has missed, if it has read enough. */
void watches_tell_missed(Client *client);
