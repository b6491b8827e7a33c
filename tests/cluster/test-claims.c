/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Random schedules of hosts that share locks: the real core and cluster part of the lock service,
 * and the real claims and leases, with a simulated engine, in simulated time, with lost messages,
 * servers that are cut off, killed processes and clients, and sessions that end.
 *
 * Checked after each step:
 * - no client holds a lock while another one holds a conflicting one, except after a steal;
 * - the engine never commits a grant while there is an earlier conflicting claim;
 * - tokens increase;
 * - a request that was made more than SEEN_US after the turn began and another host waited is not
 * granted in the same turn;
 * - locks are lost only after a fault.
 * At the end, all faults are over, every request is granted or ended, and no claim is left.
 *
 * Arguments: the number of schedules; the first seed (1); any third argument prints what happens. A
 * schedule depends only on its seed. */

#include <stdlib.h>

#include "sim-host.h"

/* A server's state may be two seconds old, and messages take some time. */
#define SEEN_US (4 * S)

typedef struct {
    SimLoop loop;
    SimEngine *engine;
    SimHost *hosts[SIM_HOSTS_MAX];
    guint n_hosts;
    guint n_faults;
    guint32 seed;
    GArray *held; /* of SimLock */
    guint64 highest_token[SIM_NAMES];
    guint64 highest_exclusive[SIM_NAMES];
    guint n_granted, n_lost;
    gboolean is_stopping;
} World;

static guint64 total_granted, total_lost, total_faults;

static void
fail(World *world, const SimLock *lock, const char *what, const SimLock *other)
{
    g_printerr("not ok: seed %u, at %.3f s: host %u, name %u, lock %u (%s, token %" G_GUINT64_FORMAT
               "): %s",
               world->seed, (double)(world->loop.now_us - 1000 * S) / 1e6, lock->host, lock->name,
               lock->id, lock->mode == PERMIT_SHARED ? "shared" : "exclusive", lock->token, what);
    if (other != NULL)
        g_printerr(": host %u, lock %u (%s, token %" G_GUINT64_FORMAT ")", other->host, other->id,
                   other->mode == PERMIT_SHARED ? "shared" : "exclusive", other->token);
    g_printerr("\n");
    exit(1);
}

/* ---- checks */

static gboolean
exclude(const SimLock *a, const SimLock *b)
{
    return a->name == b->name && (a->mode == PERMIT_EXCLUSIVE || b->mode == PERMIT_EXCLUSIVE);
}

static void
check_turn(World *world, const SimLock *lock)
{
    gint64 rival_us = sim_engine_get_oldest_rival_us(world->engine, lock->name, &lock->claim);

    if (world->n_faults > 0 || rival_us == G_MAXINT64 ||
        lock->asked_us <= MAX(rival_us, lock->permit_us) + SEEN_US)
        return;
    fail(world, lock,
         "granted in the same turn, though another host waited before it was requested", NULL);
}

static void
on_granted(gpointer data, const SimLock *lock)
{
    World *world = data;
    gboolean is_stolen = sim_engine_was_stolen(world->engine, &lock->claim);

    for (guint i = 0; i < world->held->len; i++) {
        const SimLock *other = &g_array_index(world->held, SimLock, i);

        if (exclude(lock, other) && !is_stolen &&
            !sim_engine_was_stolen(world->engine, &other->claim))
            fail(world, lock, "granted, while another lock conflicts", other);
    }
    if (!is_stolen) {
        guint64 highest = lock->mode == PERMIT_EXCLUSIVE ? world->highest_token[lock->name]
                                                         : world->highest_exclusive[lock->name];

        if (lock->token <= highest)
            fail(world, lock, "the token is not greater", NULL);
        check_turn(world, lock);
    }
    world->highest_token[lock->name] = MAX(world->highest_token[lock->name], lock->token);
    if (lock->mode == PERMIT_EXCLUSIVE)
        world->highest_exclusive[lock->name] =
            MAX(world->highest_exclusive[lock->name], lock->token);
    if (sim_engine_get_n_wrong_grants(world->engine) > 0)
        fail(world, lock, "a grant was committed while an earlier claim conflicted", NULL);
    sim_trace(&world->loop, "host %u: name %u: lock %u granted, %s, token %" G_GUINT64_FORMAT,
              lock->host, lock->name, lock->id,
              lock->mode == PERMIT_SHARED ? "shared" : "exclusive", lock->token);
    g_array_append_val(world->held, *lock);
    world->n_granted++;
}

