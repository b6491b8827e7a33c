/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Requests one or more locks, holds and releases them: the part that `run` and `hold` share.
 *
 * There are three phases, in this order: wait for the locks, hold them, release them. In each phase
 * a signal may arrive, and from its grant on a lock may be lost. All of these are events of one
 * main loop.
 *
 * Several locks are requested one after the other in the byte order of their names, as by
 * web_locks_manager_request_many_async(), so that there can be no deadlock with others that do so.
 * If one can't be acquired, the others are released. */

#pragma once

#include <weblocks/weblocks.h>

#include "cli/holder-options.h"
#include "cli/waiting-line.h"

typedef struct Holder Holder;

/* The functions are called in the phase in which all locks are held. */
typedef struct {
    void (*granted)(Holder *holder);
    /* Reports the loss, which `text` describes, and what follows from it. */
    void (*lost)(Holder *holder, const char *text);
    void (*signalled)(Holder *holder, int number, gboolean from_terminal);
} HolderEvents;

typedef enum { PHASE_WAIT, PHASE_HOLD, PHASE_RELEASE } Phase;

/* The first member of the struct of a command. The command sets the first three members, and
 * reads the others. */
struct Holder {
    HolderOptions options;
    const HolderEvents *events;
    GPtrArray *names; /* of holder_add_name(), sorted; owned by the command */

    gint64 began_us;     /* on the monotonic clock */
    gint64 requested_us; /* when the first lock was requested */
    Phase phase;
    GPtrArray *locks;   /* owned WebLocksLock; locks[i] is the lock of names[i] */
    guint n_unanswered; /* in PHASE_RELEASE: releases without a reply */
    gboolean lost;      /* one of them */

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

/* Adds a name, which is borrowed. One that is there already is ignored. */
void holder_add_name(Holder *self, const char *name);

/* Returns the lock of that name, borrowed, or NULL if it was not granted yet. */
WebLocksLock *holder_get_lock(const Holder *self, const char *name);

/* Whether no lock that was granted was lost. */
gboolean holder_is_intact(const Holder *self);

/* Requests the locks and runs the main loop. signals_take() was called before. Returns the exit
 * status; holder_clear() has to be called next. */
int holder_main(Holder *self);

/* After holder_main(): whether it has left nothing that ends only with the connection. */
gboolean holder_has_released(const Holder *self);

/* Drops all references without waiting for answers: disconnecting ends what is left. */
void holder_clear(Holder *self);

/* Ends the wait, or releases the locks; then holder_main() returns `status`, or STATUS_LOST if a
 * lock was lost. */
void holder_end(Holder *self, int status);
