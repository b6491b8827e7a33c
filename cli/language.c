/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/language.h"

#include <locale.h>

#include "config.h"

gboolean
language_set(void)
{
    static gboolean is_set;

    if (is_set)
        return FALSE;
    is_set = TRUE;
    /* The categories that are used; each may be a file to open and map. */
    setlocale(LC_CTYPE, "");
    setlocale(LC_MESSAGES, "");
    setlocale(LC_NUMERIC, "");
    bindtextdomain(GETTEXT_PACKAGE, WEBLOCKS_LOCALEDIR);
    bind_textdomain_codeset(GETTEXT_PACKAGE, "UTF-8");
    textdomain(GETTEXT_PACKAGE);
    return TRUE;
}

const char *
language_translate(const char *text)
{
    language_set();
    return gettext(text);
}

const char *
language_strerror(int number)
{
    language_set();
    return g_strerror(number);
}
