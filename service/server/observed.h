/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a call on the bus observes: a bucket of the caller, or of another principal by its path; and
 * replies with lists of what is there. */

#pragma once

#include "lock-call.h"
#include "principal.h"
#include "server.h"

/* Returns the identity of the principal whose bucket the call refers to. */
PrincipalIdentity observed_get_owner(const Client *client, const LockCall *call);

/* Returns the manager of the bucket that the call refers to, borrowed, or NULL if the bucket is
 * neither in use nor watched. */
LockManager *observed_find_manager(const Client *client, const LockCall *call);

/* Replies to a Query, Inspect, Buckets, Observable or Resync. `rows` are those of other hosts (of
 * ClusterRow; NULL: none). */
void observed_send_list(Client *client, const LockCall *call, const GPtrArray *rows);
