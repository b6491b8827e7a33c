/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Taking the lock over from its holders: first by asking them, which is to wait in the queue, and
 * then by stealing it.
 *
 * All calls that are made while a take-over is in progress wait for its result. It ends when all of
 * them are cancelled, or the claim is stopped. */

#include "config.h"

#include <glib/gi18n-lib.h>

#include "client-lib/claim-private.h"
#include "client-lib/evidence/process-look.h"
#include "common/boot-time.h"

/* How often it is found out whether the holder is stopped. */
#define LOOK_MS 250

struct ClaimTake {
    WebLocksClaim *claim;      /* owned */
    GQueue calls;              /* of AsyncResult, owned, with a Call */
    GCancellable *cancellable; /* of what stealing calls */
    GSource *timer;            /* while it asks; NULL: it steals */
    gulong state_id;           /* likewise */
    gint64 steal_us;           /* monotonic: when the grace is over */
    gboolean has_started;      /* the claim was started in order to ask */
};

typedef struct {
    ClaimTake *take;
    GSource *cancelled; /* NULL: the call can't be cancelled */
} Call;

static gboolean
is_current(const ClaimTake *take)
{
    return take->claim->taking == take;
}

static GError *
new_stopped_error(void)
{
    return g_error_new_literal(G_IO_ERROR, G_IO_ERROR_CANCELLED, _("the claim was stopped"));
}

/* ---- the end */

static void
stop_asking(ClaimTake *take)
{
    if (take->timer == NULL)
        return;
    g_signal_handler_disconnect(take->claim, take->state_id);
    g_source_destroy(take->timer);
    g_clear_pointer(&take->timer, g_source_unref);
}

/* Takes the reference to the result. */
static void
complete(AsyncResult *result, const GError *error)
{
    Call *call = async_result_get_data(result);

    if (call->cancelled != NULL)
        g_source_destroy(call->cancelled);
    async_result_return(result, error == NULL ? call : NULL, NULL,
                        error != NULL ? g_error_copy(error) : NULL);
}

/* Completes all calls. A claim that was only started in order to ask ends if it waits still. Takes
 * the error, and frees the take-over. */
static void
finish(ClaimTake *take, GError *error)
{
    g_autoptr(WebLocksClaim) self = take->claim;
    AsyncResult *result;

    stop_asking(take);
    if (is_current(take)) {
        self->taking = NULL;
        self->is_stealing = FALSE;
        if (take->has_started && self->state == WEB_LOCKS_CLAIM_STATE_WAITING)
            web_locks_claim_stop(self);
    }
    while ((result = g_queue_pop_head(&take->calls)) != NULL)
        complete(result, error);
    g_clear_error(&error);
    g_object_unref(take->cancellable);
    g_free(take);
}

/* ---- stealing */

static void begin(ClaimTake *take);

/* `lock` is the one that was stolen, or NULL. Takes the error. Calls that were made after all
 * others had been cancelled begin again. */
static void
end_stealing(ClaimTake *take, WebLocksLock *lock, GError *error)
{
    WebLocksClaim *self = take->claim;
    g_autoptr(WebLocksLock) granted = NULL;

    if (is_current(take)) {
        granted = g_steal_pointer(&self->granted);
        if (lock != NULL || granted != NULL) {
            take->has_started = FALSE;
            web_locks_claim_hold(self, lock != NULL ? lock : granted);
        }
    } else if (error == NULL) {
        error = new_stopped_error();
    }
    if (is_current(take) && take->calls.length > 0 &&
        g_cancellable_is_cancelled(take->cancellable)) {
        g_clear_error(&error);
        begin(take);
    } else {
        finish(take, error);
    }
}

static void
on_taken(GObject *source, GAsyncResult *result, gpointer data)
{
    ClaimTake *take = data;
    GError *error = NULL;
    g_autoptr(WebLocksLock) lock =
        web_locks_manager_request_finish(WEB_LOCKS_MANAGER(source), result, &error);

    if (take->calls.length == 0) /* they were cancelled too late */
        g_clear_object(&lock);
    end_stealing(take, lock, error);
}

