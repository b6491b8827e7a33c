/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* `weblocks run`: runs a command while holding a lock.
 *
 * After the lock, the file of --also-flock is locked, if given; then the command is started, by a
 * child that has waited for that. It stays in the process group of this process, so that signals
 * from the terminal reach both.
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
#include "cli/signals.h"
#include "cli/status.h"
#include "common/program-name.h"

/* The service's limit for `why`, and for the command with its process id. */
#define WHY_BYTES_MAX  256
#define NAME_BYTES_MAX (WHY_BYTES_MAX - 24)

typedef struct {
    Holder holder;
    const char *shell_line; /* NULL: none */
    const char *file;       /* NULL: none */
    double grace;           /* in seconds */
    char **command;
    int fd;            /* of the file; -1: none */
    WaitingLine *line; /* while waiting for the file */
    Child child;       /* that becomes the command, or has */
    gboolean is_started;
} Run;

/* ---- loss of the lock */

static gboolean
on_grace_over(gpointer data)
{
    Run *run = data;

    if (run->holder.phase == PHASE_HOLD) {
        kill(run->child.pid, SIGKILL);
        complain(_("'%s' is still running; killing it"), run->command[0]);
    }
    return G_SOURCE_REMOVE;
}

static void
end_command(Run *run)
{
    kill(run->child.pid, SIGTERM);
    /* A stopped process handles SIGTERM only after SIGCONT. */
    kill(run->child.pid, SIGCONT);
    g_timeout_add((guint)MIN(run->grace * 1000, (double)G_MAXINT32), on_grace_over, run);
}

static void
on_lost(Holder *holder, const char *text)
{
    Run *run = (Run *)holder;

    if (!run->is_started) {
        g_clear_pointer(&run->line, waiting_line_free);
        complain("%s", text);
        holder_end(holder, STATUS_LOST);
    } else if (holder->options.ignore_loss) {
        complain(_("%s; the command continues without it"), text);
    } else {
        end_command(run);
        complain(_("%s; terminating the command"), text);
    }
}

/* ---- the command */

static void
reap(Run *run)
{
    int status;

    if (!child_reap(run->child.pid, &status))
        return;
    if (run->fd >= 0)
        close(run->fd);
    holder_end(&run->holder, status);
}

/* The child may have been killed before it became the command. */
static gboolean
on_started(int fd, GIOCondition condition, gpointer data)
{
    Run *run = data;
    int error = child_finish_start(&run->child);

    if (error != 0) {
        complain("'%s': %s", run->command[0], g_strerror(error));
        holder_end(&run->holder, error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE);
    } else {
        reap(run);
    }
    return G_SOURCE_REMOVE;
}

/* After a signal or a loss that the main loop handles next, the command is not started. */
static void
start_command(Run *run)
{
    if (run->holder.options.verbose)
        complain(_("running '%s'"), run->command[0]);
    complain_flush();
    if (signals_pending() || !web_locks_lock_get_held(run->holder.lock))
        return;
    run->is_started = TRUE;
    child_start(&run->child, web_locks_lock_get_token(run->holder.lock));
    g_unix_fd_add(run->child.fd, G_IO_IN | G_IO_HUP, on_started, run);
}

