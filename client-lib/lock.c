/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config.h"

#include "client-lib/lock-private.h"

#include <glib/gi18n-lib.h>

/**
 * WebLocksLock:
 *
 * A lock that was granted (section 2.4 of the standard).
 *
 * It is held until it is released, until its last reference is dropped (which releases it without
 * waiting for an answer), or until it is lost: see [signal@WebLocks.Lock::lost]. It keeps the
 * connection of its agent open, but holds no reference to the [class@WebLocks.Agent] object.
 *
 * It stays held when the lock service restarts, since the service restores its state.
 *
 * After a `fork()` only the parent holds it: in the child it is not held, and dropping it there
 * releases nothing.
 *
 * Since: 0.1
 */
struct _WebLocksLock {
    GObject parent;
    Request *request;
    WebLocksHandle *handle; /* that was entered with it; borrowed; with the session lock held */
};

G_DEFINE_FINAL_TYPE(WebLocksLock, web_locks_lock, G_TYPE_OBJECT)

enum {
    PROP_NAME = 1,
    PROP_MODE,
    PROP_TOKEN,
    PROP_HELD,
    PROP_WANTED,
    N_PROPS,
};
static GParamSpec *properties[N_PROPS];

enum {
    SIGNAL_LOST,
    N_SIGNALS,
};
static guint signals[N_SIGNALS];

/* Set by class_init. */
static guint notify_id;
static GQuark quarks[N_PROPS];

static gboolean
has_handler(gpointer lock, guint property)
{
    return g_signal_has_handler_pending(lock, notify_id, quarks[property], TRUE);
}

/* Emits "notify" only if a handler is connected, since that takes longer than the rest of a
 * release. The handler may drop the last reference, as a claim does. */
static void
notify_held(WebLocksLock *self)
{
    const gboolean was_wanted = request_was_wanted(self->request) && has_handler(self, PROP_WANTED);

    if (!was_wanted && !has_handler(self, PROP_HELD))
        return;
    g_object_ref(self);
    g_object_notify_by_pspec(G_OBJECT(self), properties[PROP_HELD]);
    if (was_wanted)
        g_object_notify_by_pspec(G_OBJECT(self), properties[PROP_WANTED]);
    g_object_unref(self);
}

void
web_locks_lock_set_handle(WebLocksLock *self, WebLocksHandle *handle)
{
    self->handle = handle;
}

static void
lose(WebLocksLock *self)
{
    Session *session = request_get_session(self->request);
    const GError *error = request_get_error(self->request);
    WebLocksHandle *handle;

    session_enter(session);
    handle = self->handle;
    if (handle != NULL)
        web_locks_handle_begin_loss(handle);
    session_leave(session);
    notify_held(self);
    g_signal_emit(self, signals[SIGNAL_LOST], 0, error);
    if (handle != NULL)
        web_locks_handle_lose(handle, error);
}

void
web_locks_lock_change(gpointer lock, RequestChanges changes)
{
    if (changes & REQUEST_DOWNGRADED)
        g_object_notify_by_pspec(lock, properties[PROP_MODE]);
    if (changes & REQUEST_WANTED)
        g_object_notify_by_pspec(lock, properties[PROP_WANTED]);
    if (changes & REQUEST_LOST)
        lose(lock);
}

gboolean
web_locks_lock_listens(gpointer lock)
{
    return has_handler(lock, PROP_WANTED);
}

gpointer
web_locks_lock_new(Request *take_request)
{
    WebLocksLock *self = g_object_new(WEB_LOCKS_TYPE_LOCK, NULL);

    self->request = take_request;
    return self;
}

Request *
web_locks_lock_get_request(WebLocksLock *self)
{
    return self->request;
}

/**
 * web_locks_lock_get_name:
 * @self: a lock
 *
 * Gets the lock's resource name (section 2.1 of the standard).
 *
 * Returns: (transfer none): the name
 * Since: 0.1
 */
const char *
web_locks_lock_get_name(WebLocksLock *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_LOCK(self) && self->request != NULL, NULL);
    return request_get_name(self->request);
}

/**
 * web_locks_lock_get_mode:
 * @self: a lock
 *
 * Gets the lock mode (section 2.3 of the standard). It changes by web_locks_lock_downgrade_async().
 *
 * Returns: the mode
 * Since: 0.1
 */
WebLocksMode
web_locks_lock_get_mode(WebLocksLock *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_LOCK(self) && self->request != NULL,
                         WEB_LOCKS_MODE_EXCLUSIVE);
    return request_get_mode(self->request);
}

