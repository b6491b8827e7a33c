/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/agent-private.h"
#include "client-lib/engine/connection.h"
#include "client-lib/evidence.h"
#include "client-lib/list-change.h"
#include "client-lib/manager-private.h"
#include "client-lib/monitor-private.h"
#include "client-lib/survey.h"

/* Every change of a bucket causes a signal to watchers, which is applied to the survey (see
 * survey.h) when it arrives, and then to the lists. If something has to be read for that, a look
 * starts, unless one is going on; a change during a look starts another one after it. Nothing is
 * polled. */

/* The delay after a failed look although there is a service. */
#define RETRY_MS 1000
/* The delay after a signal. Signals of one change, such as the end of a stolen lock and its new
 * holder, arrive within this time, and bursts of signals cause few calls. */
#define BURST_MS 20

typedef enum {
    LOOK_IDLE,
    LOOK_GOING_ON,
    LOOK_STALE, /* going on, and something has changed since it began */
} Look;

typedef struct MonitorRef MonitorRef;

/**
 * WebLocksMonitor:
 *
 * The held locks and pending requests of a storage bucket, or of all buckets that the agent may
 * look at, in list models that are updated.
 *
 * The items are [class@WebLocks.LockInfo] with all their properties; their bucket is
 * [property@WebLocks.LockInfo:manager]. An item is replaced when anything but its age changes. The
 * bucket may be that of another principal: see web_locks_agent_list_observable_async(). Of a bucket
 * that several hosts share, only locks and requests of this host are shown. The monitor
 * is notified of every change, and doesn't poll. If there is no lock service, and none can be
 * started, the lists are empty until there is one; after a restart of the service they show its new
 * state.
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
    GListStore *held;
    GListStore *pending;
    WaitGraph *graph;              /* of the lists; NULL: they have changed since it was made */
    void (*looked)(gpointer data); /* NULL: none */
    gpointer looked_data;

    ConnectionWatch watch;
    MonitorRef *ref;
    GSource *timer; /* lives as long as the monitor; its time is set with the session lock held */
    guint watched_owner; /* the number of the owner change since which the watch is enabled */
    gboolean is_watched;
    gboolean is_watch_asked; /* Watch was called, so it has to be disabled */
    Survey *survey;          /* used with the session lock held */
    int look; /* a Look; atomic. The thread that changes it from idle owns the look until it is idle
               */
    GTask *ready; /* web_locks_monitor_new_async() */
};

G_DEFINE_FINAL_TYPE(WebLocksMonitor, web_locks_monitor, G_TYPE_OBJECT)

enum {
    PROP_MANAGER = 1,
    PROP_HELD,
    PROP_PENDING,
    N_PROPS,
};
static GParamSpec *properties[N_PROPS];

static void refresh(WebLocksMonitor *self);

static Connection *
get_connection(WebLocksMonitor *self)
{
    return web_locks_agent_get_connection(self->agent);
}

/* ---- when to look */

/* A weak reference to a monitor, for the connection and for timers: enough to start a look if the
 * monitor still exists. The connection calls with the session lock held, when the monitor itself
 * must not be referenced: dropping that might be dropping the last reference. */
struct MonitorRef {
    GWeakRef monitor;
    Survey *survey; /* borrowed; it lives as long as the watch */
    Session *session;
    GMainContext *context;
    int is_reported; /* atomic: a change was reported, and the timer will expire */
};

static MonitorRef *
monitor_ref_new(WebLocksMonitor *monitor)
{
    MonitorRef *self = g_atomic_rc_box_new0(MonitorRef);

    g_weak_ref_init(&self->monitor, monitor);
    self->survey = monitor->survey;
    self->session = session_ref(connection_get_session(get_connection(monitor)));
    self->context = g_main_context_ref(monitor->context);
    return self;
}

static void
monitor_ref_clear(gpointer data)
{
    MonitorRef *self = data;

    g_weak_ref_clear(&self->monitor);
    session_unref(self->session);
    g_main_context_unref(self->context);
}

static void
monitor_ref_unref(gpointer data)
{
    g_atomic_rc_box_release_full(data, monitor_ref_clear);
}

