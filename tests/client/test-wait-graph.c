/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which locks are on a cycle: random graphs compared with the definition, and very long cycles; and
 * the processes of a command, which are those of this test. */

#include "client-lib/evidence/process-tree.h"
#include "client-lib/evidence/wait-graph.h"
#include "client-lib/lock-info-private.h"
#include "tests/lib/case.h"

#define CLIENTS 6
#define NAMES   5
#define NEVER   100
/* Runs a command, whose processes have the next ids. */
#define COMMAND_PID 10

/* Those of the random graphs. */
static gboolean
is_counting(guint name)
{
    return name < 2;
}

static void
add_of(GListStore *list, guint pid, guint client, guint name)
{
    const gboolean is_held = g_object_get_data(G_OBJECT(list), "held") != NULL;
    g_autofree char *client_id = g_strdup_printf(":1.%u", client);
    g_autofree char *name_text = g_strdup_printf("n%u", name);
    g_autoptr(WebLocksLockInfo) info = NULL;
    GVariantDict entry;

    g_variant_dict_init(&entry, NULL);
    g_variant_dict_insert(&entry, "name", "s", name_text);
    g_variant_dict_insert(&entry, "clientId", "s", client_id);
    g_variant_dict_insert(&entry, "state", "s", is_held ? "held" : "pending");
    g_variant_dict_insert(&entry, "pid", "u", pid);
    g_variant_dict_insert(&entry, "process", "s", pid == COMMAND_PID ? WAIT_GRAPH_COMMAND : "");
    g_variant_dict_insert(&entry, "slots", "u", is_counting(name) ? 3u : 1u);
    info = web_locks_lock_info_new_from_inspect(g_variant_dict_end(&entry));
    g_list_store_append(list, info);
}

static void
add(GListStore *list, guint client, guint name)
{
    add_of(list, 1, client, name);
}

typedef struct {
    GListStore *held;
    GListStore *pending;
} Lists;

static Lists
lists_new(void)
{
    Lists lists = {g_list_store_new(WEB_LOCKS_TYPE_LOCK_INFO),
                   g_list_store_new(WEB_LOCKS_TYPE_LOCK_INFO)};

    g_object_set_data(G_OBJECT(lists.held), "held", GINT_TO_POINTER(TRUE));
    return lists;
}

static void
lists_free(Lists *lists)
{
    g_object_unref(lists->held);
    g_object_unref(lists->pending);
}

/* `clients` of the result is not set. */
static WaitFinding
find(const WaitGraph *graph, const Lists *lists, guint index)
{
    g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(G_LIST_MODEL(lists->held), index);
    WaitFinding finding = wait_graph_find(graph, info);

    g_assert_true((finding.clients != NULL) == (finding.n_clients > 1));
    g_clear_pointer(&finding.clients, g_free);
    return finding;
}

/* ---- compared with the definition */

typedef struct {
    gboolean holds[CLIENTS][NAMES];
    gboolean wants[CLIENTS][NAMES];
    guint stuck; /* a bit for each client that waits for others which all wait */
    guint steps[CLIENTS]
               [CLIENTS]; /* how far one waits for the other: 1 directly, 2 through another... */
} Model;

static void
model_fill(Model *model, Lists *lists)
{
    for (guint client = 0; client < CLIENTS; client++) {
        for (guint name = 0; name < NAMES; name++) {
            model->holds[client][name] = g_test_rand_int_range(0, 6) == 0;
            model->wants[client][name] = g_test_rand_int_range(0, 6) == 0;
            if (model->holds[client][name])
                add(lists->held, client, name);
            if (model->wants[client][name])
                add(lists->pending, client, name);
        }
    }
}

static guint
model_holders(const Model *model, guint name)
{
    guint holders = 0;

    for (guint client = 0; client < CLIENTS; client++)
        if (model->holds[client][name])
            holders |= 1u << client;
    return holders;
}

/* Whether those that want the name wait for one of several clients. */
static gboolean
is_for_one_of(guint name, guint holders)
{
    return is_counting(name) && (holders & (holders - 1)) != 0;
}

/* Whether the client waits if all clients of the set release nothing. */
static gboolean
is_blocked(const Model *model, guint client, guint set)
{
    for (guint name = 0; name < NAMES; name++) {
        const guint holders = model_holders(model, name);

        if (!model->wants[client][name])
            continue;
        if (is_for_one_of(name, holders) ? (holders & ~set) == 0
                                         : (holders & set & ~(1u << client)) != 0)
            return TRUE;
    }
    return FALSE;
}

