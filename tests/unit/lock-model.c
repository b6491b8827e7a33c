/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/unit/lock-model-private.h"

#include <string.h>

void
lock_model_init(LockModel *model, const Limits *limits, guint cluster)
{
    *model = (LockModel){
        .pending = g_array_new(FALSE, FALSE, sizeof(ModelRequest)),
        .held = g_array_new(FALSE, FALSE, sizeof(ModelRequest)),
        .events = g_array_new(FALSE, FALSE, sizeof(ModelEvent)),
        .agents = g_array_new(FALSE, FALSE, sizeof(ModelAgent)),
        .permits = g_array_new(FALSE, FALSE, sizeof(ModelPermit)),
        .limits = *limits,
        .cluster = cluster,
    };
}

void
lock_model_fini(LockModel *model)
{
    g_array_unref(model->pending);
    g_array_unref(model->held);
    g_array_unref(model->events);
    g_array_unref(model->agents);
    g_array_unref(model->permits);
}

guint
lock_model_add_agent(LockModel *model, guint uid, guint app)
{
    ModelAgent agent = {.uid = uid, .app = app};

    g_array_append_val(model->agents, agent);
    return model->agents->len - 1;
}

ModelRequest *
lock_model_at(GArray *list, guint i)
{
    return &g_array_index(list, ModelRequest, i);
}

gboolean
lock_model_same_manager(ModelManager a, ModelManager b)
{
    return a.principal == b.principal && a.bucket == b.bucket;
}

gboolean
lock_model_same_name(const ModelRequest *a, const ModelRequest *b)
{
    return lock_model_same_manager(a->manager, b->manager) && a->name == b->name;
}

static void
add_event(LockModel *model, EffectKind kind, const ModelRequest *request)
{
    ModelEvent event = {kind, *request};

    g_array_append_val(model->events, event);
}

/* ---- [2.5] grantable */

static gboolean
is_grantable(LockModel *model, const ModelRequest *request)
{
    guint n_exclusive = 0;

    if (lock_model_is_of_cluster(model, request) && !lock_model_is_of_turn(model, request))
        return FALSE;
    for (guint i = 0; i < model->pending->len; i++) {
        if (lock_model_same_name(lock_model_at(model->pending, i), request) &&
            !lock_model_at(model->pending, i)->is_steal) {
            /* Only the first of its queue is grantable. */
            if (lock_model_at(model->pending, i)->number != request->number)
                return FALSE;
            break;
        }
    }
    for (guint i = 0; i < model->held->len; i++) {
        const ModelRequest *lock = lock_model_at(model->held, i);

        if (!lock_model_same_name(lock, request))
            continue;
        if (request->mode != lock->mode)
            return FALSE;
        if (lock->mode == LOCK_MODE_EXCLUSIVE && lock->slots != request->slots)
            return FALSE;
        n_exclusive += lock->mode == LOCK_MODE_EXCLUSIVE;
    }
    return n_exclusive < request->slots;
}

/* ---- [4.4] process the lock request queue */

void
lock_model_grant(LockModel *model, guint i)
{
    ModelRequest request = *lock_model_at(model->pending, i);

    g_array_remove_index(model->pending, i);
    request.is_asked = request.is_steal = FALSE;
    if (lock_model_is_of_cluster(model, &request))
        lock_model_take_token(model, &request);
    g_array_append_val(model->held, request);
    add_event(model, EFFECT_GRANTED, &request);
}

void
lock_model_process_queue(LockModel *model, const ModelRequest *any_of_that_name)
{
    ModelRequest like = *any_of_that_name;
    guint i = 0;

    while (i < model->pending->len) {
        ModelRequest request = *lock_model_at(model->pending, i);

        if (!lock_model_same_name(&request, &like) || request.is_steal) {
            i++;
            continue;
        }
        if (!is_grantable(model, &request))
            return;
        lock_model_grant(model, i);
    }
}

/* ---- [4.1] request a lock */

static const ModelRequest *
find_key(LockModel *model, guint agent, guint64 key)
{
    GArray *const lists[] = {model->pending, model->held};

    for (guint l = 0; l < 2; l++)
        for (guint i = 0; i < lists[l]->len; i++)
            if (lock_model_at(lists[l], i)->agent == agent &&
                lock_model_at(lists[l], i)->key == key)
                return lock_model_at(lists[l], i);
    return NULL;
}

