/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <string.h>

#include "common/bus-names.h"
#include "service/core/lock-manager.h"
#include "service/core/lock-queue.h"
#include "service/core/user-agent.h"
#include "tests/unit/lock-world-private.h"

#define REALTIME_US G_GINT64_CONSTANT(1700000000000000)

static const guint principal_of_slot[N_AGENTS] = {0, 0, 0, 0, 1, 1, 2, 2};

/* That of its uid outside sandboxes. */
static const guint principal_of_uid_of_slot[N_AGENTS] = {0, 0, 0, 0, 0, 0, 2, 2};

/* Low limits, so that they are reached. */
static const struct {
    LimitId id;
    guint32 max;
} small_limits[] = {
    {LIMIT_NAME_BYTES, 8},        {LIMIT_WHY_BYTES, 8},         {LIMIT_REQUESTS_PER_CLIENT, 12},
    {LIMIT_REQUESTS_PER_APP, 16}, {LIMIT_REQUESTS_PER_UID, 40}, {LIMIT_REQUESTS_TOTAL, 46},
    {LIMIT_CLIENTS_PER_UID, 5},
};

/* ---- operations */

void
lock_world_describe(World *world, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    g_vsnprintf(world->operation, sizeof world->operation, format, arguments);
    va_end(arguments);
    if (world->is_loud)
        g_printerr("%4u: %s\n", world->step, world->operation);
}

static void
forget_effects(World *world)
{
    effects_clear(&world->core->effects);
    world->n_effects_seen = 0;
    lock_world_take_demands(world);
}

static ModelManager
get_place(const World *world, guint slot, const LockOperation *operation)
{
    if (!(operation->place & 1u))
        return (ModelManager){principal_of_slot[slot], 0};
    if (world->kind == LOCK_WORLD_SHARED)
        return (ModelManager){SHARED_PRINCIPAL, CLUSTER_BUCKET};
    if (world->kind == LOCK_WORLD_CLUSTER)
        return (ModelManager){principal_of_slot[slot], CLUSTER_BUCKET};
    if (operation->place & 16u)
        return (ModelManager){principal_of_uid_of_slot[slot], DOCUMENTS_BUCKET};
    return (ModelManager){GROUP_PRINCIPAL, GROUP_BUCKET};
}

/* Returns a reference to what the agent addresses by the name of the bucket. */
static LockManager *
get_manager(const World *world, guint slot, guint bucket)
{
    const PrincipalIdentity *caller = &world->agents[slot]->principal->identity;
    const char *name = bucket == DOCUMENTS_BUCKET && caller->kind != PRINCIPAL_UNSANDBOXED
                           ? BUS_USER_DOCUMENTS_BUCKET
                           : lock_world_buckets[bucket];
    const PrincipalIdentity owner = principal_identity_of_bucket(world->core, caller, &name);

    return user_agent_get_manager(world->core, &owner, name);
}

/* Mostly valid options; one in 16 requests has a random combination, and few have `slots` in the
 * bucket of a cluster. */
static LockOptions
get_options(const LockOperation *operation, gboolean is_of_cluster)
{
    static const guint32 slots[] = {0, 0, 0, 0, 1, 2, 2, 3};
    guint way = operation->flags >> 1 & 15u;
    guint mix = operation->place >> 5;
    LockOptions options = {
        .mode = operation->flags & 1u ? LOCK_MODE_SHARED : LOCK_MODE_EXCLUSIVE,
        .if_available = way == 11 || way == 12 || (way == 15 && mix & 1u),
        .steal = way == 13 || (way == 15 && mix & 2u),
        .signal = way == 14 || (way == 15 && mix & 4u),
        .timeout_ms = operation->number < 90 ? 1u + operation->number % 60u : 0,
        .key = operation->other < 64 ? 1u + operation->other % 4u : 0,
        .why = operation->other >= 250       ? "longer-than-8-bytes"
               : operation->other % 8u == 7u ? "why"
                                             : "",
        .command = operation->other % 16u == 5u   ? "for"
                   : operation->other % 64u == 9u ? "for longer than 8 bytes"
                                                  : NULL,
    };

    if (way == 13)
        options.mode = LOCK_MODE_EXCLUSIVE;
    if (way == 11 || way == 12)
        options.timeout_ms = 0;
    if (way == 15 || (options.mode == LOCK_MODE_EXCLUSIVE && !is_of_cluster))
        options.slots = slots[operation->flags >> 5];
    return options;
}

