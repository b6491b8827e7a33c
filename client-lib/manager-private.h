/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the rest of the library does with a manager. */

#pragma once

#include <weblocks/weblocks.h>

#include "client-lib/engine/connection.h"
#include "client-lib/options-private.h"

/* NULL, and an error, if it is no name for a bucket. */
WebLocksManager *
web_locks_manager_new_for_agent(WebLocksAgent *agent, const char *bucket, GError **error);

Connection *web_locks_manager_get_connection(WebLocksManager *self);

/* Of the bucket object on the bus. */
const char *web_locks_manager_get_path(WebLocksManager *self);

/* A request whose name and options were checked. The result is the lock, or NULL. */
void web_locks_manager_start_request(WebLocksManager *self,
                                     const char *name,
                                     const RequestOptions *options,
                                     Caller caller);

/* Whether requests can be made at all, which comes before anything else [3.2.1]. */
gboolean web_locks_manager_check(WebLocksManager *self, GError **error);

/* Whether a name is one that the service may accept. */
gboolean web_locks_manager_check_name(const char *name, GError **error);
