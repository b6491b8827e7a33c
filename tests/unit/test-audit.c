/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* core/principal: random operations of several uids and their applications, with limits so low
 * that all of them are reached. Each result is compared with a second implementation of the rules,
 * which counts objects; the accounts match the objects (lib/audit); and at the end they are zero.
 *
 * A failure prints the seed, the world and the step: WEBLOCKS_TEST_SEED=seed repeats it. */

#include "tests/lib/audit.h"
#include "tests/unit/core-fixture.h"

#ifdef __SANITIZE_ADDRESS__
#define N_STEPS 10000
#else
#define N_STEPS 50000
#endif
#define N_WORLDS     20
#define N_PRINCIPALS 12
#define N_AGENTS     36
#define N_APPS       3 /* of a uid; the first is the user's unsandboxed processes */
#define N_WATCHES    6 /* of one agent */
#define N_DEMANDS    8 /* the same */
#define AUDIT_EVERY  100

typedef struct {
    Agent *agent;       /* NULL: terminated */
    guint n[N_CHARGES]; /* charges that the server makes */
} Slot;

/* The charges that the server makes, with the maximum for each agent. */
static const struct {
    ChargeKind kind;
    const char *name;
    guint n_max;
} server_charges[] = {
    {CHARGE_WATCH, "watch", N_WATCHES},
    {CHARGE_DEMAND, "demand", N_DEMANDS},
};

typedef struct {
    guint32 seed;
    guint world;
    guint step;
    const char *operation;
    GRand *rand;
    UserAgent core;
    Slot slots[N_AGENTS];
    guint n_refusals[N_LIMITS];
} World;

static const Limits small_limits = {{
    [LIMIT_NAME_BYTES] = 6,
    [LIMIT_WHY_BYTES] = 4,
    [LIMIT_REQUESTS_PER_CLIENT] = 12,
    [LIMIT_REQUESTS_PER_APP] = 14,
    [LIMIT_REQUESTS_PER_UID] = 32,
    [LIMIT_REQUESTS_TOTAL] = 90,
    [LIMIT_TEXT_BYTES_PER_APP] = 100,
    [LIMIT_TEXT_BYTES_PER_UID] = 200,
    [LIMIT_TEXT_BYTES_TOTAL] = 560,
    [LIMIT_CLIENTS_PER_APP] = 2,
    [LIMIT_CLIENTS_PER_UID] = 7,
    [LIMIT_CLIENTS_TOTAL] = 20,
    [LIMIT_WATCHES_PER_CLIENT] = N_WATCHES,
    [LIMIT_WATCHES_PER_APP] = 7,
    [LIMIT_WATCHES_PER_UID] = 14,
    [LIMIT_WATCHES_TOTAL] = 40,
}};

static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "", "-x", "toolong"};
static const char *const buckets[] = {"default", "other"};

static G_GNUC_PRINTF(2, 3) void fail(const World *world, const char *format, ...)
{
    g_autofree char *what = NULL;
    va_list args;

    va_start(args, format);
    what = g_strdup_vprintf(format, args);
    va_end(args);
    g_error("WEBLOCKS_TEST_SEED=%u world %u step %u, %s: %s", world->seed, world->world,
            world->step, world->operation, what);
}

static guint
pick(const World *world, guint n)
{
    return (guint)g_rand_int_range(world->rand, 0, (gint32)n);
}

static gboolean
percent(const World *world, guint n)
{
    return pick(world, 100) < n;
}

/* ---- the rules of limits, by counting objects */

static guint
count_of(const Slot *slot, ChargeKind kind)
{
    guint n = 0;

    switch (kind) {
    case CHARGE_CLIENT:
        return 1;
    case CHARGE_REQUEST:
        return slot->agent->requests.length;
    case CHARGE_TEXT_BYTE:
        for (const GList *link = slot->agent->requests.head; link != NULL; link = link->next)
            n += lock_request_get_text_bytes(link->data);
        return n;
    case CHARGE_WATCH:
    case CHARGE_DEMAND:
        return slot->n[kind];
    case N_CHARGES:
    default:
        g_assert_not_reached();
    }
}

typedef struct {
    guint of_principal[N_PRINCIPALS];
    guint of_uid[N_PRINCIPALS / N_APPS];
    guint total;
} Sums;

static Sums
count_all(const World *world, ChargeKind kind)
{
    Sums sums = {0};

    for (guint i = 0; i < N_AGENTS; i++) {
        guint n = world->slots[i].agent != NULL ? count_of(&world->slots[i], kind) : 0;
        guint principal = i % N_PRINCIPALS;

        sums.of_principal[principal] += n;
        sums.of_uid[principal / N_APPS] += n;
        sums.total += n;
    }
    return sums;
}