static void
refresh_if_alive(MonitorRef *ref)
{
    g_autoptr(WebLocksMonitor) self = g_weak_ref_get(&ref->monitor);

    g_atomic_int_set(&ref->is_reported, FALSE);
    if (self == NULL)
        return;
    /* The result is to be delivered in the current context. */
    g_main_context_push_thread_default(ref->context);
    refresh(self);
    g_main_context_pop_thread_default(ref->context);
}

/* Starts the timer, in any thread, unless it expires earlier anyway. */
static void
refresh_in(WebLocksMonitor *self, guint ms)
{
    const gint64 due_us = g_get_monotonic_time() + (gint64)ms * G_TIME_SPAN_MILLISECOND;
    Session *session = self->ref->session;
    gint64 set_us;

    session_enter(session);
    set_us = g_source_get_ready_time(self->timer);
    if (set_us < 0 || due_us < set_us)
        g_source_set_ready_time(self->timer, due_us);
    session_leave(session);
}

static gboolean
on_timer(gpointer data)
{
    refresh_if_alive(data);
    return G_SOURCE_CONTINUE;
}

static gboolean
timer_dispatch(GSource *timer, GSourceFunc callback, gpointer data)
{
    Session *session = ((MonitorRef *)data)->session;

    session_enter(session);
    g_source_set_ready_time(timer, -1);
    session_leave(session);
    return callback(data);
}

static GSource *
timer_new(MonitorRef *ref)
{
    static GSourceFuncs funcs = {.dispatch = timer_dispatch};
    GSource *timer = g_source_new(&funcs, sizeof(GSource));

    g_source_set_static_name(timer, "weblocks-monitor");
    g_source_set_callback(timer, on_timer, g_atomic_rc_box_acquire(ref), monitor_ref_unref);
    g_source_attach(timer, ref->context);
    return timer;
}

typedef struct {
    SessionDelivery delivery;
    MonitorRef *ref;
} Change;

static void
change_run(SessionDelivery *delivery)
{
    g_autoptr(WebLocksMonitor) self = g_weak_ref_get(&((Change *)delivery)->ref->monitor);

    if (self != NULL)
        refresh_in(self, BURST_MS);
}

static void
change_free(SessionDelivery *delivery)
{
    monitor_ref_unref(((Change *)delivery)->ref);
    g_free(delivery);
}

/* Called with the session lock held, so no list may change here. */
static void
on_changed(GDBusMessage *signal, gpointer data)
{
    MonitorRef *ref = data;
    Change *change;

    if (signal != NULL)
        survey_signal(ref->survey, signal);
    else
        survey_invalidate(ref->survey);
    if (!g_atomic_int_compare_and_exchange(&ref->is_reported, FALSE, TRUE))
        return;
    change = g_new0(Change, 1);
    change->delivery.run = change_run;
    change->delivery.free = change_free;
    change->ref = g_atomic_rc_box_acquire(ref);
    session_deliver(ref->session, ref->context, &change->delivery);
}

/* ---- looking */

static void
update_lists(WebLocksMonitor *self)
{
    Session *session = self->ref->session;
    g_autoptr(GArray) changes = NULL;

    session_enter(session);
    changes = survey_collect(self->survey);
    session_leave(session);
    if (changes->len == 0)
        return;
    list_changes_apply(changes, self->held, self->pending);
    g_clear_pointer(&self->graph, wait_graph_free);
}

/* Called with the session lock held. */
static gboolean
is_watched(WebLocksMonitor *self)
{
    return self->is_watched &&
           self->watched_owner == connection_count_owner_changes(get_connection(self));
}

static MethodCallMessage
build_refresh(gpointer monitor)
{
    WebLocksMonitor *self = monitor;

    if (is_watched(self))
        return survey_build(self->survey);
    self->is_watched = FALSE;
    self->is_watch_asked = TRUE;
    return survey_build_watch(self->survey);
}

/* The result is not used. Returns NULL without an error if another call has to follow. */
static gpointer
read_refresh(GVariant *body, gpointer monitor, GError **error)
{
    WebLocksMonitor *self = monitor;

    if (is_watched(self))
        return survey_read(self->survey, body, error) ? self : NULL;
    if (self->is_watched) {
        /* The service that has replied is not the one that was watched when the call was made. */
        self->is_watched = FALSE;
        return NULL;
    }
    self->is_watched = TRUE;
    self->watched_owner = connection_count_owner_changes(get_connection(self));
    survey_invalidate(self->survey);
    return NULL;
}

