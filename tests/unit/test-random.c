/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Random operations on the core and on the model of lock-model.h, compared after each one: what was
 * answered, what happened in which order, what is held and what waits; and the core's own books.
 *
 * A failure tells the seed and the step: WEBLOCKS_TEST_SEED=seed runs it again. */

#include "tests/unit/core-fixture.h"
#include "tests/unit/lock-model.h"

#define N_WORLDS     25
#define N_STEPS      10000 /* in each world */
#define N_AGENTS     8
#define N_PRINCIPALS 3
#define N_BUCKETS    2
#define N_NAMES      6

static const PrincipalIdentity identities[N_PRINCIPALS] = {
    {1000, PRINCIPAL_UNSANDBOXED, ""},
    {1000, PRINCIPAL_FLATPAK, "org.example.App"},
    {2000, PRINCIPAL_UNSANDBOXED, ""},
};

static const guint principal_of_slot[N_AGENTS] = {0, 0, 0, 0, 1, 1, 2, 2};
static const char *const buckets[N_BUCKETS] = {"default", "other"};

/* Few names, so that they meet; the last two are refused. */
static const char *const names[N_NAMES] = {"n", "", "m", "x-y", "-n", "longer-than-8-bytes"};

static const Limits small_limits = {{
    [LIMIT_NAME_BYTES] = 8,
    [LIMIT_WHY_BYTES] = 8,
    [LIMIT_REQUESTS_PER_CLIENT] = 12,
    [LIMIT_REQUESTS_PER_UID] = 40,
    [LIMIT_REQUESTS_TOTAL] = 46,
    [LIMIT_CLIENTS_PER_UID] = G_MAXINT32,
    [LIMIT_CALLS_BEFORE_IDENTIFIED] = 1,
}};

/* A line of either side, in the same terms. */
typedef struct {
    guint principal;
    guint bucket;
    guint name;
    guint what; /* EffectKind, or LockRequestState */
    guint agent;
    guint mode;
    guint64 id;
} Line;

typedef struct {
    guint32 seed;
    guint world;
    guint step;
    char operation[200];
    GRand *rand;
    UserAgent core;
    LockModel model;
    Agent *agents[N_AGENTS];     /* NULL: gone */
    guint model_agent[N_AGENTS]; /* the model's number of it */
    guint n_effects_seen;
    guint64 last_token[N_PRINCIPALS][N_BUCKETS];
    GArray *expected; /* of Line */
    GArray *actual;   /* of Line */
} World;

/* ---- telling */

static const char *
mode_letter(guint mode)
{
    return mode == LOCK_MODE_SHARED ? "S" : "X";
}

static void
append_lines(GString *text, const char *title, const GArray *lines)
{
    g_string_append_printf(text, "%s:\n", title);
    for (guint i = 0; i < lines->len; i++) {
        const Line *line = &g_array_index(lines, Line, i);

        g_string_append_printf(text,
                               "  principal %u bucket %u name '%s' what %u agent %u %s id "
                               "%" G_GUINT64_FORMAT "\n",
                               line->principal, line->bucket, names[line->name], line->what,
                               line->agent, mode_letter(line->mode), line->id);
    }
}

static void
fail(const World *world, const char *what)
{
    g_autoptr(GString) text = g_string_new(NULL);

    append_lines(text, "expected", world->expected);
    append_lines(text, "actual", world->actual);
    g_printerr("WEBLOCKS_TEST_SEED=%u, world %u, step %u: %s: %s differ\n%s", world->seed,
               world->world, world->step, world->operation, what, text->str);
    g_error("seed %u, world %u, step %u: %s differ", world->seed, world->world, world->step, what);
}

static void
check(const World *world, gboolean is_true, const char *what)
{
    if (!is_true)
        fail(world, what);
}

/* ---- both sides in the same terms */

static guint
find_word(const char *const *words, guint n_words, const char *word)
{
    for (guint i = 0; i < n_words; i++)
        if (g_str_equal(words[i], word))
            return i;
    g_assert_not_reached();
}

static guint
find_principal(const PrincipalIdentity *identity)
{
    guint i = 0;

    while (!principal_identity_equal(&identities[i], identity))
        i++;
    return i;
}

static void
add_actual(World *world, const LockRequest *request, guint what)
{
    const LockManager *manager = request->queue->manager;
    Line line = {
        .principal = find_principal(&manager->principal->identity),
        .bucket = find_word(buckets, N_BUCKETS, manager->bucket),
        .name = find_word(names, N_NAMES, request->queue->name),
        .what = what,
        .agent = GPOINTER_TO_UINT(request->agent->edge_data),
        .mode = request->mode,
        .id = request->id,
    };

    g_array_append_val(world->actual, line);
}

