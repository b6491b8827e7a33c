/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config.h"

#include <glib/gi18n-lib.h>

#include "client-lib/agent-private.h"
#include "client-lib/lock-info-private.h"
#include "client-lib/lock-private.h"
#include "client-lib/manager-private.h"
#include "client-lib/monitor-private.h"
#include "common/bus-names.h"

/* How often a document is opened again before a request is taken for refused, and the pause after
 * which it is if there is no service. */
#define REOPENS_MAX     3
#define REOPEN_PAUSE_MS 1000

/* A claim makes one request after the other. It has a `request` exactly while it waits, and a
 * `lock` exactly while it holds it; change() keeps that, and is the only function that changes the
 * state.
 *
 * The queue is watched from the moment when the service has queued the request, until the request
 * ends. So a lock that is granted immediately costs nothing more.
 *
 * If the request is granted while a take-over is in progress, the claim waits until that has
 * finished: the service may already have taken the lock from the request to grant it to the
 * take-over.
 *
 * With a document, each request begins with opening it: only then the manager and the name of the
 * lock are known, and a service that was started since has forgotten what was opened before.
 *
 * Application code runs in change(), as handlers of "notify": whatever follows it has to look at
 * the state again. Callbacks have a weak reference, so that what is going on doesn't keep a claim
 * alive, and compare their request with the current one. */

typedef struct ClaimRef ClaimRef;

/**
 * WebLocksClaim:
 *
 * A persistent request for one lock: "one of us may edit".
 *
 * After web_locks_claim_start() a claim requests its lock (section 4.1 of the standard), and holds
 * it once it is granted, until web_locks_claim_stop() or the loss of the lock. All of this is in
 * its properties, so a user interface needs no code but bindings:
 *
 * ```c
 * claim = web_locks_claim_new (manager, name);
 * g_object_bind_property (claim, "held", view, "editable", G_BINDING_SYNC_CREATE);
 * web_locks_claim_start (claim);
 * ```
 *
 * While it waits, [property@WebLocks.Claim:holder] describes the holder, and
 * [property@WebLocks.Claim:position] the place in the queue. They follow the signals of the lock
 * service, which are watched only then.
 *
 * web_locks_claim_new_for_file() makes a claim on a document, by which the editors of a user
 * exclude each other, also those in sandboxes: see web_locks_agent_open_document_async().
 *
 * A restart of the service changes nothing: what was held or requested still is.
 * With [property@WebLocks.Claim:reclaim] a lock that was lost is requested again.
 *
 * A claim is used in one thread: its properties change, and "notify" is emitted, in the main
 * context that was thread-default when it was created. Each change causes one "notify", when all
 * properties have their new values. Dropping the last reference has the effect of
 * web_locks_claim_stop().
 *
 * Since: 0.1
 */
struct _WebLocksClaim {
    GObject parent;
    WebLocksAgent *agent;
    GFile *file;              /* NULL: the next two are given by the application */
    WebLocksManager *manager; /* NULL: the file has not been opened yet; as is the name */
    char *name;
    gboolean excludes_all;
    guint n_reopened;
    WebLocksMode mode;
    char *why;
    gboolean reclaim;

    ClaimRef *ref;
    WebLocksClaimState state;
    GError *error;
    GTask *request;            /* while waiting; its data is `ref` */
    GCancellable *cancellable; /* of `request` */
    gboolean is_patient;       /* `request` also waits for a service */
    guint64 key;               /* of `request` at the service */
    WebLocksMonitor *monitor;  /* of the name, while `request` is queued */
    WebLocksLockInfo *holder;
    guint position;
    WebLocksLock *granted; /* of `request`, until the take-over has finished */
    WebLocksLock *lock;    /* while held */
    GTask *taking;         /* the take-over that is going on, borrowed; NULL: none */
};

G_DEFINE_FINAL_TYPE(WebLocksClaim, web_locks_claim, G_TYPE_OBJECT)

enum {
    PROP_AGENT = 1,
    PROP_FILE,
    PROP_MANAGER,
    PROP_NAME,
    PROP_MODE,
    PROP_WHY,
    PROP_RECLAIM,
    PROP_EXCLUDES_ALL,
    PROP_STATE,
    PROP_HELD,
    PROP_LOCK,
    PROP_TOKEN,
    PROP_HOLDER,
    PROP_POSITION,
    PROP_ERROR,
    N_PROPS,
};
static GParamSpec *properties[N_PROPS];

/**
 * web_locks_claim_new:
 * @manager: the bucket
 * @name: the resource name, see web_locks_manager_request_async()
 *
 * Creates a claim on an exclusive lock. Nothing is requested before web_locks_claim_start().
 *
 * Returns: (transfer full): a new claim
 * Since: 0.1
 */
WebLocksClaim *
web_locks_claim_new(WebLocksManager *manager, const char *name)
{
    g_return_val_if_fail(WEB_LOCKS_IS_MANAGER(manager), NULL);
    g_return_val_if_fail(name != NULL, NULL);
    return g_object_new(WEB_LOCKS_TYPE_CLAIM, "manager", manager, "name", name, NULL);
}

/**
 * web_locks_claim_new_for_file:
 * @agent: (nullable): an agent; %NULL for the default agent of the session bus
 * @file: a document, which need not exist
 *
 * Creates a claim on the exclusive lock of a document, by which its editors exclude each other.
 * Nothing is requested before web_locks_claim_start(), which opens the document first, without
 * blocking: see web_locks_agent_open_document_async().
 *
 * Returns: (transfer full): a new claim
 * Since: 0.1
 */
