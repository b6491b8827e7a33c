/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The limits of everything that clients can make the service store, and the accounts that count it.
 *
 * The limits are listed in common/limit-id.h, and their defaults are in limit-accounts.c. The
 * property `Limits`, the option --limit and the error texts are derived from these.
 *
 * Accounts form a tree: the total, below it one account for each uid, below a uid one account for
 * each of its sandboxed applications. A charge is added to one account and all its ancestors when
 * the counted object is created, and discharged when the object ends; an account must be at zero
 * when it is freed. Unsandboxed clients are charged to the account of their uid. An account owns a
 * reference to its parent.
 *
 * The last quarter of a limit is shared fairly: when no more than that is left, a child account
 * gets more only while it has less than an equal share, which is the limit divided by one more than
 * the number of children that have any. So a uid that uses all it can get leaves a quarter of the
 * total to the others, and an application leaves a quarter of its uid's limit to the rest of its
 * user. */

#pragma once

#include <glib.h>

#include "core-types.h"
#include "limit-id.h"

typedef struct {
    guint32 max[N_LIMITS];
} Limits;

void limits_init(Limits *limits);

/* Parses "NAME=N" with 1 <= N <= 2^31-1. Returns FALSE and changes nothing if it is invalid. */
gboolean limits_set_from_string(Limits *limits, const char *assignment);

/* The kinds of counted objects. */
typedef enum {
    CHARGE_CLIENT,
    CHARGE_REQUEST,   /* held or pending */
    CHARGE_TEXT_BYTE, /* of the requests' names, buckets and `why` */
    CHARGE_WATCH,
    CHARGE_DEMAND, /* names for which the gateway to a cluster has a handle; limited as requests */
    N_CHARGES,
} ChargeKind;

typedef enum {
    SCOPE_APP,
    SCOPE_UID,
    SCOPE_TOTAL,
    N_SCOPES,
} LimitsScope;

struct LimitsAccount {
    guint refs;
    LimitsScope scope;
    LimitsAccount *parent; /* owned reference; NULL for the total */
    GHashTable *by_uid;    /* only of the total: uid -> LimitsAccount, weak */
    guint32 uid;           /* not of the total */
    guint32 n[N_CHARGES];
    guint32 n_sharers[N_CHARGES]; /* number of direct children that have any */
    gsize n_bytes_waiting;        /* only of a uid: deferred calls; used by session/call-queue.c */
};

/* Creates the account of the total. Returns a new reference. */
LimitsAccount *limits_account_new_total(void);

/* Gets the account of a uid, or creates it. Returns a new reference. */
LimitsAccount *limits_account_get_uid(LimitsAccount *total, guint32 uid);

/* Creates an account for a sandboxed application of a uid. Returns a new reference. */
LimitsAccount *limits_account_new_app(LimitsAccount *of_uid);

LimitsAccount *limits_account_ref(LimitsAccount *account);
void limits_account_unref(LimitsAccount *account);

/* Whether `n` more may be charged. If not, `*out_limit` is the narrowest limit that prevents it. */
gboolean limits_admit(const Limits *limits,
                      const LimitsAccount *account,
                      ChargeKind kind,
                      guint32 n,
                      LimitId *out_limit);

/* Charges `n`, whatever the limits are: restored requests are kept in any case. */
void limits_charge(LimitsAccount *account, ChargeKind kind, guint32 n);
void limits_discharge(LimitsAccount *account, ChargeKind kind, guint32 n);

/* Returns the limit for a kind of object in a scope. */
LimitId limits_get_id(ChargeKind kind, LimitsScope scope);
