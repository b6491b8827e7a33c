/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Creates agents and requests of the core from the frames that were read. Either all are restored
 * or, if the file is damaged or its records contradict each other, none. */

#pragma once

#include <glib.h>

#include "log.h"
#include "user-agent.h"

/* What the records have besides agents and requests. */
typedef struct {
    guint64 last_agent;    /* no agent has a higher number */
    guint64 token_ceiling; /* no higher token was ever issued */
    gint64 deadline_us;    /* of the cluster's lease (CLOCK_BOOTTIME); 0: none */
} StateNumbers;

/* Called for a request that is not restored. There is at most one. */
typedef void (*StateLost)(
    Agent *agent, const char *bucket, const char *name, const LockRequest *stored, gpointer data);

/* Returns new references to the agents, or NULL and why nothing was restored. */
GPtrArray *restore_all(UserAgent *user_agent,
                       LogReader *reader,
                       StateLost lost,
                       gpointer data,
                       StateNumbers *out_numbers,
                       const char **out_fault);