static void
add_expected(World *world, const ModelRequest *request, guint what)
{
    Line line = {
        .principal = request->manager.principal,
        .bucket = request->manager.bucket,
        .name = request->name,
        .what = what,
        .agent = request->agent,
        .mode = request->mode,
        .id = request->id,
    };

    g_array_append_val(world->expected, line);
}

static void
clear_lines(World *world)
{
    g_array_set_size(world->expected, 0);
    g_array_set_size(world->actual, 0);
}

static int
compare_place(const Line *x, const Line *y)
{
    if (x->principal != y->principal)
        return x->principal < y->principal ? -1 : 1;
    if (x->bucket != y->bucket)
        return x->bucket < y->bucket ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

static int
compare_line(gconstpointer a, gconstpointer b)
{
    const Line *x = a;
    const Line *y = b;
    int by_place = compare_place(x, y);

    if (by_place != 0)
        return by_place;
    if (x->agent != y->agent)
        return x->agent < y->agent ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Stable, so each name keeps its order (the lists are short). */
static void
sort_by_place(GArray *lines)
{
    for (guint i = 1; i < lines->len; i++) {
        Line line = g_array_index(lines, Line, i);
        guint k = i;

        for (; k > 0 && compare_place(&g_array_index(lines, Line, k - 1), &line) > 0; k--)
            g_array_index(lines, Line, k) = g_array_index(lines, Line, k - 1);
        g_array_index(lines, Line, k) = line;
    }
}

static void
check_same_lines(const World *world, const char *what)
{
    check(world, world->expected->len == world->actual->len, what);
    for (guint i = 0; i < world->expected->len; i++) {
        const Line *x = &g_array_index(world->expected, Line, i);
        const Line *y = &g_array_index(world->actual, Line, i);

        check(world, compare_line(x, y) == 0 && x->what == y->what && x->mode == y->mode, what);
    }
}

/* ---- effects */

static void
check_token(World *world, const LockRequest *request)
{
    const LockManager *manager = request->queue->manager;
    guint principal = find_principal(&manager->principal->identity);
    guint bucket = find_word(buckets, N_BUCKETS, manager->bucket);

    check(world, request->token > world->last_token[principal][bucket], "tokens");
    world->last_token[principal][bucket] = request->token;
}

/* All ends of an operation that ends many come before its first grant. */
static void
check_grants_last(const World *world)
{
    gboolean granted = FALSE;

    for (guint i = 0; i < world->actual->len; i++) {
        gboolean is_grant = g_array_index(world->actual, Line, i).what == EFFECT_GRANTED;

        check(world, is_grant || !granted, "phases");
        granted = is_grant;
    }
}

static void
check_effects(World *world, gboolean ends_many)
{
    clear_lines(world);
    for (guint i = 0; i < world->model.events->len; i++) {
        const ModelEvent *event = &g_array_index(world->model.events, ModelEvent, i);

        add_expected(world, &event->request, event->kind);
    }
    g_array_set_size(world->model.events, 0);
    for (guint i = world->n_effects_seen; i < effects_get_length(&world->core.effects); i++) {
        const Effect *effect = effects_get(&world->core.effects, i);

        add_actual(world, effect->request, effect->kind);
        if (effect->kind == EFFECT_GRANTED)
            check_token(world, effect->request);
    }
    world->n_effects_seen = effects_get_length(&world->core.effects);

    if (ends_many) {
        check_grants_last(world);
        sort_by_place(world->expected);
        sort_by_place(world->actual);
    }
    check_same_lines(world, "effects");
}

/* ---- state */

static void
visit(const LockRequest *request, gpointer data)
{
    add_actual(data, request, request->state);
}

static void
collect_model(World *world, GArray *list, guint principal, guint bucket, LockRequestState state)
{
    for (guint i = 0; i < list->len; i++) {
        const ModelRequest *request = &g_array_index(list, ModelRequest, i);

        if (request->manager.principal == principal && request->manager.bucket == bucket)
            add_expected(world, request, state);
    }
}

static void
check_state_of(World *world, guint principal, guint bucket)
{
    const Principal *found = g_hash_table_lookup(world->core.principals, &identities[principal]);
    const LockManager *manager = found != NULL ? lock_manager_find(found, buckets[bucket]) : NULL;

    clear_lines(world);
    collect_model(world, world->model.pending, principal, bucket, LOCK_REQUEST_PENDING);
    if (manager != NULL)
        lock_manager_snapshot(manager, LOCK_REQUEST_PENDING, visit, world);
    check_same_lines(world, "pending requests");

    clear_lines(world);
    collect_model(world, world->model.held, principal, bucket, LOCK_REQUEST_HELD);
    if (manager != NULL)
        lock_manager_snapshot(manager, LOCK_REQUEST_HELD, visit, world);
    g_array_sort(world->expected, compare_line);
    g_array_sort(world->actual, compare_line);
    check_same_lines(world, "held locks");
    clear_lines(world);
}

/* ---- the core's own books */

static guint
check_list(const World *world, const GQueue *list, LockRequestState state)
{
    const LockRequest *before = NULL;
    guint length = 0;

    for (const GList *link = list->head; link != NULL; link = link->next, length++) {
        const LockRequest *request = link->data;

        check(world, request->state == state, "states");
        check(world, (request->token != 0) == (state == LOCK_REQUEST_HELD), "tokens of states");
        check(world, state == LOCK_REQUEST_PENDING || request->deadline_ms == 0, "deadlines");
        check(world,
              before == NULL || state == LOCK_REQUEST_HELD || before->sequence < request->sequence,
              "queue order");
        check(world,
              before == NULL || state == LOCK_REQUEST_PENDING ||
                  (before->mode == LOCK_MODE_SHARED && request->mode == LOCK_MODE_SHARED),
              "modes that are held together");
        before = request;
    }
    check(world, length == list->length, "list lengths");
    return length;
}

static void
check_manager(const World *world, const LockManager *manager)
{
    GHashTableIter iter;
    gpointer value;
    guint n_held = 0;
    guint n = 0;

    g_hash_table_iter_init(&iter, manager->queues);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const LockQueue *queue = lock_queue_from_name(value);

        n_held += check_list(world, &queue->held, LOCK_REQUEST_HELD);
        n += check_list(world, &queue->pending, LOCK_REQUEST_PENDING);
        check(world,
              queue->pending.head == NULL || !lock_request_is_grantable(queue->pending.head->data),
              "grantable heads");
        check(world, !queue->touched, "touched marks");
        if (world->n_effects_seen == 0)
            check(world, queue->held.length + queue->pending.length > 0, "empty queues");
    }
    check(world, n_held == manager->n_held, "manager's count of held");
    check(world, n_held + n == manager->requests.length, "manager's lists");
}

static void
check_agents(const World *world)
{
    guint of_uid[2] = {0, 0};
    guint total = 0;

    for (guint i = 0; i < N_AGENTS; i++) {
        const Agent *agent = world->agents[i];
        guint n_keys = 0;

        if (agent == NULL)
            continue;
        for (const GList *link = agent->requests.head; link != NULL; link = link->next)
            n_keys += ((const LockRequest *)link->data)->key != 0;
        check(world, g_hash_table_size(agent->by_id) == agent->requests.length, "ids");
        check(world, (agent->by_key != NULL ? g_hash_table_size(agent->by_key) : 0) == n_keys,
              "keys");
        of_uid[agent->principal->identity.uid == 2000] += agent->requests.length;
        total += agent->requests.length;
    }
    for (guint i = 0; i < N_AGENTS; i++)
        if (world->agents[i] != NULL)
            check(world,
                  world->agents[i]->principal->account->n_requests ==
                      of_uid[world->agents[i]->principal->identity.uid == 2000],
                  "accounts");
    check(world, world->core.n_requests == total, "total");
}

static void
check_books(const World *world)
{
    gint64 next = user_agent_get_next_deadline_ms(&world->core);
    gint64 earliest = -1;
    GHashTableIter principals;
    gpointer principal;

    g_hash_table_iter_init(&principals, world->core.principals);
    while (g_hash_table_iter_next(&principals, NULL, &principal)) {
        GHashTableIter managers;
        gpointer manager;

        g_hash_table_iter_init(&managers, ((const Principal *)principal)->managers);
        while (g_hash_table_iter_next(&managers, NULL, &manager))
            check_manager(world, manager);
    }
    check_agents(world);

    for (guint i = 0; i < world->model.pending->len; i++) {
        gint64 deadline = g_array_index(world->model.pending, ModelRequest, i).deadline_us;

        if (deadline != -1 && (earliest == -1 || deadline < earliest))
            earliest = deadline;
    }
    check(world, (next == -1) == (earliest == -1) && next <= (earliest + 999) / 1000,
          "next deadline");
}

/* ---- operations */

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

static void describe(World *world, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void
describe(World *world, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    g_vsnprintf(world->operation, sizeof world->operation, format, arguments);
    va_end(arguments);
}

static void
do_request(World *world, guint slot)
{
    guint principal = principal_of_slot[slot];
    ModelManager place = {principal, pick(world, N_BUCKETS)};
    guint name = percent(world, 4) ? 4 + pick(world, 2) : pick(world, 4);
    LockOptions options = {
        .mode = percent(world, 50) ? LOCK_MODE_SHARED : LOCK_MODE_EXCLUSIVE,
        .if_available = percent(world, 12),
        .steal = percent(world, 6),
        .signal = percent(world, 6),
        .timeout_ms = percent(world, 35) ? 1 + pick(world, 60) : 0,
        .key = percent(world, 25) ? 1 + pick(world, 4) : 0,
        .why = "",
    };
    ModelOptions model_options = {
        .mode = options.mode,
        .if_available = options.if_available,
        .steal = options.steal,
        .signal = options.signal,
        .timeout_ms = options.timeout_ms,
        .key = options.key,
        .name_length = (guint)strlen(names[name]),
        .name_is_reserved = names[name][0] == '-',
    };
    LockManager *manager;
    LockRequest *request = NULL;
    LockResult expected, actual;
    gboolean held;
    guint64 id;

    /* Mostly what makes sense together. */
    if (percent(world, 80)) {
        options.signal = model_options.signal = FALSE;
        if (options.steal)
            options.if_available = model_options.if_available = FALSE;
        if (options.steal)
            options.mode = model_options.mode = LOCK_MODE_EXCLUSIVE;
        if (options.if_available)
            options.timeout_ms = model_options.timeout_ms = 0;
    }
    describe(world,
             "agent %u requests '%s' in bucket %u: %s ifAvailable %d steal %d signal %d "
             "timeout %u key %" G_GUINT64_FORMAT,
             world->model_agent[slot], names[name], place.bucket, mode_letter(options.mode),
             options.if_available, options.steal, options.signal, options.timeout_ms, options.key);

    manager = lock_manager_get(world->agents[slot]->principal, buckets[place.bucket]);
    actual = lock_manager_request(manager, world->agents[slot], names[name], &options, &request);
    lock_manager_unref(manager);
    expected = lock_model_request(&world->model, world->model_agent[slot], place, name,
                                  &model_options, world->core.now_us, &id, &held);
    check(world, actual == expected, "results");
    check(world, (request != NULL ? request->id : 0) == id, "ids");
    check(world, (request != NULL && request->state == LOCK_REQUEST_HELD) == held, "held");
    check_effects(world, FALSE);
}

/* Mostly an id of this agent in that list; else any, in any bucket. */
static guint64
pick_id(World *world, guint slot, GArray *list, ModelManager *out_place)
{
    guint from = list->len > 0 ? pick(world, list->len) : 0;

    out_place->principal = principal_of_slot[slot];
    out_place->bucket = pick(world, N_BUCKETS);
    if (percent(world, 90)) {
        for (guint i = 0; i < list->len; i++) {
            const ModelRequest *request =
                &g_array_index(list, ModelRequest, (from + i) % list->len);

            if (request->agent != world->model_agent[slot])
                continue;
            if (percent(world, 95))
                *out_place = request->manager;
            return request->id;
        }
    }
    return pick(world, (guint)world->agents[slot]->last_id + 3);
}

static void
do_release(World *world, guint slot)
{
    ModelManager place;
    guint64 id = pick_id(world, slot, world->model.held, &place);
    LockManager *manager;
    LockResult expected, actual;

    describe(world, "agent %u releases %" G_GUINT64_FORMAT " in bucket %u",
             world->model_agent[slot], id, place.bucket);
    manager = lock_manager_get(world->agents[slot]->principal, buckets[place.bucket]);
    actual = lock_manager_release(manager, world->agents[slot], id);
    lock_manager_unref(manager);
    expected = lock_model_release(&world->model, world->model_agent[slot], place, id);
    check(world, actual == expected, "results");
    check_effects(world, FALSE);
}

static void
do_abort(World *world, guint slot)
{
    ModelManager place;
    guint64 id = pick_id(world, slot, world->model.pending, &place);
    LockManager *manager;
    gboolean expected, actual;

    describe(world, "agent %u aborts %" G_GUINT64_FORMAT " in bucket %u", world->model_agent[slot],
             id, place.bucket);
    manager = lock_manager_get(world->agents[slot]->principal, buckets[place.bucket]);
    actual = lock_manager_abort(manager, world->agents[slot], id);
    lock_manager_unref(manager);
    expected = lock_model_abort(&world->model, world->model_agent[slot], place, id);
    check(world, actual == expected, "results");
    check_effects(world, FALSE);
}

static void
do_time(World *world)
{
    gint64 us = percent(world, 10) ? pick(world, 100000) : pick(world, 4000);

    /* The wall clock does what it likes. */
    user_agent_set_time(&world->core, world->core.now_us + us,
                        FIXTURE_REALTIME_US + g_rand_int_range(world->rand, -100, 100));
    if (percent(world, 25)) {
        describe(world, "%" G_GINT64_FORMAT " us go by", us);
        return;
    }
    describe(world, "%" G_GINT64_FORMAT " us go by, and what is due times out", us);
    user_agent_expire(&world->core);
    lock_model_expire(&world->model, world->core.now_us);
    check_effects(world, TRUE);
}

static void
do_terminate(World *world, guint slot)
{
    Agent *agent = g_steal_pointer(&world->agents[slot]);

    describe(world, "agent %u terminates", world->model_agent[slot]);
    user_agent_terminate(&world->core, agent);
    agent_unref(agent);
    lock_model_terminate(&world->model, world->model_agent[slot]);
    check_effects(world, TRUE);
}

static void
do_new_agent(World *world, guint slot)
{
    const PrincipalIdentity *identity = &identities[principal_of_slot[slot]];
    Principal *principal = principal_get(&world->core, identity);

    world->model_agent[slot] = lock_model_add_agent(&world->model, identity->uid);
    describe(world, "agent %u comes", world->model_agent[slot]);
    check(world, agent_new(principal, "", &world->agents[slot]) == LOCK_RESULT_OK, "agents");
    world->agents[slot]->edge_data = GUINT_TO_POINTER(world->model_agent[slot]);
    principal_unref(principal);
}

static void
do_step(World *world)
{
    guint slot = pick(world, N_AGENTS);
    guint choice = pick(world, 1000);

    if (world->agents[slot] == NULL) {
        do_new_agent(world, slot);
        return;
    }
    if (choice < 470)
        do_request(world, slot);
    else if (choice < 720)
        do_release(world, slot);
    else if (choice < 860)
        do_abort(world, slot);
    else if (choice < 990)
        do_time(world);
    else
        do_terminate(world, slot);

    if (percent(world, 40)) {
        effects_clear(&world->core.effects);
        world->n_effects_seen = 0;
    }
    for (guint principal = 0; principal < N_PRINCIPALS; principal++)
        for (guint bucket = 0; bucket < N_BUCKETS; bucket++)
            check_state_of(world, principal, bucket);
    check_books(world);
}

static void
run_world(guint32 seed, guint number)
{
    World *world = g_new0(World, 1);

    world->seed = seed;
    world->world = number;
    world->rand = g_rand_new_with_seed(seed + number);
    world->expected = g_array_new(FALSE, FALSE, sizeof(Line));
    world->actual = g_array_new(FALSE, FALSE, sizeof(Line));
    user_agent_init(&world->core, &small_limits);
    user_agent_set_time(&world->core, pick(world, 1000000), FIXTURE_REALTIME_US);
    user_agent_expire(&world->core);
    lock_model_init(&world->model, &small_limits);
    for (guint slot = 0; slot < N_AGENTS; slot++)
        do_new_agent(world, slot);

    for (world->step = 0; world->step < N_STEPS; world->step++)
        do_step(world);

    /* All leave; the user agent's own assertions see to it that nothing remains. */
    for (guint slot = 0; slot < N_AGENTS; slot++)
        if (world->agents[slot] != NULL)
            do_terminate(world, slot);
    check(world, world->core.n_requests == 0 && world->model.held->len == 0, "remains");
    user_agent_fini(&world->core);

    lock_model_fini(&world->model);
    g_array_unref(world->expected);
    g_array_unref(world->actual);
    g_rand_free(world->rand);
    g_free(world);
}

static void
test_random(void)
{
    guint32 seed = fixture_get_seed();

    for (guint i = 0; i < N_WORLDS; i++)
        run_world(seed, i);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/random/against-the-model", test_random);
    return g_test_run();
}
