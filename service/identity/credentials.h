/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Identification of a connection: its uid, and the sandbox of its process. This is done
 * asynchronously, once for each connection, before its first call is served.
 *
 * 1. GetConnectionCredentials: the uid, the groups and the security label, which the bus took from
 * the socket when the client connected, so that the client can't change them; and the process, as a
 * pidfd (ProcessFD) if the bus provides one, otherwise as a pid.
 * 2. A pidfd is opened for the process, and its sandbox is determined (process.h, sandbox.h).
 * 3. The process must still be running. If the bus provided only a pid, the pid may have been
 *    reused before step 2: the bus is asked again and must return the same credentials, and then
 *    the process must still be running.
 *
 * Between steps 2 and 3 a lookup has a descriptor open, so the number of simultaneous lookups is
 * bounded (descriptors.h). Further ones don't start, and can be started again later.
 *
 * A failure of any step is a refusal, never "not sandboxed". Step 3 can't detect one case: the bus
 * provides no ProcessFD, the process that connected has ended while other processes have its
 * socket, and its pid has been reused. */

#pragma once

#include "principal.h"
#include "sd-bus.h"

typedef struct {
    PrincipalIdentity identity;
    guint32 pid;              /* for display */
    const char *process_name; /* for display; "" if unknown */
    const guint32 *gids;      /* its groups when it connected, as reported by the bus */
    gsize n_gids;
} Credentials;

/* The result of a lookup. `credentials` is NULL if the client could not be identified; otherwise it
 * is valid until this function returns or frees the lookup. `is_transient`: the lookup ended for
 * lack of descriptors or of room in the connection to the bus, so another one may succeed. Called
 * once, unless the lookup is freed first. */
typedef void (*CredentialsDone)(const Credentials *credentials,
                                gboolean is_transient,
                                gpointer data);

typedef struct CredentialsLookup CredentialsLookup;

/* Starts a lookup, owned by the caller. Returns NULL for lack of descriptors, or if the call to the
 * bus could not be sent. */
CredentialsLookup *
credentials_look_up(sd_bus *bus, const char *unique_name, CredentialsDone done, gpointer data);

/* Frees a lookup; `done` is not called any more. May be called from within `done`. */
void credentials_lookup_free(CredentialsLookup *lookup);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CredentialsLookup, credentials_lookup_free)
