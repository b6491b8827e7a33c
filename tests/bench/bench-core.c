/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The cost of the core's operations, and whether it depends on the number of other locks and
 * requests.
 *
 * There is a world for each number of others: once with as many held locks with different names,
 * once with as many requests that wait for one name, each with a time-out. All are in the bucket
 * that is measured. The measured clients use other names. Each repetition goes through all worlds,
 * so that noise of the machine affects all of them; the ratio is the median of the repetitions'
 * ratios to the world with one other. */

#include <glib.h>
#include <stdlib.h>

#include "service/core/agent.h"
#include "service/core/lock-manager.h"
#include "service/core/principal.h"
#include "service/core/user-agent.h"

#define BUCKET           "default"
#define OTHERS_PER_AGENT 1000
#define HOUR_MS          3600000
#define MAX_REPETITIONS  1001
#define FLAT             1.2
#define OWN_NAMES        32 /* of the measured clients: several, to average over hashes */

typedef struct {
    guint n_others;
    gboolean waiting;
    UserAgent user_agent;
    Principal *principal;
    LockManager *manager;
    Agent *a; /* the measured clients */
    Agent *b;
    GPtrArray *others; /* of Agent */
    guint64 *ids;      /* of the others' requests */
    guint32 random;
} World;

/* Does the operation `n` times. */
typedef void (*Operation)(World *world, guint n);

typedef struct {
    const char *title;
    Operation run;
    gboolean only_for_information;
} OperationRow;

static int n_repetitions = 15;
static int n_operations = 40000;
static int max_others = 1000000;
static char own_names[OWN_NAMES][16];

/* ---- short functions for the core */

static guint64
request(World *world, Agent *agent, const char *name, LockOptions options)
{
    LockRequest *made;
    guint64 id;

    options.why = "";
    if (lock_manager_request(world->manager, agent, name, &options, &made) != LOCK_RESULT_OK)
        g_error("a request failed");
    id = made->id;
    effects_clear(&world->user_agent.effects);
    return id;
}

static void
release(World *world, Agent *agent, guint64 id)
{
    if (lock_manager_release(world->manager, agent, id) != LOCK_RESULT_OK)
        g_error("a release failed");
    effects_clear(&world->user_agent.effects);
}

static void
abort_request(World *world, Agent *agent, guint64 id)
{
    if (!lock_manager_abort(world->manager, agent, id))
        g_error("an abort failed");
    effects_clear(&world->user_agent.effects);
}

static Agent *
new_agent(World *world)
{
    Agent *agent;

    if (agent_new(world->principal, ":1.1", &agent) != LOCK_RESULT_OK)
        g_error("no agent");
    return agent;
}

static guint
next_random(World *world, guint n)
{
    world->random = world->random * 1664525u + 1013904223u;
    return (guint)(((guint64)world->random * n) >> 32);
}

/* ---- worlds */

static void
make_name(char *name, gsize size, guint i)
{
    g_snprintf(name, size, "other-%u", i);
}

static World *
world_new(guint n_others, gboolean waiting)
{
    static const PrincipalIdentity identity = {1000, PRINCIPAL_UNSANDBOXED, ""};
    World *world = g_new0(World, 1);
    Limits limits;

    for (guint i = 0; i < N_LIMITS; i++)
        limits.max[i] = G_MAXINT32;
    user_agent_init(&world->user_agent, &limits);
    user_agent_set_time(&world->user_agent, G_USEC_PER_SEC, 0);
    user_agent_expire(&world->user_agent);
    world->n_others = n_others;
    world->waiting = waiting;
    world->principal = principal_get(&world->user_agent, &identity);
    world->manager = lock_manager_get(world->principal, BUCKET);
    world->others = g_ptr_array_new();
    world->ids = g_new(guint64, n_others);
    world->a = new_agent(world);
    world->b = new_agent(world);

    if (waiting)
        request(world, world->a, "other-0", (LockOptions){0});
    for (guint i = 0; i < n_others; i++) {
        LockOptions options = {0};
        char name[32];

        if (i % OTHERS_PER_AGENT == 0)
            g_ptr_array_add(world->others, new_agent(world));
        make_name(name, sizeof name, waiting ? 0 : i);
        if (waiting)
            options.timeout_ms = HOUR_MS + next_random(world, HOUR_MS);
        world->ids[i] = request(world, world->others->pdata[world->others->len - 1], name, options);
    }
    return world;
}

static void
leave(World *world, Agent *agent)
{
    user_agent_terminate(&world->user_agent, agent);
    effects_clear(&world->user_agent.effects);
    agent_unref(agent);
}

