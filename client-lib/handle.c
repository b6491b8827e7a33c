/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config.h"

#include <glib/gi18n-lib.h>

#include "client-lib/engine/cells.h"
#include "client-lib/lock-private.h"
#include "client-lib/manager-private.h"
#include "client-lib/property-private.h"
#include "client-lib/request-private.h"

/**
 * WebLocksHandle:
 *
 * A lock that a program takes again and again. It is an exclusive lock as any other: fair, shown by
 * queries and monitors, stolen and broken, and stored by the service.
 *
 * ```c
 * g_autoptr(WebLocksHandle) handle = web_locks_manager_prepare(manager, "journal", NULL);
 *
 * while (has_more()) {
 *     if (!web_locks_handle_enter_sync(handle, NULL, &error))
 *         return FALSE;
 *     append_to_journal();
 *     web_locks_handle_leave(handle);
 * }
 * ```
 *
 * To enter is to request the lock, and to leave is to release it. If the service permits that, a
 * lock that nobody else wants can be left and entered again without any message: it is then parked,
 * that is still granted to this process and held by nobody. The service ends a parked lock without
 * the help of this process when anybody requests it, or looks at it. Until then, to enter and to
 * leave take one atomic instruction each.
 *
 * Parking is used by up to 63 handles of an agent; never in buckets of a cluster, nor by sandboxed
 * applications or on the system bus, nor with a service that stores its state on a disk, or is
 * started with `--no-cells`. In all other cases, a handle costs what requesting and releasing the
 * lock costs.
 *
 * A handle is entered once at a time. Threads may share it: they wait for each other, in the order
 * in which they have entered. But a thread that has lost the lock has to leave before another one
 * can enter. Dropping the last reference leaves, too. After a `fork()` only the parent can use it.
 *
 * Since: 0.1
 */
struct _WebLocksHandle {
    GObject parent;
    WebLocksManager *manager;
    char *name;
    RequestOptions options; /* with the number of its cell */
    Session *session;
    Cells *cells;    /* NULL: no number has been taken */
    LockCell *cell;  /* set once; read atomically. It is closed if it is not that of `key` */
    guint64 key;     /* atomic, as are these: */
    guint64 token;   /* of the last enter */
    GThread *thread; /* that has entered by a call that waits, and not left */

    /* With the session lock held: */
    WebLocksLock *lock;    /* of the last request; NULL: was released */
    guint n_notifying;     /* notifications of a loss that run */
    gboolean is_forgotten; /* they have the last reference */
};

G_DEFINE_FINAL_TYPE(WebLocksHandle, web_locks_handle, G_TYPE_OBJECT)

enum {
    PROP_TOKEN = 1,
    PROP_HELD,
    N_PROPS,
};
static GParamSpec *properties[N_PROPS];

enum {
    SIGNAL_LOST,
    N_SIGNALS,
};
static guint signals[N_SIGNALS];

#define GETTER(Type, name, if_fail)                                                          \
    PROPERTY_GETTER(WebLocksHandle, web_locks_handle, WEB_LOCKS_IS_HANDLE, Type, name, name, \
                    if_fail)

/**
 * web_locks_manager_prepare:
 * @self: a manager
 * @name: the resource name
 * @options: (nullable): the options of each request; %NULL for the defaults
 *
 * Creates a handle, by which a program takes the same lock again and again. This sends nothing, and
 * can't fail: errors are those of web_locks_handle_enter_sync().
 *
 * Of the options, [property@WebLocks.Options:why], [property@WebLocks.Options:command] and
 * [property@WebLocks.Options:timeout] can be set. With others, to enter fails with
 * [error@WebLocks.Error.NOT_SUPPORTED]. Later changes of @options have no effect.
 *
 * Returns: (transfer full): a handle
 * Since: 0.1
 */
WebLocksHandle *
web_locks_manager_prepare(WebLocksManager *self, const char *name, WebLocksOptions *options)
{
    WebLocksHandle *handle;

    g_return_val_if_fail(WEB_LOCKS_IS_MANAGER(self), NULL);
    g_return_val_if_fail(name != NULL, NULL);
    g_return_val_if_fail(options == NULL || WEB_LOCKS_IS_OPTIONS(options), NULL);
    handle = g_object_new(WEB_LOCKS_TYPE_HANDLE, "manager", self, "name", name, NULL);
    if (options != NULL) {
        request_options_clear(&handle->options);
        request_options_init(&handle->options, options);
    }
    return handle;
}

