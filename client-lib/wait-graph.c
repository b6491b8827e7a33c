/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config.h"

#include "client-lib/wait-graph.h"

#include <glib/gi18n-lib.h>

#include "client-lib/lock-info-private.h"
#include "client-lib/manager-private.h"

/* More names than this make the sentence hard to read. */
#define CLIENTS_NAMED 4

#define NONE G_MAXUINT

typedef struct {
    WebLocksLockInfo *info; /* one of the client or of the name; borrowed from `infos` */
    gboolean is_client;
    guint n_waiting; /* of a name: pending requests */
    guint edges;     /* where its targets begin, in `targets` */
    guint n_edges;
    guint component;
} Node;

typedef struct {
    guint n_nodes;
    /* If there are several nodes: what wait_graph_find() returns. */
    guint n_clients;
    char *clients;
    gint64 self_since_us;
} Component;

typedef struct {
    guint from;
    guint to;
    WebLocksLockInfo *info; /* the lock or request; borrowed from `infos` */
} Edge;

struct WaitGraph {
    GPtrArray *infos;
    GArray *nodes;       /* of Node */
    GHashTable *clients; /* client id -> index in `nodes` */
    GHashTable *names;   /* WebLocksLockInfo, by bucket and name -> index in `nodes` */
    GArray *edges;       /* of Edge */
    guint *targets;      /* indexes in `nodes` */
    GArray *components;  /* of Component */
};

static Node *
get_node(const WaitGraph *self, guint index)
{
    return &g_array_index(self->nodes, Node, index);
}

/* ---- nodes and edges */

static const char *
get_path(WebLocksLockInfo *info)
{
    WebLocksManager *manager = web_locks_lock_info_get_manager(info);

    return manager != NULL ? web_locks_manager_get_path(manager) : "";
}

static guint
hash_name(gconstpointer info)
{
    return g_str_hash(web_locks_lock_info_get_name((WebLocksLockInfo *)info)) * 31 +
           g_str_hash(get_path((WebLocksLockInfo *)info));
}

static gboolean
is_same_name(gconstpointer a, gconstpointer b)
{
    return g_str_equal(web_locks_lock_info_get_name((WebLocksLockInfo *)a),
                       web_locks_lock_info_get_name((WebLocksLockInfo *)b)) &&
           g_str_equal(get_path((WebLocksLockInfo *)a), get_path((WebLocksLockInfo *)b));
}

static guint
find_node(GHashTable *table, gconstpointer key)
{
    gpointer index;

    return g_hash_table_lookup_extended(table, key, NULL, &index) ? GPOINTER_TO_UINT(index) : NONE;
}

static guint
ensure_node(WaitGraph *self, GHashTable *table, gconstpointer key, WebLocksLockInfo *info)
{
    guint index = find_node(table, key);
    const Node node = {.info = info, .is_client = table == self->clients, .component = NONE};

    if (index != NONE)
        return index;
    index = self->nodes->len;
    g_array_append_val(self->nodes, node);
    g_hash_table_insert(table, (gpointer)key, GUINT_TO_POINTER(index));
    return index;
}

static void
add_edge(WaitGraph *self, guint from, guint to, WebLocksLockInfo *info)
{
    const Edge edge = {from, to, info};

    get_node(self, from)->n_edges++;
    g_array_append_val(self->edges, edge);
}

/* A client without a process may stand for several clients, as a host does for all of its own. */
static void
add_info(WaitGraph *self, WebLocksLockInfo *info)
{
    const guint name = ensure_node(self, self->names, info, info);
    const gboolean is_held = web_locks_lock_info_get_held(info);
    guint client;

    if (!is_held)
        get_node(self, name)->n_waiting++;
    if (web_locks_lock_info_get_pid(info) == 0)
        return;
    client = ensure_node(self, self->clients, web_locks_lock_info_get_client_id(info), info);
    add_edge(self, is_held ? name : client, is_held ? client : name, info);
}

