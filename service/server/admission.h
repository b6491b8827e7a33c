/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Admission of clients: how a connection to the bus becomes a client with an agent, and how it is
 * removed.
 *
 * A client is identified once, before its first call is served: the bus is asked for its
 * credentials, and the sandbox of its process is determined (identity/). Meanwhile its calls are
 * deferred; other clients don't wait. A connection that only makes calls which concern no agent
 * (lock_call_needs_agent) is not identified; it has a client without agent, for flow control.
 *
 * When a client has left the bus, its last calls are served before it is removed
 * (scheduler_on_disconnected). */

#pragma once

#include "client.h"

/* Returns the client of a unique name, borrowed; creates it if there is none, unidentified. */
Client *admission_get_client(Server *server, const char *unique_name);

/* Creates the client of a restored agent. */
void admission_restore_client(Server *server, Agent *agent);

/* Starts the identification of the client, unless it was started before. Returns FALSE during
 * shutdown, which would otherwise wait for every client that still calls. */
gboolean admission_identify(Client *client);

/* Removes a client that has left the bus, and terminates its agent. */
void admission_remove_client(Client *client);

/* For Server.client_free. */
void admission_free_client(Client *client);
