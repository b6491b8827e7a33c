/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The service by hand: sync calls of sd-bus, without the library that is compared with them. */

#pragma once

#include "bench.h"
#include "common/sd-bus.h"

typedef struct {
    sd_bus *bus;
    sd_bus *socket; /* a private socket, opened by hand too; NULL if it goes by the bus */
    sd_bus *way;    /* the one of them by which calls go */
    guint64 key;    /* the last one that was used */
} Hand;

/* `path` is BENCH_PATH_BUS or BENCH_PATH_PRIVATE. */
Hand *hand_new(const char *address, const char *path);
void hand_free(Hand *hand);

/* The id. `*out_token` is 0 if the request waits. */
guint64 hand_request(Hand *hand, const char *name, guint64 *out_token);
void hand_release(Hand *hand, guint64 id);
