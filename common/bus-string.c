/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bus-string.h"

static gboolean
is_noncharacter(gunichar c)
{
    return (c >= 0xFDD0 && c <= 0xFDEF) || (c & 0xFFFE) == 0xFFFE;
}

gboolean
bus_string_is_valid(const char *string)
{
    if (!g_utf8_validate(string, -1, NULL))
        return FALSE;

    for (const char *p = string; *p != '\0'; p = g_utf8_next_char(p))
        if (is_noncharacter(g_utf8_get_char(p)))
            return FALSE;
    return TRUE;
}
