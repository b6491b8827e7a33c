/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/agent-private.h"
#include "client-lib/bucket-cache.h"
#include "client-lib/engine/connection.h"
#include "client-lib/lock-info-private.h"
#include "client-lib/manager-private.h"
#include "client-lib/monitor-private.h"
#include "client-lib/observe.h"
#include "common/bus-names.h"
#include "common/sorted-list.h"

/* The service sends a signal for each change. Signals are queued when they arrive (Inbox), and
 * applied to the caches of the buckets (bucket-cache.h) and then to the lists a little later, in
 * the main context of the monitor. If something has to be read for that, a refresh makes method
 * calls first: Watch, Observable for the list of buckets, and Inspect for each bucket. Nothing is
 * polled.
 *
 * An update is what is done at a time. While it is going on, `is_busy` is set, and nothing else
 * uses the caches: `build` and `read` of the calls, which run in any thread with the session lock
 * held, nor the main context. */

/* The delay after a failed refresh although there is a service. */
#define RETRY_MS 1000
/* The delay after a signal. Signals of one change, such as the end of a stolen lock and its new
 * holder, arrive within this time, and bursts of signals cause few calls. */
#define BURST_MS 20
/* If so many signals are queued because the main context does not run, everything is read again. */
#define SIGNALS_MAX 4096

/* No signals are sent for what other hosts hold or wait for. It is read again after this time, then
 * after twice as much, and so on: each time the servers of the cluster are asked. */
#define HOSTS_MS     2000
#define HOSTS_MAX_MS 64000

/* The buckets of others come after the own ones. */
#define RANK_OF_OTHERS (G_GUINT64_CONSTANT(1) << 63)

/* What has arrived for a monitor. It is accessed with the session lock held, when the monitor must
 * not be referenced: dropping that might be dropping the last reference. */
typedef struct {
    GWeakRef monitor;
    Session *session;
    GSource *timer;      /* of the next update */
    GQueue signals;      /* of GDBusMessage */
    gboolean is_missing; /* signals were dropped */
    gboolean is_watched; /* the service sends signals */
} Inbox;

typedef enum {
    CALL_WATCH,
    CALL_LIST,
    CALL_INSPECT,
} Call;

/**
 * WebLocksMonitor:
 *
 * The held locks and pending requests of a storage bucket, or of all buckets that the agent may
 * look at, in list models that are updated.
 *
 * The items are [class@WebLocks.LockInfo] with all their properties; their bucket is
 * [property@WebLocks.LockInfo:manager]. A request is one item until its lock ends: it changes, and
 * emits "notify", and when it is granted it moves from [property@WebLocks.Monitor:pending] to
 * [property@WebLocks.Monitor:held]. The list of held locks changes first, then that of pending
 * requests; then "notify" of the items is emitted, and then [signal@WebLocks.Monitor::changed].
 *
 * The bucket may be that of another principal: see web_locks_agent_list_observable_async(). The
 * monitor is notified of every change, and doesn't poll. If there is no lock service, and none can
 * be started, the lists are empty until there is one; after a restart of the service they show its
 * new state.
 *
 * Of a bucket that several hosts share, only locks and requests of this host are shown, except by
 * the monitor of a name: see web_locks_monitor_new_for_name().
 *
 * The lists change in the main context of the agent.
 *
 * Since: 0.1
 */
struct _WebLocksMonitor {
    GObject parent;
    WebLocksAgent *agent;
    WebLocksManager *manager; /* NULL: all buckets */
    char *name;               /* NULL: all names */
    GMainContext *context;    /* in which the lists change */
    ShownList held;
    ShownList pending;

    SignalSubscription subscription;
    Inbox *inbox;
    gboolean is_watch_asked; /* Watch was called, so it has to be disabled */
    GTask *ready;            /* web_locks_monitor_new_async() */
    int is_busy;             /* atomic */
    GPtrArray *buckets;      /* of BucketCache */
    GHashTable *by_path;     /* the same, by object path */
    GPtrArray *dropped;      /* BucketCaches that are empty, but in the lists */
    guint64 n_added;         /* how many buckets there have ever been */
    guint hosts_ms;          /* until what other hosts hold is read again; 0: it is not shown */
    gint64 hosts_due_us;     /* likewise; monotonic */
    gboolean is_list_stale;  /* there may be buckets that are not in `buckets` */

