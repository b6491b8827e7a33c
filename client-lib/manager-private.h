/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Functions of WebLocksManager that are private to the library: the creation of managers, and the
 * checks and calls that requests, queries and monitors share. A manager owns a reference to its
 * agent. Returned strings and connections are borrowed from the manager. */

#pragma once

#include <weblocks/weblocks.h>

#include "client-lib/engine/connection.h"
#include "client-lib/options-private.h"

/* A bucket of Observable, by its object path. */
WebLocksManager *web_locks_manager_new_observed(
    WebLocksAgent *agent, const char *path, const char *bucket, const char *application, guint uid);

Connection *web_locks_manager_get_connection(WebLocksManager *self);

/* Fails if the manager was constructed with a bucket name that is not valid. */
gboolean web_locks_manager_check_bucket(WebLocksManager *self, GError **error);

/* Calls a method on the bus, after web_locks_manager_check_bucket(). */
void web_locks_manager_call(WebLocksManager *self,
                            const MethodCallKind *kind,
                            gpointer data,
                            Caller caller);

/* Returns the object path of the bucket. */
const char *web_locks_manager_get_path(WebLocksManager *self);

/* Starts a request, after web_locks_manager_check_request(). The result is a WebLocksLock, or NULL
 * if it was not available. */
void web_locks_manager_start_request(WebLocksManager *self,
                                     const char *name,
                                     const RequestOptions *options,
                                     Caller caller);

/* Checks whether the agent can make requests, the name, and the options, in the order of the
 * standard [3.2.1]. */
gboolean web_locks_manager_check_request(WebLocksManager *self,
                                         const char *name,
                                         const RequestOptions *options,
                                         GError **error);

/* Checks whether the agent can make requests. The standard requires this check first [3.2.1]. */
gboolean web_locks_manager_check(WebLocksManager *self, GError **error);

/* Checks a resource name: UTF-8 without noncharacters, and not longer than a packet allows. */
gboolean web_locks_manager_check_name(const char *name, GError **error);
/* Likewise, of a lock that is to be requested or ended: the name must not be reserved. */
gboolean web_locks_manager_check_lock_name(const char *name, GError **error);