/**
 * web_locks_handle_get_manager:
 * @self: a handle
 *
 * Gets the manager that has prepared the handle.
 *
 * Returns: (transfer none): the manager
 * Since: 0.1
 */
GETTER(WebLocksManager *, manager, NULL)

/**
 * web_locks_handle_get_name:
 * @self: a handle
 *
 * Gets the lock's resource name (section 2.1 of the standard).
 *
 * Returns: (transfer none): the name
 * Since: 0.1
 */
GETTER(const char *, name, NULL)

/* ---- without a message */

/* Only the thread that has entered stores this, before another one can enter. */
static void
set_thread(WebLocksHandle *self, GThread *thread)
{
    __atomic_store_n(&self->thread, thread, __ATOMIC_RELAXED);
}

static GThread *
get_thread(WebLocksHandle *self)
{
    return __atomic_load_n(&self->thread, __ATOMIC_RELAXED);
}

static gboolean
is_of_this_process(const WebLocksHandle *self)
{
    return self->session != NULL && session_is_of_this_process(self->session);
}

static gboolean
enter_cell(WebLocksHandle *self, GThread *thread)
{
    LockCell *cell = g_atomic_pointer_get(&self->cell);
    guint64 token;

    if (cell == NULL || !is_of_this_process(self) ||
        !lock_cell_enter(cell, __atomic_load_n(&self->key, __ATOMIC_RELAXED), &token))
        return FALSE;
    __atomic_store_n(&self->token, token, __ATOMIC_RELAXED);
    set_thread(self, thread);
    return TRUE;
}

static gboolean
leave_cell(WebLocksHandle *self)
{
    LockCell *cell = g_atomic_pointer_get(&self->cell);
    GThread *thread = get_thread(self);

    if (cell == NULL || !is_of_this_process(self))
        return FALSE;
    set_thread(self, NULL);
    if (lock_cell_leave(cell, __atomic_load_n(&self->token, __ATOMIC_RELAXED)))
        return TRUE;
    set_thread(self, thread);
    return FALSE;
}

/**
 * web_locks_handle_try_enter:
 * @self: a handle
 *
 * Enters if the lock is parked: then this takes no message, and is a matter of nanoseconds. It is
 * the first step of web_locks_handle_enter_sync(); bindings call it before they prepare to wait.
 *
 * Returns: whether the lock is held now
 * Since: 0.1
 */
gboolean
web_locks_handle_try_enter(WebLocksHandle *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_HANDLE(self), FALSE);
    return enter_cell(self, g_thread_self());
}

/* ---- by a request */

/* Makes the checks that don't depend on the service. */
static gboolean
check(WebLocksHandle *self, GError **error)
{
    const RequestOptions *options = &self->options;

    if (!web_locks_manager_check_request(self->manager, self->name, options, error))
        return FALSE;
    if (options->mode == WEB_LOCKS_MODE_EXCLUSIVE && options->slots == 1 && !options->steal &&
        !options->if_available)
        return TRUE;
    g_set_error_literal(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED,
                        _("a handle is of an exclusive lock, without 'slots', 'steal' and "
                          "'if-available'"));
    return FALSE;
}

/* Returns the lock, which is not that of the handle any more, or NULL. */
static WebLocksLock *
steal_lock(WebLocksHandle *self)
{
    if (self->lock != NULL)
        web_locks_lock_set_handle(self->lock, NULL);
    return g_steal_pointer(&self->lock);
}

/* Drops the lock if nobody holds it. Returns whether somebody does, or has lost it and not left. */
static gboolean
is_in_use(WebLocksHandle *self)
{
    if (self->lock != NULL && request_is_over(web_locks_lock_get_request(self->lock)))
        g_object_unref(steal_lock(self));
    return self->lock != NULL;
}

/* Returns the number of the cell for a request, or 0: others have all numbers now. The child of a
 * fork() has its request refused later. */
static guint
take_cell(WebLocksHandle *self)
{
    Connection *connection = web_locks_manager_get_connection(self->manager);

    if (self->options.cell == 0 && is_of_this_process(self)) {
        if (self->cells == NULL)
            self->cells = cells_ref(connection_share_cells(connection));
        self->options.cell = cells_take_number(self->cells);
        if (self->options.cell > 0)
            g_atomic_pointer_set(&self->cell, cells_get(self->cells, self->options.cell));
    }
    return self->options.cell;
}

