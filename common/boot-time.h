/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The clock for times that more than one process compares, and for those that continue while the
 * machine is suspended, such as the deadline of a lease. */

#pragma once

#include <glib.h>

/* Returns the time of CLOCK_BOOTTIME in microseconds. It is never set, and continues while the
 * machine is suspended; leases are valid until such a time. */
gint64 boot_time_get_us(void);
