/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config.h"

#include <glib/gi18n-lib.h>

#include "client-lib/request-private.h"

#include "client-lib/lock-info-private.h"
#include "client-lib/lock-private.h"
#include "client-lib/manager-private.h"
#include "client-lib/monitor-private.h"

/* The queue is watched from the moment when the service has queued the request, until the request
 * ends. So a lock that is granted immediately costs nothing more. */

/**
 * WebLocksRequest:
 *
 * A lock request whose wait can be shown: while it is pending, it has a position in the queue, and
 * the lock has a holder.
 *
 * It is requested by web_locks_request_acquire_async(), as by
 * web_locks_manager_request_async() (section 4.1 of the standard). While it waits, the properties
 * follow the signals of the lock service. They change in the main context that was thread-default
 * when the operation was started. An agent can watch 64 buckets; requests in further buckets have
 * neither holder nor position.
 *
 * A program that wants a lock for as long as it runs, and needs no result of its own, is better
 * served by a [class@WebLocks.Claim].
 *
 * Since: 0.1
 */
struct _WebLocksRequest {
    GObject parent;
    WebLocksManager *manager;
    char *name;
    WebLocksOptions *options;
    gboolean is_patient;

    GTask *task; /* the operation that is going on, borrowed; it keeps `self` alive */
    guint64 key; /* of the request at the service; 0: it is not queued */
    WebLocksMonitor *monitor;
    WebLocksLockInfo *holder;
    guint position;
};

G_DEFINE_FINAL_TYPE(WebLocksRequest, web_locks_request, G_TYPE_OBJECT)

enum {
    PROP_MANAGER = 1,
    PROP_NAME,
    PROP_OPTIONS,
    PROP_HOLDER,
    PROP_POSITION,
    N_PROPS,
};
static GParamSpec *properties[N_PROPS];

/**
 * web_locks_request_new:
 * @manager: the bucket
 * @name: the resource name, see web_locks_manager_request_async()
 * @options: (nullable): the options of the request; %NULL for the defaults
 *
 * Creates a request. Nothing is sent before web_locks_request_acquire_async().
 *
 * Returns: (transfer full): a new request
 * Since: 0.1
 */
WebLocksRequest *
web_locks_request_new(WebLocksManager *manager, const char *name, WebLocksOptions *options)
{
    g_return_val_if_fail(WEB_LOCKS_IS_MANAGER(manager), NULL);
    g_return_val_if_fail(name != NULL, NULL);
    g_return_val_if_fail(options == NULL || WEB_LOCKS_IS_OPTIONS(options), NULL);
    return g_object_new(WEB_LOCKS_TYPE_REQUEST, "manager", manager, "name", name, "options",
                        options, NULL);
}

void
web_locks_request_set_patient(WebLocksRequest *self)
{
    self->is_patient = TRUE;
}

/* ---- the queue */

static void
show(WebLocksRequest *self, WebLocksLockInfo *holder, guint position)
{
    g_object_freeze_notify(G_OBJECT(self));
    if (g_set_object(&self->holder, holder))
        g_object_notify_by_pspec(G_OBJECT(self), properties[PROP_HOLDER]);
    if (self->position != position) {
        self->position = position;
        g_object_notify_by_pspec(G_OBJECT(self), properties[PROP_POSITION]);
    }
    g_object_thaw_notify(G_OBJECT(self));
}

static guint
find_position(WebLocksRequest *self)
{
    GListModel *pending = web_locks_monitor_get_pending(self->monitor);
    const guint n = g_list_model_get_n_items(pending);

    for (guint i = 0; i < n; i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(pending, i);

        if (web_locks_lock_info_get_key(info) == self->key)
            return web_locks_lock_info_get_position(info);
    }
    return 0;
}

static void
on_looked(gpointer data)
{
    WebLocksRequest *self = data;
    g_autoptr(WebLocksLockInfo) holder =
        g_list_model_get_item(web_locks_monitor_get_held(self->monitor), 0);

    show(self, holder, find_position(self));
}

static void
stop_looking(WebLocksRequest *self)
{
    g_clear_pointer(&self->monitor, web_locks_monitor_end);
    self->key = 0;
    show(self, NULL, 0);
}

/* ---- acquiring */

typedef struct {
    SessionDelivery delivery;
    GTask *task;
    guint64 key;
} Wait;

static void
wait_run(SessionDelivery *delivery)
{
    const Wait *wait = (Wait *)delivery;
    WebLocksRequest *self = g_task_get_source_object(wait->task);

    if (self->task != wait->task)
        return;
    self->key = wait->key;
    if (self->monitor == NULL)
        self->monitor = web_locks_monitor_new_of_name(
            self->manager, self->name, g_task_get_context(wait->task), on_looked, self);
}

