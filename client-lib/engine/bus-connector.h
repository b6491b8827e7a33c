/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Connects a socket to a message bus, without blocking.
 *
 * To the address of one unix socket it connects itself. Any other address may have to be looked up,
 * or a program started for it, and GLib has no way to do that without blocking: this is done in a
 * thread that is started for it. It is a thread of its own and not one of GLib's pool, which a
 * forked child does not have. When the connector is freed, the thread ends as soon as it can, and
 * has no effect. There is no time-out. All functions are called with the session lock held. */

#pragma once

#include "client-lib/engine/session.h"

typedef struct BusConnector BusConnector;

/* Called once; it takes the descriptor, which is guarded and does not block. -1: `error` is set. It
 * may free the connector. */
typedef void (*BusConnectorFinished)(int fd, const GError *error, gpointer data);

BusConnector *bus_connector_new(Session *session, BusConnectorFinished finished, gpointer data);
void bus_connector_free(BusConnector *self);

/* If `address` is not NULL, `bus_type` is ignored. Returns a connected descriptor, as above; -1
 * with an error; or -1 without one: then `finished` is called later. */
int bus_connector_start(BusConnector *self, GBusType bus_type, const char *address, GError **error);
