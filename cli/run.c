/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* `weblocks run`: runs a command while holding a lock. */

#include <string.h>

#include "cli/commands.h"
#include "cli/language.h"
#include "cli/run.h"
#include "common/program-name.h"

/* The service's limit for `why`, and for the command with its process id. */
#define WHY_BYTES_MAX  256
#define NAME_BYTES_MAX (WHY_BYTES_MAX - 24)

typedef struct {
    Run run;
    GPtrArray *names;   /* of the locks */
    char *const *words; /* the command, unless there is a line for the shell */
    const char *shell_line;
    gboolean closes; /* the command doesn't inherit the pipe */
    double grace;    /* between SIGTERM and SIGKILL, in seconds */
} CommandLine;

/* In the keeper, if the program has split the process; otherwise NULL. */
static Keeper *split_keeper;

/* ---- what others see of it */

/* Replaces Unicode noncharacters such as U+FFFF, which D-Bus strings cannot contain, by question
 * marks: one for each of their three or four bytes. */
static void
replace_noncharacters(char *text)
{
    for (char *next; *text != '\0'; text = next) {
        gunichar character = g_utf8_get_char(text);

        next = g_utf8_next_char(text);
        if ((character & 0xfffe) == 0xfffe || (character >= 0xfdd0 && character <= 0xfdef))
            memset(text, '?', (gsize)(next - text));
    }
}

/* Returns an owned text, of at most `max` bytes, that D-Bus can carry. */
static char *
shorten(const char *bytes, gsize max)
{
    g_autofree char *text = g_utf8_make_valid(bytes, -1);
    gsize length;

    replace_noncharacters(text);
    length = strlen(text);
    if (length > max)
        length = (gsize)(g_utf8_find_prev_char(text, text + max + 1) - text);
    return g_strndup(text, length);
}

/* Returns an owned text, by default the beginning of the command line. If a file is locked too, the
 * text begins with it: the lock is also held while the file is waited for. */
static char *
make_why(const CommandLine *line)
{
    const char *why = line->run.options.why, *file = line->run.file;
    g_autofree char *text = line->shell_line != NULL ? g_strdup(line->shell_line)
                                                     : g_strjoinv(" ", (char **)line->words);
    g_autofree char *with_file = NULL;

    if (why != NULL && (file == NULL || *why == '\0'))
        return g_strdup(why);
    if (file != NULL)
        with_file = g_strdup_printf("also locks %s: %s", file, why != NULL ? why : text);
    return shorten(with_file != NULL ? with_file : text, WHY_BYTES_MAX);
}

/* Returns an owned name for users: of a line for the shell, that of its first command. */
static char *
make_name(const CommandLine *line)
{
    const char *const program[] = {child_get_program(line->run.keeper->report), NULL};
    g_autofree char *first =
        line->shell_line != NULL
            ? g_strndup(line->shell_line, strcspn(line->shell_line, ";&|<>()\n"))
            : NULL;
    g_auto(GStrv) words = NULL;
    char *name = NULL;

    if (first != NULL && g_shell_parse_argv(first, NULL, &words, NULL))
        name = program_name_of_words((const char *const *)words +
                                     (g_str_equal(words[0], "exec") ? 1 : 0));
    if (name == NULL)
        name = program_name_of_words(line->shell_line != NULL ? program
                                                              : (const char *const *)line->words);
    return name != NULL ? name : g_strdup(program[0]);
}

/* Returns what the lock is for, owned by the caller: "rsync (pid 123)". */
static char *
make_command(const CommandLine *line)
{
    const Keeper *keeper = line->run.keeper;
    g_autofree char *name = make_name(line), *text = shorten(name, NAME_BYTES_MAX);

    return g_strdup_printf("%s (pid %d)", text,
                           line->run.no_fork ? keeper->runner : keeper->child.pid);
}

