/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "principal.h"

#include "bus-names.h"
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

/* One name for each group: a decimal number without leading zeros. (gid_t)-1 is no group. */
static gboolean
read_gid(const char *bucket, guint32 *out_gid)
{
    const char *digits = bucket + strlen(BUS_GROUP_PREFIX);
    guint64 gid;

    if (!g_str_has_prefix(bucket, BUS_GROUP_PREFIX) || (digits[0] == '0' && digits[1] != '\0') ||
        !g_ascii_string_to_unsigned(digits, 10, 0, G_MAXUINT32 - 1, &gid, NULL))
        return FALSE;
    *out_gid = (guint32)gid;
    return TRUE;
}

PrincipalIdentity
principal_identity_of_bucket(const UserAgent *user_agent,
                             const PrincipalIdentity *caller,
                             const char **bucket)
{
    guint32 gid;

    if (read_gid(*bucket, &gid))
        return (PrincipalIdentity){gid, PRINCIPAL_GROUP, ""};
    if (g_hash_table_contains(user_agent->shared_buckets, *bucket))
        return (PrincipalIdentity){PRINCIPAL_NO_UID, PRINCIPAL_CLUSTER, *bucket};
    if (caller->kind == PRINCIPAL_UNSANDBOXED || !g_str_equal(*bucket, BUS_USER_DOCUMENTS_BUCKET))
        return *caller;
    *bucket = BUS_DOCUMENTS_BUCKET;
    return (PrincipalIdentity){caller->uid, PRINCIPAL_UNSANDBOXED, ""};
}

/* Takes `of_uid`. */
static Principal *
principal_new(UserAgent *user_agent, const PrincipalIdentity *identity, Principal *of_uid)
{
    Principal *principal = g_new0(Principal, 1);

    principal->refs = 1;
    principal->user_agent = user_agent;
    principal->identity = *identity;
    principal->identity.app_id = g_strdup(identity->app_id);
    principal->of_uid = of_uid;
    principal->account.scope = of_uid != NULL ? SCOPE_APP : SCOPE_UID;
    principal->account.parent = of_uid != NULL ? &of_uid->account : &user_agent->total;
    principal->managers = g_hash_table_new(name_hash, g_str_equal);
    principal->sessions = g_hash_table_new(name_hash, g_str_equal);
    g_hash_table_insert(user_agent->principals, &principal->identity, principal);
    return principal;
}

Principal *
principal_get(UserAgent *user_agent, const PrincipalIdentity *identity)
{
    PrincipalIdentity of_uid = {.uid = identity->uid, .kind = PRINCIPAL_UNSANDBOXED, .app_id = ""};
    Principal *principal = principal_find(user_agent, identity);

    if (principal != NULL)
        return principal_ref(principal);
    if (identity->kind == PRINCIPAL_UNSANDBOXED || principal_has_members(identity))
        return principal_new(user_agent, identity, NULL);
    principal = principal_find(user_agent, &of_uid);
    if (principal != NULL)
        principal_ref(principal);
    else
        principal = principal_new(user_agent, &of_uid, NULL);
    return principal_new(user_agent, identity, principal);
}

Principal *
principal_find(const UserAgent *user_agent, const PrincipalIdentity *identity)
{
    return g_hash_table_lookup(user_agent->principals, identity);
}

LimitsAccount *
principal_get_scope(Principal *principal)
{
    if (principal->identity.kind == PRINCIPAL_UNSANDBOXED && principal->identity.uid == 0)
        return &principal->user_agent->total;
    return &principal->account;
}

