/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Private sessions [6.2]: the buckets with a name of the form `private-` and 32 lower-case
 * hexadecimal digits. Who knows the name can join the session. Clients without a request there are
 * shown its public name: `private:` and the first 32 digits of the SHA-256 of the name. Both have
 * 128 bits, so that finding the name takes as long as trying all names.
 *
 * A bucket whose name is a public name never has requests. There is one while it is watched. */

#pragma once

#include <glib.h>

#include "bus-names.h"
#include "core-types.h"

#define PRIVATE_DIGITS 32

/* Of the lock manager of a private session. */
typedef struct {
    GHashTable *members; /* Agent -> the number of its requests there, of those that have any */
    char public_name[sizeof BUS_PUBLIC_PREFIX + PRIVATE_DIGITS];
} PrivateSession;

/* Returns NULL if the bucket, whose name begins with BUS_PRIVATE_PREFIX, is no private session. */
PrivateSession *private_session_new(const char *bucket);
void private_session_free(PrivateSession *self);

/* Counts the requests of an agent. */
void private_session_add(PrivateSession *self, const Agent *agent);
void private_session_remove(PrivateSession *self, const Agent *agent);

/* Whether the agent has a request there. */
gboolean private_session_has(const PrivateSession *self, const Agent *agent);
