/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The name of the service on the bus, and how the service ends: on SIGTERM or SIGINT, after it was
 * idle for long enough, or when another instance has taken the name. (How it begins is in
 * startup.h.)
 *
 * When the service loses the name, it requests it again without replacing another owner. So either
 * another instance has the name and this one ends, or that one has already gone and this one
 * continues.
 *
 * With state no lock is lost. The steps: the name is released, or the successor has taken it; calls
 * that came by name until then are served as usual; the bus has answered ReleaseName, so it has
 * read everything that was sent before; the loop ends; the state is closed, which is what a
 * successor waits for. A client that calls by the unique name after that is served or refused, but
 * can't delay the end: no new client is identified.
 *
 * Without state the steps are: nothing is granted any more and requests are refused; every client
 * is notified of what it has lost; the name is released, so that no successor can grant what a
 * client still takes for held; the bus has answered that; the loop ends. With --replace the
 * successor takes the name first: for a moment it may grant what clients of the old instance have
 * not been notified of yet.
 *
 * An idle service ends in the same way. It does not take the name again for a request that comes
 * too late: systemd stops a service that releases its name. Without state such a request is
 * refused with InvalidState; the bus starts the service for the next one. */

#pragma once

#include <glib.h>

#include "sd-bus.h"
#include "server.h"

typedef struct {
    gboolean replace;      /* take the name from an instance that has this option too */
    double idle_exit_secs; /* 0: never */
} LifecycleOptions;

typedef enum {
    LIFECYCLE_STARTING,
    LIFECYCLE_RUNNING,
    LIFECYCLE_STOPPING,
    LIFECYCLE_ENDED,
} LifecycleState;

struct Lifecycle {
    LifecycleOptions options;
    LifecycleState state;
    int exit_status;
    guint idle_id;
    guint stop_deadline_id;
    guint release_again_id;
    sd_bus_slot *request_name;
    sd_bus_slot *release_name;
    gboolean is_name_released;
};

Lifecycle *lifecycle_new(const LifecycleOptions *options);
void lifecycle_free(Lifecycle *lifecycle);

/* Whether another instance has the name. Blocks, as do the next two, and so is for the start only.
 */
gboolean lifecycle_is_name_taken(Server *server);

/* Whether the process of that instance has ended: then the bus is about to notice it. */
gboolean lifecycle_is_owner_dead(Server *server);

/* Takes the name. Negative errno on failure: -EEXIST if another instance has it. */
int lifecycle_take_name(Server *server);

/* The service has begun: from here on it may be idle. */
void lifecycle_begin(Server *server);

/* Ends the service in the order above, in bounded time; one that has not begun yet ends
 * immediately. Further calls have no effect (systemd sends SIGTERM when the name is released). */
void lifecycle_stop(Server *server);

/* Ends the service without any of the steps above. */
void lifecycle_end(Server *server, int exit_status);

/* For the end of each turn: takes the next step of an end that has begun, if it can be taken. */
void lifecycle_go_on_stopping(Server *server);

/* Another connection owns the name now. */
void lifecycle_on_name_lost(Server *server);

/* The connection to the bus is lost: there is no client left to notify. */
void lifecycle_bus_lost(Server *server);