static void
request_steal(ClaimTake *take)
{
    WebLocksClaim *self = take->claim;
    g_autoptr(WebLocksOptions) options = web_locks_claim_make_options(self, TRUE);

    web_locks_manager_request_async(self->manager, self->name, options, take->cancellable, on_taken,
                                    take);
}

/* The application may stop the claim when it is notified of what was opened. */
static void
on_opened_to_steal(GObject *source, GAsyncResult *result, gpointer data)
{
    ClaimTake *take = data;
    WebLocksClaim *self = take->claim;
    GError *error = NULL;

    if (is_current(take) && web_locks_claim_finish_opening(self, source, result, &error) &&
        is_current(take)) {
        g_main_context_push_thread_default(self->ref->context);
        request_steal(take);
        g_main_context_pop_thread_default(self->ref->context);
    } else {
        end_stealing(take, NULL, error);
    }
}

static void
steal(ClaimTake *take)
{
    WebLocksClaim *self = take->claim;

    stop_asking(take);
    self->is_stealing = TRUE;
    g_main_context_push_thread_default(self->ref->context);
    if (self->file != NULL)
        web_locks_claim_open_document(self, take->cancellable, on_opened_to_steal, take);
    else
        request_steal(take);
    g_main_context_pop_thread_default(self->ref->context);
}

/* ---- asking */

static gboolean
is_holder_stopped(const WebLocksClaim *self)
{
    WebLocksLockInfo *holder = self->holder;
    const gint64 now_us = boot_time_get_us();
    gint64 since_us, idle_us;
    ProcessLook look = {0};
    char state;

    if (holder == NULL)
        return FALSE;
    since_us = now_us - (g_get_real_time() - web_locks_lock_info_get_since(holder));
    state = process_look(&look, web_locks_lock_info_get_pid(holder),
                         web_locks_lock_info_get_process(holder), since_us, now_us, &idle_us);
    return state == 'T' || state == 't' || state == PROCESS_LOOK_FROZEN;
}

static gboolean
on_timer(gpointer data)
{
    ClaimTake *take = data;

    if (!is_current(take))
        finish(take, new_stopped_error());
    else if (g_get_monotonic_time() >= take->steal_us || is_holder_stopped(take->claim))
        steal(take);
    return G_SOURCE_CONTINUE; /* unless it has been destroyed */
}

static void
on_state(WebLocksClaim *self, GParamSpec *pspec, gpointer data)
{
    ClaimTake *take = data;

    if (self->state == WEB_LOCKS_CLAIM_STATE_WAITING)
        return;
    if (self->state == WEB_LOCKS_CLAIM_STATE_HELD)
        finish(take, NULL);
    else
        finish(take, self->error != NULL ? g_error_copy(self->error) : new_stopped_error());
}

static void
ask(ClaimTake *take)
{
    WebLocksClaim *self = take->claim;

    take->steal_us = g_get_monotonic_time() + self->grace * G_TIME_SPAN_MILLISECOND;
    take->timer = g_timeout_source_new(MIN(LOOK_MS, self->grace));
    g_source_set_callback(take->timer, on_timer, take, NULL);
    g_source_attach(take->timer, self->ref->context);
    take->state_id = g_signal_connect(self, "notify::state", G_CALLBACK(on_state), take);
    take->has_started |= self->request == NULL;
    web_locks_claim_start(self);
}

/* A shared lock can't be stolen, and is not asked for. */
static void
begin(ClaimTake *take)
{
    WebLocksClaim *self = take->claim;

    self->is_stealing = FALSE;
    g_clear_object(&take->cancellable);
    take->cancellable = g_cancellable_new();
    if (self->state == WEB_LOCKS_CLAIM_STATE_HELD)
        finish(take, NULL);
    else if (self->grace == 0 || self->mode == WEB_LOCKS_MODE_SHARED)
        steal(take);
    else
        ask(take);
}

/* ---- calls */

