/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the servers have to do for many hosts and names: the real gateway of each host, with
 * simulated ZooKeeper servers, in simulated time. This file is the lock service of all hosts, which
 * only requests and releases. Nothing fails.
 *
 * It is done with a tenth of the hosts and names first. What one name, one hand-over and one host
 * cost must not depend on how many others there are, and is what docs/cluster.md says.
 *
 * Arguments: the number of hosts, at most 1,000, and of names of each host; without them, 100 and
 * 20, with WEBLOCKS_TEST_ALL 300 and 100, and with WEBLOCKS_FULL_SIZE 1,000 and 100. */

#include <stdlib.h>

#include "cluster-connection.h"
#include "sim-claims.h"
#include "sim-link.h"
#include "sim-servers.h"
#include "sim-zookeeper.h"

#define TIMEOUT_SECS 15
#define TURN_SECS    1
#define STANDING_US  (10 * S)
/* Until a name that a host does not use any more is deleted. */
#define SETTLING_US (6 * S)
#define PATIENCE_US (1000 * S)

#define BUCKETS SIM_ROOT "/buckets/"

typedef struct World World;

/* Requests that the servers have answered, and the names of nodes that they have listed. */
typedef struct {
    guint64 n_writes[2], n_reads[2], n_listed[2]; /* [1]: about locks */
} Counts;

/* A name as a host has it. */
typedef struct {
    guint64 handle; /* the number of the name, and 1 */
    guint32 number; /* of the last demand */
    guint64 block;  /* of the permit; 0: there is none */
    guint64 session;
    guint32 claim;
    PermitMode mode;
} Slot;

typedef struct {
    World *world;
    guint number;
    char *socket_path;
    SimGateway *gateway;
    SimLinks *links;
    ClusterConnection *connection; /* NULL: the gateway does not run */
    gboolean is_synced;
    guint64 session;   /* of the lease */
    GHashTable *slots; /* handle -> Slot */
} Host;

struct World {
    SimLoop loop;
    SimServers *servers;
    Host *hosts;
    guint n_hosts, n_names_each;
    guint n_synced, n_permits, n_lost;
    Counts counts, before;
    gint64 begun_us;
};

/* ---- the connection of the lock service to its gateway */

static void
send_demand(Host *host, Slot *slot, PermitMode want, gboolean is_held, gboolean is_over)
{
    g_autofree char *name = g_strdup_printf("name %" G_GUINT64_FORMAT, slot->handle);

    cluster_packet_write(cluster_connection_get_output(host->connection), CLUSTER_PACKET_DEMAND,
                         slot->handle, slot->block, is_held ? slot->session : 0,
                         is_held ? slot->claim : 0, SIM_UID, ++slot->number, want,
                         is_held ? slot->mode : PERMIT_NONE, 0, FALSE, is_over, want != PERMIT_NONE,
                         SIM_BUCKET, name);
    cluster_connection_flush(host->connection);
    if (is_over)
        slot->block = 0;
}

static void
on_received(const ClusterMessage *message, gpointer data)
{
    Host *host = data;
    World *world = host->world;
    const ClusterTurn *turn = &message->turn;
    Slot *slot;

    if (message->kind == CLUSTER_PACKET_LEASE) {
        cluster_packet_write(cluster_connection_get_output(host->connection), CLUSTER_PACKET_ACK,
                             message->lease.serial);
        cluster_connection_flush(host->connection);
        host->session = message->lease.session;
    } else if (message->kind == CLUSTER_PACKET_SYNCED) {
        world->n_synced += !host->is_synced;
        host->is_synced = TRUE;
    }
    if (message->kind < CLUSTER_PACKET_PERMIT || message->kind > CLUSTER_PACKET_GONE)
        return;
    slot = g_hash_table_lookup(host->slots, &turn->handle);
    if (message->kind == CLUSTER_PACKET_PERMIT) {
        world->n_permits++;
        slot->block = turn->block;
        slot->session = host->session;
        slot->claim = turn->claim;
        slot->mode = turn->mode;
    } else if (message->kind == CLUSTER_PACKET_YIELD && slot->block != 0) {
        send_demand(host, slot, PERMIT_NONE, FALSE, TRUE);
    } else if (message->kind == CLUSTER_PACKET_REVOKED) {
        world->n_lost++;
    } else if (message->kind == CLUSTER_PACKET_GONE && turn->number == slot->number) {
        g_hash_table_remove(host->slots, &turn->handle);
    }
}

static void
on_closed(G_GNUC_UNUSED const char *reason, gpointer data)
{
    g_clear_pointer(&((Host *)data)->connection, cluster_connection_free);
}

