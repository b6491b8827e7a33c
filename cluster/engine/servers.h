/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Resolves the host names of the ZooKeeper servers.
 *
 * ZooKeeper's client would look up host names each time it connects, and block the main loop
 * meanwhile. So they are looked up before the client is created, and it gets addresses only. */

#pragma once

#include <glib.h>

/* Looks up each host of "host:port,host:port" and returns a new string with their addresses, one of
 * them twice if their number would be even: see servers.c. Hosts that are not found are left out,
 * unless none is found, which is an error (G_FILE_ERROR); so is bad syntax. Blocks. */
char *engine_servers_look_up(const char *servers, GError **error);
