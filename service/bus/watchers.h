/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Who watches which bucket, and what a watcher misses that reads too slowly.
 *
 * What a client hears about its own requests is bounded by what it asked for; what a watcher hears
 * is not. So of that only so much is sent as confirm.h says; the rest is counted, and told by
 * Missed when it has read what it was sent. So is what would be too much for all watchers together.
 * A watch keeps its bucket's manager, so a bucket may be watched before anything is in it. */

#pragma once

#include <glib.h>

#include "service/bus/client.h"
#include "service/core/core-types.h"
#include "service/core/lock-result.h"

typedef struct {
    Client *client;       /* not ours: owns this */
    LockManager *manager; /* a reference */
    guint64 n_missed;
    GList in_client;
    GList in_bucket;
} Watch;

struct Watchers {
    GHashTable *by_manager; /* LockManager -> GQueue of Watch, by Watch.in_bucket */
    guint n_watches;
};

Watchers *watchers_new(void);
void watchers_free(Watchers *watchers);

/* Turns on (again) or off (again); refuses with a limit of watches. */
LockResult watchers_set(Client *client, LockManager *manager, gboolean enable);
void watchers_remove_client(Client *client);

/* Links of Watch; NULL for none. */
GList *watchers_of_bucket(const Edge *edge, const LockManager *manager);

/* Whether one more signal may be sent to this watcher; if not, it is counted as missed. */
gboolean watchers_admit(Watch *watch);

/* Tells the client what it has missed. */
void watchers_tell_missed(Client *client);