static void
do_request(World *world, guint slot, const LockOperation *operation)
{
    ModelManager place = get_place(world, slot, operation);
    guint name = operation->place >> 1 & 15u;
    LockOptions options = get_options(operation, place.bucket == CLUSTER_BUCKET);
    LockManager *manager;
    LockRequest *request = NULL;
    LockResult expected, actual;
    gboolean held;
    guint64 id;

    if (operation->other >= 128 && operation->kind % 2 == 0)
        options.cell = &world->cells[slot][operation->number % N_CELLS].cell;
    name = name == 15 ? 4u + operation->number % 2u : name % 4u;
    lock_world_describe(world,
                        "agent %u requests '%s' in bucket %u: %s slots %u ifAvailable %d steal %d "
                        "signal %d timeout %u key %" G_GUINT64_FORMAT " why '%s' for '%s'",
                        world->model_agent[slot], lock_world_names[name], place.bucket,
                        options.mode == LOCK_MODE_SHARED ? "S" : "X", options.slots,
                        options.if_available, options.steal, options.signal, options.timeout_ms,
                        options.key, options.why, options.command != NULL ? options.command : "");

    manager = get_manager(world, slot, place.bucket);
    actual = lock_manager_request(manager, world->agents[slot], lock_world_names[name], &options,
                                  &request);
    /* Like the server: parked locks count. */
    if (actual >= LOCK_RESULT_NO_ROOM && world->core->cells.length > 0) {
        cells_close_all(world->core);
        actual = lock_manager_request(manager, world->agents[slot], lock_world_names[name],
                                      &options, &request);
    }
    lock_manager_unref(manager);
    expected =
        lock_model_request(&world->model, world->model_agent[slot], place, name,
                           lock_world_names[name], &options, world->core->now_us, &id, &held);
    lock_world_check(world, actual == expected, "results");
    lock_world_check(world, (request != NULL ? request->id : 0) == id, "ids");
    lock_world_check(world, (request != NULL && request->state == LOCK_REQUEST_HELD) == held,
                     "held");
    lock_world_check_effects(world, ORDER_EXACT);
}

/* Mostly the id of a request of this agent in that list; otherwise any id, in any bucket. */
static guint64
pick_id(const World *world,
        guint slot,
        const LockOperation *operation,
        const GArray *list,
        ModelManager *out_place)
{
    *out_place = get_place(world, slot, operation);
    for (guint i = 0; i < list->len && operation->other < 230; i++) {
        const ModelRequest *request =
            &g_array_index(list, ModelRequest, (operation->number + i) % list->len);

        if (request->agent != world->model_agent[slot])
            continue;
        if (operation->other < 220)
            *out_place = request->manager;
        return request->id;
    }
    return operation->number % (world->agents[slot]->last_id + 3);
}

/* What an agent does with one of its requests, by its id. */
typedef enum { RELEASE, DOWNGRADE, ABORT } OfRequest;

