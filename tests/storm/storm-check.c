/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* storm-check DIRECTORY [--patience MS] [--activatable] [--cluster] [--need NAME=NUMBER]...: checks
 * the storm with these files. Exits with 0 if it passed, 1 if there is a violation, 2 if too little
 * happened to show anything (void), and 3 if the files can't be read. */

#include "tests/storm/checker.h"

#include <stdio.h>

static int patience = 3000;
static gboolean is_activatable, is_cluster;
static char **needs;
static char **directories;

static const GOptionEntry options[] = {
    {"patience", 0, 0, G_OPTION_ARG_INT, &patience, "Time limit of what the service has to do",
     "MS"},
    {"activatable", 0, 0, G_OPTION_ARG_NONE, &is_activatable, "The bus starts the service", NULL},
    {"cluster", 0, 0, G_OPTION_ARG_NONE, &is_cluster, "Each bus is another host", NULL},
    {"need", 0, 0, G_OPTION_ARG_STRING_ARRAY, &needs, "How often a storm has to hit what",
     "NAME=NUMBER"},
    {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &directories, NULL, "DIRECTORY"},
    {NULL, 0, 0, 0, NULL, NULL, NULL},
};

static gboolean
read_need(const char *need, CheckPower *least)
{
    const char *number = g_strrstr(need, "=");
    guint64 value;

    if (number == NULL || !g_ascii_string_to_unsigned(number + 1, 10, 0, G_MAXUINT, &value, NULL))
        return FALSE;
    for (guint i = 0; i < n_check_power_fields; i++) {
        const CheckPowerField *field = &check_power_fields[i];

        if (strlen(field->name) == (gsize)(number - need) &&
            strncmp(field->name, need, (gsize)(number - need)) == 0) {
            *(guint *)(gpointer)((char *)least + field->offset) = (guint)value;
            return TRUE;
        }
    }
    return FALSE;
}

static int
judge(const char *directory, const CheckPower *least)
{
    static const char *const verdicts[] = {"pass", "violation", "void"};
    g_autoptr(Story) story = story_new((guint64)patience * 1000000);
    g_autoptr(GError) error = NULL;
    g_autoptr(Checker) checker = NULL;
    g_autoptr(GString) missing = g_string_new(NULL);
    g_autofree char *text = NULL;
    CheckVerdict verdict;

    story->is_activatable = is_activatable;
    story->is_cluster = is_cluster;
    if (!story_add_directory(story, directory, &error)) {
        fprintf(stderr, "storm-check: %s\n", error->message);
        return 3;
    }
    story_finish(story);
    checker = checker_new(story);
    verdict = checker_judge(checker, least, missing);
    text = checker_to_string(checker);
    printf("%s%sverdict: %s\n", text, missing->str, verdicts[verdict]);
    return (int)verdict;
}

int
main(int argc, char **argv)
{
    g_autoptr(GOptionContext) context = g_option_context_new("DIRECTORY");
    g_autoptr(GError) error = NULL;
    CheckPower least = {0};

    g_option_context_add_main_entries(context, options, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        fprintf(stderr, "storm-check: %s\n", error->message);
        return 3;
    }
    for (char **need = needs; need != NULL && *need != NULL; need++)
        if (!read_need(*need, &least)) {
            fprintf(stderr, "storm-check: --need %s: no such thing is counted\n", *need);
            return 3;
        }
    if (directories == NULL || directories[1] != NULL || patience <= 0) {
        fprintf(stderr, "usage: storm-check DIRECTORY\n");
        return 3;
    }
    return judge(directories[0], &least);
}
