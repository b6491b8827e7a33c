/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The file that marks a Flatpak sandbox. An id that is returned is valid, is in the file, and
 * doesn't depend on the rest of the file; a file that declares both an application and a runtime is
 * refused. A bug here could take one application for another. */

#include <string.h>

#include "service/identity/flatpak-info.h"
#include "tests/fuzz/fuzz.h"

#define ID_BYTES_MAX 255

/* Two or more elements of letters, digits, dashes and underscores, none beginning with a digit. */
static gboolean
is_app_id(const char *id)
{
    g_auto(GStrv) elements = g_strsplit(id, ".", -1);
    guint n = 0;

    for (; elements[n] != NULL; n++) {
        const char *element = elements[n];

        if (element[0] == '\0' || g_ascii_isdigit(element[0]))
            return FALSE;
        for (; *element != '\0'; element++)
            if (!g_ascii_isalnum(*element) && *element != '-' && *element != '_')
                return FALSE;
    }
    return n >= 2 && strlen(id) <= ID_BYTES_MAX;
}

static void
expect(const GString *text, const char *id)
{
    g_autofree char *actual = flatpak_info_parse(text->str, text->len);

    g_assert_cmpstr(actual, ==, id);
}

/* The result is the same with additional groups and keys. */
static void
try_more(const char *data, size_t size, const char *id)
{
    g_autoptr(GString) text = g_string_new_len(data, (gssize)size);
    gboolean is_runtime;

    g_string_prepend(text, "# nothing\n\n[Extra]\nname=org.example.Other\n");
    expect(text, id);
    g_string_append(text, "\n[Instance]\nname=org.example.Other\n");
    expect(text, id);
    g_string_append(text, "[Context]\n[Application Other]\nname=org.example.Other\n");
    expect(text, id);
    /* With the other group too, there is no id. */
    is_runtime = strstr(text->str, "[Application]") == NULL;
    g_string_append(text, is_runtime ? "[Application]\n" : "[Runtime]\n");
    if (is_runtime || strstr(data, "[Runtime]") == NULL)
        expect(text, NULL);
}

/* The file that Flatpak would write for this id. */
static void
try_id(const char *id)
{
    g_autoptr(GString) text = g_string_new(NULL);

    g_string_printf(text, "[Application]\nname=%s\nruntime=runtime/org.example.Platform/x\n", id);
    expect(text, is_app_id(id) ? id : NULL);
    g_string_printf(text, "[Runtime]\nname[en]=org.example.Other\nname = %s\n", id);
    expect(text, is_app_id(id) ? id : NULL);
    g_string_printf(text, "[Application]\nname[en]=%s\n", id);
    expect(text, NULL);
}

/* Blanks and escapes are not part of an id; with them, the file's text may differ from a valid
 * id. */
static gboolean
is_plain(const char *text)
{
    return text[0] != '\0' && strpbrk(text, "\\ \t\r\n\f\v") == NULL;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autofree char *id = flatpak_info_parse((const char *)data, size);

    if (id != NULL) {
        g_assert(strlen(text) == size);
        g_assert(is_app_id(id));
        g_assert(strstr(text, id) != NULL);
        g_assert(strstr(text, "[Application]") != NULL || strstr(text, "[Runtime]") != NULL);
        try_more(text, size, id);
    }
    if (is_plain(text))
        try_id(text);
    return 0;
}
