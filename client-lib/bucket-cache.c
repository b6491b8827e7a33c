/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/bucket-cache.h"

#include "client-lib/lock-info-private.h"
#include "client-lib/queries.h"

/* How many locks and requests of a queue the service considers for blockedBy. */
#define BLOCKERS_MAX 64

/* Those of other hosts come last. */
#define ORDER_OF_HOSTS (G_GUINT64_CONSTANT(1) << 63)

typedef struct {
    char *key;
    WebLocksLockInfo *info;
    guint page; /* the last one that it was in */
    gboolean has_ended;
    LockState state; /* which the info does not have yet, if it is changed */
    ShownList *list; /* that it is in; NULL: none yet */
    gboolean is_changed;
} Entry;

static void
entry_clear(gpointer data)
{
    Entry *self = data;

    g_free(self->key);
    g_object_unref(self->info);
}

static void
entry_unref(gpointer data)
{
    g_rc_box_release_full(data, entry_clear);
}

BucketCache *
bucket_cache_new(WebLocksManager *manager, const char *name, guint64 rank)
{
    BucketCache *self = g_new0(BucketCache, 1);

    self->manager = g_object_ref(manager);
    self->name = name;
    self->rank = rank;
    self->entries = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, entry_unref);
    self->hosts = g_ptr_array_new_with_free_func(entry_unref);
    self->queues =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
    self->changed = g_ptr_array_new_with_free_func(entry_unref);
    self->changed_names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    self->awaited = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    self->is_stale = TRUE;
    return self;
}

void
bucket_cache_free(BucketCache *self)
{
    g_object_unref(self->manager);
    g_ptr_array_unref(self->changed);
    g_hash_table_unref(self->changed_names);
    g_hash_table_unref(self->queues);
    g_hash_table_unref(self->entries);
    g_ptr_array_unref(self->hosts);
    g_hash_table_unref(self->awaited);
    g_free(self);
}

gboolean
bucket_cache_wants_call(const BucketCache *self)
{
    return self->is_stale || self->is_due || self->has_more || g_hash_table_size(self->awaited) > 0;
}

/* ---- entries */

/* A client id has no space. */
static char *
make_key(const char *client_id, guint64 id)
{
    return g_strdup_printf("%s %" G_GUINT64_FORMAT, client_id, id);
}

static void
note_changed(BucketCache *self, Entry *entry)
{
    if (!entry->is_changed)
        g_ptr_array_add(self->changed, g_rc_box_acquire(entry));
    entry->is_changed = TRUE;
    g_hash_table_add(self->changed_names, g_strdup(entry->info->name));
}

static Entry *
entry_new(BucketCache *self, WebLocksLockInfo *info, guint64 order)
{
    Entry *entry = g_rc_box_new0(Entry);

    entry->info = g_object_ref(info);
    entry->page = self->n_pages;
    entry->state = web_locks_lock_info_get_state(info);
    g_set_object(&info->manager, self->manager);
    info->rank = self->rank;
    info->order = order;
    note_changed(self, entry);
    return entry;
}

/* Takes the key. */
static void
add(BucketCache *self, char *key, WebLocksLockInfo *info)
{
    const char *name = info->name;
    GPtrArray *queue = g_hash_table_lookup(self->queues, name);
    Entry *entry = entry_new(self, info, ++self->n_added);

    self->last_order = self->n_added;
    entry->key = key;
    g_hash_table_insert(self->entries, entry->key, entry);
    if (queue == NULL) {
        queue = g_ptr_array_new();
        g_hash_table_insert(self->queues, g_strdup(name), queue);
    }
    g_ptr_array_add(queue, entry);
}

static void
end(BucketCache *self, Entry *entry)
{
    g_ptr_array_remove(g_hash_table_lookup(self->queues, entry->info->name), entry);
    entry->has_ended = TRUE;
    note_changed(self, entry);
    g_hash_table_remove(self->entries, entry->key);
    if (g_hash_table_size(self->entries) == 0)
        self->after = 0; /* the cursors of an empty bucket restart */
}

/* A held lock keeps the time of its grant. */
static void
set_state(BucketCache *self, Entry *entry, LockState state)
{
    if (entry->state.held == state.held && entry->state.mode == state.mode)
        return;
    if (entry->state.held)
        state.since = entry->state.since;
    entry->state = state;
    note_changed(self, entry);
}

/* Ends the entries that were read before this page. */
static void
end_older(BucketCache *self, guint page)
{
    g_autoptr(GPtrArray) older = g_ptr_array_new();
    GHashTableIter iter;
    gpointer entry;

    g_hash_table_iter_init(&iter, self->entries);
    while (g_hash_table_iter_next(&iter, NULL, &entry))
        if (((Entry *)entry)->page < page)
            g_ptr_array_add(older, entry);
    for (guint i = 0; i < older->len; i++)
        end(self, older->pdata[i]);
}