static void
world_free(World *world)
{
    for (guint i = 0; i < world->others->len; i++)
        leave(world, world->others->pdata[i]);
    leave(world, world->a);
    leave(world, world->b);
    g_ptr_array_unref(world->others);
    g_free(world->ids);
    lock_manager_unref(world->manager);
    principal_unref(world->principal);
    user_agent_fini(&world->user_agent);
    g_free(world);
}

/* ---- the measured operations */

static void
run_request_release(World *world, guint n)
{
    for (guint i = 0; i < n; i++)
        release(world, world->a,
                request(world, world->a, own_names[i % OWN_NAMES], (LockOptions){0}));
}

/* The measured client holds all of its names. */
static void
hold_all(World *world, guint64 *ids)
{
    for (guint i = 0; i < OWN_NAMES; i++)
        ids[i] = request(world, world->a, own_names[i], (LockOptions){0});
}

static void
release_all(World *world, const guint64 *ids)
{
    for (guint i = 0; i < OWN_NAMES; i++)
        release(world, world->a, ids[i]);
}

/* Two clients alternate: each release grants the other's request, and each request waits. */
static void
run_hand_over(World *world, guint n)
{
    guint64 a[OWN_NAMES], b[OWN_NAMES];

    hold_all(world, a);
    for (guint i = 0; i < OWN_NAMES; i++)
        b[i] = request(world, world->b, own_names[i], (LockOptions){0});
    for (guint i = 0; i < n; i += 2) {
        guint k = i / 2 % OWN_NAMES;

        release(world, world->a, a[k]);
        a[k] = request(world, world->a, own_names[k], (LockOptions){0});
        release(world, world->b, b[k]);
        b[k] = request(world, world->b, own_names[k], (LockOptions){0});
    }
    for (guint i = 0; i < OWN_NAMES; i++)
        abort_request(world, world->b, b[i]);
    release_all(world, a);
}

static void
request_and_abort(World *world, guint n, guint32 timeout_ms)
{
    guint64 held[OWN_NAMES];

    hold_all(world, held);
    for (guint i = 0; i < n; i++) {
        LockOptions options = {.timeout_ms = timeout_ms};

        abort_request(world, world->b, request(world, world->b, own_names[i % OWN_NAMES], options));
    }
    release_all(world, held);
}

static void
run_abort(World *world, guint n)
{
    request_and_abort(world, n, 0);
}

static void
run_timeout(World *world, guint n)
{
    request_and_abort(world, n, HOUR_MS);
}

static void
run_unavailable(World *world, guint n)
{
    LockOptions options = {.if_available = TRUE, .why = ""};
    guint64 held[OWN_NAMES];
    LockRequest *made;

    hold_all(world, held);
    for (guint i = 0; i < n; i++)
        if (lock_manager_request(world->manager, world->b, own_names[i % OWN_NAMES], &options,
                                 &made) != LOCK_RESULT_UNAVAILABLE)
            g_error("it was available");
    release_all(world, held);
}

/* Random names, and random positions in the queue: each accesses memory that isn't in the
 * caches. */
static void
run_random(World *world, guint n)
{
    while (n-- > 0) {
        guint i = next_random(world, world->n_others);
        LockOptions options = {.if_available = TRUE, .why = ""};
        LockRequest *made;
        char name[32];

        if (world->waiting) {
            Agent *agent = world->others->pdata[i / OTHERS_PER_AGENT];

            options = (LockOptions){.timeout_ms = HOUR_MS};
            abort_request(world, agent, world->ids[i]);
            world->ids[i] = request(world, agent, "other-0", options);
            continue;
        }
        make_name(name, sizeof name, i);
        if (lock_manager_request(world->manager, world->b, name, &options, &made) !=
            LOCK_RESULT_UNAVAILABLE)
            g_error("it was available");
    }
}

static const OperationRow operations[] = {
    {"request + release", run_request_release, FALSE},
    {"hand-over + request", run_hand_over, FALSE},
    {"request + abort", run_abort, FALSE},
    /* It grows with the logarithm of the number of time-outs. */
    {"request with time-out + abort", run_timeout, TRUE},
    {"ifAvailable, not available", run_unavailable, FALSE},
    {"(any of the others, at random)", run_random, TRUE},
};

#define N_OPERATIONS G_N_ELEMENTS(operations)

/* ---- measuring */

static const guint scales[] = {1, 1000, 100000, 1000000};

#define N_SCALES G_N_ELEMENTS(scales)

/* ns per operation */
typedef double Figures[2][N_SCALES][N_OPERATIONS][MAX_REPETITIONS];

static double
measure(World *world, Operation run)
{
    gint64 begin_us;

    run(world, (guint)n_operations / 10);
    begin_us = g_get_monotonic_time();
    run(world, (guint)n_operations);
    return (double)(g_get_monotonic_time() - begin_us) * 1000.0 / n_operations;
}

