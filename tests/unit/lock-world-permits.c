/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Operations on the bucket of a cluster: permits are granted, withdrawn and changed at random, as
 * by requests of other hosts. */

#include <string.h>

#include "service/core/inspect.h"
#include "service/core/lock-manager.h"
#include "service/core/lock-queue.h"
#include "service/core/permit.h"
#include "tests/unit/lock-world-private.h"

static LockManager *
get_manager(World *world, guint principal)
{
    Principal *found;

    if (world->cluster[principal] != NULL)
        return world->cluster[principal];
    found = principal_get(world->core, &lock_world_identities[principal]);
    world->cluster[principal] = lock_manager_get(found, lock_world_buckets[CLUSTER_BUCKET]);
    principal_unref(found);
    return world->cluster[principal];
}

static LockQueue *
find_queue(const World *world, guint principal, guint name)
{
    const Principal *of = principal_find(world->core, &lock_world_identities[principal]);
    const LockManager *manager =
        of != NULL ? lock_manager_find(of, lock_world_buckets[CLUSTER_BUCKET]) : NULL;
    const char *found =
        manager != NULL ? g_hash_table_lookup(manager->queues, lock_world_names[name]) : NULL;

    return found != NULL ? lock_queue_from_name(found) : NULL;
}

/* Holds a reference to a queue as long as it has a permit, as the server does. */
static void
update_permitted(World *world, guint principal, guint name)
{
    LockQueue **kept = &world->permitted[principal][name];
    LockQueue *queue = find_queue(world, principal, name);
    gboolean has_permit = queue != NULL && queue->permit->mode != PERMIT_NONE;

    if (has_permit && *kept == NULL)
        *kept = lock_queue_ref(queue);
    else if (!has_permit)
        g_clear_pointer(kept, lock_queue_unref);
}

/* One of 16 operations; a turn that is over is ended with a higher probability. */
static void
do_way(World *world, guint principal, guint name, const LockOperation *operation)
{
    static const char *const modes[] = {"no", "the shared", "the exclusive"};
    ModelManager place = {principal, CLUSTER_BUCKET};
    gboolean flag = (operation->flags & 1u) != 0;
    PermitMode mode = flag ? PERMIT_EXCLUSIVE : PERMIT_SHARED;
    EffectKind kind = flag ? EFFECT_LOST : EFFECT_STOLEN;
    guint way = operation->kind % 16u;
    LockQueue *queue = lock_queue_get(get_manager(world, principal), lock_world_names[name]);

    if (way < 11 && permit_get_demand(queue).turn_over && way % 4u != 0) {
        lock_world_describe(world, "principal %u returns '%s'", principal, lock_world_names[name]);
        permit_return(queue);
        lock_model_return(&world->model, place, name);
    } else if (way < 8) {
        guint n = 1 + operation->number % 12u;
        guint64 first = world->last_block + 1 + n % 3u;

        lock_world_describe(world, "principal %u gets %s permit for '%s', with %u tokens",
                            principal, modes[mode], lock_world_names[name], n);
        world->last_block = first + n - 1;
        permit_set(queue, mode, first, world->last_block);
        lock_model_permit(&world->model, place, name, mode, n);
        world->is_restored[principal][name] = FALSE;
    } else if (way < 12) {
        lock_world_describe(world, "principal %u is to yield '%s'%s", principal,
                            lock_world_names[name], flag ? " now" : "");
        permit_yield(queue, flag);
        lock_model_yield(&world->model, place, name, flag);
    } else if (way < 14) {
        lock_world_describe(world, "principal %u is declined '%s'", principal,
                            lock_world_names[name]);
        permit_decline(queue);
        lock_model_decline(&world->model, place, name);
    } else if (way < 15) {
        lock_world_describe(world, "the permit of principal %u for '%s' is suspended", principal,
                            lock_world_names[name]);
        permit_suspend(queue);
        lock_model_return(&world->model, place, name);
        world->is_restored[principal][name] = TRUE;
    } else {
        lock_world_describe(world, "principal %u loses '%s'", principal, lock_world_names[name]);
        permit_revoke(queue, kind);
        lock_model_revoke(&world->model, place, name, kind);
        world->is_restored[principal][name] = FALSE;
    }
    update_permitted(world, principal, name);
    lock_queue_unref(queue);
    lock_world_check_effects(world, ORDER_EXACT);
}

