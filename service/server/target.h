/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whose bucket a call is about, and whether its client may make the call there.
 *
 *     bucket            owner                   lock operations     look, watch    end
 *     other names       the caller's principal  yes                 yes            yes
 *     path of an app    the app                 no                  unsandboxed    unsandboxed
 *     path of a uid     the uid, or its app     no                  uid 0          uid 0
 *     group:GID         the group               members and uid 0   likewise       see below
 *     user:documents    the uid outside         sandboxed, for what see below      no
 *                       sandboxes               they have opened
 *     private:HASH      the caller's principal  no                  yes            yes
 *     cluster:NAME      the caller's principal  as configured       likewise       likewise
 *       with Shared=    the bucket              as configured       and uid 0      see below
 *
 * In the bucket of a group uid 0 may end any lock, and others while no other user holds it or waits
 * for it. "End" is Break, and a request with `steal`. In a shared bucket of a cluster only uid 0
 * may, and others by Break what their own clients hold. private:HASH is the public name of a
 * private session. Sandboxed applications may only use buckets of their own, and `user:documents`
 * on the session bus: there they have names from OpenDocument (documents/opened.h) for locks in the
 * bucket `documents` of their uid, and Inspect shows what is about these, of others mode, state and
 * age. Whether Release and Abort are served depends on the request alone: who may not use a bucket
 * any more can still put down what it has there. */

#pragma once

#include <string.h>

#include "client.h"
#include "lock-call.h"

/* For the names that may belong to somebody else, and paths of others. */
Target target_resolve_other(const Client *client, const LockCall *call);

/* To be called once for each call of an agent, before it is served. The client has one. */
static inline Target
target_resolve(const Client *client, const LockCall *call)
{
    Principal *own = client->agent->principal;

    if (call->owner.is_other || (call->bucket != NULL && strchr(call->bucket, ':') != NULL))
        return target_resolve_other(client, call);
    return (Target){LOCK_RESULT_OK, own->identity, own, call->bucket, call->name};
}