static void
wait_free(SessionDelivery *delivery)
{
    g_object_unref(((Wait *)delivery)->task);
    g_free(delivery);
}

static void
on_waits(GTask *task, guint64 key)
{
    WebLocksRequest *self;
    Session *session;
    Wait *wait;

    if (task == NULL) /* cancelled */
        return;
    self = g_task_get_source_object(task);
    session = connection_get_session(web_locks_manager_get_connection(self->manager));
    wait = g_new0(Wait, 1);
    wait->delivery.run = wait_run;
    wait->delivery.free = wait_free;
    wait->task = g_object_ref(task);
    wait->key = key;
    session_deliver(session, g_task_get_context(task), &wait->delivery);
}

static const RequestFuncs funcs = {web_locks_lock_new, web_locks_lock_lose, on_waits};

/* The task of the application returns first, so that it sees the end of the wait with its result
 * and not before. */
static void
on_ended(GObject *source, GAsyncResult *result, gpointer data)
{
    WebLocksRequest *self = WEB_LOCKS_REQUEST(source);
    g_autoptr(GTask) task = data;
    GError *error = NULL;
    WebLocksLock *lock = g_task_propagate_pointer(G_TASK(result), &error);

    self->task = NULL;
    if (error != NULL)
        g_task_return_error(task, error);
    else
        g_task_return_pointer(task, lock, g_object_unref);
    if (self->task == NULL)
        stop_looking(self);
}

/**
 * web_locks_request_acquire_async:
 * @self: a request
 * @cancellable: (nullable): aborts the request
 * @callback: (scope async) (nullable): called when the lock is granted or the request has failed
 * @user_data: for @callback
 *
 * Requests the lock, as web_locks_manager_request_async() does. The request can be repeated after
 * it has ended.
 *
 * Since: 0.1
 */
void
web_locks_request_acquire_async(WebLocksRequest *self,
                                GCancellable *cancellable,
                                GAsyncReadyCallback callback,
                                gpointer user_data)
{
    g_autoptr(GTask) task = NULL;
    g_auto(RequestOptions) values = {0};
    GError *error = NULL;

    g_return_if_fail(WEB_LOCKS_IS_REQUEST(self) && self->manager != NULL && self->name != NULL);
    g_return_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable));

    task = g_task_new(self, cancellable, callback, user_data);
    g_task_set_source_tag(task, web_locks_request_acquire_async);
    g_task_set_check_cancellable(task, FALSE); /* the request checks it */
    request_options_init(&values, self->options);
    values.patient = self->is_patient;
    if (self->task != NULL) {
        g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_PENDING,
                                _("the request is pending already"));
        return;
    }
    if (!web_locks_manager_check_request(self->manager, self->name, &values, &error)) {
        g_task_return_error(task, error);
        return;
    }
    self->task = g_task_new(self, cancellable, on_ended, g_steal_pointer(&task));
    g_task_set_check_cancellable(self->task, FALSE);
    web_locks_manager_start_request(self->manager, self->name, &values, &funcs,
                                    caller_of_task(self->task));
}

/**
 * web_locks_request_acquire_finish:
 * @self: a request
 * @result: the result of web_locks_request_acquire_async()
 * @error: return location for an error
 *
 * Finishes an operation started with web_locks_request_acquire_async().
 *
 * Errors: those of web_locks_manager_request_finish(), and `G_IO_ERROR_PENDING` if the request was
 * pending already.
 *
 * Returns: (transfer full) (nullable): the lock; %NULL without an error if it was not available,
 *   which only happens with [property@WebLocks.Options:if-available]
 * Since: 0.1
 */
WebLocksLock *
web_locks_request_acquire_finish(WebLocksRequest *self, GAsyncResult *result, GError **error)
{
    g_return_val_if_fail(g_task_is_valid(result, self), NULL);
    g_return_val_if_fail(g_async_result_is_tagged(result, web_locks_request_acquire_async), NULL);
    return g_task_propagate_pointer(G_TASK(result), error);
}

/* ---- properties */

/**
 * web_locks_request_get_manager:
 * @self: a request
 *
 * Gets the bucket.
 *
 * Returns: (transfer none): the manager
 * Since: 0.1
 */
WebLocksManager *
web_locks_request_get_manager(WebLocksRequest *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_REQUEST(self), NULL);
    return self->manager;
}

/**
 * web_locks_request_get_name:
 * @self: a request
 *
 * Gets the resource name (section 2.1 of the standard).
 *
 * Returns: (transfer none): the name
 * Since: 0.1
 */
const char *
web_locks_request_get_name(WebLocksRequest *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_REQUEST(self), NULL);
    return self->name;
}

