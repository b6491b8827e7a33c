/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What libweblocks does for a Target, and error messages for its errors. */

#pragma once

#include <weblocks/weblocks.h>

#include "cli/status.h"
#include "cli/target.h"

GBusType target_bus(const Target *target);

/* Return an owned object, or NULL and an error of the library. */
WebLocksAgent *target_connect(const Target *target, GError **error);
WebLocksManager *target_get_manager(const Target *target, GError **error);

/* Prints the error's message. Returns the exit status for it. */
Status complain_of(const GError *error);

/* Prints the error, of a call in the bucket. Returns the exit status for it. */
Status target_complain(const Target *target, const GError *error);

/* Changes the message of the error of a failed connection: what is missing, and what to do. */
void target_explain(const Target *target, GError *error);

/* Returns the name of the bucket of a Unix group, which lives as long as the process, or NULL and
 * an error. */
const char *target_find_bucket(const char *group, GError **error);
