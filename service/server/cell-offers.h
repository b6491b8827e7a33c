/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which clients are offered cells (core/cell.h), and when all of them are closed.
 *
 * A page of cells belongs to a lock socket and ends with it. It is offered to clients of the
 * service's own uid that are in no sandbox: see state/cell-pages.h. */

#pragma once

#include <glib.h>

#include "client.h"
#include "packet.h"

/* Creates the page of a client whose socket has just been opened. Returns the descriptor for the
 * client, owned by the caller; -1: it is offered none. */
int cell_offers_make(Client *client);

/* Closes the client's socket, if it has one, and before that its cells: packet_socket_close(). */
void cell_offers_close_socket(Client *client, PacketClosedReason reason);

/* To be called before a call is served: if it looks at requests, the cells that it could see are
 * closed. */
void cell_offers_before_call(const Client *client, const LockCall *call);

/* Closes all cells. */
void cell_offers_close_all(Server *server);

/* Closes the sockets that have a page: their clients open others. `server` is a Server. */
void cell_offers_end_all(gpointer server);
