/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/evidence/wait-graph.h"

#include <glib/gi18n.h>

#include "client-lib/evidence/process-tree.h"

/* A process has fewer ancestors, unless it is meant to have many. */
#define ANCESTORS_MAX 100
/* The parents of so many of the processes that wait are looked up. */
#define PROCESSES_MAX 500
/* More names than this make the sentence hard to read. */
#define CLIENTS_NAMED 4

/* The infos are owned. */
typedef struct {
    GPtrArray *holders; /* only those with a known process */
    guint n_waiting;
    WebLocksLockInfo *first; /* a holder, or NULL */
    gboolean is_of_several;  /* clients hold it */
    gboolean is_of_unknown;  /* a client whose process is not known holds it */
} Name;

struct WaitGraph {
    GHashTable *names;     /* WebLocksLockInfo, by bucket and name -> Name, if there is a request */
    GHashTable *clients;   /* client id -> array of its requests, and of those of its command */
    GHashTable *stuck;     /* the ids, borrowed, of clients that wait for others which all wait */
    GHashTable *commands;  /* process id -> client id, of those that run a command */
    GHashTable *processes; /* process id -> array of these ids, borrowed, of the commands that it
                            * comes from */
    gboolean has_counting; /* a request is for a counting lock */
};

/* ---- the graph */

static guint
hash_name(gconstpointer info)
{
    return g_str_hash(web_locks_lock_info_get_name((WebLocksLockInfo *)info));
}

/* All infos of a bucket have the same manager. */
static gboolean
is_same_name(gconstpointer a, gconstpointer b)
{
    return web_locks_lock_info_get_manager((WebLocksLockInfo *)a) ==
               web_locks_lock_info_get_manager((WebLocksLockInfo *)b) &&
           g_str_equal(web_locks_lock_info_get_name((WebLocksLockInfo *)a),
                       web_locks_lock_info_get_name((WebLocksLockInfo *)b));
}

static void
name_free(gpointer data)
{
    Name *self = data;

    g_ptr_array_unref(self->holders);
    g_clear_object(&self->first);
    g_free(self);
}

static void
add_request(WaitGraph *self, const char *client_id, WebLocksLockInfo *info)
{
    GPtrArray *requests = g_hash_table_lookup(self->clients, client_id);

    if (requests == NULL) {
        requests = g_ptr_array_new_with_free_func(g_object_unref);
        g_hash_table_insert(self->clients, g_strdup(client_id), requests);
    }
    g_ptr_array_add(requests, g_object_ref(info));
}

static void
add_pending(WaitGraph *self, WebLocksLockInfo *info)
{
    Name *name = g_hash_table_lookup(self->names, info);

    if (name == NULL) {
        name = g_new0(Name, 1);
        name->holders = g_ptr_array_new_with_free_func(g_object_unref);
        g_hash_table_insert(self->names, g_object_ref(info), name);
    }
    name->n_waiting++;
    self->has_counting |= web_locks_lock_info_get_slots(info) > 1;
    add_request(self, web_locks_lock_info_get_client_id(info), info);
}

static void
add_held(WaitGraph *self, WebLocksLockInfo *info)
{
    Name *name = g_hash_table_lookup(self->names, info);
    const guint pid = web_locks_lock_info_get_pid(info);

    if (g_str_equal(web_locks_lock_info_get_process(info), WAIT_GRAPH_COMMAND))
        g_hash_table_replace(self->commands, GUINT_TO_POINTER(pid),
                             g_strdup(web_locks_lock_info_get_client_id(info)));
    if (name == NULL)
        return;
    if (name->first == NULL)
        name->first = g_object_ref(info);
    else if (!g_str_equal(web_locks_lock_info_get_client_id(name->first),
                          web_locks_lock_info_get_client_id(info)))
        name->is_of_several = TRUE;
    if (pid != 0)
        g_ptr_array_add(name->holders, g_object_ref(info));
    else
        name->is_of_unknown = TRUE;
}

static void
add_list(WaitGraph *self, GListModel *list, void (*add)(WaitGraph *self, WebLocksLockInfo *info))
{
    for (guint i = 0; i < g_list_model_get_n_items(list); i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(list, i);

        add(self, info);
    }
}

