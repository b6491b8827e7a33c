/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Lock modes [2.3], as the core counts them and as the wire spells them. */

#pragma once

#include <glib.h>

typedef enum {
    LOCK_MODE_EXCLUSIVE,
    LOCK_MODE_SHARED,
} LockMode;

/* The wire's word for a mode; static. */
const char *lock_mode_to_string(LockMode mode);

/* FALSE, and nothing written, for any other word: the match is exact, as in the standard. */
gboolean lock_mode_from_string(const char *string, LockMode *out_mode);
