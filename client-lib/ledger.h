/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What an agent waits for and holds, by the ids that the service gave: where signals find whom they
 * concern.
 *
 * Ids belong to the agent, not to a bucket. The ledger borrows the requests that wait (request.c
 * takes each out before it frees it) and has a reference on each hold. */

#pragma once

#include "client-lib/connection.h"
#include "client-lib/hold.h"
#include "client-lib/request.h"

Ledger *ledger_new(void);
void ledger_free(Ledger *self);

void ledger_add_waiting(Ledger *self, Request *request);
void ledger_remove_waiting(Ledger *self, Request *request);
void ledger_add_held(Ledger *self, Hold *hold);
void ledger_remove_held(Ledger *self, Hold *hold);

/* Takes in a signal of the service. */
void ledger_on_signal(Ledger *self, sd_bus_message *signal);

/* Ends all waits with `error`, and then all holds for `reason`. */
void ledger_end_all(Ledger *self, const GError *error, const char *reason);

/* Monitors are told of every signal of their bucket; `path` is the bucket object's. */
typedef struct LedgerWatch LedgerWatch;
LedgerWatch *
ledger_add_watch(Ledger *self, const char *path, ConnectionFunc changed, gpointer data);
/* TRUE if it was the last for its bucket. */
gboolean ledger_remove_watch(Ledger *self, LedgerWatch *watch);
