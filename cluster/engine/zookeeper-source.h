/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A GSource that runs a handle of ZooKeeper's single-threaded client on a GMainContext: it polls
 * the handle's descriptor, dispatches what has arrived, and leaves a server that has been silent
 * for too long. It borrows the handle, and calls all hooks in the thread of the context. */

#pragma once

#include <glib.h>
#include <zookeeper/zookeeper.h>

typedef struct {
    /* The connection, or an attempt at one, has ended: nothing that was sent will be answered. The
     * handle calls the completions only when it has another connection. */
    void (*lost)(gpointer data);
    /* The last hook of a dispatch. The source may be destroyed in it, and the handle closed, which
     * must not be done in the others or in the handle's callbacks. */
    void (*dispatched)(gpointer data);
    /* Whether there is something to dispatch apart from the connection. */
    gboolean (*is_ready)(gpointer data);
    /* The server is left, since it was silent until `patience_ends`; `lost` follows. */
    void (*gave_up)(gpointer data);
    /* When (g_get_monotonic_time()) the server will have been silent for too long: then it is left
     * for the next one. -1: never. `since` is when the connection was begun. */
    gint64 (*patience_ends)(gint64 since, gpointer data);
    /* Sends something if nothing was sent for too long. Returns when (g_get_monotonic_time()) to
     * call it again. */
    gint64 (*keep_alive)(gpointer data);
} ZookeeperSourceHooks;

/* Attaches a source to `context` (NULL: the default context), which borrows everything. The caller
 * owns the returned source, and destroys it before it closes the handle. */
GSource *zookeeper_source_attach(zhandle_t *zh,
                                 GMainContext *context,
                                 const ZookeeperSourceHooks *hooks,
                                 gpointer data);

/* The next attempt at a connection is not made before `until` (g_get_monotonic_time()). To be
 * called by `lost`: else the next attempt is made immediately. */
void zookeeper_source_pause(GSource *source, gint64 until);

/* When the current connection was begun, by CLOCK_BOOTTIME in us, or earlier. */
gint64 zookeeper_source_get_begun_us(GSource *source);

/* Closes the connection without closing the session. */
void zookeeper_source_disconnect(GSource *source);

/* Whether callbacks of the handle may be running. */
gboolean zookeeper_source_is_dispatching(GSource *source);
