/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/client/script.h"

#include <string.h>

void
script_fail(Script *s, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    g_error("%s\n    %s", s->where, text);
    g_assert_not_reached();
}

/* ---- labels */

Label *
script_get_label(Script *s, const char *name)
{
    Label *label;

    if (name == NULL)
        script_fail(s, "a label is missing");
    for (guint i = 0; i < s->labels->len; i++) {
        label = s->labels->pdata[i];
        if (g_str_equal(label->name, name))
            return label;
    }
    label = g_new0(Label, 1);
    label->name = g_strdup(name);
    label->resource = g_strdup(name);
    label->bucket = g_strdup("bucket");
    g_ptr_array_add(s->labels, label);
    return label;
}

Label *
script_find_key(Script *s, guint64 key)
{
    for (guint i = 0; i < s->labels->len; i++) {
        Label *label = s->labels->pdata[i];

        if (label->key == key)
            return label;
    }
    return NULL;
}

static void
label_free(gpointer data)
{
    Label *label = data;

    losses_clear(&label->losses);
    g_free(label->name);
    g_free(label->resource);
    g_free(label->bucket);
    g_free(label);
}

void
script_wait(Script *s, TestCondition condition, gpointer data)
{
    if (s->context != NULL)
        g_main_context_push_thread_default(s->context);
    test_wait_for(condition, data, s->where);
    if (s->context != NULL)
        g_main_context_pop_thread_default(s->context);
}

/* ---- steps */

static gboolean
run_verb(Script *s, const ScriptVerb *verbs, char **words)
{
    for (; verbs->word != NULL; verbs++) {
        if (g_str_equal(verbs->word, words[0])) {
            verbs->run(s, words);
            return TRUE;
        }
    }
    return FALSE;
}

static void
run_words(Script *s, char **words)
{
    if (!run_verb(s, script_app_verbs, words) && !run_verb(s, script_service_verbs, words))
        script_fail(s, "unknown verb");
}

static void
set_where(Script *s, guint line, const char *text)
{
    g_free(s->where);
    s->where = g_strdup_printf("%s.txt:%u: %s", s->script->file, line, text);
    g_test_message("%s", s->where);
}

/* Runs a step that is not in the file: of every case, or a part of a longer one. */
static void
run_text(Script *s, const char *text)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);

    set_where(s, s->step != NULL ? s->step->line : 0, text);
    run_words(s, words);
}

/* Steps that stand for several: $1 is the first argument, $* is all of them. */
static const struct {
    const char *verb;
    const char *steps[12];
} long_steps[] = {
    {"lock", {"request $1", "> REQUEST $1", "< ANSWER $1 held $2", "held $1 $2"}},
    {"wait", {"request $*", "> REQUEST $*", "< ANSWER $1 waits", "quiet"}},
    {"wait-cancellable", {"request $1 cancellable", "> REQUEST $1", "< ANSWER $1 waits", "quiet"}},
    {"malformed",
     {"request a", "> REQUEST a", "< $*", "> EOF", "die", "return", "open", "> REQUEST a",
      "< ANSWER a held 6", "held a 6"}},
};

static char *
fill_in(const char *step, char **words)
{
    g_autofree char *all = g_strjoinv(" ", words + 1);
    g_autoptr(GString) text = g_string_new(step);

    g_string_replace(text, "$*", all, 0);
    for (guint i = 1; words[i] != NULL; i++) {
        const char variable[] = {'$', (char)('0' + i), '\0'};

        g_string_replace(text, variable, words[i], 0);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static gboolean
run_long(Script *s, char **words)
{
    for (guint i = 0; i < G_N_ELEMENTS(long_steps); i++) {
        if (!g_str_equal(long_steps[i].verb, words[0]))
            continue;
        for (guint n = 0; long_steps[i].steps[n] != NULL; n++) {
            g_autofree char *text = fill_in(long_steps[i].steps[n], words);

            run_text(s, text);
        }
        return TRUE;
    }
    return FALSE;
}

static void
run_step(Script *s, const ScriptStep *step)
{
    s->step = step;
    if (run_long(s, step->words))
        return;
    set_where(s, step->line, step->text);
    run_words(s, step->words);
}

/* ---- a case */

static gboolean
starts_with(const ScriptCase *script, const char *word)
{
    const ScriptStep *first = script->steps->pdata[0];

    return g_str_equal(first->words[0], word);
}

static void
begin(Script *s)
{
    if (s->is_sync) {
        s->context = g_main_context_new();
        g_main_context_push_thread_default(s->context);
    }
    s->agent = web_locks_agent_new(G_BUS_TYPE_NONE, test_bus()->address);
    if (s->is_sync)
        g_main_context_pop_thread_default(s->context);
    s->service = mock_service_new(test_bus());
    s->labels = g_ptr_array_new_with_free_func(label_free);
    if (starts_with(s->script, "unopened"))
        return;
    run_text(s, "connect");
    run_text(s, "open");
    run_text(s, "connected");
}

static void
call_free(gpointer data)
{
    ScriptCall *call = data;

    g_free(call->of);
    g_free(call);
}

static void
end(Script *s)
{
    if (s->agent != NULL) {
        script_check_quiet(s);
        run_text(s, "close");
    }
    script_clear_app(s);
    g_clear_pointer(&s->labels, g_ptr_array_unref);
    g_clear_pointer(&s->socket, mock_socket_free);
    g_clear_pointer(&s->replaced, mock_service_free);
    g_clear_pointer(&s->service, mock_service_free);
    g_queue_clear_full(&s->unanswered, call_free);
    g_clear_object(&s->call);
    if (s->context != NULL) {
        while (g_main_context_iteration(s->context, FALSE))
            ;
        g_main_context_unref(s->context);
    }
    test_iterate();
    g_free(s->where);
}

void
script_run(const ScriptCase *script, gboolean is_sync)
{
    Script s = {.script = script, .is_sync = is_sync};

    begin(&s);
    for (guint i = 0; i < script->steps->len; i++)
        run_step(&s, script->steps->pdata[i]);
    end(&s);
}
