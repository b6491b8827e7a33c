/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The connections that the service knows: from a connection's first call until the bus says that it
 * is gone.
 *
 * One subscription to NameOwnerChanged, made before the service can be called by name, is how a
 * death is learned: the bus delivers all that a client sent before it tells that the client is
 * gone. A client is identified once, before its first call is served; calls that come meanwhile
 * wait in `deferred`, in order, and nobody else waits for them. So do calls by the bus for what is
 * before them in the client's private socket, and for the client to read what it was sent. A client
 * that is gone leaves nothing behind. One that can't be identified, or only asks what sd-bus
 * answers, has no agent; it is known for what it has not read.
 *
 * Who lets too many calls wait is a flood: its agent is terminated, the calls are dropped, and so
 * is all that it sends, at the first look, until it has read what it was sent. Of all of one uid,
 * and of everybody, it is the one that has the most waiting. */

#pragma once

#include <glib.h>

#include "common/sd-bus.h"
#include "service/bus/client.h"

/* Serves a call that waited; if its body couldn't be read, it may be without. */
typedef void (*ClientsServe)(Client *client, sd_bus_message *call, gboolean is_readable);

/* What a call that waits counts for. */
typedef struct {
    gsize n_bytes; /* about */
    gboolean is_readable;
} CallSize;

struct Clients {
    GHashTable *by_name;  /* unique name -> Client, owned */
    guint n_unidentified; /* and being asked about */
    guint n_floods;
    gsize n_bytes_waiting; /* of calls of those without an agent */
    gsize n_bytes_waiting_total;
    gboolean is_ending; /* clients_serve_deferred() has come */
    sd_bus_slot *name_owner_changed;
    ClientsServe serve;
};

Clients *clients_new(ClientsServe serve);

/* Ends what is left in the core without telling anybody. */
void clients_free(Edge *edge);

/* May block; only before the service is on the bus. Negative errno on failure. */
int clients_subscribe(Edge *edge);

/* The client of that unique name. A new one is not identified, and need not be. */
Client *clients_get(Edge *edge, const char *unique_name);

/* Begins to identify it, if that has not been done. FALSE if that isn't done any more: the service
 * has given back its name, and would wait for one after the other who still calls. */
gboolean clients_identify(Client *client);

/* The client of an agent that was there before this service. */
void clients_restore(Edge *edge, Agent *agent);

CallSize clients_measure(const Client *client, sd_bus_message *call);

/* Whether it has not too much waiting already for one more of that size; if so, by which limit. */
gboolean clients_may_defer(const Client *client, gsize n_bytes, LimitId *out_limit);

/* Keeps a call that can't be served yet: since its client is not identified, or has not read what
 * it was sent, or not before so much has been read from its private sockets
 * (Client.n_socket_bytes). If too much waits then, somebody is a flood. */
void clients_defer(Client *client, sd_bus_message *call, CallSize size, guint64 position);

/* Whether a message is part of a flood, and nobody need look at it. */
gboolean clients_ignore(const Edge *edge, sd_bus_message *message);

/* The client has read what it was sent. */
void clients_go_on(Client *client);

/* The greatest `position` of those that wait; 0 if none does. */
guint64 clients_get_last_position(const Client *client);

/* Whether nothing is left that the first of them would wait for. */
gboolean clients_has_due(const Client *client);

/* Serves that one. FALSE: there was none, or its client has too much unread. */
gboolean clients_serve_due(Client *client);

/* The service ends: what waits for a client's private socket waits no longer, nor does what it
 * waits for. */
void clients_serve_deferred(Edge *edge);

/* The same of one that keeps nothing: everything that anybody has or waits for is lost, and they
 * are told. */
void clients_lose_everything(Edge *edge);
