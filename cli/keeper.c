/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The keeper of `weblocks run`, see runner.h.
 *
 * After the lock, the file of --also-flock is locked, if given; then the command is started.
 *
 * The order of the two locks is the same in all processes, and flock(1) takes only the second one,
 * so there is no deadlock. The file comes second, since its lock is not granted in the order of
 * requests: so at most one of the processes that request both competes for it with those that use
 * flock(1). */

#include <errno.h>
#include <glib-unix.h>
#include <math.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/file-lock.h"
#include "cli/holder.h"
#include "cli/language.h"
#include "cli/offspring.h"
#include "cli/run.h"
#include "cli/signals.h"
#include "cli/status.h"

typedef struct {
    Holder holder;
    Run *run;
    Keeper *keeper;
    int fd;              /* of the file; -1: none */
    WaitingLine *line;   /* while waiting for the file */
    gboolean is_started; /* the command */
    gboolean has_ended;  /* the command */
    int status;          /* of the command */
    Offspring offspring;
} Kept;

/* ---- the end of the command */

/* Lets the runner exit. */
static void
leave(Kept *self, int status)
{
    complain_flush();
    keeper_leave(self->keeper, status);
}

/* Processes that the command has left still have the pipe. As with flock(1), the lock stays held,
 * and the runner ends. */
static void
stay_alone(Kept *self)
{
    g_autofree char *label = run_make_label(self->keeper->report);

    if (self->keeper->report->state == KEEPER_LEAVES)
        return;
    if (self->holder.options.verbose)
        complain(_("'%s' stays locked for processes that the command has left"), label);
    leave(self, self->status);
}

/* Releases the lock if nothing needs it any more. */
static void
check_end(gpointer data)
{
    Kept *self = data;

    if (self->holder.phase != PHASE_HOLD || !self->has_ended)
        return;
    if (self->holder.lost && !self->holder.options.ignore_loss) {
        if (offspring_has_ended(&self->offspring))
            holder_end(&self->holder, self->status);
    } else if (keeper_is_pipe_closed(self->keeper)) {
        if (self->fd >= 0)
            close(self->fd);
        holder_end(&self->holder, self->status);
    } else {
        stay_alone(self);
    }
}

static gboolean
on_pipe_closed(int fd, GIOCondition condition, gpointer data)
{
    check_end(data);
    return G_SOURCE_REMOVE;
}

static void
on_command_ended(Kept *self, int status)
{
    self->has_ended = TRUE;
    self->status = status;
    check_end(self);
}

static void
reap(Kept *self)
{
    int status;

    /* If it could not become the command, on_started() is called next. */
    if (!self->is_started || self->keeper->child.fd >= 0)
        return;
    if (child_reap(self->keeper->child.pid, &status))
        on_command_ended(self, status);
    else
        check_end(self);
}

/* ---- loss of the lock */

/* Ends the hold before the command was started. */
static void
give_up(Kept *self, int status)
{
    g_clear_pointer(&self->line, waiting_line_free);
    holder_end(&self->holder, status);
}

static void
on_lost(Holder *holder, const char *text)
{
    Kept *self = (Kept *)holder;

    if (!self->is_started) {
        complain("%s", text);
        give_up(self, STATUS_LOST);
    } else if (self->holder.options.ignore_loss) {
        complain(_("%s; the command continues without it"), text);
    } else {
        offspring_end(&self->offspring);
        complain(_("%s; terminating the command"), text);
    }
    check_end(self);
}

/* ---- the command */

/* When nothing but the command has its end, the pipe is closed with it. */
static void
watch_pipe(Kept *self)
{
    close(self->keeper->ends[1]);
    g_unix_fd_add(self->keeper->ends[0], G_IO_HUP, on_pipe_closed, self);
}

static gboolean
on_started(int fd, GIOCondition condition, gpointer data)
{
    Kept *self = data;
    int error = child_finish_start(&self->keeper->child);

    if (error != 0) {
        complain("'%s': %s", child_get_program(self->keeper->report), language_strerror(error));
        on_command_ended(self, error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE);
    }
    reap(self);
    return G_SOURCE_REMOVE;
}

static void
report_tokens(Kept *self)
{
    volatile Report *report = self->keeper->report;

    for (guint i = 0; i < report->n_locks; i++) {
        WebLocksLock *lock = holder_get_lock(&self->holder, report->locks[i].name);

        report->locks[i].token = lock != NULL ? web_locks_lock_get_token(lock) : 0;
    }
}

/* After a signal or a loss that the main loop handles next, the command is not started. The keeper
 * has left the process group before it looks for signals: one that comes later is one that the
 * command gets. */
static void
start_command(Kept *self)
{
    if (self->holder.options.verbose)
        complain(_("running '%s'"), child_get_program(self->keeper->report));
    complain_flush();
    report_tokens(self);
    if (self->run->no_fork) {
        self->is_started = TRUE;
        keeper_report_start(self->keeper, 0);
        watch_pipe(self);
        return;
    }
    keeper_report_start(self->keeper, self->keeper->child.pid);
    if (signals_pending() || !holder_is_intact(&self->holder))
        return;
    self->is_started = TRUE;
    child_start(&self->keeper->child);
    g_unix_fd_add(self->keeper->child.fd, G_IO_IN | G_IO_HUP, on_started, self);
    watch_pipe(self);
}

