/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The lease: until when the engine certainly keeps the nodes of this host's session.
 *
 * Only a committed write proves that the session lives: a server that is cut off from the others
 * still answers pings and reads. But the servers count the session's time-out T from a time before
 * that write, which comes with its answer as `touched_us`: engine/touches.h derives it. They end
 * the session at touched_us + T at the earliest. The lease ends LEASE_MARGIN before that: two
 * seconds, in which the lock service notifies its clients that their locks are lost, and half a
 * second for timers and for clocks that are not equally fast.
 *
 * While this process runs and is answered promptly, `touched_us` is at most LEASE_TOUCH_AGE before
 * the write was sent.
 *
 * The host node is written again every LEASE_RENEWAL while there are claims, but only if the lock
 * service has answered since the last time: while it is stopped, it can't notify its clients, and
 * the other hosts must not wait for it.
 *
 * All times are of CLOCK_BOOTTIME, which continues while the machine is suspended. */

#pragma once

#include <glib.h>

#define LEASE_MARGIN_US    (G_GINT64_CONSTANT(5) * G_USEC_PER_SEC / 2)
#define LEASE_TOUCH_AGE_US (G_GINT64_CONSTANT(5) * G_USEC_PER_SEC / 2)
#define LEASE_RENEWAL_US   (G_GINT64_CONSTANT(2) * G_USEC_PER_SEC)
#define LEASE_STEP_US      (G_USEC_PER_SEC / 10)

/* With a shorter time-out, one renewal that fails would be the end of the lease. */
#define LEASE_TIMEOUT_MIN_US (LEASE_MARGIN_US + LEASE_TOUCH_AGE_US + 2 * LEASE_RENEWAL_US)

/* Begins with zeros: without a lease. */
typedef struct {
    gint64 duration_us; /* T - LEASE_MARGIN */
    gint64 deadline_us; /* 0: there is no lease */
    gint64 renewal_us;  /* not before */
    gboolean is_renewing;
    guint64 last_serial; /* of the deadlines that were sent to the lock service */
    guint64 last_ack;
} Lease;

/* Another session begins, or the time-out of this one has changed. It counts from the next write
 * on. */
void lease_set_timeout(Lease *lease, gint64 timeout_us);

/* An operation that was sent at `sent_us` was answered: only a write extends the lease. Returns
 * whether the deadline has moved, so that the lock service has to be notified. It moves by
 * LEASE_STEP at least, so not with each of many commits. */
gboolean lease_answered(Lease *lease, gint64 sent_us, gint64 touched_us, gboolean is_write);

/* Returns a serial number for a message with the deadline, which the lock service acknowledges.
 */
guint64 lease_next_serial(Lease *lease);
void lease_acknowledge(Lease *lease, guint64 serial);

/* Whether to write the host node now. It is then being written until lease_answered() or
 * lease_renewal_failed(). */
gboolean lease_begin_renewal(Lease *lease, gint64 now_us);
void lease_renewal_failed(Lease *lease);

/* Whether the session must not be used any more. */
gboolean lease_is_over(const Lease *lease, gint64 now_us);

/* When lease_begin_renewal() or lease_is_over() may next return TRUE, or -1. */
gint64 lease_get_next_us(const Lease *lease);
