/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A client of the service without the library: packets on a lock socket, each awaited by one
 * blocking recv(). */

#pragma once

#include "bench.h"
#include "tests/lib/raw-client.h"

typedef struct {
    GDBusConnection *connection;
    RawClient *client;
    guint64 key;       /* the last one used */
    gboolean has_loop; /* it waits in the main loop */
    gboolean is_readable;
} Hand;

Hand *hand_new(const char *address);

/* From now on, each packet is awaited in the default main context, and then received. */
void hand_use_main_loop(Hand *hand);

/* Returns the key of a lock that nobody else has. */
guint64 hand_request(Hand *hand, const char *name);
void hand_release(Hand *hand, guint64 key);

/* The same for a lock that somebody else has: returns when the request waits. */
guint64 hand_queue(Hand *hand, const char *name);
void hand_await_grant(Hand *hand);