static void
do_of_request(World *world, guint slot, const LockOperation *operation, OfRequest what)
{
    static const char *const verbs[] = {"releases", "downgrades", "aborts"};
    const GArray *list = what == ABORT ? world->model.pending : world->model.held;
    const guint number = world->model_agent[slot];
    Agent *agent = world->agents[slot];
    ModelManager place;
    guint64 id = pick_id(world, slot, operation, list, &place);
    LockManager *manager;
    guint expected = 0, actual = 0; /* LockResult, or whether it was aborted */

    lock_world_describe(world, "agent %u %s %" G_GUINT64_FORMAT " in bucket %u", number,
                        verbs[what], id, place.bucket);
    manager = get_manager(world, slot, place.bucket);
    switch (what) {
    case RELEASE:
        actual = lock_manager_release(manager, agent, id);
        expected = lock_model_release(&world->model, number, place, id);
        break;
    case DOWNGRADE:
        actual = lock_manager_downgrade(manager, agent, id);
        expected = lock_model_downgrade(&world->model, number, place, id);
        break;
    case ABORT:
        actual = (guint)lock_manager_abort(manager, agent, id);
        expected = (guint)lock_model_abort(&world->model, number, place, id);
        break;
    default:
        g_assert_not_reached();
    }
    lock_manager_unref(manager);
    lock_world_check(world, actual == expected, "results");
    lock_world_check_effects(world, ORDER_EXACT);
}

static void
do_time(World *world, const LockOperation *operation)
{
    gint64 us = operation->number * (operation->flags < 25 ? 400 : 16);

    if (world->kind != LOCK_WORLD_LOCAL && operation->flags >= 245)
        us *= 1000; /* seconds, so that undecided requests time out too */
    /* The wall clock jumps in either direction. */
    user_agent_set_time(world->core, world->core->now_us + us,
                        REALTIME_US + operation->place - 128);
    if (operation->other < 64) {
        lock_world_describe(world, "%" G_GINT64_FORMAT " us pass", us);
        return;
    }
    lock_world_describe(world, "%" G_GINT64_FORMAT " us pass, and due requests time out", us);
    user_agent_expire(world->core);
    lock_model_expire(&world->model, world->core->now_us);
    lock_world_check_effects(world, ORDER_ENDS_FIRST);
}

static void
do_terminate(World *world, guint slot)
{
    Agent *agent = g_steal_pointer(&world->agents[slot]);

    lock_world_describe(world, "agent %u terminates", world->model_agent[slot]);
    user_agent_terminate(world->core, agent);
    agent_unref(agent);
    lock_model_terminate(&world->model, world->model_agent[slot]);
    lock_world_check_effects(world, ORDER_ENDS_FIRST);
}

static void
do_new_agent(World *world, guint slot)
{
    const PrincipalIdentity *identity = &lock_world_identities[principal_of_slot[slot]];
    LockResult expected = LOCK_RESULT_OK;
    guint n_of_uid = 0;
    Principal *principal;

    for (guint i = 0; i < N_AGENTS; i++)
        n_of_uid += world->agents[i] != NULL &&
                    lock_world_identities[principal_of_slot[i]].uid == identity->uid;
    if (n_of_uid >= world->model.limits.max[LIMIT_CLIENTS_PER_UID])
        expected = lock_result_limit(LIMIT_CLIENTS_PER_UID);
    lock_world_describe(world, "new agent in slot %u", slot);
    /* Effects refer to terminated agents, which count until then. */
    forget_effects(world);
    principal = principal_get(world->core, identity);
    lock_world_check(world, agent_new(principal, "", &world->agents[slot]) == expected,
                     "new agents");
    principal_unref(principal);
    if (expected != LOCK_RESULT_OK)
        return;
    world->model_agent[slot] =
        lock_model_add_agent(&world->model, identity->uid, identity->kind != PRINCIPAL_UNSANDBOXED);
    world->agents[slot]->server_data = GUINT_TO_POINTER(world->model_agent[slot]);
}

/* ---- the service is killed, and another instance restores its state */

static UserAgent *
new_core(const World *world, const Limits *limits, gint64 now_us)
{
    UserAgent *core = g_new0(UserAgent, 1);

    user_agent_init(core, limits);
    if (world->kind == LOCK_WORLD_SHARED)
        g_hash_table_add(core->shared_buckets, g_strdup(lock_world_buckets[CLUSTER_BUCKET]));
    user_agent_set_time(core, now_us, REALTIME_US);
    core->gives_cells = TRUE;
    return core;
}

