/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The model's buckets of a cluster: turns, permits and tokens. */

#include <string.h>

#include "tests/unit/lock-model-private.h"

/* ---- permits */

static ModelPermit *
find_permit(LockModel *model, ModelManager manager, guint name)
{
    ModelPermit none = {manager, name, PERMIT_NONE, G_MAXUINT64, 0};

    for (guint i = 0; i < model->permits->len; i++) {
        ModelPermit *permit = &g_array_index(model->permits, ModelPermit, i);

        if (lock_model_same_manager(permit->manager, manager) && permit->name == name)
            return permit;
    }
    g_array_append_val(model->permits, none);
    return &g_array_index(model->permits, ModelPermit, model->permits->len - 1);
}

static PermitMode
permit_for(LockMode mode)
{
    return mode == LOCK_MODE_EXCLUSIVE ? PERMIT_EXCLUSIVE : PERMIT_SHARED;
}

gboolean
lock_model_is_of_cluster(const LockModel *model, const ModelRequest *request)
{
    return request->manager.bucket == model->cluster;
}

/* Whether the request may be granted in the host's current turn. */
gboolean
lock_model_is_of_turn(LockModel *model, const ModelRequest *request)
{
    const ModelPermit *permit = find_permit(model, request->manager, request->name);

    return permit->mode >= permit_for(request->mode) && request->number <= permit->last_number &&
           permit->n_tokens > 0;
}

/* Whether this host may steal the lock without asking the cluster. */
static gboolean
may_steal(LockModel *model, const ModelRequest *request)
{
    const ModelPermit *permit = find_permit(model, request->manager, request->name);

    return permit->mode == PERMIT_EXCLUSIVE && permit->last_number == G_MAXUINT64 &&
           permit->n_tokens > 0;
}

static gboolean
is_unused(LockModel *model, const ModelRequest *request)
{
    GArray *const lists[] = {model->pending, model->held};

    for (guint l = 0; l < 2; l++)
        for (guint i = 0; i < lists[l]->len; i++)
            if (lock_model_same_name(lock_model_at(lists[l], i), request))
                return FALSE;
    return TRUE;
}

/* Marks a request that only the cluster can decide. */
void
lock_model_ask_cluster(LockModel *model,
                       ModelRequest *request,
                       const LockOptions *options,
                       gint64 now_us)
{
    const ModelPermit *permit = find_permit(model, request->manager, request->name);
    gint64 us = options->timeout_ms > 0 ? (gint64)options->timeout_ms * 1000 : G_MAXINT64;

    if (!lock_model_is_of_cluster(model, request))
        return;
    request->is_steal = options->steal && !may_steal(model, request);
    request->is_asked = options->if_available && is_unused(model, request) &&
                        (permit->mode < permit_for(request->mode) || permit->n_tokens == 0);
    if (request->is_steal)
        request->deadline_us = now_us + MIN(us, 5000000);
    if (request->is_asked)
        request->deadline_us = now_us + 2000000;
}

gboolean
lock_model_is_wanted(LockModel *model, const ModelRequest *held)
{
    for (guint i = 0; i < model->pending->len; i++)
        if (lock_model_same_name(lock_model_at(model->pending, i), held))
            return TRUE;
    return lock_model_is_of_cluster(model, held) &&
           find_permit(model, held->manager, held->name)->last_number != G_MAXUINT64;
}

/* ---- the cluster */

static ModelRequest
any_of(ModelManager manager, guint name)
{
    return (ModelRequest){.manager = manager, .name = name};
}

/* The index in `pending` of the first request of this name that is an undecided steal, or that is
 * none; -1 if there is none. */
static int
find_first(LockModel *model, ModelManager manager, guint name, gboolean is_steal)
{
    ModelRequest like = any_of(manager, name);

    for (guint i = 0; i < model->pending->len; i++)
        if (lock_model_same_name(lock_model_at(model->pending, i), &like) &&
            lock_model_at(model->pending, i)->is_steal == is_steal)
            return (int)i;
    return -1;
}

