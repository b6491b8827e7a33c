/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A lock request [4.1] on its way: from the call to the grant, the refusal or the cancellation.
 *
 * The request is sent with a key, so it can be said again when there is no answer that can be
 * believed, or when the service has died. Cancelling completes the task at once; the request lives
 * on until the service has confirmed, and hands back a grant that crossed. */

#pragma once

#include <weblocks/weblocks.h>

#include "client-lib/connection.h"
#include "client-lib/options-private.h"
#include "client-lib/ticket.h"

/* The result is a WebLocksLock, or NULL if it was not available. `options` has been checked. Inside
 * the connection's gate; takes the ticket. */
void request_start(Connection *connection,
                   const char *path,
                   const char *name,
                   const RequestOptions *options,
                   Ticket *ticket);

/* The service has this of us, and nobody here wants it: `token` 0 waits. Inside the gate. */
void request_give_back(Connection *connection,
                       const char *path,
                       guint64 id,
                       guint64 token,
                       const char *name,
                       WebLocksMode mode);
