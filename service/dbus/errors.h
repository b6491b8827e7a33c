/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The mapping of core results to the names and texts of D-Bus errors. client-lib/error.c maps the
 * names to the errors of the library. */

#pragma once

#include "core-limits.h"
#include "lock-result.h"
#include "sd-bus.h"

/* Sets `error` for a result other than OK and UNAVAILABLE. The texts are constant, except for the
 * name and the value of a limit, so they reveal nothing about other clients. */
void errors_set_from_result(sd_bus_error *error, LockResult result, const Limits *limits);
