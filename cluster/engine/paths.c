/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "paths.h"

#include <string.h>

#include "bus-string.h"

#define COMPONENT_MAX  255
#define SESSION_DIGITS 16

gboolean
engine_path_is_component(const char *text)
{
    gsize size = strlen(text);

    if (size == 0 || size > COMPONENT_MAX || !bus_string_is_valid(text) || g_str_equal(text, ".") ||
        g_str_equal(text, ".."))
        return FALSE;
    for (const char *at = text; *at != '\0'; at = g_utf8_next_char(at)) {
        gunichar c = g_utf8_get_char(at);

        /* ZooKeeper refuses these, surrogates and the last block of the basic plane. */
        if (c == '/' || g_unichar_iscntrl(c) || (c >= 0xe000 && c <= 0xf8ff) || c >= 0xfff0)
            return FALSE;
    }
    return TRUE;
}

char *
engine_path_host(const char *root, const char *host, guint64 session)
{
    return g_strdup_printf("%s/sessions/%s-%016" G_GINT64_MODIFIER "x", root, host, session);
}

char *
engine_path_bucket(const char *root, const char *bucket)
{
    return g_strdup_printf("%s/buckets/%s", root, bucket);
}

char *
engine_path_name(const char *root, const char *bucket, guint32 uid, const char *name)
{
    g_autofree char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, name, -1);

    return g_strdup_printf("%s/buckets/%s/%" G_GUINT32_FORMAT "/%s", root, bucket, uid, hash);
}

char *
engine_path_tokens(const char *root, const char *bucket)
{
    return g_strdup_printf("%s/tokens/%s", root, bucket);
}

char *
engine_path_generation(const char *root, const char *bucket, guint generation)
{
    return g_strdup_printf("%s/tokens/%s/%u", root, bucket, generation);
}

gboolean
engine_path_parse_host(const char *node, char **host, guint64 *session)
{
    const char *dash = strrchr(node, '-');

    if (dash == NULL || dash == node || strlen(dash + 1) != SESSION_DIGITS ||
        strspn(dash + 1, "0123456789abcdef") != SESSION_DIGITS)
        return FALSE;
    *session = g_ascii_strtoull(dash + 1, NULL, 16);
    if (host != NULL)
        *host = g_strndup(node, (gsize)(dash - node));
    return TRUE;
}