    /* The refresh. */
    Call call;
    guint at;                  /* buckets before this one have been read */
    GQueue later;              /* signals of those, since then */
    gboolean is_missing_later; /* likewise, signals were dropped */
};

G_DEFINE_FINAL_TYPE(WebLocksMonitor, web_locks_monitor, G_TYPE_OBJECT)

enum {
    PROP_MANAGER = 1,
    PROP_HELD,
    PROP_PENDING,
    N_PROPS,
};
static GParamSpec *properties[N_PROPS];

static guint changed_signal;

static void update(WebLocksMonitor *self);

static Connection *
get_connection(WebLocksMonitor *self)
{
    return web_locks_agent_get_connection(self->agent);
}

/* ---- the inbox */

static void
clear_signals(GQueue *signals)
{
    g_queue_clear_full(signals, g_object_unref);
}

static void
inbox_clear(gpointer data)
{
    Inbox *self = data;

    g_weak_ref_clear(&self->monitor);
    clear_signals(&self->signals);
    session_unref(self->session);
    g_source_unref(self->timer);
}

static void
inbox_unref(gpointer data)
{
    g_atomic_rc_box_release_full(data, inbox_clear);
}

/* Starts the timer, unless it expires earlier anyway. */
static void
inbox_update_in(Inbox *self, guint ms)
{
    const gint64 due_us = g_get_monotonic_time() + (gint64)ms * G_TIME_SPAN_MILLISECOND;
    const gint64 set_us = g_source_get_ready_time(self->timer);

    if (set_us < 0 || due_us < set_us)
        g_source_set_ready_time(self->timer, due_us);
}

/* Called with the session lock held, for a signal or, with NULL, if the service is another one or
 * has ended. */
static void
on_changed(GDBusMessage *signal, gpointer data)
{
    Inbox *self = data;

    if (signal == NULL || self->signals.length == SIGNALS_MAX) {
        clear_signals(&self->signals);
        self->is_missing = TRUE;
    }
    if (signal == NULL)
        self->is_watched = FALSE;
    else
        g_queue_push_tail(&self->signals, g_object_ref(signal));
    inbox_update_in(self, BURST_MS);
}

static gboolean
on_timer(gpointer data)
{
    g_autoptr(WebLocksMonitor) self = g_weak_ref_get(&((Inbox *)data)->monitor);

    if (self == NULL)
        return G_SOURCE_CONTINUE;
    /* Results are to be delivered in the current context. */
    g_main_context_push_thread_default(self->context);
    update(self);
    g_main_context_pop_thread_default(self->context);
    return G_SOURCE_CONTINUE;
}

static gboolean
timer_dispatch(GSource *timer, GSourceFunc callback, gpointer data)
{
    Session *session = ((Inbox *)data)->session;

    session_enter(session);
    g_source_set_ready_time(timer, -1);
    session_leave(session);
    return callback(data);
}

static Inbox *
inbox_new(WebLocksMonitor *monitor)
{
    static GSourceFuncs funcs = {.dispatch = timer_dispatch};
    Inbox *self = g_atomic_rc_box_new0(Inbox);

    g_weak_ref_init(&self->monitor, monitor);
    self->session = session_ref(connection_get_session(get_connection(monitor)));
    self->timer = g_source_new(&funcs, sizeof(GSource));
    g_source_set_static_name(self->timer, "weblocks-monitor");
    g_source_set_callback(self->timer, on_timer, g_atomic_rc_box_acquire(self), inbox_unref);
    g_source_attach(self->timer, monitor->context);
    return self;
}

/* ---- the buckets */

static const char *
get_path(const WebLocksMonitor *self)
{
    return self->manager != NULL ? web_locks_manager_get_path(self->manager) : BUS_SERVICE_PATH;
}

static void
add_bucket(WebLocksMonitor *self, WebLocksManager *manager)
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

    g_hash_table_remove(self->by_path,
                        web_locks_manager_get_path(bucket_cache_get_manager(bucket)));
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
        WebLocksManager *manager = bucket_cache_get_manager(self->buckets->pdata[i - 1]);

        if (!g_hash_table_contains(listed, web_locks_manager_get_path(manager)))
            drop_bucket(self, i - 1);
    }
    for (guint i = 0; i < managers->len; i++)
        if (!g_hash_table_contains(self->by_path, web_locks_manager_get_path(managers->pdata[i])))
            add_bucket(self, managers->pdata[i]);
    /* A bucket of which a signal has come before the reply is in the list, or empty again. */
    self->is_list_stale = FALSE;
}

