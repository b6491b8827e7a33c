/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A connection that the service knows. clients.c makes it, identifies it and frees it. */

#pragma once

#include <glib.h>

#include "common/sd-bus.h"
#include "service/bus/edge.h"
#include "service/core/agent.h"
#include "service/identity/principals.h"

typedef struct Peer Peer;

struct Client {
    Edge *edge; /* not ours */
    char *unique_name;
    Link *link;   /* by which its last call came */
    Peer *peer;   /* its private socket, or NULL; peers.c's */
    Agent *agent; /* NULL until identified; its edge_data is this client */

    /* Of clients.c: whether the bus is being asked who it is; its calls that wait, and about how
     * many bytes they have; whether it is ignored until it has read what it was sent. */
    gboolean is_asked;
    CredentialsLookup *lookup; /* NULL if it is not, or there was no room for the question */
    guint ask_again_id;
    guint n_asks_left;
    gboolean is_gone; /* its last calls are being served: nobody hears the answers */
    GQueue deferred;
    gsize n_bytes_waiting;
    guint n_awaited; /* of those that wait: the client wants answers to so many */
    gboolean is_flood;

    /* Of peers.c: bytes of messages that were taken from its private sockets, and whether it is
     * among those whose calls have waited long enough. */
    guint64 n_socket_bytes;
    gboolean is_due;

    GQueue watches;  /* of Watch, by Watch.in_client; watchers.c's */
    Confirm confirm; /* how far it has read what came by the bus */
};
