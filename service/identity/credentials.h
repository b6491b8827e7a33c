/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Who is behind a connection: its user, and the sandbox of its process. Found out without waiting
 * for the bus, once for each connection, before its first call is served.
 *
 * 1. GetConnectionCredentials: the uid and the security label, which the bus took from the socket
 *    when the client connected. Nothing that the client says or could change since counts. There
 *    is the process too: as a pidfd (ProcessFD) from buses that have it, else as a pid.
 * 2. The process is held and looked at (process.h, sandbox.h).
 * 3. It still runs. If there was but a pid, it may have been somebody else's by then: the bus is
 *    asked again, and has to say the same of the same connection, and then the process still runs.
 *
 * Between 2 and 3 a lookup keeps a descriptor, so there can be too many at a time (descriptors.h);
 * the next is refused.
 *
 * A failure of any step is a refusal, never "not sandboxed". What step 3 can't see: on a bus
 * without ProcessFD, the process that connected has ended, others hold the socket on, and its pid
 * has come around to a process that is there now. */

#pragma once

#include "principal.h"
#include "sd-bus.h"

typedef struct {
    PrincipalIdentity identity;
    guint32 pid;              /* for people, as is */
    const char *process_name; /* what it was called while that was its pid; "" if unknown */
} Credentials;

/* `credentials` is NULL if they could not be had; else they are there until it returns, or frees
 * the lookup. If that was only because there was no room for a question to the bus, another look-up
 * may have them. Called once, unless the lookup is freed first. */
typedef void (*CredentialsDone)(const Credentials *credentials, gboolean wants_room, gpointer data);

typedef struct CredentialsLookup CredentialsLookup;

/* NULL if not even the question could be sent. */
CredentialsLookup *
credentials_look_up(sd_bus *bus, const char *unique_name, CredentialsDone done, gpointer data);

/* `done` is not called any more. To be called from `done` too: a lookup is freed by its owner. */
void credentials_lookup_free(CredentialsLookup *lookup);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CredentialsLookup, credentials_lookup_free)
