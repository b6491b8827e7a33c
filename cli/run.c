/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* `weblocks run`: runs a command while holding a lock. */

#include <paths.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/language.h"
#include "cli/module.h"
#include "cli/run.h"
#include "cli/signals.h"
#include "common/program-name.h"

/* The service's limit for `why`, and for the command with its process id. */
#define WHY_BYTES_MAX  256
#define NAME_BYTES_MAX (WHY_BYTES_MAX - 24)

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
make_why(Run *run)
{
    const char *why = run->options.why;
    g_autofree char *line =
        run->shell_line != NULL ? g_strdup(run->shell_line) : g_strjoinv(" ", run->plan.command);
    g_autofree char *with_file = NULL;

    if (why != NULL && (run->file == NULL || *why == '\0'))
        return g_strdup(why);
    if (run->file != NULL)
        with_file = g_strdup_printf("also locks %s: %s", run->file, why != NULL ? why : line);
    return shorten(with_file != NULL ? with_file : line, WHY_BYTES_MAX);
}

/* Returns an owned name for users: of a line for the shell, that of its first command. */
static char *
make_name(const Run *run)
{
    g_autofree char *first = run->shell_line != NULL
                                 ? g_strndup(run->shell_line, strcspn(run->shell_line, ";&|<>()\n"))
                                 : NULL;
    g_auto(GStrv) words = NULL;
    char *name = NULL;

    if (first != NULL && g_shell_parse_argv(first, NULL, &words, NULL))
        name = program_name_of_words((const char *const *)words +
                                     (g_str_equal(words[0], "exec") ? 1 : 0));
    if (name == NULL)
        name = program_name_of_words((const char *const *)run->plan.command);
    return name != NULL ? name : g_strdup(run->plan.command[0]);
}

/* Returns what the lock is for, owned by the caller: "rsync (pid 123)". */
static char *
make_command(const Run *run)
{
    g_autofree char *name = make_name(run), *text = shorten(name, NAME_BYTES_MAX);

    return g_strdup_printf("%s (pid %d)", text,
                           run->plan.no_fork ? run->keeper.runner : run->child.pid);
}

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
take_shell_line(Run *run, char *const *argv)
{
    const char *option = argv[0];

    if (g_str_has_prefix(option, "--command="))
        run->shell_line = strchr(option, '=') + 1;
    else if (g_str_has_prefix(option, "-c") && option[2] != '\0')
        run->shell_line = option + 2;
    else if (strcmp(option, "-c") != 0 && strcmp(option, "--command") != 0)
        return 0;
    else if (argv[1] == NULL)
        return -1;
    else
        run->shell_line = argv[1];
    return run->shell_line == argv[1] ? 2 : 1;
}

static gboolean
add_name(Run *run, const char *name, gboolean first, GError **error)
{
    if (!option_text(name, &name, error))
        return FALSE;
    if (!g_ptr_array_find_with_equal_func(run->plan.names, name, g_str_equal, NULL))
        g_ptr_array_insert(run->plan.names, first ? 0 : -1, (char *)name);
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
take_names(Run *run, char *const *argv, GError **error)
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
        if (name == NULL || !add_name(run, name, FALSE, error))
            return -1;
    }
    return n;
}

/* Parses the names at the beginning of what follows the options. Returns how many arguments they
 * are, or -1 after reporting an error. */
static int
parse_names(Run *run, const Command *command, int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    int n = -1;

    if (argc < 1)
        options_complain(command, _("missing lock name"));
    else if (!add_name(run, argv[0], TRUE, &error) || (n = take_names(run, argv + 1, &error)) < 0)
        options_complain(command, "%s", error->message);
    return n < 0 ? n : n + 1;
}

/* Parses what follows the options: NAME [--and NAME]... [--] COMMAND..., or -c LINE in place of the
 * command, as in flock(1). For a shell line the command is in `shell`, which has room for it.
 * Returns FALSE after reporting an error. */