static gboolean
is_unfair(guint own, guint all, guint n, guint max, guint n_sharers)
{
    return max - all - n < max / 4 && own + n > max / (n_sharers + 1);
}

/* The limit that refuses `n` more; N_LIMITS if none does. */
static LimitId
find_limit(const World *world, guint principal, ChargeKind kind, guint n)
{
    const Sums sums = count_all(world, kind);
    guint uid = principal / N_APPS;
    LimitId of_app = limits_get_id(kind, SCOPE_APP);
    LimitId of_uid = limits_get_id(kind, SCOPE_UID);
    LimitId of_all = limits_get_id(kind, SCOPE_TOTAL);
    const guint32 *max = small_limits.max;
    guint n_apps = 0, n_uids = 0;

    for (guint i = 1; i < N_APPS; i++)
        n_apps += sums.of_principal[uid * N_APPS + i] > 0;
    for (guint i = 0; i < G_N_ELEMENTS(sums.of_uid); i++)
        n_uids += sums.of_uid[i] > 0;

    if (principal % N_APPS != 0 && sums.of_principal[principal] + n > max[of_app])
        return of_app;
    if (sums.of_uid[uid] + n > max[of_uid] ||
        (principal % N_APPS != 0 &&
         is_unfair(sums.of_principal[principal], sums.of_uid[uid], n, max[of_uid], n_apps)))
        return of_uid;
    if (sums.total + n > max[of_all] ||
        is_unfair(sums.of_uid[uid], sums.total, n, max[of_all], n_uids))
        return of_all;
    return N_LIMITS;
}

static void
check_answer(World *world, LimitId expected, gboolean is_admitted, LimitId limit)
{
    if (expected != N_LIMITS)
        world->n_refusals[expected]++;
    if (is_admitted != (expected == N_LIMITS) || (!is_admitted && limit != expected))
        fail(world, "expected %s, got %s",
             expected == N_LIMITS ? "room" : limit_id_get_name(expected),
             is_admitted ? "room" : limit_id_get_name(limit));
}

static void
check_result(World *world, LimitId expected, LockResult result)
{
    gboolean is_admitted = result < LOCK_RESULT_LIMIT;

    check_answer(world, expected, is_admitted,
                 is_admitted ? N_LIMITS : (LimitId)(result - LOCK_RESULT_LIMIT));
}

static void
check_audit(const World *world)
{
    g_autofree char *wrong = NULL;
    Audit audit;

    audit_init(&audit, &world->core);
    for (guint i = 0; i < N_AGENTS; i++)
        if (world->slots[i].agent != NULL) {
            LimitsAccount *account = &world->slots[i].agent->principal->account;

            for (guint j = 0; j < G_N_ELEMENTS(server_charges); j++)
                audit_count(&audit, account, server_charges[j].kind,
                            world->slots[i].n[server_charges[j].kind]);
        }
    wrong = audit_compare(&audit, &world->core);
    audit_fini(&audit);
    if (wrong != NULL)
        fail(world, "%s", wrong);
}

/* ---- operations */

static Principal *
get_principal(World *world, guint number)
{
    static const char *const apps[N_APPS] = {"", "org.example.One", "org.example.Two"};
    const guint app = number % N_APPS;
    const PrincipalIdentity identity = {
        .uid = 1000 + number / N_APPS,
        .kind = app == 0 ? PRINCIPAL_UNSANDBOXED : PRINCIPAL_FLATPAK,
        .app_id = apps[app],
    };

    return principal_get(&world->core, &identity);
}

static void
do_new_agent(World *world, guint number)
{
    Slot *slot = &world->slots[number];
    guint of = number % N_PRINCIPALS;
    Principal *principal = get_principal(world, of);
    LimitId expected;

    effects_clear(&world->core.effects); /* terminated agents count while effects refer to them */
    expected = find_limit(world, of, CHARGE_CLIENT, 1);
    if (percent(world, 3)) { /* not subject to the limits */
        world->operation = "restore an agent";
        slot->agent = agent_restore(principal, "", 0);
    } else {
        world->operation = "new agent";
        check_result(world, expected, agent_new(principal, "", &slot->agent));
    }
    principal_unref(principal);
}

static void
do_terminate(World *world, Slot *slot)
{
    Agent *agent = g_steal_pointer(&slot->agent);
    LimitsAccount *account = &agent->principal->account;

    world->operation = "terminate";
    for (guint i = 0; i < G_N_ELEMENTS(server_charges); i++) {
        limits_discharge(account, server_charges[i].kind, slot->n[server_charges[i].kind]);
        slot->n[server_charges[i].kind] = 0;
    }
    user_agent_terminate(&world->core, agent);
    agent_unref(agent);
}

