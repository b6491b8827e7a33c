/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the core answers, as D-Bus errors: the one table from results to names and texts. */

#pragma once

#include "lock-result.h"
#include "sd-bus.h"

/* Sets `error` to what a result other than OK and UNAVAILABLE means. Texts are fixed but for the
 * name and the value of a limit: they tell nothing about other clients. */
void errors_set_from_result(sd_bus_error *error, LockResult result, const Limits *limits);
