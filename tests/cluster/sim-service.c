/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The lock service of a host: service/core and service/cluster, with some clients, in simulated
 * time.
 * This file does what the server does with them, and replaces the timer of the lease. */

#include "boot-time.h"
#include "bus-names.h"
#include "client.h"
#include "cluster.h"
#include "lease-timer.h"
#include "lock-manager.h"
#include "lock-queue.h"
#include "permit.h"
#include "principal.h"
#include "sim-host-private.h"

#define BUCKET           BUS_CLUSTER_PREFIX SIM_BUCKET
#define DOWN_MAX_US      (1 * S)
#define FEW_TOKENS       6
#define FEW_TOKENS_SHARE 0.3

/* A process, from its start to its end. */
struct SimService {
    SimHost *host;
    Server server;
    Cluster *cluster; /* NULL: it was killed; the rest is what it has stored */
    gint64 deadline_us;
    Agent *agents[SIM_CLIENTS];
    GHashTable *calls;    /* serials of questions without an answer */
    GHashTable *answered; /* and of those that had one */
    guint expiry_timer;
    gint64 expiry_ms; /* for which it is set; -1: it is not */
};

static const char *const names[SIM_NAMES] = {"0", "1"};

static guint
add_timer(gint64 at_us, GSourceFunc func, gpointer data)
{
    return g_timeout_add((guint)(MAX(at_us - boot_time_get_us(), 0) + MS - 1) / MS, func, data);
}

/* ---- the timer of the lease, in place of service/cluster/lease-timer.c */

static gboolean
on_lease_timer(gpointer data)
{
    LeaseTimer *timer = data;

    timer->on_timer(timer->data);
    return G_SOURCE_REMOVE;
}

void
lease_timer_init(LeaseTimer *timer, void (*on_timer)(gpointer data), gpointer data)
{
    *timer = (LeaseTimer){.on_timer = on_timer, .data = data};
}

void
lease_timer_fini(LeaseTimer *timer)
{
    g_clear_handle_id(&timer->timer_id, g_source_remove);
}

void
lease_timer_set(LeaseTimer *timer, gint64 deadline_us)
{
    if (deadline_us == timer->deadline_us)
        return;
    timer->deadline_us = deadline_us;
    g_clear_handle_id(&timer->timer_id, g_source_remove);
    if (deadline_us != 0)
        timer->timer_id = add_timer(deadline_us, on_lease_timer, timer);
}

gboolean
lease_timer_is_over(const LeaseTimer *timer)
{
    return timer->deadline_us != 0 && boot_time_get_us() >= timer->deadline_us;
}

/* ---- what clients observe */

static SimLock
get_lock(const SimHost *host, const LockRequest *request)
{
    const SimAsked *asked = &g_array_index(host->asked, SimAsked, request->id - 1);
    SimLock lock = {
        .host = host->number,
        .name = request->queue->name[0] - '0',
        .id = (guint)request->id,
        .mode = request->mode == LOCK_MODE_SHARED ? PERMIT_SHARED : PERMIT_EXCLUSIVE,
        .token = request->token,
        .asked_us = asked->asked_us,
        .hold_us = asked->hold_us,
    };

    lock.claim =
        *sim_claims_get_granted(host->claims, lock.token >> CLUSTER_BLOCK_BITS, &lock.permit_us);
    return lock;
}

static void on_hold_over(gpointer data);

/* Some permits have few tokens, so that they are used up. */
static void
use_up_tokens(const SimHost *host, const LockRequest *request)
{
    guint64 block = request->token >> CLUSTER_BLOCK_BITS;

    if (request->token == block << CLUSTER_BLOCK_BITS && sim_chance(host->loop, FEW_TOKENS_SHARE))
        permit_retire_token(request->queue, ((block + 1) << CLUSTER_BLOCK_BITS) - 1 - FEW_TOKENS);
}

static void
report_effects(SimService *service)
{
    Effects *effects = &service->server.user_agent.effects;
    SimHost *host = service->host;

    for (guint i = 0; i < effects_get_length(effects); i++) {
        const Effect *effect = effects_get(effects, i);
        SimLock lock;

        if (effect->request->token == 0)
            continue;
        lock = get_lock(host, effect->request);
        if (effect->kind != EFFECT_GRANTED) {
            host->class->ended(host->world, &lock, effect->kind == EFFECT_LOST);
            continue;
        }
        host->class->granted(host->world, &lock);
        use_up_tokens(host, effect->request);
        sim_host_timer_in(host, lock.name, lock.id, lock.hold_us, on_hold_over);
    }
    effects_clear(effects);
}

