/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The replies to Query, Inspect, Buckets, Observable, Resync, and to Introspect of the object above
 * all buckets, which are written directly from the core's lists into the message. */

#pragma once

#include "bus.h"
#include "lock-call.h"

/* Replies to one of these calls. `rows` are those of other hosts on the name of Inspect (see
 * cluster_row_next(); NULL: none). If the list does not fit into a message, the reply is an error.
 */
void lists_send(Client *client, const LockCall *call, const Target *target, GVariant *rows);
