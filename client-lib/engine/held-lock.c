/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config.h"

#include "client-lib/engine/held-lock.h"

#include <glib/gi18n-lib.h>

#include "client-lib/error-private.h"

static Request *
request_ref(Request *self)
{
    g_atomic_ref_count_inc(&self->n_refs);
    return self;
}

/* ---- the cell */

void
held_lock_find_cell(Request *self, guint64 token)
{
    Cells *cells = recovery_get_cells(lock_table_get_recovery(self->table));
    LockCell *cell;

    if (self->options.cell == 0)
        return;
    cell = cells_get(cells, self->options.cell);
    if (lock_cell_is_held(cell, self->entry.key, token))
        self->cell = cell;
}

/* Closes the cell, as the service does, so that a lock that is held is an ordinary one. Returns
 * FALSE if it is parked: then it is over, and nobody is to be told. */
static gboolean
settle(Request *self)
{
    LockCell *cell = g_steal_pointer(&self->cell);
    LockCellClosed closed;

    if (cell == NULL)
        return TRUE;
    lock_cell_close(cell, &closed);
    self->token = closed.token;
    if (!closed.is_held)
        request_set_state(self, STATE_RELEASED);
    return closed.is_held;
}

gboolean
request_is_over(Request *self)
{
    if (request_get_state(self) == STATE_HELD && !settle(self))
        lock_table_forget(self->table, &self->entry);
    return request_get_state(self) == STATE_RELEASED;
}

/* ---- notifications of the lock object */

/* Another thread may be disposing of the lock object at this moment. A reference is not taken with
 * the session lock held: that could run code of a language's binding that waits for a thread with
 * the lock of the interpreter, which waits for the session lock. So request_forget_lock() takes one
 * if a notification is running. */
static void
run_notification(gpointer data)
{
    Request *request = data;
    gpointer lock;
    RequestChanges changes;
    gboolean is_forgotten;

    session_enter(request->session);
    changes = request->changes;
    request->changes = 0;
    lock = request->lock;
    if (lock != NULL)
        request->n_notifying++;
    session_leave(request->session);
    if (lock == NULL)
        return;
    web_locks_lock_change(lock, changes);
    session_enter(request->session);
    is_forgotten = --request->n_notifying == 0 && request->lock == NULL;
    session_leave(request->session);
    if (is_forgotten)
        g_object_unref(lock);
}

static void
notify(Request *self, RequestChanges change)
{
    const gboolean is_queued = self->changes != 0;

    self->changes |= change;
    if (!is_queued)
        session_deliver(self->session, session_get_context(self->session), run_notification,
                        request_ref(self), (GDestroyNotify)request_unref);
}

void
held_lock_begin(Request *self, guint64 token)
{
    session_stop_timer(self->session, &self->timer);
    self->token = token;
    request_set_state(self, STATE_HELD);
    self->lock = web_locks_lock_new(request_ref(self));
    completion_return(&self->completion, self->lock, g_object_unref, NULL);
}

void
held_lock_set_wanted(Request *self, gboolean is_wanted)
{
    if (self->is_wanted == is_wanted)
        return;
    g_atomic_int_set(&self->is_wanted, is_wanted);
    if (self->lock != NULL && web_locks_lock_listens(self->lock))
        notify(self, REQUEST_WANTED);
}

static void
lose(Request *self, PacketReason reason)
{
    self->loss_reason = reason;
    self->error = error_new_from_loss(reason);
    request_set_state(self, STATE_LOST);
    notify(self, REQUEST_LOST);
    lock_table_forget(self->table, &self->entry);
}

void
held_lock_end(Request *self, PacketReason reason)
{
    if (!request_is_over(self))
        lose(self, reason);
}

void
held_lock_compare(Request *self, const PacketLiveEntry *live)
{
    if (request_is_over(self))
        return; /* if the service lists it nevertheless, it is released */
    if (live == NULL || live->token != self->token)
        lose(self, PACKET_REASON_LOST);
    else
        held_lock_set_wanted(self, live->wanted);
}

