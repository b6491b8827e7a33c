/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The objects and interfaces as sd-bus needs them described: introspection/ in C.
 *
 * Every path that encodes legal names is an object (bucket-path.h). Introspection shows `default`
 * alone below the buckets, and nothing below the paths of others: it tells nobody which are in use.
 */

#pragma once

#include "bus.h"

/* Adds both interfaces to the connection. Negative errno on failure. */
int interfaces_export(Bus *bus);
