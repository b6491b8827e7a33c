/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The states of a claim, and how one leads to the next.
 *
 * A claim makes one request after the other. It has a `request` exactly while it waits for the lock
 * or for a service, and a `lock` exactly while it holds it; change() keeps that. Except for
 * on_queued(), it is the only function that changes the state.
 *
 * If the request is granted while a take-over steals the lock, the claim waits until that has
 * finished: the service may already have taken the lock from the request to grant it to the
 * take-over.
 *
 * With a document, each request begins with opening it: only then the manager and the name of the
 * lock are known, and a service that was started since has forgotten what was opened before.
 *
 * Application code runs in change(), as handlers of "notify": whatever follows it has to look at
 * the state again. Callbacks have a weak reference, so that what is going on doesn't keep a claim
 * alive, and compare their request with the current one. */

#include "config.h"

#include "client-lib/agent-private.h"
#include "client-lib/claim-private.h"
#include "client-lib/lock-private.h"
#include "client-lib/manager-private.h"

/* How often a document is opened again before a request is taken for refused, and the pause after
 * which it is if there is no service. */
#define REOPENS_MAX     3
#define REOPEN_PAUSE_MS 1000

/* ---- the weak reference */

ClaimRef *
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

void
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
drop_request(WebLocksClaim *self)
{
    g_autoptr(AsyncResult) request = g_steal_pointer(&self->request);
    g_autoptr(GCancellable) cancellable = g_steal_pointer(&self->cancellable);

    g_clear_object(&self->granted);
    web_locks_claim_stop_watching(self);
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
    static const char *const signals[] = {"notify::held", "notify::wanted"};

    self->lock = g_object_ref(lock);
    for (guint i = 0; i < G_N_ELEMENTS(signals); i++)
        g_signal_connect_data(lock, signals[i], G_CALLBACK(on_lock_notify),
                              g_atomic_rc_box_acquire(self->ref), claim_ref_unref_closure,
                              G_CONNECT_DEFAULT);
}

static void
show_wanted(WebLocksClaim *self)
{
    const gboolean wanted = self->lock != NULL && web_locks_lock_get_wanted(self->lock);

    property_change(self, "wanted", &wanted);
}

static gboolean
is_same_error(const GError *a, const GError *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return g_error_matches(a, b->domain, b->code) && g_str_equal(a->message, b->message);
}

/* Enters a state with all that belongs to it. `object` is the request when waiting, also for a
 * service, the lock when held, and NULL otherwise. Takes the error. */
static void
change(WebLocksClaim *self, WebLocksClaimState state, gpointer object, GError *error)
{
    const gboolean had_lock = self->lock != NULL, held = state == WEB_LOCKS_CLAIM_STATE_HELD;
    const guint64 token = held ? web_locks_lock_get_token(object) : 0;
    const gboolean is_new_error = !is_same_error(self->error, error);

    g_object_freeze_notify(G_OBJECT(self));
    property_change(self, "held", &held);
    property_change(self, "token", &token);
    drop_request(self);
    drop_lock(self);
    if (held)
        take_lock(self, object);
    else if (object != NULL)
        self->request = g_object_ref(object);
    property_change(self, "state", &state);
    g_clear_error(&self->error);
    self->error = error;
    if (had_lock || held)
        g_object_notify(G_OBJECT(self), "lock");
    show_wanted(self);
    if (is_new_error)
        g_object_notify(G_OBJECT(self), "error");
    g_object_thaw_notify(G_OBJECT(self));
}

/* ---- requests */

static void on_acquired(GObject *source, GAsyncResult *result, gpointer unused);

typedef struct {
    AsyncResult *request;
    guint64 key;
} Wait;

/* The service has the request, and somebody else the lock. */
static void
on_queued(WebLocksClaim *self, guint64 key)
{
    const WebLocksClaimState state = WEB_LOCKS_CLAIM_STATE_WAITING;

    self->key = key;
    web_locks_claim_watch_queue(self);
    property_change(self, "state", &state);
}

static void
wait_run(gpointer data)
{
    const Wait *wait = data;
    g_autoptr(WebLocksClaim) self = claim_ref_get(async_result_get_data(wait->request));

    if (self != NULL && self->request == wait->request)
        on_queued(self, wait->key);
}

static void
wait_free(gpointer data)
{
    g_object_unref(((Wait *)data)->request);
    g_free(data);
}