static LimitId
find_limit_of_request(const World *world,
                      guint number,
                      const char *bucket,
                      const char *name,
                      const LockOptions *options)
{
    const guint32 *max = small_limits.max;
    guint n_bytes = (guint)(strlen(bucket) + strlen(name) + strlen(options->why));
    LimitId limit;

    if (strlen(name) > max[LIMIT_NAME_BYTES])
        return LIMIT_NAME_BYTES;
    if (strlen(options->why) > max[LIMIT_WHY_BYTES])
        return LIMIT_WHY_BYTES;
    if (world->slots[number].agent->requests.length >= max[LIMIT_REQUESTS_PER_CLIENT])
        return LIMIT_REQUESTS_PER_CLIENT;
    limit = find_limit(world, number % N_PRINCIPALS, CHARGE_REQUEST, 1);
    if (limit != N_LIMITS)
        return limit;
    return find_limit(world, number % N_PRINCIPALS, CHARGE_TEXT_BYTE, n_bytes);
}

static void
do_request(World *world, guint number)
{
    Agent *agent = world->slots[number].agent;
    LockManager *manager = lock_manager_get(agent->principal, buckets[pick(world, 2)]);
    const char *name = names[pick(world, G_N_ELEMENTS(names))];
    const LockOptions options = {
        .mode = percent(world, 50) ? LOCK_MODE_SHARED : LOCK_MODE_EXCLUSIVE,
        .if_available = percent(world, 15),
        .steal = percent(world, 10),
        .signal = percent(world, 10),
        .timeout_ms = percent(world, 20) ? pick(world, 50) : 0,
        .key = percent(world, 20) ? pick(world, 20) : 0,
        .why = percent(world, 5) ? "so long" : "",
    };
    gboolean is_new = agent_find_key(agent, options.key) == NULL;
    LimitId expected = find_limit_of_request(world, number, manager->bucket, name, &options);
    LockRequest *request;
    LockResult result;

    world->operation = "request";
    result = lock_manager_request(manager, agent, name, &options, &request);
    lock_manager_unref(manager);
    if (is_new && (result <= LOCK_RESULT_UNAVAILABLE || result >= LOCK_RESULT_LIMIT))
        check_result(world, expected, result);
}

/* As state/ does it, not subject to the limits. */
static void
do_restore_request(World *world, Agent *agent)
{
    LockManager *manager = lock_manager_get(agent->principal, buckets[pick(world, 2)]);
    const LockRequest parts = {
        .state = LOCK_REQUEST_PENDING,
        .id = ++agent->last_id,
        .sequence = manager->last_sequence + 1,
    };

    world->operation = "restore a request";
    if (lock_manager_restore(manager, agent, names[pick(world, 8)], &parts) == NULL)
        fail(world, "the request was refused");
    lock_manager_unref(manager);
    user_agent_process_all(&world->core);
}

static void
do_end_one(World *world, Agent *agent)
{
    LockRequest *request = g_queue_peek_nth(&agent->requests, pick(world, agent->requests.length));
    LockManager *manager = lock_manager_ref(request->queue->manager);

    if (request->state == LOCK_REQUEST_PENDING) {
        world->operation = "abort";
        lock_manager_abort(manager, agent, request->id);
    } else {
        world->operation = "release";
        lock_manager_release(manager, agent, request->id);
    }
    lock_manager_unref(manager);
}

/* A charge or discharge as the server makes them. */
static void
do_server_charge(World *world, guint number)
{
    Slot *slot = &world->slots[number];
    guint which = pick(world, G_N_ELEMENTS(server_charges));
    ChargeKind kind = server_charges[which].kind;
    guint *n = &slot->n[kind];
    LimitsAccount *account = &slot->agent->principal->account;
    LimitId expected, limit = N_LIMITS;
    gboolean is_admitted;

    world->operation = server_charges[which].name;
    if (*n >= server_charges[which].n_max || (*n > 0 && percent(world, 20))) {
        limits_discharge(account, kind, 1);
        --*n;
        return;
    }
    expected = find_limit(world, number % N_PRINCIPALS, kind, 1);
    is_admitted = limits_admit(&world->core.limits, account, kind, 1, &limit);
    check_answer(world, expected, is_admitted, limit);
    if (is_admitted) {
        limits_charge(account, kind, 1);
        ++*n;
    }
}

static void
do_time(World *world)
{
    world->operation = "expire";
    user_agent_set_time(&world->core, world->core.now_us + pick(world, 20000), FIXTURE_REALTIME_US);
    user_agent_expire(&world->core);
}

