/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The connections between the lock service of a host and its gateway, in place of
 * common/cluster-connection.c. Packets take some time. */

#pragma once

#include "sim-gateway.h"
#include "sim-loop.h"

typedef struct SimLinks SimLinks;

/* The gateway tells the lock service until when its lease lasts. */
typedef void (*SimLeased)(gpointer data, guint host, gint64 deadline_us);

/* `leased` may be NULL. */
SimLinks *
sim_links_new(SimLoop *loop, guint host, SimGateway *gateway, SimLeased leased, gpointer data);
/* To be called before the end of the loop, and when both processes have ended. */
void sim_links_free(SimLinks *links);
