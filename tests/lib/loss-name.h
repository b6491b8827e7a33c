/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The reason of the service for the end of a lock, from the error of WebLocksLock::lost. Of those
 * with the same code only the message says which it is. */

#pragma once

#include <string.h>

#include <weblocks/weblocks.h>

static inline const char *
loss_name(const GError *error)
{
    if (g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_STOLEN))
        return "stolen";
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LOST);
    return strstr(error->message, "connection") != NULL ? "terminated" : "lost";
}