/**
 * web_locks_lock_get_token:
 * @self: a lock
 *
 * Gets the fencing token, which is greater than the tokens of all locks granted before in this
 * bucket.
 *
 * A resource that stores the greatest token it has received can refuse a late writer whose lock was
 * stolen.
 *
 * Returns: the token, never 0
 * Since: 0.1
 */
guint64
web_locks_lock_get_token(WebLocksLock *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_LOCK(self) && self->request != NULL, 0);
    return request_get_token(self->request);
}

/**
 * web_locks_lock_get_held:
 * @self: a lock
 *
 * Gets whether the lock is held.
 *
 * What the service has sent to this process is read first, without waiting. So the result is also
 * right in a program that runs no main loop; only a loss that the service has not sent yet is not
 * taken into account. [signal@WebLocks.Lock::lost] is emitted later, by the main context.
 *
 * Returns: %FALSE once it is released or lost
 * Since: 0.1
 */
gboolean
web_locks_lock_get_held(WebLocksLock *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_LOCK(self) && self->request != NULL, FALSE);
    request_catch_up(self->request);
    return request_is_held(self->request);
}

/**
 * web_locks_lock_get_wanted:
 * @self: a lock
 *
 * Gets whether somebody waits for the lock: requests for its name are pending, also those of this
 * process, or another machine of a cluster waits for it. So its holder can finish its work, and
 * release it.
 *
 * Like web_locks_lock_get_held(), this reads what has arrived first.
 *
 * Returns: whether somebody waits; %FALSE once the lock is released or lost
 * Since: 0.1
 */
gboolean
web_locks_lock_get_wanted(WebLocksLock *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_LOCK(self) && self->request != NULL, FALSE);
    request_catch_up(self->request);
    return request_is_wanted(self->request);
}

/**
 * web_locks_lock_get_error:
 * @self: a lock
 *
 * Gets the error of a lost lock: [error@WebLocks.Error.STOLEN], or [error@WebLocks.Error.LOST] if
 * it was lost by the service or with the connection to the bus. Like web_locks_lock_get_held(),
 * this reads what has arrived first.
 *
 * Returns: (transfer none) (nullable): the error; %NULL if the lock is held, or was released
 * Since: 0.1
 */
const GError *
web_locks_lock_get_error(WebLocksLock *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_LOCK(self) && self->request != NULL, NULL);
    request_catch_up(self->request);
    return request_get_error(self->request);
}

/**
 * web_locks_lock_release:
 * @self: a lock
 *
 * Releases the lock (section 4.2 of the standard), without waiting for the service, and without a
 * result. Afterwards the lock is not held.
 *
 * The release is sent before everything that this agent requests later. If the service is stopped
 * or restarts, it takes effect when the service is there. If the lock was released or lost already,
 * or belongs to the parent process of a `fork()`, nothing happens. To find out whether the lock was
 * held until the release, use web_locks_lock_release_async() or web_locks_lock_release_sync(),
 * which wait for the answer of the service.
 *
 * Since: 0.1
 */
void
web_locks_lock_release(WebLocksLock *self)
{
    g_return_if_fail(WEB_LOCKS_IS_LOCK(self) && self->request != NULL);

    if (request_drop(self->request))
        notify_held(self);
}

/* Otherwise the call is completed with an error. */
static gboolean
check_call(WebLocksLock *self, GCancellable *cancellable, Caller caller)
{
    Session *session = request_get_session(self->request);
    GError *error = NULL;

    if (!g_cancellable_set_error_if_cancelled(cancellable, &error) &&
        !session_is_of_this_process(session))
        error = g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE,
                                    _("the lock belongs to the parent process"));
    if (error != NULL)
        caller_fail(caller, session, error);
    return error == NULL;
}

/* The release can't be cancelled: the result is the service's answer. */
static void
release(WebLocksLock *self, GCancellable *cancellable, Caller caller)
{
    if (check_call(self, cancellable, caller) && request_release(self->request, caller))
        notify_held(self);
}

static void
downgrade(WebLocksLock *self, GCancellable *cancellable, Caller caller)
{
    if (check_call(self, cancellable, caller))
        request_downgrade(self->request, caller);
}

/**
 * web_locks_lock_release_async:
 * @self: a lock
 * @cancellable: (nullable): has an effect only if it is cancelled already: then nothing is released
 * @callback: (scope async) (nullable): called when the lock is released
 * @user_data: for @callback
 *
 * Releases the lock (section 4.2 of the standard). The result is the answer of the service.
 *
 * Since: 0.1
 */
void
web_locks_lock_release_async(WebLocksLock *self,
                             GCancellable *cancellable,
                             GAsyncReadyCallback callback,
                             gpointer user_data)
{
    g_return_if_fail(WEB_LOCKS_IS_LOCK(self) && self->request != NULL);
    g_return_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable));

    release(self, cancellable,
            caller_async(self, web_locks_lock_release_async, NULL, callback, user_data));
}

