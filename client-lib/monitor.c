/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/agent-private.h"
#include "client-lib/manager-private.h"
#include "client-lib/monitor-private.h"
#include "client-lib/property-private.h"
#include "common/bus-names.h"

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

G_DEFINE_FINAL_TYPE(WebLocksMonitor, web_locks_monitor, G_TYPE_OBJECT)

#define INSTALL(member, type, name, ...) \
    PROPERTY_INSTALL(WebLocksMonitor, member, type, name, __VA_ARGS__, flags)

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
    if (name != NULL && g_str_has_prefix(web_locks_manager_get_bucket(manager), BUS_CLUSTER_PREFIX))
        self->hosts_ms = MONITOR_HOSTS_MS;
    if (manager != NULL)
        web_locks_monitor_add_bucket(self, manager);
    self->inbox = monitor_inbox_open(G_OBJECT(self), web_locks_monitor_update, context,
                                     web_locks_agent_get_connection(self->agent),
                                     web_locks_monitor_get_path(self), self->name);
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
    web_locks_monitor_start_refresh(self);
    g_main_context_pop_thread_default(context);
    return self;
}

static void
monitor_new_begin(WebLocksAgent *agent, WebLocksManager *manager, AsyncResult *ready)
{
    WebLocksMonitor *self = monitor_new_in_agents_context(agent, manager);

    self->ready = ready;
    web_locks_monitor_start_refresh(self);
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

    connection_call(web_locks_agent_get_connection(self->agent), &web_locks_monitor_refresh, self,
                    caller_of_sync(&sync, cancellable));
    if (sync_call_wait(&sync, error) == NULL)
        return NULL;
    web_locks_monitor_finish_update(self);
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
    AsyncResult *result;
    GError *error = NULL;

    g_return_if_fail(WEB_LOCKS_IS_MANAGER(manager));
    g_return_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable));

    result = async_result_new(NULL, web_locks_monitor_new_async, cancellable, callback, user_data);
    if (web_locks_manager_check_bucket(manager, &error))
        monitor_new_begin(web_locks_manager_get_agent(manager), manager, result);
    else
        async_result_return(result, NULL, NULL, error);
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
    g_return_val_if_fail(async_result_is_valid(result, NULL, web_locks_monitor_new_async), NULL);
    return async_result_take(result, error);
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
    g_return_if_fail(WEB_LOCKS_IS_AGENT(agent));
    g_return_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable));

    monitor_new_begin(
        agent, NULL,
        async_result_new(NULL, web_locks_monitor_new_all_async, cancellable, callback, user_data));
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
    g_return_val_if_fail(async_result_is_valid(result, NULL, web_locks_monitor_new_all_async),
                         NULL);
    return async_result_take(result, error);
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
        monitor_inbox_close(self->inbox, web_locks_agent_get_connection(self->agent),
                            self->is_watch_asked);
    g_queue_clear_full(&self->later, g_object_unref);
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
web_locks_monitor_class_init(WebLocksMonitorClass *class)
{
    GObjectClass *object_class = G_OBJECT_CLASS(class);
    const GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

    object_class->get_property = property_get;
    object_class->finalize = web_locks_monitor_finalize;

    /**
     * WebLocksMonitor:manager:
     *
     * The bucket that is monitored; %NULL if all buckets are monitored.
     *
     * Since: 0.1
     */
    INSTALL(manager, object, "manager", WEB_LOCKS_TYPE_MANAGER);
    /**
     * WebLocksMonitor:held:
     *
     * The locks that are held: a list model of [class@WebLocks.LockInfo].
     *
     * Since: 0.1
     */
    INSTALL(held.store, object, "held", G_TYPE_LIST_MODEL);
    /**
     * WebLocksMonitor:pending:
     *
     * The requests that wait: a list model of [class@WebLocks.LockInfo].
     *
     * Since: 0.1
     */
    INSTALL(pending.store, object, "pending", G_TYPE_LIST_MODEL);

    /**
     * WebLocksMonitor::changed:
     * @self: a monitor
     *
     * Emitted when the lists or items in them have changed. A lock that is handed over, which
     * "items-changed" of the lists may show without a holder in between, has its next one then.
     *
     * Since: 0.1
     */
    g_signal_new("changed", WEB_LOCKS_TYPE_MONITOR, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                 G_TYPE_NONE, 0);
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
