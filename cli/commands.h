/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The commands of `weblocks`; main.c has the table. All but `run` and `help` are in the module
 * (module.h). */

#pragma once

#include "cli/options.h"

/* `argv[0]` is the name of the command, and `argv[argc]` is NULL. Returns the exit status. */
typedef int CommandFunction(const Command *command, int argc, char **argv);

struct Command {
    const char *name;
    const char *arguments; /* for the usage line, after the options */
    const char *help;
    gboolean options_first;
    CommandFunction *function; /* NULL: it is command_NAME() of the module */
};

int command_run(const Command *command, int argc, char **argv);
int command_hold(const Command *command, int argc, char **argv);
int command_list(const Command *command, int argc, char **argv);
int command_watch(const Command *command, int argc, char **argv);
int command_break(const Command *command, int argc, char **argv);
int command_steal(const Command *command, int argc, char **argv);
int command_cluster(const Command *command, int argc, char **argv);
