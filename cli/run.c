/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* `weblocks run`: runs a command while holding a lock. This is the keeper of runner.h.
 *
 * After the lock, the file of --also-flock is locked, if given; then the command is started.
 *
 * The order of the two locks is the same in all processes, and flock(1) takes only the second one,
 * so there is no deadlock. The file comes second, since its lock is not granted in the order of
 * requests: so at most one of the processes that request both competes for it with those that use
 * flock(1). */

#include <errno.h>
#include <glib-unix.h>
#include <glib/gi18n.h>
#include <math.h>
#include <paths.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/child.h"
#include "cli/commands.h"
#include "cli/file-lock.h"
#include "cli/holder.h"
#include "cli/offspring.h"
#include "cli/runner.h"
#include "cli/signals.h"
#include "cli/status.h"
#include "common/program-name.h"

/* The service's limit for `why`, and for the command with its process id. */
#define WHY_BYTES_MAX  256
#define NAME_BYTES_MAX (WHY_BYTES_MAX - 24)

typedef struct {
    Holder holder;
    Plan plan;
    const char *shell_line; /* NULL: none */
    const char *file;       /* NULL: none */
    int fd;                 /* of the file; -1: none */
    Keeper keeper;
    WaitingLine *line; /* while waiting for the file */
    Child child;       /* that becomes the command, or has; with --no-fork the runner */
    gboolean is_started;
    gboolean has_ended; /* the command */
    int status;         /* of the command */
    gboolean is_alone;  /* the runner was told that processes stay which the command has left */
    Offspring offspring;
} Run;

/* ---- the end of the command */

/* Processes that the command has left still have the pipe. As with flock(1), the lock stays held,
 * and the runner ends. */
static void
stay_alone(Run *run)
{
    run->is_alone = TRUE;
    if (run->holder.options.verbose)
        complain(_("'%s' stays locked for processes that the command has left"), run->plan.label);
    keeper_leave(&run->keeper, run->status);
}

/* Releases the lock if nothing needs it any more. */
static void
check_end(gpointer data)
{
    Run *run = data;

    if (run->holder.phase != PHASE_HOLD || !run->has_ended)
        return;
    if (run->holder.lost && !run->plan.ignore_loss) {
        if (offspring_has_ended(&run->offspring))
            holder_end(&run->holder, run->status);
    } else if (keeper_is_pipe_closed(&run->keeper)) {
        if (run->fd >= 0)
            close(run->fd);
        holder_end(&run->holder, run->status);
    } else if (!run->is_alone) {
        stay_alone(run);
    }
}

static gboolean
on_pipe_closed(int fd, GIOCondition condition, gpointer data)
{
    check_end(data);
    return G_SOURCE_REMOVE;
}

static void
on_command_ended(Run *run, int status)
{
    run->has_ended = TRUE;
    run->status = status;
    check_end(run);
}

static void
reap(Run *run)
{
    int status;

    /* If it could not become the command, on_started() is called next. */
    if (!run->is_started || run->child.fd >= 0)
        return;
    if (child_reap(run->child.pid, &status))
        on_command_ended(run, status);
    else
        check_end(run);
}

/* ---- loss of the lock */

/* Ends the hold before the command was started. */
static void
give_up(Run *run, int status)
{
    g_clear_pointer(&run->line, waiting_line_free);
    holder_end(&run->holder, status);
}

static void
on_lost(Holder *holder, const char *text)
{
    Run *run = (Run *)holder;

    if (!run->is_started) {
        complain("%s", text);
        give_up(run, STATUS_LOST);
    } else if (run->plan.ignore_loss) {
        complain(_("%s; the command continues without it"), text);
    } else {
        offspring_end(&run->offspring);
        complain(_("%s; terminating the command"), text);
    }
    check_end(run);
}

/* ---- the command */

/* When nothing but the command has its end, the pipe is closed with it. */
static void
watch_pipe(Run *run)
{
    close(run->keeper.ends[1]);
    g_unix_fd_add(run->keeper.ends[0], G_IO_HUP, on_pipe_closed, run);
}

static gboolean
on_started(int fd, GIOCondition condition, gpointer data)
{
    Run *run = data;
    int error = child_finish_start(&run->child);

    if (error != 0) {
        complain("'%s': %s", run->plan.command[0], g_strerror(error));
        on_command_ended(run, error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE);
    }
    reap(run);
    return G_SOURCE_REMOVE;
}

static void
report_tokens(Run *run)
{
    for (guint i = 0; i < run->plan.names->len; i++) {
        WebLocksLock *lock = holder_get_lock(&run->holder, run->plan.names->pdata[i]);

        run->keeper.report->tokens[i] = lock != NULL ? web_locks_lock_get_token(lock) : 0;
    }
}

/* After a signal or a loss that the main loop handles next, the command is not started. The keeper
 * has left the process group before it looks for signals: one that comes later is one that the
 * command gets. */
static void
start_command(Run *run)
{
    if (run->holder.options.verbose)
        complain(_("running '%s'"), run->plan.command[0]);
    complain_flush();
    report_tokens(run);
    if (run->plan.no_fork) {
        run->is_started = TRUE;
        keeper_report_start(&run->keeper, 0);
        watch_pipe(run);
        return;
    }
    keeper_report_start(&run->keeper, run->child.pid);
    if (signals_pending() || !holder_is_intact(&run->holder))
        return;
    run->is_started = TRUE;
    child_start(&run->child);
    g_unix_fd_add(run->child.fd, G_IO_IN | G_IO_HUP, on_started, run);
    watch_pipe(run);
}