WebLocksClaim *
web_locks_claim_new_for_file(WebLocksAgent *agent, GFile *file)
{
    g_return_val_if_fail(agent == NULL || WEB_LOCKS_IS_AGENT(agent), NULL);
    g_return_val_if_fail(G_IS_FILE(file), NULL);
    return g_object_new(WEB_LOCKS_TYPE_CLAIM, "agent", agent, "file", file, NULL);
}

/* ---- a weak reference, with the context of the claim; usable in any thread */

struct ClaimRef {
    GWeakRef claim;
    GMainContext *context;
};

static ClaimRef *
claim_ref_new(WebLocksClaim *claim)
{
    ClaimRef *self = g_atomic_rc_box_new0(ClaimRef);

    g_weak_ref_init(&self->claim, claim);
    self->context = g_main_context_ref_thread_default();
    return self;
}

static void
claim_ref_clear(gpointer data)
{
    ClaimRef *self = data;

    g_weak_ref_clear(&self->claim);
    g_main_context_unref(self->context);
}

static void
claim_ref_unref(gpointer data)
{
    g_atomic_rc_box_release_full(data, claim_ref_clear);
}

static void
claim_ref_unref_closure(gpointer data, GClosure *closure)
{
    claim_ref_unref(data);
}

/* Returns a reference, or NULL if the claim is gone. */
static WebLocksClaim *
claim_ref_get(ClaimRef *self)
{
    return g_weak_ref_get(&self->claim);
}

/* ---- changing */

static void
notify(WebLocksClaim *self, guint property)
{
    g_object_notify_by_pspec(G_OBJECT(self), properties[property]);
}

static void
show_queue(WebLocksClaim *self, WebLocksLockInfo *holder, guint position)
{
    g_object_freeze_notify(G_OBJECT(self));
    if (g_set_object(&self->holder, holder))
        notify(self, PROP_HOLDER);
    if (self->position != position)
        notify(self, PROP_POSITION);
    self->position = position;
    g_object_thaw_notify(G_OBJECT(self));
}

static void
stop_watching(WebLocksClaim *self)
{
    if (self->monitor != NULL)
        g_signal_handlers_disconnect_by_data(self->monitor, self);
    g_clear_object(&self->monitor);
    show_queue(self, NULL, 0);
}

static void
drop_request(WebLocksClaim *self)
{
    g_autoptr(GTask) request = g_steal_pointer(&self->request);
    g_autoptr(GCancellable) cancellable = g_steal_pointer(&self->cancellable);

    g_clear_object(&self->granted);
    stop_watching(self);
    if (request != NULL)
        g_cancellable_cancel(cancellable); /* no effect after the grant */
}

/* The application may have a reference to the lock, so it is released explicitly. */
static void
drop_lock(WebLocksClaim *self)
{
    g_autoptr(WebLocksLock) lock = g_steal_pointer(&self->lock);

    if (lock == NULL)
        return;
    g_signal_handlers_disconnect_by_data(lock, self->ref);
    web_locks_lock_release(lock);
}

static void on_lock_notify(WebLocksLock *lock, GParamSpec *pspec, gpointer ref);

static void
take_lock(WebLocksClaim *self, WebLocksLock *lock)
{
    self->lock = g_object_ref(lock);
    g_signal_connect_data(lock, "notify::held", G_CALLBACK(on_lock_notify),
                          g_atomic_rc_box_acquire(self->ref), claim_ref_unref_closure,
                          G_CONNECT_DEFAULT);
}

static gboolean
is_same_error(const GError *a, const GError *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return g_error_matches(a, b->domain, b->code) && g_str_equal(a->message, b->message);
}

/* Enters a state with all that belongs to it. `object` is the request when waiting, the lock when
 * held, and NULL otherwise. Takes the error. */
static void
change(WebLocksClaim *self, WebLocksClaimState state, gpointer object, GError *error)
{
    const gboolean had_lock = self->lock != NULL;
    const gboolean is_new_error = !is_same_error(self->error, error);
    const gboolean is_new = self->state != state;

    g_object_freeze_notify(G_OBJECT(self));
    drop_request(self);
    drop_lock(self);
    if (state == WEB_LOCKS_CLAIM_STATE_WAITING)
        self->request = g_object_ref(object);
    else if (object != NULL)
        take_lock(self, object);
    self->state = state;
    g_clear_error(&self->error);
    self->error = error;

    if (is_new)
        notify(self, PROP_STATE);
    if (had_lock != (self->lock != NULL))
        notify(self, PROP_HELD);
    if (had_lock || self->lock != NULL) {
        notify(self, PROP_LOCK);
        notify(self, PROP_TOKEN);
    }
    if (is_new_error)
        notify(self, PROP_ERROR);
    g_object_thaw_notify(G_OBJECT(self));
}

/* ---- the queue */

static void
on_queue_changed(WebLocksClaim *self)
{
    GListModel *pending = web_locks_monitor_get_pending(self->monitor);
    g_autoptr(WebLocksLockInfo) holder =
        g_list_model_get_item(web_locks_monitor_get_held(self->monitor), 0);
    guint position = 0;

    for (guint i = 0; i < g_list_model_get_n_items(pending); i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(pending, i);

        if (web_locks_lock_info_get_key(info) == self->key)
            position = web_locks_lock_info_get_position(info);
    }
    show_queue(self, holder, position);
}

