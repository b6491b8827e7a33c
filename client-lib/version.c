/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include <weblocks/weblocks.h>

/**
 * web_locks_check_version:
 * @major: a major version
 * @minor: a minor version
 * @micro: a micro version
 *
 * Checks whether the library that a program runs with has this version or a later one;
 * WEB_LOCKS_CHECK_VERSION() is for the library that it is compiled with.
 *
 * Returns: whether the library is new enough
 * Since: 0.1
 */
gboolean
web_locks_check_version(guint major, guint minor, guint micro)
{
    static const guint have[] = {WEB_LOCKS_MAJOR_VERSION, WEB_LOCKS_MINOR_VERSION,
                                 WEB_LOCKS_MICRO_VERSION};
    const guint wanted[] = {major, minor, micro};

    for (guint i = 0; i < G_N_ELEMENTS(have); i++) {
        if (have[i] != wanted[i])
            return have[i] > wanted[i];
    }
    return TRUE;
}
