/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Records that were loaded become agents and requests of the core, all of them or none: records
 * that contradict each other tell of a fault that nobody should build on. */

#pragma once

#include <glib.h>

#include "load.h"
#include "restoring.h"
#include "state.h"
#include "user-agent.h"

/* New references to the agents; NULL: they contradict each other, and nothing was restored.
 * `restoring` may be NULL. */
GPtrArray *restore_records(UserAgent *user_agent,
                           const LoadedState *loaded,
                           Restoring *restoring,
                           StateLost lost,
                           gpointer data);