static gboolean
parse_arguments(Run *run, const Command *command, int argc, char **argv, char **shell)
{
    const char *program = g_getenv("SHELL");
    const int n_names = parse_names(run, command, argc, argv);
    int n_taken = 0;

    if (n_names < 0)
        return FALSE;
    argv += n_names;
    if (argv[0] != NULL)
        n_taken = strcmp(argv[0], "--") == 0 ? 1 : take_shell_line(run, argv);
    if (n_taken < 0) {
        options_complain(command, _("option '%s' requires an argument"), argv[0]);
        return FALSE;
    }
    run->plan.command = argv + n_taken;
    if (run->shell_line != NULL && *run->plan.command != NULL) {
        options_complain(command, _("unexpected argument '%s'"), *run->plan.command);
        return FALSE;
    }
    if (run->shell_line != NULL) {
        shell[0] = (char *)(program != NULL && *program != '\0' ? program : _PATH_BSHELL);
        shell[1] = (char *)"-c";
        shell[2] = (char *)run->shell_line;
        run->plan.command = shell;
    }
    if (*run->plan.command == NULL) {
        options_complain(command, _("missing command"));
        return FALSE;
    }
    return TRUE;
}

/* Returns an owned text for a message that has "'%s'". */
static char *
make_label(GPtrArray *names)
{
    GString *label = g_string_new(names->pdata[0]);

    for (guint i = 1; i < names->len; i++)
        g_string_append_printf(label, "', '%s", (const char *)names->pdata[i]);
    return g_string_free(label, FALSE);
}

/* ---- the keeper */

/* The module, with all that it needs, is loaded last: what is copied by a fork() before is little.
 * Returns the exit status. */
static int
run_as_keeper(Run *run)
{
    g_autofree char *what = NULL;
    g_autoptr(GError) error = NULL;
    int (*function)(Run *);
    int number = 0, status;

    if (!run->plan.no_fork && (number = child_fork(&run->child, &run->plan, &run->keeper)) != 0) {
        complain("'%s': %s", run->plan.command[0], language_strerror(number));
        status = STATUS_SYSTEM;
    } else {
        what = make_command(run);
        run->options.command = what;
        function = module_find("keeper_main", &error);
        if (function != NULL)
            return function(run);
        complain("%s", error->message);
        status = STATUS_SOFTWARE;
        if (!run->plan.no_fork)
            child_cancel(&run->child);
    }
    keeper_leave(&run->keeper, status);
    return status;
}

int
command_run(const Command *command, int argc, char **argv)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    Run run = {.options = HOLDER_OPTIONS_DEFAULT,
               .plan = {.grace = 5, .names = names},
               .child = CHILD_NONE};
    HolderOptions *options = &run.options;
    const Option own[] = {
        {"and", 0, "NAME", N_("Also hold the lock of this name"), option_and, &run},
        {"command", 'c', "LINE", N_("Run this line of the shell $SHELL"), option_bytes,
         &run.shell_line},
        {"close", 'o', NULL, N_("Processes that the command leaves don't hold the lock"),
         option_set, &run.plan.closes},
        {"no-fork", 'F', NULL, N_("Replace this process by the command"), option_set,
         &run.plan.no_fork},
        {"also-flock", 0, "FILE", N_("Also lock this file, as flock(1) does"), option_bytes,
         &run.file},
        {"on-loss", 0, "kill|ignore",
         N_("What happens to the command if the lock is lost (default: kill)"), option_on_loss,
         &run.plan.ignore_loss},
        {"no-bus", 0, "fail|run",
         N_("What happens if there is no bus (default: fail); run: the command, without the lock"),
         option_no_bus, &options->needs_no_bus},
        {"grace", 0, "TIME", N_("Time between SIGTERM and SIGKILL after a loss (default: 5)"),
         option_time, &run.plan.grace},
        {NULL}};
    g_autofree Option *table = holder_options_table(options, own);
    g_autofree char *why = NULL, *label = NULL;
    char *shell[4] = {NULL};
    int status;

    if (!options_parse(command, table, &argc, &argv, &status))
        return status;
    if (!parse_arguments(&run, command, argc, argv, shell) ||
        !holder_options_check(options, command))
        return STATUS_USAGE;
    if (run.plan.closes && run.plan.no_fork)
        return options_complain(command, _("--close cannot be combined with --no-fork"));
    options->ignore_loss = run.plan.ignore_loss;
    label = make_label(run.plan.names);
    run.plan.label = label;
    why = make_why(&run);
    options->why = why;
    signals_take();
    return runner_split(&run.plan, &run.keeper, &status) ? run_as_keeper(&run) : status;
}
