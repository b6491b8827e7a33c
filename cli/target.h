/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The bus and the bucket that a command works on, with the options that set them and the error
 * messages that depend on them. The strings of a Target are those of the command line. */

#pragma once

#include <weblocks/weblocks.h>

#include "cli/options.h"
#include "cli/status.h"

typedef struct {
    const char *bucket;
    gboolean system;
} Target;

#define TARGET_DEFAULT ((Target){.bucket = "default"})

/* Entries for the command's table of options. */
Option target_bucket_option(Target *target);
Option target_system_option(Target *target);

GBusType target_bus(const Target *target);

/* Return an owned object, or NULL and an error of the library. */
WebLocksAgent *target_connect(const Target *target, GError **error);
WebLocksManager *target_get_manager(const Target *target, GError **error);

/* Whether the bucket is shared with other hosts. */
gboolean target_is_clustered(const Target *target);

/* Prints the error, of a call in the bucket. Returns the exit status for it. */
Status target_complain(const Target *target, const GError *error);

/* Changes the message of the error of a failed connection: what is missing, and what to do. */
void target_explain(const Target *target, GError *error);
