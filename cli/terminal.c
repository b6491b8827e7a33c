/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

TerminalSize
terminal_get_size(int fd)
{
    struct winsize size = {0};

    if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 || size.ws_col == 0)
        return (TerminalSize){.rows = 24, .columns = 80};
    return (TerminalSize){.rows = size.ws_row, .columns = size.ws_col};
}

gboolean
terminal_is_writable(int fd)
{
    GPollFD poll = {.fd = fd, .events = G_IO_OUT};

    return g_poll(&poll, 1, 0) == 1;
}

gboolean
terminal_is_foreground(int fd)
{
    pid_t group = tcgetpgrp(fd);

    /* It fails for a terminal that is not the controlling one; then there is no background. */
    return group < 0 || group == getpgrp();
}
