/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Requests a lock, holds it and releases it: the part that `run` and `hold` share.
 *
 * There are three phases, in this order: wait for the lock, hold it, release it. In each phase a
 * signal may arrive, and from the grant on the lock may be lost. All of these are events of one
 * main loop. */

#pragma once

#include <weblocks/weblocks.h>

#include "cli/options.h"
#include "cli/target.h"
#include "cli/waiting-line.h"

typedef struct {
    Target target;
    gboolean shared;
    gboolean nonblock;
    gboolean steal;
    gboolean verbose;
    double wait;            /* in seconds; negative: no limit */
    double connect_timeout; /* the same */
    int conflict_status;
    guint slots;          /* of a counting lock; 1: it is none */
    const char *why;      /* NULL: none */
    const char *command;  /* what the lock is for; NULL: this process */
    gboolean ignore_loss; /* a loss doesn't change the exit status */
} HolderOptions;

typedef struct Holder Holder;

/* The functions are called in the phase in which the lock is held. */
typedef struct {
    void (*granted)(Holder *holder);
    /* Reports the loss, which `text` describes, and what follows from it. */
    void (*lost)(Holder *holder, const char *text);
    void (*signalled)(Holder *holder, int number, gboolean from_terminal);
} HolderEvents;

typedef enum { PHASE_WAIT, PHASE_HOLD, PHASE_RELEASE } Phase;

/* The first member of the struct of a command. The command sets the first three members, and reads
 * the others. */
struct Holder {
    HolderOptions options;
    const HolderEvents *events;
    const char *name;

    gint64 began_us; /* on the monotonic clock */
    Phase phase;
    WebLocksLock *lock; /* NULL before the grant */
    gboolean lost;

    GMainLoop *loop;
    GCancellable *cancellable;
    WebLocksAgent *agent;
    WebLocksManager *manager;
    WaitingLine *line;
    GDBusConnection *bus; /* to ask whether the other hosts can be reached; or NULL */
    gboolean is_reading;  /* the property Cluster */
    gint64 reached_us;    /* when they could, on the monotonic clock; or when the wait began */
    gboolean aborted;     /* in PHASE_WAIT */
    int status;           /* exit status */
};

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

/* Requests the lock and runs the main loop. signals_take() was called before. Returns the exit
 * status. */
int holder_main(Holder *self);

/* Ends the wait, or releases the lock; then holder_main() returns `status`, or STATUS_LOST if the
 * lock was lost. */
void holder_end(Holder *self, int status);
