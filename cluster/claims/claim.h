/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The claim of this host for one name: how it takes its turn among the hosts.
 *
 * The lock service states what it wants of the name (its demand), and grants locks by itself while
 * it has a permit. A claim gets the permit from the engine: it creates a node, waits until no
 * conflicting claim that was made before is left, and commits the grant. When another host has a
 * claim that waits, the lock service is asked to end its turn (yield), though not in the first
 * millisecond; when it has done so, the node is deleted, and the next one created in the same
 * commit if there is still a demand. So a request waits for at most one turn of every other host.
 *
 * Why no two hosts are granted conflicting claims. A claim that is created gets a number after
 * those of all claims of that name, so what a list shows before it is all that can be before it,
 * except for what a steal makes. Therefore a grant needs a list in which no conflicting claim is
 * before the own one, and has to be refused if there was a steal since: GRANT compares the number
 * of steals with the one read before the list. Nothing else is compared, so grants of several hosts
 * at the same time don't refuse each other.
 *
 * A steal ends the claims that its list shows as granted, and makes its own one before all others,
 * if there was no other steal since that list. It gives no permit yet: a shared claim that was made
 * after the list may have been granted before the steal. From then on no other claim can be
 * granted, since each list shows that of the steal, and grants by earlier lists are refused. So the
 * next list has all that were. The claim of the steal is granted like any other when this list
 * shows no shared claim that only it precedes and that was made before it; what there is, is ended
 * by another steal. A claim that was made later has only ever waited. An exclusive claim can't have
 * been granted meanwhile: one that the steal has ended was before it until then.
 *
 * How a turn is asked to end. A host with an exclusive permit watches the claims. Hosts with shared
 * ones are many, and each claim that comes or goes would make all of them read all claims; so they
 * watch the node of the name, which only claims that wait for shared ones (NOTIFY), and steals,
 * write. A claim that waits lists the claims after it was made, and then writes; a holder watches,
 * and then lists: so it sees the claim, or the write.
 *
 * This is a state machine without I/O or clock. Its inputs are the functions below; each appends
 * actions to a queue, which the caller takes and carries out in order: operations of the engine, of
 * which at most one is in progress, and messages for the lock service.
 *
 * Invariants:
 * - The lock service has a permit only between a committed grant of the current node and the first
 *   of: its return, the loss of the node, the end of the session.
 * - If the outcome of an operation is unknown, nothing is assumed: the children of the name are
 * read after a sync, and the host's own nodes are recognized by session and turn.
 * - A node that has been granted is never granted a second turn after its return. Before that, it
 *   can be granted again for other tokens, until the end of the turn is requested. */

#pragma once

#include <glib.h>

#include "claim-name.h"

/* A steal ends at most so many claims, since the engine takes no request of more than 1 MB. With
 * more of them, a request that steals waits like any other. */
#define CLAIM_STEAL_MAX 1000

typedef struct Claim Claim;

/* What the lock service wants of the name. While it has a permit, it need not report what it can
 * serve by itself; it returns a permit that it has not used for a while. */
typedef struct {
    PermitMode want;           /* the mode of its first request that waits */
    PermitMode held;           /* the mode of the locks that it has granted */
    gboolean has_if_available; /* the request is `ifAvailable`: it does not wait for other hosts */
    gboolean has_steal;        /* the request steals: it does not wait for other hosts either */
    gboolean needs_tokens;     /* those of the permit are used up */
    gboolean is_returned;      /* the lock service returns the permit */
    guint64 block;             /* of the permit that it has or returns; 0: none. It distinguishes
                                  a demand that has crossed a new permit. After a restart of the
                                  lock service: of the first token that is held */
    guint64 session;           /* and of the claim of a permit from an earlier connection; */
    guint32 turn;              /* 0: there is none */
} ClaimDemand;

/* Operations of the engine on the node of the name and its children. */
typedef enum {
    CLAIM_NO_OPERATION,
    CLAIM_ENSURE, /* create the node of the name if it doesn't exist */
    CLAIM_CREATE, /* create `name`, whose sequence number the engine chooses */
    CLAIM_LIST,   /* list the children, with the number of steals before */
    CLAIM_WATCH,  /* call claim_changed() when `name` ends; NO_NODE if it doesn't exist */
    CLAIM_NOTIFY, /* write the node of the name, so that holders of shared permits list */
    CLAIM_GRANT,  /* in one commit: check that `name` exists, and that the number of steals is
                     `version`, and get a block of tokens */
    CLAIM_PROVE,  /* find out whether `name` was made before `block` was given out; BAD_VERSION:
                     it was not */
    CLAIM_DELETE, /* delete `name` */
    CLAIM_SWAP,   /* in one commit: delete `old`, and create `name` as CREATE does */
    CLAIM_STEAL,  /* in one commit: raise the number of steals, which has to be `version`, notify,
                     delete those in `ended`, and create `name` with its sequence number */
} ClaimOperation;

