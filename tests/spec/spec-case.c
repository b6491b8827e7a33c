/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/spec/spec-case.h"

static void
step_free(gpointer data)
{
    SpecStep *step = data;

    g_free(step->text);
    g_free(step->label);
    g_free(step->bucket);
    g_free(step->request.name);
    g_free(step->request.bucket);
    g_free(step->request.mode);
    g_free(step->request.why);
    g_strfreev(step->outcome);
    g_free(step);
}

static void
case_free(gpointer data)
{
    SpecCase *spec = data;

    g_free(spec->name);
    g_ptr_array_unref(spec->limits);
    g_ptr_array_unref(spec->steps);
    g_free(spec);
}

static gboolean
refuse(GError **error, guint line, const char *what)
{
    g_set_error(error, G_MARKUP_ERROR, G_MARKUP_ERROR_PARSE, "line %u: %s", line, what);
    return FALSE;
}

/* Unescapes a name: C's escapes, and 'x'*1024 for a repetition. */
static char *
parse_name(const char *word)
{
    g_autofree char *plain = g_strcompress(word);
    const char *star = strchr(plain, '*');
    GString *name;

    if (star == NULL)
        return g_steal_pointer(&plain);
    name = g_string_new(NULL);
    for (guint64 n = g_ascii_strtoull(star + 1, NULL, 10); n > 0; n--)
        g_string_append_len(name, plain, star - plain);
    return g_string_free(name, FALSE);
}

/* Returns the number of words of the option; 0 if it isn't one. */
static guint
parse_option(SpecRequest *request, char **words)
{
    const char *value = words[1];

    if (g_str_equal(words[0], "shared") || g_str_equal(words[0], "exclusive")) {
        request->mode = g_strdup(words[0]);
        return 1;
    }
    if (g_str_equal(words[0], "ifAvailable")) {
        request->if_available = TRUE;
        return 1;
    }
    if (g_str_equal(words[0], "steal")) {
        request->steal = TRUE;
        return 1;
    }
    if (g_str_equal(words[0], "signal")) {
        request->signal = TRUE;
        return 1;
    }
    if (value == NULL)
        return 0;

    if (g_str_equal(words[0], "mode"))
        request->mode = g_strdup(value);
    else if (g_str_equal(words[0], "timeout"))
        request->timeout_ms = (guint32)g_ascii_strtoull(value, NULL, 10);
    else if (g_str_equal(words[0], "key"))
        request->key = g_ascii_strtoull(value, NULL, 10);
    else if (g_str_equal(words[0], "why"))
        request->why = parse_name(value);
    else if (g_str_equal(words[0], "bucket"))
        request->bucket = parse_name(value);
    else
        return 0;
    return 2;
}

/* Parses "NAME OPTION..." up to "->". */
static gboolean
parse_request(SpecStep *step, char **words, GError **error)
{
    if (words[0] == NULL)
        return refuse(error, step->line, "missing lock name");

    step->request.name = parse_name(words[0]);
    words++;
    while (words[0] != NULL && !g_str_equal(words[0], "->")) {
        guint n = parse_option(&step->request, words);

        if (n == 0)
            return refuse(error, step->line, "unknown option");
        words += n;
    }
    if (step->request.bucket == NULL)
        step->request.bucket = g_strdup("default");
    return TRUE;
}

static gboolean
parse_verb(SpecStep *step, const char *word)
{
    static const struct {
        const char *word;
        SpecVerb verb;
    } verbs[] = {
        {"request", SPEC_REQUEST},   {"steal", SPEC_REQUEST},   {"release", SPEC_RELEASE},
        {"break", SPEC_BREAK},       {"abort", SPEC_ABORT},     {"query", SPEC_QUERY},
        {"die", SPEC_DIE},           {"back", SPEC_BACK},       {"granted", SPEC_GRANTED},
        {"released", SPEC_RELEASED}, {"waiting", SPEC_WAITING}, {"watch", SPEC_WATCH},
    };

    for (guint i = 0; i < G_N_ELEMENTS(verbs); i++) {
        if (g_str_equal(word, verbs[i].word)) {
            step->verb = verbs[i].verb;
            return TRUE;
        }
    }
    return FALSE;
}