static void
on_ended(gpointer data, const SimLock *lock, gboolean is_lost)
{
    World *world = data;

    if (is_lost && world->n_faults == 0)
        fail(world, lock, "lost without a fault", NULL);
    sim_trace(&world->loop, "host %u: name %u: lock %u %s", lock->host, lock->name, lock->id,
              is_lost ? "lost" : "ended");
    world->n_lost += is_lost;
    for (guint i = 0; i < world->held->len; i++) {
        const SimLock *held = &g_array_index(world->held, SimLock, i);

        if (held->host == lock->host && held->id == lock->id) {
            g_array_remove_index_fast(world->held, i);
            return;
        }
    }
    g_assert_not_reached();
}

static const SimHostClass host_class = {on_granted, on_ended};

/* ---- a schedule */

typedef struct {
    World *world;
    guint host;
    guint server;
    guint client;
} Step;

static void
on_heal_partition(gpointer data)
{
    Step *step = data;

    sim_host_set_partitioned(step->world->hosts[step->host], FALSE);
}

static void
on_heal_server(gpointer data)
{
    Step *step = data;

    sim_engine_cut_server(step->world->engine, step->server, FALSE);
}

static Step *
new_step(World *world)
{
    Step *step = g_new0(Step, 1);

    *step = (Step){world, (guint)sim_range(&world->loop, 0, world->n_hosts - 1),
                   (guint)sim_range(&world->loop, 0, SIM_SERVERS - 1),
                   (guint)sim_range(&world->loop, 0, SIM_CLIENTS - 1)};
    return step;
}

static void
on_fault(gpointer data)
{
    Step *step = data;
    World *world = step->world;
    SimHost *host = world->hosts[step->host];
    gint64 long_us = sim_range(&world->loop, 10 * MS, 25 * S);
    static const char *const kinds[] = {"connection broken", "host partitioned", "server cut off",
                                        "gateway killed", "service killed"};
    Step *end = g_new0(Step, 1);
    gint64 kind;

    *end = *step;
    world->n_faults++;
    kind = sim_range(&world->loop, 0, 4);
    sim_trace(&world->loop, "fault: %s, host %u, server %u, %.3f s", kinds[kind], step->host,
              step->server, (double)long_us / 1e6);
    switch (kind) {
    case 0:
        sim_host_break_connection(host);
        break;
    case 1:
        sim_host_set_partitioned(host, TRUE);
        sim_loop_in(&world->loop, long_us, on_heal_partition, end);
        return;
    case 2:
        /* One server at a time, so that the others have a majority. */
        for (guint i = 0; i < SIM_SERVERS; i++)
            sim_engine_cut_server(world->engine, i, i == step->server);
        sim_loop_in(&world->loop, long_us, on_heal_server, end);
        return;
    case 3:
        sim_host_kill_gateway(host);
        break;
    default:
        sim_host_kill_service(host);
    }
    g_free(end);
}

static void
on_death(gpointer data)
{
    Step *step = data;

    sim_trace(&step->world->loop, "host %u: client %u dies", step->host, step->client);
    sim_host_kill_client(step->world->hosts[step->host], step->client);
}

/* Another step of this host, of this client or any, while the last one is not over. */
static void
follow(const Step *step, gboolean is_same_client, SimFunc func)
{
    Step *next = new_step(step->world);

    next->host = step->host;
    if (is_same_client)
        next->client = step->client;
    sim_loop_in(&step->world->loop, sim_range(&step->world->loop, 0, 40 * MS), func, next);
}

static void
on_request(gpointer data)
{
    Step *step = data;
    SimLoop *loop = &step->world->loop;
    SimRequest request = {
        .client = step->client,
        .name = sim_chance(loop, 0.8) ? 0 : 1,
        .mode = sim_chance(loop, 0.4) ? PERMIT_SHARED : PERMIT_EXCLUSIVE,
        .hold_us =
            sim_chance(loop, 0.15) ? sim_range(loop, 0, 25 * S) : sim_range(loop, 0, 300 * MS),
        .if_available = sim_chance(loop, 0.1),
    };

    if (!request.if_available && sim_chance(loop, 0.05)) {
        request.steal = TRUE;
        request.mode = PERMIT_EXCLUSIVE;
    }
    if (!request.if_available && sim_chance(loop, 0.1))
        request.timeout_ms = (guint32)sim_range(loop, 1, 10000);
    sim_host_request(step->world->hosts[step->host], &request);
    if (sim_chance(loop, 0.1))
        sim_host_abort_any(step->world->hosts[step->host], request.name);
    if (sim_chance(loop, request.steal ? 0.5 : 0.1))
        follow(step, TRUE, on_death);
    if (sim_chance(loop, 0.2))
        follow(step, FALSE, on_request);
}