/* ---- turns, as in server/operations.c and server/scheduler.c */

static void
tick(gpointer data)
{
    SimService *service = data;
    gint64 now_us = service->host->loop->now_us;

    user_agent_set_time(&service->server.user_agent, now_us, now_us);
    cluster_check_lease(service->cluster);
    user_agent_expire(&service->server.user_agent);
    report_effects(service);
}

static gboolean
on_expiry(gpointer data)
{
    SimService *service = data;

    service->expiry_timer = 0;
    service->expiry_ms = -1;
    tick(service);
    return G_SOURCE_REMOVE;
}

void
sim_service_end_turn(SimService *service)
{
    gint64 next_ms = user_agent_get_next_deadline_ms(&service->server.user_agent);

    if (service->cluster == NULL)
        return;
    report_effects(service);
    cluster_write_demands(service->cluster);
    service->deadline_us = cluster_get_deadline_us(service->cluster);
    turn_flush(&service->server.turn);
    if (next_ms == service->expiry_ms)
        return;
    g_clear_handle_id(&service->expiry_timer, g_source_remove);
    service->expiry_ms = next_ms;
    if (next_ms >= 0)
        service->expiry_timer = add_timer(next_ms * MS, on_expiry, service);
}

/* ---- the process */

static void
ignore(G_GNUC_UNUSED gpointer data)
{
}

static void
ignore_connected(G_GNUC_UNUSED int fd, G_GNUC_UNUSED gpointer data)
{
}

static void
on_disconnected(gpointer data)
{
    g_hash_table_remove_all(((SimService *)data)->calls);
}

/* A reply to an earlier process of the lock service, which the gateway still sends, is not for a
 * call of this one. */
static void
on_answered(const ClusterMessage *answer, gpointer data)
{
    const SimService *service = data;
    gpointer serial = GSIZE_TO_POINTER(answer->serial);

    g_assert_false(g_hash_table_contains(service->answered, serial));
    if (g_hash_table_remove(service->calls, serial))
        g_hash_table_add(service->answered, serial);
}

static const ClusterFunctions cluster_functions = {
    .tick = tick,
    .answered = on_answered,
    .connected = ignore_connected,
    .disconnected = on_disconnected,
};

SimService *
sim_service_new(SimHost *host)
{
    static const PrincipalIdentity identity = {SIM_UID, PRINCIPAL_UNSANDBOXED, ""};
    gint64 now_us = host->loop->now_us;
    SimService *service = g_new0(SimService, 1);
    UserAgent *user_agent = &service->server.user_agent;
    ClusterConfig *config = g_new0(ClusterConfig, 1);
    Principal *principal;
    Limits limits;

    limits_init(&limits);
    service->host = host;
    service->calls = g_hash_table_new(NULL, NULL);
    service->answered = g_hash_table_new(NULL, NULL);
    service->expiry_ms = -1;
    server_init(&service->server, &limits);
    turn_init(&service->server.turn, ignore, NULL);
    user_agent_set_time(user_agent, now_us, now_us);
    principal = principal_get(user_agent, &identity);
    for (guint i = 0; i < SIM_CLIENTS; i++)
        service->agents[i] = agent_restore(principal, "client", host->asked->len);
    principal_unref(principal);
    config->buckets = g_ptr_array_new();
    service->cluster =
        cluster_new(&service->server, config, host->socket_path, &cluster_functions, service);
    return service;
}

static void
stop(SimService *service)
{
    g_clear_handle_id(&service->expiry_timer, g_source_remove);
    g_clear_pointer(&service->cluster, cluster_free);
}

void
sim_service_free(SimService *service)
{
    stop(service);
    for (guint i = 0; i < SIM_CLIENTS; i++) {
        user_agent_terminate(&service->server.user_agent, service->agents[i]);
        agent_unref(service->agents[i]);
    }
    server_fini(&service->server);
    g_hash_table_unref(service->calls);
    g_hash_table_unref(service->answered);
    g_free(service);
}

static LockManager *
find_manager(const SimService *service)
{
    return lock_manager_find(service->agents[0]->principal, BUCKET);
}

/* Returns the client that has made a request. */
static Agent *
get_client(const SimService *service, guint64 id)
{
    return service->agents[g_array_index(service->host->asked, SimAsked, id - 1).client];
}

/* Undecided requests are not stored. */
static void
restore(SimService *service, const SimService *earlier)
{
    const LockManager *stored = find_manager(earlier);
    g_autoptr(LockManager) manager = lock_manager_get(service->agents[0]->principal, BUCKET);

    if (stored == NULL)
        return;
    for (const GList *link = stored->requests.head; link != NULL; link = link->next) {
        const LockRequest *request = link->data;

        if (request->undecided == UNDECIDED_NONE)
            g_assert_nonnull(lock_manager_restore(manager, get_client(service, request->id),
                                                  request->queue->name, request));
    }
}

