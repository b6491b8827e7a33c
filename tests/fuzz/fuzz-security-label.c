/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Security labels: any bytes, as the bus transmits them. The result is compared with a second
 * implementation of the rule. A bug here could take one application for another. */

#include <string.h>

#include "service/identity/security-label.h"
#include "tests/fuzz/fuzz.h"

#define SNAP_BYTES_MAX 40
#define APP_BYTES_MAX  255

#define WORDS(letters) "(?:[" letters "]+-)*[" letters "]+"

static const char rule[] =
    "\\Asnap\\."
    "(?<snap>(?<name>" WORDS("a-z0-9") ")(?:_[a-z0-9]{1,10})?)"
                                       "\\."
                                       "(?<app>hook\\." WORDS("a-z0-9") "|" WORDS(
                                           "a-zA-Z0-9") ")"
                                                        " \\([a-z]+\\)\\z";

static gboolean
has_letter(const char *name)
{
    while (*name != '\0' && !(*name >= 'a' && *name <= 'z'))
        name++;
    return *name != '\0';
}

/* NULL if it isn't the label of a Snap. */
static char *
match_snap(const char *label)
{
    static GRegex *regex;
    g_autoptr(GMatchInfo) match = NULL;
    g_autofree char *name = NULL;
    g_autofree char *app = NULL;

    if (regex == NULL)
        regex = g_regex_new(rule, G_REGEX_RAW | G_REGEX_DOLLAR_ENDONLY, 0, NULL);
    g_assert(regex != NULL);
    if (!g_regex_match(regex, label, 0, &match))
        return NULL;
    name = g_match_info_fetch_named(match, "name");
    app = g_match_info_fetch_named(match, "app");
    if (strlen(name) > SNAP_BYTES_MAX || strlen(app) > APP_BYTES_MAX || !has_letter(name))
        return NULL;
    return g_match_info_fetch_named(match, "snap");
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
