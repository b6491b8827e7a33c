/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* `weblocks run`: runs a command while holding a lock.
 *
 * There are three phases, in this order: wait for the lock, run the command, release the lock. In
 * each phase a signal may arrive, and from the grant on the lock may be lost. All of these are
 * events of one main loop. The command stays in the process group of this process, so that signals
 * from the terminal reach both. */

#include <errno.h>
#include <glib/gi18n.h>
#include <math.h>
#include <signal.h>
#include <string.h>

#include "cli/child.h"
#include "cli/commands.h"
#include "cli/lock-output.h"
#include "cli/signals.h"
#include "cli/status.h"
#include "cli/target.h"

/* The protocol has 32 bits for a time-out in milliseconds, and 0 means no time-out. A longer time
 * is sent as 0. */
#define TIMEOUT_MS_MAX ((double)G_MAXUINT32)
/* How long to wait for the service's last answer before exiting. */
#define LAST_ANSWER_MS 3000
/* The service's limit for `why`. */
#define WHY_BYTES_MAX 256

typedef struct {
    Target target;
    gboolean shared;
    gboolean nonblock;
    gboolean steal;
    gboolean verbose;
    gboolean ignore_loss;
    double wait;  /* in seconds; negative: no limit */
    double grace; /* in seconds */
    int conflict_status;
    const char *why;
} RunOptions;

typedef enum { PHASE_WAIT, PHASE_RUN, PHASE_RELEASE } Phase;

typedef struct {
    RunOptions options;
    const char *name;
    char **command;
    GMainLoop *loop;
    GCancellable *cancellable;
    WebLocksAgent *agent;
    WebLocksManager *manager;
    WebLocksLock *lock;
    gint64 began_us;
    Phase phase;
    int signal; /* the first signal received in PHASE_WAIT; 0: none */
    gboolean lost;
    pid_t pid;
    int status; /* exit status */
} Run;

static void
finish(Run *run, int status)
{
    run->status = status;
    g_main_loop_quit(run->loop);
}

static gboolean
on_no_answer(gpointer data)
{
    Run *run = data;

    complain(_("the service does not answer"));
    g_main_loop_quit(run->loop);
    return G_SOURCE_REMOVE;
}

/* ---- loss of the lock */

/* Returns an owned text. */
static char *
describe_loss(const Run *run, const char *reason)
{
    if (g_strcmp0(reason, "stolen") == 0)
        return g_strdup_printf(_("the lock '%s' was stolen"), run->name);
    if (g_strcmp0(reason, "lost") == 0)
        return g_strdup_printf(_("the lock '%s' was lost: the service has restarted without it"),
                               run->name);
    return g_strdup_printf(_("the lock '%s' was lost: the connection to the bus has ended"),
                           run->name);
}

static gboolean
on_grace_over(gpointer data)
{
    Run *run = data;

    if (run->phase == PHASE_RUN) {
        complain(_("'%s' is still running; killing it"), run->command[0]);
        kill(run->pid, SIGKILL);
    }
    return G_SOURCE_REMOVE;
}

static void
end_command(Run *run)
{
    kill(run->pid, SIGTERM);
    /* A stopped process handles SIGTERM only after SIGCONT. */
    kill(run->pid, SIGCONT);
    g_timeout_add((guint)MIN(run->options.grace * 1000, (double)G_MAXINT32), on_grace_over, run);
}

static void
on_lost(WebLocksLock *lock, const char *reason, gpointer data)
{
    Run *run = data;
    gboolean runs = run->phase == PHASE_RUN;
    g_autofree char *loss = NULL;

    if (run->lost)
        return;
    run->lost = TRUE;
    loss = describe_loss(run, reason);
    if (!runs)
        complain("%s", loss);
    else if (run->options.ignore_loss)
        complain(_("%s; the command continues without it"), loss);
    else
        complain(_("%s; terminating the command"), loss);
    if (runs && !run->options.ignore_loss)
        end_command(run);
}