typedef struct {
    GTask *request;
    guint64 key;
} Wait;

static void
wait_run(gpointer data)
{
    const Wait *wait = data;
    g_autoptr(WebLocksClaim) self = claim_ref_get(g_task_get_task_data(wait->request));

    if (self == NULL || self->request != wait->request)
        return;
    self->key = wait->key;
    /* Documents of the user can't be watched from a sandbox. */
    if (self->monitor != NULL ||
        g_str_equal(web_locks_manager_get_bucket(self->manager), BUS_USER_DOCUMENTS_BUCKET))
        return;
    self->monitor = web_locks_monitor_new_of_name(self->manager, self->name, self->ref->context);
    g_signal_connect_swapped(self->monitor, "changed", G_CALLBACK(on_queue_changed), self);
}

static void
wait_free(gpointer data)
{
    g_object_unref(((Wait *)data)->request);
    g_free(data);
}

/* Called with the session lock held. */
static void
on_waits(GTask *request, guint64 key)
{
    WebLocksAgent *agent;
    Wait *wait;

    if (request == NULL) /* cancelled */
        return;
    agent = g_task_get_source_object(request);
    wait = g_new(Wait, 1);
    *wait = (Wait){g_object_ref(request), key};
    session_deliver(connection_get_session(web_locks_agent_get_connection(agent)),
                    g_task_get_context(request), wait_run, wait, wait_free);
}

/* ---- requests */

static void on_acquired(GObject *source, GAsyncResult *result, gpointer unused);

static WebLocksOptions *
make_options(const WebLocksClaim *self, gboolean steal)
{
    return g_object_new(WEB_LOCKS_TYPE_OPTIONS, "mode", self->mode, "why", self->why, "steal",
                        steal, NULL);
}

/* Takes the task. */
static void
start_request(WebLocksClaim *self, GTask *task)
{
    static const RequestFuncs funcs = {web_locks_lock_new, web_locks_lock_lose, on_waits};
    g_autoptr(WebLocksOptions) options = make_options(self, FALSE);
    g_auto(RequestOptions) values = {0};
    GError *error = NULL;

    request_options_init(&values, options);
    values.patient = self->is_patient;
    if (web_locks_manager_check_request(self->manager, self->name, &values, &error)) {
        web_locks_manager_start_request(self->manager, self->name, &values, &funcs,
                                        caller_of_task(task));
        return;
    }
    g_task_return_error(task, error);
    g_object_unref(task);
}

/* ---- documents */

static void
set_lock(WebLocksClaim *self, WebLocksManager *manager, char *take_name, gboolean excludes_all)
{
    const gboolean is_new_name = g_strcmp0(self->name, take_name) != 0;

    g_object_freeze_notify(G_OBJECT(self));
    /* Another manager of the same bucket is the same. */
    if (self->manager == NULL || !g_str_equal(web_locks_manager_get_bucket(self->manager),
                                              web_locks_manager_get_bucket(manager))) {
        g_set_object(&self->manager, manager);
        notify(self, PROP_MANAGER);
    }
    g_free(self->name);
    self->name = take_name;
    if (is_new_name)
        notify(self, PROP_NAME);
    if (self->excludes_all != excludes_all)
        notify(self, PROP_EXCLUDES_ALL);
    self->excludes_all = excludes_all;
    g_object_thaw_notify(G_OBJECT(self));
}

/* Returns whether it was opened; then the lock is known. */
static gboolean
finish_opening(WebLocksClaim *self, GObject *agent, GAsyncResult *result, GError **error)
{
    gboolean excludes_all;
    char *name;
    g_autoptr(WebLocksManager) manager = web_locks_agent_open_document_finish(
        WEB_LOCKS_AGENT(agent), result, &name, &excludes_all, error);

    if (manager == NULL)
        return FALSE;
    set_lock(self, manager, name, excludes_all);
    return TRUE;
}

static void open_document(WebLocksClaim *self, GTask *request);

static gboolean
on_pause_over(gpointer data)
{
    g_autoptr(GTask) request = g_object_ref(data);
    g_autoptr(WebLocksClaim) self = claim_ref_get(g_task_get_task_data(request));

    if (self != NULL && self->request == request)
        open_document(self, request);
    return G_SOURCE_REMOVE;
}

static void
open_later(WebLocksClaim *self, GTask *request)
{
    g_autoptr(GSource) source = g_timeout_source_new(REOPEN_PAUSE_MS);

    g_source_set_callback(source, on_pause_over, g_object_ref(request), g_object_unref);
    g_source_attach(source, self->ref->context);
}

static void
on_opened(GObject *source, GAsyncResult *result, gpointer data)
{
    g_autoptr(GTask) request = data;
    g_autoptr(WebLocksClaim) self = claim_ref_get(g_task_get_task_data(request));
    g_autoptr(GError) error = NULL;

    if (self == NULL || self->request != request)
        return;
    if (finish_opening(self, source, result, &error)) {
        if (self->request == request)
            start_request(self, g_steal_pointer(&request));
    } else if (self->is_patient &&
               g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE)) {
        open_later(self, request);
    } else {
        g_task_return_error(request, g_steal_pointer(&error));
    }
}

