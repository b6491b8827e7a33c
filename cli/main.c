/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* weblocks: a command-line interface to the Web Locks service, for users and scripts.
 *
 * This program is linked with the C library only: it has what has to be done before a fork(), which
 * copies a program, and what remains to be done by the two processes of `weblocks run` that are not
 * its keeper (runner.h). All else is in the module (module.h). */

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/module.h"
#include "cli/runner.h"
#include "cli/signals.h"
#include "cli/status.h"

/* Opens /dev/null for standard streams that this process was started without. Otherwise a file or
 * socket opened later could get the number of a standard stream, and output would be written to it.
 * The descriptors are close-on-exec, so a command is also started without these streams. */
static void
hold_standard_streams(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* Whether a word may be the option --no-fork. With it, run.c splits the process itself. */
static gboolean
may_replace(char *const *words)
{
    for (; *words != NULL; words++) {
        const char *word = *words;

        if (word[0] == '-' && word[1] == '-' ? strncmp(word, "--no-f", 6) == 0
                                             : word[0] == '-' && strchr(word, 'F') != NULL)
            return TRUE;
    }
    return FALSE;
}

int
main(int argc, char **argv)
{
    const gboolean splits = argc > 1 && strcmp(argv[1], "run") == 0 && !may_replace(argv + 2);
    int (*function)(int, char **, Keeper *);
    int status = STATUS_SOFTWARE;
    Keeper keeper;

    hold_standard_streams();
    signals_ignore_pipe();
    if (splits && !runner_split(FALSE, argc, &keeper, &status))
        return status;
    function = module_find("weblocks_main");
    if (function != NULL)
        status = function(argc, argv, splits ? &keeper : NULL);
    if (splits)
        keeper_leave(&keeper, status);
    return status;
}
