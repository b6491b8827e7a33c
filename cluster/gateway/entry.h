/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* One lock name: its claim (claim.h), and what carries out the claim's actions, which are
 * operations of the engine and messages for the lock service.
 *
 * All operations of a session are carried out one after the other, also the renewal of its lease.
 * So that one user's many names don't delay that, only ENTRY_OPERATIONS_MAX operations of all
 * entries are in progress at a time; the others are started in the order in which they were due.
 *
 * The answer to an operation may arrive after the owner has closed the entry, so an entry is
 * reference-counted: the owner has one reference, and each operation in progress has one. After
 * entry_close() an answer changes nothing. */

#pragma once

#include "claim.h"
#include "cluster-packet.h"
#include "service-socket.h"
#include "session.h"

#define ENTRY_OPERATIONS_MAX 256

/* What all entries have in common; borrowed. */
typedef struct {
    Session *session;
    ServiceSocket *service;
    guint32 last_turn;  /* see claim_new() */
    guint n_operations; /* in progress */
    GQueue waiting;     /* of Entry: those with an operation that is not started yet */
    Gateway *gateway;
} EntryContext;

struct Entry {
    guint refs; /* the owner's, and one for each operation in progress */
    EntryContext *context;
    gboolean is_closed;
    Claim *claim;
    char *path;
    char *bucket;
    guint32 uid;
    char *name;
    guint64 handle; /* the lock service's number for it; 0: it has not named it in this connection,
                       or not since it has ended */
    guint32 number; /* of the last demand */
    guint generation; /* of the session; operations of earlier ones have no result any more */
    gint64 ended_us;  /* g_get_monotonic_time() when GONE was sent: since then there is no demand,
                         and no node of this host; 0: there is */
    guint tick_source;
    gboolean has_unknown; /* the name has, and that was logged */
    gint64 since_us;      /* when the turn was requested, or the claim in its way was gone; or 0 */
    gboolean has_waited;  /* for another claim */
    gboolean is_waiting;  /* `waiting` is to be started */
    ClaimAction waiting;
    GList waiting_link; /* in the context's `waiting` */
};

/* Returns a new reference. */
Entry *entry_new(EntryContext *context,
                 const char *path,
                 const char *bucket,
                 guint32 uid,
                 const char *name,
                 gint64 turn_us);

/* Drops the owner's reference; no action is carried out any more. */
void entry_close(Entry *entry);

/* Inputs. Each calls gateway_entry_changed() at its end. */
void entry_set_demand(Entry *entry, const ClusterDemand *demand);
void entry_drop_demand(Entry *entry);
void entry_service_disconnected(Entry *entry);
void entry_session_ready(Entry *entry);
void entry_session_interrupted(Entry *entry);
void entry_session_ended(Entry *entry);
void entry_node_changed(Entry *entry);
