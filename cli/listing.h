/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What `query` and `inspect` have in common: one snapshot of one bucket, or of each, printed. */

#pragma once

#include "cli/status.h"
#include "cli/target.h"

typedef struct {
    Target target;
    gboolean all_buckets;
    gboolean json;
    gboolean detailed;
    const char *name; /* NULL: all; only if detailed */
} Listing;

/* Parses the command's options; as options_parse(). */
gboolean
listing_parse(Listing *listing, const Command *command, int *argc, char ***argv, int *out_status);

Status listing_print(const Listing *listing);
