/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which client is served next.
 *
 * A call by the bus is served when it comes, unless its client has deferred calls, has too much
 * unread, or is not identified yet; then it is deferred. Before it, the service serves what was in
 * the client's lock socket when it came. Lower rooms make clients runnable when that may have
 * changed, and one source of the main loop runs them and reads the sockets, in turns: each client
 * gets a few calls, then the next one.
 *
 * A client with more deferred calls than the limits allow is treated as flooding: its agent is
 * terminated, its calls are dropped, and so is all that it sends until it has read what it was
 * sent. Of all clients of a uid, and of all clients, it is the one that has the most. */

#pragma once

#include "lock-call.h"
#include "server.h"

/* Made and destroyed with the server. */
void scheduler_start(Server *server);
void scheduler_stop(Server *server);

/* Before a call by the bus: serves what is in the client's lock socket now, or a part of it if that
 * is much. FALSE: something is left, which the call has to wait for. */
gboolean scheduler_serve_before(Client *client);

/* Whether a call of the client by the bus can be served now. */
gboolean scheduler_may_serve(const Client *client);

/* Keeps a copy of a call by the bus until it can be served. */
void scheduler_defer(Client *client, const LockCall *call);

/* The client's name has left the bus: serves the calls that it sent before; nobody reads the
 * replies. */
void scheduler_serve_last(Client *client);

/* The service ends: serves what is in the sockets, and all deferred calls. */
void scheduler_serve_all(Server *server);

/* Answers all deferred calls of a client with an error. */
void scheduler_refuse_deferred(Client *client, LockResult result);
