/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A simulated engine, with ZooKeeper's guarantees and nothing beyond them.
 *
 * Writes are committed in one order. Each of the servers applies them after a delay of its own, and
 * answers reads from what it has applied; a session never reads an older state than before. A
 * server that is cut off from the others continues to answer reads, and defers writes until it is
 * connected again. A message in transit when a connection breaks is lost, or processed without an
 * answer until the session has another connection. A session without a working connection ends
 * SIM_TIMEOUT after the time of its last touch, at the earliest. */

#pragma once

#include "claim.h"
#include "sim-loop.h"

#define SIM_NAMES   2
#define SIM_SERVERS 3

/* The time-out of sessions, and how long before its last committed write a session was touched:
 * cluster/engine/touches.h derives that this is the worst case. */
#define SIM_TIMEOUT_US   (15 * S)
#define SIM_TOUCH_AGE_US (5 * S / 2)

typedef struct SimEngine SimEngine;
typedef struct SimConnection SimConnection;

/* `result` is NULL for a write that is not of a claim. */
typedef void (*SimResult)(gpointer data, const ClaimResult *result);

typedef struct {
    void (*changed)(gpointer owner, guint name);
    /* The connection has broken or, with `ended`, the session has ended. */
    void (*broken)(gpointer owner, gboolean ended);
} SimConnectionClass;

SimEngine *sim_engine_new(SimLoop *loop);
void sim_engine_free(SimEngine *engine);

/* Opens a connection; with a new session if `session` is 0. Returns NULL if the session has ended.
 * The same process never reads an older state of its session than before; a new process may. The
 * connection is valid until it breaks, or until sim_connection_drop(). */
SimConnection *sim_engine_connect(SimEngine *engine,
                                  guint64 session,
                                  gboolean is_new_process,
                                  const SimConnectionClass *class,
                                  gpointer owner);
guint64 sim_connection_get_session(const SimConnection *connection);

/* Ends the connection; `broken` is not called. */
void sim_connection_drop(SimConnection *connection);

/* Breaks the connection, with a call of `broken`. */
void sim_connection_break(SimConnection *connection);

/* Carries out an action of a claim, or the write of the host node if it is NULL. `result` is called
 * with `data`, unless the connection ends before; `data` is then freed. */
void sim_connection_send(SimConnection *connection,
                         guint name,
                         const ClaimAction *action,
                         SimResult result,
                         gpointer data);

/* Faults. */
void sim_engine_cut_server(SimEngine *engine, guint server, gboolean is_cut);

/* The claims of a name as they are committed. Borrowed, of ClaimName. */
const GArray *sim_engine_get_claims(const SimEngine *engine, guint name);

/* The names of a session's own claims. The caller owns the array of ClaimName. */
GArray *sim_engine_scan(const SimEngine *engine, guint name, guint64 session);

/* The claim whose grant or steal got this block of tokens, and when. Borrowed. */
const ClaimName *
sim_engine_get_granted(const SimEngine *engine, guint64 block, gint64 *out_committed_us);

/* Whether the claim was deleted by a steal of another session. If it was replaced by a steal of its
 * own session, this is about the claim in its place. */
gboolean sim_engine_was_stolen(const SimEngine *engine, const ClaimName *name);

/* When the oldest of the claims that wait for this one was created. */
gint64 sim_engine_get_oldest_rival_us(const SimEngine *engine, guint name, const ClaimName *own);

/* The number of committed grants that conflicted with an earlier claim. */
guint sim_engine_get_n_wrong_grants(const SimEngine *engine);
