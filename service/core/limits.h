/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Everything that a client can make grow, and how far.
 *
 * limits_table below is the only list of limits: `Limits` on the bus, --limit and the error texts
 * are made from it. What counts per uid is charged to a LimitsAccount when the counted object is
 * made and discharged when it is freed, on whatever path; an account must be at zero when it goes.
 */

#pragma once

#include <glib.h>

#include "service/core/core-types.h"

typedef enum {
    LIMIT_NAME_BYTES,
    LIMIT_WHY_BYTES,
    LIMIT_REQUESTS_PER_CLIENT,
    LIMIT_REQUESTS_PER_UID,
    LIMIT_REQUESTS_TOTAL,
    LIMIT_CLIENTS_PER_UID,
    LIMIT_CALLS_BEFORE_IDENTIFIED,
    LIMIT_WATCHES_PER_CLIENT,
    LIMIT_PRIVATE_SOCKETS_PER_UID,
    N_LIMITS,
} LimitId;

typedef struct {
    const char *name;      /* as on the bus and in --limit */
    guint32 default_value; /* also the unit: bytes, live requests, clients, calls */
} LimitsTableRow;

extern const LimitsTableRow limits_table[N_LIMITS];

typedef struct {
    guint32 max[N_LIMITS];
} Limits;

void limits_init(Limits *limits);

/* Takes "NAME=N" with 1 <= N <= 2^31-1. FALSE, and nothing changed, for anything else. */
gboolean limits_set_from_string(Limits *limits, const char *assignment);

/* What one uid has: found by uid in `accounts` while anybody refers to it. */
struct LimitsAccount {
    guint refs;
    GHashTable *accounts; /* uid -> LimitsAccount, weak; not ours */
    guint32 uid;
    guint32 n_clients;
    guint32 n_requests;
    guint32 n_private_sockets;
};

/* The account of `uid`, made if there is none; a new reference. */
LimitsAccount *limits_account_get(GHashTable *accounts, guint32 uid);
LimitsAccount *limits_account_ref(LimitsAccount *account);
void limits_account_unref(LimitsAccount *account);
