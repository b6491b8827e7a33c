/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "observed.h"

#include "encode.h"
#include "lock-manager.h"
#include "principal.h"
#include "snapshots.h"

PrincipalIdentity
observed_get_owner(const Client *client, const LockCall *call)
{
    PrincipalIdentity identity = call->owner.identity;

    if (!call->owner.is_other)
        return client->agent->principal->identity;
    if (!call->owner.has_uid)
        identity.uid = client->agent->principal->identity.uid;
    return identity;
}

LockManager *
observed_find_manager(const Client *client, const LockCall *call)
{
    PrincipalIdentity identity;
    const Principal *principal;

    if (!call->owner.is_other)
        return lock_manager_find(client->agent->principal, call->bucket);
    identity = observed_get_owner(client, call);
    principal = principal_find(&client->server->user_agent, &identity);
    return principal != NULL ? lock_manager_find(principal, call->bucket) : NULL;
}

/* Returns a negative errno if the list does not fit into the message. */
static int
append_list(const Client *client,
            const LockCall *call,
            const GPtrArray *rows,
            sd_bus_message *reply,
            gsize *out_n_bytes)
{
    const Agent *agent = client->agent;
    const gint64 now_us = client->server->user_agent.now_us;

    if (call->kind == LOCK_CALL_QUERY)
        return snapshots_append_query(reply, observed_find_manager(client, call), rows,
                                      out_n_bytes);
    if (call->kind == LOCK_CALL_INSPECT)
        return snapshots_append_inspect(reply, observed_find_manager(client, call), &call->filter,
                                        rows, observed_get_owner(client, call).uid, agent, now_us,
                                        out_n_bytes);
    if (call->kind == LOCK_CALL_BUCKETS)
        return snapshots_append_buckets(reply, agent->principal, out_n_bytes);
    if (call->kind == LOCK_CALL_OBSERVABLE)
        return snapshots_append_observable(reply, agent->principal, out_n_bytes);
    g_assert(call->kind == LOCK_CALL_RESYNC);
    return snapshots_append_resync(reply, agent, now_us, out_n_bytes);
}

void
observed_send_list(Client *client, const LockCall *call, const GPtrArray *rows)
{
    sd_bus_message *reply = encode_new_reply(client, call);
    gsize n_bytes = 0;
    int r = append_list(client, call, rows, reply, &n_bytes);

    if (r >= 0) {
        bus_send(client, reply, n_bytes);
        return;
    }
    sd_bus_message_unref(reply);
    encode_errno(client, call, r);
}
