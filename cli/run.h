/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the parts of `weblocks run` share. run.c has the command line. The processes and their roles
 * are in runner.h: keeper.c is the keeper, and successor.c the runner without one. */

#pragma once

#include "cli/holder-options.h"
#include "cli/runner.h"

typedef struct {
    HolderOptions options;
    Keeper *keeper;
    const char *file; /* that is locked too; NULL: none */
    gboolean no_fork; /* the command replaces the runner */
} Run;

/* `keeper`: if the program has split the process; otherwise NULL. Called before command_run(). */
void run_begin(Keeper *keeper);

/* What the keeper does until it ends. Reports the exit status to the runner, and returns it. */
int keeper_main(Run *run);

/* For the program: see runner.c. Returns the exit status. */
int successor_main(const volatile Report *report);

/* Returns the names of the locks as an owned text for a message that has "'%s'". */
char *run_make_label(const volatile Report *report);

/* For the program: reports the errno of exec() of a program, or of fork() if that is NULL. */
void complain_of_number(const char *program, int number);