/* ---- release */

static int
status_at_end(Run *run, int status)
{
    return run->lost && !run->options.ignore_loss ? STATUS_LOST : status;
}

static void
on_released(GObject *lock, GAsyncResult *result, gpointer data)
{
    Run *run = data;
    g_autoptr(GError) error = NULL;

    /* After any error the lock may have been lost before the command ended. */
    if (!web_locks_lock_release_finish(WEB_LOCKS_LOCK(lock), result, &error) && !run->lost) {
        run->lost = TRUE;
        complain(_("the lock '%s' was lost: %s"), run->name, error->message);
    }
    finish(run, status_at_end(run, run->status));
}

static void
start_release(Run *run, int status)
{
    run->phase = PHASE_RELEASE;
    run->status = status_at_end(run, status);
    if (run->lost) {
        finish(run, run->status);
        return;
    }
    g_timeout_add(LAST_ANSWER_MS, on_no_answer, run);
    web_locks_lock_release_async(run->lock, NULL, on_released, run);
}

/* ---- the command */

/* Returns the environment of the command, owned by the caller. */
static char **
make_environment(Run *run)
{
    g_autofree char *token =
        g_strdup_printf("%" G_GUINT64_FORMAT, web_locks_lock_get_token(run->lock));
    char **env = g_get_environ();

    env = g_environ_setenv(env, "WEBLOCKS_NAME", run->name, TRUE);
    return g_environ_setenv(env, "WEBLOCKS_TOKEN", token, TRUE);
}

static void
start_command(Run *run)
{
    g_auto(GStrv) env = make_environment(run);
    int error;

    if (run->options.verbose)
        complain(_("running '%s'"), run->command[0]);
    error = child_start(run->command, env, !run->options.ignore_loss, &run->pid);
    if (error == 0) {
        run->phase = PHASE_RUN;
        return;
    }
    complain("'%s': %s", run->command[0], g_strerror(error));
    if (run->pid < 0)
        start_release(run, STATUS_SYSTEM);
    else
        start_release(run, error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE);
}

/* ---- waiting for the lock */

static void
on_inspected(GObject *manager, GAsyncResult *result, gpointer data)
{
    Run *run = data;
    g_autoptr(WebLocksSnapshot) snapshot =
        web_locks_manager_inspect_finish(WEB_LOCKS_MANAGER(manager), result, NULL);
    GListModel *held = snapshot != NULL ? web_locks_snapshot_get_held(snapshot) : NULL;
    guint n = held != NULL ? g_list_model_get_n_items(held) : 0;

    for (guint i = 0; i < n; i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(held, i);
        g_autofree char *who = lock_output_who(info);

        complain(_("'%s' is held by %s"), run->name, who);
    }
    g_main_loop_quit(run->loop);
}

static void
end_in_conflict(Run *run)
{
    run->status = run->options.conflict_status;
    if (!run->options.verbose) {
        g_main_loop_quit(run->loop);
        return;
    }
    complain(_("could not acquire '%s' in %.6f s"), run->name,
             (double)(g_get_monotonic_time() - run->began_us) / G_USEC_PER_SEC);
    g_timeout_add(LAST_ANSWER_MS, on_no_answer, run);
    web_locks_manager_inspect_async(run->manager, run->name, NULL, on_inspected, run);
}

