/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The shared part of `query`, `list` and `inspect`: parses their options, gets a snapshot of one
 * bucket or of all buckets, and prints it. The strings of a Listing are those of the command line.
 */

#pragma once

#include "cli/status.h"
#include "cli/target.h"

typedef struct {
    Target target;
    gboolean all_buckets;
    gboolean all; /* of all principals that the caller may look at */
    gboolean json;
    gboolean detailed;
    const char *name; /* only this lock name; NULL: all names. Only used if `detailed`. */
} Listing;

/* Parses the options of `query` and `inspect`. Parameters and result are those of
 * options_parse(). */
gboolean
listing_parse(Listing *listing, const Command *command, int *argc, char ***argv, int *out_status);

Status listing_print(const Listing *listing);
