/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The connections that the service knows: from a connection's first call until the bus says that it
 * is gone.
 *
 * One subscription to NameOwnerChanged, made before the service can be called by name, is how a
 * death is learned: the bus delivers all that a client sent before it tells that the client is
 * gone. A client is identified once, before its first call is served; calls that come meanwhile
 * wait in `deferred`, in order, and nobody else waits for them. So do calls by the bus for what is
 * before them in the client's private socket. A client that is gone or can't be identified leaves
 * nothing behind. */

#pragma once

#include <glib.h>

#include "common/sd-bus.h"
#include "service/bus/client.h"

/* Serves a call that waited. */
typedef void (*ClientsServe)(Client *client, sd_bus_message *call);

struct Clients {
    GHashTable *by_name; /* unique name -> Client, owned */
    guint n_unidentified;
    sd_bus_slot *name_owner_changed;
    ClientsServe serve;
};

Clients *clients_new(ClientsServe serve);

/* Ends what is left in the core without telling anybody. */
void clients_free(Edge *edge);

/* May block; only before the service is on the bus. Negative errno on failure. */
int clients_subscribe(Edge *edge);

/* The client of that unique name; a new one is begun to be identified. NULL if the bus can't be
 * asked who it is. */
Client *clients_get(Edge *edge, const char *unique_name);

/* The client of an agent that was there before this service. */
void clients_restore(Edge *edge, Agent *agent);

/* Whether it has not too many calls waiting already. */
gboolean clients_may_defer(const Client *client);

/* Keeps a call that can't be served yet: since its client is not identified, or not before so much
 * has been read from its private sockets (Client.n_socket_bytes). */
void clients_defer(Client *client, sd_bus_message *call, guint64 position);

/* The greatest `position` of those that wait; 0 if none does. */
guint64 clients_get_last_position(const Client *client);

/* Whether nothing is left that the first of them would wait for. */
gboolean clients_has_due(const Client *client);

/* Serves that one. FALSE: there was none. */
gboolean clients_serve_due(Client *client);

/* The service ends: what waits for a client's private socket waits no longer, nor does what it
 * waits for. */
void clients_serve_deferred(Edge *edge);

/* The same of one that keeps nothing: everything that anybody has or waits for is lost, and they
 * are told. */
void clients_lose_everything(Edge *edge);