static void
end_core(UserAgent *core, Agent *agents[N_AGENTS])
{
    user_agent_shut_down(core);
    for (guint slot = 0; slot < N_AGENTS; slot++)
        if (agents[slot] != NULL)
            user_agent_lose(core, agents[slot]);
    effects_clear(&core->effects);
    for (guint slot = 0; slot < N_AGENTS; slot++)
        g_clear_pointer(&agents[slot], agent_unref);
    user_agent_fini(core);
    g_free(core);
}

static int
compare_ids(gconstpointer a, gconstpointer b, gpointer data)
{
    guint64 x = ((const LockRequest *)a)->id;
    guint64 y = ((const LockRequest *)b)->id;

    return (x > y) - (x < y);
}

/* Restores the requests of a bucket, in the order of their creation. */
static void
restore_bucket(World *world, const LockManager *old, Principal *principal)
{
    g_autoptr(LockManager) manager = lock_manager_get(principal, old->bucket);

    for (const GList *link = old->requests.head; link != NULL; link = link->next) {
        const LockRequest *request = link->data;
        LockRequest stored;
        guint slot = 0;

        if (request->undecided != UNDECIDED_NONE ||
            !lock_world_restore_cell(world, request, &stored))
            continue; /* not stored, or parked */
        while (world->agents[slot] == NULL ||
               world->agents[slot]->server_data != request->agent->server_data)
            slot++;
        lock_world_check(world,
                         lock_manager_restore(manager, world->agents[slot], request->queue->name,
                                              &stored) != NULL,
                         "restored requests");
    }
}

static void
restore_principal(World *world, const Principal *old)
{
    Principal *principal = principal_get(world->core, &old->identity);
    GHashTableIter managers;
    gpointer manager;

    g_hash_table_iter_init(&managers, old->managers);
    while (g_hash_table_iter_next(&managers, NULL, &manager))
        restore_bucket(world, manager, principal);
    principal_unref(principal);
}

static void
restore_agents(World *world)
{
    for (guint slot = 0; slot < N_AGENTS; slot++) {
        const Agent *old = world->agents[slot];
        Principal *principal;

        if (old == NULL)
            continue;
        principal = principal_get(world->core, &old->principal->identity);
        world->agents[slot] = agent_restore(principal, "", old->last_id);
        world->agents[slot]->server_data = old->server_data;
        principal_unref(principal);
    }
}

static void
do_restart(World *world)
{
    UserAgent *old = world->core;
    Agent *old_agents[N_AGENTS];
    GHashTableIter principals;
    gpointer principal;

    lock_world_describe(world, "the service is restarted");
    forget_effects(world);
    lock_world_drop_permits(world);
    lock_world_restart_cluster(world);
    g_hash_table_remove_all(world->wanted);
    memcpy(old_agents, world->agents, sizeof old_agents);
    world->core = new_core(world, &old->limits, old->now_us);
    world->core->room_bytes = old->room_bytes;
    for (guint i = 0; i < N_PRINCIPALS; i++)
        for (guint bucket = 0; bucket < CLUSTER_BUCKET; bucket++)
            user_agent_retire_token(world->core, world->last_token[i][bucket]);
    restore_agents(world);
    g_hash_table_iter_init(&principals, old->principals);
    while (g_hash_table_iter_next(&principals, NULL, &principal))
        restore_principal(world, principal);
    for (guint slot = 0; slot < N_AGENTS; slot++)
        if (world->agents[slot] != NULL)
            g_queue_sort(&world->agents[slot]->requests, compare_ids, NULL);
    end_core(old, old_agents);
    for (guint slot = 0; slot < N_AGENTS; slot++)
        for (guint i = 0; i < N_CELLS; i++)
            world->cells[slot][i].parked = world->cells[slot][i].entered = NULL;
    user_agent_process_all(world->core);
    lock_world_check_effects(world, ORDER_EXACT);
}

