/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "shell-word.h"

/* Whether it can be seen, and told from a space. Controls, and the characters that change the
 * direction of text, are not printable. */
static gboolean
is_visible(gunichar character)
{
    const GUnicodeType type = g_unichar_type(character);

    if (type == G_UNICODE_SPACE_SEPARATOR)
        return character == ' ';
    if (type == G_UNICODE_LINE_SEPARATOR || type == G_UNICODE_PARAGRAPH_SEPARATOR ||
        type == G_UNICODE_PRIVATE_USE)
        return FALSE;
    /* The fillers of Hangul, and the pattern of Braille without dots, are letters and symbols. */
    return g_unichar_isprint(character) && !g_unichar_iszerowidth(character) &&
           character != 0x115f && character != 0x2800 && character != 0x3164 && character != 0xffa0;
}

static gboolean
is_all_visible(const char *text)
{
    for (; *text != '\0'; text = g_utf8_next_char(text)) {
        if (!is_visible(g_utf8_get_char(text)))
            return FALSE;
    }
    return TRUE;
}

char *
viewer_quote_for_shell(const char *text)
{
    g_autofree char *escaped = NULL;
    GString *word;

    if (is_all_visible(text))
        return g_shell_quote(text);
    escaped = g_strescape(text, NULL);
    word = g_string_new(escaped);
    g_string_replace(word, "'", "\\'", 0);
    g_string_prepend(word, "$'");
    g_string_append_c(word, '\'');
    return g_string_free(word, FALSE);
}
