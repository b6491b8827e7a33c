/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Recomputes the sums of all accounts of the core, which visits all objects, and compares them. */

#pragma once

#include <glib.h>

#include "service/core/core-types.h"
#include "service/core/principal.h"

typedef struct {
    GHashTable *sums; /* LimitsAccount -> guint32[N_CHARGES] */
} Audit;

/* Counts the agents and requests of this user agent. */
void audit_init(Audit *audit, const UserAgent *user_agent);
void audit_fini(Audit *audit);

/* Adds objects that the core doesn't have, such as watches. */
void audit_count(Audit *audit, LimitsAccount *account, ChargeKind kind, guint32 n);

/* Returns NULL if all accounts are correct, otherwise an owned description of a wrong one. */
char *audit_compare(const Audit *audit, const UserAgent *user_agent);
