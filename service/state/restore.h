/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Creates agents and requests of the core from the records that were read. Either all are restored
 * or, if the records contradict each other, none. */

#pragma once

#include <glib.h>

#include "cell-pages.h"
#include "lock-mode.h"
#include "user-agent.h"

/* What the records have besides agents and requests. */
typedef struct {
    guint64 last_agent;    /* no agent has a higher number */
    guint64 token_ceiling; /* no higher token was ever issued */
    gint64 deadline_us;    /* of the cluster's lease (CLOCK_BOOTTIME); 0: none */
} StateNumbers;

typedef struct {
    guint8 *records;   /* owned */
    GPtrArray *agents; /* of Agent, owned */
    StateNumbers numbers;

    /* The request that is not restored, if any. */
    struct {
        Agent *agent; /* NULL: none; otherwise it is in `agents` */
        guint64 id;
        LockMode mode;
        const char *bucket; /* in the records */
        const char *name;   /* likewise */
    } lost;
} Restored;

/* Restores records, which are owned by `restored` from now on. A lock that has had
 * a cell is held or not, as that says; without the cell (`cells` may be NULL) it is held. Returns
 * FALSE if nothing was restored; tokens that were issued are not issued again nevertheless. */
gboolean restore_all(
    Restored *restored, UserAgent *user_agent, ClosedCells *cells, guint8 *records, gsize size);

/* Ends the requests of restored agents, without effects, if the service can't start. */
void restored_undo(const Restored *restored, UserAgent *user_agent);

void restored_clear(Restored *restored);
