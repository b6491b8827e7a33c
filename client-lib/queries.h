/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reading the service's answers about a bucket. */

#pragma once

#include <weblocks/weblocks.h>

#include "common/sd-bus.h"

/* The answer to Query. */
WebLocksSnapshot *queries_read_query(sd_bus_message *reply, GError **error);
