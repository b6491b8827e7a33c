/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/watched-bucket.h"

#include "client-lib/lock-info-private.h"
#include "client-lib/queries.h"

/* How many locks and requests of a queue the service considers for blockedBy. */
#define BLOCKERS_MAX 64

/* The locks and requests of a name, in the order in which they were requested. */
typedef struct {
    GPtrArray *entries; /* of Entry */
    gboolean is_changed;
} Queue;

typedef struct {
    char *key;
    WebLocksLockInfo *info;  /* the current entry; NULL: it has ended */
    WebLocksLockInfo *shown; /* as the lists have it; NULL: they don't have it */
    gboolean is_changed;
} Entry;

struct WatchedBucket {
    WebLocksManager *manager;
    const char *name; /* NULL: all names */
    guint64 rank;
    GHashTable *entries;       /* by key */
    guint n_live;              /* entries that have not ended */
    GHashTable *queues;        /* by resource name */
    GPtrArray *changed;        /* entries whose info may differ from what is shown */
    GPtrArray *changed_queues; /* names */
    GHashTable *awaited;       /* the keys of requests that are known from signals only, and
                                * whether a call for them has been built */
    guint64 after;             /* the cursor of the last one that has been read */
    gboolean is_stale;
    gboolean reads_all; /* the last call reads from the beginning */
};

static void
queue_free(gpointer data)
{
    Queue *self = data;

    g_ptr_array_unref(self->entries);
    g_free(self);
}

static void
entry_free(gpointer data)
{
    Entry *self = data;

    g_free(self->key);
    g_clear_object(&self->info);
    g_clear_object(&self->shown);
    g_free(self);
}

WatchedBucket *
watched_bucket_new(WebLocksManager *manager, const char *name, guint64 rank)
{
    WatchedBucket *self = g_new0(WatchedBucket, 1);

    self->manager = g_object_ref(manager);
    self->name = name;
    self->rank = rank;
    self->entries = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, entry_free);
    self->queues = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, queue_free);
    self->changed = g_ptr_array_new();
    self->changed_queues = g_ptr_array_new_with_free_func(g_free);
    self->awaited = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    self->is_stale = TRUE;
    return self;
}

void
watched_bucket_free(WatchedBucket *self)
{
    g_object_unref(self->manager);
    g_ptr_array_unref(self->changed);
    g_ptr_array_unref(self->changed_queues);
    g_hash_table_unref(self->queues);
    g_hash_table_unref(self->entries);
    g_hash_table_unref(self->awaited);
    g_free(self);
}

WebLocksManager *
watched_bucket_get_manager(const WatchedBucket *self)
{
    return self->manager;
}

/* ---- the queues */

static Queue *
get_queue(WatchedBucket *self, const char *name)
{
    Queue *queue = g_hash_table_lookup(self->queues, name);

    if (queue == NULL) {
        queue = g_new0(Queue, 1);
        queue->entries = g_ptr_array_new();
        g_hash_table_insert(self->queues, g_strdup(name), queue);
    }
    if (!queue->is_changed)
        g_ptr_array_add(self->changed_queues, g_strdup(name));
    queue->is_changed = TRUE;
    return queue;
}

static void
insert(Queue *queue, Entry *entry)
{
    guint at = queue->entries->len;

    while (at > 0) {
        const Entry *earlier = queue->entries->pdata[at - 1];

        if (web_locks_lock_info_compare(earlier->info, entry->info) <= 0)
            break;
        at--;
    }
    g_ptr_array_insert(queue->entries, (int)at, entry);
}

static void
note_changed(WatchedBucket *self, Entry *entry)
{
    if (!entry->is_changed)
        g_ptr_array_add(self->changed, entry);
    entry->is_changed = TRUE;
}

/* Takes `info`; NULL: it has ended. */
static void
set_info(WatchedBucket *self, Entry *entry, WebLocksLockInfo *info)
{
    if (entry->info != NULL) {
        g_ptr_array_remove(get_queue(self, web_locks_lock_info_get_name(entry->info))->entries,
                           entry);
        g_object_unref(entry->info);
        self->n_live--;
    }
    entry->info = info;
    if (info != NULL) {
        insert(get_queue(self, web_locks_lock_info_get_name(info)), entry);
        self->n_live++;
    }
    if (self->n_live == 0)
        self->after = 0; /* the cursors of an empty bucket restart */
    note_changed(self, entry);
}