static gboolean
on_runner_ended(int fd, GIOCondition condition, gpointer data)
{
    Kept *self = data;

    if (!self->is_started && self->holder.phase == PHASE_HOLD) {
        give_up(self, STATUS_LOST);
    } else if (!self->is_started) {
        holder_end(&self->holder, STATUS_LOST);
    } else if (self->run->no_fork) {
        self->offspring.root = 0; /* none: another process may get the pid */
        on_command_ended(self, STATUS_OK);
    } else if (!self->holder.options.ignore_loss && !self->has_ended) {
        kill(self->keeper->child.pid, SIGTERM);
        kill(self->keeper->child.pid, SIGCONT);
    }
    return G_SOURCE_REMOVE;
}

/* With `no_fork` it is not a child, so its pid may be that of another process. */
static void
signal_command(const Kept *self, int number)
{
    if (self->run->no_fork)
        syscall(SYS_pidfd_send_signal, self->keeper->runner_fd, number, NULL, 0);
    else
        kill(self->keeper->child.pid, number);
}

static void
on_signal(Holder *holder, int number, gboolean from_terminal)
{
    Kept *self = (Kept *)holder;

    if (number == SIGCHLD) {
        reap(self);
    } else if (!self->is_started) {
        give_up(self, STATUS_SIGNALLED + number);
    } else if (self->has_ended) {
        offspring_signal(&self->offspring, number);
    } else if (!from_terminal || number == SIGHUP) {
        /* A signal from the terminal went to the whole process group, so the command has received
         * it already; forwarding it would deliver it twice. */
        signal_command(self, number);
    }
}

/* ---- the lock of the file */

static void
end_in_conflict(Kept *self)
{
    if (self->holder.options.verbose)
        complain(_("could not lock '%s' in %.6f s"), self->run->file,
                 (double)(g_get_monotonic_time() - self->holder.began_us) / G_USEC_PER_SEC);
    holder_end(&self->holder, self->holder.options.conflict_status);
}

static void
on_file_locked(Kept *self, int error)
{
    g_clear_pointer(&self->line, waiting_line_free);
    if (error == 0) {
        start_command(self);
        return;
    }
    complain("'%s': %s", self->run->file, file_lock_describe(error));
    holder_end(&self->holder, STATUS_SYSTEM);
}

static void
on_file_waited(GObject *source, GAsyncResult *result, gpointer data)
{
    Kept *self = data;

    if (self->holder.phase == PHASE_HOLD)
        on_file_locked(self, file_lock_wait_finish(result));
}

static gboolean
on_file_timeout(gpointer data)
{
    Kept *self = data;

    if (self->holder.phase == PHASE_HOLD && !self->is_started) {
        g_clear_pointer(&self->line, waiting_line_free);
        end_in_conflict(self);
    }
    return G_SOURCE_REMOVE;
}

/* The time-out is for both locks together. */
static void
lock_file(Kept *self)
{
    const HolderOptions *options = &self->holder.options;
    int error = file_lock_try(self->fd, options->shared);
    double rest_ms =
        options->wait * 1000 - (double)(g_get_monotonic_time() - self->holder.began_us) / 1000;

    if (error != EWOULDBLOCK) {
        on_file_locked(self, error);
        return;
    }
    if (options->nonblock) {
        end_in_conflict(self);
        return;
    }
    if (options->wait >= 0 && rest_ms <= (double)G_MAXUINT32)
        g_timeout_add((guint)ceil(MAX(rest_ms, 0)), on_file_timeout, self);
    self->line = waiting_line_new(NULL, self->run->file, options->verbose);
    file_lock_wait_async(self->fd, options->shared, on_file_waited, self);
}

static void
on_granted(Holder *holder)
{
    Kept *self = (Kept *)holder;

    if (self->fd >= 0)
        lock_file(self);
    else
        start_command(self);
}

/* ---- life */

/* Ends this process without what exit() does and frees, unless something counts on it: leaks and
 * coverage are reported by exit(). */
static void
end_process(int status)
{
    if (!WEBLOCKS_ENDS_BY_EXIT)
        _exit(status);
}

int
keeper_main(Run *run)
{
    static const HolderEvents events = {on_granted, on_lost, on_signal};
    Keeper *keeper = run->keeper;
    const pid_t root = run->no_fork ? keeper->runner : getpid();
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    Kept self = {.holder = {.options = run->options, .events = &events, .names = names},
                 .run = run,
                 .keeper = keeper,
                 .fd = -1,
                 .offspring = {root, keeper->report->grace, check_end, &self, 0}};
    int status;

    for (guint i = 0; i < keeper->report->n_locks; i++)
        holder_add_name(&self.holder, keeper->report->locks[i].name);
    g_unix_fd_add(keeper->runner_fd, G_IO_IN, on_runner_ended, &self);
    if (run->file != NULL && (self.fd = file_lock_open(run->file)) < 0) {
        complain("'%s': %s", run->file, language_strerror(errno));
        status = STATUS_NO_FILE;
    } else {
        status = holder_main(&self.holder);
    }
    if (!self.is_started)
        child_cancel(&keeper->child);
    /* Nobody has to wait for the disconnection from the bus, and this process needs to do nothing
     * for it. */
    if (holder_has_released(&self.holder)) {
        leave(&self, status);
        end_process(status);
    }
    holder_clear(&self.holder);
    offspring_clear(&self.offspring);
    leave(&self, status);
    return status;
}