/* Parses "[LABEL =] VERB ..." of one agent. */
static gboolean
parse_agent_step(SpecStep *step, char **words, GError **error)
{
    guint i = 0;

    if (words[0] != NULL && words[1] != NULL && g_str_equal(words[1], "=")) {
        step->label = g_strdup(words[0]);
        i = 2;
    }
    if (words[i] == NULL || !parse_verb(step, words[i]))
        return refuse(error, step->line, "unknown verb");
    step->request.steal_method = g_str_equal(words[i], "steal");
    i++;

    if (step->verb == SPEC_REQUEST) {
        if (!parse_request(step, &words[i], error))
            return FALSE;
    } else if (step->verb != SPEC_QUERY && step->verb != SPEC_WATCH && step->verb != SPEC_DIE &&
               step->verb != SPEC_BACK) {
        if (words[i] == NULL)
            return refuse(error, step->line, "missing label");
        step->label = g_strdup(words[i++]);
    }
    if (step->verb != SPEC_REQUEST && words[i] != NULL && g_str_equal(words[i], "bucket"))
        step->bucket = g_strdup(words[i + 1]);

    if (step->verb == SPEC_RELEASED) {
        step->outcome = g_strdupv(&words[i]);
        return TRUE;
    }
    while (words[i] != NULL && !g_str_equal(words[i], "->"))
        i++;
    step->outcome = g_strdupv(words[i] != NULL ? &words[i + 1] : &words[i]);
    return TRUE;
}

static gboolean
parse_step(SpecStep *step, GError **error)
{
    g_auto(GStrv) words = NULL;
    char **rest;

    if (!g_shell_parse_argv(step->text, NULL, &words, NULL))
        return refuse(error, step->line, "mismatched quotes");
    rest = words;
    if (g_str_equal(rest[0], "tokens")) {
        step->verb = SPEC_TOKENS;
        step->outcome = g_strdupv(&rest[1]);
        return TRUE;
    }
    if (g_str_equal(rest[0], "await")) {
        step->await = TRUE;
        rest++;
    }
    if (rest[0] == NULL || !g_ascii_isupper(rest[0][0]) || !g_str_equal(&rest[0][1], ":"))
        return refuse(error, step->line, "missing agent");
    step->agent = rest[0][0];
    return parse_agent_step(step, &rest[1], error);
}

/* Parses "NAME" or "NAME: DESCRIPTION". */
static SpecCase *
new_case(const char *text, guint line)
{
    SpecCase *spec = g_new0(SpecCase, 1);

    spec->name = g_strndup(text, strcspn(text, ":"));
    spec->line = line;
    spec->limits = g_ptr_array_new_with_free_func(g_free);
    spec->steps = g_ptr_array_new_with_free_func(step_free);
    return spec;
}

static gboolean
parse_line(GPtrArray *cases, const char *text, guint line, GError **error)
{
    SpecCase *spec = cases->len > 0 ? cases->pdata[cases->len - 1] : NULL;
    SpecStep *step;

    if (text[0] == '\0')
        return TRUE;
    if (g_str_has_prefix(text, "case ")) {
        g_ptr_array_add(cases, new_case(text + strlen("case "), line));
        return TRUE;
    }
    if (spec == NULL)
        return refuse(error, line, "line outside of a case");
    if (g_str_has_prefix(text, "limit ")) {
        g_ptr_array_add(spec->limits, g_strdup(text + strlen("limit ")));
        return TRUE;
    }

    step = g_new0(SpecStep, 1);
    step->line = line;
    step->text = g_strdup(text);
    g_ptr_array_add(spec->steps, step);
    return parse_step(step, error);
}

GPtrArray *
spec_cases_load(const char *path, GError **error)
{
    g_autoptr(GPtrArray) cases = g_ptr_array_new_with_free_func(case_free);
    g_autofree char *contents = NULL;
    g_auto(GStrv) lines = NULL;

    if (!g_file_get_contents(path, &contents, NULL, error))
        return NULL;
    lines = g_strsplit(contents, "\n", -1);
    for (guint i = 0; lines[i] != NULL; i++) {
        char *comment = strchr(lines[i], '#');

        if (comment != NULL)
            *comment = '\0';
        if (!parse_line(cases, g_strstrip(lines[i]), i + 1, error))
            return NULL;
    }
    for (guint i = 0; i < cases->len; i++)
        g_ptr_array_add(((SpecCase *)cases->pdata[i])->limits, NULL);
    return g_steal_pointer(&cases);
}