static gboolean
is_quiet(const World *world)
{
    for (guint i = 0; i < world->n_hosts; i++)
        if (sim_host_get_n_requests(world->hosts[i]) > 0 ||
            sim_host_get_n_claims(world->hosts[i]) > 0)
            return FALSE;
    for (guint i = 0; i < SIM_NAMES; i++)
        if (sim_engine_get_claims(world->engine, i)->len > 0)
            return FALSE;
    return TRUE;
}

static void
run_until_quiet(World *world, gint64 until_us)
{
    while (!is_quiet(world))
        if (!sim_loop_step(&world->loop, until_us)) {
            g_printerr("not ok: seed %u: not all requests were served, or claims are left:",
                       world->seed);
            for (guint i = 0; i < world->n_hosts; i++)
                g_printerr(" host %u: %u requests, %u claims;", i,
                           sim_host_get_n_requests(world->hosts[i]),
                           sim_host_get_n_claims(world->hosts[i]));
            g_printerr(" nodes: %u and %u\n", sim_engine_get_claims(world->engine, 0)->len,
                       sim_engine_get_claims(world->engine, 1)->len);
            exit(1);
        }
}

static void
run_schedule(guint32 seed, gboolean has_trace)
{
    World world = {.seed = seed};
    gint64 end_us;
    guint n_requests, n_deaths, n_faults;

    sim_loop_init(&world.loop, seed);
    world.loop.has_trace = has_trace;
    world.engine = sim_engine_new(&world.loop);
    world.held = g_array_new(FALSE, FALSE, sizeof(SimLock));
    world.n_hosts = (guint)sim_range(&world.loop, 2, SIM_HOSTS_MAX);
    for (guint i = 0; i < world.n_hosts; i++)
        world.hosts[i] = sim_host_new(&world.loop, world.engine, i, &host_class, &world);
    end_us = world.loop.now_us + sim_range(&world.loop, 1 * S, 30 * S);
    n_requests = (guint)sim_range(&world.loop, 2, 40);
    n_deaths = (guint)sim_range(&world.loop, 0, 5);
    n_faults = sim_chance(&world.loop, 0.3) ? 0 : (guint)sim_range(&world.loop, 1, 6);
    for (guint i = 0; i < n_requests; i++)
        sim_loop_at(&world.loop, sim_range(&world.loop, world.loop.now_us, end_us), on_request,
                    new_step(&world));
    for (guint i = 0; i < n_deaths; i++)
        sim_loop_at(&world.loop, sim_range(&world.loop, world.loop.now_us, end_us), on_death,
                    new_step(&world));
    for (guint i = 0; i < n_faults; i++)
        sim_loop_at(&world.loop, sim_range(&world.loop, world.loop.now_us, end_us), on_fault,
                    new_step(&world));
    while (world.loop.now_us < end_us && sim_loop_step(&world.loop, end_us))
        continue;
    run_until_quiet(&world, end_us + 600 * S);

    total_granted += world.n_granted;
    total_lost += world.n_lost;
    total_faults += world.n_faults;
    for (guint i = 0; i < world.n_hosts; i++)
        sim_host_free(world.hosts[i]);
    g_array_unref(world.held);
    sim_engine_free(world.engine);
    sim_loop_clear(&world.loop);
}

/* The messages of the lock service about its connection are expected. */
static GLogWriterOutput
write_log(GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
    return (level & G_LOG_LEVEL_MESSAGE) != 0 ? G_LOG_WRITER_HANDLED
                                              : g_log_writer_default(level, fields, n_fields, data);
}

int
main(int argc, char **argv)
{
    guint32 n_schedules = argc > 1 ? (guint32)strtoul(argv[1], NULL, 10) : 1000;
    guint32 first = argc > 2 ? (guint32)strtoul(argv[2], NULL, 10) : 1;

    g_log_set_writer_func(write_log, NULL, NULL);
    for (guint32 i = 0; i < n_schedules; i++)
        run_schedule(first + i, argc > 3);
    g_print("ok 1 %u schedules from seed %u: %" G_GUINT64_FORMAT " grants, %" G_GUINT64_FORMAT
            " faults, %" G_GUINT64_FORMAT " locks lost\n1..1\n",
            n_schedules, first, total_granted, total_faults, total_lost);
    return 0;
}