/* Returns a borrowed array of client ids; NULL: no more processes are looked up. */
static const GPtrArray *
find_commands(WaitGraph *self, guint pid)
{
    GPtrArray *found = g_hash_table_lookup(self->processes, GUINT_TO_POINTER(pid));
    ProcessStat stat = {.parent = pid};

    if (found != NULL || g_hash_table_size(self->processes) == PROCESSES_MAX)
        return found;
    found = g_ptr_array_new();
    g_hash_table_insert(self->processes, GUINT_TO_POINTER(pid), found);
    for (guint i = 0; i < ANCESTORS_MAX && process_tree_read(stat.parent, &stat); i++) {
        char *client_id = g_hash_table_lookup(self->commands, GUINT_TO_POINTER(stat.parent));

        if (client_id != NULL)
            g_ptr_array_add(found, client_id);
    }
    return found;
}

/* A command waits for the requests of the processes that come from it. */
static void
add_requests_of_commands(WaitGraph *self, WebLocksLockInfo *info)
{
    const GPtrArray *commands = find_commands(self, web_locks_lock_info_get_pid(info));

    for (guint i = 0; commands != NULL && i < commands->len; i++)
        add_request(self, commands->pdata[i], info);
}

/* ---- those that wait for one of several clients */

/* Whether the request waits until one of several clients releases a slot of its counting lock. */
static gboolean
is_for_one_of_several(const Name *name, WebLocksLockInfo *request)
{
    const guint slots = web_locks_lock_info_get_slots(request);

    return slots > 1 && name->is_of_several && web_locks_lock_info_get_slots(name->first) == slots;
}

/* Whether a request can't be granted if the clients in `stuck` release nothing. */
static gboolean
is_blocked(const WaitGraph *self, const char *client_id, WebLocksLockInfo *request, guint *n_left)
{
    const Name *name = g_hash_table_lookup(self->names, request);
    const gboolean needs_all = is_for_one_of_several(name, request);

    for (guint i = 0; i < name->holders->len; i++) {
        const char *holder = web_locks_lock_info_get_client_id(name->holders->pdata[i]);
        const gboolean is_stuck = g_hash_table_contains(self->stuck, holder);

        if (*n_left == 0)
            return FALSE;
        --*n_left;
        if (needs_all && !is_stuck)
            return FALSE;
        if (!needs_all && is_stuck && !g_str_equal(holder, client_id))
            return TRUE;
    }
    return needs_all && !name->is_of_unknown;
}

static gboolean
is_client_blocked(const WaitGraph *self, const char *client_id, guint *n_left)
{
    const GPtrArray *requests = g_hash_table_lookup(self->clients, client_id);

    for (guint i = 0; i < requests->len; i++)
        if (is_blocked(self, client_id, requests->pdata[i], n_left))
            return TRUE;
    return FALSE;
}

/* The largest set of clients each of which is blocked by the others: all that wait, without those
 * that are not blocked, until nothing changes. */
static void
find_stuck(WaitGraph *self)
{
    guint n_left = WAIT_GRAPH_STEPS_MAX, n_before;
    GHashTableIter clients;
    gpointer id;

    g_hash_table_iter_init(&clients, self->clients);
    while (g_hash_table_iter_next(&clients, &id, NULL))
        g_hash_table_add(self->stuck, id);
    do {
        n_before = g_hash_table_size(self->stuck);
        g_hash_table_iter_init(&clients, self->stuck);
        while (g_hash_table_iter_next(&clients, &id, NULL))
            if (!is_client_blocked(self, id, &n_left))
                g_hash_table_iter_remove(&clients);
    } while (n_left > 0 && g_hash_table_size(self->stuck) < n_before);
    if (n_left == 0)
        g_hash_table_remove_all(self->stuck);
}

WaitGraph *
wait_graph_new(GListModel *held, GListModel *pending)
{
    WaitGraph *self = g_new0(WaitGraph, 1);

    self->names = g_hash_table_new_full(hash_name, is_same_name, g_object_unref, name_free);
    self->clients =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
    self->stuck = g_hash_table_new(g_str_hash, g_str_equal);
    self->commands = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    self->processes = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_ptr_array_unref);
    add_list(self, pending, add_pending);
    add_list(self, held, add_held);
    if (g_hash_table_size(self->commands) > 0)
        add_list(self, pending, add_requests_of_commands);
    if (self->has_counting)
        find_stuck(self);
    return self;
}

void
wait_graph_free(WaitGraph *self)
{
    g_hash_table_unref(self->processes);
    g_hash_table_unref(self->commands);
    g_hash_table_unref(self->stuck);
    g_hash_table_unref(self->names);
    g_hash_table_unref(self->clients);
    g_free(self);
}

