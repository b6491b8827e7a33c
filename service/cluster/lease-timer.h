/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The lease: the time until which this host's permits are valid. After it another host may be
 * granted the same locks.
 *
 * It is a time of CLOCK_BOOTTIME, which continues while the machine is suspended. The owner calls
 * lease_timer_is_over() before it looks at any event; a timer makes sure that there is one. */

#pragma once

#include <glib.h>

typedef struct {
    gint64 deadline_us; /* 0: there is no lease, and no permit */
    int timer_fd;
    guint timer_id;
    void (*on_timer)(gpointer data);
    gpointer data;
} LeaseTimer;

/* `on_timer` is called some time after the deadline, in the default main context. */
void lease_timer_init(LeaseTimer *lease, void (*on_timer)(gpointer data), gpointer data);
void lease_timer_fini(LeaseTimer *lease);

/* Sets the deadline; 0: there is no lease any more. */
void lease_timer_set(LeaseTimer *lease, gint64 deadline_us);

/* Whether there is a lease, and its deadline has passed. */
gboolean lease_timer_is_over(const LeaseTimer *lease);
