/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the runner of `weblocks run` does when its keeper has ended before its time, by which the
 * lock is lost: it ends the command, which is its child now. */

#include <glib-unix.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/language.h"
#include "cli/offspring.h"
#include "cli/run.h"
#include "cli/signals.h"
#include "cli/status.h"

typedef struct {
    const volatile Report *report;
    gboolean command_has_ended;
    Offspring offspring;
    GMainLoop *loop;
    int status;
} Successor;

static void
check_end(gpointer data)
{
    Successor *self = data;

    if (!self->command_has_ended ||
        (!self->report->ignores_loss && !offspring_has_ended(&self->offspring)))
        return;
    if (!self->report->ignores_loss)
        self->status = STATUS_LOST;
    g_main_loop_quit(self->loop);
}

static void
take_signal(Successor *self, int number, gboolean from_terminal)
{
    if (number == SIGCHLD) {
        if (child_reap(self->report->command, &self->status))
            self->command_has_ended = TRUE;
    } else if (self->command_has_ended) {
        offspring_signal(&self->offspring, number);
    } else if (!from_terminal || number == SIGHUP) {
        kill(self->report->command, number);
    }
    check_end(self);
}

static gboolean
on_signal(int fd, GIOCondition condition, gpointer data)
{
    gboolean from_terminal;
    int number;

    while (signals_read(fd, &number, &from_terminal))
        take_signal(data, number, from_terminal);
    return G_SOURCE_CONTINUE;
}

static void
complain_of_keeper(const Successor *self)
{
    g_autofree char *label = run_make_label(self->report);
    g_autofree char *text =
        g_strdup_printf(_("the lock '%s' was lost: the process that kept it has ended"), label);

    if (self->command_has_ended)
        complain("%s", text);
    else if (self->report->ignores_loss)
        complain(_("%s; the command continues without it"), text);
    else
        complain(_("%s; terminating the command"), text);
}

int
successor_main(const volatile Report *report)
{
    Successor self = {.report = report,
                      .status = STATUS_LOST,
                      .offspring = {getpid(), report->grace, check_end, &self, 0}};
    siginfo_t info;

    /* 0: there is no command. What else is below this process, as after `exec` in a shell, is not
     * the command's. */
    self.command_has_ended = report->command == 0 || waitid(P_PID, (id_t)report->command, &info,
                                                            WEXITED | WNOHANG | WNOWAIT) < 0;
    if (report->command == 0) {
        complain_of_keeper(&self);
        return STATUS_LOST;
    }
    self.loop = g_main_loop_new(NULL, FALSE);
    complain_in_thread();
    g_unix_fd_add(signals_open(), G_IO_IN, on_signal, &self);
    if (!report->ignores_loss)
        offspring_end(&self.offspring);
    complain_of_keeper(&self);
    kill(getpid(), SIGCHLD);
    g_main_loop_run(self.loop);
    offspring_clear(&self.offspring);
    g_main_loop_unref(self.loop);
    complain_flush();
    return self.status;
}
