/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/json.h"

#include <stdio.h>

#include "cli/text.h"

void
json_init(Json *json)
{
    json->text = g_string_new(NULL);
    json->wants_comma = FALSE;
}

static void
append_character(GString *out, gunichar character)
{
    if (character == '"' || character == '\\')
        g_string_append_printf(out, "\\%c", (char)character);
    else if (character > 0xffff && !text_is_visible(character))
        g_string_append_printf(out, "\\u%04x\\u%04x", 0xd7c0 + (character >> 10),
                               0xdc00 + (character & 0x3ff));
    else if (!text_is_visible(character))
        g_string_append_printf(out, "\\u%04x", character);
    else
        g_string_append_unichar(out, character);
}

static void
append_string(GString *out, const char *value)
{
    g_string_append_c(out, '"');
    for (; *value != '\0'; value = g_utf8_next_char(value))
        append_character(out, g_utf8_get_char(value));
    g_string_append_c(out, '"');
}

/* What stands before every value. */
static void
start_value(Json *json, const char *key)
{
    if (json->wants_comma)
        g_string_append_c(json->text, ',');
    if (key != NULL) {
        append_string(json->text, key);
        g_string_append_c(json->text, ':');
    }
    json->wants_comma = TRUE;
}

void
json_open(Json *json, const char *key, char bracket)
{
    start_value(json, key);
    g_string_append_c(json->text, bracket);
    json->wants_comma = FALSE;
}

void
json_close(Json *json, char bracket)
{
    g_string_append_c(json->text, bracket);
    json->wants_comma = TRUE;
}

void
json_string(Json *json, const char *key, const char *value)
{
    start_value(json, key);
    append_string(json->text, value);
}

void
json_strings(Json *json, const char *key, const char *const *values)
{
    json_open(json, key, '[');
    for (; values != NULL && *values != NULL; values++)
        json_string(json, NULL, *values);
    json_close(json, ']');
}

void
json_number(Json *json, const char *key, guint64 value)
{
    start_value(json, key);
    g_string_append_printf(json->text, "%" G_GUINT64_FORMAT, value);
}

void
json_real(Json *json, const char *key, double value)
{
    char digits[G_ASCII_DTOSTR_BUF_SIZE];

    start_value(json, key);
    g_string_append(json->text, g_ascii_dtostr(digits, sizeof digits, value));
}

void
json_print(Json *json)
{
    g_string_append_c(json->text, '\n');
    fwrite(json->text->str, 1, json->text->len, stdout);
    g_string_free(json->text, TRUE);
}
