/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* One client with very many locks or requests, to measure whether they slow down other clients. */

#pragma once

#include "bench.h"

#define CROWD_GATE "gate"

/* Requests `n` locks, "document 0" and so on, and returns when they are held. */
void crowd_hold(WebLocksManager *manager, guint n);
/* Requests the lock "gate" `n` times, which somebody holds, and returns when all requests wait.
 * Whoever is granted it is given to `on_granted` of GAsyncReadyCallback. */
void crowd_wait(WebLocksManager *manager, guint n, GAsyncReadyCallback on_granted, gpointer data);