/* The number of live requests of the account that `agent` is charged to (its uid or, with `by_app`,
 * its application), and the number of other accounts with live requests that share the same limit.
 * */
typedef struct {
    guint n;
    guint n_sharers;
} Share;

static gboolean
is_same(const ModelAgent *a, const ModelAgent *b, gboolean by_app)
{
    return a->uid == b->uid && (!by_app || a->app == b->app);
}

static Share
count_share(LockModel *model, guint agent, gboolean by_app)
{
    GArray *const lists[] = {model->pending, model->held};
    const ModelAgent *own = &g_array_index(model->agents, ModelAgent, agent);
    g_autoptr(GPtrArray) sharers = g_ptr_array_new();
    Share share = {0, 0};

    for (guint l = 0; l < 2; l++)
        for (guint i = 0; i < lists[l]->len; i++) {
            ModelAgent *owner =
                &g_array_index(model->agents, ModelAgent, lock_model_at(lists[l], i)->agent);
            guint k = 0;

            share.n += is_same(owner, own, by_app);
            if (by_app && (owner->uid != own->uid || owner->app == 0))
                continue;
            while (k < sharers->len && !is_same(owner, sharers->pdata[k], by_app))
                k++;
            if (k == sharers->len)
                g_ptr_array_add(sharers, owner);
        }
    share.n_sharers = sharers->len;
    return share;
}

/* Whether the fair share of an account with `share` forbids another request, with `n` of at most
 * `max` in use. */
static gboolean
is_unfair(const Share *share, guint32 n, guint32 max)
{
    return max - n <= max / 4 && share->n >= max / (share->n_sharers + 1);
}

static LockResult
check_limits(LockModel *model, guint agent, const char *name_text, const LockOptions *options)
{
    GArray *const lists[] = {model->pending, model->held};
    const guint32 *max = model->limits.max;
    guint n = model->pending->len + model->held->len;
    gboolean is_app = g_array_index(model->agents, ModelAgent, agent).app != 0;
    Share app = count_share(model, agent, TRUE);
    Share uid = count_share(model, agent, FALSE);
    guint n_of_agent = 0;

    for (guint l = 0; l < 2; l++)
        for (guint i = 0; i < lists[l]->len; i++)
            n_of_agent += lock_model_at(lists[l], i)->agent == agent;
    if (strlen(name_text) > max[LIMIT_NAME_BYTES])
        return lock_result_limit(LIMIT_NAME_BYTES);
    if (strlen(options->why) > max[LIMIT_WHY_BYTES] ||
        (options->command != NULL && strlen(options->command) > max[LIMIT_WHY_BYTES]))
        return lock_result_limit(LIMIT_WHY_BYTES);
    if (n_of_agent >= max[LIMIT_REQUESTS_PER_CLIENT])
        return lock_result_limit(LIMIT_REQUESTS_PER_CLIENT);
    if (is_app && app.n >= max[LIMIT_REQUESTS_PER_APP])
        return lock_result_limit(LIMIT_REQUESTS_PER_APP);
    if (uid.n >= max[LIMIT_REQUESTS_PER_UID] ||
        (is_app && is_unfair(&app, uid.n, max[LIMIT_REQUESTS_PER_UID])))
        return lock_result_limit(LIMIT_REQUESTS_PER_UID);
    if (n >= max[LIMIT_REQUESTS_TOTAL] || is_unfair(&uid, n, max[LIMIT_REQUESTS_TOTAL]))
        return lock_result_limit(LIMIT_REQUESTS_TOTAL);
    if (model->is_full)
        return LOCK_RESULT_NO_ROOM;
    return LOCK_RESULT_OK;
}

static LockResult
check_options(const char *name_text, const LockOptions *options, gboolean is_of_cluster)
{
    if (name_text[0] == '-')
        return LOCK_RESULT_NAME_RESERVED;
    if (options->steal && options->if_available)
        return LOCK_RESULT_STEAL_IF_AVAILABLE;
    if (options->steal && options->mode != LOCK_MODE_EXCLUSIVE)
        return LOCK_RESULT_STEAL_NOT_EXCLUSIVE;
    if (options->signal && options->steal)
        return LOCK_RESULT_SIGNAL_STEAL_OR_IF_AVAILABLE;
    if (options->signal && options->if_available)
        return LOCK_RESULT_SIGNAL_STEAL_OR_IF_AVAILABLE;
    if (options->if_available && options->timeout_ms > 0)
        return LOCK_RESULT_TIMEOUT_IF_AVAILABLE;
    if (options->slots > 0 && options->mode == LOCK_MODE_SHARED)
        return LOCK_RESULT_SLOTS_NOT_EXCLUSIVE;
    if (options->slots > 1 && is_of_cluster)
        return LOCK_RESULT_SLOTS_IN_CLUSTER;
    return LOCK_RESULT_OK;
}

