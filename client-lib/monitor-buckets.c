/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The caches of the buckets that a monitor shows, and the method calls by which they are read: the
 * refresh. It calls Watch, Observable for the list of buckets, and Inspect for each bucket of which
 * something is known from signals only. Nothing is polled. */

#include "client-lib/manager-private.h"
#include "client-lib/monitor-private.h"
#include "client-lib/observe.h"
#include "common/bus-names.h"

/* The buckets of others come after the own ones. */
#define RANK_OF_OTHERS (G_GUINT64_CONSTANT(1) << 63)

const char *
web_locks_monitor_get_path(const WebLocksMonitor *self)
{
    return self->manager != NULL ? web_locks_manager_get_path(self->manager) : BUS_SERVICE_PATH;
}

void
web_locks_monitor_add_bucket(WebLocksMonitor *self, WebLocksManager *manager)
{
    guint64 rank = ++self->n_added | (web_locks_manager_get_observed(manager) ? RANK_OF_OTHERS : 0);
    BucketCache *bucket = bucket_cache_new(manager, self->name, rank);

    g_ptr_array_add(self->buckets, bucket);
    g_hash_table_insert(self->by_path, (gpointer)web_locks_manager_get_path(manager), bucket);
}

static void
drop_bucket(WebLocksMonitor *self, guint at)
{
    BucketCache *bucket = g_ptr_array_steal_index(self->buckets, at);

    g_hash_table_remove(self->by_path, web_locks_manager_get_path(bucket->manager));
    bucket_cache_clear(bucket);
    g_ptr_array_add(self->dropped, bucket);
}

/* Takes the reply to Observable. A bucket keeps its place and its manager as long as it is listed.
 */
static void
take_managers(WebLocksMonitor *self, GPtrArray *managers)
{
    g_autoptr(GHashTable) listed = g_hash_table_new(g_str_hash, g_str_equal);

    for (guint i = 0; i < managers->len; i++)
        g_hash_table_add(listed, (gpointer)web_locks_manager_get_path(managers->pdata[i]));
    for (guint i = self->buckets->len; i > 0; i--) {
        const BucketCache *bucket = self->buckets->pdata[i - 1];

        if (!g_hash_table_contains(listed, web_locks_manager_get_path(bucket->manager)))
            drop_bucket(self, i - 1);
    }
    for (guint i = 0; i < managers->len; i++)
        if (!g_hash_table_contains(self->by_path, web_locks_manager_get_path(managers->pdata[i])))
            web_locks_monitor_add_bucket(self, managers->pdata[i]);
    /* A bucket of which a signal has come before the reply is in the list, or empty again. */
    self->is_list_stale = FALSE;
}

/* ---- signals
 *
 * A bucket that has been read in this refresh is not changed again before its changes are shown:
 * otherwise it might never be shown. */

/* What has been read in this refresh is read again after it. */
static void
invalidate(WebLocksMonitor *self)
{
    self->is_list_stale = self->manager == NULL;
    for (guint i = self->at; i < self->buckets->len; i++)
        ((BucketCache *)self->buckets->pdata[i])->is_stale = TRUE;
    self->inbox->is_missing = self->at > 0;
}

static gboolean
is_for_later(WebLocksMonitor *self, gpointer bucket)
{
    guint index;

    return self->at > 0 && g_ptr_array_find(self->buckets, bucket, &index) && index < self->at;
}

static void
apply_signal(WebLocksMonitor *self, GDBusMessage *signal)
{
    const char *path = g_dbus_message_get_path(signal);
    const char *member = g_dbus_message_get_member(signal);
    BucketCache *bucket = g_hash_table_lookup(self->by_path, path);

    if (bucket != NULL && is_for_later(self, bucket))
        g_queue_push_tail(&self->later, g_object_ref(signal));
    else if (bucket != NULL)
        bucket_cache_signal(bucket, member, g_dbus_message_get_body(signal));
    else if (g_str_equal(path, BUS_SERVICE_PATH)) /* it is Missed */
        invalidate(self);
    else if (!g_str_equal(member, "Released"))
        self->is_list_stale = self->manager == NULL;
}

