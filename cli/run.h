/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the parts of `weblocks run` share. run.c has the command line, and makes the processes,
 * whose roles are in runner.h. What the keeper does then is in the module: keeper.c. */

#pragma once

#include "cli/child.h"
#include "cli/holder-options.h"
#include "cli/runner.h"

typedef struct {
    HolderOptions options;
    Plan plan;
    const char *shell_line; /* NULL: none */
    const char *file;       /* that is locked too; NULL: none */
    Keeper keeper;
    Child child; /* that becomes the command; none with `no_fork` */
} Run;

/* In the module: what the keeper does until it ends. Reports the exit status to the runner, and
 * returns it. */
int keeper_main(Run *run);