static void
end_hosts(BucketCache *self)
{
    for (guint i = 0; i < self->hosts->len; i++) {
        Entry *entry = self->hosts->pdata[i];

        entry->has_ended = TRUE;
        note_changed(self, entry);
    }
    g_ptr_array_set_size(self->hosts, 0);
}

void
bucket_cache_clear(BucketCache *self)
{
    end_older(self, G_MAXUINT);
    end_hosts(self);
    g_hash_table_remove_all(self->awaited);
    self->is_stale = self->has_more = FALSE;
}

/* ---- signals */

void
bucket_cache_signal(BucketCache *self, const char *member, GVariant *body)
{
    g_autofree char *key = NULL;
    const char *client_id;
    LockState state;
    guint64 id;
    Entry *entry;
    const gboolean is_granted = g_str_equal(member, "Granted");
    const gboolean is_released = g_str_equal(member, "Released");
    const char *type = is_granted ? "(tssst)" : is_released ? "(tssss)" : "(tsss)";

    /* An id without its client. */
    if (g_str_equal(member, "Missed") || g_str_equal(member, "Downgraded"))
        self->is_stale = TRUE;
    if (!is_granted && !is_released && !g_str_equal(member, "Waiting"))
        return;
    if (body == NULL || !g_variant_is_of_type(body, G_VARIANT_TYPE(type)))
        return;
    g_variant_get_child(body, 0, "t", &id);
    g_variant_get_child(body, 3, "&s", &client_id);
    key = make_key(client_id, id);
    entry = g_hash_table_lookup(self->entries, key);
    if (entry == NULL && is_released) {
        g_hash_table_remove(self->awaited, key);
    } else if (entry == NULL) {
        g_hash_table_add(self->awaited, g_steal_pointer(&key));
    } else if (is_released) {
        end(self, entry);
    } else if (is_granted) {
        state = entry->state;
        state.held = TRUE;
        state.since = g_get_real_time();
        g_variant_get_child(body, 4, "t", &state.token);
        set_state(self, entry, state);
    }
}

/* ---- Inspect */

BusMessage
bucket_cache_build(BucketCache *self)
{
    if (!self->has_more) {
        if (self->is_stale)
            self->after = 0;
        self->is_stale = self->is_due = FALSE;
    }
    self->reads_all = self->after == 0;
    if (self->reads_all) {
        self->first_page = self->n_pages + 1;
        self->last_order = 0;
    }
    return inspect_page_build(self->manager, self->name, self->after);
}

/* After a restart of the service without its state, another lock may have the id. What has stayed
 * the same is in the same order as before; it may have become shared while it is held. */
static gboolean
is_same(const BucketCache *self, const Entry *entry, const WebLocksLockInfo *info)
{
    return g_str_equal(entry->info->name, info->name) &&
           (entry->state.mode == info->mode ||
            (info->held && info->mode == WEB_LOCKS_MODE_SHARED)) &&
           (!entry->state.held || entry->state.token == info->token) &&
           entry->info->order > self->last_order;
}

static void
take(BucketCache *self, WebLocksLockInfo *info)
{
    char *key = make_key(info->client_id, info->id);
    Entry *entry = g_hash_table_lookup(self->entries, key);

    if (entry != NULL && !is_same(self, entry, info)) {
        end(self, entry);
        entry = NULL;
    }
    if (entry == NULL) {
        add(self, key, info);
        return;
    }
    g_free(key);
    entry->page = self->n_pages;
    self->last_order = entry->info->order;
    if (info->held)
        set_state(self, entry, web_locks_lock_info_get_state(info));
}

/* What they hold of a name is on the last page. No signals are sent for it, so the monitor reads it
 * again regularly. */
static void
take_hosts(BucketCache *self, GPtrArray *infos)
{
    end_hosts(self);
    for (guint i = 0; i < infos->len; i++)
        if (web_locks_lock_info_is_of_another_host(infos->pdata[i]))
            g_ptr_array_add(self->hosts, entry_new(self, infos->pdata[i], ORDER_OF_HOSTS + i));
}

gboolean
bucket_cache_read(BucketCache *self, GVariant *body, GError **error)
{
    guint64 after = self->after;
    g_autoptr(GPtrArray) infos = inspect_page_read(body, &after, &self->has_more, error);

    if (infos == NULL)
        return FALSE;
    /* What was missed before this reply is in it or in later pages. So a bucket of which signals
     * are missed all the time is shown, too. */
    if (self->reads_all)
        self->is_stale = FALSE;
    self->n_pages++;
    for (guint i = 0; i < infos->len; i++)
        if (!web_locks_lock_info_is_of_another_host(infos->pdata[i]))
            take(self, infos->pdata[i]);
    if (!self->has_more) {
        end_older(self, self->first_page);
        self->first_page = 0;
        g_hash_table_remove_all(self->awaited); /* the others have ended */
        take_hosts(self, infos);
    }
    self->after = MAX(self->after, after);
    return TRUE;
}

/* ---- the queues: positions and blockers, as the service finds them: see `blockedBy` of Inspect */