void
lock_model_steal(LockModel *model, const ModelRequest *request)
{
    guint i = 0;

    while (i < model->held->len) {
        ModelRequest lock = *lock_model_at(model->held, i);

        if (lock_model_same_name(&lock, request)) {
            g_array_remove_index(model->held, i);
            add_event(model, EFFECT_STOLEN, &lock);
        } else {
            i++;
        }
    }
}

static gboolean
is_held(LockModel *model, const ModelRequest *request)
{
    for (guint i = 0; i < model->held->len; i++)
        if (lock_model_at(model->held, i)->number == request->number)
            return TRUE;
    return FALSE;
}

LockResult
lock_model_request(LockModel *model,
                   guint agent,
                   ModelManager manager,
                   guint name,
                   const char *name_text,
                   const LockOptions *options,
                   gint64 now_us,
                   guint64 *out_id,
                   gboolean *out_held)
{
    const ModelRequest *repeated = NULL;
    ModelRequest request = {
        .agent = agent,
        .manager = manager,
        .name = name,
        .mode = options->mode,
        .slots = options->slots > 0 ? options->slots : 1,
        .key = options->key,
        .deadline_us = -1,
    };
    LockResult result =
        check_options(name_text, options, lock_model_is_of_cluster(model, &request));

    *out_id = 0;
    *out_held = FALSE;
    if (result != LOCK_RESULT_OK)
        return result;

    if (options->key != 0)
        repeated = find_key(model, agent, options->key);
    if (repeated != NULL) {
        if (!lock_model_same_name(repeated, &request) || repeated->mode != options->mode ||
            repeated->slots != request.slots ||
            (options->steal && !is_held(model, repeated) && !repeated->is_steal))
            return LOCK_RESULT_KEY_MISMATCH;
        *out_id = repeated->id;
        *out_held = is_held(model, repeated);
        return LOCK_RESULT_OK;
    }
    result = check_limits(model, agent, name_text, options);
    if (result != LOCK_RESULT_OK)
        return result;

    request.number = model->last_number + 1;
    if (options->timeout_ms > 0)
        request.deadline_us = now_us + (gint64)options->timeout_ms * 1000;
    lock_model_ask_cluster(model, &request, options, now_us);
    if (options->if_available && !request.is_asked && !is_grantable(model, &request))
        return LOCK_RESULT_UNAVAILABLE;

    model->last_number++;
    request.id = ++g_array_index(model->agents, ModelAgent, agent).last_id;
    if (options->steal && !request.is_steal) {
        lock_model_steal(model, &request);
        g_array_prepend_val(model->pending, request);
    } else {
        g_array_append_val(model->pending, request);
    }
    lock_model_process_queue(model, &request);
    *out_id = request.id;
    *out_held = is_held(model, &request);
    if (!*out_held)
        add_event(model, EFFECT_WAITING, &request);
    return LOCK_RESULT_OK;
}

/* ---- [4.2] release, [4.3] abort */

void
lock_model_remove(LockModel *model, GArray *list, guint i, EffectKind kind)
{
    ModelRequest request = *lock_model_at(list, i);

    g_array_remove_index(list, i);
    add_event(model, kind, &request);
}

static gboolean
end_and_process(
    LockModel *model, GArray *list, guint agent, ModelManager manager, guint64 id, EffectKind kind)
{
    for (guint i = 0; i < list->len; i++) {
        ModelRequest request = *lock_model_at(list, i);

        if (request.agent == agent && request.id == id &&
            lock_model_same_manager(request.manager, manager)) {
            lock_model_remove(model, list, i, kind);
            lock_model_process_queue(model, &request);
            return TRUE;
        }
    }
    return FALSE;
}

LockResult
lock_model_release(LockModel *model, guint agent, ModelManager manager, guint64 id)
{
    return end_and_process(model, model->held, agent, manager, id, EFFECT_RELEASED)
               ? LOCK_RESULT_OK
               : LOCK_RESULT_NOT_HELD;
}

