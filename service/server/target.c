/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "target.h"

#include "cluster-calls.h"
#include "lock-manager.h"
#include "opened.h"

static gboolean
is_lock_operation(const LockCall *call)
{
    return call->kind <= LOCK_CALL_DOWNGRADE;
}

/* The result does not depend on whether the bucket is in use. */
static LockResult
check_path(const PrincipalIdentity *caller, const LockCall *call)
{
    if (caller->kind != PRINCIPAL_UNSANDBOXED || (call->owner.has_uid && caller->uid != 0) ||
        is_lock_operation(call))
        return LOCK_RESULT_NO_PATH;
    return LOCK_RESULT_OK;
}

/* Whether the call ends what others hold, or overtakes those who wait: a steal is granted before
 * all of them. */
static gboolean
may_concern_others(const LockCall *call)
{
    return call->kind == LOCK_CALL_BREAK ||
           (call->kind == LOCK_CALL_REQUEST && call->options.steal);
}

/* Whether a Break names a client of the caller's uid. */
static gboolean
is_for_own_client(const Client *client, const LockCall *call)
{
    const Client *named = call->kind == LOCK_CALL_BREAK && call->filter.client_id != NULL
                              ? server_find_client(client->server, call->filter.client_id)
                              : NULL;

    return named != NULL && named->agent != NULL &&
           named->agent->principal->identity.uid == client->agent->principal->identity.uid;
}

/* Whether the caller needs a right for what others have. */
static gboolean
needs_right(const Client *client, const LockCall *call)
{
    return client->agent->principal->identity.uid != 0 && may_concern_others(call) &&
           !is_for_own_client(client, call);
}

static LockResult
check_group(const Client *client, const LockCall *call, const Target *target)
{
    const PrincipalIdentity *caller = &client->agent->principal->identity;
    const LockManager *manager;

    if (!client->server->serves_groups || target->owner.kind != PRINCIPAL_GROUP)
        return LOCK_RESULT_NO_GROUP;
    if (lock_call_is_about_own(call))
        return LOCK_RESULT_OK;
    if (!client_is_member(client, target->owner.uid))
        return LOCK_RESULT_NO_ACCESS;
    if (!needs_right(client, call))
        return LOCK_RESULT_OK;
    manager = target_find_manager(target);
    return manager != NULL && lock_manager_concerns_others(manager, call->name, caller->uid)
               ? LOCK_RESULT_OF_OTHERS
               : LOCK_RESULT_OK;
}

/* The name is replaced by that of the lock. */
static LockResult
check_documents(const Client *client, const LockCall *call, Target *target)
{
    if (client->server->serves_groups || call->owner.is_other ||
        client->agent->principal->identity.kind == PRINCIPAL_UNSANDBOXED)
        return LOCK_RESULT_NO_DOCUMENTS;
    if (lock_call_is_about_own(call) || call->kind == LOCK_CALL_INSPECT)
        return LOCK_RESULT_OK;
    if (call->kind != LOCK_CALL_REQUEST || call->options.steal || call->name == NULL)
        return LOCK_RESULT_NO_ACCESS;
    target->name = opened_find(client, call->name);
    return target->name != NULL ? LOCK_RESULT_OK : LOCK_RESULT_NO_ACCESS;
}

Target
target_resolve_other(const Client *client, const LockCall *call)
{
    const PrincipalIdentity *caller = &client->agent->principal->identity;
    Target target = {
        .owner = call->owner.identity,
        .bucket = call->bucket,
        .name = call->name,
    };

    if (!call->owner.is_other)
        target.owner =
            principal_identity_of_bucket(&client->server->user_agent, caller, &target.bucket);
    else if (!call->owner.has_uid)
        target.owner.uid = caller->uid;
    target.principal = principal_find(&client->server->user_agent, &target.owner);
    if (call->owner.is_other)
        target.result = check_path(caller, call);
    if (target.result == LOCK_RESULT_OK && is_lock_operation(call) &&
        g_str_has_prefix(call->bucket, BUS_PUBLIC_PREFIX))
        target.result = LOCK_RESULT_NO_SESSION;
    if (target.result == LOCK_RESULT_OK && g_str_has_prefix(call->bucket, BUS_GROUP_PREFIX))
        target.result = check_group(client, call, &target);
    if (target.result == LOCK_RESULT_OK && g_str_equal(call->bucket, BUS_USER_DOCUMENTS_BUCKET))
        target.result = check_documents(client, call, &target);
    if (target.result == LOCK_RESULT_OK && lock_call_is_clustered(call))
        target.result = cluster_calls_check(client, call, &target);
    /* Whose locks those of other hosts are is not known here. */
    if (target.result == LOCK_RESULT_OK && target.owner.kind == PRINCIPAL_CLUSTER &&
        needs_right(client, call))
        target.result = LOCK_RESULT_NOT_ROOT;
    return target;
}