/* A lock for which nobody waits is left out. */
static void
add_list(WaitGraph *self, GListModel *list)
{
    for (guint i = 0; i < g_list_model_get_n_items(list); i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(list, i);

        if (!web_locks_lock_info_get_held(info) || find_node(self->names, info) != NONE) {
            add_info(self, info);
            g_ptr_array_add(self->infos, g_steal_pointer(&info));
        }
    }
}

/* Puts the targets of each node next to each other. */
static void
sort_edges(WaitGraph *self)
{
    guint sum = 0;

    for (guint i = 0; i < self->nodes->len; i++) {
        Node *node = get_node(self, i);

        node->edges = sum;
        sum += node->n_edges;
        node->n_edges = 0;
    }
    self->targets = g_new(guint, sum);
    for (guint i = 0; i < self->edges->len; i++) {
        const Edge *edge = &g_array_index(self->edges, Edge, i);
        Node *from = get_node(self, edge->from);

        self->targets[from->edges + from->n_edges++] = edge->to;
    }
}

/* ---- strongly connected components, by Tarjan's algorithm, without recursion */

typedef struct {
    guint order; /* in which it was visited; NONE: it was not */
    guint low;   /* the first in this order that is known to be in its component */
    guint next;  /* its edge that is to be followed next */
} Visit;

typedef struct {
    WaitGraph *graph;
    Visit *visits; /* by node */
    guint n_visited;
    GArray *path; /* the nodes whose edges are being followed */
    GArray *open; /* those that have been visited, and have no component yet */
} Search;

static void
visit(Search *self, guint index)
{
    self->visits[index].order = self->visits[index].low = self->n_visited++;
    g_array_append_val(self->path, index);
    g_array_append_val(self->open, index);
}

/* `index` is the first that was visited of its component. */
static void
close_component(Search *self, guint index)
{
    Component component = {.self_since_us = G_MAXINT64};
    guint member;

    do {
        member = g_array_index(self->open, guint, self->open->len - 1);
        g_array_set_size(self->open, self->open->len - 1);
        get_node(self->graph, member)->component = self->graph->components->len;
        component.n_nodes++;
    } while (member != index);
    g_array_append_val(self->graph->components, component);
}

static void
follow(Search *self, guint index)
{
    const Node *node = get_node(self->graph, index);
    Visit *visit_of = self->visits;
    guint target;

    if (visit_of[index].next < node->n_edges) {
        target = self->graph->targets[node->edges + visit_of[index].next++];
        if (visit_of[target].order == NONE)
            visit(self, target);
        else if (get_node(self->graph, target)->component == NONE)
            visit_of[index].low = MIN(visit_of[index].low, visit_of[target].order);
        return;
    }
    g_array_set_size(self->path, self->path->len - 1);
    if (visit_of[index].low == visit_of[index].order)
        close_component(self, index);
    if (self->path->len > 0) {
        const guint before = g_array_index(self->path, guint, self->path->len - 1);

        visit_of[before].low = MIN(visit_of[before].low, visit_of[index].low);
    }
}

static void
find_components(WaitGraph *self)
{
    Search search = {.graph = self, .visits = g_new0(Visit, self->nodes->len)};

    search.path = g_array_new(FALSE, FALSE, sizeof(guint));
    search.open = g_array_new(FALSE, FALSE, sizeof(guint));
    for (guint i = 0; i < self->nodes->len; i++)
        search.visits[i].order = NONE;
    for (guint i = 0; i < self->nodes->len; i++) {
        if (search.visits[i].order == NONE)
            visit(&search, i);
        while (search.path->len > 0)
            follow(&search, g_array_index(search.path, guint, search.path->len - 1));
    }
    g_array_unref(search.path);
    g_array_unref(search.open);
    g_free(search.visits);
}

/* ---- descriptions */

static Component *
get_component(const WaitGraph *self, guint node)
{
    return &g_array_index(self->components, Component, get_node(self, node)->component);
}

