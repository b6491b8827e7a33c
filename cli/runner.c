/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/child.h"
#include "cli/language.h"
#include "cli/offspring.h"
#include "cli/signals.h"
#include "cli/status.h"

typedef struct {
    const Plan *plan;
    volatile Report *report;
    pid_t keeper;
    int wake_fd;
    int pipe_end; /* that the command inherits if it replaces this process */
    int signal;   /* the last one; 0: none */
    int status;   /* what this process returns */

    /* When the keeper has ended before its time: */
    pid_t command;
    gboolean command_has_ended;
    Offspring offspring;
    GMainLoop *loop;
} Runner;

/* ---- the end of the keeper before its time, by which the lock is lost */

static void
check_end(gpointer data)
{
    Runner *self = data;

    if (!self->command_has_ended ||
        (!self->plan->ignore_loss && !offspring_has_ended(&self->offspring)))
        return;
    if (!self->plan->ignore_loss)
        self->status = STATUS_LOST;
    g_main_loop_quit(self->loop);
}

static void
on_signal(int number, gboolean from_terminal, gpointer data)
{
    Runner *self = data;

    if (number != SIGCHLD && (!from_terminal || number == SIGHUP))
        kill(self->command, number);
    else if (number == SIGCHLD && child_reap(self->command, &self->status))
        self->command_has_ended = TRUE;
    check_end(self);
}

static void
complain_of_keeper(const Runner *self)
{
    g_autofree char *text = g_strdup_printf(
        _("the lock '%s' was lost: the process that kept it has ended"), self->plan->label);

    if (self->command_has_ended)
        complain("%s", text);
    else if (self->plan->ignore_loss)
        complain(_("%s; the command continues without it"), text);
    else
        complain(_("%s; terminating the command"), text);
}

/* The command, which was a child of the keeper, is one of this process now, unless it has ended. */
static void
replace_keeper(Runner *self)
{
    siginfo_t info;

    self->command = self->report->command;
    self->command_has_ended =
        waitid(P_PID, (id_t)self->command, &info, WEXITED | WNOHANG | WNOWAIT) < 0;
    self->status = STATUS_LOST;
    self->offspring = (Offspring){getpid(), self->plan->grace, check_end, self, 0};
    self->loop = g_main_loop_new(NULL, FALSE);
    complain_in_thread();
    signals_watch(on_signal, self);
    if (!self->plan->ignore_loss)
        offspring_end(&self->offspring);
    complain_of_keeper(self);
    kill(getpid(), SIGCHLD);
    g_main_loop_run(self->loop);
    offspring_clear(&self->offspring);
    g_main_loop_unref(self->loop);
}

/* ---- reports of the keeper, and signals */

/* With --no-fork. The keeper releases the lock when this process has ended. */
static void
become_command(Runner *self)
{
    int error;

    self->status = STATUS_SIGNALLED + self->signal;
    if (self->signal != 0)
        return;
    error = child_become(self->plan, self->report, self->pipe_end);
    complain("'%s': %s", self->plan->command[0], language_strerror(error));
    self->status = error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
}

/* One from the terminal went to the whole process group, so the keeper or the command has got it,
 * too; forwarding it would deliver it twice. */
static void
forward_signals(Runner *self, int fd)
{
    gboolean from_terminal;
    int number;

    while (signals_read(fd, &number, &from_terminal)) {
        if (number == SIGCHLD)
            continue;
        self->signal = number;
        if (!from_terminal || number == SIGHUP)
            kill(self->keeper, number);
    }
}

/* Returns the exit status. While nothing unusual happens, this process needs no main loop, which
 * would make the start of a command slower. */
static int
run(Runner *self)
{
    GPollFD polls[] = {{(int)syscall(SYS_pidfd_open, self->keeper, 0), G_IO_IN, 0},
                       {self->wake_fd, G_IO_IN, 0},
                       {signals_open(), G_IO_IN, 0}};

    /* Without a pidfd the keeper has ended. */
    while (polls[0].fd >= 0 && polls[0].revents == 0 && polls[1].revents == 0) {
        g_poll(polls, G_N_ELEMENTS(polls), -1);
        if (polls[2].revents != 0)
            forward_signals(self, polls[2].fd);
    }
    close(polls[2].fd);
    self->status = self->report->status;
    if (self->report->state == KEEPER_CALLS)
        become_command(self);
    else if (self->report->state == KEEPER_RUNS)
        replace_keeper(self);
    return self->status;
}

/* ---- the keeper's side */

static void
wake(const Keeper *self)
{
    const guint64 one = 1;

    while (write(self->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

void
keeper_report_start(const Keeper *self, pid_t pid)
{
    setsid();
    self->report->command = pid;
    if (pid == 0) {
        self->report->state = KEEPER_CALLS;
        wake(self);
    }
}

void
keeper_leave(const Keeper *self, int status)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    G_GNUC_UNUSED int unused;

    complain_flush();
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
    close(null);
    unused = chdir("/");
    self->report->status = status;
    self->report->state = KEEPER_LEAVES;
    wake(self);
}

gboolean
keeper_is_pipe_closed(const Keeper *self)
{
    GPollFD poll = {.fd = self->ends[0]};

    return g_poll(&poll, 1, 0) == 1 && (poll.revents & G_IO_HUP) != 0;
}

/* ---- the split */

/* Returns the pid of the keeper, 0 in the keeper, or -1 and errno. With `no_fork` the keeper is a
 * grandchild, whose parent has ended: the command would not expect to have a child. */
static pid_t
fork_keeper(const Plan *plan, volatile Report *report)
{
    pid_t pid = fork();
    int status = 0;

    if (!plan->no_fork || pid < 0)
        return pid;
    if (pid == 0) {
        pid = fork();
        if (pid == 0)
            return 0;
        report->keeper = pid;
        _exit(pid < 0 ? STATUS_SYSTEM : STATUS_OK);
    }
    waitpid(pid, &status, 0);
    errno = EAGAIN;
    return status == 0 ? report->keeper : -1;
}

static gboolean
fail(int *out_status)
{
    complain(_("cannot start a process: %s"), language_strerror(errno));
    *out_status = STATUS_SYSTEM;
    return FALSE;
}

gboolean
runner_split(const Plan *plan, Keeper *out_keeper, int *out_status)
{
    Runner runner = {.plan = plan};
    Keeper keeper = {.runner = getpid()};
    void *shared = mmap(NULL, sizeof(Report) + plan->names->len * sizeof(guint64),
                        PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    keeper.runner_fd = (int)syscall(SYS_pidfd_open, keeper.runner, 0);
    runner.wake_fd = keeper.wake_fd = eventfd(0, EFD_CLOEXEC);
    runner.report = keeper.report = shared;
    if (shared == MAP_FAILED || keeper.runner_fd < 0 || keeper.wake_fd < 0 ||
        (plan->no_fork && pipe2(keeper.ends, O_CLOEXEC) < 0) ||
        (runner.keeper = fork_keeper(plan, shared)) < 0)
        return fail(out_status);
    /* After exec() it would be the command that is a subreaper. */
    if (!plan->no_fork)
        prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (runner.keeper == 0) {
        *out_keeper = keeper;
        /* The runner must not have this one. */
        if (plan->no_fork || pipe2(out_keeper->ends, O_CLOEXEC) == 0)
            return TRUE;
        fail(out_status);
        keeper_leave(out_keeper, *out_status);
        return FALSE;
    }
    runner.pipe_end = keeper.ends[1];
    *out_status = run(&runner);
    complain_flush();
    /* Nothing is left to be done, and the other way takes longer. */
    _exit(*out_status);
}
