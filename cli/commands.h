/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What `weblocks` can do: one command, one file. */

#pragma once

#include "cli/options.h"

struct Command {
    const char *name;
    const char *arguments; /* after the options, for people */
    const char *help;
    gboolean options_first;
    /* `argv` begins with the command, and ends with NULL. Returns the exit status. */
    int (*function)(const Command *command, int argc, char **argv);
};

int command_run(const Command *command, int argc, char **argv);
int command_query(const Command *command, int argc, char **argv);
int command_inspect(const Command *command, int argc, char **argv);
int command_watch(const Command *command, int argc, char **argv);
int command_steal(const Command *command, int argc, char **argv);