static void
on_requested(GObject *manager, GAsyncResult *result, gpointer data)
{
    Run *run = data;
    g_autoptr(GError) error = NULL;

    run->lock = web_locks_manager_request_finish(WEB_LOCKS_MANAGER(manager), result, &error);
    if (run->signal != 0) {
        /* The request was aborted, or granted before the abort; then the lock is released when this
         * process disconnects. */
        finish(run, STATUS_SIGNALLED + run->signal);
    } else if (run->lock != NULL) {
        g_signal_connect(run->lock, "lost", G_CALLBACK(on_lost), run);
        if (run->options.verbose)
            complain(_("acquired '%s' in %.6f s, token %llu"), run->name,
                     (double)(g_get_monotonic_time() - run->began_us) / G_USEC_PER_SEC,
                     (unsigned long long)web_locks_lock_get_token(run->lock));
        if (web_locks_lock_get_held(run->lock)) {
            start_command(run);
        } else {
            /* The lock was granted and lost before the result was dispatched. */
            run->lost = TRUE;
            complain(_("the lock '%s' was lost before the command was started"), run->name);
            finish(run, STATUS_LOST);
        }
    } else if (error == NULL || g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT)) {
        end_in_conflict(run);
    } else {
        finish(run, complain_of(error));
    }
}

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

/* Returns the value of --why, or the beginning of the command line; owned by the caller. */
static char *
make_why(Run *run)
{
    g_autofree char *line = NULL;
    g_autofree char *text = NULL;
    gsize length;

    if (run->options.why != NULL)
        return g_strdup(run->options.why);
    line = g_strjoinv(" ", run->command);
    text = g_utf8_make_valid(line, -1);
    replace_noncharacters(text);
    length = strlen(text);
    if (length > WHY_BYTES_MAX)
        length = (gsize)(g_utf8_find_prev_char(text, text + WHY_BYTES_MAX + 1) - text);
    return g_strndup(text, length);
}

static guint
timeout_ms(double seconds)
{
    double ms = ceil(seconds * 1000);

    return seconds < 0 || ms > TIMEOUT_MS_MAX ? 0 : (guint)ms;
}

static void
request(Run *run)
{
    g_autoptr(WebLocksOptions) options = web_locks_options_new();
    g_autofree char *why = make_why(run);

    if (run->options.shared)
        web_locks_options_set_mode(options, WEB_LOCKS_MODE_SHARED);
    web_locks_options_set_if_available(options, run->options.nonblock);
    web_locks_options_set_steal(options, run->options.steal);
    if (!run->options.nonblock)
        web_locks_options_set_timeout(options, timeout_ms(run->options.wait));
    web_locks_options_set_why(options, why);
    web_locks_manager_request_async(run->manager, run->name, options, run->cancellable,
                                    on_requested, run);
}

static void
on_connected(GObject *source, GAsyncResult *result, gpointer data)
{
    Run *run = data;
    g_autoptr(GError) error = NULL;

    run->agent = web_locks_agent_new_finish(result, &error);
    if (run->signal != 0) {
        finish(run, STATUS_SIGNALLED + run->signal);
        return;
    }
    if (run->agent != NULL)
        run->manager = web_locks_agent_get_manager(run->agent, run->options.target.bucket, &error);
    if (run->manager != NULL)
        request(run);
    else
        finish(run, complain_of(error));
}

/* ---- signals */

static void
end_wait(Run *run, int number)
{
    gboolean again = run->signal != 0;

    if (!again) {
        run->signal = number;
        run->status = STATUS_SIGNALLED + number;
    }
    /* On the second signal, or if the request can't be aborted, exit: disconnecting ends the
     * request, too. */
    if (again || run->cancellable == NULL) {
        g_main_loop_quit(run->loop);
        return;
    }
    g_timeout_add(LAST_ANSWER_MS, on_no_answer, run);
    g_cancellable_cancel(run->cancellable);
}

static void
on_signal(int number, gboolean from_terminal, gpointer data)
{
    Run *run = data;
    int status;

    if (number == SIGCHLD) {
        if (run->phase == PHASE_RUN && child_reap(run->pid, &status))
            start_release(run, status);
    } else if (run->phase == PHASE_WAIT) {
        end_wait(run, number);
    } else if (run->phase == PHASE_RELEASE) {
        g_main_loop_quit(run->loop);
    } else if (!from_terminal || number == SIGHUP) {
        /* A signal from the terminal went to the whole process group, so the command has received
         * it already; forwarding it would deliver it twice. */
        kill(run->pid, number);
    }
}