static void
free_nothing(gpointer data)
{
}

static const MethodCallKind refresh_kind = {build_refresh, read_refresh, free_nothing};

static void
call_looked(WebLocksMonitor *self)
{
    if (self->looked != NULL)
        self->looked(self->looked_data);
}

/* `next_ms` is when to look again even without a signal; 0: not at all. */
static void
end_look(WebLocksMonitor *self, guint next_ms)
{
    if (next_ms > 0)
        refresh_in(self, next_ms);
    /* The timer may fire in another thread before this is idle; then it marks the look as stale. */
    while (!g_atomic_int_compare_and_exchange(&self->look, LOOK_GOING_ON, LOOK_IDLE)) {
        g_atomic_int_set(&self->look, LOOK_GOING_ON);
        refresh_in(self, BURST_MS);
    }
}

static void
on_refresh_failed(WebLocksMonitor *self, const GError *error)
{
    Session *session = self->ref->session;

    g_debug("%s can't be seen: %s", survey_get_path(self->survey), error->message);
    session_enter(session);
    self->is_watched = FALSE;
    session_leave(session);
    if (connection_is_served(get_connection(self))) {
        end_look(self, RETRY_MS); /* it is slow or shutting down: the lists may still be right */
        return;
    }
    session_enter(session);
    survey_clear(self->survey);
    session_leave(session);
    update_lists(self);
    end_look(self, 0);
    call_looked(self);
}

static void
take_in(WebLocksMonitor *self)
{
    update_lists(self);
    end_look(self, 0);
    call_looked(self);
}

static void
on_refreshed(GObject *source, GAsyncResult *result, gpointer data)
{
    WebLocksMonitor *self = WEB_LOCKS_MONITOR(source);
    g_autoptr(GTask) ready = g_steal_pointer(&self->ready);
    g_autoptr(GError) error = NULL;
    gboolean is_done = g_task_propagate_pointer(G_TASK(result), &error) != NULL;

    if (is_done)
        take_in(self);
    else if (ready == NULL)
        on_refresh_failed(self, error);

    if (ready != NULL && is_done)
        g_task_return_pointer(ready, g_object_ref(self), g_object_unref);
    else if (ready != NULL)
        g_task_return_error(ready, g_steal_pointer(&error));
}

static gboolean
wants_look(WebLocksMonitor *self)
{
    Session *session = self->ref->session;
    gboolean is_wanted;

    session_enter(session);
    is_wanted = !is_watched(self) || survey_wants_call(self->survey);
    session_leave(session);
    return is_wanted;
}

static void
start_look(WebLocksMonitor *self)
{
    GTask *task = g_task_new(self, self->ready != NULL ? g_task_get_cancellable(self->ready) : NULL,
                             on_refreshed, NULL);

    connection_call(get_connection(self), &refresh_kind, self, caller_of_task(task));
}

static void
refresh(WebLocksMonitor *self)
{
    while (!g_atomic_int_compare_and_exchange(&self->look, LOOK_IDLE, LOOK_GOING_ON))
        if (g_atomic_int_compare_and_exchange(&self->look, LOOK_GOING_ON, LOOK_STALE) ||
            g_atomic_int_get(&self->look) == LOOK_STALE)
            return;
    if (wants_look(self))
        start_look(self);
    else
        take_in(self);
}

/* ---- making one */

static WebLocksMonitor *
monitor_new(WebLocksAgent *agent, WebLocksManager *manager, const char *name, GMainContext *context)
{
    WebLocksMonitor *self = g_object_new(WEB_LOCKS_TYPE_MONITOR, NULL);
    Session *session;

    self->agent = g_object_ref(agent);
    self->manager = manager != NULL ? g_object_ref(manager) : NULL;
    self->name = g_strdup(name);
    self->context = g_main_context_ref(context);
    self->survey = survey_new(agent, manager, self->name);
    self->ref = monitor_ref_new(self);
    self->timer = timer_new(self->ref);
    self->look =
        LOOK_GOING_ON; /* before there are notifications: the caller starts the first one */
    self->watch.path = survey_get_path(self->survey);
    self->watch.name = self->name;
    self->watch.changed = on_changed;
    self->watch.data = self->ref;
    session = self->ref->session;
    session_enter(session);
    connection_add_watch(get_connection(self), &self->watch);
    session_leave(session);
    return self;
}

