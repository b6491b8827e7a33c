/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Signals, each to one client; there is no broadcast. They go into the outbox. */

#pragma once

#include "common/lock-mode.h"
#include "service/bus/client.h"
#include "service/core/core-types.h"
#include "service/core/effects.h"

/* Granted or Released, as the effect tells. */
void signals_send_effect(Client *client, const Effect *effect);

/* Released, of a request that is not there any more to tell of. */
void
signals_send_lost(Client *client, const char *bucket, guint64 id, const char *name, LockMode mode);

/* Tells a watcher of that bucket that `count` signals were not sent to it. */
void signals_send_missed(Client *client, const LockManager *manager, guint64 count);