/* ---- signals
 *
 * A bucket that has been read in this refresh is not changed again before its changes are shown:
 * otherwise it might never be shown. */

static void
invalidate(WebLocksMonitor *self)
{
    self->is_list_stale = self->manager == NULL;
    for (guint i = self->at; i < self->buckets->len; i++)
        bucket_cache_invalidate(self->buckets->pdata[i]);
    self->is_missing_later = self->at > 0;
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

/* Called with the session lock held. */
static void
apply_signals(WebLocksMonitor *self)
{
    GDBusMessage *signal;

    if (self->inbox->is_missing)
        invalidate(self);
    self->inbox->is_missing = FALSE;
    while ((signal = g_queue_pop_head(&self->inbox->signals)) != NULL) {
        apply_signal(self, signal);
        g_object_unref(signal);
    }
}

/* ---- the calls of a refresh, with the session lock held */

/* Chooses the next call. Returns FALSE if there is none. */
static gboolean
choose_call(WebLocksMonitor *self)
{
    if (self->at == 0 && self->is_list_stale) {
        self->call = CALL_LIST;
        return TRUE;
    }
    self->call = CALL_INSPECT;
    while (self->at < self->buckets->len &&
           !bucket_cache_wants_call(self->buckets->pdata[self->at]))
        self->at++;
    return self->at < self->buckets->len;
}

static MethodCallMessage
build_watch(WebLocksMonitor *self)
{
    self->is_watch_asked = TRUE;
    return (MethodCallMessage){get_path(self),
                               self->manager != NULL ? BUS_LOCKS_INTERFACE : BUS_SERVICE_INTERFACE,
                               "Watch", g_variant_new("(b)", TRUE)};
}

static MethodCallMessage
build_call(gpointer monitor)
{
    WebLocksMonitor *self = monitor;

    if (!self->inbox->is_watched)
        self->call = CALL_WATCH;
    switch (self->call) {
    case CALL_LIST:
        return observable_build(self->agent);
    case CALL_INSPECT:
        return bucket_cache_build(self->buckets->pdata[self->at]);
    case CALL_WATCH:
    default:
        return build_watch(self);
    }
}

static gboolean
read_list(WebLocksMonitor *self, GVariant *body, GError **error)
{
    g_autoptr(GPtrArray) managers = observable_read(body, self->agent, error);

    if (managers != NULL)
        take_managers(self, managers);
    return managers != NULL;
}

/* Everything is read after Watch has been called. */
static void
begin_watch(WebLocksMonitor *self)
{
    self->inbox->is_watched = TRUE;
    self->at = 0;
    clear_signals(&self->later);
    invalidate(self);
    for (guint i = 0; i < self->buckets->len; i++)
        bucket_cache_restart(self->buckets->pdata[i]);
}

static gboolean
read_bucket(WebLocksMonitor *self, GVariant *body, GError **error)
{
    BucketCache *bucket = self->buckets->pdata[self->at];

    if (!bucket_cache_read(bucket, body, error))
        return FALSE;
    if (!bucket_cache_has_more(bucket))
        self->at++;
    return TRUE;
}

/* The result is not used. Returns NULL without an error if another call has to follow. */
static gpointer
read_reply(GVariant *body, gpointer monitor, GError **error)
{
    WebLocksMonitor *self = monitor;

    apply_signals(self);
    if (self->call == CALL_WATCH) {
        begin_watch(self);
    } else if (!self->inbox->is_watched) {
        return NULL; /* this is a reply of another service than the one that was watched */
    } else {
        gboolean is_read =
            self->call == CALL_LIST ? read_list(self, body, error) : read_bucket(self, body, error);

        if (!is_read)
            return NULL;
    }
    return choose_call(self) ? NULL : self;
}

static const MethodCallKind refresh_kind = {build_call, read_reply};

/* ---- the lists */

static int
compare_items(gconstpointer a, gconstpointer b)
{
    return web_locks_lock_info_compare(*(const gpointer *)a, *(const gpointer *)b);
}

/* Returns whether anything has changed. */
static gboolean
change_list(ShownList *list)
{
    const gboolean is_changed = list->removed->len > 0 || list->added->len > 0;

    g_ptr_array_sort(list->removed, compare_items);
    sorted_list_remove(list->store, list->removed, web_locks_lock_info_compare);
    g_ptr_array_set_size(list->removed, 0);
    g_ptr_array_sort(list->added, compare_items);
    sorted_list_insert(list->store, list->added, web_locks_lock_info_compare);
    g_ptr_array_set_size(list->added, 0);
    return is_changed;
}

static void
thaw(gpointer info)
{
    g_object_thaw_notify(info);
    g_object_unref(info);
}

static void
collect(WebLocksMonitor *self, GPtrArray *frozen)
{
    for (guint i = 0; i < self->dropped->len; i++)
        bucket_cache_collect(self->dropped->pdata[i], &self->held, &self->pending, frozen);
    g_ptr_array_set_size(self->dropped, 0);
    for (guint i = 0; i < self->buckets->len; i++)
        bucket_cache_collect(self->buckets->pdata[i], &self->held, &self->pending, frozen);
}

/* All that signals have reported has been read, so the lists don't show a stolen lock as one that
 * nobody holds. */
static void
update_lists(WebLocksMonitor *self)
{
    g_autoptr(GPtrArray) frozen = g_ptr_array_new_with_free_func(thaw);
    gboolean is_changed;

    collect(self, frozen);
    is_changed = frozen->len > 0;
    is_changed |= change_list(&self->held);
    is_changed |= change_list(&self->pending);
    if (!is_changed)
        return;
    g_ptr_array_set_size(frozen, 0);
    g_signal_emit(self, changed_signal, 0);
}

/* ---- updates */

/* Returns when to update again even without a signal; 0: not at all. */
static guint
plan_hosts(WebLocksMonitor *self)
{
    const gint64 now_us = g_get_monotonic_time();

    if (self->hosts_ms == 0)
        return 0;
    if (now_us >= self->hosts_due_us) {
        self->hosts_due_us = now_us + self->hosts_ms * G_TIME_SPAN_MILLISECOND;
        self->hosts_ms = MIN(2 * self->hosts_ms, HOSTS_MAX_MS);
    }
    return (guint)((self->hosts_due_us - now_us) / G_TIME_SPAN_MILLISECOND) + 1;
}

/* `next_ms` as above. */
static void
end_update(WebLocksMonitor *self, guint next_ms)
{
    Inbox *inbox = self->inbox;
    GDBusMessage *signal;

    session_enter(inbox->session);
    self->at = 0;
    inbox->is_missing |= self->is_missing_later;
    self->is_missing_later = FALSE;
    while ((signal = g_queue_pop_tail(&self->later)) != NULL)
        g_queue_push_head(&inbox->signals, signal);
    if (next_ms > 0)
        inbox_update_in(inbox, next_ms);
    if (inbox->is_missing || !g_queue_is_empty(&inbox->signals) ||
        (inbox->is_watched && choose_call(self)))
        inbox_update_in(inbox, BURST_MS);
    self->at = 0;
    g_atomic_int_set(&self->is_busy, FALSE);
    session_leave(inbox->session);
}

static void
finish_update(WebLocksMonitor *self)
{
    update_lists(self);
    end_update(self, plan_hosts(self));
}

static void
fail_update(WebLocksMonitor *self, const GError *error)
{
    Session *session = self->inbox->session;

    g_debug("%s can't be seen: %s", get_path(self), error->message);
    session_enter(session);
    self->inbox->is_watched = FALSE;
    session_leave(session);
    if (connection_is_served(get_connection(self))) {
        end_update(self, RETRY_MS); /* it is slow or shutting down: the lists may still be right */
        return;
    }
    for (guint i = 0; i < self->buckets->len; i++)
        bucket_cache_clear(self->buckets->pdata[i]);
    finish_update(self);
}

static void
on_refreshed(GObject *source, GAsyncResult *result, gpointer data)
{
    WebLocksMonitor *self = WEB_LOCKS_MONITOR(source);
    g_autoptr(GTask) ready = g_steal_pointer(&self->ready);
    g_autoptr(GError) error = NULL;
    const gboolean is_done = g_task_propagate_pointer(G_TASK(result), &error) != NULL;

    if (is_done)
        finish_update(self);
    else if (ready == NULL)
        fail_update(self, error);

    if (ready != NULL && is_done)
        g_task_return_pointer(ready, g_object_ref(self), g_object_unref);
    else if (ready != NULL)
        g_task_return_error(ready, g_steal_pointer(&error));
}

static void
start_refresh(WebLocksMonitor *self)
{
    GTask *task = g_task_new(self, self->ready != NULL ? g_task_get_cancellable(self->ready) : NULL,
                             on_refreshed, NULL);

    connection_call(get_connection(self), &refresh_kind, self, caller_of_task(task));
}

/* One that begins while another is going on follows it: see end_update(). */
static void
update(WebLocksMonitor *self)
{
    Session *session = self->inbox->session;
    gboolean needs_call;

    if (!g_atomic_int_compare_and_exchange(&self->is_busy, FALSE, TRUE))
        return;
    if (self->hosts_ms > 0 && g_get_monotonic_time() >= self->hosts_due_us)
        bucket_cache_poll_hosts(self->buckets->pdata[0]);
    session_enter(session);
    apply_signals(self);
    needs_call = choose_call(self) || !self->inbox->is_watched;
    session_leave(session);
    if (needs_call)
        start_refresh(self);
    else
        finish_update(self);
}

/* ---- making one */

static WebLocksMonitor *
monitor_new(WebLocksAgent *agent, WebLocksManager *manager, const char *name, GMainContext *context)
{
    WebLocksMonitor *self = g_object_new(WEB_LOCKS_TYPE_MONITOR, NULL);

    self->agent = g_object_ref(agent);
    self->manager = manager != NULL ? g_object_ref(manager) : NULL;
    self->name = g_strdup(name);
    self->context = g_main_context_ref(context);
    self->is_busy = TRUE; /* before there are signals: the caller starts the first refresh */
    if (manager != NULL)
        add_bucket(self, manager);
    if (name != NULL && g_str_has_prefix(web_locks_manager_get_bucket(manager), BUS_CLUSTER_PREFIX))
        self->hosts_ms = HOSTS_MS;
    self->inbox = inbox_new(self);
    self->subscription.path = get_path(self);
    self->subscription.name = self->name;
    self->subscription.changed = on_changed;
    self->subscription.data = self->inbox;
    session_enter(self->inbox->session);
    connection_subscribe(get_connection(self), &self->subscription);
    session_leave(self->inbox->session);
    return self;
}

static WebLocksMonitor *
monitor_new_in_agents_context(WebLocksAgent *agent, WebLocksManager *manager)
{
    return monitor_new(agent, manager, NULL,
                       connection_get_context(web_locks_agent_get_connection(agent)));
}

WebLocksMonitor *
web_locks_monitor_new_of_name(WebLocksManager *manager, const char *name, GMainContext *context)
{
    WebLocksMonitor *self =
        monitor_new(web_locks_manager_get_agent(manager), manager, name, context);

    g_main_context_push_thread_default(context);
    start_refresh(self);
    g_main_context_pop_thread_default(context);
    return self;
}

static void
monitor_new_begin(WebLocksAgent *agent, WebLocksManager *manager, GTask *task)
{
    WebLocksMonitor *self = monitor_new_in_agents_context(agent, manager);

    self->ready = task;
    start_refresh(self);
    g_object_unref(self);
}

static WebLocksMonitor *
monitor_new_wait(WebLocksAgent *agent,
                 WebLocksManager *manager,
                 GCancellable *cancellable,
                 GError **error)
{
    g_autoptr(WebLocksMonitor) self = monitor_new_in_agents_context(agent, manager);
    SyncCall sync;

    connection_call(get_connection(self), &refresh_kind, self, caller_of_sync(&sync, cancellable));
    if (sync_call_wait(&sync, error) == NULL)
        return NULL;
    finish_update(self);
    return g_steal_pointer(&self);
}

/**
 * web_locks_monitor_new_async:
 * @manager: the bucket
 * @cancellable: (nullable): ends the wait
 * @callback: (scope async) (nullable): called when the lists are there
 * @user_data: for @callback
 *
 * Creates a monitor of a bucket.
 *
 * Since: 0.1
 */
void
web_locks_monitor_new_async(WebLocksManager *manager,
                            GCancellable *cancellable,
                            GAsyncReadyCallback callback,
                            gpointer user_data)
{
    GTask *task;
    GError *error = NULL;

    g_return_if_fail(WEB_LOCKS_IS_MANAGER(manager));
    g_return_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable));

    task = g_task_new(NULL, cancellable, callback, user_data);
    g_task_set_source_tag(task, web_locks_monitor_new_async);
    if (!web_locks_manager_check_bucket(manager, &error)) {
        g_task_return_error(task, error);
        g_object_unref(task);
        return;
    }
    monitor_new_begin(web_locks_manager_get_agent(manager), manager, task);
}