void
lock_world_do_permit(World *world, guint principal, const LockOperation *operation)
{
    do_way(world, principal, (operation->place >> 1) % 4u, operation);
}

/* ---- demand */

void
lock_world_take_demands(World *world)
{
    LockQueue *queue;

    while ((queue = permit_take_changed(world->core)) != NULL) {
        guint principal = lock_world_find_principal(&queue->manager->principal->identity);
        guint name = lock_world_find_name(queue->name);

        world->reported[principal][name] = permit_get_demand(queue);
        lock_queue_unref(queue);
    }
}

static void
check_demand(const World *world, const Demand *actual, const ModelDemand *expected)
{
    lock_world_check(world, actual->permit == expected->permit, "permits");
    lock_world_check(world, actual->want == expected->want, "wanted permits");
    lock_world_check(world, actual->held == expected->held, "modes in use");
    lock_world_check(world,
                     actual->undecided == (expected->is_steal   ? UNDECIDED_STEAL
                                           : expected->is_asked ? UNDECIDED_IF_AVAILABLE
                                                                : UNDECIDED_NONE),
                     "undecided requests");
    lock_world_check(world, actual->needs_tokens == expected->needs_tokens, "needs of tokens");
    lock_world_check(world, actual->turn_over == expected->is_over, "ends of turns");
    lock_world_check(world, actual->n_waiting == expected->n_waiting, "numbers of waiting");
}

/* If the queue doesn't exist, the model must have no demand either. */
static void
check_name(World *world, guint principal, guint name)
{
    ModelManager place = {principal, CLUSTER_BUCKET};
    ModelDemand expected = lock_model_get_demand(&world->model, place, name);
    const LockQueue *queue = find_queue(world, principal, name);
    Demand actual = {PERMIT_NONE};
    guint64 n_tokens;

    if (queue != NULL)
        actual = permit_get_demand(queue);
    check_demand(world, &actual, &expected);
    lock_world_check(world, actual.held <= actual.permit || world->is_restored[principal][name],
                     "permits of what is held");
    if (queue == NULL)
        return;
    n_tokens = queue->permit->token_limit;
    n_tokens -= MIN(n_tokens, queue->permit->last_token);
    lock_world_check(world, n_tokens == expected.n_tokens, "numbers of tokens");
    /* The last reported demand is current, unless the queue is marked for another report. */
    if (!queue->permit->is_listed)
        check_demand(world, &world->reported[principal][name], &expected);
}

static void
check_entry(const InspectEntry *entry, gpointer data)
{
    const LockRequest *request = entry->request;

    lock_world_check(data, (entry->position == 0) == (request->state == LOCK_REQUEST_HELD),
                     "positions");
    lock_world_check(data, request->undecided != UNDECIDED_STEAL || entry->position == 1,
                     "positions of steals");
    lock_world_check(data,
                     entry->position != 1 || request->undecided == UNDECIDED_STEAL ||
                         request->queue->pending.head == &request->in_queue,
                     "first positions");
}

static void
inspect(World *world, guint principal)
{
    const InspectFilter all = {.limit = G_MAXUINT32};
    const Principal *of = principal_find(world->core, &lock_world_identities[principal]);
    LockManager *manager =
        of != NULL ? lock_manager_find(of, lock_world_buckets[CLUSTER_BUCKET]) : NULL;

    if (manager != NULL)
        lock_manager_inspect(manager, &all, check_entry, world);
}

void
lock_world_check_permits(World *world)
{
    for (guint principal = 0; principal < N_PRINCIPALS; principal++)
        inspect(world, principal);
    for (guint principal = 0; principal < N_PRINCIPALS; principal++)
        for (guint name = 0; name < N_NAMES; name++)
            check_name(world, principal, name);
}

/* ---- the end */

void
lock_world_drop_permits(World *world)
{
    for (guint principal = 0; principal < N_PRINCIPALS; principal++) {
        for (guint name = 0; name < N_NAMES; name++)
            g_clear_pointer(&world->permitted[principal][name], lock_queue_unref);
        g_clear_pointer(&world->cluster[principal], lock_manager_unref);
    }
}

/* Afterwards the model has no permits and no undecided requests. */
void
lock_world_restart_cluster(World *world)
{
    lock_model_restart(&world->model);
    memset(world->reported, 0, sizeof world->reported);
    for (guint principal = 0; principal < N_PRINCIPALS; principal++)
        for (guint name = 0; name < N_NAMES; name++)
            world->is_restored[principal][name] = TRUE;
}