/* Messages for the lock service. */
typedef enum {
    CLAIM_NO_MESSAGE,
    CLAIM_PERMIT, /* it has a permit of `mode`, by `name`, and the tokens of `block`; also when it
                     has that permit, and needs other tokens */
    CLAIM_YIELD, /* end the turn: grant only to requests that wait already, or, if `now`, to none */
    CLAIM_REVOKED, /* the permit has ended: stolen, or lost if `is_lost` */
    CLAIM_BUSY,    /* a claim of another host conflicts */
    CLAIM_GONE,    /* there is no demand and no node any more: the claim may be freed */
} ClaimMessage;

/* Either an operation or a message. */
typedef struct {
    ClaimOperation operation;
    ClaimMessage message;
    ClaimName name;
    ClaimName old;
    gint32 version;
    gboolean sync;    /* of LIST: see all commits of all sessions so far */
    PermitMode watch; /* of LIST: call claim_changed() when the children change, or if it is
                         PERMIT_SHARED, when NOTIFY or STEAL is committed by any host */
    GArray *ended;    /* of ClaimName; owned; NULL except in STEAL. CLAIM_STEAL_MAX and the own
                         claim at most */
    PermitMode mode;
    guint64 block;
    gboolean now;
    gboolean is_lost;
} ClaimAction;

/* The result of an operation of the engine. */
typedef enum {
    CLAIM_OK,
    CLAIM_NO_NODE,     /* a node of the operation doesn't exist; nothing was changed */
    CLAIM_BAD_VERSION, /* there was a steal; nothing was changed. See also PROVE */
    CLAIM_UNKNOWN,     /* the connection broke: the operation has been carried out, or not, or it
                          still will be, until the next sync */
} ClaimOutcome;

typedef struct {
    ClaimOutcome outcome;
    gint32 sequence;        /* of CREATE and SWAP: of the new node */
    guint64 block;          /* of GRANT */
    gint32 version;         /* of LIST: the number of steals */
    guint32 n_created;      /* of STEAL: how many claims the name had ever had, modulo 2^31 */
    const GArray *children; /* of LIST: of ClaimName; borrowed */
} ClaimResult;

/* `turn_us` is how long the lock service may go on granting after it was asked to end its turn.
 * `last_turn` is the last turn number of all claims of the session, borrowed: no two nodes that a
 * session has ever made have the same name, though a name's node may be deleted and made again. */
Claim *claim_new(gint64 turn_us, guint32 *last_turn);
void claim_free(Claim *claim);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Claim, claim_free)

/* Takes the next action from the queue. Returns FALSE if there is none. */
gboolean claim_take_action(Claim *claim, ClaimAction *out_action);
void claim_action_clear(ClaimAction *action);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ClaimAction, claim_action_clear)

/* ---- inputs; `now_us` is any clock that never goes back */

void claim_set_demand(Claim *claim, const ClaimDemand *demand, gint64 now_us);

/* The lock service has connected again: it has no permit until it gets it again, and its demand is
 * not known until the next claim_set_demand(), as in a new claim. If that names the claim of the
 * permit, and this is found among the children of the name, the permit is confirmed: it was
 * granted, since the lock service has got the permit, and not returned, since the lock service says
 * so. A lock service that was restarted does not know the claim. If there is one now, it may have
 * been made after that of the held locks was stolen, and even after that host has released the
 * name; so it protects them only if it was made before their tokens were given out. If it does not,
 * they end, before anything else is granted: REVOKED. */
void claim_service_restarted(Claim *claim);

/* There is a connection to the engine, in this session (not 0). */
void claim_connected(Claim *claim, guint64 session, gint64 now_us);

/* The connection has broken. The result of the operation in progress, if any, is CLAIM_UNKNOWN and
 * comes by claim_result(), before or after. */
void claim_disconnected(Claim *claim);

/* The session has ended, or must not be used any more: its nodes will be or have been deleted. No
 * result comes any more for an operation in progress. */
void claim_session_ended(Claim *claim, gint64 now_us);

/* The result of the operation in progress. */
void claim_result(Claim *claim, const ClaimResult *result, gint64 now_us);

/* A watch has fired. May be called at any time. */
void claim_changed(Claim *claim, gint64 now_us);

/* Time has passed. */
void claim_tick(Claim *claim, gint64 now_us);

/* ---- state */

/* When to call claim_tick() next, or -1. */
gint64 claim_get_next_tick_us(const Claim *claim);

/* Whether there is a node, or may be one. */
gboolean claim_has_node(const Claim *claim);

/* Whether a node of this session is, or may be, the one that is in use. */
gboolean claim_uses_node(const Claim *claim, const ClaimName *name);

/* Whether it is known if a node from before the connection of the lock service gives a permit.
 * What happens to later nodes does not change that: under contention there is always an operation
 * in progress. */
gboolean claim_is_settled(const Claim *claim);