/**
 * web_locks_monitor_new_finish:
 * @result: the result of web_locks_monitor_new_async()
 * @error: return location for an error
 *
 * Finishes an operation started with web_locks_monitor_new_async().
 *
 * Errors: `G_IO_ERROR_CANCELLED`, [error@WebLocks.Error.LIMITS] (a client can watch 64 buckets),
 * [error@WebLocks.Error.SECURITY], [error@WebLocks.Error.INVALID_STATE] and
 * [error@WebLocks.Error.UNAVAILABLE].
 *
 * Returns: (transfer full): a monitor whose lists are filled
 * Since: 0.1
 */
WebLocksMonitor *
web_locks_monitor_new_finish(GAsyncResult *result, GError **error)
{
    g_return_val_if_fail(g_task_is_valid(result, NULL), NULL);
    g_return_val_if_fail(g_async_result_is_tagged(result, web_locks_monitor_new_async), NULL);
    return g_task_propagate_pointer(G_TASK(result), error);
}

/**
 * web_locks_monitor_new_sync:
 * @manager: the bucket
 * @cancellable: (nullable): ends the wait
 * @error: return location for an error
 *
 * Creates a monitor of a bucket, and waits until its lists are filled.
 *
 * See web_locks_monitor_new_finish() for errors.
 *
 * It waits for at most 25 seconds, and then fails with [error@WebLocks.Error.UNAVAILABLE].
 *
 * Returns: (transfer full): a monitor whose lists are filled
 * Since: 0.1
 */
