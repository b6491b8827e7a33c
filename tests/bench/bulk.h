/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* One client with very many locks or requests, to measure whether they slow down other clients. */

#pragma once

#include "bench.h"

#define BULK_NAME "contended"

/* Requests `n` locks, "document 0" and so on, and returns when they are held. */
void bulk_hold(WebLocksManager *manager, guint n);
/* Requests the lock "contended" `n` times, which another client holds, and returns when all
 * requests wait. `on_granted` is the callback of each request. */
void bulk_wait(WebLocksManager *manager, guint n, GAsyncReadyCallback on_granted, gpointer data);
