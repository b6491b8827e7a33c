/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/language.h"
#include "cli/status.h"

#define HELP_COLUMN 34

static const Option help_option = {"help", 'h', NULL, N_("Print this help and exit"), NULL, NULL};

gboolean
option_set(const char *value, gpointer into, GError **error)
{
    *(gboolean *)into = TRUE;
    return TRUE;
}

gboolean
option_unset(const char *value, gpointer into, GError **error)
{
    *(gboolean *)into = FALSE;
    return TRUE;
}

gboolean
option_text(const char *value, gpointer into, GError **error)
{
    if (!g_utf8_validate(value, -1, NULL)) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, _("'%s' is not valid UTF-8"),
                    value);
        return FALSE;
    }
    *(const char **)into = value;
    return TRUE;
}

/* Returns how many seconds a unit has, which is none for seconds; 0: there is no such unit. */
static double
get_unit(const char *unit)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"", 1},   {"s", 1},    {"ms", 0.001}, {"min", 60},
                 {"m", 60}, {"h", 3600}, {"d", 86400}};

    for (guint i = 0; i < G_N_ELEMENTS(units); i++)
        if (strcmp(units[i].name, unit) == 0)
            return units[i].seconds;
    return 0;
}

/* Accepts a decimal number, with a point in every locale, but not the other formats of strtod():
 * signs, hexadecimal, "inf". A number that is too large for a double becomes infinity. */
gboolean
option_time(const char *value, gpointer into, GError **error)
{
    char *end = NULL;
    double seconds = 0, unit = 0;

    if (g_ascii_isdigit(value[0]) || (value[0] == '.' && g_ascii_isdigit(value[1])))
        seconds = g_ascii_strtod(value, &end);
    if (end != NULL && strpbrk(value, "xX") == NULL)
        unit = get_unit(end);
    if (unit <= 0) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    _("'%s' is not a valid time, such as 90, 90s, 1.5min or 2h"), value);
        return FALSE;
    }
    *(double *)into = seconds * unit;
    return TRUE;
}

gboolean
option_status(const char *value, gpointer into, GError **error)
{
    guint64 status;

    if (!g_ascii_string_to_unsigned(value, 10, 0, 255, &status, NULL)) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    _("'%s' is not an exit status from 0 to 255"), value);
        return FALSE;
    }
    *(int *)into = (int)status;
    return TRUE;
}

gboolean
option_count(const char *value, gpointer into, GError **error)
{
    guint64 count;

    if (!g_ascii_string_to_unsigned(value, 10, 1, G_MAXUINT32, &count, NULL)) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    _("'%s' is not a number from 1 on"), value);
        return FALSE;
    }
    *(guint *)into = (guint)count;
    return TRUE;
}

static void
print_option(const Option *option)
{
    GString *names = g_string_new("  ");

    if (option->letter != 0)
        g_string_append_printf(names, "-%c, ", option->letter);
    else
        g_string_append(names, "    ");
    g_string_append_printf(names, "--%s", option->name);
    for (const Option *alias = option + 1;
         option != &help_option && alias->name != NULL && alias->help == NULL; alias++)
        g_string_append_printf(names, ", --%s", alias->name);
    if (option->argument != NULL)
        g_string_append_printf(names, " %s", option->argument);
    if (names->len > HELP_COLUMN - 2)
        g_string_append_printf(names, "\n%*s", HELP_COLUMN, "");
    printf("%-*s%s\n", HELP_COLUMN, names->str, _(option->help));
    g_string_free(names, TRUE);
}

static void
print_help(const Command *command, const Option *options)
{
    printf("%s weblocks %s [OPTION...]%s%s\n\n%s.\n\n", _("usage:"), command->name,
           *command->arguments != '\0' ? " " : "", command->arguments, _(command->help));
    for (; options->name != NULL; options++) {
        if (options->help != NULL)
            print_option(options);
    }
    print_option(&help_option);
}