gboolean
principal_may_observe(Principal *observer, const Principal *observed)
{
    const LimitsAccount *scope = principal_get_scope(observer);

    for (const LimitsAccount *account = &observed->account; account != NULL;
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

static void
principal_free(Principal *principal)
{
    g_assert(g_hash_table_size(principal->managers) == 0);
    g_hash_table_remove(principal->user_agent->principals, &principal->identity);
    user_agent_retire_token(principal->user_agent, principal->retired_token);
    g_hash_table_unref(principal->managers);
    g_hash_table_unref(principal->sessions);
    limits_account_fini(&principal->account);
    g_free((char *)principal->identity.app_id);
    g_free(principal);
}

void
principal_unref(Principal *principal)
{
    while (principal != NULL && --principal->refs == 0) {
        Principal *of_uid = principal->of_uid;

        principal_free(principal);
        principal = of_uid;
    }
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

/* ---- accounts */

static const LimitId limit_ids[N_CHARGES][N_SCOPES] = {
    [CHARGE_CLIENT] = {LIMIT_CLIENTS_PER_APP, LIMIT_CLIENTS_PER_UID, LIMIT_CLIENTS_TOTAL},
    [CHARGE_REQUEST] = {LIMIT_REQUESTS_PER_APP, LIMIT_REQUESTS_PER_UID, LIMIT_REQUESTS_TOTAL},
    [CHARGE_TEXT_BYTE] = {LIMIT_TEXT_BYTES_PER_APP, LIMIT_TEXT_BYTES_PER_UID,
                          LIMIT_TEXT_BYTES_TOTAL},
    [CHARGE_WATCH] = {LIMIT_WATCHES_PER_APP, LIMIT_WATCHES_PER_UID, LIMIT_WATCHES_TOTAL},
    [CHARGE_DEMAND] = {LIMIT_REQUESTS_PER_APP, LIMIT_REQUESTS_PER_UID, LIMIT_REQUESTS_TOTAL},
};

void
limits_account_fini(const LimitsAccount *account)
{
    for (guint i = 0; i < N_CHARGES; i++) {
        g_assert(account->n[i] == 0);
        g_assert(account->n_sharers[i] == 0);
    }
}

static gboolean
is_within_limit(const Limits *limits, const LimitsAccount *account, ChargeKind kind, guint32 n)
{
    guint32 max = limits->max[limit_ids[kind][account->scope]];

    return n <= max && account->n[kind] <= max - n;
}

/* Whether `n` more are within the account's fair share. The parent's limit allows them. */
static gboolean
is_within_share(const Limits *limits, const LimitsAccount *account, ChargeKind kind, guint32 n)
{
    const LimitsAccount *parent = account->parent;
    guint32 max = limits->max[limit_ids[kind][parent->scope]];
    guint32 left = max - parent->n[kind] - n;
    guint64 share = max / ((guint64)parent->n_sharers[kind] + 1);

    if (left >= max / 4)
        return TRUE;
    return (guint64)account->n[kind] + n <= share;
}

gboolean
limits_admit(const Limits *limits,
             const LimitsAccount *account,
             ChargeKind kind,
             guint32 n,
             LimitId *out_limit)
{
    for (; account != NULL; account = account->parent) {
        *out_limit = limit_ids[kind][account->scope];
        if (!is_within_limit(limits, account, kind, n))
            return FALSE;
        if (account->parent == NULL || !is_within_limit(limits, account->parent, kind, n))
            continue; /* the parent's own limit is checked next */
        *out_limit = limit_ids[kind][account->parent->scope];
        if (!is_within_share(limits, account, kind, n))
            return FALSE;
    }
    return TRUE;
}

void
limits_charge(LimitsAccount *account, ChargeKind kind, guint32 n)
{
    if (n == 0)
        return;
    for (; account != NULL; account = account->parent) {
        gboolean is_first = account->n[kind] == 0;

        g_assert(account->n[kind] <= G_MAXUINT32 - n);
        account->n[kind] += n;
        if (is_first && account->parent != NULL)
            account->parent->n_sharers[kind]++;
    }
}

void
limits_discharge(LimitsAccount *account, ChargeKind kind, guint32 n)
{
    if (n == 0)
        return;
    for (; account != NULL; account = account->parent) {
        g_assert(account->n[kind] >= n);
        account->n[kind] -= n;
        if (account->n[kind] == 0 && account->parent != NULL)
            account->parent->n_sharers[kind]--;
    }
}