static void
on_start(gpointer data)
{
    SimHost *host = ((SimTimer *)data)->host;
    SimService *earlier = host->service;
    SimService *service = sim_service_new(host);

    host->service = service;
    restore(service, earlier);
    user_agent_expire(&service->server.user_agent);
    cluster_begin(service->cluster, earlier->deadline_us);
    sim_service_free(earlier);
}

void
sim_host_kill_service(SimHost *host)
{
    if (host->service->cluster == NULL)
        return;
    stop(host->service);
    sim_host_timer_in(host, 0, 0, sim_range(host->loop, 0, DOWN_MAX_US), on_start);
}

/* ---- the clients */

void
sim_host_request(SimHost *host, const SimLockRequest *request)
{
    SimService *service = host->service;
    const LockOptions options = {
        .mode = request->mode == PERMIT_SHARED ? LOCK_MODE_SHARED : LOCK_MODE_EXCLUSIVE,
        .if_available = request->if_available,
        .steal = request->steal,
        .timeout_ms = request->timeout_ms,
        .why = "",
    };
    SimAsked asked = {request->client, host->loop->now_us, request->hold_us};
    Agent *agent = service->agents[request->client];
    LockManager *manager;
    LockRequest *made;
    LockResult result;

    if (service->cluster == NULL)
        return;
    tick(service);
    manager = lock_manager_get(agent->principal, BUCKET);
    agent->last_id = host->asked->len; /* no two requests of a host have the same id */
    result = lock_manager_request(manager, agent, names[request->name], &options, &made);
    lock_manager_unref(manager);
    if (result == LOCK_RESULT_OK)
        g_array_append_val(host->asked, asked);
    else
        g_assert_cmpint(result, ==, LOCK_RESULT_UNAVAILABLE);
}

static void
on_hold_over(gpointer data)
{
    const SimTimer *timer = data;
    SimService *service = timer->host->service;
    LockManager *manager;

    if (service->cluster == NULL) {
        sim_host_timer_in(timer->host, timer->name, timer->id, DOWN_MAX_US, on_hold_over);
        return;
    }
    tick(service);
    manager = find_manager(service);
    if (manager != NULL)
        lock_manager_release(manager, get_client(service, timer->id), timer->id);
}

void
sim_host_abort_any(SimHost *host, guint name)
{
    SimService *service = host->service;
    const LockRequest *found = NULL;
    const LockManager *manager;
    gint64 n = 0;

    if (service->cluster == NULL)
        return;
    tick(service);
    manager = find_manager(service);
    for (const GList *link = manager != NULL ? manager->requests.head : NULL; link != NULL;
         link = link->next) {
        const LockRequest *request = link->data;

        if (request->state == LOCK_REQUEST_PENDING &&
            g_str_equal(request->queue->name, names[name]) && sim_range(host->loop, 0, n++) == 0)
            found = request;
    }
    if (found != NULL)
        lock_manager_abort(found->queue->manager, get_client(service, found->id), found->id);
}

static void
add_call(SimService *service, guint64 serial)
{
    if (serial != 0)
        g_hash_table_add(service->calls, GSIZE_TO_POINTER(serial));
}

void
sim_host_list(SimHost *host, guint name)
{
    SimService *service = host->service;

    if (service->cluster == NULL)
        return;
    add_call(service, cluster_ask(service->cluster, CLUSTER_PACKET_ROWS, SIM_UID, BUCKET,
                                  names[name], NULL));
    add_call(service,
             cluster_ask(service->cluster, CLUSTER_PACKET_STATUS, SIM_UID, NULL, NULL, NULL));
}

void
sim_host_break(SimHost *host, guint name, const char *other)
{
    SimService *service = host->service;

    if (service->cluster != NULL)
        add_call(service, cluster_ask(service->cluster, CLUSTER_PACKET_BROKEN, SIM_UID, BUCKET,
                                      names[name], other));
}

void
sim_host_kill_client(SimHost *host, guint client)
{
    SimService *service = host->service;

    if (service->cluster == NULL)
        return;
    tick(service);
    user_agent_replace(&service->server.user_agent, service->agents[client]);
}

guint
sim_host_get_n_requests(const SimHost *host)
{
    const SimService *service = host->service;

    return user_agent_get_n_requests(&service->server.user_agent) +
           g_hash_table_size(service->calls);
}