static void
open_document(WebLocksClaim *self, GTask *request)
{
    g_main_context_push_thread_default(self->ref->context);
    web_locks_agent_open_document_async(self->agent, self->file, self->cancellable, on_opened,
                                        g_object_ref(request));
    g_main_context_pop_thread_default(self->ref->context);
}

/* ---- */

/* Takes the error, which the claim shows while it waits again; NULL: it waits for the first time.
 * To wait again includes waiting for a service. */
static void
begin(WebLocksClaim *self, GError *error)
{
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_autoptr(GTask) request = NULL;

    g_main_context_push_thread_default(self->ref->context);
    request = g_task_new(self->agent, cancellable, on_acquired, NULL);
    g_main_context_pop_thread_default(self->ref->context);
    g_task_set_task_data(request, g_atomic_rc_box_acquire(self->ref), claim_ref_unref);
    g_task_set_check_cancellable(request, FALSE);
    change(self, WEB_LOCKS_CLAIM_STATE_WAITING, request, error);
    if (self->request != request)
        return;
    self->cancellable = g_steal_pointer(&cancellable);
    self->is_patient = error != NULL;
    if (self->file != NULL)
        open_document(self, request);
    else
        start_request(self, g_object_ref(request));
}

/* Ends in `state`, and waits again if the application wants that and hasn't called anything else
 * meanwhile. */
static void
end(WebLocksClaim *self, WebLocksClaimState state, const GError *error, gboolean can_wait_again)
{
    change(self, state, NULL, g_error_copy(error));
    if (can_wait_again && self->reclaim && self->state == state)
        begin(self, g_error_copy(error));
}

/* The lock was lost, or released by the application with a function of the lock. */
static void
check_lock(WebLocksClaim *self)
{
    g_autoptr(WebLocksLock) lock = NULL;
    const GError *loss;

    if (self->lock == NULL || web_locks_lock_get_held(self->lock))
        return;
    lock = g_object_ref(self->lock);
    loss = web_locks_lock_get_error(lock);
    if (loss != NULL)
        end(self, WEB_LOCKS_CLAIM_STATE_LOST, loss, TRUE);
    else
        change(self, WEB_LOCKS_CLAIM_STATE_IDLE, NULL, NULL);
}

static gboolean
check_lock_if_alive(gpointer ref)
{
    g_autoptr(WebLocksClaim) self = claim_ref_get(ref);

    if (self != NULL)
        check_lock(self);
    return G_SOURCE_REMOVE;
}

/* In the main context of the agent, or in the thread that releases the lock. */
static void
on_lock_notify(WebLocksLock *lock, GParamSpec *pspec, gpointer data)
{
    ClaimRef *ref = data;

    g_main_context_invoke_full(ref->context, G_PRIORITY_DEFAULT, check_lock_if_alive,
                               g_atomic_rc_box_acquire(ref), claim_ref_unref);
}

/* It may have been lost already. */
static void
hold(WebLocksClaim *self, WebLocksLock *lock)
{
    self->n_reopened = 0;
    change(self, WEB_LOCKS_CLAIM_STATE_HELD, lock, NULL);
    check_lock(self);
}

/* Whether a service that has not opened the document has got the request, since it was started in
 * between. */
static gboolean
is_forgotten(WebLocksClaim *self, const GError *error)
{
    return self->file != NULL && self->n_reopened < REOPENS_MAX &&
           g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_SECURITY);
}

static void
on_acquired(GObject *source, GAsyncResult *result, gpointer unused)
{
    GTask *request = G_TASK(result);
    g_autoptr(WebLocksClaim) self = claim_ref_get(g_task_get_task_data(request));
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksLock) lock = g_task_propagate_pointer(request, &error);

    if (self == NULL || self->request != request)
        return; /* a lock that was granted meanwhile is released with its reference */
    if (lock != NULL && self->taking != NULL) {
        self->granted = g_steal_pointer(&lock);
        stop_watching(self);
    } else if (lock != NULL) {
        hold(self, lock);
    } else if (is_forgotten(self, error)) {
        self->n_reopened++;
        begin(self, NULL);
    } else {
        end(self, WEB_LOCKS_CLAIM_STATE_FAILED, error,
            !self->is_patient &&
                g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE));
    }
}

/**
 * web_locks_claim_start:
 * @self: a claim
 *
 * Requests the lock. Does nothing if the claim waits for it or holds it.
 *
 * An error, such as that of a name that is not valid, leads to
 * [enum@WebLocks.ClaimState.FAILED]; [property@WebLocks.Claim:error] has it.
 *
 * Since: 0.1
 */
void
web_locks_claim_start(WebLocksClaim *self)
{
    g_return_if_fail(WEB_LOCKS_IS_CLAIM(self));
    g_return_if_fail(self->file != NULL || (self->manager != NULL && self->name != NULL));

    if (self->state == WEB_LOCKS_CLAIM_STATE_WAITING || self->state == WEB_LOCKS_CLAIM_STATE_HELD)
        return;
    self->n_reopened = 0;
    g_object_ref(self);
    begin(self, NULL);
    g_object_unref(self);
}

/**
 * web_locks_claim_stop:
 * @self: a claim
 *
 * Aborts the request (section 4.3 of the standard), or releases the lock (section 4.2), without
 * waiting for the service. The claim is idle afterwards, and can be started again.
 *
 * Since: 0.1
 */