char *
run_make_label(const volatile Report *report)
{
    GString *label = g_string_new(NULL);

    for (guint i = 0; i < report->n_locks; i++)
        g_string_append_printf(label, "%s%s", i > 0 ? "', '" : "", report->locks[i].name);
    return g_string_free(label, FALSE);
}

void
complain_of_number(const char *program, int number)
{
    if (program != NULL)
        complain("'%s': %s", program, language_strerror(number));
    else
        complain(_("cannot start a process: %s"), language_strerror(number));
    complain_flush();
}

/* ---- the command line */

/* Parses one of two words. `into` is set if it is `word`, and not if it is `other`. */
static gboolean
take_word(const char *value, const char *word, const char *other, gboolean *into, GError **error)
{
    *into = strcmp(value, word) == 0;
    if (*into || strcmp(value, other) == 0)
        return TRUE;
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, _("'%s' is neither %s nor %s"),
                value, other, word);
    return FALSE;
}

static gboolean
option_on_loss(const char *value, gpointer into, GError **error)
{
    return take_word(value, "ignore", "kill", into, error);
}

static gboolean
option_no_bus(const char *value, gpointer into, GError **error)
{
    return take_word(value, "run", "fail", into, error);
}

/* Accepts any bytes, as the arguments of the command may be. */
static gboolean
option_bytes(const char *value, gpointer into, GError **error)
{
    *(const char **)into = value;
    return TRUE;
}

/* Parses the option --command behind the lock's name, in all forms that it has before the name, but
 * not abbreviated. Returns how many arguments it takes, or -1 if LINE is missing. */
static int
take_shell_line(CommandLine *line, char *const *argv)
{
    const char *option = argv[0];

    if (g_str_has_prefix(option, "--command="))
        line->shell_line = strchr(option, '=') + 1;
    else if (g_str_has_prefix(option, "-c") && option[2] != '\0')
        line->shell_line = option + 2;
    else if (strcmp(option, "-c") != 0 && strcmp(option, "--command") != 0)
        return 0;
    else if (argv[1] == NULL)
        return -1;
    else
        line->shell_line = argv[1];
    return line->shell_line == argv[1] ? 2 : 1;
}

static gboolean
add_name(CommandLine *line, const char *name, gboolean first, GError **error)
{
    if (!option_text(name, &name, error))
        return FALSE;
    if (!g_ptr_array_find_with_equal_func(line->names, name, g_str_equal, NULL))
        g_ptr_array_insert(line->names, first ? 0 : -1, (char *)name);
    return TRUE;
}

static gboolean
option_and(const char *value, gpointer into, GError **error)
{
    return add_name(into, value, FALSE, error);
}

/* Parses the options --and behind the name. No name can be taken for one, since names don't begin
 * with a dash. Returns how many arguments they are, or -1 and an error. */
static int
take_names(CommandLine *line, char *const *argv, GError **error)
{
    int n = 0;

    for (; argv[n] != NULL; n++) {
        const char *name = NULL;

        if (g_str_has_prefix(argv[n], "--and="))
            name = strchr(argv[n], '=') + 1;
        else if (strcmp(argv[n], "--and") != 0)
            break;
        else if ((name = argv[++n]) == NULL)
            g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                        _("option '%s' requires an argument"), "--and");
        if (name == NULL || !add_name(line, name, FALSE, error))
            return -1;
    }
    return n;
}

/* Parses the names at the beginning of what follows the options. Returns how many arguments they
 * are, or -1 after reporting an error. */
static int
parse_names(CommandLine *line, const Command *command, int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    int n = -1;

    if (argc < 1)
        options_complain(command, _("missing lock name"));
    else if (!add_name(line, argv[0], TRUE, &error) || (n = take_names(line, argv + 1, &error)) < 0)
        options_complain(command, "%s", error->message);
    return n < 0 ? n : n + 1;
}

/* Parses what follows the options: NAME [--and NAME]... [--] COMMAND..., or -c LINE in place of the
 * command, as in flock(1). Returns FALSE after reporting an error. */
