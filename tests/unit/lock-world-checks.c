/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "service/core/lock-manager.h"
#include "service/core/lock-queue.h"
#include "service/core/user-agent.h"
#include "tests/lib/audit.h"
#include "tests/unit/lock-world-private.h"

const PrincipalIdentity lock_world_identities[N_PRINCIPALS] = {
    {1000, PRINCIPAL_UNSANDBOXED, ""},
    {1000, PRINCIPAL_FLATPAK, "org.example.App"},
    {2000, PRINCIPAL_UNSANDBOXED, ""},
    {7, PRINCIPAL_GROUP, ""},
    {PRINCIPAL_NO_UID, PRINCIPAL_CLUSTER, "cluster:other"},
};

const char *const lock_world_buckets[N_BUCKETS] = {"private-0123456789abcdef0123456789abcdef",
                                                   "group:7", "documents", "cluster:other"};

/* Few names, so that requests conflict; the last two are refused. */
const char *const lock_world_names[N_NAMES] = {"n", "", "m", "x-y", "-n", "longer-than-8-bytes"};

/* ---- failure messages */

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
                               "  principal %u bucket %u name '%s' what %u agent %u %s%u id "
                               "%" G_GUINT64_FORMAT "\n",
                               line->principal, line->bucket, lock_world_names[line->name],
                               line->what, line->agent, mode_letter(line->mode), line->slots,
                               line->id);
    }
}

static void
fail(const World *world, const char *what)
{
    g_autoptr(GString) text = g_string_new(NULL);

    append_lines(text, "expected", world->expected);
    append_lines(text, "actual", world->actual);
    g_printerr("%s, step %u: %s: %s differ\n%s", world->seed, world->step, world->operation, what,
               text->str);
    g_error("%s, step %u: %s differ", world->seed, world->step, what);
}

void
lock_world_check(const World *world, gboolean is_true, const char *what)
{
    if (!is_true)
        fail(world, what);
}

/* ---- core and model in the same representation */

static guint
find_word(const char *const *words, guint n_words, const char *word)
{
    for (guint i = 0; i < n_words; i++)
        if (g_str_equal(words[i], word))
            return i;
    g_assert_not_reached();
}

guint
lock_world_find_principal(const PrincipalIdentity *identity)
{
    guint i = 0;

    while (!principal_identity_equal(&lock_world_identities[i], identity))
        i++;
    return i;
}

guint
lock_world_find_name(const char *name)
{
    return find_word(lock_world_names, N_NAMES, name);
}

