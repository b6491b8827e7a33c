/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which clients wait for each other, among some held locks and pending requests.
 *
 * The nodes are clients and lock names. A client waits for each name that it has requested; a name
 * waits for each client that holds it. (A pending request waits for all holders of its name: an
 * exclusive one for each of them, and a shared one for an exclusive holder or behind an exclusive
 * request.) Clients whose process is not known are left out. So clients wait for each other if they
 * are in one strongly connected component. All of them are found in linear time. */

#pragma once

#include <weblocks/weblocks.h>

typedef struct WaitGraph WaitGraph;

/* What is known about a held lock. */
typedef struct {
    guint n_waiting;      /* pending requests for its name */
    guint n_clients;      /* how many clients wait for each other because of it; 0: it is on no
                           * cycle; 1: its client waits for itself */
    const char *clients;  /* then the processes of the clients, for users; owned by the graph */
    gint64 self_since_us; /* if 1: since when, as web_locks_lock_info_get_since_boot() */
} WaitFinding;

/* Both are lists of WebLocksLockInfo. The graph keeps no references to the lists. */
WaitGraph *wait_graph_new(GListModel *held, GListModel *pending);
void wait_graph_free(WaitGraph *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(WaitGraph, wait_graph_free)

WaitFinding wait_graph_find(const WaitGraph *self, WebLocksLockInfo *held);
