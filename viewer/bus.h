/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* An agent on one bus and, while the lock service can be reached there, a monitor of all
 * buckets that the user may look at.
 *
 * It owns the agent and the monitor. It follows restarts of the service by itself;
 * after the end of the bus, viewer_bus_connect() has to be called again. */

#pragma once

#include <gio/gio.h>
#include <weblocks/weblocks.h>

typedef enum {
    VIEWER_BUS_CONNECTING,
    VIEWER_BUS_NO_BUS,     /* the bus can't be reached, or has ended */
    VIEWER_BUS_NO_SERVICE, /* the bus has no lock service, or the service refuses to answer */
    VIEWER_BUS_RESTARTING, /* the lock service has left the bus; it may come back */
    VIEWER_BUS_READY,
} ViewerBusState;

#define VIEWER_TYPE_BUS (viewer_bus_get_type())
G_DECLARE_FINAL_TYPE(ViewerBus, viewer_bus, VIEWER, BUS, GObject)

/* Others only read the members. */
struct _ViewerBus {
    GObject parent_instance;
    GBusType type;
    ViewerBusState state;
    char *reason;              /* for the state, to be displayed; "" if there is none */
    GCancellable *cancellable; /* ends what is under way of this attempt */
    WebLocksAgent *agent;
    WebLocksMonitor *monitor; /* NULL until its lists are filled after viewer_bus_connect() */
};

/* The signal "changed" is emitted when the state or the monitor has changed. */
ViewerBus *viewer_bus_new(GBusType type);
void viewer_bus_connect(ViewerBus *self);
