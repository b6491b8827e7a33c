/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The algorithms of the standard's section 4, implemented as simply as possible: a flat list of
 * pending requests and one of held locks, each searched linearly. The additions of the contract are
 * included: time-outs, keys, limits, counting locks, downgrades, termination in one step, and
 * buckets of a cluster, which are served under permits.
 *
 * It shares no code with the core, and of its data structures only what a request asks for: agents,
 * principals, buckets and names are numbers. */

#pragma once

#include <glib.h>

#include "common/lock-mode.h"
#include "common/permit-mode.h"
#include "service/core/core-limits.h"
#include "service/core/lock-queue.h"
#include "service/core/lock-result.h"

/* A lock manager is the pair of a principal and a bucket. */
typedef struct {
    guint principal;
    guint bucket;
} ModelManager;

typedef struct {
    guint agent;
    guint64 id;
    ModelManager manager;
    guint name;
    LockMode mode;
    guint slots; /* 1: not counting */
    guint64 key;
    gint64 deadline_us; /* -1: none */
    guint64 number;     /* the position among all requests, in the order of their creation */
    gboolean is_asked;  /* undecided: has `ifAvailable` and has to be decided by the cluster */
    gboolean is_steal;  /* likewise an undecided steal; it is in `pending`, but in no queue */
} ModelRequest;

/* What may be granted for one name of a cluster's bucket. */
typedef struct {
    ModelManager manager;
    guint name;
    PermitMode mode;
    guint64 last_number; /* the last request that may be granted in this turn */
    guint64 n_tokens;
} ModelPermit;

/* What the host reports to the cluster about one name. */
typedef struct {
    PermitMode permit;
    PermitMode want;
    PermitMode held;
    gboolean is_asked;
    gboolean is_steal;
    gboolean needs_tokens;
    gboolean is_over;
    guint n_waiting;
    guint64 n_tokens;
} ModelDemand;

typedef struct {
    EffectKind kind;
    ModelRequest request;
} ModelEvent;

typedef struct {
    guint uid;
    guint app; /* number of the sandboxed application; 0: unsandboxed */
    guint64 last_id;
} ModelAgent;

typedef struct {
    GArray *pending; /* of ModelRequest: all queues in one list */
    GArray *held;    /* of ModelRequest: all held lock sets in one list */
    GArray *events;  /* of ModelEvent */
    GArray *agents;  /* of ModelAgent */
    guint64 last_number;
    Limits limits;
    gboolean is_full; /* storage for another request is refused */
    guint cluster;    /* the number of the bucket of a cluster, in each principal */
    GArray *permits;  /* of ModelPermit: each that was ever granted */
} LockModel;

/* `cluster` is G_MAXUINT if no bucket belongs to a cluster. */
void lock_model_init(LockModel *model, const Limits *limits, guint cluster);
void lock_model_fini(LockModel *model);

/* Returns the number of the new agent. */
guint lock_model_add_agent(LockModel *model, guint uid, guint app);

/* Without a request, `*out_id` is 0 and `*out_held` FALSE. */
LockResult lock_model_request(LockModel *model,
                              guint agent,
                              ModelManager manager,
                              guint name,
                              const char *name_text,
                              const LockOptions *options,
                              gint64 now_us,
                              guint64 *out_id,
                              gboolean *out_held);
LockResult lock_model_release(LockModel *model, guint agent, ModelManager manager, guint64 id);
LockResult lock_model_downgrade(LockModel *model, guint agent, ModelManager manager, guint64 id);
gboolean lock_model_abort(LockModel *model, guint agent, ModelManager manager, guint64 id);
/* By a cell: a release of this held lock, and a request with the same id and key, which has to be
 * granted at once. Nobody is notified. */
ModelRequest lock_model_leave(LockModel *model, guint agent, guint64 id);
gboolean lock_model_enter(LockModel *model, const ModelRequest *request);

void lock_model_terminate(LockModel *model, guint agent);
void lock_model_expire(LockModel *model, gint64 now_us);

/* Whether somebody waits for the lock: its name is requested, or the end of the turn is. */
gboolean lock_model_is_wanted(LockModel *model, const ModelRequest *held);

/* ---- the cluster */

ModelDemand lock_model_get_demand(LockModel *model, ModelManager manager, guint name);
/* A grant uses one of the permit's tokens. */
void lock_model_take_token(LockModel *model, const ModelRequest *request);
void lock_model_permit(
    LockModel *model, ModelManager manager, guint name, PermitMode mode, guint64 n_tokens);
void lock_model_yield(LockModel *model, ModelManager manager, guint name, gboolean now);
void lock_model_return(LockModel *model, ModelManager manager, guint name);
void lock_model_revoke(LockModel *model, ModelManager manager, guint name, EffectKind kind);
void lock_model_decline(LockModel *model, ModelManager manager, guint name);

/* A restart of the service: undecided requests are dropped, and no permit is valid. */
void lock_model_restart(LockModel *model);
