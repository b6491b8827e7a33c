/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Stealing the lock from its holders. */

#include "config.h"

#include <glib/gi18n-lib.h>

#include "client-lib/claim-private.h"

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
            web_locks_claim_hold(self, granted);
        g_task_return_error(task, error);
    } else if (was_stopped) {
        g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_CANCELLED, _("the claim was stopped"));
    } else {
        web_locks_claim_hold(self, lock);
        g_task_return_boolean(task, TRUE);
    }
}

static void
steal(WebLocksClaim *self, GTask *task)
{
    g_autoptr(WebLocksOptions) options = web_locks_claim_make_options(self, TRUE);

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
    if (web_locks_claim_finish_opening(self, source, result, &error)) {
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
            web_locks_claim_open_document(self, cancellable, on_opened_to_steal, task);
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