void
web_locks_claim_stop(WebLocksClaim *self)
{
    g_return_if_fail(WEB_LOCKS_IS_CLAIM(self));

    self->taking = NULL;
    change(self, WEB_LOCKS_CLAIM_STATE_IDLE, NULL, NULL);
}

/* ---- taking over */

static void
on_taken(GObject *source, GAsyncResult *result, gpointer data)
{
    g_autoptr(GTask) task = data;
    WebLocksClaim *self = g_task_get_source_object(task);
    GError *error = NULL;
    g_autoptr(WebLocksLock) granted = NULL;
    g_autoptr(WebLocksLock) lock =
        web_locks_manager_request_finish(WEB_LOCKS_MANAGER(source), result, &error);
    const gboolean was_stopped = self->taking != task;

    if (!was_stopped)
        self->taking = NULL;
    if (lock == NULL) {
        granted = was_stopped ? NULL : g_steal_pointer(&self->granted);
        if (granted != NULL)
            hold(self, granted);
        g_task_return_error(task, error);
    } else if (was_stopped) {
        g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_CANCELLED, _("the claim was stopped"));
    } else {
        hold(self, lock);
        g_task_return_boolean(task, TRUE);
    }
}

static void
steal(WebLocksClaim *self, GTask *task)
{
    g_autoptr(WebLocksOptions) options = make_options(self, TRUE);

    web_locks_manager_request_async(self->manager, self->name, options,
                                    g_task_get_cancellable(task), on_taken, task);
}

static void
on_opened_to_steal(GObject *source, GAsyncResult *result, gpointer data)
{
    g_autoptr(GTask) task = data;
    WebLocksClaim *self = g_task_get_source_object(task);
    GError *error = NULL;

    if (self->taking != task) {
        g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_CANCELLED, _("the claim was stopped"));
        return;
    }
    if (finish_opening(self, source, result, &error)) {
        g_main_context_push_thread_default(self->ref->context);
        steal(self, g_steal_pointer(&task));
        g_main_context_pop_thread_default(self->ref->context);
        return;
    }
    self->taking = NULL;
    g_task_return_error(task, error);
}

/**
 * web_locks_claim_take_over_async:
 * @self: a claim
 * @cancellable: (nullable): cancels the operation
 * @callback: (scope async) (nullable): called when the operation has finished
 * @user_data: for @callback
 *
 * Steals the lock from its holders, for the case that one hangs: see
 * [property@WebLocks.Options:steal]. The claim need not be started; then it holds the lock.
 *
 * If this fails, the claim remains in its state: one that waits keeps its place in the queue. If
 * its request is granted meanwhile, it holds the lock when the operation has finished.
 *
 * A claim takes over once at a time: until the operation has finished, or the claim was stopped,
 * another one fails with `G_IO_ERROR_PENDING` and has no effect. Otherwise the second would steal
 * the lock from the first.
 *
 * In a sandbox, a document that is shared with other editors can't be taken over: that fails with
 * [error@WebLocks.Error.SECURITY]. The user can end the lock outside, as with `weblocks break`.
 *
 * Since: 0.1
 */
void
web_locks_claim_take_over_async(WebLocksClaim *self,
                                GCancellable *cancellable,
                                GAsyncReadyCallback callback,
                                gpointer user_data)
{
    GTask *task;

    g_return_if_fail(WEB_LOCKS_IS_CLAIM(self));
    g_return_if_fail(self->file != NULL || (self->manager != NULL && self->name != NULL));
    g_return_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable));

    g_main_context_push_thread_default(self->ref->context);
    task = g_task_new(self, cancellable, callback, user_data);
    g_task_set_source_tag(task, web_locks_claim_take_over_async);
    g_task_set_check_cancellable(task, FALSE); /* the request checks it */
    if (self->state == WEB_LOCKS_CLAIM_STATE_HELD) {
        g_task_return_boolean(task, TRUE);
        g_object_unref(task);
    } else if (self->taking != NULL) {
        g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_PENDING,
                                _("the claim is taking over already"));
        g_object_unref(task);
    } else {
        self->taking = task;
        if (self->file != NULL)
            web_locks_agent_open_document_async(self->agent, self->file, cancellable,
                                                on_opened_to_steal, task);
        else
            steal(self, task);
    }
    g_main_context_pop_thread_default(self->ref->context);
}

/**
 * web_locks_claim_take_over_finish:
 * @self: a claim
 * @result: the result of web_locks_claim_take_over_async()
 * @error: return location for an error
 *
 * Finishes an operation started with web_locks_claim_take_over_async().
 *
 * Errors: those of web_locks_manager_request_finish(); [error@WebLocks.Error.NOT_SUPPORTED] if the
 * mode is shared; `G_IO_ERROR_CANCELLED` also if the claim was stopped meanwhile;
 * `G_IO_ERROR_PENDING` if it was taking over already.
 *
 * Returns: whether the lock was taken over, or was held already
 * Since: 0.1
 */
gboolean
web_locks_claim_take_over_finish(WebLocksClaim *self, GAsyncResult *result, GError **error)
{
    g_return_val_if_fail(g_task_is_valid(result, self), FALSE);
    g_return_val_if_fail(g_async_result_is_tagged(result, web_locks_claim_take_over_async), FALSE);
    return g_task_propagate_boolean(G_TASK(result), error);
}