static gboolean
on_runner_ended(int fd, GIOCondition condition, gpointer data)
{
    Run *run = data;

    if (!run->is_started && run->holder.phase == PHASE_HOLD) {
        give_up(run, STATUS_LOST);
    } else if (!run->is_started) {
        holder_end(&run->holder, STATUS_LOST);
    } else if (run->plan.no_fork) {
        run->offspring.root = 0; /* none: another process may get the pid */
        on_command_ended(run, STATUS_OK);
    } else if (!run->plan.ignore_loss && !run->has_ended) {
        kill(run->child.pid, SIGTERM);
        kill(run->child.pid, SIGCONT);
    }
    return G_SOURCE_REMOVE;
}

static void
on_signal(Holder *holder, int number, gboolean from_terminal)
{
    Run *run = (Run *)holder;

    if (number == SIGCHLD) {
        reap(run);
    } else if (!run->is_started) {
        give_up(run, STATUS_SIGNALLED + number);
    } else if (run->has_ended) {
        offspring_signal(&run->offspring, number);
    } else if (!from_terminal || number == SIGHUP) {
        /* A signal from the terminal went to the whole process group, so the command has received
         * it already; forwarding it would deliver it twice. */
        kill(run->child.pid, number);
    }
}

/* ---- the lock of the file */

static void
end_in_conflict(Run *run)
{
    if (run->holder.options.verbose)
        complain(_("could not lock '%s' in %.6f s"), run->file,
                 (double)(g_get_monotonic_time() - run->holder.began_us) / G_USEC_PER_SEC);
    holder_end(&run->holder, run->holder.options.conflict_status);
}

static void
on_file_locked(Run *run, int error)
{
    g_clear_pointer(&run->line, waiting_line_free);
    if (error == 0) {
        start_command(run);
        return;
    }
    complain("'%s': %s", run->file, file_lock_describe(error));
    holder_end(&run->holder, STATUS_SYSTEM);
}

static void
on_file_waited(GObject *source, GAsyncResult *result, gpointer data)
{
    Run *run = data;

    if (run->holder.phase == PHASE_HOLD)
        on_file_locked(run, file_lock_wait_finish(result));
}

static gboolean
on_file_timeout(gpointer data)
{
    Run *run = data;

    if (run->holder.phase == PHASE_HOLD && !run->is_started) {
        g_clear_pointer(&run->line, waiting_line_free);
        end_in_conflict(run);
    }
    return G_SOURCE_REMOVE;
}

/* The time-out is for both locks together. */
static void
lock_file(Run *run)
{
    const HolderOptions *options = &run->holder.options;
    int error = file_lock_try(run->fd, options->shared);
    double rest_ms =
        options->wait * 1000 - (double)(g_get_monotonic_time() - run->holder.began_us) / 1000;

    if (error != EWOULDBLOCK) {
        on_file_locked(run, error);
        return;
    }
    if (options->nonblock) {
        end_in_conflict(run);
        return;
    }
    if (options->wait >= 0 && rest_ms <= (double)G_MAXUINT32)
        g_timeout_add((guint)ceil(MAX(rest_ms, 0)), on_file_timeout, run);
    run->line = waiting_line_new(NULL, run->file, options->verbose);
    file_lock_wait_async(run->fd, options->shared, on_file_waited, run);
}

static void
on_granted(Holder *holder)
{
    Run *run = (Run *)holder;

    if (run->fd >= 0)
        lock_file(run);
    else
        start_command(run);
}

/* ---- the command line */

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
    const char *why = run->holder.options.why;
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

    return g_strdup_printf("%s (pid %d)", text, run->child.pid);
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
    holder_add_name(&run->holder, name);
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

/* What has to be done before this process has other threads. Returns the exit status. */
static int
prepare(Run *run)
{
    int error;

    if (run->file != NULL && (run->fd = file_lock_open(run->file)) < 0) {
        complain("'%s': %s", run->file, g_strerror(errno));
        return STATUS_NO_FILE;
    }
    if (run->plan.no_fork) {
        run->child.pid = run->offspring.root = run->keeper.runner;
        return STATUS_OK;
    }
    error = child_fork(&run->child, &run->plan, &run->keeper);
    if (error == 0)
        return STATUS_OK;
    complain("'%s': %s", run->plan.command[0], g_strerror(error));
    return STATUS_SYSTEM;
}

static int
run_as_keeper(Run *run)
{
    g_autofree char *what = NULL;
    int status;

    run->offspring = (Offspring){getpid(), run->plan.grace, check_end, run, 0};
    g_unix_fd_add(run->keeper.runner_fd, G_IO_IN, on_runner_ended, run);
    status = prepare(run);
    if (status == STATUS_OK) {
        what = make_command(run);
        run->holder.options.command = what;
        status = holder_main(&run->holder);
    }
    offspring_clear(&run->offspring);
    if (!run->is_started && !run->plan.no_fork && run->child.pid != 0)
        child_cancel(&run->child);
    if (!run->is_alone)
        keeper_leave(&run->keeper, status);
    return status;
}

int
command_run(const Command *command, int argc, char **argv)
{
    static const HolderEvents events = {on_granted, on_lost, on_signal};
    g_autoptr(GPtrArray) names = g_ptr_array_new(), sorted = g_ptr_array_new();
    Run run = {.holder = {.options = HOLDER_OPTIONS_DEFAULT, .events = &events, .names = sorted},
               .plan = {.grace = 5, .names = names},
               .fd = -1,
               .child = CHILD_NONE};
    HolderOptions *options = &run.holder.options;
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
