/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "lock-mode.h"

static const char *const mode_words[] = {
    [LOCK_MODE_EXCLUSIVE] = "exclusive",
    [LOCK_MODE_SHARED] = "shared",
};

const char *
lock_mode_to_string(LockMode mode)
{
    g_assert(mode < G_N_ELEMENTS(mode_words));
    return mode_words[mode];
}

gboolean
lock_mode_from_string(const char *string, LockMode *out_mode)
{
    for (guint i = 0; i < G_N_ELEMENTS(mode_words); i++) {
        if (g_str_equal(string, mode_words[i])) {
            *out_mode = (LockMode)i;
            return TRUE;
        }
    }
    return FALSE;
}