/* ---- properties */

/**
 * web_locks_claim_get_manager:
 * @self: a claim
 *
 * Gets the bucket.
 *
 * Returns: (transfer none) (nullable): the manager; %NULL if the document has not been opened yet
 * Since: 0.1
 */
WebLocksManager *
web_locks_claim_get_manager(WebLocksClaim *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_CLAIM(self), NULL);
    return self->manager;
}

/**
 * web_locks_claim_get_name:
 * @self: a claim
 *
 * Gets the resource name (section 2.1 of the standard).
 *
 * Returns: (transfer none) (nullable): the name; %NULL if the document has not been opened yet
 * Since: 0.1
 */
const char *
web_locks_claim_get_name(WebLocksClaim *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_CLAIM(self), NULL);
    return self->name;
}

/**
 * web_locks_claim_get_file:
 * @self: a claim
 *
 * Gets the document.
 *
 * Returns: (transfer none) (nullable): the document; %NULL if the claim is not on one
 * Since: 0.1
 */
GFile *
web_locks_claim_get_file(WebLocksClaim *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_CLAIM(self), NULL);
    return self->file;
}

/**
 * web_locks_claim_get_excludes_all:
 * @self: a claim
 *
 * Gets whether the claim on a document excludes all editors of the user, or only those of this
 * application: see [property@WebLocks.Claim:excludes-all].
 *
 * Returns: whether it excludes all
 * Since: 0.1
 */
gboolean
web_locks_claim_get_excludes_all(WebLocksClaim *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_CLAIM(self), FALSE);
    return self->excludes_all;
}

/**
 * web_locks_claim_get_mode:
 * @self: a claim
 *
 * Gets the lock mode (section 2.3 of the standard).
 *
 * Returns: the mode
 * Since: 0.1
 */
WebLocksMode
web_locks_claim_get_mode(WebLocksClaim *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_CLAIM(self), WEB_LOCKS_MODE_EXCLUSIVE);
    return self->mode;
}

/**
 * web_locks_claim_get_why:
 * @self: a claim
 *
 * Gets the description of the lock's purpose, see [property@WebLocks.Options:why].
 *
 * Returns: (transfer none) (nullable): the description, or %NULL
 * Since: 0.1
 */
const char *
web_locks_claim_get_why(WebLocksClaim *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_CLAIM(self), NULL);
    return self->why;
}

/**
 * web_locks_claim_get_reclaim:
 * @self: a claim
 *
 * Gets whether the claim requests the lock again after it was lost.
 *
 * Returns: whether it requests the lock again
 * Since: 0.1
 */
gboolean
web_locks_claim_get_reclaim(WebLocksClaim *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_CLAIM(self), FALSE);
    return self->reclaim;
}

/**
 * web_locks_claim_set_reclaim:
 * @self: a claim
 * @reclaim: whether to request the lock again
 *
 * Sets whether the claim requests the lock again after it was lost, and waits for a lock service if
 * there is none. It has no effect on what has happened already.
 *
 * Since: 0.1
 */
void
web_locks_claim_set_reclaim(WebLocksClaim *self, gboolean reclaim)
{
    g_return_if_fail(WEB_LOCKS_IS_CLAIM(self));
    reclaim = reclaim != FALSE;
    if (self->reclaim == reclaim)
        return;
    self->reclaim = reclaim;
    notify(self, PROP_RECLAIM);
}

/**
 * web_locks_claim_get_state:
 * @self: a claim
 *
 * Gets the state.
 *
 * Returns: the state
 * Since: 0.1
 */
WebLocksClaimState
web_locks_claim_get_state(WebLocksClaim *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_CLAIM(self), WEB_LOCKS_CLAIM_STATE_IDLE);
    return self->state;
}

/**
 * web_locks_claim_get_held:
 * @self: a claim
 *
 * Gets whether the lock is held, that is whether the state is [enum@WebLocks.ClaimState.HELD].
 *
 * Like all properties of a claim it changes when the main context runs. In between,
 * web_locks_lock_get_held() of [property@WebLocks.Claim:lock] is more current.
 *
 * Returns: whether the lock is held
 * Since: 0.1
 */
gboolean
web_locks_claim_get_held(WebLocksClaim *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_CLAIM(self), FALSE);
    return self->lock != NULL;
}

/**
 * web_locks_claim_get_lock:
 * @self: a claim
 *
 * Gets the lock. Releasing it by its own functions has the effect of web_locks_claim_stop().
 *
 * Returns: (transfer none) (nullable): the lock; %NULL if it is not held
 * Since: 0.1
 */
WebLocksLock *
web_locks_claim_get_lock(WebLocksClaim *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_CLAIM(self), NULL);
    return self->lock;
}

/**
 * web_locks_claim_get_token:
 * @self: a claim
 *
 * Gets the fencing token of the lock: see web_locks_lock_get_token().
 *
 * Returns: the token; 0 if the lock is not held
 * Since: 0.1
 */
guint64
web_locks_claim_get_token(WebLocksClaim *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_CLAIM(self), 0);
    return self->lock != NULL ? web_locks_lock_get_token(self->lock) : 0;
}

/**
 * web_locks_claim_get_holder:
 * @self: a claim
 *
 * Gets the holder of the lock while the claim waits; if it is shared by several,
 * the first of them. It may be this process, by another claim or lock. It is not known before the
 * service has replied.
 *
 * Returns: (transfer none) (nullable): the holder's lock; %NULL if the claim doesn't wait
 * Since: 0.1
 */
