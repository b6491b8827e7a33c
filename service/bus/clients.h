/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The connections that the service knows: from a connection's first call until the bus says that it
 * is gone.
 *
 * One subscription to NameOwnerChanged, made before the service can be called by name, is how a
 * death is learned: the bus delivers all that a client sent before it tells that the client is
 * gone. A client is identified once, before its first call is served; calls that come meanwhile
 * wait in `deferred`, in order, and nobody else waits for them. A client that is gone or can't be
 * identified leaves nothing behind. */

#pragma once

#include <glib.h>

#include "common/sd-bus.h"
#include "service/bus/bus-types.h"
#include "service/bus/principals.h"
#include "service/core/agent.h"

struct Client {
    BusService *service; /* not ours */
    char *unique_name;
    CredentialsLookup *lookup; /* NULL once identified */
    Agent *agent;              /* NULL until identified; its edge_data is this client */
    guint32 pid;               /* 0 is unknown */
    GQueue deferred;           /* of sd_bus_message */

    /* Of watchers.c: what it watches, and how far it has read. */
    GQueue watches; /* of Watch, by Watch.in_client */
    guint n_unconfirmed;
    guint n_confirmed_by_ping;
    sd_bus_slot *ping;
    gboolean wants_ping;
};

typedef struct {
    GHashTable *by_name; /* unique name -> Client, owned */
    guint n_unidentified;
    sd_bus_slot *name_owner_changed;
} Clients;

void clients_init(Clients *clients);
void clients_fini(BusService *service);

/* May block; only before the service is on the bus. Negative errno on failure. */
int clients_subscribe(BusService *service);

/* The client of that unique name; a new one is begun to be identified. NULL if that can't be. */
Client *clients_get(BusService *service, const char *unique_name);

/* Keeps a call of a client that is not identified yet; FALSE if it has too many already. */
gboolean clients_defer(Client *client, sd_bus_message *call);