/* ---- release */

/* Returns the error for a release that was answered with NotHeld. Returns NULL if an earlier,
 * unanswered RELEASE of this request has succeeded. */
static GError *
explain_absence(const Request *self, const PacketAnswer *answer)
{
    if (self->loss_reason != 0)
        return error_new_from_loss(self->loss_reason);
    if (self->entry.was_sent)
        return NULL;
    return self->is_missing ? error_new_from_loss(PACKET_REASON_LOST)
                            : error_new_from_answer(answer);
}

void
held_lock_take_release_answer(Request *self, const PacketAnswer *answer)
{
    GError *error = answer->error == PACKET_ERROR_NOT_HELD ? explain_absence(self, answer)
                                                           : error_new_from_answer(answer);

    session_stop_timer(self->session, &self->timer);
    completion_return(&self->completion, error == NULL ? self : NULL, NULL, error);
    if (answer->error == PACKET_ERROR_NONE || answer->error == PACKET_ERROR_NOT_HELD)
        lock_table_forget(self->table, &self->entry);
    else
        lock_table_release(self->table, &self->entry);
}

/* The release stays in the queue of the socket, or is sent on the next socket. */
static void
on_release_expired(gpointer data)
{
    Request *self = data;

    completion_return(&self->completion, NULL, NULL,
                      error_new_unavailable(_("it has not answered in time")));
    lock_table_release(self->table, &self->entry);
}

static GError *
explain_refusal(const Request *self)
{
    if (self->loss_reason != 0)
        return error_new_from_loss(self->loss_reason);
    return g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_HELD,
                               _("the lock has been released already"));
}

gboolean
request_release(Request *self, Caller caller)
{
    gboolean was_held;

    session_enter(self->session);
    was_held = request_get_state(self) == STATE_HELD;
    if (was_held) {
        completion_init(&self->completion, self->session, caller);
        request_set_state(self, STATE_RELEASED);
        self->entry.was_sent = FALSE;
        self->timer.expired = on_release_expired;
        session_start_timer(self->session, &self->timer,
                            g_get_monotonic_time() + ANSWER_TIMEOUT_US);
        /* Whatever the caller does next, others don't wait for it; unless it asks for a batch. */
        lock_table_call(self->table, &self->entry,
                        caller.sync != NULL ? LOCK_CALL_URGENT : LOCK_CALL_FAST);
    } else {
        caller_fail(caller, self->session, explain_refusal(self));
    }
    session_leave(self->session);
    return was_held;
}

static gboolean
drop(Request *self)
{
    if (!request_is_held(self))
        return FALSE;
    settle(self);
    request_set_state(self, STATE_RELEASED);
    lock_table_release(self->table, &self->entry);
    return TRUE;
}

gboolean
request_drop(Request *self)
{
    gboolean was_held;

    session_enter(self->session);
    was_held = drop(self);
    session_leave(self->session);
    return was_held;
}

void
request_forget_lock(Request *self)
{
    session_enter(self->session);
    if (self->lock != NULL && self->n_notifying > 0)
        g_object_ref(self->lock);
    self->lock = NULL;
    drop(self);
    session_leave(self->session);
}

/* ---- downgrade
 *
 * It is an entry of its own, so that it is a call like any other: sent in its order, and again on
 * the next socket. Repeated, it changes nothing. */

typedef struct {
    LockEntry entry;
    LockTable *table;
    Request *request; /* owned */
    Completion completion;
    SessionTimer timer;
} Downgrade;

/* Takes the error. */
static void
downgrade_end(Downgrade *self, GError *error)
{
    session_stop_timer(self->request->session, &self->timer);
    completion_return(&self->completion, error == NULL ? self->request : NULL, NULL, error);
    lock_table_forget(self->table, &self->entry);
}

