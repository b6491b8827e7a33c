/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The standard's section 4, implemented as simply as possible: a flat list of pending requests and
 * one of held locks, each searched linearly. It includes the additions of the contract: time-outs,
 * keys, limits, and that a termination is one step.
 *
 * It shares no code and no data structures with the core: agents, principals, buckets and names are
 * numbers.
 */

#pragma once

#include <glib.h>

#include "common/lock-mode.h"
#include "service/core/effects.h"
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
    guint64 key;
    gint64 deadline_us; /* -1 is none */
    guint64 number;     /* over all requests, in the order they were made */
} ModelRequest;

typedef struct {
    LockMode mode;
    gboolean if_available;
    gboolean steal;
    gboolean signal;
    guint32 timeout_ms;
    guint64 key;
    guint name_length;
    guint why_length;
    gboolean name_is_reserved;
} ModelOptions;

typedef struct {
    EffectKind kind;
    ModelRequest request;
} ModelEvent;

typedef struct {
    guint uid;
    guint app; /* of the uid's sandboxed applications; 0: it is none */
    guint64 last_id;
} ModelAgent;

typedef struct {
    GArray *pending; /* of ModelRequest: all queues in one list */
    GArray *held;    /* of ModelRequest: all held lock sets in one list */
    GArray *events;  /* of ModelEvent */
    GArray *agents;  /* of ModelAgent */
    guint64 last_number;
    Limits limits;
    gboolean is_full; /* there is no room to keep another request */
} LockModel;

void lock_model_init(LockModel *model, const Limits *limits);
void lock_model_fini(LockModel *model);

/* Gives the number of the agent. */
guint lock_model_add_agent(LockModel *model, guint uid, guint app);

/* `*out_id` is 0, `*out_held` FALSE if there is no request. */
LockResult lock_model_request(LockModel *model,
                              guint agent,
                              ModelManager manager,
                              guint name,
                              const ModelOptions *options,
                              gint64 now_us,
                              guint64 *out_id,
                              gboolean *out_held);
LockResult lock_model_release(LockModel *model, guint agent, ModelManager manager, guint64 id);
gboolean lock_model_abort(LockModel *model, guint agent, ModelManager manager, guint64 id);
void lock_model_terminate(LockModel *model, guint agent);
void lock_model_expire(LockModel *model, gint64 now_us);