/* ---- hosts */

static void
host_init(Host *host, World *world, guint number)
{
    *host = (Host){.world = world, .number = number};
    host->socket_path = g_strdup_printf("%u", number);
    host->gateway = sim_gateway_new(number, TIMEOUT_SECS, TURN_SECS, host->socket_path);
    host->links = sim_links_new(&world->loop, number, host->gateway, NULL, NULL);
    host->slots = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
}

static void
host_clear(Host *host)
{
    sim_gateway_free(host->gateway);
    cluster_connection_free(host->connection);
    sim_links_free(host->links);
    g_hash_table_unref(host->slots);
    g_free(host->socket_path);
}

/* Starts the gateway and connects to it, with what is held. */
static void
host_start(gpointer data)
{
    Host *host = *(Host **)data;
    static const ClusterConnectionHandler handler = {cluster_packet_read_from_gateway, on_received,
                                                     on_closed};
    GHashTableIter iter;
    Slot *slot;

    sim_gateway_start(host->gateway);
    host->connection =
        cluster_connection_new(cluster_connection_open(host->socket_path), &handler, host);
    cluster_packet_write(cluster_connection_get_output(host->connection), CLUSTER_PACKET_HELLO,
                         CLUSTER_PACKET_VERSION);
    g_hash_table_iter_init(&iter, host->slots);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&slot))
        send_demand(host, slot, PERMIT_NONE, TRUE, FALSE);
    cluster_packet_write(cluster_connection_get_output(host->connection), CLUSTER_PACKET_READY);
    cluster_connection_flush(host->connection);
}

static void
start_in(Host *host, gint64 delay_us)
{
    sim_loop_in(&host->world->loop, delay_us, host_start, g_memdup2(&host, sizeof host));
}

static void
request(Host *host, guint64 name, PermitMode mode)
{
    Slot *slot = g_hash_table_lookup(host->slots, &(guint64){name + 1});

    if (slot == NULL) {
        slot = g_new0(Slot, 1);
        slot->handle = name + 1;
        g_hash_table_insert(host->slots, &slot->handle, slot);
    }
    send_demand(host, slot, mode, FALSE, FALSE);
}

static void
release(Host *host, guint64 name)
{
    send_demand(host, g_hash_table_lookup(host->slots, &(guint64){name + 1}), PERMIT_NONE, FALSE,
                TRUE);
}

/* ---- measuring */

static void
run_for(World *world, gint64 duration_us)
{
    gint64 until_us = world->loop.now_us + duration_us;

    while (sim_loop_step(&world->loop, until_us))
        continue;
    world->loop.now_us = until_us;
}

static void
run_until(World *world, const guint *count, guint expected, const char *what)
{
    gint64 until_us = world->loop.now_us + PATIENCE_US;

    while (*count < expected)
        if (!sim_loop_step(&world->loop, until_us))
            g_error("%s: %u of %u", what, *count, expected);
}

typedef struct {
    double writes, reads, listed;
} Costs;

static gboolean
is_about_locks(const SimRequest *request)
{
    const SimTransaction *transaction = request->transaction;

    for (guint i = 0; transaction != NULL && i < transaction->ops->len; i++)
        if (g_str_has_prefix(g_array_index(transaction->ops, SimOp, i).path, BUCKETS))
            return TRUE;
    return request->path != NULL && g_str_has_prefix(request->path, BUCKETS);
}

static void
on_answered(const SimRequest *request, gpointer data)
{
    Counts *counts = &((World *)data)->counts;

    if (request->kind == SIM_WRITE)
        counts->n_writes[is_about_locks(request)]++;
    else if (request->kind <= SIM_SYNC)
        counts->n_reads[is_about_locks(request)]++;
    if (request->children != NULL)
        counts->n_listed[is_about_locks(request)] += request->children->len;
}

static void
begin(World *world)
{
    world->before = world->counts;
    world->begun_us = world->loop.now_us;
}

/* What one of `n` has cost since then: requests about locks, or the others. */
static Costs
end(World *world, double n, gboolean is_about_locks, const char *what)
{
    const Counts *now = &world->counts, *before = &world->before;
    Costs costs = {
        (double)(now->n_writes[is_about_locks] - before->n_writes[is_about_locks]) / n,
        (double)(now->n_reads[is_about_locks] - before->n_reads[is_about_locks]) / n,
        (double)(now->n_listed[is_about_locks] - before->n_listed[is_about_locks]) / n,
    };

    g_print("# %4u hosts, %6u names: %-40s %5.2f writes, %9.2f reads with %9.1f names; %.1f s\n",
            world->n_hosts, world->n_hosts * world->n_names_each, what, costs.writes, costs.reads,
            costs.listed, (double)(world->loop.now_us - world->begun_us) / 1e6);
    return costs;
}