/**
 * web_locks_request_get_options:
 * @self: a request
 *
 * Gets the options of the request.
 *
 * Returns: (transfer none) (nullable): the options; %NULL for the defaults
 * Since: 0.1
 */
WebLocksOptions *
web_locks_request_get_options(WebLocksRequest *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_REQUEST(self), NULL);
    return self->options;
}

/**
 * web_locks_request_get_holder:
 * @self: a request
 *
 * Gets the lock of the holder while the request is pending; if it is shared, that of the first. It
 * may be this process.
 *
 * Returns: (transfer none) (nullable): the lock that the request waits for; %NULL if it is not
 *   pending, or nobody holds the lock, or that is not known yet
 * Since: 0.1
 */
WebLocksLockInfo *
web_locks_request_get_holder(WebLocksRequest *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_REQUEST(self), NULL);
    return self->holder;
}

/**
 * web_locks_request_get_position:
 * @self: a request
 *
 * Gets the position in the queue of the name: 1 is next.
 *
 * Returns: the position; 0 if the request is not pending, or that is not known yet
 * Since: 0.1
 */
guint
web_locks_request_get_position(WebLocksRequest *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_REQUEST(self), 0);
    return self->position;
}

/* ---- GObject */

static void
web_locks_request_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
    WebLocksRequest *self = WEB_LOCKS_REQUEST(object);

    switch (id) {
    case PROP_MANAGER:
        g_value_set_object(value, self->manager);
        break;
    case PROP_NAME:
        g_value_set_string(value, self->name);
        break;
    case PROP_OPTIONS:
        g_value_set_object(value, self->options);
        break;
    case PROP_HOLDER:
        g_value_set_object(value, self->holder);
        break;
    case PROP_POSITION:
        g_value_set_uint(value, self->position);
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
    }
}

static void
web_locks_request_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
    WebLocksRequest *self = WEB_LOCKS_REQUEST(object);

    switch (id) {
    case PROP_MANAGER:
        self->manager = g_value_dup_object(value);
        break;
    case PROP_NAME:
        self->name = g_value_dup_string(value);
        break;
    case PROP_OPTIONS:
        self->options = g_value_dup_object(value);
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
    }
}

static void
web_locks_request_finalize(GObject *object)
{
    WebLocksRequest *self = WEB_LOCKS_REQUEST(object);

    g_clear_pointer(&self->monitor, web_locks_monitor_end);
    g_clear_object(&self->holder);
    g_clear_object(&self->options);
    g_clear_object(&self->manager);
    g_free(self->name);
    G_OBJECT_CLASS(web_locks_request_parent_class)->finalize(object);
}

static void
web_locks_request_class_init(WebLocksRequestClass *class)
{
    GObjectClass *object_class = G_OBJECT_CLASS(class);
    const GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;
    const GParamFlags construct_flags =
        G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

    object_class->get_property = web_locks_request_get_property;
    object_class->set_property = web_locks_request_set_property;
    object_class->finalize = web_locks_request_finalize;

    /**
     * WebLocksRequest:manager:
     *
     * The manager with which the lock is requested.
     *
     * Since: 0.1
     */
    properties[PROP_MANAGER] =
        g_param_spec_object("manager", NULL, NULL, WEB_LOCKS_TYPE_MANAGER, construct_flags);
    /**
     * WebLocksRequest:name:
     *
     * The resource name.
     *
     * Since: 0.1
     */
    properties[PROP_NAME] = g_param_spec_string("name", NULL, NULL, NULL, construct_flags);
    /**
     * WebLocksRequest:options:
     *
     * The options of the request; %NULL for the defaults.
     *
     * Since: 0.1
     */
    properties[PROP_OPTIONS] =
        g_param_spec_object("options", NULL, NULL, WEB_LOCKS_TYPE_OPTIONS, construct_flags);
    /**
     * WebLocksRequest:holder:
     *
     * Who holds the lock, while the request is pending; %NULL if nobody does, or that is not known.
     *
     * Since: 0.1
     */
    properties[PROP_HOLDER] =
        g_param_spec_object("holder", NULL, NULL, WEB_LOCKS_TYPE_LOCK_INFO, flags);
    /**
     * WebLocksRequest:position:
     *
     * The position in the queue of the name: 1 is next; 0 if the request is not pending, or that is
     * not known yet.
     *
     * Since: 0.1
     */
    properties[PROP_POSITION] = g_param_spec_uint("position", NULL, NULL, 0, G_MAXUINT, 0, flags);
    g_object_class_install_properties(object_class, N_PROPS, properties);
}

static void
web_locks_request_init(WebLocksRequest *self)
{
}
