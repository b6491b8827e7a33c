/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whether somebody waits for held locks, of which their holders are notified.
 *
 * The locks of a queue are wanted while a request is pending there, or the cluster has requested
 * the end of the permit's turn for another host. This is the same for all holders of the queue, so
 * an operation that changes it costs the same for any number of holders. Who has not been notified
 * yet is found out afterwards, one holder at a time: wanted_visit() goes through the holders of the
 * queues that have changed, and wanted_take() through the locks of one agent. Only the current
 * state is reported. What has changed twice in between is not reported at all. */

#pragma once

#include <glib.h>

#include "core-types.h"
#include "lock-queue.h"

/* Visits the next holder of a queue that has changed, one queue after the other. `*out_agent` is
 * its agent, borrowed, if wanted_take() may return a lock of it that it did not before; otherwise
 * NULL. Returns FALSE if there was none to visit: UserAgent.wanted is empty. */
gboolean wanted_visit(UserAgent *user_agent, Agent **out_agent);

/* Returns a lock of the agent, borrowed, that is wanted or no longer wanted, and counts its holder
 * as notified of that; NULL: there is no other. */
LockRequest *wanted_take(Agent *agent);

/* Returns whether the request is a held lock that is wanted, and counts its holder as notified. */
gboolean wanted_report(LockRequest *request);

/* ---- for the queue: where nobody waits, none of these is called */

/* The locks that are held, or will be, are wanted now, or no longer. */
void wanted_change(LockQueue *queue);

/* A lock has been appended to the held ones of a queue in which they are wanted. */
void wanted_add_holder(LockRequest *request);

/* A lock that is to be visited, or of whose holder wanted_take() knows, has been removed from the
 * held ones. `next` followed it, or is NULL. */
void wanted_remove_holder(LockRequest *request, GList *next);
