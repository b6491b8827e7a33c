/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The objects and interfaces as sd-bus vtables; they correspond to introspection/.
 *
 * Every path that encodes valid names is an object (bucket-path.h). Introspection shows only
 * `default` below the buckets, and nothing below the paths of other principals, so it doesn't
 * reveal which buckets are in use. */

#pragma once

#include "bus.h"

/* Adds both interfaces to the connection. `get_cluster_info` is called when the property is read;
 * it sets `*out_info`, which is valid until it is called again. Returns a negative errno on
 * failure. */
int interfaces_export(Bus *bus, BusGetClusterInfo get_cluster_info, gpointer data);
