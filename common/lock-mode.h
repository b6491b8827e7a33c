/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The lock modes of the standard [2.3] and their D-Bus strings, "exclusive" and "shared". */

#pragma once

#include <glib.h>

typedef enum {
    LOCK_MODE_EXCLUSIVE,
    LOCK_MODE_SHARED,
} LockMode;

/* Returns a static string. */
const char *lock_mode_to_string(LockMode mode);

/* Returns FALSE and leaves `*out_mode` unchanged if `string` is not the name of a mode. The
 * comparison is case-sensitive, as in the standard. */
gboolean lock_mode_from_string(const char *string, LockMode *out_mode);