static WebLocksMonitor *
monitor_new_in_agents_context(WebLocksAgent *agent, WebLocksManager *manager)
{
    return monitor_new(agent, manager, NULL,
                       connection_get_context(web_locks_agent_get_connection(agent)));
}

WebLocksMonitor *
web_locks_monitor_new_of_name(WebLocksManager *manager,
                              const char *name,
                              GMainContext *context,
                              void (*looked)(gpointer data),
                              gpointer data)
{
    WebLocksMonitor *self =
        monitor_new(web_locks_manager_get_agent(manager), manager, name, context);

    self->looked = looked;
    self->looked_data = data;
    g_main_context_push_thread_default(context);
    start_look(self);
    g_main_context_pop_thread_default(context);
    return self;
}

void
web_locks_monitor_end(WebLocksMonitor *self)
{
    self->looked = NULL;
    g_object_unref(self);
}

static void
monitor_new_begin(WebLocksAgent *agent, WebLocksManager *manager, GTask *task)
{
    WebLocksMonitor *self = monitor_new_in_agents_context(agent, manager);

    self->ready = task;
    start_look(self);
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
    take_in(self);
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
    return G_LIST_MODEL(self->held);
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
    return G_LIST_MODEL(self->pending);
}

/**
 * web_locks_monitor_update_evidence:
 * @self: a monitor
 * @info: an item of its lists
 *
 * Looks at the process of the holder and at who waits for whom, and updates
 * [property@WebLocks.LockInfo:evidence]: see [flags@WebLocks.Evidence] for the rules.
 *
 * This reads up to four small files of /proc and /sys. It is meant to be called regularly, for
 * example each second, for the locks that a user sees; the monitor itself never calls it. It has to
 * be called in the main context of the agent, in which the lists change.
 *
 * Since: 0.1
 */
void
web_locks_monitor_update_evidence(WebLocksMonitor *self, WebLocksLockInfo *info)
{
    g_return_if_fail(WEB_LOCKS_IS_MONITOR(self));
    g_return_if_fail(WEB_LOCKS_IS_LOCK_INFO(info));

    if (self->graph == NULL)
        self->graph = wait_graph_new(G_LIST_MODEL(self->held), G_LIST_MODEL(self->pending));
    evidence_update(info, self->graph);
}

/* ---- the end */

static void
stop_watching(WebLocksMonitor *self)
{
    Session *session = self->ref->session;

    session_enter(session);
    if (session_is_of_this_process(session))
        connection_remove_watch(get_connection(self), &self->watch, self->is_watch_asked);
    session_leave(session);
    monitor_ref_unref(self->ref);
}

static void
web_locks_monitor_finalize(GObject *object)
{
    WebLocksMonitor *self = WEB_LOCKS_MONITOR(object);

    if (self->timer != NULL) {
        g_source_destroy(self->timer);
        g_source_unref(self->timer);
    }
    if (self->ref != NULL)
        stop_watching(self);
    g_clear_pointer(&self->survey, survey_free);
    g_clear_object(&self->manager);
    g_clear_object(&self->agent);
    g_clear_pointer(&self->context, g_main_context_unref);
    g_free(self->name);
    g_clear_pointer(&self->graph, wait_graph_free);
    g_object_unref(self->held);
    g_object_unref(self->pending);
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
        g_value_set_object(value, self->held);
        break;
    case PROP_PENDING:
        g_value_set_object(value, self->pending);
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
}

static void
web_locks_monitor_init(WebLocksMonitor *self)
{
    self->held = g_list_store_new(WEB_LOCKS_TYPE_LOCK_INFO);
    self->pending = g_list_store_new(WEB_LOCKS_TYPE_LOCK_INFO);
}
