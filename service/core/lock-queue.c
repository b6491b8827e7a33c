/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "lock-queue.h"

#include "lock-manager.h"
#include "permit.h"
#include "principal.h"
#include "user-agent.h"
#include "wanted.h"

/* A burst may have 65,536 effects. If the array is larger than this, its memory is freed
 * afterwards. */
#define EFFECTS_KEPT 1024

/* ---- requests */

/* Returns an owned copy; NULL if there is no text. */
static char *
copy_text(const char *text)
{
    return text != NULL && text[0] != '\0' ? g_strdup(text) : NULL;
}

LockRequest *
lock_request_new(Agent *agent, LockQueue *queue, const LockOptions *options)
{
    LockRequest *request = g_new0(LockRequest, 1);

    request->refs = 1;
    request->state = LOCK_REQUEST_PENDING;
    request->mode = options->mode;
    request->slots = MAX(options->slots, 1);
    request->id = ++agent->last_id;
    request->key = options->key;
    request->why = copy_text(options->why);
    request->command = copy_text(options->command);
    request->agent = agent_ref(agent);
    request->queue = lock_queue_ref(queue);
    request->in_queue.data = request;
    request->in_agent.data = request;
    request->in_manager.data = request;
    return request;
}

LockRequest *
lock_request_ref(LockRequest *request)
{
    request->refs++;
    return request;
}

void
lock_request_unref(LockRequest *request)
{
    if (--request->refs > 0)
        return;

    g_assert(request->state == LOCK_REQUEST_ENDED);
    lock_queue_unref(request->queue);
    agent_unref(request->agent);
    g_free(request->why);
    g_free(request->command);
    g_free(request);
}

/* All strings are in memory, so their sum can't overflow. */
guint32
lock_text_bytes(const char *bucket, const char *name, const char *why, const char *command)
{
    gsize n_bytes = strlen(bucket) + strlen(name) + (why != NULL ? strlen(why) : 0) +
                    (command != NULL ? strlen(command) : 0);

    return (guint32)MIN(n_bytes, G_MAXINT32);
}

guint32
lock_request_get_text_bytes(const LockRequest *request)
{
    const LockQueue *queue = request->queue;

    return lock_text_bytes(queue->manager->bucket, queue->name, request->why, request->command);
}

gboolean
lock_request_is_grantable(const LockRequest *request)
{
    const LockQueue *queue = request->queue;

    if (queue->pending.head != &request->in_queue)
        return FALSE;
    if (queue->permit != NULL)
        return permit_admits(queue, request->mode, request->sequence);
    return lock_queue_admits(queue, request->mode, request->slots);
}

/* ---- effects */

void
effects_append(Effects *effects, EffectKind kind, LockRequest *request)
{
    Effect effect = {kind, lock_request_ref(request)};

    g_array_append_val(effects->list, effect);
}

guint
effects_get_length(const Effects *effects)
{
    return effects->list->len;
}

const Effect *
effects_get(const Effects *effects, guint index)
{
    g_assert(index < effects->list->len);
    return &g_array_index(effects->list, Effect, index);
}

void
effects_clear(Effects *effects)
{
    guint length = effects->list->len;

    for (guint i = 0; i < length; i++)
        lock_request_unref(g_array_index(effects->list, Effect, i).request);

    if (length > EFFECTS_KEPT) {
        g_array_unref(effects->list);
        effects->list = g_array_new(FALSE, FALSE, sizeof(Effect));
    } else {
        g_array_set_size(effects->list, 0);
    }
}

/* ---- queues */

LockQueue *
lock_queue_from_name(const char *name)
{
    return (LockQueue *)((char *)name - G_STRUCT_OFFSET(LockQueue, name));
}

LockQueue *
lock_queue_get(LockManager *manager, const char *name)
{
    const char *found = g_hash_table_lookup(manager->queues, name);
    gsize name_size = strlen(name) + 1;
    LockQueue *queue;

    if (found != NULL)
        return lock_queue_ref(lock_queue_from_name(found));

    queue = g_malloc0(sizeof(LockQueue) + name_size);
    queue->refs = 1;
    queue->manager = lock_manager_ref(manager);
    if (manager->clustered)
        queue->permit = permit_new();
    memcpy(queue->name, name, name_size);
    g_queue_init(&queue->held);
    g_queue_init(&queue->pending);
    g_hash_table_add(manager->queues, queue->name);
    return queue;
}