WebLocksLockInfo *
web_locks_claim_get_holder(WebLocksClaim *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_CLAIM(self), NULL);
    return self->holder;
}

/**
 * web_locks_claim_get_position:
 * @self: a claim
 *
 * Gets the position in the queue while the claim waits: 1 is next.
 *
 * Returns: the position; 0 if the claim doesn't wait, or that is not known yet
 * Since: 0.1
 */
guint
web_locks_claim_get_position(WebLocksClaim *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_CLAIM(self), 0);
    return self->position;
}

/**
 * web_locks_claim_get_error:
 * @self: a claim
 *
 * Gets why the lock was lost, see web_locks_lock_get_error(), or why the request failed, see
 * web_locks_manager_request_finish(). With [property@WebLocks.Claim:reclaim] it remains while the
 * claim waits again.
 *
 * Returns: (transfer none) (nullable): the error, or %NULL
 * Since: 0.1
 */
const GError *
web_locks_claim_get_error(WebLocksClaim *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_CLAIM(self), NULL);
    return self->error;
}

/* ---- GObject */

static void
web_locks_claim_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
    WebLocksClaim *self = WEB_LOCKS_CLAIM(object);

    switch (id) {
    case PROP_AGENT:
        g_value_set_object(value, self->agent);
        break;
    case PROP_FILE:
        g_value_set_object(value, self->file);
        break;
    case PROP_EXCLUDES_ALL:
        g_value_set_boolean(value, self->excludes_all);
        break;
    case PROP_MANAGER:
        g_value_set_object(value, self->manager);
        break;
    case PROP_NAME:
        g_value_set_string(value, self->name);
        break;
    case PROP_MODE:
        g_value_set_enum(value, (int)self->mode);
        break;
    case PROP_WHY:
        g_value_set_string(value, self->why);
        break;
    case PROP_RECLAIM:
        g_value_set_boolean(value, self->reclaim);
        break;
    case PROP_STATE:
        g_value_set_enum(value, (int)self->state);
        break;
    case PROP_HELD:
        g_value_set_boolean(value, self->lock != NULL);
        break;
    case PROP_LOCK:
        g_value_set_object(value, self->lock);
        break;
    case PROP_TOKEN:
        g_value_set_uint64(value, web_locks_claim_get_token(self));
        break;
    case PROP_HOLDER:
        g_value_set_object(value, web_locks_claim_get_holder(self));
        break;
    case PROP_POSITION:
        g_value_set_uint(value, web_locks_claim_get_position(self));
        break;
    case PROP_ERROR:
        g_value_set_boxed(value, self->error);
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
    }
}

static void
web_locks_claim_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
    WebLocksClaim *self = WEB_LOCKS_CLAIM(object);

    switch (id) {
    case PROP_AGENT:
        self->agent = g_value_dup_object(value);
        break;
    case PROP_FILE:
        self->file = g_value_dup_object(value);
        break;
    case PROP_MANAGER:
        self->manager = g_value_dup_object(value);
        break;
    case PROP_NAME:
        self->name = g_value_dup_string(value);
        break;
    case PROP_MODE:
        self->mode = (WebLocksMode)g_value_get_enum(value);
        break;
    case PROP_WHY:
        self->why = g_value_dup_string(value);
        break;
    case PROP_RECLAIM:
        web_locks_claim_set_reclaim(self, g_value_get_boolean(value));
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
    }
}

static void
web_locks_claim_constructed(GObject *object)
{
    WebLocksClaim *self = WEB_LOCKS_CLAIM(object);

    G_OBJECT_CLASS(web_locks_claim_parent_class)->constructed(object);
    if (self->manager != NULL)
        g_set_object(&self->agent, web_locks_manager_get_agent(self->manager));
    else if (self->agent == NULL)
        self->agent = web_locks_agent_dup_default(G_BUS_TYPE_SESSION);
}

static void
web_locks_claim_dispose(GObject *object)
{
    WebLocksClaim *self = WEB_LOCKS_CLAIM(object);

    self->taking = NULL;
    self->state = WEB_LOCKS_CLAIM_STATE_IDLE;
    drop_request(self);
    drop_lock(self);
    G_OBJECT_CLASS(web_locks_claim_parent_class)->dispose(object);
}

static void
web_locks_claim_finalize(GObject *object)
{
    WebLocksClaim *self = WEB_LOCKS_CLAIM(object);

    claim_ref_unref(self->ref);
    g_clear_error(&self->error);
    g_clear_object(&self->manager);
    g_clear_object(&self->file);
    g_clear_object(&self->agent);
    g_free(self->name);
    g_free(self->why);
    G_OBJECT_CLASS(web_locks_claim_parent_class)->finalize(object);
}

