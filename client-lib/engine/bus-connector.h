/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Connects a socket to a message bus, without blocking: to the address of a unix socket, or to the
 * first one of a list of them that accepts. The service identifies its clients by the credentials
 * of such a socket, and passes them descriptors, so other addresses are of no use. There is no
 * time-out. All functions are called with the session lock held. */

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
