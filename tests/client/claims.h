/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Claims on the lock "a", and what their properties were at each notification. */

#pragma once

#include "tests/client/fixture.h"

typedef struct {
    WebLocksClaim *claim; /* NULL: freed */
    GString *states;      /* each value that was notified, in order */
    GThread *thread;      /* in which all notifications were emitted */
    guint n_position;     /* the number of notifications of the position */
} Notified;

/* The properties are consistent with each other. */
void claim_assert_consistent(WebLocksClaim *claim);

/* Asserts that at every notification. */
void notified_watch(Notified *notified, WebLocksClaim *claim);
void notified_clear(Notified *notified);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Notified, notified_clear)

/* Return new claims that are watched, and steal without asking; one of them with the property
 * `reclaim`. */
WebLocksClaim *claim_new(WebLocksManager *manager, Notified *notified);
WebLocksClaim *reclaim_new(WebLocksManager *manager, Notified *notified);

/* Conditions for test_wait(). */
gboolean claim_is_waiting(gpointer claim);
gboolean claim_is_queued(gpointer claim);
gboolean claim_is_first(gpointer claim);
gboolean claim_is_held(gpointer claim);
gboolean claim_is_over(gpointer claim);

/* Starts it, and waits for that. */
void claim_start(WebLocksClaim *claim, TestCondition until);

gboolean claim_take_over(WebLocksClaim *claim, GError **error);