ModelDemand
lock_model_get_demand(LockModel *model, ModelManager manager, guint name)
{
    ModelRequest like = any_of(manager, name);
    const ModelPermit *permit = find_permit(model, manager, name);
    ModelDemand demand = {.permit = permit->mode, .n_tokens = permit->n_tokens};
    int first = find_first(model, manager, name, FALSE);
    gboolean is_of_turn =
        first >= 0 && lock_model_is_of_turn(model, lock_model_at(model->pending, (guint)first));

    for (guint i = 0; i < model->held->len; i++)
        if (lock_model_same_name(lock_model_at(model->held, i), &like))
            demand.held = permit_for(lock_model_at(model->held, i)->mode);
    for (guint i = 0; i < model->pending->len; i++)
        demand.n_waiting += lock_model_same_name(lock_model_at(model->pending, i), &like);
    demand.is_steal = find_first(model, manager, name, TRUE) >= 0;
    if (first >= 0) {
        demand.is_asked = lock_model_at(model->pending, (guint)first)->is_asked;
        demand.want = permit_for(lock_model_at(model->pending, (guint)first)->mode);
        demand.needs_tokens = permit->n_tokens == 0 && permit->last_number == G_MAXUINT64 &&
                              permit->mode >= demand.want;
    }
    if (demand.is_steal)
        demand.want = PERMIT_EXCLUSIVE;
    demand.is_over = demand.permit != PERMIT_NONE && demand.held == PERMIT_NONE && !is_of_turn &&
                     !demand.needs_tokens;
    return demand;
}

static void
do_steals(LockModel *model, ModelManager manager, guint name)
{
    int i;

    while ((i = find_first(model, manager, name, TRUE)) >= 0 &&
           may_steal(model, lock_model_at(model->pending, (guint)i))) {
        lock_model_steal(model, lock_model_at(model->pending, (guint)i));
        lock_model_grant(model, (guint)i);
    }
}

static void
end_held(LockModel *model, ModelManager manager, guint name, EffectKind kind)
{
    ModelRequest like = any_of(manager, name);
    guint i = 0;

    while (i < model->held->len) {
        if (lock_model_same_name(lock_model_at(model->held, i), &like))
            lock_model_remove(model, model->held, i, kind);
        else
            i++;
    }
}

static void
begin_turn(LockModel *model, ModelManager manager, guint name, PermitMode mode, guint64 n_tokens)
{
    ModelPermit *permit = find_permit(model, manager, name);

    permit->mode = mode;
    permit->last_number = G_MAXUINT64;
    permit->n_tokens = n_tokens;
}

void
lock_model_permit(
    LockModel *model, ModelManager manager, guint name, PermitMode mode, guint64 n_tokens)
{
    ModelRequest like = any_of(manager, name);

    if (lock_model_get_demand(model, manager, name).held > mode)
        end_held(model, manager, name, EFFECT_LOST);
    begin_turn(model, manager, name, mode, n_tokens);
    do_steals(model, manager, name);
    lock_model_process_queue(model, &like);
}

void
lock_model_yield(LockModel *model, ModelManager manager, guint name, gboolean now)
{
    ModelPermit *permit = find_permit(model, manager, name);
    ModelRequest like = any_of(manager, name);
    guint64 last = 0;

    for (guint i = 0; i < model->pending->len && !now; i++)
        if (lock_model_same_name(lock_model_at(model->pending, i), &like) &&
            !lock_model_at(model->pending, i)->is_steal)
            last = lock_model_at(model->pending, i)->number;
    if (permit->mode != PERMIT_NONE && last < permit->last_number)
        permit->last_number = last;
}

void
lock_model_return(LockModel *model, ModelManager manager, guint name)
{
    begin_turn(model, manager, name, PERMIT_NONE, 0);
}

void
lock_model_revoke(LockModel *model, ModelManager manager, guint name, EffectKind kind)
{
    begin_turn(model, manager, name, PERMIT_NONE, 0);
    end_held(model, manager, name, kind);
}

void
lock_model_decline(LockModel *model, ModelManager manager, guint name)
{
    ModelRequest like = any_of(manager, name);
    int first = find_first(model, manager, name, FALSE);

    if (first < 0 || !lock_model_at(model->pending, (guint)first)->is_asked)
        return;
    lock_model_remove(model, model->pending, (guint)first, EFFECT_UNAVAILABLE);
    lock_model_process_queue(model, &like);
}

void
lock_model_take_token(LockModel *model, const ModelRequest *request)
{
    find_permit(model, request->manager, request->name)->n_tokens--;
}

void
lock_model_restart(LockModel *model)
{
    for (guint i = 0; i < model->pending->len;) {
        if (lock_model_at(model->pending, i)->is_steal ||
            lock_model_at(model->pending, i)->is_asked)
            g_array_remove_index(model->pending, i);
        else
            i++;
    }
    g_array_set_size(model->permits, 0);
}
