/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/client/script-case.h"

#include <string.h>

static void
step_free(gpointer data)
{
    ScriptStep *step = data;

    g_free(step->text);
    g_strfreev(step->words);
    g_free(step);
}

static void
case_free(gpointer data)
{
    ScriptCase *self = data;

    g_free(self->file);
    g_free(self->name);
    g_ptr_array_unref(self->steps);
    g_free(self);
}

static void
add_step(ScriptCase *self, const char *text, guint line)
{
    ScriptStep *step = g_new0(ScriptStep, 1);
    g_autoptr(GError) error = NULL;

    step->line = line;
    step->text = g_strdup(text);
    g_ptr_array_add(self->steps, step);
    if (!g_shell_parse_argv(text, NULL, &step->words, &error))
        g_error("%s:%u: %s", self->file, line, error->message);
}

/* "a1..a300": repeats the step for each of them. */
static gboolean
add_many(ScriptCase *self, const char *text, guint line)
{
    g_autoptr(GRegex) regex = g_regex_new("\\b([a-z]+)([0-9]+)\\.\\.\\1([0-9]+)\\b", 0, 0, NULL);
    g_autoptr(GMatchInfo) match = NULL;
    g_autofree char *stem = NULL, *first = NULL, *last = NULL;

    if (!g_regex_match(regex, text, 0, &match))
        return FALSE;
    stem = g_match_info_fetch(match, 1);
    first = g_match_info_fetch(match, 2);
    last = g_match_info_fetch(match, 3);
    for (guint64 i = g_ascii_strtoull(first, NULL, 10); i <= g_ascii_strtoull(last, NULL, 10);
         i++) {
        g_autofree char *label = g_strdup_printf("%s%" G_GUINT64_FORMAT, stem, i);
        g_autofree char *one = g_regex_replace_literal(regex, text, -1, 0, label, 0, NULL);

        add_step(self, one, line);
    }
    return TRUE;
}

/* "case NAME: DESCRIPTION", "case NAME also sync: DESCRIPTION". */
static ScriptCase *
case_new(const char *path, const char *text)
{
    static const char also_sync[] = " also sync";
    ScriptCase *self = g_new0(ScriptCase, 1);
    g_autofree char *file = g_path_get_basename(path);

    self->file = g_strndup(file, strcspn(file, "."));
    self->name = g_strndup(text, strcspn(text, ":"));
    self->is_also_sync = g_str_has_suffix(self->name, also_sync);
    if (self->is_also_sync)
        self->name[strlen(self->name) - strlen(also_sync)] = '\0';
    self->steps = g_ptr_array_new_with_free_func(step_free);
    return self;
}

GPtrArray *
script_cases_load(const char *path)
{
    GPtrArray *cases = g_ptr_array_new_with_free_func(case_free);
    g_autofree char *contents = NULL;
    g_auto(GStrv) lines = NULL;
    g_autoptr(GError) error = NULL;

    if (!g_file_get_contents(path, &contents, NULL, &error))
        g_error("%s", error->message);
    lines = g_strsplit(contents, "\n", -1);
    for (guint i = 0; lines[i] != NULL; i++) {
        char *text = g_strstrip(lines[i]);

        if (text[0] == '#' || text[0] == '\0')
            continue;
        if (g_str_has_prefix(text, "case "))
            g_ptr_array_add(cases, case_new(path, text + strlen("case ")));
        else if (cases->len == 0)
            g_error("%s:%u: line outside of a case", path, i + 1);
        else if (!add_many(cases->pdata[cases->len - 1], text, i + 1))
            add_step(cases->pdata[cases->len - 1], text, i + 1);
    }
    return cases;
}
