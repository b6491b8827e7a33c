/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "principal.h"

#include "limit-accounts.h"
#include "name-hash.h"
#include "user-agent.h"

guint
principal_identity_hash(gconstpointer identity)
{
    const PrincipalIdentity *id = identity;

    return (id->uid * 31u + (guint)id->kind) * 31u + name_hash(id->app_id);
}

gboolean
principal_identity_equal(gconstpointer a, gconstpointer b)
{
    const PrincipalIdentity *x = a;
    const PrincipalIdentity *y = b;

    return x->uid == y->uid && x->kind == y->kind && g_str_equal(x->app_id, y->app_id);
}

static LimitsAccount *
get_account(UserAgent *user_agent, const PrincipalIdentity *identity)
{
    LimitsAccount *of_uid = limits_account_get_uid(user_agent->total, identity->uid);
    LimitsAccount *of_app;

    if (identity->kind == PRINCIPAL_UNSANDBOXED)
        return of_uid;
    of_app = limits_account_new_app(of_uid);
    limits_account_unref(of_uid);
    return of_app;
}

Principal *
principal_get(UserAgent *user_agent, const PrincipalIdentity *identity)
{
    Principal *principal = principal_find(user_agent, identity);

    if (principal != NULL)
        return principal_ref(principal);

    principal = g_new0(Principal, 1);
    principal->refs = 1;
    principal->user_agent = user_agent;
    principal->identity = *identity;
    principal->identity.app_id = g_strdup(identity->app_id);
    principal->account = get_account(user_agent, identity);
    principal->managers = g_hash_table_new(name_hash, g_str_equal);
    g_hash_table_insert(user_agent->principals, &principal->identity, principal);
    return principal;
}

Principal *
principal_find(const UserAgent *user_agent, const PrincipalIdentity *identity)
{
    return g_hash_table_lookup(user_agent->principals, identity);
}

const LimitsAccount *
principal_get_scope(const Principal *principal)
{
    if (principal->identity.kind == PRINCIPAL_UNSANDBOXED && principal->identity.uid == 0)
        return principal->user_agent->total;
    return principal->account;
}

gboolean
principal_may_observe(const Principal *observer, const Principal *observed)
{
    const LimitsAccount *scope = principal_get_scope(observer);

    for (const LimitsAccount *account = observed->account; account != NULL;
         account = account->parent)
        if (account == scope)
            return TRUE;
    return FALSE;
}

Principal *
principal_ref(Principal *principal)
{
    principal->refs++;
    return principal;
}

void
principal_unref(Principal *principal)
{
    if (--principal->refs > 0)
        return;

    g_assert(g_hash_table_size(principal->managers) == 0);
    g_hash_table_remove(principal->user_agent->principals, &principal->identity);
    user_agent_retire_token(principal->user_agent, principal->retired_token);
    g_hash_table_unref(principal->managers);
    limits_account_unref(principal->account);
    g_free((char *)principal->identity.app_id);
    g_free(principal);
}

guint64
principal_first_token(const Principal *principal)
{
    return MAX(principal->user_agent->token_clock, principal->retired_token) + 1;
}

void
principal_retire_token(Principal *principal, guint64 token)
{
    principal->retired_token = MAX(principal->retired_token, token);
}