int
options_complain(const Command *command, const char *format, ...)
{
    g_autofree char *message = NULL;
    va_list arguments;

    va_start(arguments, format);
    message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    complain("%s", message);
    complain(_("try 'weblocks %s --help' for more information"), command->name);
    return STATUS_USAGE;
}

/* The arguments of getopt_long(), derived from a table of options. */
typedef struct {
    GArray *longs; /* struct option; `val` is 0x1000 + the index in the table, or 'h' */
    GString *shorts;
} Getopt;

static void
getopt_add(Getopt *self, const Option *option, int value)
{
    const struct option entry = {
        option->name, option->argument != NULL ? required_argument : no_argument, NULL, value};

    g_array_append_val(self->longs, entry);
    if (option->letter != 0)
        g_string_append_printf(self->shorts, "%c%s", option->letter,
                               option->argument != NULL ? ":" : "");
}

static const Option *
find_option(const Option *options, int value)
{
    guint index = 0;

    /* 0x1000 and above are long options, smaller values are the letters of short ones. */
    if (value >= 0x1000)
        return &options[value - 0x1000];
    while (options[index].letter != value)
        index++;
    return &options[index];
}

static gboolean
take_option(const Command *command, const Option *option, const char *value)
{
    g_autoptr(GError) error = NULL;

    if (option->take(value, option->into, &error))
        return TRUE;
    options_complain(command, "--%s: %s", option->name, error->message);
    return FALSE;
}

static void
complain_of_argument(const Command *command, int kind, const char *word)
{
    g_autofree char *name =
        optopt > 0 && optopt < 0x80 ? g_strdup_printf("-%c", optopt) : g_strdup(word);

    if (kind == ':')
        options_complain(command, _("option '%s' requires an argument"), name);
    else if (optopt >= 0x1000)
        options_complain(command, _("option '%s' does not allow an argument"), name);
    else
        options_complain(command, _("unknown or ambiguous option '%s'"), name);
}

gboolean
options_parse(
    const Command *command, const Option *options, int *argc, char ***argv, int *out_status)
{
    Getopt getopt = {g_array_new(TRUE, TRUE, sizeof(struct option)),
                     g_string_new(command->options_first ? "+:" : ":")};
    gboolean good = TRUE;
    int found;

    for (int i = 0; options[i].name != NULL; i++)
        getopt_add(&getopt, &options[i], 0x1000 + i);
    getopt_add(&getopt, &help_option, 'h');
    opterr = 0;
    *out_status = STATUS_USAGE;

    while (good && (found = getopt_long(*argc, *argv, getopt.shorts->str,
                                        (struct option *)getopt.longs->data, NULL)) != -1) {
        if (found == 'h') {
            print_help(command, options);
            *out_status = STATUS_OK;
            good = FALSE;
        } else if (found == '?' || found == ':') {
            complain_of_argument(command, found, (*argv)[optind - 1]);
            good = FALSE;
        } else {
            good = take_option(command, find_option(options, found), optarg);
        }
    }
    *argc -= optind;
    *argv += optind;
    g_array_unref(getopt.longs);
    g_string_free(getopt.shorts, TRUE);
    return good;
}

gboolean
options_get_optional_name(
    const Command *command, int argc, char **argv, const char **out_name, int *out_status)
{
    if (argc > 1)
        *out_status = options_complain(command, _("unexpected argument '%s'"), argv[1]);
    else if (argc == 1 && !g_utf8_validate(argv[0], -1, NULL))
        *out_status = options_complain(command, _("'%s' is not valid UTF-8"), argv[0]);
    else {
        *out_name = argv[0];
        return TRUE;
    }
    return FALSE;
}

const char *
options_get_lock_name(const Command *command, int argc, char **argv, int *out_status)
{
    const char *name = NULL;

    if (argc < 1)
        *out_status = options_complain(command, _("missing lock name"));
    else
        options_get_optional_name(command, argc, argv, &name, out_status);
    return name;
}
