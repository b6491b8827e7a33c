/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Errors of the library: what a D-Bus error means, and what a lost lock means. */

#pragma once

#include <weblocks/weblocks.h>

/* The wire's error name as an error of ours; the inverse of the service's table. */
GError *error_new_from_wire(const char *name, const char *message);

/* A negative errno of sd-bus: there was no way to the service. */
GError *error_new_from_errno(int r);

/* What releasing a lock, or waiting for one, comes to after the wire's reason ended it. */
GError *error_new_from_reason(const char *reason);

/* An answer that can't be read: not of this contract. */
GError *error_new_unreadable(void);
