/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The answers of Query and Inspect, written straight from the core into the message. */

#pragma once

#include "common/sd-bus.h"
#include "service/core/inspect.h"

/* [4.5] `manager` may be NULL: then there is nothing. `*out_n_bytes` is about what it takes.
 * Negative errno if it does not fit. */
int snapshots_append_query(sd_bus_message *reply, const LockManager *manager, gsize *out_n_bytes);

int snapshots_append_inspect(sd_bus_message *reply,
                             LockManager *manager,
                             const InspectFilter *filter,
                             gint64 now_us,
                             gsize *out_n_bytes);