/* ---- the search, which is breadth-first: the first cycle that is found is a shortest one */

/* A client that has been reached. */
typedef struct {
    WebLocksLockInfo *info; /* a lock that it holds; borrowed */
    guint before;           /* the client that waits for that lock */
} Step;

typedef struct {
    GArray *steps;    /* of Step */
    GHashTable *seen; /* the client ids of all steps */
    guint n_left;     /* how many locks and requests may still be looked at */
} Search;

static void
reach(Search *self, WebLocksLockInfo *info, guint before)
{
    const Step step = {info, before};

    if (g_hash_table_add(self->seen, (gpointer)web_locks_lock_info_get_client_id(info)))
        g_array_append_val(self->steps, step);
}

/* Returns an owned text. */
static char *
describe_client(WebLocksLockInfo *info)
{
    /* Translators: the name of a process, and its process id. */
    return g_strdup_printf(_("%s (process %u)"), web_locks_lock_info_get_who(info),
                           web_locks_lock_info_get_who_pid(info));
}

/* The clients from the first step to `last`, each of which waits for the next one. */
static void
describe_cycle(const Search *self, guint last, WaitFinding *finding)
{
    g_autoptr(GPtrArray) clients = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *named = NULL;

    for (guint i = last;; i = g_array_index(self->steps, Step, i).before) {
        g_ptr_array_insert(clients, 0, describe_client(g_array_index(self->steps, Step, i).info));
        if (i == 0)
            break;
    }
    finding->n_clients = clients->len;
    g_ptr_array_set_size(clients, (int)MIN(clients->len, CLIENTS_NAMED));
    g_ptr_array_add(clients, NULL);
    named = g_strjoinv(", ", (char **)clients->pdata);
    finding->clients =
        finding->n_clients <= CLIENTS_NAMED
            ? g_steal_pointer(&named)
            /* Translators: a list of processes, and how many are not in it. */
            : g_strdup_printf(_("%s and %u more"), named, finding->n_clients - CLIENTS_NAMED);
}

/* Follows a request of the client of a step. Returns TRUE if the search is over. */
static gboolean
follow(Search *self,
       const WaitGraph *graph,
       guint index,
       WebLocksLockInfo *request,
       WaitFinding *finding)
{
    WebLocksLockInfo *held = g_array_index(self->steps, Step, 0).info;
    const Name *name = g_hash_table_lookup(graph->names, request);

    if (is_for_one_of_several(name, request) && !is_blocked(graph, "", request, &self->n_left))
        return FALSE;
    if (is_same_name(request, held) && index > 0) {
        describe_cycle(self, index, finding);
        return TRUE;
    }
    if (is_same_name(request, held)) {
        const gint64 since_us = web_locks_lock_info_get_since(request);

        finding->self_since_us =
            finding->n_clients == 0 ? since_us : MIN(finding->self_since_us, since_us);
        finding->n_clients = 1;
    }
    for (guint i = 0; i < name->holders->len; i++) {
        if (self->n_left-- == 0)
            return TRUE;
        reach(self, name->holders->pdata[i], index);
    }
    return self->n_left-- == 0;
}

WaitFinding
wait_graph_find(const WaitGraph *self, WebLocksLockInfo *held)
{
    const Name *name = g_hash_table_lookup(self->names, held);
    WaitFinding finding = {.n_waiting = name != NULL ? name->n_waiting : 0};
    Search search = {.n_left = WAIT_GRAPH_STEPS_MAX};
    gboolean is_over = FALSE;

    if (name == NULL || web_locks_lock_info_get_pid(held) == 0)
        return finding;
    search.steps = g_array_new(FALSE, FALSE, sizeof(Step));
    search.seen = g_hash_table_new(g_str_hash, g_str_equal);
    reach(&search, held, 0);
    for (guint i = 0; i < search.steps->len && !is_over; i++) {
        const char *client_id =
            web_locks_lock_info_get_client_id(g_array_index(search.steps, Step, i).info);
        const GPtrArray *requests = g_hash_table_lookup(self->clients, client_id);

        for (guint j = 0; requests != NULL && j < requests->len && !is_over; j++)
            is_over = follow(&search, self, i, requests->pdata[j], &finding);
    }
    g_array_unref(search.steps);
    g_hash_table_unref(search.seen);
    return finding;
}
