/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The options of the commands that request a lock, `run` and `hold`. */

#pragma once

#include "cli/status.h"
#include "cli/target.h"

typedef struct {
    Target target;
    gboolean shared;
    gboolean nonblock;
    gboolean steal;
    gboolean verbose;
    double wait;            /* in seconds; negative: no limit */
    double connect_timeout; /* the same */
    int conflict_status;
    guint slots;           /* of a counting lock; 1: it is none */
    const char *why;       /* NULL: none */
    const char *command;   /* what the lock is for; NULL: this process */
    gboolean ignore_loss;  /* a loss doesn't change the exit status */
    gboolean needs_no_bus; /* without a bus, PHASE_HOLD begins without locks */
} HolderOptions;

#define HOLDER_OPTIONS_DEFAULT                           \
    ((HolderOptions){.target = TARGET_DEFAULT,           \
                     .conflict_status = STATUS_CONFLICT, \
                     .slots = 1,                         \
                     .wait = -1,                         \
                     .connect_timeout = -1})

/* Returns an owned table for options_parse(): `own` followed by the options of all commands that
 * request a lock. */
Option *holder_options_table(HolderOptions *options, const Option *own);

/* Checks options that exclude each other. Returns FALSE after reporting an error. */
gboolean holder_options_check(HolderOptions *options, const Command *command);