/* By the definition: the union of all sets in which each client is blocked by the set. */
static guint
model_stuck(const Model *model)
{
    guint stuck = 0;

    for (guint set = 0; set < 1u << CLIENTS; set++) {
        gboolean is_closed = TRUE;

        for (guint client = 0; client < CLIENTS; client++)
            if ((set & 1u << client) != 0 && !is_blocked(model, client, set))
                is_closed = FALSE;
        if (is_closed)
            stuck |= set;
    }
    return stuck;
}

/* Whether those that want the name wait for each one that holds it. */
static gboolean
is_for_all(const Model *model, guint name)
{
    const guint holders = model_holders(model, name);

    return !is_for_one_of(name, holders) || (holders & ~model->stuck) == 0;
}

static void
model_close(Model *model)
{
    model->stuck = model_stuck(model);
    for (guint a = 0; a < CLIENTS; a++)
        for (guint b = 0; b < CLIENTS; b++) {
            model->steps[a][b] = NEVER;
            for (guint name = 0; name < NAMES; name++)
                if (model->wants[a][name] && model->holds[b][name] && is_for_all(model, name))
                    model->steps[a][b] = 1;
        }
    for (guint via = 0; via < CLIENTS; via++)
        for (guint a = 0; a < CLIENTS; a++)
            for (guint b = 0; b < CLIENTS; b++)
                model->steps[a][b] =
                    MIN(model->steps[a][b], model->steps[a][via] + model->steps[via][b]);
}

/* The number of clients on the shortest cycle because of this lock: from its holder to a client
 * that waits for it. */
static guint
model_count(const Model *model, guint client, guint name)
{
    guint shortest = NEVER;

    if (!is_for_all(model, name))
        return 0;
    for (guint other = 0; other < CLIENTS; other++)
        if (other != client && model->wants[other][name])
            shortest = MIN(shortest, model->steps[client][other] + 1);
    if (shortest < NEVER)
        return shortest;
    return model->wants[client][name] ? 1 : 0;
}

TEST("/wait-graph/random", test_random)
{
    guint n_cycles = 0, n_counting = 0;

    /* Until enough cycles were found, also of counting locks: how many there are is chance. */
    for (guint round = 0; round < 300 || n_cycles < 30 || n_counting < 10; round++) {
        Lists lists = lists_new();
        Model model = {0};
        g_autoptr(WaitGraph) graph = NULL;
        guint index = 0;

        g_assert_cmpuint(round, <, 10000);
        model_fill(&model, &lists);
        model_close(&model);
        graph = wait_graph_new(G_LIST_MODEL(lists.held), G_LIST_MODEL(lists.pending));
        for (guint client = 0; client < CLIENTS; client++) {
            for (guint name = 0; name < NAMES; name++) {
                guint n_waiting = 0;
                WaitFinding finding;

                if (!model.holds[client][name])
                    continue;
                for (guint other = 0; other < CLIENTS; other++)
                    n_waiting += model.wants[other][name];
                finding = find(graph, &lists, index++);
                g_assert_cmpuint(finding.n_waiting, ==, n_waiting);
                g_assert_cmpuint(finding.n_clients, ==, model_count(&model, client, name));
                n_cycles += finding.n_clients > 1;
                n_counting +=
                    finding.n_clients > 1 && is_for_one_of(name, model_holders(&model, name));
            }
        }
        lists_free(&lists);
    }
}

/* Each of two clients holds a slot, and waits for a lock of the third one, which waits for a slot;
 * and then the second one does not. */
TEST("/wait-graph/counting", test_counting)
{
    Lists lists = lists_new();
    g_autoptr(WaitGraph) all = NULL;
    g_autoptr(WaitGraph) one = NULL;

    add(lists.held, 0, 0);
    add(lists.held, 1, 0);
    add(lists.held, 2, 3);
    add(lists.pending, 2, 0);
    add(lists.pending, 0, 3);
    add(lists.pending, 1, 3);
    all = wait_graph_new(G_LIST_MODEL(lists.held), G_LIST_MODEL(lists.pending));
    for (guint i = 0; i < 3; i++)
        g_assert_cmpuint(find(all, &lists, i).n_clients, ==, 2);
    g_list_store_remove(lists.pending, 2);
    one = wait_graph_new(G_LIST_MODEL(lists.held), G_LIST_MODEL(lists.pending));
    for (guint i = 0; i < 3; i++)
        g_assert_cmpuint(find(one, &lists, i).n_clients, ==, 0);
    lists_free(&lists);
}

