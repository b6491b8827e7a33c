/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* When ZooKeeper's servers end a session, as their source and that of their C library have it. The
 * names are those of version 3.8. test_expiry.py compares this with real servers; the simulation
 * (sim-servers.c) follows it.
 *
 * Only the leader ends sessions (SessionTrackerImpl). It keeps for each a deadline, which is the
 * first multiple of a tick after the time of the touch and the time-out: a session is in the bucket
 * of its tick (ExpiryQueue.update(), roundToNextInterval()). The clock is that of the leader's
 * process and has no relation to that of the hosts. When a bucket's time has come, all sessions in
 * it end (ExpiryQueue.poll()).
 *
 * The leader touches a session
 * - when it is made, and when a client reattaches to it (ZooKeeperServer.revalidateSession(),
 *   LeaderZooKeeperServer.checkIfValidGlobalSession()), by the time-out that the client then has;
 * - with each message, also a ping, of a client that is connected to the leader itself
 *   (ZooKeeperServer.touch());
 * - when the reply of a follower to a ping arrives (LearnerHandler.run()), for each session of
 * which the follower has got a message since its last reply (LearnerSessionTracker.touchSession(),
 *   snapshot()). The leader pings its followers EXPIRY_PINGS times in a tick (Leader.lead()).
 * - when it becomes the leader: all sessions, by the time-out with which they were made
 *   (SessionTrackerImpl()).
 *
 * A client that has sent nothing for a share EXPIRY_CLIENT_SHARE of its time-out sends a ping
 * (zookeeper_interest()).
 *
 * A follower that has no contact with the leader for EXPIRY_SYNC_TICKS (syncLimit) stops serving,
 * and so does a leader without a majority; until then they answer reads. */

#pragma once

#include <glib.h>

#define EXPIRY_PINGS        2
#define EXPIRY_CLIENT_SHARE 3
#define EXPIRY_SYNC_TICKS   5

/* A leader's table of sessions. */
typedef struct {
    gint64 tick_us;
    gint64 phase_us;      /* of its clock */
    GHashTable *sessions; /* guint64 -> gint64: the time of the touch, and the time-out */
} Expiry;

void expiry_init(Expiry *expiry, gint64 tick_us, gint64 phase_us);
void expiry_clear(Expiry *expiry);

/* Also begins to track it. */
void expiry_touch(Expiry *expiry, guint64 session, gint64 timeout_us, gint64 now_us);
void expiry_remove(Expiry *expiry, guint64 session);
/* Before this time it does not end; -1: it is not tracked. */
gint64 expiry_get_us(const Expiry *expiry, guint64 session);

/* How long it takes until the next bucket. */
gint64 expiry_get_wait_us(const Expiry *expiry, gint64 now_us);

/* Removes and returns a session that ends now, or 0. */
guint64 expiry_take(Expiry *expiry, gint64 now_us);