/* The clients that a request waits for. */
typedef struct {
    const char *ids[BLOCKERS_MAX + 1]; /* terminated by NULL */
    guint n;
} Blockers;

static void
add_blocker(Blockers *blockers, const char *client_id)
{
    for (guint i = 0; i < blockers->n; i++)
        if (g_str_equal(blockers->ids[i], client_id))
            return;
    blockers->ids[blockers->n++] = client_id;
}

/* Computes positions and blockers as the service does: see `blockedBy` of Inspect. */
static void
update_queue(WatchedBucket *self, const Queue *queue)
{
    Blockers all = {0}, exclusive = {0};
    guint n_considered = 0, position = 0;

    for (guint pass = 0; pass < 2; pass++) {
        for (guint i = 0; i < queue->entries->len; i++) {
            Entry *entry = queue->entries->pdata[i];
            const char *client_id = web_locks_lock_info_get_client_id(entry->info);
            gboolean is_exclusive =
                web_locks_lock_info_get_mode(entry->info) == WEB_LOCKS_MODE_EXCLUSIVE;
            gboolean is_held = web_locks_lock_info_get_held(entry->info);
            WebLocksLockInfo *before = entry->info;

            if (is_held != (pass == 0))
                continue;
            if (!is_held) {
                entry->info = web_locks_lock_info_new_queued(
                    before, ++position, is_exclusive ? all.ids : exclusive.ids);
                client_id = web_locks_lock_info_get_client_id(entry->info);
                if (entry->info != before)
                    note_changed(self, entry);
                g_object_unref(before);
            }
            if (n_considered++ >= BLOCKERS_MAX)
                continue;
            add_blocker(&all, client_id);
            if (is_exclusive)
                add_blocker(&exclusive, client_id);
        }
    }
}

static void
update_queues(WatchedBucket *self)
{
    for (guint i = 0; i < self->changed_queues->len; i++) {
        Queue *queue = g_hash_table_lookup(self->queues, self->changed_queues->pdata[i]);

        queue->is_changed = FALSE;
        update_queue(self, queue);
        if (queue->entries->len == 0)
            g_hash_table_remove(self->queues, self->changed_queues->pdata[i]);
    }
    g_ptr_array_set_size(self->changed_queues, 0);
}

/* ---- the entries */

/* A client id has no space. */
static char *
make_key(const char *client_id, guint64 id)
{
    return g_strdup_printf("%s %" G_GUINT64_FORMAT, client_id, id);
}

void
watched_bucket_clear(WatchedBucket *self)
{
    GHashTableIter iter;
    Entry *entry;

    g_hash_table_iter_init(&iter, self->entries);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&entry))
        if (entry->info != NULL)
            set_info(self, entry, NULL);
    g_hash_table_remove_all(self->awaited);
}

void
watched_bucket_invalidate(WatchedBucket *self)
{
    self->is_stale = TRUE;
}

gboolean
watched_bucket_is_stale(const WatchedBucket *self)
{
    return self->is_stale;
}

/* Takes one entry of Inspect. One that is shown already, and is unchanged, stays the same object.
 */
static void
take(WatchedBucket *self, WebLocksLockInfo *info)
{
    g_autofree char *key =
        make_key(web_locks_lock_info_get_client_id(info), web_locks_lock_info_get_id(info));
    Entry *entry = g_hash_table_lookup(self->entries, key);

    web_locks_lock_info_set_manager(info, self->manager, self->rank);
    g_hash_table_remove(self->awaited, key);
    if (entry == NULL) {
        entry = g_new0(Entry, 1);
        entry->key = g_steal_pointer(&key);
        g_hash_table_insert(self->entries, entry->key, entry);
    }
    if (entry->shown != NULL && web_locks_lock_info_is_unchanged(entry->shown, info))
        info = entry->shown;
    set_info(self, entry, g_object_ref(info));
}