/* Requests the lock. With `is_waiting` the calling thread waits for the result, a WebLocksLock. */
static void
request(WebLocksHandle *self, gboolean is_waiting, Caller caller)
{
    Connection *connection = web_locks_manager_get_connection(self->manager);
    RequestOptions options;
    GError *error = NULL;

    if (!check(self, &error)) {
        caller_fail(caller, connection_get_session(connection), error);
        return;
    }
    session_enter(self->session);
    options = self->options; /* borrows the strings */
    if (!is_in_use(self)) {
        options.cell = take_cell(self);
    } else if (is_waiting && get_thread(self) == g_thread_self()) {
        g_set_error_literal(&error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE,
                            _("this thread has entered already; a handle is not recursive"));
    } else {
        options.cell = 0; /* that of the lock that is held */
    }
    if (error != NULL)
        caller_fail(caller, self->session, error);
    else
        web_locks_manager_start_request(self->manager, self->name, &options, caller);
    session_leave(self->session);
}

void
web_locks_handle_begin_loss(WebLocksHandle *self)
{
    self->n_notifying++;
}

void
web_locks_handle_lose(WebLocksHandle *self, const GError *error)
{
    gboolean is_forgotten;

    g_object_notify_by_pspec(G_OBJECT(self), properties[PROP_HELD]);
    g_signal_emit(self, signals[SIGNAL_LOST], 0, error);
    session_enter(self->session);
    is_forgotten = --self->n_notifying == 0 && self->is_forgotten;
    if (is_forgotten)
        self->is_forgotten = FALSE;
    session_leave(self->session);
    if (is_forgotten)
        g_object_unref(self);
}

/* Takes the lock that was granted; NULL: `error` is set. */
static gboolean
take(WebLocksHandle *self, WebLocksLock *take_lock, GThread *thread, GError **error)
{
    g_autoptr(WebLocksLock) lock = take_lock;
    Request *granted;

    if (lock == NULL)
        return FALSE;
    granted = web_locks_lock_get_request(lock);
    session_enter(self->session);
    if (is_in_use(self)) {
        session_leave(self->session);
        g_set_error_literal(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE,
                            _("a thread that has lost the lock has not left yet"));
        return FALSE;
    }
    web_locks_lock_set_handle(lock, self);
    __atomic_store_n(&self->key, request_get_key(granted), __ATOMIC_RELAXED);
    __atomic_store_n(&self->token, request_get_token(granted), __ATOMIC_RELAXED);
    set_thread(self, thread);
    self->lock = g_steal_pointer(&lock);
    session_leave(self->session);
    return TRUE;
}

/**
 * web_locks_handle_enter_sync:
 * @self: a handle
 * @cancellable: (nullable): aborts the request, from another thread
 * @error: return location for an error
 *
 * Takes the lock, and waits until it is granted: see web_locks_manager_request_sync() for the wait,
 * and web_locks_manager_request_finish() for errors. In addition,
 * [error@WebLocks.Error.INVALID_STATE]: the calling thread has entered and not left, so it would
 * wait for itself; another thread that has lost the lock has not left yet; or the handle belongs to
 * the parent process of a `fork()`.
 *
 * Returns: whether the lock is held now; otherwise @error is set
 * Since: 0.1
 */
gboolean
web_locks_handle_enter_sync(WebLocksHandle *self, GCancellable *cancellable, GError **error)
{
    SyncCall sync;

    g_return_val_if_fail(WEB_LOCKS_IS_HANDLE(self), FALSE);
    g_return_val_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable), FALSE);

    if (g_cancellable_set_error_if_cancelled(cancellable, error))
        return FALSE;
    if (web_locks_handle_try_enter(self))
        return TRUE;
    request(self, TRUE, caller_of_sync(&sync, cancellable));
    return take(self, sync_call_wait(&sync, error), g_thread_self(), error);
}

/**
 * web_locks_handle_request:
 * @self: a handle
 * @cancellable: (nullable): aborts the request, from another thread
 *
 * Requests the lock for a thread that handles signals while it waits, if
 * web_locks_handle_try_enter() has returned %FALSE. Wait by [method@WebLocks.Request.wait], then
 * call web_locks_handle_take().
 *
 * Returns: (transfer full): the request
 * Since: 0.1
 */
WebLocksRequest *
web_locks_handle_request(WebLocksHandle *self, GCancellable *cancellable)
{
    WebLocksRequest *pending;
    Caller caller;

    g_return_val_if_fail(WEB_LOCKS_IS_HANDLE(self), NULL);
    g_return_val_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable), NULL);

    pending = web_locks_request_new_pending(self->manager, self, cancellable, &caller);
    request(self, TRUE, caller);
    return pending;
}

