/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whose locks a command is about: the bus and the bucket. */

#pragma once

#include <weblocks/weblocks.h>

#include "cli/options.h"

typedef struct {
    const char *bucket;
    gboolean system;
} Target;

#define TARGET_DEFAULT ((Target){.bucket = "default"})

/* The rows for it in a command's table of options. */
Option target_bucket_option(Target *target);
Option target_system_option(Target *target);

GBusType target_bus(const Target *target);

/* Owned; NULL and an error as those of the library. */
WebLocksAgent *target_connect(const Target *target, GError **error);
WebLocksManager *target_get_manager(const Target *target, GError **error);