/**
 * web_locks_lock_release_finish:
 * @self: a lock
 * @result: the result of web_locks_lock_release_async()
 * @error: return location for an error
 *
 * Finishes an operation started with web_locks_lock_release_async().
 *
 * After a [error@WebLocks.Error] the lock is not held either. [error@WebLocks.Error.STOLEN]: it had
 * been stolen. [error@WebLocks.Error.LOST]: it had been lost by the service or with the connection
 * to the bus. [error@WebLocks.Error.UNAVAILABLE]: the service has not answered within 25 seconds,
 * because it is stopped or could not be started, so the lock may have been lost; the release
 * remains queued, and takes effect when the service is there. [error@WebLocks.Error.NOT_HELD]: it
 * had been released.
 *
 * Returns: whether the lock was held until now
 * Since: 0.1
 */
ASYNC_RESULT_FINISH_BOOLEAN(WebLocksLock, web_locks_lock_release)

/**
 * web_locks_lock_release_sync:
 * @self: a lock
 * @cancellable: (nullable): has an effect only if it is cancelled already
 * @error: return location for an error
 *
 * Releases the lock, and waits for the answer of the service, for at most 25 seconds.
 *
 * web_locks_lock_release() doesn't wait. See web_locks_lock_release_finish() for errors.
 *
 * Returns: whether the lock was held until now
 * Since: 0.1
 */
gboolean
web_locks_lock_release_sync(WebLocksLock *self, GCancellable *cancellable, GError **error)
{
    SyncCall sync;

    g_return_val_if_fail(WEB_LOCKS_IS_LOCK(self) && self->request != NULL, FALSE);
    g_return_val_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable), FALSE);

    release(self, cancellable, caller_of_sync(&sync, NULL));
    return sync_call_wait(&sync, error) != NULL;
}

/**
 * web_locks_lock_downgrade_async:
 * @self: a lock
 * @cancellable: (nullable): has an effect only if it is cancelled already: then nothing is changed
 * @callback: (scope async) (nullable): called when the lock is shared
 * @user_data: for @callback
 *
 * Makes an exclusive lock shared, without a gap: no other exclusive lock comes between, and shared
 * requests that are next in the queue are granted with it. This is not in the standard.
 *
 * [property@WebLocks.Lock:mode] changes, and the token stays the same. A shared lock stays as it
 * is. If the service is stopped or restarts, it takes effect when the service is there.
 *
 * There is no way back: two holders of a shared lock that both wait to be exclusive would wait for
 * each other. Release the lock and request an exclusive one instead.
 *
 * Since: 0.1
 */
void
web_locks_lock_downgrade_async(WebLocksLock *self,
                               GCancellable *cancellable,
                               GAsyncReadyCallback callback,
                               gpointer user_data)
{
    g_return_if_fail(WEB_LOCKS_IS_LOCK(self) && self->request != NULL);
    g_return_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable));

    downgrade(self, cancellable,
              caller_async(self, web_locks_lock_downgrade_async, NULL, callback, user_data));
}

/**
 * web_locks_lock_downgrade_finish:
 * @self: a lock
 * @result: the result of web_locks_lock_downgrade_async()
 * @error: return location for an error
 *
 * Finishes an operation started with web_locks_lock_downgrade_async().
 *
 * [error@WebLocks.Error.INVALID_STATE]: it is a counting lock that others hold too; it stays as it
 * is. [error@WebLocks.Error.STOLEN] and [error@WebLocks.Error.LOST]: it had been lost.
 * [error@WebLocks.Error.NOT_HELD]: it had been released. [error@WebLocks.Error.UNAVAILABLE]: the
 * service has not answered within 25 seconds; the downgrade remains queued, and takes effect when
 * the service is there.
 *
 * Returns: whether the lock is shared now
 * Since: 0.1
 */
ASYNC_RESULT_FINISH_BOOLEAN(WebLocksLock, web_locks_lock_downgrade)

/**
 * web_locks_lock_downgrade_sync:
 * @self: a lock
 * @cancellable: (nullable): has an effect only if it is cancelled already
 * @error: return location for an error
 *
 * Makes an exclusive lock shared, and waits for the answer of the service, for at most 25 seconds.
 *
 * See web_locks_lock_downgrade_async(), and web_locks_lock_downgrade_finish() for errors.
 *
 * Returns: whether the lock is shared now
 * Since: 0.1
 */