static void
grant(WatchedBucket *self, Entry *entry, guint64 token)
{
    if (!web_locks_lock_info_get_held(entry->info))
        set_info(self, entry, web_locks_lock_info_new_granted(entry->info, token));
}

void
watched_bucket_signal(WatchedBucket *self, const char *member, GVariant *body)
{
    g_autofree char *key = NULL;
    const char *client_id;
    guint64 id, token = 0;
    Entry *entry;
    gboolean is_granted = FALSE, is_released = FALSE;

    if (g_str_equal(member, "Missed")) {
        watched_bucket_invalidate(self);
        return;
    }
    if (body == NULL)
        return;
    if (g_str_equal(member, "Granted") && g_variant_is_of_type(body, G_VARIANT_TYPE("(tssst)")))
        is_granted = TRUE;
    else if (g_str_equal(member, "Released") &&
             g_variant_is_of_type(body, G_VARIANT_TYPE("(tssss)")))
        is_released = TRUE;
    else if (!g_str_equal(member, "Waiting") ||
             !g_variant_is_of_type(body, G_VARIANT_TYPE("(tsss)")))
        return;

    g_variant_get_child(body, 0, "t", &id);
    g_variant_get_child(body, 3, "&s", &client_id);
    key = make_key(client_id, id);
    entry = g_hash_table_lookup(self->entries, key);
    if (is_granted)
        g_variant_get_child(body, 4, "t", &token);
    if (entry == NULL || entry->info == NULL) {
        if (is_released)
            g_hash_table_remove(self->awaited, key);
        else
            g_hash_table_insert(self->awaited, g_steal_pointer(&key), GINT_TO_POINTER(FALSE));
    } else if (is_released) {
        set_info(self, entry, NULL);
    } else if (is_granted) {
        grant(self, entry, token);
    }
}

/* ---- Inspect */

gboolean
watched_bucket_wants_call(const WatchedBucket *self)
{
    return self->is_stale || g_hash_table_size(self->awaited) > 0;
}

MethodCallMessage
watched_bucket_build(WatchedBucket *self)
{
    GHashTableIter iter;

    if (self->is_stale)
        watched_bucket_clear(self);
    self->is_stale = FALSE;
    self->reads_all = self->after == 0;
    g_hash_table_iter_init(&iter, self->awaited);
    while (g_hash_table_iter_next(&iter, NULL, NULL))
        g_hash_table_iter_replace(&iter, GINT_TO_POINTER(TRUE));
    return inspect_page_build(self->manager, self->name, self->after);
}

static gboolean
was_called_for(gpointer key, gpointer value, gpointer data)
{
    return GPOINTER_TO_INT(value);
}

gboolean
watched_bucket_read(WatchedBucket *self, GVariant *body, gboolean *out_more, GError **error)
{
    guint64 after = self->after;
    g_autoptr(GPtrArray) infos = inspect_page_read(body, &after, out_more, error);

    if (infos == NULL)
        return FALSE;
    /* What was missed before this reply is in it or in later pages. So a bucket of which signals
     * are missed all the time is shown, too. */
    if (self->reads_all)
        self->is_stale = FALSE;
    /* No signals are sent for locks of other hosts, so they would not be removed from the lists. */
    for (guint i = 0; i < infos->len; i++)
        if (!web_locks_lock_info_is_of_another_host(infos->pdata[i]))
            take(self, infos->pdata[i]);
    self->after = MAX(self->after, after);
    if (!*out_more) {
        /* What was awaited and is not there does not exist. */
        g_hash_table_foreach_remove(self->awaited, was_called_for, NULL);
    }
    return TRUE;
}

void
watched_bucket_collect(WatchedBucket *self, GArray *changes)
{
    update_queues(self);
    for (guint i = 0; i < self->changed->len; i++) {
        Entry *entry = self->changed->pdata[i];

        entry->is_changed = FALSE;
        if (entry->shown != entry->info) {
            ListChange change = {g_steal_pointer(&entry->shown), NULL};

            g_set_object(&change.now, entry->info);
            g_set_object(&entry->shown, entry->info);
            g_array_append_val(changes, change);
        }
        if (entry->info == NULL)
            g_hash_table_remove(self->entries, entry->key);
    }
    g_ptr_array_set_size(self->changed, 0);
}