static void
add_actual(World *world, const LockRequest *request, guint what)
{
    const LockManager *manager = request->queue->manager;
    Line line = {
        .principal = lock_world_find_principal(&manager->principal->identity),
        .bucket = find_word(lock_world_buckets, N_BUCKETS, manager->bucket),
        .name = lock_world_find_name(request->queue->name),
        .what = what,
        .agent = GPOINTER_TO_UINT(request->agent->server_data),
        .mode = request->mode,
        .slots = request->slots,
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
        .slots = request->slots,
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

/* Stable, so the order within each name is preserved (the lists are short). */
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
    lock_world_check(world, world->expected->len == world->actual->len, what);
    for (guint i = 0; i < world->expected->len; i++) {
        const Line *x = &g_array_index(world->expected, Line, i);
        const Line *y = &g_array_index(world->actual, Line, i);

        lock_world_check(world,
                         compare_line(x, y) == 0 && x->what == y->what && x->mode == y->mode &&
                             x->slots == y->slots,
                         what);
    }
}

/* ---- effects */

static void
check_token(World *world, const LockRequest *request)
{
    const LockManager *manager = request->queue->manager;
    guint principal = lock_world_find_principal(&manager->principal->identity);
    guint bucket = find_word(lock_world_buckets, N_BUCKETS, manager->bucket);

    guint64 *last = &world->last_token[principal][bucket];

    if (bucket == CLUSTER_BUCKET)
        last = &world->last_of_cluster[principal][lock_world_find_name(request->queue->name)];
    lock_world_check(world, request->token > *last, "tokens");
    *last = request->token;
}

/* In an operation that ends several requests, all ends come before the first grant. */
static void
check_grants_last(const World *world)
{
    gboolean granted = FALSE;

    for (guint i = 0; i < world->actual->len; i++) {
        gboolean is_grant = g_array_index(world->actual, Line, i).what == EFFECT_GRANTED;

        lock_world_check(world, is_grant || !granted, "phases");
        granted = is_grant;
    }
}

/* What closing a cell results in: nobody is notified of either. */
static gboolean
is_of_cell(World *world, const Effect *effect)
{
    for (guint slot = 0; slot < N_AGENTS; slot++)
        for (guint i = 0; i < N_CELLS; i++) {
            WorldCell *cell = &world->cells[slot][i];

            if (cell->entered == effect->request && effect->kind == EFFECT_CELL_CLOSED) {
                lock_world_check(world, effect->request->token == cell->memory.word >> 2,
                                 "tokens of closed cells");
                cell->entered = NULL;
            }
            if (cell->parked != effect->request)
                continue;
            lock_world_check(world, effect->kind == EFFECT_RELEASED, "ends of parked locks");
            cell->parked = NULL;
            return TRUE;
        }
    return effect->kind == EFFECT_CELL_CLOSED;
}

void
lock_world_check_effects(World *world, EffectsOrder order)
{
    clear_lines(world);
    for (guint i = 0; i < world->model.events->len; i++) {
        const ModelEvent *event = &g_array_index(world->model.events, ModelEvent, i);

        add_expected(world, &event->request, event->kind);
    }
    g_array_set_size(world->model.events, 0);
    for (guint i = world->n_effects_seen; i < effects_get_length(&world->core->effects); i++) {
        const Effect *effect = effects_get(&world->core->effects, i);

        if (is_of_cell(world, effect))
            continue;
        add_actual(world, effect->request, effect->kind);
        if (effect->kind == EFFECT_GRANTED)
            check_token(world, effect->request);
    }
    world->n_effects_seen = effects_get_length(&world->core->effects);

    if (order == ORDER_ENDS_FIRST) {
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
    if (lock_world_is_parked(data, request))
        return;
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
    const Principal *found =
        g_hash_table_lookup(world->core->principals, &lock_world_identities[principal]);
    const LockManager *manager =
        found != NULL ? lock_manager_find(found, lock_world_buckets[bucket]) : NULL;

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

/* ---- the core's own lists and accounts */

static guint
check_list(const World *world, const GQueue *list, LockRequestState state)
{
    const LockRequest *before = NULL;
    guint length = 0;

    for (const GList *link = list->head; link != NULL; link = link->next, length++) {
        const LockRequest *request = link->data;

        lock_world_check(world, request->state == state, "states");
        lock_world_check(world, (request->token != 0) == (state == LOCK_REQUEST_HELD),
                         "tokens of states");
        lock_world_check(world, state == LOCK_REQUEST_PENDING || request->deadline_ms == 0,
                         "deadlines");
        lock_world_check(world,
                         before == NULL || state == LOCK_REQUEST_HELD ||
                             before->sequence < request->sequence,
                         "queue order");
        lock_world_check(
            world,
            before == NULL || state == LOCK_REQUEST_PENDING ||
                (before->mode == request->mode && before->slots == request->slots &&
                 (request->mode == LOCK_MODE_SHARED || list->length <= request->slots)),
            "modes and slots that are held together");
        before = request;
    }
    lock_world_check(world, length == list->length, "list lengths");
    return length;
}

static gboolean
has_request(const Agent *agent, const LockManager *manager)
{
    for (const GList *link = agent->requests.head; link != NULL; link = link->next)
        if (((const LockRequest *)link->data)->queue->manager == manager)
            return TRUE;
    return FALSE;
}

/* Agents with a request in a private session are shown its name, and the others its public name. */
static void
check_shown_names(const World *world, const LockManager *manager)
{
    const Principal *principal = manager->principal;

    if (manager->session == NULL)
        return;
    for (guint i = 0; i < N_AGENTS; i++) {
        const Agent *agent = world->agents[i];

        if (agent != NULL)
            lock_world_check(
                world,
                lock_manager_get_name_for(manager, agent) ==
                    (has_request(agent, manager) ? manager->bucket : manager->session->public_name),
                "shown names");
    }
    lock_world_check(world,
                     lock_manager_find_session(principal, manager->session->public_name) == manager,
                     "sessions");
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
        if (queue->permit != NULL)
            n += check_list(world, &queue->permit->steals, LOCK_REQUEST_PENDING);
        lock_world_check(world,
                         queue->pending.head == NULL ||
                             !lock_request_is_grantable(queue->pending.head->data),
                         "grantable heads");
        lock_world_check(world, !queue->touched, "touched marks");
        if (world->n_effects_seen == 0 && queue->permit == NULL)
            lock_world_check(world, queue->held.length + queue->pending.length > 0, "empty queues");
    }
    lock_world_check(world, n_held == manager->n_held, "manager's count of held");
    lock_world_check(world, n_held + n == manager->requests.length, "manager's lists");
}

static void
check_agents(const World *world)
{
    g_autofree char *wrong = NULL;
    Audit audit;

    for (guint i = 0; i < N_AGENTS; i++) {
        const Agent *agent = world->agents[i];
        guint n_keys = 0;

        if (agent == NULL)
            continue;
        for (const GList *link = agent->requests.head; link != NULL; link = link->next)
            n_keys += ((const LockRequest *)link->data)->key != 0;
        lock_world_check(world, g_hash_table_size(agent->by_id) == agent->requests.length, "ids");
        lock_world_check(world,
                         (agent->by_key != NULL ? g_hash_table_size(agent->by_key) : 0) == n_keys,
                         "keys");
    }
    audit_init(&audit, world->core);
    wrong = audit_compare(&audit, world->core);
    audit_fini(&audit);
    lock_world_check(world, wrong == NULL, wrong);
}

static void
check_bookkeeping(const World *world)
{
    gint64 next = user_agent_get_next_deadline_ms(world->core);
    gint64 earliest = -1;
    GHashTableIter principals;
    gpointer principal;

    g_hash_table_iter_init(&principals, world->core->principals);
    while (g_hash_table_iter_next(&principals, NULL, &principal)) {
        GHashTableIter managers;
        gpointer manager;

        g_hash_table_iter_init(&managers, ((const Principal *)principal)->managers);
        while (g_hash_table_iter_next(&managers, NULL, &manager)) {
            check_manager(world, manager);
            check_shown_names(world, manager);
        }
    }
    check_agents(world);

    for (guint i = 0; i < world->model.pending->len; i++) {
        gint64 deadline = g_array_index(world->model.pending, ModelRequest, i).deadline_us;

        if (deadline != -1 && (earliest == -1 || deadline < earliest))
            earliest = deadline;
    }
    lock_world_check(world, next == (earliest == -1 ? -1 : (earliest + 999) / 1000),
                     "next deadline");
}

void
lock_world_check_state(World *world)
{
    for (guint principal = 0; principal < N_PRINCIPALS; principal++)
        for (guint bucket = 0; bucket < N_BUCKETS; bucket++)
            check_state_of(world, principal, bucket);
    check_bookkeeping(world);
    if (world->kind != LOCK_WORLD_LOCAL)
        lock_world_check_permits(world);
}
