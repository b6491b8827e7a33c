/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What an agent waits for and holds, by the ids that the service gave: where signals find whom
 * they concern.
 *
 * Ids belong to the agent, not to a bucket. An entry is part of a request or a hold; whoever it is
 * part of takes it out before it is freed. */

#pragma once

#include <glib.h>

#include "common/sd-bus.h"

typedef struct Ledger Ledger;
typedef struct LedgerEntry LedgerEntry;

typedef struct {
    /* The service granted it; NULL if it is held already. */
    void (*granted)(LedgerEntry *entry, guint64 token);

    /* It ended for the wire's `reason`; `error` is what that is to someone who waits. It may take
     * itself out. */
    void (*ended)(LedgerEntry *entry, const char *reason, const GError *error);
} LedgerEntryFuncs;

struct LedgerEntry {
    guint64 id;
    const LedgerEntryFuncs *funcs;
};

Ledger *ledger_new(void);
void ledger_free(Ledger *self);

void ledger_add(Ledger *self, LedgerEntry *entry);

/* Nothing if another entry has its id by now: a hold takes the place of its request. */
void ledger_remove(Ledger *self, LedgerEntry *entry);

/* Takes in a signal of the service; `us` is our client id. */
void ledger_on_signal(Ledger *self, sd_bus_message *signal, const char *us);

/* Ends all entries. */
void ledger_end_all(Ledger *self, const char *reason, const GError *error);

/* Monitors are told of every signal of their bucket; `path` is the bucket object's. */
typedef struct LedgerWatch LedgerWatch;
LedgerWatch *
ledger_add_watch(Ledger *self, const char *path, void (*changed)(gpointer data), gpointer data);
/* TRUE if it was the last for its bucket. */
gboolean ledger_remove_watch(Ledger *self, LedgerWatch *watch);
