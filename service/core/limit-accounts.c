/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "limit-accounts.h"

/* The unit follows from the name: bytes, live requests, clients, calls. */
static const guint32 defaults[N_LIMITS] = {
    /* Bytes of UTF-8 in a resource name. */
    [LIMIT_NAME_BYTES] = 1024,
    /* Bytes of UTF-8 in the option `why`. */
    [LIMIT_WHY_BYTES] = 256,
    /* Held locks and pending requests of one connection. This bounds the number of events that can
     * be queued for a client that does not read. */
    [LIMIT_REQUESTS_PER_CLIENT] = 1024,
    /* The same, of all connections of one sandboxed application of a uid. */
    [LIMIT_REQUESTS_PER_APP] = 4096,
    /* The same, of all connections of one uid. */
    [LIMIT_REQUESTS_PER_UID] = 16384,
    /* The same, of all clients. */
    [LIMIT_REQUESTS_TOTAL] = 65536,
    /* Bytes of UTF-8 in the names, buckets and `why` of these: 256 on average, if the number of
     * requests is at its limit. The store needs a multiple of that. */
    [LIMIT_TEXT_BYTES_PER_APP] = 1024 * 1024,
    [LIMIT_TEXT_BYTES_PER_UID] = 4 * 1024 * 1024,
    [LIMIT_TEXT_BYTES_TOTAL] = 16 * 1024 * 1024,
    /* Connections that have an agent or are being identified. Each may have a lock socket. */
    [LIMIT_CLIENTS_PER_APP] = 256,
    [LIMIT_CLIENTS_PER_UID] = 1024,
    [LIMIT_CLIENTS_TOTAL] = 4096,
    /* Bytes of the deferred calls of one connection: until it is identified, and while it does not
     * read. */
    [LIMIT_BYTES_WAITING] = 4 * 1024 * 1024,
    /* The same, of all connections; beyond it, the uid with the most has to give way. */
    [LIMIT_BYTES_WAITING_TOTAL] = 64 * 1024 * 1024,
    /* Buckets that one connection watches. A watch keeps its bucket in memory. */
    [LIMIT_WATCHES_PER_CLIENT] = 64,
    [LIMIT_WATCHES_PER_APP] = 1024,
    [LIMIT_WATCHES_PER_UID] = 4096,
    [LIMIT_WATCHES_TOTAL] = 16384,
};

static const LimitId limit_ids[N_CHARGES][N_SCOPES] = {
    [CHARGE_CLIENT] = {LIMIT_CLIENTS_PER_APP, LIMIT_CLIENTS_PER_UID, LIMIT_CLIENTS_TOTAL},
    [CHARGE_REQUEST] = {LIMIT_REQUESTS_PER_APP, LIMIT_REQUESTS_PER_UID, LIMIT_REQUESTS_TOTAL},
    [CHARGE_TEXT_BYTE] = {LIMIT_TEXT_BYTES_PER_APP, LIMIT_TEXT_BYTES_PER_UID,
                          LIMIT_TEXT_BYTES_TOTAL},
    [CHARGE_WATCH] = {LIMIT_WATCHES_PER_APP, LIMIT_WATCHES_PER_UID, LIMIT_WATCHES_TOTAL},
    [CHARGE_DEMAND] = {LIMIT_REQUESTS_PER_APP, LIMIT_REQUESTS_PER_UID, LIMIT_REQUESTS_TOTAL},
};

void
limits_init(Limits *limits)
{
    for (guint i = 0; i < N_LIMITS; i++)
        limits->max[i] = defaults[i];
}

gboolean
limits_set_from_string(Limits *limits, const char *assignment)
{
    const char *equals = strchr(assignment, '=');
    guint64 value;

    if (equals == NULL || !g_ascii_string_to_unsigned(equals + 1, 10, 1, G_MAXINT32, &value, NULL))
        return FALSE;

    for (guint i = 0; i < N_LIMITS; i++) {
        gsize length = strlen(limit_id_get_name(i));

        if ((gsize)(equals - assignment) == length &&
            strncmp(assignment, limit_id_get_name(i), length) == 0) {
            limits->max[i] = (guint32)value;
            return TRUE;
        }
    }
    return FALSE;
}

LimitId
limits_get_id(ChargeKind kind, LimitsScope scope)
{
    return limit_ids[kind][scope];
}

/* ---- accounts */

static LimitsAccount *
account_new(LimitsScope scope, LimitsAccount *parent, guint32 uid)
{
    LimitsAccount *account = g_new0(LimitsAccount, 1);

    account->refs = 1;
    account->scope = scope;
    account->parent = parent != NULL ? limits_account_ref(parent) : NULL;
    account->uid = uid;
    return account;
}

LimitsAccount *
limits_account_new_total(void)
{
    LimitsAccount *total = account_new(SCOPE_TOTAL, NULL, 0);

    total->by_uid = g_hash_table_new(g_direct_hash, g_direct_equal);
    return total;
}

LimitsAccount *
limits_account_get_uid(LimitsAccount *total, guint32 uid)
{
    LimitsAccount *account = g_hash_table_lookup(total->by_uid, GUINT_TO_POINTER(uid));

    if (account != NULL)
        return limits_account_ref(account);

    account = account_new(SCOPE_UID, total, uid);
    g_hash_table_insert(total->by_uid, GUINT_TO_POINTER(uid), account);
    return account;
}

LimitsAccount *
limits_account_new_app(LimitsAccount *of_uid)
{
    g_assert(of_uid->scope == SCOPE_UID);
    return account_new(SCOPE_APP, of_uid, of_uid->uid);
}

LimitsAccount *
limits_account_ref(LimitsAccount *account)
{
    account->refs++;
    return account;
}

static void
account_free(LimitsAccount *account)
{
    g_assert(account->n_bytes_waiting == 0);
    for (guint i = 0; i < N_CHARGES; i++) {
        g_assert(account->n[i] == 0);
        g_assert(account->n_sharers[i] == 0);
    }
    if (account->scope == SCOPE_UID)
        g_hash_table_remove(account->parent->by_uid, GUINT_TO_POINTER(account->uid));
    if (account->by_uid != NULL) {
        g_assert(g_hash_table_size(account->by_uid) == 0);
        g_hash_table_unref(account->by_uid);
    }
    g_free(account);
}

void
limits_account_unref(LimitsAccount *account)
{
    while (account != NULL && --account->refs == 0) {
        LimitsAccount *parent = account->parent;

        account_free(account);
        account = parent; /* drop the reference to the parent, too */
    }
}

/* ---- charges */

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