static void
do_fill(World *world, const LockOperation *operation)
{
    gboolean is_full = operation->other < 64;

    lock_world_describe(world, "storage for requests: %s", is_full ? "full" : "available");
    world->core->room_bytes = is_full ? 0 : G_MAXSIZE;
    world->model.is_full = is_full;
}

/* `kind` has 256 values. */
static void
do_kind(World *world, guint slot, const LockOperation *operation)
{
    if (world->kind != LOCK_WORLD_LOCAL && operation->place & 1u &&
        (operation->agent >> 3 & 3u) == 0)
        lock_world_do_permit(world, get_place(world, slot, operation).principal, operation);
    else if (world->agents[slot] == NULL)
        do_new_agent(world, slot);
    else if (operation->kind < 112)
        do_request(world, slot, operation);
    else if (operation->kind < 128)
        lock_world_do_cell(world, slot, operation);
    else if (operation->kind < 184)
        do_of_request(world, slot, operation, RELEASE);
    else if (operation->kind < 208)
        do_of_request(world, slot, operation, ABORT);
    else if (operation->kind < 220)
        do_of_request(world, slot, operation, DOWNGRADE);
    else if (operation->kind < 250)
        do_time(world, operation);
    else if (operation->kind < 253)
        do_terminate(world, slot);
    else if (operation->kind < 254)
        do_restart(world);
    else
        do_fill(world, operation);
}

void
lock_world_do(LockWorld *world, const LockOperation *operation)
{
    do_kind(world, operation->agent % N_AGENTS, operation);
    /* The server may take the effects after one operation or after several. */
    if (operation->agent >> 5 < 3)
        forget_effects(world);
    /* At the end of a turn. */
    if (operation->agent >> 5 < 4)
        cells_open(world->core);
    lock_world_notify_holders(world, operation->agent >> 5, operation->other % 4u == 0);
    lock_world_check_state(world);
    world->step++;
}

LockWorld *
lock_world_new(const char *seed, LockWorldKind kind, gboolean is_loud)
{
    World *world = g_new0(World, 1);
    Limits limits;

    limits_init(&limits);
    for (guint i = 0; i < G_N_ELEMENTS(small_limits); i++)
        limits.max[small_limits[i].id] = small_limits[i].max;
    world->seed = g_strdup(seed);
    world->kind = kind;
    world->is_loud = is_loud;
    world->wanted = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    world->expected = g_array_new(FALSE, FALSE, sizeof(Line));
    world->actual = g_array_new(FALSE, FALSE, sizeof(Line));
    world->core = new_core(world, &limits, 123456);
    for (guint slot = 0; slot < N_AGENTS; slot++)
        for (guint i = 0; i < N_CELLS; i++)
            world->cells[slot][i].cell.memory = &world->cells[slot][i].memory;
    user_agent_expire(world->core);
    lock_model_init(&world->model, &limits, kind != LOCK_WORLD_LOCAL ? CLUSTER_BUCKET : G_MAXUINT);
    return world;
}

void
lock_world_free(LockWorld *world)
{
    /* The assertions of the user agent check that no object is left. */
    for (guint slot = 0; slot < N_AGENTS; slot++)
        if (world->agents[slot] != NULL)
            do_terminate(world, slot);
    lock_world_check(world,
                     user_agent_get_n_requests(world->core) == 0 && world->model.held->len == 0,
                     "remains");
    lock_world_drop_permits(world);
    end_core(world->core, world->agents);

    lock_model_fini(&world->model);
    g_hash_table_unref(world->wanted);
    g_array_unref(world->expected);
    g_array_unref(world->actual);
    g_free(world->seed);
    g_free(world);
}
