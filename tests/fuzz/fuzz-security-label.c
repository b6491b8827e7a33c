/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Security labels: any bytes, as the bus transmits them. The result is compared with a second
 * implementation of the rule, without a regular expression. A bug here could take one application
 * for another. */

#include <string.h>

#include "service/identity/security-label.h"
#include "tests/fuzz/fuzz.h"

#define NAME_MAX_BYTES 40
#define KEY_MAX_BYTES  10
#define APP_MAX_BYTES  255

/* Whether the text consists of letters and digits, with single dashes between them. */
static gboolean
is_dashed(const char *text, gsize size, gboolean may_be_upper)
{
    for (gsize i = 0; i < size; i++) {
        char c = text[i];

        if (c == '-' ? i == 0 || i + 1 == size || text[i - 1] == '-'
                     : !g_ascii_isalnum(c) || (g_ascii_isupper(c) && !may_be_upper))
            return FALSE;
    }
    return size > 0;
}

/* Whether the text is NAME, or NAME_KEY for a Snap that is installed more than once. */
static gboolean
is_instance_name(const char *text, gsize size)
{
    const char *key = memchr(text, '_', size);
    gsize name_size = key != NULL ? (gsize)(key - text) : size;
    gsize key_size = key != NULL ? size - name_size - 1 : 0;
    gsize n_letters = 0;

    if (key != NULL && (key_size > KEY_MAX_BYTES || memchr(key + 1, '-', key_size) != NULL ||
                        !is_dashed(key + 1, key_size, FALSE)))
        return FALSE;
    for (gsize i = 0; i < name_size; i++)
        n_letters += g_ascii_islower(text[i]);
    return name_size <= NAME_MAX_BYTES && n_letters > 0 && is_dashed(text, name_size, FALSE);
}

static gboolean
is_app(const char *text, gsize size)
{
    const char hook[] = "hook.";

    if (size > APP_MAX_BYTES)
        return FALSE;
    if (size > strlen(hook) && memcmp(text, hook, strlen(hook)) == 0)
        return is_dashed(text + strlen(hook), size - strlen(hook), FALSE);
    return is_dashed(text, size, TRUE);
}

/* Whether the text is a mode such as " (enforce)". */
static gboolean
is_mode(const char *text)
{
    gsize size = strlen(text);

    if (size < strlen(" (x)") || !g_str_has_prefix(text, " (") || text[size - 1] != ')')
        return FALSE;
    for (gsize i = strlen(" ("); i < size - 1; i++)
        if (!g_ascii_islower(text[i]))
            return FALSE;
    return TRUE;
}

/* NULL if it isn't the label of a Snap. */
static char *
match_snap(const char *label)
{
    const char *name = label + strlen("snap."), *dot = strchr(name, '.'),
               *blank = strchr(name, ' ');

    if (dot == NULL || blank == NULL || blank < dot || !is_mode(blank) ||
        !is_instance_name(name, (gsize)(dot - name)) || !is_app(dot + 1, (gsize)(blank - dot - 1)))
        return NULL;
    return g_strndup(name, (gsize)(dot - name));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *label = g_strndup((const char *)data, size);
    g_autofree char *snap = NULL;
    g_autofree char *expected = NULL;
    gboolean is_whole = size > 0 && strlen(label) == size - 1;
    gboolean is_like_snap = g_str_has_prefix(label, "snap.");
    gboolean is_stacked = strstr(label, "//&") != NULL && strstr(label, "snap.") != NULL;
    gboolean is_known = security_label_parse((const char *)data, size, &snap);

    if (is_whole && is_like_snap)
        expected = match_snap(label);
    g_assert_cmpstr(snap, ==, expected);
    if (size == 0)
        g_assert(is_known);
    else if (!is_whole)
        g_assert(!is_known);
    else if (is_like_snap)
        g_assert(is_known == (expected != NULL));
    else
        g_assert(is_known == !is_stacked);
    return 0;
}
