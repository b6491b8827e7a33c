/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The client looks names up whenever it connects, which blocks. So it is given addresses. */

#pragma once

#include <glib.h>

/* Looks up each host of "host:port,host:port" and returns a new string with their addresses, one of
 * them twice if their number would be even: see servers.c. Hosts that are not found are left out,
 * unless none is found, which is an error (G_FILE_ERROR); so is bad syntax. Blocks. */
char *engine_servers_look_up(const char *servers, GError **error);
