/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The limits of everything that clients can make the service store.
 *
 * They are listed in common/limit-id.h, and their defaults are in core-limits.c. The property
 * `Limits`, the option --limit and the error texts are derived from these. What is counted is in
 * principal.h. */

#pragma once

#include <glib.h>

#include "limit-id.h"

typedef struct {
    guint32 max[N_LIMITS];
} Limits;

void limits_init(Limits *limits);

/* Parses "NAME=N" with 1 <= N <= 2^31-1. Returns FALSE and changes nothing if it is invalid. */
gboolean limits_set_from_string(Limits *limits, const char *assignment);
