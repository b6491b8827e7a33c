/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Random schedules of hosts that share locks: the real core and cluster part of the lock service,
 * and the real gateway, with simulated ZooKeeper servers, in simulated time, with lost messages,
 * servers that are cut off or end, killed processes and clients, and sessions that end.
 *
 * Checked after each step:
 * - no client holds a lock while another one holds a conflicting one, except after a steal;
 * - the servers never commit a grant while there is an earlier conflicting claim;
 * - tokens increase;
 * - a request that was made more than SEEN_US after the turn began and another host waited is not
 * granted in the same turn;
 * - locks are lost only after a fault;
 * - a lease ends PROMISED_US before the servers may end the session, and the locks of a session are
 * lost so long before it expires.
 * At the end, all faults are over, every request is granted or ended, the gateway has answered
 * every list and break, and no claim is left.
 *
 * Arguments: the number of schedules (1,000; 4,000 with WEBLOCKS_TEST_ALL); the first seed (1); any
 * third argument prints what happens. A schedule depends only on its seed. */

#include <math.h>
#include <stdlib.h>

#include "sim-host.h"
#include "sim-zookeeper.h"

/* Of the servers, the one for quick tests and the one of docs/cluster.md. */
#define TICK_SHORT (250 * MS)
#define TICK_LONG  (2 * S)

/* A server's state may be two seconds old, and messages take some time. */
#define SEEN_US (4 * S)

/* How long before the end of a session its locks are lost: docs/cluster.md promises it. */
#define PROMISED_US (2 * S)

typedef struct {
    SimLock lock;
    gint64 at_us;
} Lost;

typedef struct {
    SimLoop loop;
    SimServers *servers;
    SimClaims *claims;
    SimHost *hosts[SIM_WHOLE_HOSTS_MAX];
    guint n_hosts;
    guint timeout_secs; /* of sessions */
    guint n_faults;
    guint32 seed;
    GArray *held; /* of SimLock */
    GArray *lost; /* of Lost */
    guint64 highest_token[SIM_NAMES];
    guint64 highest_exclusive[SIM_NAMES];
    guint n_granted, n_lost;
    gboolean is_calm;     /* few requests, and one fault, just after a grant */
    gboolean cuts_holder; /* this is still to come */
} World;

static guint64 total_granted, total_lost, total_faults;
static gint64 least_margin_us = G_MAXINT64, least_left_us = G_MAXINT64;

static double
get_secs(gint64 time_us)
{
    return (double)(time_us - 1000 * S) / 1e6;
}

static void cut_holder_later(World *world, guint host);