/* Returns an owned text. */
static char *
describe_client(WebLocksLockInfo *info)
{
    const char *application = web_locks_lock_info_get_application(info);
    const char *program =
        *application != '\0' ? application : web_locks_lock_info_get_process(info);

    if (*program == '\0')
        program = web_locks_lock_info_get_client_id(info);
    /* Translators: the name of a process, and its process id. */
    return g_strdup_printf(_("%s (process %u)"), program, web_locks_lock_info_get_pid(info));
}

static void
add_client(Component *component, WebLocksLockInfo *info)
{
    g_autofree char *before = g_steal_pointer(&component->clients);
    g_autofree char *client = describe_client(info);

    component->clients =
        before == NULL ? g_steal_pointer(&client) : g_strconcat(before, ", ", client, NULL);
}

static void
describe_clients(WaitGraph *self)
{
    for (guint i = 0; i < self->nodes->len; i++) {
        Component *component = get_component(self, i);

        if (component->n_nodes > 1 && get_node(self, i)->is_client &&
            component->n_clients++ < CLIENTS_NAMED)
            add_client(component, get_node(self, i)->info);
    }
    for (guint i = 0; i < self->components->len; i++) {
        Component *component = &g_array_index(self->components, Component, i);
        g_autofree char *named = NULL;

        if (component->n_clients <= CLIENTS_NAMED)
            continue;
        named = g_steal_pointer(&component->clients);
        /* Translators: a list of processes, and how many are not in it. */
        component->clients =
            g_strdup_printf(_("%s and %u more"), named, component->n_clients - CLIENTS_NAMED);
    }
}

static void
find_self_waits(WaitGraph *self)
{
    for (guint i = 0; i < self->edges->len; i++) {
        const Edge *edge = &g_array_index(self->edges, Edge, i);
        Component *component = get_component(self, edge->from);

        if (!web_locks_lock_info_get_held(edge->info) && component == get_component(self, edge->to))
            component->self_since_us =
                MIN(component->self_since_us, web_locks_lock_info_get_since_boot(edge->info));
    }
}

/* ---- the graph */

static void
clear_component(gpointer data)
{
    g_free(((Component *)data)->clients);
}

WaitGraph *
wait_graph_new(GListModel *held, GListModel *pending)
{
    WaitGraph *self = g_new0(WaitGraph, 1);

    self->infos = g_ptr_array_new_with_free_func(g_object_unref);
    self->nodes = g_array_new(FALSE, FALSE, sizeof(Node));
    self->clients = g_hash_table_new(g_str_hash, g_str_equal);
    self->names = g_hash_table_new(hash_name, is_same_name);
    self->edges = g_array_new(FALSE, FALSE, sizeof(Edge));
    self->components = g_array_new(FALSE, FALSE, sizeof(Component));
    g_array_set_clear_func(self->components, clear_component);
    add_list(self, pending);
    add_list(self, held);
    sort_edges(self);
    find_components(self);
    describe_clients(self);
    find_self_waits(self);
    return self;
}

void
wait_graph_free(WaitGraph *self)
{
    g_hash_table_unref(self->clients);
    g_hash_table_unref(self->names);
    g_array_unref(self->components);
    g_array_unref(self->edges);
    g_array_unref(self->nodes);
    g_free(self->targets);
    g_ptr_array_unref(self->infos);
    g_free(self);
}

WaitFinding
wait_graph_find(const WaitGraph *self, WebLocksLockInfo *held)
{
    const guint client = find_node(self->clients, web_locks_lock_info_get_client_id(held));
    const guint name = find_node(self->names, held);
    WaitFinding finding = {0};
    const Component *component;

    if (name == NONE)
        return finding;
    finding.n_waiting = get_node(self, name)->n_waiting;
    if (client == NONE || get_component(self, client) != get_component(self, name))
        return finding;
    component = get_component(self, client);
    finding.n_clients = component->n_clients;
    finding.clients = component->clients;
    finding.self_since_us = component->self_since_us;
    return finding;
}