/**
 * web_locks_handle_take:
 * @self: a handle
 * @request: a request of web_locks_handle_request() that is completed
 * @error: return location for an error
 *
 * Enters with the result of the request. See web_locks_handle_enter_sync() for errors;
 * [error@WebLocks.Error.INVALID_STATE] also if the request is that of another handle or of none, is
 * not completed, or its result was taken.
 *
 * Returns: whether the lock is held now; otherwise @error is set
 * Since: 0.1
 */
gboolean
web_locks_handle_take(WebLocksHandle *self, WebLocksRequest *request, GError **error)
{
    g_return_val_if_fail(WEB_LOCKS_IS_HANDLE(self), FALSE);
    g_return_val_if_fail(WEB_LOCKS_IS_REQUEST(request), FALSE);
    if (!web_locks_request_is_of(request, self)) {
        g_set_error_literal(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE,
                            _("the request is not one of this handle"));
        return FALSE;
    }
    return take(self, web_locks_request_finish(request, error), g_thread_self(), error);
}

/* The result of web_locks_handle_enter_async() that was entered already, and is not taken. */
static void
leave_untaken(gpointer handle)
{
    web_locks_handle_leave(handle);
    g_object_unref(handle);
}

/**
 * web_locks_handle_enter_async:
 * @self: a handle
 * @cancellable: (nullable): aborts the request
 * @callback: (scope async) (nullable): called when the lock is granted or the request has failed
 * @user_data: for @callback
 *
 * Takes the lock. @callback has to call web_locks_handle_enter_finish(); if it does not, the lock
 * is released. Calls in one main context that are made while the lock is held wait for each other.
 *
 * Since: 0.1
 */
void
web_locks_handle_enter_async(WebLocksHandle *self,
                             GCancellable *cancellable,
                             GAsyncReadyCallback callback,
                             gpointer user_data)
{
    AsyncResult *result;
    GError *error = NULL;

    g_return_if_fail(WEB_LOCKS_IS_HANDLE(self));
    g_return_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable));

    result = async_result_new(self, web_locks_handle_enter_async, cancellable, callback, user_data);
    if (g_cancellable_set_error_if_cancelled(cancellable, &error))
        async_result_return(result, NULL, NULL, error);
    else if (enter_cell(self, NULL))
        async_result_return(result, g_object_ref(self), leave_untaken, NULL);
    else
        request(self, FALSE, caller_of_result(result));
}

/**
 * web_locks_handle_enter_finish:
 * @self: a handle
 * @result: the result of web_locks_handle_enter_async()
 * @error: return location for an error
 *
 * Finishes an operation started with web_locks_handle_enter_async(). See
 * web_locks_handle_enter_sync() for errors.
 *
 * Returns: whether the lock is held now; otherwise @error is set
 * Since: 0.1
 */
gboolean
web_locks_handle_enter_finish(WebLocksHandle *self, GAsyncResult *result, GError **error)
{
    gpointer entered;

    g_return_val_if_fail(async_result_is_valid(result, self, web_locks_handle_enter_async), FALSE);

    entered = async_result_take(result, error);
    if (entered != self)
        return take(self, entered, NULL, error);
    g_object_unref(self);
    return TRUE;
}

/**
 * web_locks_handle_leave:
 * @self: a handle that was entered
 *
 * Releases the lock (section 4.2 of the standard), without waiting for the service. If it was lost
 * meanwhile, or was taken before a `fork()` by the parent process, nothing happens. To leave a
 * handle that was not entered is a programming error, as it is to unlock a mutex that is not
 * locked.
 *
 * Since: 0.1
 */
void
web_locks_handle_leave(WebLocksHandle *self)
{
    WebLocksLock *lock = NULL;

    g_return_if_fail(WEB_LOCKS_IS_HANDLE(self));

    if (!is_of_this_process(self) || leave_cell(self))
        return;
    session_enter(self->session);
    if (is_in_use(self)) {
        set_thread(self, NULL);
        lock = steal_lock(self);
    }
    session_leave(self->session);
    g_return_if_fail(lock != NULL);
    web_locks_lock_release(lock);
    g_object_unref(lock);
}

/**
 * web_locks_handle_exit:
 * @self: a handle
 * @raised: (scope call) (nullable) (closure user_data): not called; not %NULL: an exception has
 * been raised since the enter
 * @user_data: not used
 * @error: return location for an error
 *
 * Leaves, for the method `__exit__` of Python, which is called with three arguments. If the calling
 * thread has left already, nothing happens.
 *
 * [error@WebLocks.Error.STOLEN] and [error@WebLocks.Error.LOST]: the lock was lost before, and
 * @raised is %NULL; the handle is left nevertheless.
 *
 * Since: 0.1
 */