static void
fail(World *world, const SimLock *lock, const char *what, const SimLock *other)
{
    g_printerr("not ok: seed %u, at %.3f s: host %u, name %u, lock %u (%s, token %" G_GUINT64_FORMAT
               "): %s",
               world->seed, get_secs(world->loop.now_us), lock->host, lock->name, lock->id,
               lock->mode == PERMIT_SHARED ? "shared" : "exclusive", lock->token, what);
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
    gint64 rival_us = sim_claims_get_oldest_rival_us(world->claims, lock->name, &lock->claim);

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
    gboolean is_stolen = sim_claims_was_stolen(world->claims, &lock->claim);

    for (guint i = 0; i < world->held->len; i++) {
        const SimLock *other = &g_array_index(world->held, SimLock, i);

        if (exclude(lock, other) && !is_stolen &&
            !sim_claims_was_stolen(world->claims, &other->claim))
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
    if (sim_claims_get_n_wrong_grants(world->claims) > 0)
        fail(world, lock, "a grant was committed while an earlier claim conflicted", NULL);
    sim_trace(&world->loop, "host %u: name %u: lock %u granted, %s, token %" G_GUINT64_FORMAT,
              lock->host, lock->name, lock->id,
              lock->mode == PERMIT_SHARED ? "shared" : "exclusive", lock->token);
    g_array_append_val(world->held, *lock);
    world->n_granted++;
    if (world->cuts_holder && lock->hold_us > 10 * S)
        cut_holder_later(world, lock->host);
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
    if (is_lost && !sim_claims_was_stolen(world->claims, &lock->claim)) {
        Lost lost = {*lock, world->loop.now_us};

        g_array_append_val(world->lost, lost);
    }
    for (guint i = 0; i < world->held->len; i++) {
        const SimLock *held = &g_array_index(world->held, SimLock, i);

        if (held->host == lock->host && held->id == lock->id) {
            g_array_remove_index_fast(world->held, i);
            return;
        }
    }
    g_assert_not_reached();
}

typedef struct {
    World *world;
    guint host;
    gint64 deadline_us;
} Leased;

/* The leader keeps the session for longer than the lease by what is promised: it, and any leader
 * after it. -1: it was closed. */
static void
check_lease(gpointer data)
{
    const Leased *leased = data;
    const World *world = leased->world;
    gint64 end_us = sim_servers_get_end_us(world->servers, leased->host);

    if (leased->deadline_us <= world->loop.now_us || end_us < 0)
        return;
    least_left_us = MIN(least_left_us, end_us - leased->deadline_us);
    if (end_us - leased->deadline_us >= PROMISED_US)
        return;
    g_printerr("not ok: seed %u, at %.3f s: host %u: the lease lasts until %.3f s, and the session "
               "may end at %.3f s\n",
               world->seed, get_secs(world->loop.now_us), leased->host,
               get_secs(leased->deadline_us), get_secs(end_us));
    exit(1);
}

static void
on_leased(gpointer data, guint host, gint64 deadline_us)
{
    World *world = data;
    Leased *leased = g_new0(Leased, 1);

    *leased = (Leased){world, host, deadline_us};
    sim_loop_in(&world->loop, SIM_TOLD_US, check_lease, leased);
}

static const SimHostClass host_class = {on_granted, on_ended, on_leased};

static void
on_committed(const SimTransaction *transaction, gpointer data)
{
    const World *world = data;

    sim_claims_committed(world->claims, transaction);
}

/* The leader ends a session: its locks were lost PROMISED_US before, or earlier. */
static void
on_expired(guint64 session, gpointer data)
{
    World *world = data;

    for (guint i = 0; i < world->held->len; i++) {
        const SimLock *lock = &g_array_index(world->held, SimLock, i);

        if (lock->claim.session == session && !sim_claims_was_stolen(world->claims, &lock->claim))
            fail(world, lock, "held, when the session of its claim expires", NULL);
    }
    for (guint i = 0; i < world->lost->len; i++) {
        const Lost *lost = &g_array_index(world->lost, Lost, i);
        gint64 margin_us = world->loop.now_us - lost->at_us;

        if (lost->lock.claim.session != session)
            continue;
        least_margin_us = MIN(least_margin_us, margin_us);
        if (margin_us < PROMISED_US)
            fail(world, &lost->lock, "lost too late before the session of its claim expires", NULL);
    }
}

static const SimServersClass servers_class = {on_committed, on_expired, NULL};

/* ---- a schedule */

typedef struct {
    World *world;
    guint host;
    guint server;
    guint client;
    gboolean steals, shares;
} Step;

static void
on_heal(gpointer data)
{
    const Step *step = data;

    sim_servers_set_reach(step->world->servers, step->host, SIM_ALL_SERVERS);
    sim_servers_cut(step->world->servers, step->server, FALSE);
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

/* The host and its server are cut off from the others, but not from each other. */
static void
cut_both(Step *step)
{
    int server = sim_servers_get_server(step->world->servers, step->host);

    if (server >= 0)
        step->server = (guint)server;
    sim_servers_cut(step->world->servers, step->server, TRUE);
    sim_servers_set_reach(step->world->servers, step->host, 1u << step->server);
}

static void
on_cut_holder(gpointer data)
{
    Step *step = data;
    World *world = step->world;

    world->n_faults++;
    cut_both(step);
    sim_trace(&world->loop, "fault: the holder is cut off, host %u, server %u", step->host,
              step->server);
    sim_loop_in(&world->loop, (world->timeout_secs + 15) * S, on_heal,
                g_memdup2(step, sizeof *step));
}

/* Before the leader has got to know what the server has from the host. */
static void
cut_holder_later(World *world, guint host)
{
    Step *step = new_step(world);

    step->host = host;
    world->cuts_holder = FALSE;
    sim_loop_in(&world->loop, sim_range(&world->loop, 0, 500 * MS), on_cut_holder, step);
}

static void
on_fault(gpointer data)
{
    Step *step = data;
    World *world = step->world;
    SimHost *host = world->hosts[step->host];
    gint64 long_us = sim_range(&world->loop, 10 * MS, (world->timeout_secs + 10) * S);
    static const char *const kinds[] = {"connection broken", "host partitioned", "server cut off",
                                        "both cut off",      "leader ended",     "gateway killed",
                                        "gateway ended",     "service killed"};
    gint64 kind = sim_range(&world->loop, 0, G_N_ELEMENTS(kinds) - 1);

    world->n_faults++;
    sim_trace(&world->loop, "fault: %s, host %u, server %u, %.3f s", kinds[kind], step->host,
              step->server, (double)long_us / 1e6);
    switch (kind) {
    case 0:
        sim_servers_break(world->servers, step->host);
        break;
    case 1:
        sim_servers_set_reach(world->servers, step->host, 0);
        break;
    case 2:
        sim_servers_cut(world->servers, step->server, TRUE);
        break;
    case 3:
        cut_both(step);
        break;
    case 4:
        sim_servers_end_leader(world->servers);
        break;
    case 5:
    case 6:
        sim_host_end_gateway(host, kind == 5);
        if (sim_chance(&world->loop, 0.3))
            sim_zookeeper_fail_lists(step->host, world->loop.now_us + long_us);
        break;
    default:
        sim_host_kill_service(host);
    }
    if (kind >= 1 && kind <= 3)
        sim_loop_in(&world->loop, long_us, on_heal, g_memdup2(step, sizeof *step));
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

static void on_request(gpointer data);

/* Other hosts request a lock, or steal it, while another one steals it. */
static void
interfere(World *world)
{
    while (sim_chance(&world->loop, 0.5)) {
        Step *step = new_step(world);

        step->steals = sim_chance(&world->loop, 0.3);
        step->shares = !step->steals;
        sim_loop_in(&world->loop, sim_range(&world->loop, 0, 60 * MS), on_request, step);
    }
}

static void
on_request(gpointer data)
{
    Step *step = data;
    SimLoop *loop = &step->world->loop;
    SimLockRequest request = {
        .client = step->client,
        .name = sim_chance(loop, 0.8) ? 0 : 1,
        .mode = sim_chance(loop, 0.4) ? PERMIT_SHARED : PERMIT_EXCLUSIVE,
        .hold_us = sim_chance(loop, step->world->is_calm ? 0.6 : 0.15)
                       ? sim_range(loop, 0, (step->world->timeout_secs + 10) * S)
                       : sim_range(loop, 0, 300 * MS),
        .if_available = sim_chance(loop, 0.1),
    };

    if (step->steals || (!request.if_available && !step->shares && sim_chance(loop, 0.08))) {
        request.steal = TRUE;
        request.if_available = FALSE;
        request.mode = PERMIT_EXCLUSIVE;
    }
    if (step->shares)
        request.mode = PERMIT_SHARED;
    if (!request.if_available && sim_chance(loop, 0.1))
        request.timeout_ms = (guint32)sim_range(loop, 1, 10000);
    sim_host_request(step->world->hosts[step->host], &request);
    if (sim_chance(loop, 0.1))
        sim_host_abort_any(step->world->hosts[step->host], request.name);
    if (sim_chance(loop, 0.3))
        sim_host_list(step->world->hosts[step->host], request.name);
    if (sim_chance(loop, 0.02))
        sim_host_break(step->world->hosts[step->host], request.name,
                       sim_chance(loop, 0.5) ? "host0" : NULL);
    if (request.steal)
        interfere(step->world);
    if (sim_chance(loop, request.steal ? 0.5 : 0.1))
        follow(step, TRUE, on_death);
    if (sim_chance(loop, 0.2))
        follow(step, FALSE, on_request);
}

static gboolean
is_quiet(const World *world)
{
    for (guint i = 0; i < world->n_hosts; i++)
        if (sim_host_get_n_requests(world->hosts[i]) > 0)
            return FALSE;
    for (guint i = 0; i < SIM_NAMES; i++)
        if (sim_claims_count(world->claims, i) > 0)
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
                g_printerr(" host %u: %u requests;", i, sim_host_get_n_requests(world->hosts[i]));
            g_printerr(" claims: %u and %u\n", sim_claims_count(world->claims, 0),
                       sim_claims_count(world->claims, 1));
            exit(1);
        }
}

static void
run_schedule(guint32 seed, gboolean has_trace)
{
    World world = {.seed = seed};
    static const guint timeouts[] = {15, 20, 40};
    gint64 end_us;
    guint n_requests, n_deaths, n_faults;

    sim_loop_init(&world.loop, seed);
    world.loop.has_trace = has_trace;
    world.loop.poll = sim_zookeeper_poll;
    world.claims = sim_claims_new(&world.loop);
    world.servers = sim_servers_new(
        &world.loop, sim_chance(&world.loop, 0.5) ? TICK_LONG : TICK_SHORT, &servers_class, &world);
    sim_zookeeper_init(world.servers);
    world.timeout_secs = timeouts[sim_range(&world.loop, 0, G_N_ELEMENTS(timeouts) - 1)];
    world.held = g_array_new(FALSE, FALSE, sizeof(SimLock));
    world.lost = g_array_new(FALSE, FALSE, sizeof(Lost));
    world.n_hosts = (guint)sim_range(&world.loop, 2, SIM_WHOLE_HOSTS_MAX);
    for (guint i = 0; i < world.n_hosts; i++)
        world.hosts[i] = sim_host_new(&world.loop, world.servers, world.claims, i,
                                      world.timeout_secs, &host_class, &world);
    world.is_calm = sim_chance(&world.loop, 0.3);
    if (world.is_calm) {
        world.cuts_holder = TRUE;
        end_us = world.loop.now_us + sim_range(&world.loop, 1 * S, 4 * world.timeout_secs * S);
        n_requests = (guint)sim_range(&world.loop, 2, 8);
        n_deaths = n_faults = 0;
    } else {
        end_us = world.loop.now_us + sim_range(&world.loop, 1 * S, 30 * S);
        n_requests = (guint)sim_range(&world.loop, 2, 40);
        n_deaths = (guint)sim_range(&world.loop, 0, 5);
        n_faults = sim_chance(&world.loop, 0.3) ? 0 : (guint)sim_range(&world.loop, 1, 6);
    }
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
    g_array_unref(world.lost);
    sim_servers_free(world.servers);
    sim_claims_free(world.claims);
    sim_loop_clear(&world.loop);
}

/* The messages about connections and leases are expected, and no others. */
static GLogWriterOutput
write_log(GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
    gboolean is_expected = (level & G_LOG_LEVEL_MESSAGE) != 0;

    for (gsize i = 0; i < n_fields; i++)
        if (g_str_equal(fields[i].key, "MESSAGE") &&
            g_str_has_prefix(fields[i].value, "the lease is over"))
            is_expected = TRUE;
    if (!is_expected) {
        g_log_writer_default(level, fields, n_fields, data);
        if ((level & (G_LOG_LEVEL_WARNING | G_LOG_LEVEL_CRITICAL)) != 0)
            exit(1);
    }
    return G_LOG_WRITER_HANDLED;
}

static double
get_least_secs(gint64 least_us)
{
    return least_us < G_MAXINT64 ? (double)least_us / 1e6 : INFINITY;
}

int
main(int argc, char **argv)
{
    guint32 n_schedules = g_getenv("WEBLOCKS_TEST_ALL") != NULL ? 4000 : 1000;
    guint32 first = argc > 2 ? (guint32)strtoul(argv[2], NULL, 10) : 1;

    if (argc > 1)
        n_schedules = (guint32)strtoul(argv[1], NULL, 10);
    /* After a few more grants, the next generation begins. */
    sim_tree_first_count = 0xfffa;
    g_log_set_writer_func(write_log, NULL, NULL);
    for (guint32 i = 0; i < n_schedules; i++)
        run_schedule(first + i, argc > 3);
    g_print("ok 1 %u schedules from seed %u: %" G_GUINT64_FORMAT " grants, %" G_GUINT64_FORMAT
            " faults, %" G_GUINT64_FORMAT " locks lost, %.2f s before their session ended, at the "
            "least; leases end %.2f s before their session may\n1..1\n",
            n_schedules, first, total_granted, total_faults, total_lost,
            get_least_secs(least_margin_us), get_least_secs(least_left_us));
    return 0;
}
