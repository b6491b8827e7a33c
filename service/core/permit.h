/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Permits: what this host may grant under one name of a bucket that several hosts share.
 *
 * Every queue of a clustered lock manager has a permit; other queues have none, and nothing here
 * concerns them. The caller sets the permit, as the cluster decides, and reports the demand of the
 * queue to the cluster. A turn is the time from permit_set() to permit_return() or permit_revoke().
 * When the cluster requests the end of a turn (permit_yield), the requests that wait then are still
 * granted in this turn, and later ones are not. A queue grants a request if, in addition to the
 * standard's rules, the permit covers its mode, its sequence is not above the boundary of the turn,
 * and the permit has tokens left. If it has not, the cluster gives it others by permit_set(),
 * unless the end of the turn was requested.
 *
 * A request with `ifAvailable` or `steal` whose result depends on other hosts is undecided: it
 * waits until it is granted, or ends as EFFECT_UNAVAILABLE. It ends by itself when its time has
 * passed, in user_agent_expire(). Undecided steals are not in `pending`, and don't delay what is;
 * when an exclusive permit arrives, each ends the held locks and is granted, in request order.
 * There is at most one undecided request with `ifAvailable`, and it is the first in `pending`.
 *
 * There are no counting locks here. A downgrade leaves the permit as it is.
 *
 * Restored locks are held without a permit, until the caller sets one or revokes them. */

#pragma once

#include <glib.h>

#include "core-types.h"
#include "lock-queue.h"
#include "permit-mode.h"

/* How long an undecided request waits. */
#define PERMIT_IF_AVAILABLE_MS 2000u
#define PERMIT_STEAL_MS        5000u

struct Permit {
    PermitMode mode;
    gboolean is_listed;  /* the queue is in UserAgent.demands */
    guint64 boundary;    /* the last LockRequest.sequence of this turn; G_MAXUINT64: any */
    guint64 last_token;  /* of a grant, or restored; never decreases */
    guint64 token_limit; /* the last token of the permit */
    GQueue steals;       /* of LockRequest, by LockRequest.in_queue: undecided */
    gpointer clustered;  /* for service/cluster; not used by the core */
};

/* What the host needs from the cluster, and still uses, of one name. */
typedef struct {
    PermitMode permit;
    PermitMode want;       /* for the first request that waits; PERMIT_NONE: none waits */
    PermitMode held;       /* the mode of the held locks; PERMIT_NONE: none is held */
    Undecided undecided;   /* of any request that waits; a steal before others */
    gboolean needs_tokens; /* the permit covers the first request, but its tokens are used up */
    gboolean turn_over;    /* has a permit, holds nothing, and can grant nothing more under it */
    guint n_waiting;
} Demand;

/* ---- operations; their effects are appended to the user agent's */

/* The permit has arrived, or changes, or gets other tokens: a new turn begins. `mode` is not
 * PERMIT_NONE. Held locks that the permit does not cover end as EFFECT_LOST. Grants in this turn
 * get tokens of the range, from `first` to `last`, that are above all earlier ones of the queue.
 * The range belongs to the permit, since another host that gets the permit afterwards, also by a
 * steal of which this host is not notified yet, gets a higher one. */
void permit_set(LockQueue *queue, PermitMode mode, guint64 first, guint64 last);

/* The cluster requests the end of the turn: no later request is granted in it; if `now`, none at
 * all. Held locks stay held. Does nothing without a permit. */
void permit_yield(LockQueue *queue, gboolean now);

/* Removes a permit that is returned to the cluster; Demand.turn_over must be TRUE. */
void permit_return(LockQueue *queue);

/* It is not known any more whether the permit is valid: nothing is granted until permit_set(), and
 * held locks stay held. */
void permit_suspend(LockQueue *queue);

/* The permit has been taken away: held locks end as EFFECT_STOLEN or EFFECT_LOST; requests keep
 * waiting. Without a permit, ends restored locks. */
void permit_revoke(LockQueue *queue, EffectKind effect_kind);

/* Others hold the name, or can't be asked: an undecided request with `ifAvailable` ends as
 * EFFECT_UNAVAILABLE. */
void permit_decline(LockQueue *queue);

/* ---- demand */

Demand permit_get_demand(const LockQueue *queue);

/* Returns a clustered queue whose demand may have changed since it was last returned, as a new
 * reference; NULL: no more. */
LockQueue *permit_take_changed(UserAgent *user_agent);

/* ---- for the other files of the core */

Permit *permit_new(void);
void permit_free(Permit *permit);

/* Whether the permit and the held locks allow the first request of the queue, with this mode and
 * sequence, to be granted now. */
gboolean permit_admits(const LockQueue *queue, LockMode mode, guint64 sequence);

/* Whether another host waits for the end of the turn, or an undecided steal for the lock. */
gboolean permit_is_wanted(const Permit *permit);

/* Whether a new request with these options has to be decided by the cluster. */
Undecided permit_get_undecided(const LockQueue *queue, const LockOptions *options);

/* Adds a new undecided request to its list. Returns its time-out, which is not longer than
 * `timeout_ms` (0: none); with `ifAvailable` there can't be one. */
guint32 permit_enqueue(LockRequest *request, guint32 timeout_ms);

/* The token of a grant, which permit_admits() or a steal allows. */
guint64 permit_next_token(LockQueue *queue);

/* A restored lock has this token: later ones are above it. */
void permit_retire_token(LockQueue *queue, guint64 token);

/* Notes that the demand of a queue may have changed: see permit_take_changed(). */
void permit_list_demand(LockQueue *queue);
