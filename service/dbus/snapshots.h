/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The replies to Query, Inspect, Buckets, Observable and Resync, which are written directly from
 * the core's lists into the message. All functions return a negative errno on failure. */

#pragma once

#include "agent.h"
#include "cluster-packet.h"
#include "inspect.h"
#include "sd-bus.h"

/* [4.5] If `manager` is NULL, the lists are empty but for the `rows` of other hosts (of ClusterRow;
 * NULL: none). `*out_n_bytes` is the approximate size of the strings. */
int snapshots_append_query(sd_bus_message *reply,
                           const LockManager *manager,
                           const GPtrArray *rows,
                           gsize *out_n_bytes);

/* Only `caller` is sent the keys of its requests. The `rows` of other hosts, which match the
 * filter, are appended to the last page; `uid` is the bucket's. */
int snapshots_append_inspect(sd_bus_message *reply,
                             LockManager *manager,
                             const InspectFilter *filter,
                             const GPtrArray *rows,
                             guint32 uid,
                             const Agent *caller,
                             gint64 now_us,
                             gsize *out_n_bytes);

/* Appends the buckets of the principal that have a lock or a request. */
int snapshots_append_buckets(sd_bus_message *reply, const Principal *principal, gsize *out_n_bytes);

/* Appends the buckets that the principal may observe and that have a lock or a request, its own
 * first. Their total size is bounded by OBSERVABLE_BYTES_MAX. */
int
snapshots_append_observable(sd_bus_message *reply, const Principal *principal, gsize *out_n_bytes);

/* Appends all live requests of the agent, in the order in which they were made. */
int snapshots_append_resync(sd_bus_message *reply,
                            const Agent *agent,
                            gint64 now_us,
                            gsize *out_n_bytes);