static int
compare_doubles(gconstpointer a, gconstpointer b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double
get_quantile(const double *figures, double quantile)
{
    double sorted[MAX_REPETITIONS];

    memcpy(sorted, figures, (gsize)n_repetitions * sizeof *sorted);
    qsort(sorted, (gsize)n_repetitions, sizeof *sorted, compare_doubles);
    return sorted[(int)((n_repetitions - 1) * quantile + 0.5)];
}

static double
get_ratio(const double *figures, const double *of_one_other)
{
    double ratios[MAX_REPETITIONS] = {0};

    for (int i = 0; i < n_repetitions; i++)
        ratios[i] = figures[i] / of_one_other[i];
    return get_quantile(ratios, 0.5);
}

/* ---- output */

static void
print_rows(double (*figures)[N_OPERATIONS][MAX_REPETITIONS], guint operation, guint n_scales)
{
    g_print("%-32s ns  ", operations[operation].title);
    for (guint s = 0; s < n_scales; s++)
        g_print("%11.0f", get_quantile(figures[s][operation], 0.5));
    g_print("\n%-32s +-%% ", "");
    for (guint s = 0; s < n_scales; s++) {
        const double *of_scale = figures[s][operation];

        g_print("%11.0f", 50.0 * (get_quantile(of_scale, 0.75) - get_quantile(of_scale, 0.25)) /
                              get_quantile(of_scale, 0.5));
    }
    g_print("\n%-32s x   ", "");
    for (guint s = 0; s < n_scales; s++)
        g_print("%11.2f", get_ratio(figures[s][operation], figures[0][operation]));
    g_print("\n");
}

static void
print_table(double (*figures)[N_OPERATIONS][MAX_REPETITIONS], const char *what, guint n_scales)
{
    g_autoptr(GString) not_flat = g_string_new(NULL);

    g_print("\n%-36s", what);
    for (guint s = 0; s < n_scales; s++)
        g_print("%11u", scales[s]);
    g_print("\n");
    for (guint o = 0; o < N_OPERATIONS; o++) {
        print_rows(figures, o, n_scales);
        for (guint s = 0; s < n_scales && !operations[o].only_for_information; s++)
            if (get_ratio(figures[s][o], figures[0][o]) > FLAT)
                g_string_append_printf(not_flat, " %s with %u;", operations[o].title, scales[s]);
    }
    g_print("flat within 20 %%: %s%s\n", not_flat->len == 0 ? "yes" : "no:", not_flat->str);
}

int
main(int argc, char **argv)
{
    const GOptionEntry entries[] = {
        {"repetitions", 0, 0, G_OPTION_ARG_INT, &n_repetitions, "How often (15)", "N"},
        {"operations", 0, 0, G_OPTION_ARG_INT, &n_operations, "At a time (40000)", "N"},
        {"max-others", 0, 0, G_OPTION_ARG_INT, &max_others, "At most so many (1000000)", "N"},
        {NULL}};
    g_autoptr(GOptionContext) context = g_option_context_new("- what the core's operations cost");
    Figures *figures = g_malloc0(sizeof *figures);
    World *worlds[2][N_SCALES];
    guint n_scales = 0;

    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, NULL) || n_repetitions < 1 ||
        n_repetitions > MAX_REPETITIONS || n_operations < 10)
        g_error("bad options");

    for (guint i = 0; i < OWN_NAMES; i++)
        g_snprintf(own_names[i], sizeof own_names[i], "own-%u", i);
    for (; n_scales < N_SCALES && scales[n_scales] <= (guint)max_others; n_scales++)
        for (guint w = 0; w < 2; w++)
            worlds[w][n_scales] = world_new(scales[n_scales], w == 1);

    for (int i = 0; i < n_repetitions; i++)
        for (guint o = 0; o < N_OPERATIONS; o++)
            for (guint s = 0; s < n_scales; s++)
                for (guint w = 0; w < 2; w++)
                    (*figures)[w][s][o][i] = measure(worlds[w][s], operations[o].run);

    g_print("The core alone: medians of %d interleaved repetitions of %d operations each.\n"
            "ns: per operation; +-%%: half the quartiles' distance; x: against one other.\n"
            "%.0f uncontended pairs of request and release in a second\n",
            n_repetitions, n_operations, 1e9 / get_quantile((*figures)[0][0][0], 0.5));
    print_table((*figures)[0], "others that hold their own names", n_scales);
    print_table((*figures)[1], "others that wait for one name", n_scales);

    for (guint s = 0; s < n_scales; s++)
        for (guint w = 0; w < 2; w++)
            world_free(worlds[w][s]);
    g_free(figures);
    return 0;
}