static void
expect(double value, double most, const char *what)
{
    if (value <= most)
        return;
    g_print("not ok: %s: %.2f, and not at most %.2f\n", what, value, most);
    exit(1);
}

/* ---- */

typedef struct {
    Costs start, standing, name, hand_over, share, again, restart, ended;
} Result;

static void
ignore_committed(G_GNUC_UNUSED const SimTransaction *transaction, G_GNUC_UNUSED gpointer data)
{
}

/* Those that were only to learn the servers' tick. */
static void
ignore_expired(G_GNUC_UNUSED guint64 session, G_GNUC_UNUSED gpointer data)
{
}

static void
nothing(void)
{
}

static const SimServersClass servers_class = {ignore_committed, ignore_expired, on_answered};

static void
world_init(World *world, guint n_hosts, guint n_names_each)
{
    *world = (World){.n_hosts = n_hosts, .n_names_each = n_names_each};
    sim_loop_init(&world->loop, 1);
    world->loop.is_prompt = TRUE;
    world->loop.poll = sim_zookeeper_poll;
    world->loop.after_each = nothing;
    world->servers = sim_servers_new(&world->loop, 2 * S, &servers_class, world);
    sim_zookeeper_init(world->servers);
    world->hosts = g_new0(Host, n_hosts);
    for (guint i = 0; i < n_hosts; i++)
        host_init(&world->hosts[i], world, i);
}

static void
world_clear(World *world)
{
    for (guint i = 0; i < world->n_hosts; i++)
        host_clear(&world->hosts[i]);
    g_free(world->hosts);
    sim_servers_free(world->servers);
    sim_loop_clear(&world->loop);
}

/* Each host takes its names at once, as after a start. */
static Costs
take_names(World *world)
{
    begin(world);
    for (guint i = 0; i < world->n_hosts; i++)
        for (guint name = 0; name < world->n_names_each; name++)
            request(&world->hosts[i], (guint64)i * world->n_names_each + name, PERMIT_EXCLUSIVE);
    run_until(world, &world->n_permits, world->n_hosts * world->n_names_each, "permits");
    run_for(world, SETTLING_US);
    return end(world, world->n_hosts * world->n_names_each, TRUE, "a new name");
}

/* Each host gets one name of the next host. */
static Costs
hand_over(World *world)
{
    guint n_before = world->n_permits;

    begin(world);
    for (guint i = 0; i < world->n_hosts; i++)
        request(&world->hosts[i], (guint64)((i + 1) % world->n_hosts) * world->n_names_each,
                PERMIT_EXCLUSIVE);
    run_until(world, &world->n_permits, n_before + world->n_hosts, "hand-overs");
    run_for(world, SETTLING_US);
    return end(world, world->n_hosts, TRUE, "a hand-over");
}

/* All take one lock in shared mode. Then one of them leaves and returns, and at last all release
 * it.
 */
static void
share(World *world, Result *result)
{
    guint64 name = (guint64)world->n_hosts * world->n_names_each;
    guint n_before = world->n_permits;

    request(&world->hosts[0], name, PERMIT_SHARED);
    run_until(world, &world->n_permits, n_before + 1, "the first permit");
    begin(world);
    for (guint i = 1; i < world->n_hosts; i++)
        request(&world->hosts[i], name, PERMIT_SHARED);
    run_until(world, &world->n_permits, n_before + world->n_hosts, "shared permits");
    result->share = end(world, world->n_hosts - 1, TRUE, "a host of those that share a lock");
    run_for(world, 1 * S);
    begin(world);
    release(&world->hosts[1], name);
    request(&world->hosts[1], name, PERMIT_SHARED);
    run_until(world, &world->n_permits, n_before + world->n_hosts + 1, "a shared permit");
    run_for(world, 1 * S);
    result->again = end(world, 1, TRUE, "one of them leaves and returns");
    for (guint i = 0; i < world->n_hosts; i++)
        release(&world->hosts[i], name);
    run_for(world, SETTLING_US);
}

/* The gateway of a host is ended, or killed, and started again. Returns what follows when all that
 * is held was confirmed. */