WebLocksMonitor *
web_locks_monitor_new_sync(WebLocksManager *manager, GCancellable *cancellable, GError **error)
{
    g_return_val_if_fail(WEB_LOCKS_IS_MANAGER(manager), NULL);
    g_return_val_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable), NULL);
    if (!web_locks_manager_check_bucket(manager, error))
        return NULL;
    return monitor_new_wait(web_locks_manager_get_agent(manager), manager, cancellable, error);
}

/**
 * web_locks_monitor_new_all_async:
 * @agent: an agent
 * @cancellable: (nullable): cancels the operation
 * @callback: (scope async) (nullable): called when the operation has finished
 * @user_data: for @callback
 *
 * Creates a monitor of all buckets that the agent may look at, as
 * web_locks_agent_list_observable_async() lists them, including buckets that are created later.
 *
 * The lists contain the locks and requests of all these buckets; those of one bucket are next to
 * each other, and the caller's own buckets come first. [property@WebLocks.LockInfo:manager] is the
 * bucket of an item; the same object for all items of a bucket while it has any.
 *
 * Since: 0.1
 */
void
web_locks_monitor_new_all_async(WebLocksAgent *agent,
                                GCancellable *cancellable,
                                GAsyncReadyCallback callback,
                                gpointer user_data)
{
    GTask *task;

    g_return_if_fail(WEB_LOCKS_IS_AGENT(agent));
    g_return_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable));

    task = g_task_new(NULL, cancellable, callback, user_data);
    g_task_set_source_tag(task, web_locks_monitor_new_all_async);
    monitor_new_begin(agent, NULL, task);
}

