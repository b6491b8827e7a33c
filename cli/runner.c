/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/inherited.h"
#include "cli/module.h"
#include "cli/signals.h"
#include "cli/status.h"

typedef struct {
    volatile Report *report;
    pid_t keeper;
    int wake_fd;
    int pipe_end; /* that the command inherits if it replaces this process */
    int signal;   /* the last one; 0: none */
} Runner;

static gboolean
fail(int error, int *out_status)
{
    void (*complain_of)(const char *, int) = module_find("complain_of_number");

    if (complain_of != NULL)
        complain_of(NULL, error);
    *out_status = STATUS_SYSTEM;
    return FALSE;
}

/* ---- the runner */

/* With --no-fork. The keeper releases the lock when this process has ended. */
static int
become_command(const Runner *self)
{
    void (*complain_of)(const char *, int);
    int error;

    if (self->signal != 0)
        return STATUS_SIGNALLED + self->signal;
    error = child_become(self->report, self->pipe_end);
    complain_of = module_find("complain_of_number");
    if (complain_of != NULL)
        complain_of(child_get_program(self->report), error);
    return error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
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

/* As successor_main(), for the command only, and not for what it has started. */
static int
succeed_without_module(Runner *self)
{
    const volatile Report *report = self->report;
    struct pollfd polls[] = {{(int)syscall(SYS_pidfd_open, report->command, 0), POLLIN, 0},
                             {signals_open(), POLLIN, 0}};
    const double grace_ms = report->grace * 1000;
    int status = STATUS_LOST;

    self->keeper = report->command; /* gets the signals */
    if (!report->ignores_loss) {
        kill(report->command, SIGTERM);
        kill(report->command, SIGCONT);
        if (poll(polls, 1, grace_ms < INT_MAX ? (int)grace_ms : INT_MAX) == 0)
            kill(report->command, SIGKILL);
    }
    while (polls[0].fd >= 0 && polls[0].revents == 0) {
        poll(polls, G_N_ELEMENTS(polls), -1);
        if (polls[1].revents != 0)
            forward_signals(self, polls[1].fd);
    }
    child_reap(report->command, &status);
    return report->ignores_loss ? status : STATUS_LOST;
}

/* When the keeper has ended before its time. The module may be gone, or that of another version:
 * this process runs for longer. */
static int
succeed_keeper(Runner *self)
{
    int (*function)(const volatile Report *) = module_find("successor_main");

    if (function != NULL)
        return function(self->report);
    return self->report->command != 0 ? succeed_without_module(self) : STATUS_LOST;
}

/* Returns the exit status. */
static int
run(Runner *self)
{
    const int keeper_fd = (int)syscall(SYS_pidfd_open, self->keeper, 0);
    const gboolean has_keeper = keeper_fd >= 0 || errno != ESRCH;
    struct pollfd polls[] = {
        {keeper_fd, POLLIN, 0}, {self->wake_fd, POLLIN, 0}, {signals_open(), POLLIN, 0}};
    int status;

    /* The keeper ends with this process. */
    if (has_keeper && (keeper_fd < 0 || polls[2].fd < 0)) {
        fail(errno, &status);
        return status;
    }
    while (has_keeper && polls[0].revents == 0 && polls[1].revents == 0) {
        poll(polls, G_N_ELEMENTS(polls), -1);
        if (polls[2].revents != 0)
            forward_signals(self, polls[2].fd);
    }
    close(polls[2].fd);
    if (self->report->state == KEEPER_LEAVES)
        return self->report->status;
    return self->report->state == KEEPER_CALLS ? become_command(self) : succeed_keeper(self);
}

/* ---- the keeper's side */

static void
wake(const Keeper *self)
{
    const guint64 one = 1;

    while (write(self->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

/* Up to the stream `last`, and with all else that was inherited. */
static void
leave_streams(int last)
{
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int fd = STDIN_FILENO; fd <= last; fd++)
        dup2(null, fd);
    close(null);
    inherited_close();
}

void
keeper_report_start(const Keeper *self, pid_t pid)
{
    setsid();
    self->report->command = pid;
    if (pid == 0) {
        leave_streams(STDOUT_FILENO);
        self->report->state = KEEPER_CALLS;
        wake(self);
    }
}

void
keeper_leave(Keeper *self, int status)
{
    G_GNUC_UNUSED int unused;

    if (self->report->state == KEEPER_LEAVES)
        return;
    if (self->report->command == 0)
        child_cancel(&self->child);
    leave_streams(STDERR_FILENO);
    unused = chdir("/");
    self->report->status = status;
    self->report->state = KEEPER_LEAVES;
    wake(self);
}

gboolean
keeper_is_pipe_closed(const Keeper *self)
{
    struct pollfd pipe = {.fd = self->ends[0]};

    return poll(&pipe, 1, 0) == 1 && (pipe.revents & POLLHUP) != 0;
}

/* ---- the split */

/* Returns the pid of the keeper, 0 in the keeper, or -1 and errno. With `no_fork` the keeper is a
 * grandchild, whose parent has ended: the command would not expect to have a child. */
static pid_t
fork_keeper(gboolean no_fork, volatile Report *report)
{
    pid_t pid = fork();
    int status = 0;

    if (!no_fork || pid < 0)
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

/* Completes the keeper. The runner must not have the pipe. */
static gboolean
begin_keeper(gboolean no_fork, Keeper *self, int *out_status)
{
    int error = 0;

    if (!no_fork)
        error = pipe2(self->ends, O_CLOEXEC) < 0 ? errno : child_fork(&self->child, self);
    if (error == 0)
        return TRUE;
    fail(error, out_status);
    keeper_leave(self, *out_status);
    return FALSE;
}

gboolean
runner_split(gboolean no_fork, int n_locks_max, Keeper *out_keeper, int *out_status)
{
    Keeper keeper = {.runner = getpid(), .child = CHILD_NONE};
    Runner runner = {0};
    void *shared = mmap(NULL, sizeof(Report) + (size_t)n_locks_max * sizeof *runner.report->locks,
                        PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    signals_take();
    keeper.runner_fd = (int)syscall(SYS_pidfd_open, keeper.runner, 0);
    runner.wake_fd = keeper.wake_fd = eventfd(0, EFD_CLOEXEC);
    runner.report = keeper.report = shared;
    if (shared == MAP_FAILED || keeper.runner_fd < 0 || keeper.wake_fd < 0 ||
        (no_fork && pipe2(keeper.ends, O_CLOEXEC) < 0) ||
        (runner.keeper = fork_keeper(no_fork, shared)) < 0)
        return fail(errno, out_status);
    /* After exec() it would be the command that is a subreaper. */
    if (!no_fork)
        prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (runner.keeper == 0) {
        *out_keeper = keeper;
        return begin_keeper(no_fork, out_keeper, out_status);
    }
    runner.pipe_end = keeper.ends[1];
    /* Nothing is left to be done, and exit() takes longer. */
    _exit(run(&runner));
}