static void
on_downgrade_write(LockEntry *entry, guint64 serial, GByteArray *queue)
{
    packet_write_key(queue, PACKET_DOWNGRADE, 0, serial, ((Downgrade *)entry)->request->entry.key);
}

static void
on_downgrade_answered(LockEntry *entry, const PacketAnswer *answer)
{
    Downgrade *self = (Downgrade *)entry;
    Request *request = self->request;
    GError *error = NULL;

    if (answer->error == PACKET_ERROR_INVALID_STATE) {
        error = g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE,
                                    _("others hold this counting lock too"));
    } else if (answer->error != PACKET_ERROR_NONE) {
        error = explain_refusal(request);
    } else if (request_get_mode(request) != WEB_LOCKS_MODE_SHARED) {
        g_atomic_int_set(&request->is_downgraded, TRUE);
        notify(request, REQUEST_DOWNGRADED);
    }
    downgrade_end(self, error);
}

/* The service has not answered: it is stopped or not running. The call stays queued. */
static void
on_downgrade_expired(gpointer data)
{
    completion_return(&((Downgrade *)data)->completion, NULL, NULL,
                      error_new_unavailable(_("it has not answered in time")));
}

static void
on_downgrade_finished(LockEntry *entry, PacketReason reason, const GError *error)
{
    downgrade_end((Downgrade *)entry, error_new_from_loss(reason));
}

static void
on_downgrade_left(LockEntry *entry)
{
    Downgrade *self = (Downgrade *)entry;

    session_remove_user(self->request->session);
    request_unref(self->request);
    g_free(self);
}

static const LockEntryFuncs downgrade_funcs = {
    .write = on_downgrade_write,
    .answered = on_downgrade_answered,
    .finished = on_downgrade_finished,
    .left = on_downgrade_left,
};

static void
start_downgrade(Request *self, Caller caller)
{
    Downgrade *call = g_new0(Downgrade, 1);

    call->entry.funcs = &downgrade_funcs;
    call->table = self->table;
    call->request = request_ref(self);
    completion_init(&call->completion, self->session, caller);
    call->timer.data = call;
    call->timer.expired = on_downgrade_expired;
    session_start_timer(self->session, &call->timer, g_get_monotonic_time() + ANSWER_TIMEOUT_US);
    session_add_user(self->session);
    lock_entry_init_call(&call->entry);
    lock_table_call(call->table, &call->entry, LOCK_CALL_URGENT);
}

void
request_downgrade(Request *self, Caller caller)
{
    session_enter(self->session);
    if (request_get_state(self) == STATE_HELD)
        start_downgrade(self, caller);
    else
        caller_fail(caller, self->session, explain_refusal(self));
    session_leave(self->session);
}

/* ---- functions for a granted request */

Session *
request_get_session(const Request *self)
{
    return self->session;
}

const char *
request_get_name(const Request *self)
{
    return self->name;
}

WebLocksMode
request_get_mode(const Request *self)
{
    return g_atomic_int_get(&self->is_downgraded) ? WEB_LOCKS_MODE_SHARED : self->options.mode;
}

guint64
request_get_token(const Request *self)
{
    return self->token;
}

guint64
request_get_key(const Request *self)
{
    return self->entry.key;
}

void
request_catch_up(Request *self)
{
    session_enter(self->session);
    if (self->table != NULL && session_is_of_this_process(self->session)) {
        if (!session_catch_up(self->session) && self->table != NULL)
            recovery_read(lock_table_get_recovery(self->table));
    }
    session_leave(self->session);
}

gboolean
request_is_held(const Request *self)
{
    return request_get_state(self) == STATE_HELD && session_is_of_this_process(self->session);
}

gboolean
request_was_wanted(const Request *self)
{
    return g_atomic_int_get(&self->is_wanted);
}

gboolean
request_is_wanted(const Request *self)
{
    return request_is_held(self) && request_was_wanted(self);
}

const GError *
request_get_error(const Request *self)
{
    return request_get_state(self) == STATE_LOST ? self->error : NULL;
}
