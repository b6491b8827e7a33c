/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/core/limits.h"

const LimitsTableRow limits_table[N_LIMITS] = {
    /* Bytes of UTF-8 in a resource name. */
    [LIMIT_NAME_BYTES] = {"nameBytes", 1024},
    /* Bytes of UTF-8 in the option `why`. */
    [LIMIT_WHY_BYTES] = {"whyBytes", 256},
    /* Held and waiting together, of one connection: bounds what a client that doesn't read can have
     * undelivered. */
    [LIMIT_REQUESTS_PER_CLIENT] = {"requestsPerClient", 1024},
    /* Held and waiting together, of all connections of one uid. */
    [LIMIT_REQUESTS_PER_UID] = {"requestsPerUid", 16384},
    /* Held and waiting together, of everybody. */
    [LIMIT_REQUESTS_TOTAL] = {"requestsTotal", 65536},
    /* Connections of one uid that the service knows at a time. */
    [LIMIT_CLIENTS_PER_UID] = {"clientsPerUid", 1024},
    /* Calls of one connection that wait while the service asks the bus who it is. */
    [LIMIT_CALLS_BEFORE_IDENTIFIED] = {"callsBeforeIdentified", 4096},
    /* Buckets that one connection watches. */
    [LIMIT_WATCHES_PER_CLIENT] = {"watchesPerClient", 64},
    /* Private sockets of one uid, each of which is a file descriptor. */
    [LIMIT_PRIVATE_SOCKETS_PER_UID] = {"privateSocketsPerUid", 256},
};

void
limits_init(Limits *limits)
{
    for (guint i = 0; i < N_LIMITS; i++)
        limits->max[i] = limits_table[i].default_value;
}

gboolean
limits_set_from_string(Limits *limits, const char *assignment)
{
    const char *equals = strchr(assignment, '=');
    guint64 value;

    if (equals == NULL || !g_ascii_string_to_unsigned(equals + 1, 10, 1, G_MAXINT32, &value, NULL))
        return FALSE;

    for (guint i = 0; i < N_LIMITS; i++) {
        gsize length = strlen(limits_table[i].name);

        if ((gsize)(equals - assignment) == length &&
            strncmp(assignment, limits_table[i].name, length) == 0) {
            limits->max[i] = (guint32)value;
            return TRUE;
        }
    }
    return FALSE;
}

LimitsAccount *
limits_account_get(GHashTable *accounts, guint32 uid)
{
    LimitsAccount *account = g_hash_table_lookup(accounts, GUINT_TO_POINTER(uid));

    if (account != NULL)
        return limits_account_ref(account);

    account = g_new0(LimitsAccount, 1);
    account->refs = 1;
    account->accounts = accounts;
    account->uid = uid;
    g_hash_table_insert(accounts, GUINT_TO_POINTER(uid), account);
    return account;
}

LimitsAccount *
limits_account_ref(LimitsAccount *account)
{
    account->refs++;
    return account;
}

void
limits_account_unref(LimitsAccount *account)
{
    if (--account->refs > 0)
        return;

    g_assert(account->n_clients == 0);
    g_assert(account->n_requests == 0);
    g_assert(account->n_private_sockets == 0);
    g_hash_table_remove(account->accounts, GUINT_TO_POINTER(account->uid));
    g_free(account);
}