static gboolean
parse_arguments(CommandLine *line, const Command *command, int argc, char **argv)
{
    const int n_names = parse_names(line, command, argc, argv);
    int n_taken = 0;

    if (n_names < 0)
        return FALSE;
    argv += n_names;
    if (argv[0] != NULL)
        n_taken = strcmp(argv[0], "--") == 0 ? 1 : take_shell_line(line, argv);
    if (n_taken < 0) {
        options_complain(command, _("option '%s' requires an argument"), argv[0]);
        return FALSE;
    }
    line->words = argv + n_taken;
    if (line->shell_line != NULL && *line->words != NULL) {
        options_complain(command, _("unexpected argument '%s'"), *line->words);
        return FALSE;
    }
    if (line->shell_line == NULL && *line->words == NULL) {
        options_complain(command, _("missing command"));
        return FALSE;
    }
    return TRUE;
}

/* ---- the keeper */

void
run_begin(Keeper *keeper)
{
    split_keeper = keeper;
}

/* Writes what the other processes have to know. */
static void
fill_report(const CommandLine *line)
{
    volatile Report *report = line->run.keeper->report;

    report->closes = line->closes;
    report->ignores_loss = line->run.options.ignore_loss;
    report->grace = line->grace;
    report->words = line->words;
    report->shell_line = line->shell_line;
    for (guint i = 0; i < line->names->len; i++)
        report->locks[i].name = line->names->pdata[i];
    report->n_locks = line->names->len;
}

/* Returns the exit status. */
static int
run_as_keeper(CommandLine *line)
{
    g_autofree char *what = NULL;

    fill_report(line);
    what = make_command(line);
    line->run.options.command = what;
    return keeper_main(&line->run);
}

int
command_run(const Command *command, int argc, char **argv)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    CommandLine line = {.run = {.options = HOLDER_OPTIONS_DEFAULT, .keeper = split_keeper},
                        .names = names,
                        .grace = 5};
    HolderOptions *options = &line.run.options;
    const Option own[] = {
        {"and", 0, "NAME", N_("Also hold the lock of this name"), option_and, &line},
        {"command", 'c', "LINE", N_("Run this line of the shell $SHELL"), option_bytes,
         &line.shell_line},
        {"close", 'o', NULL, N_("Processes that the command leaves don't hold the lock"),
         option_set, &line.closes},
        {"no-fork", 'F', NULL, N_("Replace this process by the command"), option_set,
         &line.run.no_fork},
        {"also-flock", 0, "FILE", N_("Also lock this file, as flock(1) does"), option_bytes,
         &line.run.file},
        {"on-loss", 0, "kill|ignore",
         N_("What happens to the command if the lock is lost (default: kill)"), option_on_loss,
         &options->ignore_loss},
        {"no-bus", 0, "fail|run",
         N_("What happens if there is no bus (default: fail); run: the command, without the lock"),
         option_no_bus, &options->needs_no_bus},
        {"grace", 0, "TIME", N_("Time between SIGTERM and SIGKILL after a loss (default: 5)"),
         option_time, &line.grace},
        {NULL}};
    g_autofree Option *table = holder_options_table(options, own);
    g_autofree char *why = NULL;
    Keeper keeper;
    int status;

    if (!options_parse(command, table, &argc, &argv, &status))
        return status;
    if (!parse_arguments(&line, command, argc, argv) || !holder_options_check(options, command))
        return STATUS_USAGE;
    if (line.closes && line.run.no_fork)
        return options_complain(command, _("--close cannot be combined with --no-fork"));
    why = make_why(&line);
    options->why = why;
    if (split_keeper == NULL) {
        if (!runner_split(line.run.no_fork, (int)names->len, &keeper, &status))
            return status;
        line.run.keeper = &keeper;
    }
    return run_as_keeper(&line);
}
