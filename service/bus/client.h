/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A connection that the service knows. clients.c makes it, identifies it and frees it. */

#pragma once

#include <glib.h>

#include "common/sd-bus.h"
#include "service/bus/edge.h"
#include "service/bus/principals.h"
#include "service/core/agent.h"

typedef struct Peer Peer;

struct Client {
    Edge *edge; /* not ours */
    char *unique_name;
    Link *link;                /* by which its last call came */
    Peer *peer;                /* its private socket, or NULL; peers.c's */
    CredentialsLookup *lookup; /* NULL once identified */
    Agent *agent;              /* NULL until identified; its edge_data is this client */
    GQueue deferred;           /* its calls that wait; clients.c's */

    /* Of peers.c: bytes of messages that were taken from its private sockets, and whether it is
     * among those whose calls have waited long enough. */
    guint64 n_socket_bytes;
    gboolean is_due;

    /* Of watchers.c: what it watches, and how far it has read. */
    GQueue watches; /* of Watch, by Watch.in_client */
    guint n_unconfirmed;
    guint n_confirmed_by_ping;
    sd_bus_slot *ping;
    const Link *ping_link; /* where it was sent */
    guint ping_again_id;
    gboolean wants_ping;
};
