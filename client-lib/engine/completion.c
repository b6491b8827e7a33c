/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/engine/completion.h"

/* ---- cancellation */

/* The data of the "cancelled" handler. The handler may be running in another thread and wait for
 * the session lock while the operation is completed.
 *
 * The cancellable is the caller's, until the operation is completed: to reference it here, with the
 * session lock held, could run code of a language's binding that waits for a thread with the lock
 * of the interpreter, which waits for the session lock. */
struct CancelWatch {
    gatomicrefcount n_refs; /* one for the completion, one for the handler */
    Session *session;
    Completion *completion;    /* NULL: completed */
    GCancellable *cancellable; /* borrowed */
    gulong handler;
};

static void
cancel_watch_unref(gpointer data, GClosure *closure)
{
    CancelWatch *self = data;

    if (!g_atomic_ref_count_dec(&self->n_refs))
        return;
    session_unref(self->session);
    g_free(self);
}

static void
on_cancelled(GCancellable *cancellable, gpointer data)
{
    CancelWatch *self = data;
    Completion *completion;
    GError *error = NULL;

    session_enter(self->session);
    completion = self->completion;
    if (completion != NULL) {
        g_cancellable_set_error_if_cancelled(cancellable, &error);
        completion_return(completion, NULL, NULL, error);
        completion->cancelled(completion->data);
    }
    session_leave(self->session);
}

/* This does not use g_cancellable_disconnect(), which would wait for the handler and deadlock. */
static void
stop_listening(Completion *self)
{
    CancelWatch *cancel = g_steal_pointer(&self->cancel);

    if (cancel == NULL)
        return;
    cancel->completion = NULL;
    g_signal_handler_disconnect(cancel->cancellable, cancel->handler);
    cancel_watch_unref(cancel, NULL);
}

/* The cancellable is checked after connecting to the signal, so that no cancellation is missed. */
gboolean
completion_listen(Completion *self,
                  GCancellable *cancellable,
                  void (*cancelled)(gpointer data),
                  gpointer data)
{
    CancelWatch *cancel;
    GError *error = NULL;

    self->cancelled = cancelled;
    self->data = data;
    if (cancellable == NULL)
        return TRUE;
    cancel = g_new0(CancelWatch, 1);
    g_atomic_ref_count_init(&cancel->n_refs);
    g_atomic_ref_count_inc(&cancel->n_refs);
    cancel->session = session_ref(self->session);
    cancel->completion = self;
    cancel->cancellable = cancellable;
    self->cancel = cancel;
    cancel->handler = g_signal_connect_data(cancellable, "cancelled", G_CALLBACK(on_cancelled),
                                            cancel, cancel_watch_unref, G_CONNECT_DEFAULT);
    if (!g_cancellable_set_error_if_cancelled(cancellable, &error))
        return TRUE;
    completion_return(self, NULL, NULL, error);
    return FALSE;
}

/* ---- the result */

void
completion_return(Completion *self, gpointer pointer, GDestroyNotify pointer_free, GError *error)
{
    AsyncResult *result = g_steal_pointer(&self->result);
    SyncCall *sync = g_steal_pointer(&self->sync);
    const gboolean was_listening = self->cancel != NULL;

    stop_listening(self);
    if (result != NULL) {
        async_result_set(result, pointer, pointer_free, error, was_listening);
        session_deliver(self->session, async_result_get_context(result), async_result_run, result,
                        g_object_unref);
    } else if (sync != NULL) {
        sync->completion = NULL;
        sync->pointer = pointer;
        sync->error = error;
        session_end_wait(&sync->waiter);
    } else {
        if (pointer != NULL && pointer_free != NULL)
            pointer_free(pointer);
        g_clear_error(&error);
    }
}

/* ---- callers */

Caller
caller_async(gpointer source,
             gconstpointer tag,
             GCancellable *cancellable,
             GAsyncReadyCallback callback,
             gpointer data)
{
    return caller_of_result(async_result_new(source, tag, cancellable, callback, data));
}

Caller
caller_of_result(AsyncResult *take_result)
{
    return (Caller){.result = take_result,
                    .cancellable = async_result_get_cancellable(take_result)};
}

Caller
caller_of_sync(SyncCall *sync, GCancellable *cancellable)
{
    return (Caller){.sync = sync, .cancellable = cancellable};
}

void
completion_init(Completion *self, Session *session, Caller caller)
{
    *self = (Completion){
        .session = session, .result = caller.result, .sync = caller.sync, .waits = caller.waits};
    if (caller.sync != NULL)
        *caller.sync = (SyncCall){.session = session, .completion = self};
}

void
caller_fail(Caller caller, Session *session, GError *error)
{
    if (caller.result != NULL)
        async_result_return(caller.result, NULL, NULL, error);
    else
        *caller.sync = (SyncCall){.session = session, .waiter.is_over = TRUE, .error = error};
}

/* ---- synchronous calls */

gpointer
sync_call_wait(SyncCall *self, GError **error)
{
    if (session_is_of_this_process(self->session)) {
        session_enter(self->session);
        session_wait(self->session, &self->waiter);
        session_leave(self->session);
    }
    if (self->error != NULL)
        g_propagate_error(error, self->error);
    return self->pointer;
}

gboolean
sync_call_wait_once(SyncCall *self)
{
    gboolean is_over;

    session_enter(self->session);
    is_over = session_wait_once(self->session, &self->waiter);
    session_leave(self->session);
    return is_over;
}

void
sync_call_abandon(SyncCall *self)
{
    Completion *completion;

    session_enter(self->session);
    completion = g_steal_pointer(&self->completion);
    if (completion != NULL) {
        completion->sync = NULL;
        stop_listening(completion);
        if (session_is_of_this_process(self->session))
            completion->cancelled(completion->data);
    }
    session_leave(self->session);
}