static void
apply_signals(WebLocksMonitor *self)
{
    GDBusMessage *signal;

    if (self->inbox->is_missing)
        invalidate(self);
    while ((signal = g_queue_pop_head(&self->inbox->signals)) != NULL) {
        apply_signal(self, signal);
        g_object_unref(signal);
    }
}

/* ---- the calls of a refresh */

static gboolean
needs_list(const WebLocksMonitor *self)
{
    return self->at == 0 && self->is_list_stale;
}

/* Finds what is to be read next. Returns FALSE if there is nothing. */
static gboolean
advance(WebLocksMonitor *self)
{
    if (needs_list(self))
        return TRUE;
    while (self->at < self->buckets->len &&
           !bucket_cache_wants_call(self->buckets->pdata[self->at]))
        self->at++;
    return self->at < self->buckets->len;
}

static MethodCallMessage
build_watch(WebLocksMonitor *self)
{
    self->is_watch_asked = TRUE;
    return (MethodCallMessage){web_locks_monitor_get_path(self),
                               self->manager != NULL ? BUS_LOCKS_INTERFACE : BUS_SERVICE_INTERFACE,
                               "Watch", g_variant_new("(b)", TRUE)};
}

static MethodCallMessage
build_call(gpointer data)
{
    WebLocksMonitor *self = data;

    if (!self->inbox->is_watched) {
        self->call = MONITOR_CALL_WATCH;
        return build_watch(self);
    }
    if (needs_list(self)) {
        self->call = MONITOR_CALL_LIST;
        return observable_build(self->agent);
    }
    self->call = MONITOR_CALL_INSPECT;
    return bucket_cache_build(self->buckets->pdata[self->at]);
}

static gboolean
read_list(WebLocksMonitor *self, GVariant *body, GError **error)
{
    g_autoptr(GPtrArray) managers = observable_read(body, self->agent, error);

    if (managers != NULL)
        take_managers(self, managers);
    return managers != NULL;
}

/* Everything is read after Watch has been called: the service may be another one. */
static void
begin_watch(WebLocksMonitor *self)
{
    self->inbox->is_watched = TRUE;
    self->at = 0;
    g_queue_clear_full(&self->later, g_object_unref);
    invalidate(self);
    for (guint i = 0; i < self->buckets->len; i++)
        ((BucketCache *)self->buckets->pdata[i])->has_more = FALSE;
}

static gboolean
read_bucket(WebLocksMonitor *self, GVariant *body, GError **error)
{
    BucketCache *bucket = self->buckets->pdata[self->at];

    if (!bucket_cache_read(bucket, body, error))
        return FALSE;
    if (!bucket->has_more)
        self->at++;
    return TRUE;
}

/* Returns NULL without an error if another call has to follow. */
static gpointer
read_reply(GVariant *body, gpointer data, GError **error)
{
    WebLocksMonitor *self = data;

    apply_signals(self);
    if (self->call == MONITOR_CALL_WATCH) {
        begin_watch(self);
    } else if (!self->inbox->is_watched) {
        return NULL; /* this is a reply of another service than the one that was watched */
    } else {
        gboolean is_read = self->call == MONITOR_CALL_LIST ? read_list(self, body, error)
                                                           : read_bucket(self, body, error);

        if (!is_read)
            return NULL;
    }
    return advance(self) ? NULL : self;
}

const MethodCallKind web_locks_monitor_refresh = {build_call, read_reply};

/* ---- for the monitor */

gboolean
web_locks_monitor_catch_up(WebLocksMonitor *self)
{
    apply_signals(self);
    return advance(self) || !self->inbox->is_watched;
}

gboolean
web_locks_monitor_end_refresh(WebLocksMonitor *self)
{
    MonitorInbox *inbox = self->inbox;
    GDBusMessage *signal;
    gboolean has_more;

    self->at = 0;
    while ((signal = g_queue_pop_tail(&self->later)) != NULL)
        g_queue_push_head(&inbox->signals, signal);
    has_more = inbox->is_missing || !g_queue_is_empty(&inbox->signals) ||
               (inbox->is_watched && advance(self));
    self->at = 0;
    return has_more;
}
