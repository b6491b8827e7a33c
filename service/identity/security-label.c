/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "security-label.h"

#include <string.h>

#define PREFIX "snap."

/* Separates the profiles of a stacked label; also used for a profile in a namespace. */
#define STACKED "//&"

/* Letters and digits, with single dashes between them. */
#define LOWER_WORDS "[a-z0-9]+(?:-[a-z0-9]+)*"
#define WORDS       "[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*"

/* Up to 40 bytes with a letter, and a key if the Snap is installed more than once. */
#define INSTANCE "(?=[^_.]{1,40}[_.])(?=[^_.]*[a-z])" LOWER_WORDS "(?:_[a-z0-9]{1,10})?"

/* An application or a hook: up to 255 bytes. */
#define APP  "(?=[^ ]{1,255} )(?:hook\\." LOWER_WORDS "|" WORDS ")"
#define MODE " \\([a-z]+\\)"

gboolean
security_label_parse(const char *label, gsize size, char **out_snap)
{
    g_autoptr(GRegex) regex = NULL;
    g_autoptr(GMatchInfo) match = NULL;

    *out_snap = NULL;
    if (size == 0)
        return TRUE;
    if (memchr(label, '\0', size) != label + size - 1)
        return FALSE;
    if (!g_str_has_prefix(label, PREFIX))
        return strstr(label, STACKED) == NULL || strstr(label, PREFIX) == NULL;

    regex = g_regex_new("snap\\.(" INSTANCE ")\\." APP MODE "\\z", G_REGEX_RAW | G_REGEX_ANCHORED,
                        0, NULL);
    if (g_regex_match(regex, label, 0, &match))
        *out_snap = g_match_info_fetch(match, 1);
    return *out_snap != NULL;
}
