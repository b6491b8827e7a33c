/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A connection that calls come by and answers go: the bus itself, or a client's private socket.
 *
 * All that is on one link stays in order. A client's `link` is the one that its last call came by;
 * so that is where the answer to it goes, and all signals after it. */

#pragma once

#include "common/sd-bus.h"
#include "service/bus/confirm.h"
#include "service/bus/outbox.h"
#include "service/core/limits.h"

typedef struct Edge Edge;

struct Link {
    Edge *edge;     /* not ours */
    Client *client; /* whose private socket it is; NULL: the bus, where everybody is */
    sd_bus *bus;
    Outbox outbox;
    Confirm confirm;   /* of the client of a private socket; on the bus each client has its own */
    char *bucket_path; /* of the last bucket that was called there, or NULL */
    char *bucket;
};

/* Whether its client, and others with it, have not too much unread on private sockets already; by
 * which limit, if so. On the bus Confirm sees to it. */
gboolean link_may_tell_more(const Link *link, LimitId *out_limit);

/* The name of the bucket that has that object path; NULL if there is none. Until the next call. */
const char *link_get_bucket(Link *link, const char *path);

/* The object path of a bucket. Until the next call. */
const char *link_get_bucket_path(Link *link, const char *bucket);

/* What the two keep. */
void link_clear_bucket(Link *link);
