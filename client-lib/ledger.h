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

/* What the service says of a request that it has, when it is asked for all of them: Resync. */
typedef struct {
    guint64 id;
    guint64 key;
    guint64 token; /* 0: it waits */
} LedgerRecord;

typedef struct {
    /* The service granted it; NULL if it is held already. */
    void (*granted)(LedgerEntry *entry, guint64 token);

    /* The service has this under the entry's id; NULL: nothing. Whether that is the entry's. It may
     * take itself out. */
    gboolean (*compared)(LedgerEntry *entry, const LedgerRecord *record);

    /* It ended for the wire's `reason`; `error` is what that is to someone who waits. It may take
     * itself out. */
    void (*ended)(LedgerEntry *entry, const char *reason, const GError *error);
} LedgerEntryFuncs;

struct LedgerEntry {
    guint64 id;
    const LedgerEntryFuncs *funcs;
    guint64 since; /* ledger.c's */
};

Ledger *ledger_new(void);
void ledger_free(Ledger *self);

void ledger_add(Ledger *self, LedgerEntry *entry);

/* Nothing if another entry has its id by now: a hold takes the place of its request. */
void ledger_remove(Ledger *self, LedgerEntry *entry);

gboolean ledger_is_empty(const Ledger *self);
gboolean ledger_has(const Ledger *self, guint64 id);

/* Whether anything in it waits to be granted. */
gboolean ledger_has_waiting(const Ledger *self);

/* The service is asked for all that it has; what is added from now on, the answer need not know. */
void ledger_begin_comparison(Ledger *self);

/* The answer: `records` has a LedgerRecord for each id. All entries that it must know are compared
 * with theirs, in order of ids; a record that is its entry's is taken out of `records`. */
void ledger_compare(Ledger *self, GHashTable *records);

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