gboolean
web_locks_lock_downgrade_sync(WebLocksLock *self, GCancellable *cancellable, GError **error)
{
    SyncCall sync;

    g_return_val_if_fail(WEB_LOCKS_IS_LOCK(self) && self->request != NULL, FALSE);
    g_return_val_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable), FALSE);

    downgrade(self, cancellable, caller_of_sync(&sync, NULL));
    return sync_call_wait(&sync, error) != NULL;
}

/* ---- GObject */

static void
web_locks_lock_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
    WebLocksLock *self = WEB_LOCKS_LOCK(object);

    g_return_if_fail(self->request != NULL); /* only the library creates locks */
    switch (id) {
    case PROP_NAME:
        g_value_set_string(value, request_get_name(self->request));
        break;
    case PROP_MODE:
        g_value_set_enum(value, (int)request_get_mode(self->request));
        break;
    case PROP_TOKEN:
        g_value_set_uint64(value, request_get_token(self->request));
        break;
    case PROP_HELD:
        g_value_set_boolean(value, web_locks_lock_get_held(self));
        break;
    case PROP_WANTED:
        g_value_set_boolean(value, web_locks_lock_get_wanted(self));
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
    }
}

/* This runs while the object still has a reference: see run_notification() in engine/held-lock.c.
 */
static void
web_locks_lock_dispose(GObject *object)
{
    WebLocksLock *self = WEB_LOCKS_LOCK(object);

    if (self->request != NULL)
        request_forget_lock(self->request);
    G_OBJECT_CLASS(web_locks_lock_parent_class)->dispose(object);
}

static void
web_locks_lock_finalize(GObject *object)
{
    WebLocksLock *self = WEB_LOCKS_LOCK(object);

    g_clear_pointer(&self->request, request_unref);
    G_OBJECT_CLASS(web_locks_lock_parent_class)->finalize(object);
}

static void
web_locks_lock_class_init(WebLocksLockClass *class)
{
    GObjectClass *object_class = G_OBJECT_CLASS(class);
    const GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

    object_class->get_property = web_locks_lock_get_property;
    object_class->dispose = web_locks_lock_dispose;
    object_class->finalize = web_locks_lock_finalize;

    /**
     * WebLocksLock:name:
     *
     * The lock's resource name.
     *
     * Since: 0.1
     */
    properties[PROP_NAME] = g_param_spec_string("name", NULL, NULL, NULL, flags);
    /**
     * WebLocksLock:mode:
     *
     * The lock mode. It becomes shared by web_locks_lock_downgrade_async(); "notify" is emitted in
     * the main context of the agent.
     *
     * Since: 0.1
     */
    properties[PROP_MODE] =
        g_param_spec_enum("mode", NULL, NULL, WEB_LOCKS_TYPE_MODE, WEB_LOCKS_MODE_EXCLUSIVE, flags);
    /**
     * WebLocksLock:token:
     *
     * The fencing token, which is greater than the tokens of all locks granted before in this
     * bucket.
     *
     * Since: 0.1
     */
    properties[PROP_TOKEN] = g_param_spec_uint64("token", NULL, NULL, 0, G_MAXUINT64, 0, flags);
    /**
     * WebLocksLock:held:
     *
     * Whether the lock is still held.
     *
     * Since: 0.1
     */
    properties[PROP_HELD] = g_param_spec_boolean("held", NULL, NULL, FALSE, flags);
    /**
     * WebLocksLock:wanted:
     *
     * Whether somebody waits for the lock, see web_locks_lock_get_wanted(). "notify" is emitted in
     * the main context of the agent, or by a release. After connecting a handler, check the value.
     *
     * Since: 0.1
     */
    properties[PROP_WANTED] = g_param_spec_boolean("wanted", NULL, NULL, FALSE, flags);
    g_object_class_install_properties(object_class, N_PROPS, properties);
    notify_id = g_signal_lookup("notify", G_TYPE_OBJECT);
    quarks[PROP_HELD] = g_quark_from_static_string("held");
    quarks[PROP_WANTED] = g_quark_from_static_string("wanted");

    /**
     * WebLocksLock::lost:
     * @self: the lock
     * @error: why: [error@WebLocks.Error.STOLEN] or [error@WebLocks.Error.LOST]
     *
     * The lock was lost; @error is that of web_locks_lock_get_error(). This signal is emitted at
     * most once, in the main context of the agent, and never from within a function of this
     * library. After connecting a handler, check [property@WebLocks.Lock:held], since the lock may
     * have been lost before.
     *
     * Since: 0.1
     */
    signals[SIGNAL_LOST] =
        g_signal_new("lost", WEB_LOCKS_TYPE_LOCK, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                     G_TYPE_NONE, 1, G_TYPE_ERROR | G_SIGNAL_TYPE_STATIC_SCOPE);
}

static void
web_locks_lock_init(WebLocksLock *self)
{
}
