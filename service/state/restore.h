/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Creates agents and requests of the core from the records that were read. Either all records are
 * restored or, if they contradict each other, none. */

#pragma once

#include <glib.h>

#include "crash-guard.h"
#include "reader.h"
#include "state.h"
#include "user-agent.h"

/* Returns new references to the agents, or NULL if the records contradict each other; then nothing
 * was restored. `guard` may be NULL. `lost` is called for requests that are left out.
 * `*out_deadline_us` is set to that of the lease; 0: there is no record of one. */
GPtrArray *restore_records(UserAgent *user_agent,
                           const StateContents *contents,
                           CrashGuard *guard,
                           StateLost lost,
                           gpointer data,
                           gint64 *out_deadline_us);
