/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which clients wait for each other, among some held locks and pending requests.
 *
 * A client waits for each client that holds a lock that it has requested. (A pending request waits
 * for all holders of its name: an exclusive one for each of them, and a shared one for an exclusive
 * holder or behind an exclusive request. But one for a counting lock waits for one of its holders:
 * if these are several clients, it is part of a cycle only if each of them waits for clients that
 * all wait, since otherwise one of them may release its slot.)
 * A client that runs a command, `weblocks run`, also waits for what the processes that come from
 * the command have requested. Clients whose process is not known are left out, since they may stand
 * for several clients, as a host does for all of its own. */

#pragma once

#include <weblocks/weblocks.h>

typedef struct WaitGraph WaitGraph;

/* The name of the process that runs a command. */
#define WAIT_GRAPH_COMMAND "weblocks"

/* What is known about a held lock. */
typedef struct {
    guint n_waiting;      /* pending requests for its name */
    guint n_clients;      /* how many clients are on the shortest cycle that it is on; 0: it is on
                           * none; 1: its client waits for itself only */
    char *clients;        /* if several: their processes, for users; owned by the caller */
    gint64 self_since_us; /* if 1: since when, as web_locks_lock_info_get_since() */
} WaitFinding;

/* Both are lists of WebLocksLockInfo. The graph keeps no references to the lists. */
WaitGraph *wait_graph_new(GListModel *held, GListModel *pending);
void wait_graph_free(WaitGraph *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(WaitGraph, wait_graph_free)

/* The search ends after this many locks and requests, found or not. */
#define WAIT_GRAPH_STEPS_MAX 4000

WaitFinding wait_graph_find(const WaitGraph *self, WebLocksLockInfo *held);
