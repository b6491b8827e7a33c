/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What has arrived for a monitor since its last update, and the timer of the next one.
 *
 * Signals arrive in any thread, with the session lock held. Then the monitor must not be
 * referenced: dropping that might be dropping the last reference. So they are queued in an object
 * of their own, which has a weak reference. */

#pragma once

#include <gio/gio.h>

#include "client-lib/engine/connection.h"

/* The delay after a signal. Signals of one change, such as the end of a stolen lock and its new
 * holder, arrive within this time, and bursts of signals cause few calls. */
#define MONITOR_BURST_MS 20

typedef struct {
    GWeakRef monitor;
    void (*update)(gpointer monitor);
    Session *session;
    GSource *timer; /* of the next update */
    SignalSubscription subscription;
    /* With the session lock held: */
    GQueue signals;      /* of GDBusMessage */
    gboolean is_missing; /* signals were dropped, and not all has been read again since */
    gboolean is_watched; /* the service sends signals */
} MonitorInbox;

/* Subscribes to the signals of the bucket at `path`, as SignalSubscription; the strings are
 * borrowed. After a signal, `update` is called in `context`. */
MonitorInbox *monitor_inbox_open(GObject *monitor,
                                 void (*update)(gpointer monitor),
                                 GMainContext *context,
                                 Connection *connection,
                                 const char *path,
                                 const char *name);
void monitor_inbox_close(MonitorInbox *self, Connection *connection, gboolean is_asked);

/* With the session lock held: starts the timer, unless it expires earlier anyway. */
void monitor_inbox_update_in(MonitorInbox *self, guint ms);