/**
 * web_locks_monitor_new_all_finish:
 * @result: the result of web_locks_monitor_new_all_async()
 * @error: return location for an error
 *
 * Finishes an operation started with web_locks_monitor_new_all_async().
 *
 * Errors: `G_IO_ERROR_CANCELLED`, [error@WebLocks.Error.LIMITS] (a client can have 64 watches),
 * [error@WebLocks.Error.SECURITY], [error@WebLocks.Error.INVALID_STATE] and
 * [error@WebLocks.Error.UNAVAILABLE].
 *
 * Returns: (transfer full): a monitor whose lists are filled
 * Since: 0.1
 */
WebLocksMonitor *
web_locks_monitor_new_all_finish(GAsyncResult *result, GError **error)
{
    g_return_val_if_fail(g_task_is_valid(result, NULL), NULL);
    g_return_val_if_fail(g_async_result_is_tagged(result, web_locks_monitor_new_all_async), NULL);
    return g_task_propagate_pointer(G_TASK(result), error);
}

/**
 * web_locks_monitor_new_all_sync:
 * @agent: an agent
 * @cancellable: (nullable): cancels the operation
 * @error: return location for an error
 *
 * Creates a monitor of all buckets that the agent may look at, and waits until its lists are
 * filled: see web_locks_monitor_new_all_async().
 *
 * See web_locks_monitor_new_all_finish() for errors.
 *
 * It waits for at most 25 seconds, and then fails with [error@WebLocks.Error.UNAVAILABLE].
 *
 * Returns: (transfer full): a monitor whose lists are filled
 * Since: 0.1
 */
