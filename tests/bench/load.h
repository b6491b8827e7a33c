/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Clients that work as fast as they can, each in a separate process and with separate names. */

#pragma once

#include "bench.h"

typedef struct {
    const char *address;
    guint in_flight; /* pairs in progress at a time, for each client */
    guint n_pairs;   /* of each client; G_MAXUINT: unlimited */
} Load;

/* Connects, and returns the data for `run`. `index` is the client's number. */
typedef gpointer (*LoadConnect)(const Load *load, guint index);
typedef void (*LoadRun)(const Load *load, gpointer client);

/* Starts the clients, and lets them begin when all are connected. Returns the pairs per second of
 * all together. */
double
load_measure(const Load *load, guint n_clients, LoadConnect connect_client, LoadRun run_client);

/* Clients of locks: asynchronous calls in a main loop; each released lock is requested again
 * immediately. */
gpointer load_connect_locks(const Load *load, guint index);
void load_run_locks(const Load *load, gpointer client);