static void
on_signal(Holder *holder, int number, gboolean from_terminal)
{
    Run *run = (Run *)holder;

    if (number == SIGCHLD) {
        if (run->is_started && run->child.fd < 0)
            reap(run);
    } else if (!run->is_started) {
        g_clear_pointer(&run->line, waiting_line_free);
        holder_end(holder, STATUS_SIGNALLED + number);
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

/* Returns the beginning of the command line, owned by the caller. */
static char *
make_why(Run *run)
{
    g_autofree char *line =
        run->shell_line != NULL ? g_strdup(run->shell_line) : g_strjoinv(" ", run->command);

    return shorten(line, WHY_BYTES_MAX);
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
        name = program_name_of_words((const char *const *)run->command);
    return name != NULL ? name : g_strdup(run->command[0]);
}

/* Returns what the lock is for, owned by the caller: "rsync (pid 123)". */
static char *
make_command(const Run *run)
{
    g_autofree char *name = make_name(run), *text = shorten(name, NAME_BYTES_MAX);

    return g_strdup_printf("%s (pid %d)", text, run->child.pid);
}

static gboolean
option_on_loss(const char *value, gpointer into, GError **error)
{
    *(gboolean *)into = strcmp(value, "ignore") == 0;
    if (*(gboolean *)into || strcmp(value, "kill") == 0)
        return TRUE;
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                _("'%s' is neither kill nor ignore"), value);
    return FALSE;
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

/* Parses what follows the options: NAME [--] COMMAND..., or NAME -c LINE as in flock(1). For a
 * shell line the command is in `shell`, which has room for it. Returns FALSE after reporting an
 * error. */
static gboolean
parse_arguments(Run *run, const Command *command, int argc, char **argv, char **shell)
{
    const char *program = g_getenv("SHELL");
    int n_taken = 0;

    if (argc < 1) {
        options_complain(command, _("missing lock name"));
        return FALSE;
    }
    run->holder.name = argv[0];
    run->command = argv + 1;
    if (!g_utf8_validate(run->holder.name, -1, NULL)) {
        options_complain(command, _("'%s' is not valid UTF-8"), run->holder.name);
        return FALSE;
    }
    if (argc > 1)
        n_taken = strcmp(argv[1], "--") == 0 ? 1 : take_shell_line(run, argv + 1);
    if (n_taken < 0) {
        options_complain(command, _("option '%s' requires an argument"), argv[1]);
        return FALSE;
    }
    run->command += n_taken;
    if (run->shell_line != NULL && *run->command != NULL) {
        options_complain(command, _("unexpected argument '%s'"), *run->command);
        return FALSE;
    }
    if (run->shell_line != NULL) {
        shell[0] = (char *)(program != NULL && *program != '\0' ? program : _PATH_BSHELL);
        shell[1] = (char *)"-c";
        shell[2] = (char *)run->shell_line;
        run->command = shell;
    }
    if (*run->command == NULL) {
        options_complain(command, _("missing command"));
        return FALSE;
    }
    return TRUE;
}

int
command_run(const Command *command, int argc, char **argv)
{
    static const HolderEvents events = {on_granted, on_lost, on_signal};
    Run run = {
        .holder = {.options = HOLDER_OPTIONS_DEFAULT, .events = &events},
        .grace = 5,
        .fd = -1,
        .child = CHILD_NONE,
    };
    HolderOptions *options = &run.holder.options;
    const Option own[] = {{"command", 'c', "LINE", N_("Run this line of the shell $SHELL"),
                           option_bytes, &run.shell_line},
                          {"also-flock", 0, "FILE", N_("Also lock this file, as flock(1) does"),
                           option_bytes, &run.file},
                          {"on-loss", 0, "kill|ignore",
                           N_("What happens to the command if the lock is lost (default: kill)"),
                           option_on_loss, &options->ignore_loss},
                          {"grace", 0, "TIME",
                           N_("Time between SIGTERM and SIGKILL after a loss (default: 5)"),
                           option_time, &run.grace},
                          {NULL}};
    g_autofree Option *table = holder_options_table(options, own);
    g_autofree char *why = NULL, *what = NULL;
    char *shell[4] = {NULL};
    int status;

    if (!options_parse(command, table, &argc, &argv, &status))
        return status;
    if (!parse_arguments(&run, command, argc, argv, shell) ||
        !holder_options_check(options, command))
        return STATUS_USAGE;
    why = make_why(&run);
    if (options->why == NULL)
        options->why = why;
    if (run.file != NULL && (run.fd = file_lock_open(run.file)) < 0) {
        complain("'%s': %s", run.file, g_strerror(errno));
        return STATUS_NO_FILE;
    }
    signals_take();
    status = child_fork(&run.child, run.command, run.holder.name, !options->ignore_loss);
    if (status != 0) {
        complain("'%s': %s", run.command[0], g_strerror(status));
        return STATUS_SYSTEM;
    }
    what = make_command(&run);
    options->command = what;
    status = holder_main(&run.holder);
    if (!run.is_started)
        child_cancel(&run.child);
    return status;
}
