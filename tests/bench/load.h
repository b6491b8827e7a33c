/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The main function of programs that measure pairs of a request and its release:
 *
 *     PROGRAM ADDRESS WAY CLIENTS IN-FLIGHT COUNT [BUCKET]
 *
 * COUNT pairs in total, the same number for each client. Every client is a process. Prints `rate`,
 * pairs per second; of one client with one pair in flight also steady, mean, p50 and p99. */

#pragma once

#include "bench.h"

typedef struct {
    const char *address;
    const char *bucket;
    guint n_clients;
    guint in_flight;       /* pairs in progress at a time, for each client */
    guint n_pairs;         /* of each client; G_MAXUINT: unlimited */
    guint index;           /* the client's number */
    BenchSamples *samples; /* of pairs; NULL: they are not measured one by one */
} Load;

typedef struct {
    const char *name;
    /* In the client's process. Returns the data of the functions below. */
    gpointer (*connect_client)(const Load *load);
    /* One pair. */
    void (*pair)(gpointer client);
    /* All pairs, in place of that. */
    void (*run)(const Load *load, gpointer client);
    guint n_warm_up;
    guint batch; /* of pairs, for one reading of the clock; 0: 1 */
    /* Before the first client is started; or NULL. */
    void (*prepare)(const Load *load);
} LoadWay;

int load_main(int argc, char **argv, const LoadWay *ways, guint n_ways);

/* For `run`: one more pair has taken from then until now. */
void load_add_sample(const Load *load, guint64 begin);

/* Asynchronous calls in a main loop; each released lock is requested again immediately. */
gpointer load_connect_async(const Load *load);
void load_run_async(const Load *load, gpointer client);
/* The same, but the lock is released by dropping the last reference, which doesn't wait for a
 * reply. */
void load_run_unref(const Load *load, gpointer client);
