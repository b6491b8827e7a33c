/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Everything that a client can make grow, and how far.
 *
 * The limits are listed in common/limit-id.h, and their defaults in limits.c: `Limits` on the bus,
 * --limit and the error texts are made from these.
 *
 * What many can have together is charged to accounts, which are a tree: everybody, below that each
 * uid, below a uid each of its sandboxed applications. A charge goes to one account and to all
 * above it, is made when the counted object is made, and discharged when that ends, on whatever
 * path; an account must be at zero when it goes. An unsandboxed client is charged to its uid: who
 * is the user himself is bound by the user's limits only.
 *
 * Nobody gets the last quarter of a limit by being first. When no more than that is left, those
 * below get more only while they have less than an equal share: the limit divided by the number of
 * those that have any, and one more who may come. So a uid that floods leaves a quarter of all to
 * the others, and an application leaves a quarter of its user's to the user. */

#pragma once

#include <glib.h>

#include "core-types.h"
#include "limit-id.h"

typedef struct {
    guint32 max[N_LIMITS];
} Limits;

void limits_init(Limits *limits);

/* Takes "NAME=N" with 1 <= N <= 2^31-1. FALSE, and nothing changed, for anything else. */
gboolean limits_set_from_string(Limits *limits, const char *assignment);

/* What is charged. */
typedef enum {
    CHARGE_CLIENT,
    CHARGE_REQUEST,   /* held or waiting */
    CHARGE_TEXT_BYTE, /* of their names, buckets and `why`s */
    CHARGE_WATCH,
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
    LimitsAccount *parent; /* a reference; NULL of the total */
    GHashTable *by_uid;    /* of the total: uid -> LimitsAccount, weak */
    guint32 uid;           /* of the others */
    guint32 n[N_CHARGES];
    guint32 n_sharers[N_CHARGES]; /* accounts right below this one that have any */
    gsize n_bytes_waiting;        /* of a uid: of its calls that wait; session/call-queue.c's */
};

/* That of everybody; a new reference. */
LimitsAccount *limits_account_new_total(void);

/* The account of `uid`, made if there is none; a new reference. */
LimitsAccount *limits_account_get_uid(LimitsAccount *total, guint32 uid);

/* That of one more application of a uid; a new reference. */
LimitsAccount *limits_account_new_app(LimitsAccount *of_uid);

LimitsAccount *limits_account_ref(LimitsAccount *account);
void limits_account_unref(LimitsAccount *account);

/* Whether `n` more may be charged. If not, `*out_limit` is the nearest limit that is in the way. */
gboolean limits_admit(const Limits *limits,
                      const LimitsAccount *account,
                      ChargeKind kind,
                      guint32 n,
                      LimitId *out_limit);

/* Charges so many, whatever the limits are: what was there before the service died comes back. */
void limits_charge(LimitsAccount *account, ChargeKind kind, guint32 n);
void limits_discharge(LimitsAccount *account, ChargeKind kind, guint32 n);

/* The limit of a kind in a scope. */
LimitId limits_get_id(ChargeKind kind, LimitsScope scope);
