/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Who is behind a connection, asked of the bus without waiting for the answer.
 *
 * The uid comes from the bus, which took it from the socket when the client connected; nothing that
 * the client says or could change since counts. A failure of any step is a refusal, never "not
 * sandboxed". Sandboxes are to be told apart here, once the answer is there and before `done` is
 * called: `identity` has the room. */

#pragma once

#include "common/sd-bus.h"
#include "service/core/principal.h"

typedef struct {
    PrincipalIdentity identity;
    guint32 pid; /* for people; 0 is unknown */
} Credentials;

/* `credentials` is NULL if they could not be had. Called once, unless the slot is freed first. */
typedef void (*CredentialsDone)(const Credentials *credentials, gpointer data);

typedef struct CredentialsLookup CredentialsLookup;

/* NULL if not even the question could be sent. */
CredentialsLookup *
principals_look_up(sd_bus *bus, const char *unique_name, CredentialsDone done, gpointer data);

/* `done` is not called any more. To be called from `done` too: a lookup is freed by its owner. */
void credentials_lookup_free(CredentialsLookup *lookup);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CredentialsLookup, credentials_lookup_free)
