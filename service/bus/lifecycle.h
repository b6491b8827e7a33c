/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* When the service has its name, and how it ends.
 *
 * RUNNING -> RELEASING, when it has been idle for long enough: the name is given back first, and
 * calls are kept until the bus has confirmed that no more can come. If some came, the name is taken
 * again and they are served: an idle exit loses no call.
 *
 * RUNNING or RELEASING -> STOPPING, on SIGTERM or when another instance took the name. In this
 * order: nothing is granted any more and requests are refused; every client is told what it lost;
 * the name is given back, so that no successor can grant what somebody still believes to hold;
 * the bus has confirmed that, and so has read all we sent; the loop ends. */

#pragma once

#include <glib.h>

#include "common/sd-bus.h"
#include "service/bus/edge.h"

typedef struct {
    gboolean replace;      /* take the name from one that lets it go, and let it go likewise */
    double idle_exit_secs; /* 0 is never */
} LifecycleOptions;

typedef enum {
    LIFECYCLE_RUNNING,
    LIFECYCLE_RELEASING,
    LIFECYCLE_STOPPING,
    LIFECYCLE_ENDED,
} LifecycleState;

/* Takes in a call that was kept while it could not be known whether the service stays. */
typedef void (*LifecycleReceive)(Edge *edge, sd_bus_message *call);

struct Lifecycle {
    LifecycleOptions options;
    LifecycleReceive receive;
    LifecycleState state;
    GMainLoop *loop;
    int exit_status;
    gint64 last_call_us;
    guint idle_id;
    guint stop_deadline_id;
    GQueue kept_calls; /* of sd_bus_message, while RELEASING */
    sd_bus_slot *name_lost;
    sd_bus_slot *name_call; /* RequestName or ReleaseName that is under way */
};

Lifecycle *lifecycle_new(const LifecycleOptions *options, LifecycleReceive receive);
void lifecycle_free(Lifecycle *lifecycle);

/* Takes the name; may block. -EEXIST if somebody else has it. */
int lifecycle_take_name(Edge *edge);

/* Runs until the service has ended; what the process is to exit with. */
int lifecycle_run(Edge *edge);

/* Ends the service in the order above. A second time it ends at once. */
void lifecycle_stop(Edge *edge);

/* The connection to the bus is lost: there is nobody left to tell. */
void lifecycle_bus_lost(Edge *edge);

/* Notes that there is a call. TRUE if it was kept, for now. */
gboolean lifecycle_hold_call(Edge *edge, sd_bus_message *call);
