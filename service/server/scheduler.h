/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Scheduling of clients: which client's calls are served next.
 *
 * A call on the bus is served when it arrives, unless its client has deferred calls, has too many
 * unread messages, or is not identified yet; then it is deferred. Packets that were in the client's
 * lock socket when the call arrived are served before it. Lower layers make a client runnable when
 * its deferred calls may have become servable. One source of the main loop serves runnable clients
 * and sockets round-robin, a few calls each.
 *
 * A client with more deferred calls than the limits allow is treated as flooding: its agent is
 * terminated and its deferred calls are dropped, as are further calls until it has read its
 * messages. If the limit in total is exceeded, it is the client with the most deferred bytes, of
 * the uid that has the most (server_find_greatest), that is treated so. */

#pragma once

#include "client.h"
#include "lock-call.h"

/* Called when the server is created and freed. */
void scheduler_start(Server *server);
void scheduler_stop(Server *server);

/* Ends a turn: commits the changes of the core to the store, and sends the output. Sets the timer
 * for the next time-out of a request; nothing depends on when that is served (operations.h). */
void scheduler_end_turn(Server *server);

/* Serves the packets that are in the client's lock socket, before a call on the bus. Returns FALSE
 * if some are left, because there are too many for one turn; then the call has to be deferred. */
gboolean scheduler_serve_before(Client *client);

/* Whether a call of the client on the bus can be served now. */
gboolean scheduler_may_serve(const Client *client);

/* Defers a call on the bus; copies it. */
void scheduler_defer(Client *client, const LockCall *call);

/* A connection has left the bus, which delivers all messages of a client before it notifies the
 * service of that (ownership.h). If it was a client, its deferred calls and the packets
 * that are in its socket now are served in this and later turns, without replies; then it is
 * removed (admission_remove_client). */
void scheduler_on_disconnected(Server *server, const char *unique_name);

/* The same for the shutdown, with replies: then each socket is closed. That was all when no client
 * is runnable any more. */
void scheduler_end_all(Server *server);