void
web_locks_handle_exit(WebLocksHandle *self, GCallback raised, gpointer user_data, GError **error)
{
    g_autoptr(GError) loss = NULL;

    g_return_if_fail(WEB_LOCKS_IS_HANDLE(self));

    if (!web_locks_handle_get_entered(self) || leave_cell(self))
        return;
    loss = web_locks_handle_get_error(self);
    web_locks_handle_leave(self);
    if (loss != NULL && raised == NULL)
        g_propagate_error(error, g_steal_pointer(&loss));
}

/* ---- what is known of the lock */

/**
 * web_locks_handle_get_token:
 * @self: a handle
 *
 * Gets the fencing token of the lock that is held, which is greater than that of each enter before,
 * by any handle for the same name, and of each lock of that name that was granted before.
 *
 * Returns: the token; after a leave, still that of the last enter; 0: not entered yet
 * Since: 0.1
 */
guint64
web_locks_handle_get_token(WebLocksHandle *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_HANDLE(self), 0);
    return __atomic_load_n(&self->token, __ATOMIC_RELAXED);
}

/* Returns a reference to the lock after reading what has arrived, unless it is in an open cell. */
static WebLocksLock *
dup_lock(WebLocksHandle *self)
{
    LockCell *cell = g_atomic_pointer_get(&self->cell);
    WebLocksLock *lock = NULL;

    if (!is_of_this_process(self))
        return NULL;
    session_enter(self->session);
    if (self->lock != NULL)
        request_catch_up(web_locks_lock_get_request(self->lock));
    if ((cell == NULL || !lock_cell_is_open(cell)) && is_in_use(self))
        lock = g_object_ref(self->lock);
    session_leave(self->session);
    return lock;
}

/**
 * web_locks_handle_get_entered:
 * @self: a handle
 *
 * Gets whether the calling thread has entered by web_locks_handle_enter_sync(),
 * web_locks_handle_try_enter() or web_locks_handle_take(), and not left. It may have lost the lock
 * meanwhile. A binding calls this when an exception has come at a time when it can't know.
 *
 * Returns: whether this thread has to leave
 * Since: 0.1
 */
gboolean
web_locks_handle_get_entered(WebLocksHandle *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_HANDLE(self), FALSE);
    return is_of_this_process(self) && get_thread(self) == g_thread_self();
}

/**
 * web_locks_handle_get_held:
 * @self: a handle
 *
 * Gets whether the lock is held, by any thread that uses this handle. As
 * web_locks_lock_get_held(), this reads what the service has sent first, without waiting.
 *
 * Returns: %FALSE if it was left, not entered, or lost
 * Since: 0.1
 */
gboolean
web_locks_handle_get_held(WebLocksHandle *self)
{
    g_autoptr(WebLocksLock) lock = NULL;
    LockCell *cell;

    g_return_val_if_fail(WEB_LOCKS_IS_HANDLE(self), FALSE);

    /* First the cell: if the service closes it after this, the lock is an ordinary one below. */
    cell = g_atomic_pointer_get(&self->cell);
    if (cell != NULL && is_of_this_process(self) &&
        lock_cell_is_held(cell, __atomic_load_n(&self->key, __ATOMIC_RELAXED),
                          __atomic_load_n(&self->token, __ATOMIC_RELAXED)))
        return TRUE;
    lock = dup_lock(self);
    return lock != NULL && web_locks_lock_get_held(lock);
}

/**
 * web_locks_handle_get_error:
 * @self: a handle
 *
 * Gets the error if the lock that was entered, and not left, was lost:
 * [error@WebLocks.Error.STOLEN] or [error@WebLocks.Error.LOST]. As web_locks_lock_get_error(), this
 * reads what has arrived first.
 *
 * Returns: (transfer full) (nullable): the error; %NULL if the lock is held, or was left
 * Since: 0.1
 */
GError *
web_locks_handle_get_error(WebLocksHandle *self)
{
    g_autoptr(WebLocksLock) lock = NULL;
    const GError *error = NULL;

    g_return_val_if_fail(WEB_LOCKS_IS_HANDLE(self), NULL);

    lock = dup_lock(self);
    if (lock != NULL)
        error = web_locks_lock_get_error(lock);
    return error != NULL ? g_error_copy(error) : NULL;
}

