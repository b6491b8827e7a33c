/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The address of a message bus, which is that of a unix socket, or a list of such addresses: the
 * service identifies its clients by the credentials of such a socket, and passes them descriptors,
 * so a bus at another address is of no use. */

#pragma once

#include <gio/gio.h>

/* Returns an owned address, or NULL and an error. No program is started: a session bus that is not
 * there is not launched. */
char *bus_address_find(GBusType bus_type, GError **error);

/* Connects to the first address that can be connected to, without blocking. Returns a descriptor,
 * which is guarded and does not block; -1 with an error; or -1 without one: a bus accepts too
 * slowly, and one has to try again. */
int bus_address_connect(const char *address, GError **error);