static Costs
restart(World *world, gboolean is_killed, Costs *confirming)
{
    Host *host = &world->hosts[0];
    guint n_before = world->n_synced;
    guint64 n_reads;

    sim_gateway_end(host->gateway, is_killed);
    host->is_synced = FALSE;
    start_in(host, 100 * MS);
    begin(world);
    run_until(world, &world->n_synced, n_before + 1, "the gateway");
    *confirming = end(world, world->n_names_each, TRUE, "a held name, at a restart of the gateway");
    begin(world);
    do {
        n_reads = world->counts.n_reads[TRUE];
        run_for(world, 1 * S);
    } while (world->counts.n_reads[TRUE] > n_reads);
    return end(world, world->n_names_each, TRUE,
               is_killed ? "and then, if it was killed" : "and then, if it was ended");
}

static Result
measure(guint n_hosts, guint n_names_each)
{
    World world;
    Result result;

    world_init(&world, n_hosts, n_names_each);
    begin(&world);
    for (guint i = 0; i < n_hosts; i++)
        start_in(&world.hosts[i], sim_range(&world.loop, 0, 10 * S));
    run_until(&world, &world.n_synced, n_hosts, "hosts");
    result.start = end(&world, n_hosts, FALSE, "the start of a host");
    /* So that all of them hold something. */
    for (guint i = 0; i < n_hosts; i++)
        request(&world.hosts[i], G_MAXUINT32 + (guint64)i, PERMIT_EXCLUSIVE);
    run_until(&world, &world.n_permits, n_hosts, "first permits");
    world.n_permits = 0;
    run_for(&world, SETTLING_US);
    begin(&world);
    run_for(&world, STANDING_US);
    result.standing =
        end(&world, n_hosts * (double)STANDING_US / 1e6, FALSE, "a host, in a second");
    result.name = take_names(&world);
    result.hand_over = hand_over(&world);
    share(&world, &result);
    result.ended = restart(&world, FALSE, &result.restart);
    restart(&world, TRUE, &result.restart);
    if (world.n_lost > 0)
        g_error("%u locks were lost", world.n_lost);
    world_clear(&world);
    return result;
}

static GLogWriterOutput
write_log(GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
    if ((level & (G_LOG_LEVEL_WARNING | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_ERROR)) == 0)
        return G_LOG_WRITER_HANDLED;
    g_log_writer_default(level, fields, n_fields, data);
    exit(1);
}

static gboolean
is_set(const char *name)
{
    const char *text = g_getenv(name);

    return text != NULL && !g_str_equal(text, "0");
}

int
main(int argc, char **argv)
{
    guint n_hosts = 100, n_names_each = 20;
    double name_writes = 4.1;
    Result few, many;

    g_log_set_writer_func(write_log, NULL, NULL);
    if (is_set("WEBLOCKS_TEST_ALL") || is_set("WEBLOCKS_FULL_SIZE")) {
        n_hosts = is_set("WEBLOCKS_FULL_SIZE") ? SIM_HOSTS_MAX : 300;
        n_names_each = 100;
    }
    if (argc > 2) {
        n_hosts = (guint)strtoul(argv[1], NULL, 10);
        n_names_each = (guint)strtoul(argv[2], NULL, 10);
    }
    g_assert_cmpuint(n_hosts, <=, SIM_HOSTS_MAX);
    few = measure(n_hosts / 10, n_names_each);
    many = measure(n_hosts, n_names_each);
    /* docs/cluster.md */
    expect(many.standing.writes, 0.55, "writes of a host in a second");
    expect(many.standing.reads, 1.2, "reads of a host in a second");
    /* What is in flight when a counter of tokens is used up is granted again. */
    if (n_hosts * n_names_each > 65535)
        name_writes += 0.5;
    expect(many.name.writes, name_writes, "writes for a new name");
    expect(many.hand_over.writes, name_writes, "writes for a hand-over");
    expect(many.share.writes, 2.1, "writes of a host that shares a lock");
    expect(many.share.reads, 5.1, "reads of a host that shares a lock");
    expect(many.again.reads, 6.1, "reads, when a host that shares a lock leaves and returns");
    expect(many.restart.reads, 1.5, "reads for a held name at a restart");
    expect(many.ended.reads, 1.5, "reads for a name, after the gateway was ended");
    /* Ten times the hosts and names. */
    expect(many.standing.reads, 1.1 * few.standing.reads, "reads of a host in a second");
    expect(many.name.writes, 1.1 * few.name.writes, "writes for a new name");
    expect(many.name.reads, 1.1 * few.name.reads, "reads for a new name");
    expect(many.name.listed, 1.1 * few.name.listed, "claims listed for a new name");
    expect(many.hand_over.reads, 1.1 * few.hand_over.reads, "reads for a hand-over");
    expect(many.hand_over.listed, 1.1 * few.hand_over.listed, "claims listed for a hand-over");
    g_print("ok 1 %u hosts, %u names\n1..1\n", n_hosts, n_hosts * n_names_each);
    return 0;
}