/* Called with the session lock held. */
static void
on_waits(AsyncResult *request, guint64 key)
{
    WebLocksAgent *agent = async_result_get_source(request);
    Wait *wait = g_new(Wait, 1);

    *wait = (Wait){g_object_ref(request), key};
    session_deliver(connection_get_session(web_locks_agent_get_connection(agent)),
                    async_result_get_context(request), wait_run, wait, wait_free);
}

WebLocksOptions *
web_locks_claim_make_options(const WebLocksClaim *self, gboolean steal)
{
    return g_object_new(WEB_LOCKS_TYPE_OPTIONS, "mode", self->mode, "why", self->why, "steal",
                        steal, NULL);
}

/* Takes the request. */
static void
start_request(WebLocksClaim *self, AsyncResult *request)
{
    Caller caller = caller_of_result(request);
    g_autoptr(WebLocksOptions) options = web_locks_claim_make_options(self, FALSE);
    g_auto(RequestOptions) values = {0};

    request_options_init(&values, options);
    values.patient = self->is_patient;
    caller.waits = on_waits;
    web_locks_manager_start_request(self->manager, self->name, &values, caller);
}

/* ---- opening again */

static void open_document(WebLocksClaim *self, AsyncResult *request);

static gboolean
on_pause_over(gpointer data)
{
    g_autoptr(AsyncResult) request = g_object_ref(data);
    g_autoptr(WebLocksClaim) self = claim_ref_get(async_result_get_data(request));

    if (self != NULL && self->request == request)
        open_document(self, request);
    return G_SOURCE_REMOVE;
}

static void
open_later(WebLocksClaim *self, AsyncResult *request)
{
    g_autoptr(GSource) source = g_timeout_source_new(REOPEN_PAUSE_MS);

    g_source_set_callback(source, on_pause_over, g_object_ref(request), g_object_unref);
    g_source_attach(source, self->ref->context);
}

static void
on_opened(GObject *source, GAsyncResult *result, gpointer data)
{
    g_autoptr(AsyncResult) request = data;
    g_autoptr(WebLocksClaim) self = claim_ref_get(async_result_get_data(request));
    g_autoptr(GError) error = NULL;

    if (self == NULL || self->request != request)
        return;
    if (web_locks_claim_finish_opening(self, source, result, &error)) {
        if (self->request == request)
            start_request(self, g_steal_pointer(&request));
    } else if (self->is_patient &&
               g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE)) {
        open_later(self, request);
    } else {
        async_result_return(g_steal_pointer(&request), NULL, NULL, g_steal_pointer(&error));
    }
}

static void
open_document(WebLocksClaim *self, AsyncResult *request)
{
    web_locks_claim_open_document(self, self->cancellable, on_opened, g_object_ref(request));
}

/* ---- from one state to the next */

/* Makes a request, which also waits for a service if the state is UNAVAILABLE; otherwise that is
 * WAITING. Takes the error, which the claim shows meanwhile. */
static void
begin(WebLocksClaim *self, WebLocksClaimState state, GError *error)
{
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_autoptr(AsyncResult) request = NULL;

    g_main_context_push_thread_default(self->ref->context);
    request = async_result_new(self->agent, on_acquired, cancellable, on_acquired, NULL);
    g_main_context_pop_thread_default(self->ref->context);
    async_result_set_data(request, g_atomic_rc_box_acquire(self->ref), claim_ref_unref);
    change(self, state, request, error);
    if (self->request != request)
        return;
    self->cancellable = g_steal_pointer(&cancellable);
    self->is_patient = state == WEB_LOCKS_CLAIM_STATE_UNAVAILABLE;
    if (self->file != NULL)
        open_document(self, request);
    else
        start_request(self, g_object_ref(request));
}

/* Ends in `state`, and goes on in `next` if the application wants that and hasn't called anything
 * else meanwhile. */
static void
end(WebLocksClaim *self, WebLocksClaimState state, const GError *error, WebLocksClaimState next)
{
    change(self, state, NULL, g_error_copy(error));
    if (next != WEB_LOCKS_CLAIM_STATE_IDLE && self->reclaim && self->state == state)
        begin(self, next, g_error_copy(error));
}