WebLocksMonitor *
web_locks_monitor_new_all_sync(WebLocksAgent *agent, GCancellable *cancellable, GError **error)
{
    g_return_val_if_fail(WEB_LOCKS_IS_AGENT(agent), NULL);
    g_return_val_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable), NULL);
    return monitor_new_wait(agent, NULL, cancellable, error);
}

/**
 * web_locks_monitor_new_for_name:
 * @manager: the bucket
 * @name: the resource name
 * @error: return location for an error
 *
 * Creates a monitor of one name: who holds the lock, and who waits for it.
 *
 * Unlike other monitors it exists immediately, with empty lists, which are filled when the lock
 * service replies. They stay empty if there is none, or while it refuses, for example because the
 * client watches 64 buckets already.
 *
 * In a bucket that several hosts share, what other hosts hold or wait for comes at the end of the
 * lists. The service is not notified of it, so it is read again with each change on this host, and
 * after 2 seconds, 4 seconds, and so on, up to 64 seconds. Each time its items are replaced.
 *
 * Errors: `G_IO_ERROR_INVALID_ARGUMENT`, and [error@WebLocks.Error.LIMITS] if the name is too long.
 *
 * Returns: (transfer full): a new monitor
 * Since: 0.1
 */
WebLocksMonitor *
web_locks_monitor_new_for_name(WebLocksManager *manager, const char *name, GError **error)
{
    g_return_val_if_fail(WEB_LOCKS_IS_MANAGER(manager), NULL);
    g_return_val_if_fail(name != NULL, NULL);

    if (!web_locks_manager_check_bucket(manager, error) ||
        !web_locks_manager_check_name(name, error))
        return NULL;
    return web_locks_monitor_new_of_name(
        manager, name, connection_get_context(web_locks_manager_get_connection(manager)));
}

/**
 * web_locks_monitor_get_manager:
 * @self: a monitor
 *
 * Gets the bucket that is monitored.
 *
 * Returns: (transfer none) (nullable): the manager; %NULL if all buckets are monitored
 * Since: 0.1
 */
WebLocksManager *
web_locks_monitor_get_manager(WebLocksMonitor *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_MONITOR(self), NULL);
    return self->manager;
}

/**
 * web_locks_monitor_get_held:
 * @self: a monitor
 *
 * Gets the held locks.
 *
 * Returns: (transfer none): a list model of [class@WebLocks.LockInfo]
 * Since: 0.1
 */
GListModel *
web_locks_monitor_get_held(WebLocksMonitor *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_MONITOR(self), NULL);
    return G_LIST_MODEL(self->held.store);
}

/**
 * web_locks_monitor_get_pending:
 * @self: a monitor
 *
 * Gets the pending requests; those for one name are in the order in which they were made.
 *
 * Returns: (transfer none): a list model of [class@WebLocks.LockInfo]
 * Since: 0.1
 */
GListModel *
web_locks_monitor_get_pending(WebLocksMonitor *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_MONITOR(self), NULL);
    return G_LIST_MODEL(self->pending.store);
}

