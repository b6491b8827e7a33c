/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* How a connection to the bus becomes a client with an agent, and how it ends.
 *
 * A client is identified once, before its first call is served: the bus is asked for its
 * credentials, and its process is looked at (identity/). Its calls are deferred meanwhile; no other
 * client waits for that. A connection that only asks what sd-bus answers is never identified; it is
 * known for what it has not read.
 *
 * One subscription to NameOwnerChanged, made before the service can be called by name, tells when a
 * client is gone: the bus delivers all that a client sent before it tells that. */

#pragma once

#include "server.h"

/* May block; only before the service is on the bus. Negative errno on failure. */
int admission_subscribe(Server *server);

/* The client of that unique name, made if there is none; not identified. */
Client *admission_get_client(Server *server, const char *unique_name);

/* The client of an agent that outlived the service before this one. */
void admission_restore_client(Server *server, Agent *agent);

/* Begins to identify the client, if that has not been done. FALSE when the service ends: it would
 * wait for one client after the other that still calls. */
gboolean admission_identify(Client *client);

/* For Session.client_free. */
void admission_free_client(Client *client);
