/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* From when on the servers count the time-out of this session, as far as the client can know. What
 * follows is of ZooKeeper 3.8; the names are of its source.
 *
 * The leader ends a session, and no other server does (SessionTrackerImpl.run(); on the others,
 * LearnerSessionTracker counts nothing). Each touch sets the time to the next multiple of a tick
 * after now + T (ExpiryQueue.update(), roundToNextInterval()), so a session lives for T after its
 * last touch, at least. When is it touched at the leader?
 *
 * - When it is made (PrepRequestProcessor: trackSession()) and when a client reattaches to it, with
 *   any server (ZooKeeperServer.revalidateSession(); a learner asks the leader: REVALIDATE,
 *   LeaderZooKeeperServer.checkIfValidGlobalSession()).
 * - With each message of a client that is connected to the leader (ZooKeeperServer.touch()).
 * - Not with messages of a client that is connected to a follower or an observer, also not with
 *   writes (LeaderZooKeeperServer.submitLearnerRequest()). The learner only notes the session
 *   (LearnerSessionTracker.touchSession()), and sends what it has noted in its next reply to a
 *   ping of the leader (Learner.ping(), getTouchSnapshot()), which then touches
 *   (LearnerHandler.run(), case Leader.PING). The leader pings twice in a tick (Leader.lead()).
 * - When a leader begins, for all sessions, with the time-out that they were made with
 *   (SessionTrackerImpl(), the sessionsWithTimeout of the data; see EngineSession.timeout_ms).
 *
 * The client's library sends a ping only when it has sent nothing for a third of T
 * (zookeeper_interest() of zookeeper.c), and pings of learners don't show whether they have
 * touched. So a session of which a write has just been committed may have been touched last T / 3
 * before, and if the host and its server are cut off then, that is from when on the leader counts.
 *
 * A learner sends its replies to pings and the requests of its clients to the leader in one stream.
 * So when a write that was sent at a time w is committed, the leader has got the replies to all
 * pings before w. One of them came within the last TOUCHES_DELAY before w. It, or one before it,
 * contained each message that the learner had answered by then. So with the commit of w, the
 * session was touched not before the latest time at which something was sent that had been
 * answered at w - TOUCHES_DELAY. The engine reads something every ENGINE_READ_US, so that there is
 * always such a message, not more than TOUCHES_DELAY + ENGINE_READ_US and an answer's time before
 * w. If the process has not run for a while, the message is older, and that is taken into account.
 *
 * If the leader ends after the commit of w, the next one begins after w: of the servers that elect
 * it, one has got w before.
 *
 * What is taken for granted: ticks of two seconds at most (ENGINE_TICK_MAX_MS); a leader that pings
 * no later than half a second after it should; a connection of a learner to the leader that, if it
 * was interrupted and lasts all the same, stays until the learner has replied to the pings of that
 * time; observers that are connected to the leader (with observerMasterPort it takes two pings).
 * One touch may be missing, if a learner notes it at the moment at which it replies (touchTable is
 * replaced meanwhile): then the read before counts, a second earlier.
 *
 * All times are of CLOCK_BOOTTIME, in us. */

#pragma once

#include <glib.h>

#define TOUCHES_DELAY_US (G_USEC_PER_SEC * 3 / 2)

#define TOUCHES_STEP_US (G_USEC_PER_SEC / 4)
#define TOUCHES_MAX     8 /* as many steps as the delay takes, and more */

typedef struct {
    gint64 connected_us; /* 0: not connected */
    guint n_answered;
    struct {
        gint64 sent_us;
        gint64 answered_us;
    } answered[TOUCHES_MAX]; /* of this connection; the i-th is at i % TOUCHES_MAX */
} Touches;

/* The session has a connection, which was begun at this time. */
void touches_connected(Touches *touches, gint64 begun_us);
void touches_disconnected(Touches *touches);

/* A server has answered, through this connection, what was sent then. */
void touches_answered(Touches *touches, gint64 sent_us, gint64 now_us);

/* The leader has touched the session at the returned time or later, if what is sent at `sent_us`,
 * the current time, is a write that is committed. 0: while there is no connection. */
gint64 touches_get_us(const Touches *touches, gint64 sent_us);
