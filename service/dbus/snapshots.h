/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The lists that Query, Inspect, Buckets, Observable and Resync answer with, written straight from
 * the core into the message. */

#pragma once

#include "agent.h"
#include "inspect.h"
#include "sd-bus.h"

/* [4.5] `manager` may be NULL: then there is nothing. `*out_n_bytes` is about what it takes.
 * Negative errno if it does not fit. */
int snapshots_append_query(sd_bus_message *reply, const LockManager *manager, gsize *out_n_bytes);

int snapshots_append_inspect(sd_bus_message *reply,
                             LockManager *manager,
                             const InspectFilter *filter,
                             gint64 now_us,
                             gsize *out_n_bytes);

/* The buckets of the principal that have a lock or a request. */
int snapshots_append_buckets(sd_bus_message *reply, const Principal *principal, gsize *out_n_bytes);

/* The buckets that the principal may look at and that have a lock or a request, its own first. No
 * more than fit into a message: see OBSERVABLE_BYTES_MAX. */
int
snapshots_append_observable(sd_bus_message *reply, const Principal *principal, gsize *out_n_bytes);

/* All live requests of the agent, in the order in which they were made. */
int snapshots_append_resync(sd_bus_message *reply,
                            const Agent *agent,
                            gint64 now_us,
                            gsize *out_n_bytes);