static void
end_of_request(WebLocksClaim *self, const GError *error)
{
    if (!g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE))
        end(self, WEB_LOCKS_CLAIM_STATE_FAILED, error, WEB_LOCKS_CLAIM_STATE_IDLE);
    else
        end(self, WEB_LOCKS_CLAIM_STATE_UNAVAILABLE, error,
            self->is_patient ? WEB_LOCKS_CLAIM_STATE_IDLE : WEB_LOCKS_CLAIM_STATE_UNAVAILABLE);
}

/* Whether the lock was lost, or released by the application with a function of the lock; if not,
 * whether somebody waits for it. */
static void
check_lock(WebLocksClaim *self)
{
    g_autoptr(WebLocksLock) lock = NULL;
    const GError *loss;

    if (self->lock == NULL)
        return;
    if (web_locks_lock_get_held(self->lock)) {
        show_wanted(self);
        return;
    }
    lock = g_object_ref(self->lock);
    loss = web_locks_lock_get_error(lock);
    if (loss != NULL)
        end(self, WEB_LOCKS_CLAIM_STATE_LOST, loss, WEB_LOCKS_CLAIM_STATE_WAITING);
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

void
web_locks_claim_hold(WebLocksClaim *self, WebLocksLock *lock)
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
    AsyncResult *request = (AsyncResult *)(gpointer)result;
    g_autoptr(WebLocksClaim) self = claim_ref_get(async_result_get_data(request));
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksLock) lock = async_result_take(result, &error);

    if (self == NULL || self->request != request)
        return; /* a lock that was granted meanwhile is released with its reference */
    if (lock != NULL && self->is_stealing) {
        self->granted = g_steal_pointer(&lock);
        web_locks_claim_stop_watching(self);
    } else if (lock != NULL) {
        web_locks_claim_hold(self, lock);
    } else if (is_forgotten(self, error)) {
        self->n_reopened++;
        begin(self, WEB_LOCKS_CLAIM_STATE_WAITING, NULL);
    } else {
        end_of_request(self, error);
    }
}

/**
 * web_locks_claim_start:
 * @self: a claim
 *
 * Requests the lock. Does nothing if the claim waits for it or holds it.
 *
 * An error, such as that of a name that is not valid, leads to
 * [enum@WebLocks.ClaimState.FAILED], and if there is no lock service to
 * [enum@WebLocks.ClaimState.UNAVAILABLE]; [property@WebLocks.Claim:error] has it.
 *
 * Since: 0.1
 */
void
web_locks_claim_start(WebLocksClaim *self)
{
    g_return_if_fail(WEB_LOCKS_IS_CLAIM(self));
    g_return_if_fail(self->file != NULL || (self->manager != NULL && self->name != NULL));

    if (self->request != NULL || self->lock != NULL)
        return;
    self->n_reopened = 0;
    g_object_ref(self);
    begin(self, WEB_LOCKS_CLAIM_STATE_WAITING, NULL);
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
    self->is_stealing = FALSE;
    change(self, WEB_LOCKS_CLAIM_STATE_IDLE, NULL, NULL);
}

void
web_locks_claim_drop(WebLocksClaim *self)
{
    self->taking = NULL;
    self->is_stealing = FALSE;
    self->wanted = self->held = FALSE;
    self->token = 0;
    self->state = WEB_LOCKS_CLAIM_STATE_IDLE;
    drop_request(self);
    drop_lock(self);
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
GETTER(WebLocksClaimState, state, WEB_LOCKS_CLAIM_STATE_IDLE)

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
GETTER(gboolean, held, FALSE)

/**
 * web_locks_claim_get_lock:
 * @self: a claim
 *
 * Gets the lock. Releasing it by its own functions has the effect of web_locks_claim_stop().
 *
 * Returns: (transfer none) (nullable): the lock; %NULL if it is not held
 * Since: 0.1
 */
GETTER(WebLocksLock *, lock, NULL)

/**
 * web_locks_claim_get_token:
 * @self: a claim
 *
 * Gets the fencing token of the lock: see web_locks_lock_get_token().
 *
 * Returns: the token; 0 if the lock is not held
 * Since: 0.1
 */
GETTER(guint64, token, 0)

/**
 * web_locks_claim_get_wanted:
 * @self: a claim
 *
 * Gets whether the lock is held and somebody waits for it: see web_locks_lock_get_wanted().
 *
 * Returns: whether somebody waits
 * Since: 0.1
 */
GETTER(gboolean, wanted, FALSE)

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
GETTER(const GError *, error, NULL)