/* A host counts as one client, whose process is unknown. */
TEST("/wait-graph/hosts", test_hosts)
{
    Lists lists = lists_new();
    g_autoptr(WaitGraph) graph = NULL;

    add(lists.held, 0, 0);
    add_of(lists.held, 0, 1, 1);
    add(lists.pending, 0, 1);
    add_of(lists.pending, 0, 1, 0);
    add_of(lists.pending, 0, 1, 1);
    graph = wait_graph_new(G_LIST_MODEL(lists.held), G_LIST_MODEL(lists.pending));
    g_assert_cmpuint(find(graph, &lists, 0).n_waiting, ==, 1);
    g_assert_cmpuint(find(graph, &lists, 0).n_clients, ==, 0);
    g_assert_cmpuint(find(graph, &lists, 1).n_waiting, ==, 2);
    g_assert_cmpuint(find(graph, &lists, 1).n_clients, ==, 0);
    lists_free(&lists);
}

/* ---- long cycles */

#define MANY 1500

/* Each client holds one lock, and waits for the next client's. */
static Lists
ring_new(guint n)
{
    Lists lists = lists_new();

    for (guint i = 0; i < n; i++) {
        add(lists.held, i, i);
        add(lists.pending, i, (i + 1) % n);
    }
    return lists;
}

TEST("/wait-graph/ring", test_ring)
{
    Lists lists = ring_new(MANY);
    g_autoptr(WaitGraph) whole =
        wait_graph_new(G_LIST_MODEL(lists.held), G_LIST_MODEL(lists.pending));
    g_autoptr(WaitGraph) open = NULL;
    g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(G_LIST_MODEL(lists.held), MANY / 2);
    WaitFinding finding = wait_graph_find(whole, info);

    g_assert_cmpuint(finding.n_waiting, ==, 1);
    g_assert_cmpuint(finding.n_clients, ==, MANY);
    g_assert_cmpstr(finding.clients, ==,
                    ":1.750 (process 1), :1.751 (process 1), :1.752 (process 1), "
                    ":1.753 (process 1) and 1496 more");
    g_free(finding.clients);

    g_list_store_remove(lists.pending, MANY - 1);
    open = wait_graph_new(G_LIST_MODEL(lists.held), G_LIST_MODEL(lists.pending));
    for (guint i = 0; i < MANY; i += 10) {
        finding = find(open, &lists, i);
        g_assert_cmpuint(finding.n_clients, ==, 0);
        g_assert_cmpuint(finding.n_waiting, ==, i > 0);
    }
    lists_free(&lists);
}

/* Beyond the limit of the search, nothing is found. */
TEST("/wait-graph/endless", test_endless)
{
    Lists lists = ring_new(WAIT_GRAPH_STEPS_MAX);
    g_autoptr(WaitGraph) graph =
        wait_graph_new(G_LIST_MODEL(lists.held), G_LIST_MODEL(lists.pending));

    g_assert_cmpuint(find(graph, &lists, 0).n_waiting, ==, 1);
    g_assert_cmpuint(find(graph, &lists, 0).n_clients, ==, 0);
    lists_free(&lists);
}

/* ---- commands */

static guint n_reads;

gboolean
process_tree_read(guint pid, ProcessStat *out_stat)
{
    n_reads++;
    *out_stat = (ProcessStat){.parent = pid > COMMAND_PID ? COMMAND_PID : pid > 1 ? 1 : 0};
    return pid > 0;
}

/* The command waits for what its processes wait for. Each process is looked up once, however many
 * requests it has, and no more than some hundred processes. */
TEST("/wait-graph/command", test_command)
{
    const guint n_requests = 3000;
    Lists lists = lists_new();

    add_of(lists.held, COMMAND_PID, 0, 3);
    for (guint i = 0; i < n_requests; i++) {
        g_autoptr(WaitGraph) graph = NULL;

        add_of(lists.pending, COMMAND_PID + 1 + (i < n_requests / 2 ? 0 : i), 1, 3);
        if (i != n_requests / 2 - 1 && i != n_requests - 1)
            continue;
        n_reads = 0;
        graph = wait_graph_new(G_LIST_MODEL(lists.held), G_LIST_MODEL(lists.pending));
        g_assert_cmpuint(n_reads, <=, i < n_requests / 2 ? 4 : 4 * 500);
        g_assert_cmpuint(n_reads, >, 0);
        g_assert_cmpuint(find(graph, &lists, 0).n_clients, ==, 1);
    }
    lists_free(&lists);
}

TEST_MAIN(g_test_run())