/* ---- GObject */

static void
web_locks_handle_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
    WebLocksHandle *self = WEB_LOCKS_HANDLE(object);

    switch (id) {
    case PROP_TOKEN:
        g_value_set_uint64(value, web_locks_handle_get_token(self));
        break;
    case PROP_HELD:
        g_value_set_boolean(value, web_locks_handle_get_held(self));
        break;
    default:
        property_get(object, id, value, pspec);
    }
}

static void
web_locks_handle_constructed(GObject *object)
{
    WebLocksHandle *self = WEB_LOCKS_HANDLE(object);

    G_OBJECT_CLASS(web_locks_handle_parent_class)->constructed(object);
    if (self->manager == NULL)
        self->manager = web_locks_manager_new(NULL, NULL);
    if (self->name == NULL)
        self->name = g_strdup("");
    self->session =
        session_ref(connection_get_session(web_locks_manager_get_connection(self->manager)));
}

static void
web_locks_handle_dispose(GObject *object)
{
    WebLocksHandle *self = WEB_LOCKS_HANDLE(object);
    WebLocksLock *lock;

    session_enter(self->session);
    lock = steal_lock(self);
    if (self->n_notifying > 0 && !self->is_forgotten) {
        g_object_ref(self);
        self->is_forgotten = TRUE;
    }
    session_leave(self->session);
    g_clear_object(&lock);
    G_OBJECT_CLASS(web_locks_handle_parent_class)->dispose(object);
}

static void
web_locks_handle_finalize(GObject *object)
{
    WebLocksHandle *self = WEB_LOCKS_HANDLE(object);

    if (self->cells != NULL) {
        session_enter(self->session);
        cells_return_number(self->cells, self->options.cell);
        session_leave(self->session);
        cells_unref(self->cells);
    }
    session_unref(self->session);
    request_options_clear(&self->options);
    g_free(self->name);
    g_object_unref(self->manager);
    G_OBJECT_CLASS(web_locks_handle_parent_class)->finalize(object);
}

static void
web_locks_handle_class_init(WebLocksHandleClass *class)
{
    GObjectClass *object_class = G_OBJECT_CLASS(class);
    const GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;
    const GParamFlags construct_flags =
        G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

    object_class->get_property = web_locks_handle_get_property;
    object_class->set_property = property_set;
    object_class->constructed = web_locks_handle_constructed;
    object_class->dispose = web_locks_handle_dispose;
    object_class->finalize = web_locks_handle_finalize;

    /**
     * WebLocksHandle:manager:
     *
     * The manager that has prepared the handle. If none is given, it is one of the default bucket.
     *
     * Since: 0.1
     */
    PROPERTY_INSTALL(WebLocksHandle, manager, object, "manager", WEB_LOCKS_TYPE_MANAGER,
                     construct_flags);
    /**
     * WebLocksHandle:name:
     *
     * The lock's resource name.
     *
     * Since: 0.1
     */
    PROPERTY_INSTALL(WebLocksHandle, name, string, "name", NULL, construct_flags);
    /**
     * WebLocksHandle:token:
     *
     * The fencing token, see web_locks_handle_get_token(). "notify" is not emitted.
     *
     * Since: 0.1
     */
    properties[PROP_TOKEN] = g_param_spec_uint64("token", NULL, NULL, 0, G_MAXUINT64, 0, flags);
    /**
     * WebLocksHandle:held:
     *
     * Whether the lock is held. "notify" is only emitted when it is lost, in the main context of
     * the agent.
     *
     * Since: 0.1
     */
    properties[PROP_HELD] = g_param_spec_boolean("held", NULL, NULL, FALSE, flags);
    g_object_class_install_properties(object_class, N_PROPS, properties);

    /**
     * WebLocksHandle::lost:
     * @self: the handle
     * @error: why: [error@WebLocks.Error.STOLEN] or [error@WebLocks.Error.LOST]
     *
     * The lock was lost while it was held; a parked lock can't be lost. The handle still has to be
     * left. This signal is emitted in the main context of the agent, and never from within a
     * function of this library; not if the handle was left before.
     *
     * Since: 0.1
     */
    signals[SIGNAL_LOST] =
        g_signal_new("lost", WEB_LOCKS_TYPE_HANDLE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                     G_TYPE_NONE, 1, G_TYPE_ERROR | G_SIGNAL_TYPE_STATIC_SCOPE);
}

static void
web_locks_handle_init(WebLocksHandle *self)
{
    request_options_init(&self->options, NULL);
}