LockQueue *
lock_queue_ref(LockQueue *queue)
{
    queue->refs++;
    return queue;
}

void
lock_queue_unref(LockQueue *queue)
{
    if (--queue->refs > 0)
        return;

    g_assert(queue->held.length == 0);
    g_assert(queue->pending.length == 0);
    if (queue->permit != NULL)
        permit_free(queue->permit);
    g_hash_table_remove(queue->manager->queues, queue->name);
    lock_manager_unref(queue->manager);
    g_free(queue);
}

gboolean
lock_queue_admits(const LockQueue *queue, LockMode mode, guint32 slots)
{
    const LockRequest *holder;

    if (queue->held.length == 0)
        return TRUE;

    /* The held locks have one mode and number of slots, so the first one decides. */
    holder = queue->held.head->data;
    if (mode == LOCK_MODE_SHARED || holder->mode == LOCK_MODE_SHARED)
        return mode == holder->mode;
    return slots == holder->slots && queue->held.length < slots;
}

void
lock_queue_add_held(LockRequest *request)
{
    LockQueue *queue = request->queue;
    GList *earlier = queue->held.tail;

    while (earlier != NULL && ((LockRequest *)earlier->data)->token > request->token)
        earlier = earlier->prev;
    g_queue_insert_after_link(&queue->held, earlier, &request->in_queue);
    if (queue->is_wanted)
        wanted_add_holder(request);
}

void
lock_queue_remove_held(LockRequest *request)
{
    LockQueue *queue = request->queue;
    GList *next = request->in_queue.next;

    g_queue_unlink(&queue->held, &request->in_queue);
    if (queue->to_visit == &request->in_queue || request->in_untold != NULL)
        wanted_remove_holder(request, next);
}

void
lock_queue_update_wanted(LockQueue *queue)
{
    const gboolean is_wanted =
        queue->pending.length > 0 || (queue->permit != NULL && permit_is_wanted(queue->permit));

    if (queue->is_wanted != is_wanted)
        wanted_change(queue);
}

static void
grant(LockQueue *queue, LockRequest *request)
{
    UserAgent *user_agent = queue->manager->principal->user_agent;

    g_assert(!request->agent->terminated);

    g_queue_unlink(&queue->pending, &request->in_queue);
    request->token =
        queue->permit != NULL ? permit_next_token(queue) : lock_manager_next_token(queue->manager);
    lock_queue_add_held(request);
    user_agent_remove_deadline(request);
    queue->manager->n_held++;
    request->state = LOCK_REQUEST_HELD;
    request->undecided = UNDECIDED_NONE;
    request->since_us = user_agent->now_us;
    effects_append(&user_agent->effects, EFFECT_GRANTED, request);
}

void
lock_queue_end_held(LockQueue *queue, EffectKind effect_kind)
{
    while (queue->held.head != NULL)
        lock_manager_end_request(queue->manager, queue->held.head->data, effect_kind);
}

void
lock_queue_process(LockQueue *queue)
{
    while (queue->pending.head != NULL) {
        LockRequest *request = queue->pending.head->data;

        if (!lock_request_is_grantable(request))
            break;
        grant(queue, request);
    }
    lock_queue_update_wanted(queue);
}

void
lock_queue_touch(LockQueue *queue, GPtrArray *touched)
{
    if (queue->touched)
        return;

    queue->touched = TRUE;
    g_ptr_array_add(touched, lock_queue_ref(queue));
}

void
lock_queue_process_touched(GPtrArray *touched)
{
    for (guint i = 0; i < touched->len; i++) {
        LockQueue *queue = touched->pdata[i];

        queue->touched = FALSE;
        lock_queue_process(queue);
        lock_queue_unref(queue);
    }
    g_ptr_array_set_size(touched, 0);
}
