/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int taken[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

static sigset_t mask_taken, mask_before;
static struct sigaction pipe_before, child_before;

void
signals_ignore_pipe(void)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};

    sigaction(SIGPIPE, &ignore, &pipe_before);
}

void
signals_take(void)
{
    const struct sigaction plain = {.sa_handler = SIG_DFL};

    sigemptyset(&mask_taken);
    for (guint i = 0; i < G_N_ELEMENTS(taken); i++) {
        struct sigaction before;

        sigaction(taken[i], NULL, &before);
        if (before.sa_handler != SIG_IGN)
            sigaddset(&mask_taken, taken[i]);
    }
    sigaddset(&mask_taken, SIGCHLD);
    sigprocmask(SIG_BLOCK, &mask_taken, &mask_before);
    /* With SIGCHLD ignored, waitpid() would not return the child's status. */
    sigaction(SIGCHLD, &plain, &child_before);
}

void
signals_restore(void)
{
    sigaction(SIGPIPE, &pipe_before, NULL);
    sigaction(SIGCHLD, &child_before, NULL);
    sigprocmask(SIG_SETMASK, &mask_before, NULL);
}

gboolean
signals_pending(void)
{
    sigset_t pending;

    sigpending(&pending);
    for (guint i = 0; i < G_N_ELEMENTS(taken); i++) {
        if (sigismember(&mask_taken, taken[i]) && sigismember(&pending, taken[i]))
            return TRUE;
    }
    return FALSE;
}

int
signals_open(void)
{
    return signalfd(-1, &mask_taken, SFD_CLOEXEC | SFD_NONBLOCK);
}

gboolean
signals_read(int fd, int *out_number, gboolean *out_from_terminal)
{
    struct signalfd_siginfo info;

    if (read(fd, &info, sizeof info) != sizeof info)
        return FALSE;
    *out_number = (int)info.ssi_signo;
    *out_from_terminal = info.ssi_code == SI_KERNEL;
    return TRUE;
}