static void
install_settings(GParamFlags flags)
{
    /**
     * WebLocksClaim:agent:
     *
     * The agent of the claim; that of [property@WebLocks.Claim:manager] if that is given, otherwise
     * by default the default agent of the session bus.
     *
     * Since: 0.1
     */
    properties[PROP_AGENT] = g_param_spec_object("agent", NULL, NULL, WEB_LOCKS_TYPE_AGENT, flags);
    /**
     * WebLocksClaim:file:
     *
     * The document that is claimed, instead of a manager and a name; these have values when it has
     * been opened, which web_locks_claim_start() does.
     *
     * Since: 0.1
     */
    properties[PROP_FILE] = g_param_spec_object("file", NULL, NULL, G_TYPE_FILE, flags);
    /**
     * WebLocksClaim:manager:
     *
     * The manager with which the lock is requested; %NULL until the document has been opened.
     *
     * Since: 0.1
     */
    properties[PROP_MANAGER] =
        g_param_spec_object("manager", NULL, NULL, WEB_LOCKS_TYPE_MANAGER, flags);
    /**
     * WebLocksClaim:name:
     *
     * The resource name; %NULL until the document has been opened.
     *
     * Since: 0.1
     */
    properties[PROP_NAME] = g_param_spec_string("name", NULL, NULL, NULL, flags);
    /**
     * WebLocksClaim:mode:
     *
     * The lock mode.
     *
     * Since: 0.1
     */
    properties[PROP_MODE] =
        g_param_spec_enum("mode", NULL, NULL, WEB_LOCKS_TYPE_MODE, WEB_LOCKS_MODE_EXCLUSIVE, flags);
    /**
     * WebLocksClaim:why:
     *
     * A description of the lock's purpose, for users: at most 256 bytes of UTF-8.
     *
     * Since: 0.1
     */
    properties[PROP_WHY] = g_param_spec_string("why", NULL, NULL, NULL, flags);
    /**
     * WebLocksClaim:reclaim:
     *
     * Whether the claim requests the lock again after it was lost, and waits for a lock service if
     * there is none. The states [enum@WebLocks.ClaimState.LOST], and
     * [enum@WebLocks.ClaimState.FAILED] because there is no service, are then followed by
     * [enum@WebLocks.ClaimState.WAITING] immediately, and [property@WebLocks.Claim:error] remains.
     *
     * Since: 0.1
     */
    properties[PROP_RECLAIM] =
        g_param_spec_boolean("reclaim", NULL, NULL, FALSE,
                             G_PARAM_READWRITE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS);
}

static void
install_results(GParamFlags flags)
{
    /**
     * WebLocksClaim:excludes-all:
     *
     * Whether the claim on a document excludes all editors of the user that claim it as well. If
     * not, it excludes only those of the same sandboxed application: it has not been opened yet, or
     * the application could not prove to the service that it may write the document.
     *
     * Since: 0.1
     */
    properties[PROP_EXCLUDES_ALL] = g_param_spec_boolean("excludes-all", NULL, NULL, FALSE, flags);
    /**
     * WebLocksClaim:state:
     *
     * The state.
     *
     * Since: 0.1
     */
    properties[PROP_STATE] = g_param_spec_enum("state", NULL, NULL, WEB_LOCKS_TYPE_CLAIM_STATE,
                                               WEB_LOCKS_CLAIM_STATE_IDLE, flags);
    /**
     * WebLocksClaim:held:
     *
     * Whether the lock is held.
     *
     * Since: 0.1
     */
    properties[PROP_HELD] = g_param_spec_boolean("held", NULL, NULL, FALSE, flags);
    /**
     * WebLocksClaim:lock:
     *
     * The lock; %NULL if it is not held.
     *
     * Since: 0.1
     */
    properties[PROP_LOCK] = g_param_spec_object("lock", NULL, NULL, WEB_LOCKS_TYPE_LOCK, flags);
    /**
     * WebLocksClaim:token:
     *
     * The fencing token of the lock; 0 if it is not held.
     *
     * Since: 0.1
     */
    properties[PROP_TOKEN] = g_param_spec_uint64("token", NULL, NULL, 0, G_MAXUINT64, 0, flags);
    /**
     * WebLocksClaim:holder:
     *
     * The first holder of the lock, while the claim waits; %NULL if there is none, or that is not
     * known yet. In a sandbox it is not known of a document that is shared with other editors.
     *
     * Since: 0.1
     */
    properties[PROP_HOLDER] =
        g_param_spec_object("holder", NULL, NULL, WEB_LOCKS_TYPE_LOCK_INFO, flags);
    /**
     * WebLocksClaim:position:
     *
     * The position in the queue while the claim waits: 1 is next; 0 if it doesn't wait, or that is
     * not known yet.
     *
     * Since: 0.1
     */
    properties[PROP_POSITION] = g_param_spec_uint("position", NULL, NULL, 0, G_MAXUINT, 0, flags);
    /**
     * WebLocksClaim:error:
     *
     * Why the lock was lost or the request failed; %NULL if neither has happened.
     *
     * Since: 0.1
     */
    properties[PROP_ERROR] = g_param_spec_boxed("error", NULL, NULL, G_TYPE_ERROR, flags);
}

static void
web_locks_claim_class_init(WebLocksClaimClass *class)
{
    GObjectClass *object_class = G_OBJECT_CLASS(class);

    object_class->get_property = web_locks_claim_get_property;
    object_class->set_property = web_locks_claim_set_property;
    object_class->constructed = web_locks_claim_constructed;
    object_class->dispose = web_locks_claim_dispose;
    object_class->finalize = web_locks_claim_finalize;
    install_settings(G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);
    install_results(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
    g_object_class_install_properties(object_class, N_PROPS, properties);
}

static void
web_locks_claim_init(WebLocksClaim *self)
{
    self->ref = claim_ref_new(self);
}
