/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/text.h"

gboolean
text_is_visible(gunichar character)
{
    GUnicodeType type = g_unichar_type(character);

    return g_unichar_isprint(character) && type != G_UNICODE_LINE_SEPARATOR &&
           type != G_UNICODE_PARAGRAPH_SEPARATOR && type != G_UNICODE_PRIVATE_USE;
}

static void
append_character(GString *out, gunichar character, gboolean ascii)
{
    if (character == '\n')
        g_string_append(out, "\\n");
    else if (character == '\t')
        g_string_append(out, "\\t");
    else if (character == '\\')
        g_string_append(out, "\\\\");
    else if (text_is_visible(character) && (character < 0x80 || !ascii))
        g_string_append_unichar(out, character);
    else
        g_string_append_printf(out, "\\u{%x}", character);
}

static char *
escape(const char *text, gboolean ascii)
{
    GString *out = g_string_new(NULL);

    while (*text != '\0') {
        gunichar character = g_utf8_get_char_validated(text, -1);

        if (character == (gunichar)-1 || character == (gunichar)-2) {
            g_string_append_printf(out, "\\x%02x", (guchar)*text);
            text++;
        } else {
            append_character(out, character, ascii);
            text = g_utf8_next_char(text);
        }
    }
    return g_string_free(out, FALSE);
}

char *
text_for_terminal(const char *text)
{
    return escape(text, !g_get_charset(NULL));
}

char *
text_for_file(const char *text)
{
    return escape(text, FALSE);
}

static guint
character_width(gunichar character)
{
    if (g_unichar_iszerowidth(character))
        return 0;
    return g_unichar_iswide(character) ? 2 : 1;
}

guint
text_width(const char *text)
{
    guint width = 0;

    for (; *text != '\0'; text = g_utf8_next_char(text))
        width += character_width(g_utf8_get_char(text));
    return width;
}

void
text_cut(char *text, guint columns)
{
    guint width = 0;

    for (; *text != '\0'; text = g_utf8_next_char(text)) {
        width += character_width(g_utf8_get_char(text));
        if (width > columns) {
            *text = '\0';
            return;
        }
    }
}
