/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* When the service has its name, and how it ends: on SIGTERM, after it was idle for long enough, or
 * when another instance took the name.
 *
 * With a store nobody loses anything. In this order: the name is given back, or the successor has
 * taken it; what came by name until then is served as ever; the bus has confirmed it, and so has
 * read all we sent; the loop ends; the store is closed, which is what a successor waits for. Who
 * has our unique name and still calls is served or refused, but can't hold that up: nobody new is
 * identified.
 *
 * Without one, in this order: nothing is granted any more and requests are refused; every client is
 * told what it lost; the name is given back, so that no successor can grant what somebody still
 * believes to hold; the bus has confirmed that; the loop ends. With --replace the name goes first,
 * since the successor takes it: for a moment it may grant what the old instance's clients have not
 * been told to be lost.
 *
 * The end of an idle service is the same. It does not take the name again for a request that comes
 * too late: systemd stops a service that gives up its name. Without a store such a request is
 * refused with InvalidState; the bus starts the service for the next one. */

#pragma once

#include <glib.h>

#include "sd-bus.h"
#include "server.h"

typedef struct {
    gboolean replace;      /* take the name from one that lets it go, and let it go likewise */
    double idle_exit_secs; /* 0 is never */
} LifecycleOptions;

typedef enum {
    LIFECYCLE_RUNNING,
    LIFECYCLE_STOPPING,
    LIFECYCLE_ENDED,
} LifecycleState;

struct Lifecycle {
    LifecycleOptions options;
    LifecycleState state;
    GMainLoop *loop;
    int exit_status;
    guint idle_id;
    guint stop_deadline_id;
    guint release_again_id;
    sd_bus_slot *name_lost;
    sd_bus_slot *release_name;
    gboolean is_name_released;
};

Lifecycle *lifecycle_new(const LifecycleOptions *options);
void lifecycle_free(Lifecycle *lifecycle);

/* Whether another instance has the name. May block, as may the next. */
gboolean lifecycle_is_name_taken(Server *server);

/* Takes the name. -EEXIST if somebody else has it. */
int lifecycle_take_name(Server *server);

/* Runs until the service has ended; what the process is to exit with. */
int lifecycle_run(Server *server);

/* Ends the service in the order above, in bounded time. Nothing more happens when it is told so
 * again, as systemd does when it sees the name go. */
void lifecycle_stop(Server *server);

/* For the end of each turn: takes the next step of an end that has begun, if it can be taken. */
void lifecycle_go_on_stopping(Server *server);

/* The connection to the bus is lost: there is nobody left to tell. */
void lifecycle_bus_lost(Server *server);
