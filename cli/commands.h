/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The commands of `weblocks`; commands.c has the table. */

#pragma once

#include "cli/options.h"
#include "cli/runner.h"

/* `argv[0]` is the name of the command, and `argv[argc]` is NULL. Returns the exit status. */
typedef int CommandFunction(const Command *command, int argc, char **argv);

struct Command {
    const char *name;
    const char *arguments; /* for the usage line, after the options */
    const char *help;
    gboolean options_first;
    CommandFunction *function;
};

int command_run(const Command *command, int argc, char **argv);
int command_hold(const Command *command, int argc, char **argv);
int command_list(const Command *command, int argc, char **argv);
int command_watch(const Command *command, int argc, char **argv);
int command_break(const Command *command, int argc, char **argv);
int command_steal(const Command *command, int argc, char **argv);
int command_cluster(const Command *command, int argc, char **argv);

/* For the program (main.c): its version, and all that it does. `keeper`: see run_begin(). Returns
 * the exit status. */
extern const char module_version[];
int weblocks_main(int argc, char **argv, Keeper *keeper);