static gboolean
on_cancelled(GCancellable *cancellable, gpointer data)
{
    AsyncResult *result = data;
    ClaimTake *take = ((const Call *)async_result_get_data(result))->take;
    g_autoptr(GError) error = NULL;

    g_cancellable_set_error_if_cancelled(cancellable, &error);
    g_queue_remove(&take->calls, result);
    if (take->calls.length == 0 && take->timer != NULL)
        finish(take, NULL);
    else if (take->calls.length == 0)
        g_cancellable_cancel(take->cancellable);
    complete(result, error);
    return G_SOURCE_REMOVE;
}

static void
call_free(gpointer data)
{
    g_clear_pointer(&((Call *)data)->cancelled, g_source_unref);
    g_free(data);
}

/* Takes the result. */
static void
join(ClaimTake *take, AsyncResult *result)
{
    GCancellable *cancellable = async_result_get_cancellable(result);
    Call *call = g_new0(Call, 1);

    call->take = take;
    async_result_set_data(result, call, call_free);
    g_queue_push_tail(&take->calls, result);
    if (cancellable == NULL)
        return;
    call->cancelled = g_cancellable_source_new(cancellable);
    g_source_set_callback(call->cancelled, G_SOURCE_FUNC(on_cancelled), result, NULL);
    g_source_attach(call->cancelled, take->claim->ref->context);
}

static ClaimTake *
take_new(WebLocksClaim *self)
{
    ClaimTake *take = g_new0(ClaimTake, 1);

    take->claim = g_object_ref(self);
    g_queue_init(&take->calls);
    self->taking = take;
    return take;
}

/**
 * web_locks_claim_take_over_async:
 * @self: a claim
 * @cancellable: (nullable): cancels the call
 * @callback: (scope async) (nullable): called when the operation has finished
 * @user_data: for @callback
 *
 * Takes the lock over from its holders: asks them, and steals it (see
 * [property@WebLocks.Options:steal]) if they have not released it after
 * [property@WebLocks.Claim:grace], or as soon as the process of the first one is found to be
 * stopped or frozen. To ask is to wait in the queue, which the holders learn by
 * [property@WebLocks.Claim:wanted]. The claim need not be started; then it holds the lock.
 *
 * If this fails, the claim remains in its state: one that waits keeps its place in the queue. If
 * its request is granted meanwhile, it holds the lock when the operation has finished.
 *
 * While a claim is taking over, further calls are the same operation: all have its result. It ends
 * when each of them is cancelled, or the claim is stopped.
 *
 * Where the lock may not be stolen, the holders are only asked: after the grace it fails with
 * [error@WebLocks.Error.SECURITY]. This is so for a document that is shared with other editors,
 * in a sandbox; the user can end the lock outside, as with `weblocks break`.
 *
 * Since: 0.1
 */
void
web_locks_claim_take_over_async(WebLocksClaim *self,
                                GCancellable *cancellable,
                                GAsyncReadyCallback callback,
                                gpointer user_data)
{
    ClaimTake *take;
    AsyncResult *result;
    GError *error = NULL;

    g_return_if_fail(WEB_LOCKS_IS_CLAIM(self));
    g_return_if_fail(self->file != NULL || (self->manager != NULL && self->name != NULL));
    g_return_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable));

    g_main_context_push_thread_default(self->ref->context);
    result =
        async_result_new(self, web_locks_claim_take_over_async, cancellable, callback, user_data);
    g_main_context_pop_thread_default(self->ref->context);
    if (g_cancellable_set_error_if_cancelled(cancellable, &error) ||
        self->state == WEB_LOCKS_CLAIM_STATE_HELD) {
        async_result_return(result, error == NULL ? self : NULL, NULL, error);
    } else if (self->taking != NULL) {
        join(self->taking, result);
    } else {
        take = take_new(self);
        join(take, result);
        begin(take);
    }
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
 * mode is shared; `G_IO_ERROR_CANCELLED` also if the claim was stopped meanwhile.
 *
 * Returns: whether the lock was taken over, or was held already
 * Since: 0.1
 */
ASYNC_RESULT_FINISH_BOOLEAN(WebLocksClaim, web_locks_claim_take_over)