static void
do_step(World *world)
{
    /* Phases with many requests alternate with phases with few. */
    guint greed = world->step / 1000 % 2 == 0 ? 65 : 35;
    guint number = pick(world, N_AGENTS);
    Slot *slot = &world->slots[number];

    if (slot->agent == NULL)
        do_new_agent(world, number);
    else if (percent(world, 2))
        do_terminate(world, slot);
    else if (percent(world, 10))
        do_server_charge(world, number);
    else if (percent(world, 1))
        do_restore_request(world, slot->agent);
    else if (percent(world, 2))
        do_time(world);
    else if (percent(world, greed) || slot->agent->requests.length == 0)
        do_request(world, number);
    else
        do_end_one(world, slot->agent);
    if (percent(world, 20))
        effects_clear(&world->core.effects);
    if (world->step % AUDIT_EVERY == 0)
        check_audit(world);
}

/* ---- worlds */

static void
end_world(World *world)
{
    /* Either the service shuts down, or all agents terminate. */
    if (world->world % 2 == 0) {
        user_agent_shut_down(&world->core);
        for (guint i = 0; i < N_AGENTS; i++)
            if (world->slots[i].agent != NULL)
                user_agent_lose(&world->core, world->slots[i].agent);
        world->operation = "lose";
        check_audit(world);
    }
    for (guint i = 0; i < N_AGENTS; i++)
        if (world->slots[i].agent != NULL)
            do_terminate(world, &world->slots[i]);
    effects_clear(&world->core.effects);
    for (guint i = 0; i < N_CHARGES; i++)
        g_assert_cmpuint(world->core.total.n[i], ==, 0);
}

/* Adds to `n_refusals` how often each limit refused something. */
static void
run_world(guint32 seed, guint number, guint n_refusals[N_LIMITS])
{
    World *world = g_new0(World, 1);

    world->seed = seed;
    world->world = number;
    world->rand = g_rand_new_with_seed(seed + number);
    user_agent_init(&world->core, &small_limits);
    user_agent_set_time(&world->core, FIXTURE_MONOTONIC_US, FIXTURE_REALTIME_US);
    user_agent_expire(&world->core);
    for (world->step = 0; world->step < N_STEPS; world->step++)
        do_step(world);
    end_world(world);
    user_agent_fini(&world->core);
    for (guint i = 0; i < N_LIMITS; i++)
        n_refusals[i] += world->n_refusals[i];
    g_rand_free(world->rand);
    g_free(world);
}

static void
test_random_operations(void)
{
    guint n_refusals[N_LIMITS] = {0};
    guint32 seed = fixture_get_seed();

    /* The worlds differ in which limits are reached. */
    for (guint i = 0; i < MAX(fixture_get_size(N_WORLDS), 4); i++)
        run_world(seed, i, n_refusals);
    for (guint i = 0; i < N_LIMITS; i++)
        g_test_message("%s: refused %u times", limit_id_get_name(i), n_refusals[i]);
    for (guint kind = 0; kind < N_CHARGES; kind++)
        for (guint scope = 0; scope < N_SCOPES; scope++)
            g_assert_cmpuint(n_refusals[limits_get_id((ChargeKind)kind, (LimitsScope)scope)], >, 0);
}

/* audit_compare() detects a wrong count of each kind in each account. */
static void
test_detects_wrong_counts(CoreFixture *f, gconstpointer data)
{
    LimitsAccount *app = &fixture_agent(f, 'E')->principal->account;
    LimitsAccount *const accounts[] = {app, app->parent, &f->user_agent.total};

    fixture_request(f, 'A', "n", "");
    fixture_request(f, 'E', "n", "");
    for (guint i = 0; i < G_N_ELEMENTS(accounts); i++)
        for (guint kind = 0; kind < N_CHARGES; kind++)
            for (guint sharers = 0; sharers < (i > 0 ? 2 : 1); sharers++) {
                guint32 *n = sharers ? accounts[i]->n_sharers : accounts[i]->n;
                g_autofree char *wrong = NULL;
                Audit audit;

                audit_init(&audit, &f->user_agent);
                g_assert_null(audit_compare(&audit, &f->user_agent));
                n[kind]++;
                wrong = audit_compare(&audit, &f->user_agent);
                g_assert_nonnull(wrong);
                n[kind]--;
                audit_fini(&audit);
            }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    FIXTURE_TEST("/audit/detects-wrong-counts", test_detects_wrong_counts);
    g_test_add_func("/audit/random-operations", test_random_operations);
    return g_test_run();
}