/* The clients that a request waits for. */
typedef struct {
    const char *ids[BLOCKERS_MAX + 1]; /* terminated by NULL */
    guint n;
} Blockers;

/* What has been visited of a queue: the held locks, and then the requests. */
typedef struct {
    const Entry *considered[BLOCKERS_MAX + 1]; /* the first of these; and space for another one */
    guint n_considered;
    const Entry *holder; /* one of `n_held` */
    guint n_held;
} Visited;

static gboolean
is_exclusive(const Entry *entry)
{
    return entry->state.mode == WEB_LOCKS_MODE_EXCLUSIVE;
}

/* Whether the two can't be held together. */
static gboolean
conflict(const Entry *a, const Entry *b)
{
    if (is_exclusive(a) && is_exclusive(b) && a->state.slots == b->state.slots)
        return a->state.slots == 1;
    return is_exclusive(a) || is_exclusive(b);
}

static gboolean
is_admitted(const Visited *self, const Entry *entry)
{
    return self->n_held == 0 || (!conflict(self->holder, entry) &&
                                 (!is_exclusive(entry) || self->n_held < entry->state.slots));
}

static void
add_blocker(Blockers *blockers, const char *client_id)
{
    for (guint i = 0; i < blockers->n; i++)
        if (g_str_equal(blockers->ids[i], client_id))
            return;
    blockers->ids[blockers->n++] = client_id;
}

static void
find_blockers(Blockers *blockers, const Visited *visited, const Entry *entry)
{
    const gboolean waits_for_holders = !is_admitted(visited, entry);

    *blockers = (Blockers){0};
    for (guint i = 0; i < visited->n_considered; i++)
        if (i < visited->n_held ? waits_for_holders : conflict(visited->considered[i], entry))
            add_blocker(blockers, visited->considered[i]->info->client_id);
}

/* The holders are in the order of their grants: a request that has stolen the lock and was
 * downgraded is before those that are older. */
static void
visit(Visited *self, const Entry *entry)
{
    guint i = self->n_considered;

    if (entry->state.held) {
        for (; i > 0 && self->considered[i - 1]->state.token > entry->state.token; i--)
            self->considered[i] = self->considered[i - 1];
        self->holder = entry;
        self->n_held++;
    }
    self->considered[i] = entry;
    self->n_considered = MIN(self->n_considered + 1, BLOCKERS_MAX);
}

/* Requests of one mode and number of slots have the same blockers when enough has been visited. */
static void
update_queue(GPtrArray *queue, GPtrArray *frozen)
{
    Blockers of_modes[2] = {{{NULL}, 0}, {{NULL}, 0}};
    guint slots[2] = {0, 0}, position = 0;
    Visited visited = {.n_considered = 0};

    for (guint i = 0; i < queue->len; i++)
        if (((const Entry *)queue->pdata[i])->state.held)
            visit(&visited, queue->pdata[i]);
    for (guint i = 0; i < queue->len; i++) {
        const Entry *entry = queue->pdata[i];
        const guint mode = is_exclusive(entry) ? 1 : 0;

        if (entry->state.held)
            continue;
        if (visited.n_considered < BLOCKERS_MAX || slots[mode] != entry->state.slots)
            find_blockers(&of_modes[mode], &visited, entry);
        /* What is visited next is not in these. */
        slots[mode] = visited.n_considered < BLOCKERS_MAX ? 0 : entry->state.slots;
        web_locks_lock_info_set_queued(entry->info, ++position, of_modes[mode].ids, frozen);
        visit(&visited, entry);
    }
}

static void
update_queues(BucketCache *self, GPtrArray *frozen)
{
    GHashTableIter iter;
    gpointer name;

    g_hash_table_iter_init(&iter, self->changed_names);
    while (g_hash_table_iter_next(&iter, &name, NULL)) {
        GPtrArray *queue = g_hash_table_lookup(self->queues, name);

        if (queue == NULL)
            continue;
        update_queue(queue, frozen);
        if (queue->len == 0)
            g_hash_table_remove(self->queues, name);
    }
    g_hash_table_remove_all(self->changed_names);
}

void
bucket_cache_collect(BucketCache *self, ShownList *held, ShownList *pending, GPtrArray *frozen)
{
    for (guint i = 0; i < self->changed->len; i++) {
        Entry *entry = self->changed->pdata[i];
        ShownList *now = entry->state.held ? held : pending;

        entry->is_changed = FALSE;
        if (entry->has_ended)
            now = NULL;
        else
            web_locks_lock_info_set_state(entry->info, &entry->state, frozen);
        if (entry->list == now)
            continue;
        if (entry->list != NULL)
            g_ptr_array_add(entry->list->removed, g_object_ref(entry->info));
        if (now != NULL)
            g_ptr_array_add(now->added, g_object_ref(entry->info));
        entry->list = now;
    }
    g_ptr_array_set_size(self->changed, 0);
    update_queues(self, frozen);
}