ModelRequest
lock_model_leave(LockModel *model, guint agent, guint64 id)
{
    ModelRequest request;
    guint i = 0;

    while (lock_model_at(model->held, i)->agent != agent || lock_model_at(model->held, i)->id != id)
        i++;
    request = *lock_model_at(model->held, i);
    g_array_remove_index(model->held, i);
    lock_model_process_queue(model, &request);
    return request;
}

gboolean
lock_model_enter(LockModel *model, const ModelRequest *request)
{
    g_array_append_val(model->pending, *request);
    if (!is_grantable(model, request))
        return FALSE;
    g_array_remove_index(model->pending, model->pending->len - 1);
    g_array_append_val(model->held, *request);
    return TRUE;
}

gboolean
lock_model_abort(LockModel *model, guint agent, ModelManager manager, guint64 id)
{
    return end_and_process(model, model->pending, agent, manager, id, EFFECT_ABORTED);
}

/* ---- downgrade */

static gboolean
is_held_by_others(LockModel *model, const ModelRequest *request)
{
    for (guint i = 0; i < model->held->len; i++)
        if (lock_model_same_name(lock_model_at(model->held, i), request) &&
            lock_model_at(model->held, i)->number != request->number)
            return TRUE;
    return FALSE;
}

LockResult
lock_model_downgrade(LockModel *model, guint agent, ModelManager manager, guint64 id)
{
    for (guint i = 0; i < model->held->len; i++) {
        ModelRequest *lock = lock_model_at(model->held, i);

        if (lock->agent != agent || lock->id != id ||
            !lock_model_same_manager(lock->manager, manager))
            continue;
        if (lock->mode == LOCK_MODE_SHARED)
            return LOCK_RESULT_OK;
        if (is_held_by_others(model, lock))
            return LOCK_RESULT_OTHER_HOLDERS;
        lock->mode = LOCK_MODE_SHARED;
        lock->slots = 1;
        add_event(model, EFFECT_DOWNGRADED, lock);
        lock_model_process_queue(model, lock);
        return LOCK_RESULT_OK;
    }
    return LOCK_RESULT_NOT_HELD;
}

/* ---- [2.6] terminate remaining locks and requests: in one step, all ends before any queue is
 * processed */

static void
process_all_queues(LockModel *model)
{
    guint i = 0;

    while (i < model->pending->len) {
        guint before = model->pending->len;
        ModelRequest request = *lock_model_at(model->pending, i);

        lock_model_process_queue(model, &request);
        i = model->pending->len == before ? i + 1 : 0;
    }
}

/* In the order of their ids. */
static void
end_all_of(LockModel *model, GArray *list, guint agent)
{
    for (;;) {
        guint first = G_MAXUINT;

        for (guint i = 0; i < list->len; i++)
            if (lock_model_at(list, i)->agent == agent &&
                (first == G_MAXUINT || lock_model_at(list, i)->id < lock_model_at(list, first)->id))
                first = i;
        if (first == G_MAXUINT)
            return;
        lock_model_remove(model, list, first, EFFECT_TERMINATED);
    }
}

void
lock_model_terminate(LockModel *model, guint agent)
{
    end_all_of(model, model->pending, agent);
    end_all_of(model, model->held, agent);
    process_all_queues(model);
}

/* ---- time-outs: all due requests end, the earliest first; then all queues are processed */

void
lock_model_expire(LockModel *model, gint64 now_us)
{
    for (;;) {
        guint first = G_MAXUINT;

        for (guint i = 0; i < model->pending->len; i++) {
            const ModelRequest *request = lock_model_at(model->pending, i);
            /* The core's clock has whole milliseconds, rounded up: no request expires early. */
            gint64 due_ms = (request->deadline_us + 999) / 1000;

            if (request->deadline_us == -1 || due_ms > now_us / 1000)
                continue;
            if (first == G_MAXUINT ||
                due_ms < (lock_model_at(model->pending, first)->deadline_us + 999) / 1000)
                first = i;
        }
        if (first == G_MAXUINT)
            break;
        lock_model_remove(model, model->pending, first,
                          lock_model_at(model->pending, first)->is_steal ||
                                  lock_model_at(model->pending, first)->is_asked
                              ? EFFECT_UNAVAILABLE
                              : EFFECT_TIMED_OUT);
    }
    process_all_queues(model);
}