/* Drops all references without waiting for answers: disconnecting ends what is left. */
static void
clear(Run *run)
{
    if (run->lock != NULL)
        g_signal_handlers_disconnect_by_data(run->lock, run);
    g_clear_object(&run->lock);
    g_clear_object(&run->manager);
    g_clear_object(&run->agent);
    g_clear_object(&run->cancellable);
    g_main_loop_unref(run->loop);
}

static int
run_command(const RunOptions *options, const char *name, char **command)
{
    Run run = {.options = *options, .name = name, .command = command, .status = STATUS_SOFTWARE};

    signals_take();
    run.loop = g_main_loop_new(NULL, FALSE);
    run.cancellable = g_cancellable_new();
    run.began_us = g_get_monotonic_time();
    if (signals_watch(on_signal, &run) == 0) {
        complain(_("cannot watch signals: %s"), g_strerror(errno));
        return STATUS_SYSTEM;
    }
    web_locks_agent_new_async(target_bus(&options->target), run.cancellable, on_connected, &run);
    g_main_loop_run(run.loop);
    clear(&run);
    return run.status;
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

int
command_run(const Command *command, int argc, char **argv)
{
    RunOptions run = {
        .target = TARGET_DEFAULT, .conflict_status = STATUS_CONFLICT, .wait = -1, .grace = 5};
    const Option options[] = {
        {"shared", 's', NULL, N_("Request a shared lock"), option_set, &run.shared},
        {"exclusive", 'x', NULL, N_("Request an exclusive lock (default)"), option_unset,
         &run.shared},
        {"nonblock", 'n', NULL, N_("Fail if the lock is not available immediately"), option_set,
         &run.nonblock},
        {"nb", 0, NULL, NULL, option_set, &run.nonblock},
        {"wait", 'w', "SECONDS", N_("Fail if the lock is not granted within that time"),
         option_seconds, &run.wait},
        {"timeout", 0, "SECONDS", NULL, option_seconds, &run.wait},
        {"conflict-exit-code", 'E', "STATUS",
         N_("Exit status if the lock could not be acquired"
            " (default: 1)"),
         option_status, &run.conflict_status},
        {"steal", 0, NULL, N_("Steal the lock from its holders"), option_set, &run.steal},
        {"why", 0, "TEXT", N_("Purpose shown by 'weblocks inspect' (default: the command)"),
         option_text, &run.why},
        {"on-loss", 0, "kill|ignore",
         N_("What happens to the command if the lock is lost"
            " (default: kill)"),
         option_on_loss, &run.ignore_loss},
        {"grace", 0, "SECONDS", N_("Time between SIGTERM and SIGKILL after a loss (default: 5)"),
         option_seconds, &run.grace},
        {"verbose", 'v', NULL, N_("Report how long the request took, or who holds the lock"),
         option_set, &run.verbose},
        target_bucket_option(&run.target),
        target_system_option(&run.target),
        {NULL}};
    const char *name;
    int status;

    if (!options_parse(command, options, &argc, &argv, &status))
        return status;
    if (argc < 1)
        return options_complain(command, _("missing lock name"));
    name = argv[0];
    argv += argc > 1 && strcmp(argv[1], "--") == 0 ? 2 : 1;
    if (*argv == NULL)
        return options_complain(command, _("missing command"));
    if (!g_utf8_validate(name, -1, NULL))
        return options_complain(command, _("'%s' is not valid UTF-8"), name);
    run.nonblock = run.nonblock || (run.wait >= 0 && run.wait <= 0);
    if (run.steal && (run.shared || run.wait >= 0 || run.nonblock))
        return options_complain(
            command, _("--steal cannot be combined with --shared, --nonblock or --wait"));
    return run_command(&run, name, argv);
}
