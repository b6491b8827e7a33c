/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The core's lock-manager.c with mistakes that the environment's WEBLOCKS_FAULT can ask for, linked
 * in its place: the tests show with them that they would notice. The core itself knows nothing of
 * faults, so they are put in from outside, by names that it uses. */

#include <glib.h>

#include "service/core/lock-result.h"

static gboolean
is_asked_for(const char *name)
{
    return g_strcmp0(g_getenv("WEBLOCKS_FAULT"), name) == 0;
}

#define LOCK_RESULT_TIMEOUT_IF_AVAILABLE                            \
    (is_asked_for("timeout-if-available-accepted") ? LOCK_RESULT_OK \
                                                   : LOCK_RESULT_TIMEOUT_IF_AVAILABLE)

#define g_queue_push_tail_link(queue, link)                                       \
    (is_asked_for("last-come-first-served") ? g_queue_push_head_link(queue, link) \
                                            : g_queue_push_tail_link(queue, link))

#include "service/core/lock-manager.c" /* NOLINT(bugprone-suspicious-include) */
