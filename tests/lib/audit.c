/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/lib/audit.h"

#include "service/core/lock-manager.h"
#include "service/core/lock-queue.h"
#include "service/core/principal.h"
#include "service/core/user-agent.h"

static guint32 *
get_sums(const Audit *audit, LimitsAccount *account)
{
    guint32 *sums = g_hash_table_lookup(audit->sums, account);

    if (sums == NULL) {
        sums = g_new0(guint32, N_CHARGES);
        g_hash_table_insert(audit->sums, account, sums);
    }
    return sums;
}

void
audit_count(Audit *audit, LimitsAccount *account, ChargeKind kind, guint32 n)
{
    for (; account != NULL; account = account->parent)
        get_sums(audit, account)[kind] += n;
}

void
audit_init(Audit *audit, const UserAgent *user_agent)
{
    GHashTableIter iter;
    Principal *principal;

    audit->sums = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    audit_count(audit, (LimitsAccount *)&user_agent->total, CHARGE_CLIENT, 0);
    g_hash_table_iter_init(&iter, user_agent->principals);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&principal))
        audit_count(audit, &principal->account, CHARGE_CLIENT,
                    0); /* so that empty accounts count */
    for (const GList *link = user_agent->agents.head; link != NULL; link = link->next) {
        const Agent *agent = link->data;

        audit_count(audit, &agent->principal->account, CHARGE_CLIENT, 1);
        audit_count(audit, &agent->principal->account, CHARGE_REQUEST, agent->requests.length);
        for (const GList *item = agent->requests.head; item != NULL; item = item->next)
            audit_count(audit, &agent->principal->account, CHARGE_TEXT_BYTE,
                        lock_request_get_text_bytes(item->data));
    }
}

void
audit_fini(Audit *audit)
{
    g_hash_table_unref(audit->sums);
}

static char *
describe_difference(
    const LimitsAccount *account, ChargeKind kind, const char *what, guint32 charged, guint32 found)
{
    static const char *const kinds[N_CHARGES] = {"clients", "requests", "text bytes", "watches",
                                                 "demands"};
    static const char *const scopes[N_SCOPES] = {"an application", "a uid", "the total"};

    return g_strdup_printf("%s of %s: the account has %u %s, there are %u", kinds[kind],
                           scopes[account->scope], charged, what, found);
}

static guint32
count_sharers(const Audit *audit, const LimitsAccount *parent, ChargeKind kind)
{
    GHashTableIter iter;
    const LimitsAccount *account;
    const guint32 *sums;
    guint32 n = 0;

    g_hash_table_iter_init(&iter, audit->sums);
    while (g_hash_table_iter_next(&iter, (gpointer *)&account, (gpointer *)&sums))
        n += account->parent == parent && sums[kind] > 0;
    return n;
}

/* Counts the same requests in the lock managers' lists. */
static guint32
count_in_buckets(const UserAgent *user_agent)
{
    GHashTableIter principals, managers;
    const Principal *principal;
    const LockManager *manager;
    guint32 n = 0;

    g_hash_table_iter_init(&principals, user_agent->principals);
    while (g_hash_table_iter_next(&principals, NULL, (gpointer *)&principal)) {
        g_hash_table_iter_init(&managers, principal->managers);
        while (g_hash_table_iter_next(&managers, NULL, (gpointer *)&manager))
            n += manager->requests.length;
    }
    return n;
}

char *
audit_compare(const Audit *audit, const UserAgent *user_agent)
{
    const LimitsAccount *total = &user_agent->total;
    GHashTableIter iter;
    const LimitsAccount *account;
    const guint32 *sums;

    g_hash_table_iter_init(&iter, audit->sums);
    while (g_hash_table_iter_next(&iter, (gpointer *)&account, (gpointer *)&sums))
        for (guint i = 0; i < N_CHARGES; i++) {
            ChargeKind kind = (ChargeKind)i;
            guint32 n_sharers;

            if (account->n[kind] != sums[kind])
                return describe_difference(account, kind, "objects", account->n[kind], sums[kind]);
            if (account->scope == SCOPE_APP)
                continue;
            n_sharers = count_sharers(audit, account, kind);
            if (account->n_sharers[kind] != n_sharers)
                return describe_difference(account, kind, "sharers", account->n_sharers[kind],
                                           n_sharers);
        }
    if (count_in_buckets(user_agent) != total->n[CHARGE_REQUEST])
        return describe_difference(total, CHARGE_REQUEST, "requests in buckets",
                                   total->n[CHARGE_REQUEST], count_in_buckets(user_agent));
    return NULL;
}