/* ---- the end */

static void
close_inbox(WebLocksMonitor *self)
{
    Session *session = self->inbox->session;

    session_enter(session);
    if (session_is_of_this_process(session))
        connection_unsubscribe(get_connection(self), &self->subscription, self->is_watch_asked);
    session_leave(session);
    g_source_destroy(self->inbox->timer);
    inbox_unref(self->inbox);
}

static void
list_clear(ShownList *self)
{
    g_object_unref(self->store);
    g_ptr_array_unref(self->added);
    g_ptr_array_unref(self->removed);
}

static void
web_locks_monitor_finalize(GObject *object)
{
    WebLocksMonitor *self = WEB_LOCKS_MONITOR(object);

    if (self->inbox != NULL)
        close_inbox(self);
    clear_signals(&self->later);
    g_hash_table_unref(self->by_path);
    g_ptr_array_unref(self->buckets);
    g_ptr_array_unref(self->dropped);
    g_clear_object(&self->manager);
    g_clear_object(&self->agent);
    g_clear_pointer(&self->context, g_main_context_unref);
    g_free(self->name);
    list_clear(&self->held);
    list_clear(&self->pending);
    G_OBJECT_CLASS(web_locks_monitor_parent_class)->finalize(object);
}

/* ---- GObject */

static void
web_locks_monitor_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
    WebLocksMonitor *self = WEB_LOCKS_MONITOR(object);

    switch (id) {
    case PROP_MANAGER:
        g_value_set_object(value, self->manager);
        break;
    case PROP_HELD:
        g_value_set_object(value, self->held.store);
        break;
    case PROP_PENDING:
        g_value_set_object(value, self->pending.store);
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
    }
}

static void
web_locks_monitor_class_init(WebLocksMonitorClass *class)
{
    GObjectClass *object_class = G_OBJECT_CLASS(class);
    const GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

    object_class->get_property = web_locks_monitor_get_property;
    object_class->finalize = web_locks_monitor_finalize;

    /**
     * WebLocksMonitor:manager:
     *
     * The bucket that is monitored; %NULL if all buckets are monitored.
     *
     * Since: 0.1
     */
    properties[PROP_MANAGER] =
        g_param_spec_object("manager", NULL, NULL, WEB_LOCKS_TYPE_MANAGER, flags);
    /**
     * WebLocksMonitor:held:
     *
     * The locks that are held: a list model of [class@WebLocks.LockInfo].
     *
     * Since: 0.1
     */
    properties[PROP_HELD] = g_param_spec_object("held", NULL, NULL, G_TYPE_LIST_MODEL, flags);
    /**
     * WebLocksMonitor:pending:
     *
     * The requests that wait: a list model of [class@WebLocks.LockInfo].
     *
     * Since: 0.1
     */
    properties[PROP_PENDING] = g_param_spec_object("pending", NULL, NULL, G_TYPE_LIST_MODEL, flags);
    g_object_class_install_properties(object_class, N_PROPS, properties);

    /**
     * WebLocksMonitor::changed:
     * @self: a monitor
     *
     * Emitted when the lists or items in them have changed. A lock that is handed over, which
     * "items-changed" of the lists may show without a holder in between, has its next one then.
     *
     * Since: 0.1
     */
    changed_signal = g_signal_new("changed", WEB_LOCKS_TYPE_MONITOR, G_SIGNAL_RUN_LAST, 0, NULL,
                                  NULL, NULL, G_TYPE_NONE, 0);
}

static void
list_init(ShownList *self)
{
    self->store = g_list_store_new(WEB_LOCKS_TYPE_LOCK_INFO);
    self->added = g_ptr_array_new_with_free_func(g_object_unref);
    self->removed = g_ptr_array_new_with_free_func(g_object_unref);
}

static void
web_locks_monitor_init(WebLocksMonitor *self)
{
    list_init(&self->held);
    list_init(&self->pending);
    self->buckets = g_ptr_array_new_with_free_func((GDestroyNotify)bucket_cache_free);
    self->dropped = g_ptr_array_new_with_free_func((GDestroyNotify)bucket_cache_free);
    self->by_path = g_hash_table_new(g_str_hash, g_str_equal);
}
