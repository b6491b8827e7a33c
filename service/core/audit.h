/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Counts anew what the accounts say. For tests, and for services that are built to be tested: it
 * walks all that there is. */

#pragma once

#include <glib.h>

#include "core-types.h"
#include "limit-accounts.h"

typedef struct {
    GHashTable *sums; /* LimitsAccount -> guint32[N_CHARGES] */
} Audit;

/* With the agents and the requests of this user agent. */
void audit_init(Audit *audit, const UserAgent *user_agent);
void audit_fini(Audit *audit);

/* There are so many that the core does not know. */
void audit_count(Audit *audit, LimitsAccount *account, ChargeKind kind, guint32 n);

/* NULL if each account says what was counted; else what is wrong, to be freed. */
char *audit_compare(const Audit *audit, const UserAgent *user_agent);
