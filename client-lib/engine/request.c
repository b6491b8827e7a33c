/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config.h"

#include "client-lib/engine/request.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "client-lib/error-private.h"

/* How long after the time-out the library ends the request itself if the service has not. */
#define GRACE_US (250 * G_TIME_SPAN_MILLISECOND)

/* How many times a request is sent again after a service that is shutting down has refused it. */
#define REFUSALS_MAX 16

typedef enum {
    STATE_ASKING, /* the service has not answered the request */
    STATE_WAITING,
    STATE_HELD,
    STATE_RELEASED, /* released by the application; the release may be unanswered */
    STATE_LOST,
    STATE_OVER, /* ended without a grant */
} State;

struct Request {
    LockEntry entry;
    gatomicrefcount n_refs; /* one for the table, one for the lock object */
    Session *session;
    LockTable *table; /* NULL if the entry is not in it */
    const RequestFuncs *funcs;

    int state;         /* a State; read atomically, written with the session lock held */
    int is_downgraded; /* likewise, a gboolean */
    Completion completion;
    SessionTimer timer; /* the time-out of the request or of the release */
    gint64 began_us;
    guint n_refusals;

    guint64 token;
    LockCell *cell;           /* open for this lock until it is closed; NULL: an ordinary lock */
    int is_wanted;            /* read atomically, written with the session lock held */
    gboolean is_reporting;    /* report_wanted() is queued */
    gpointer lock;            /* the application's lock object, borrowed; NULL: finalized */
    PacketReason loss_reason; /* 0: none; written before `state` */
    GError *error;            /* of a lost lock; written before `state` */
    gboolean is_missing;      /* the release was unanswered, and the new service does not list it */

    GRefString *bucket;
    RequestOptions options;
    char name[];
};

static Request *
from_entry(LockEntry *entry)
{
    return (Request *)entry;
}

static State
get_state(const Request *self)
{
    return (State)g_atomic_int_get(&self->state);
}

static void
set_state(Request *self, State state)
{
    g_atomic_int_set(&self->state, (int)state);
}

/* ---- life */

static Request *
request_ref(Request *self)
{
    g_atomic_ref_count_inc(&self->n_refs);
    return self;
}

void
request_unref(Request *self)
{
    if (!g_atomic_ref_count_dec(&self->n_refs))
        return;
    request_options_clear(&self->options);
    g_ref_string_release(self->bucket);
    g_clear_error(&self->error);
    session_unref(self->session);
    g_free(self);
}

/* Drops the table's reference, and the session user that the request was while in the table. */
static void
on_left(LockEntry *entry)
{
    Request *self = from_entry(entry);

    session_stop_timer(self->session, &self->timer);
    self->table = NULL;
    session_remove_user(self->session);
    request_unref(self);
}

/* Takes the error. */
static void
request_fail(Request *self, GError *error)
{
    session_stop_timer(self->session, &self->timer);
    set_state(self, STATE_OVER);
    completion_return(&self->completion, NULL, NULL, error);
    lock_table_forget(self->table, &self->entry);
}

/* ---- the cell */

/* The lock was granted in the answer to the request. */
static void
find_cell(Request *self, guint64 token)
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
        set_state(self, STATE_RELEASED);
    return closed.is_held;
}

gboolean
request_is_over(Request *self)
{
    if (get_state(self) == STATE_HELD && !settle(self))
        lock_table_forget(self->table, &self->entry);
    return get_state(self) == STATE_RELEASED;
}

/* ---- the result of a request */

static void
request_grant(Request *self, guint64 token)
{
    session_stop_timer(self->session, &self->timer);
    self->token = token;
    set_state(self, STATE_HELD);
    self->lock = self->funcs->lock_new(request_ref(self));
    completion_return(&self->completion, self->lock, g_object_unref, NULL);
}

static void
on_unavailable(Request *self)
{
    session_stop_timer(self->session, &self->timer);
    set_state(self, STATE_OVER);
    completion_return(&self->completion, NULL, NULL, NULL);
    lock_table_forget(self->table, &self->entry);
}

static void
request_be_answered(Request *self, const PacketAnswer *answer)
{
    self->entry.was_sent = TRUE;
    if (answer->error == PACKET_ERROR_INVALID_STATE && ++self->n_refusals < REFUSALS_MAX) {
        lock_table_call_again(self->table, &self->entry);
    } else if (answer->error != PACKET_ERROR_NONE) {
        request_fail(self, error_new_from_answer(answer));
    } else if (answer->state == PACKET_STATE_HELD) {
        find_cell(self, answer->token);
        request_grant(self, answer->token);
    } else if (answer->state == PACKET_STATE_WAITS) {
        set_state(self, STATE_WAITING);
        if (self->funcs->waits != NULL)
            self->funcs->waits(self->completion.result, self->entry.key);
    } else {
        on_unavailable(self);
    }
}

/* ---- cancellation and time-out */

static void
request_give_up(gpointer data)
{
    Request *self = data;

    session_stop_timer(self->session, &self->timer);
    set_state(self, STATE_OVER);
    lock_table_abort(self->table, &self->entry);
}

/* The service has not sent the time-out, or has not answered a request that does not wait for a
 * lock: it is stopped or not running. */
static void
on_timed_out(gpointer data)
{
    Request *self = data;

    completion_return(&self->completion, NULL, NULL,
                      self->options.timeout_ms > 0
                          ? error_new_from_end(PACKET_REASON_TIMEOUT)
                          : error_new_unavailable(_("it has not answered in time")));
    request_give_up(self);
}

/* Returns how long the library waits for the result; 0: until the request is cancelled. */
static gint64
get_patience_us(const RequestOptions *options)
{
    if (options->timeout_ms > 0)
        return options->timeout_ms * G_TIME_SPAN_MILLISECOND + GRACE_US;
    return options->if_available || options->steal ? ANSWER_TIMEOUT_US : 0;
}

/* ---- reports to the lock object */

/* Returns a reference, or NULL. Another thread may be disposing of the lock object at this moment.
 * It sets `lock` to NULL with the session lock held, while the object still has a reference. */
static GObject *
get_lock(const Request *self)
{
    GObject *lock = NULL;

    session_enter(self->session);
    if (self->lock != NULL)
        lock = g_object_ref(self->lock);
    session_leave(self->session);
    return lock;
}

static void
report_wanted(gpointer data)
{
    Request *request = data;
    g_autoptr(GObject) lock = get_lock(request);

    session_enter(request->session);
    request->is_reporting = FALSE;
    session_leave(request->session);
    if (lock != NULL)
        request->funcs->lock_wanted(lock);
}

static void
request_set_wanted(Request *self, gboolean is_wanted)
{
    if (self->is_wanted == is_wanted)
        return;
    g_atomic_int_set(&self->is_wanted, is_wanted);
    if (self->is_reporting || self->lock == NULL || !self->funcs->lock_listens(self->lock))
        return;
    self->is_reporting = TRUE;
    session_deliver(self->session, session_get_context(self->session), report_wanted,
                    request_ref(self), (GDestroyNotify)request_unref);
}

static void
report_loss(gpointer data)
{
    const Request *request = data;
    g_autoptr(GObject) lock = get_lock(request);

    if (lock != NULL)
        request->funcs->lock_lost(lock, request->error);
}

static void
request_lose(Request *self, PacketReason reason)
{
    self->loss_reason = reason;
    self->error = error_new_from_loss(reason);
    set_state(self, STATE_LOST);
    session_deliver(self->session, session_get_context(self->session), report_loss,
                    request_ref(self), (GDestroyNotify)request_unref);
    lock_table_forget(self->table, &self->entry);
}

/* The service has ended the held lock. */
static void
request_end(Request *self, PacketReason reason)
{
    if (!request_is_over(self))
        request_lose(self, reason);
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

static void
release_be_answered(Request *self, const PacketAnswer *answer)
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
    was_held = get_state(self) == STATE_HELD;
    if (was_held) {
        completion_init(&self->completion, self->session, caller);
        set_state(self, STATE_RELEASED);
        self->entry.was_sent = FALSE;
        self->timer.expired = on_release_expired;
        session_start_timer(self->session, &self->timer,
                            g_get_monotonic_time() + ANSWER_TIMEOUT_US);
        /* Whatever the caller does next, others don't wait for it; unless it asks for a batch. */
        lock_table_call(self->table, &self->entry,
                        caller.sync != NULL || !session_is_in_batch(self->session));
    } else {
        caller_fail(caller, self->session, explain_refusal(self));
    }
    session_leave(self->session);
    return was_held;
}

gboolean
request_drop(Request *self)
{
    gboolean was_held;

    session_enter(self->session);
    was_held = request_is_held(self);
    if (was_held) {
        settle(self);
        set_state(self, STATE_RELEASED);
        lock_table_release(self->table, &self->entry);
    }
    session_leave(self->session);
    return was_held;
}

void
request_forget_lock(Request *self)
{
    session_enter(self->session);
    self->lock = NULL;
    request_drop(self);
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

static void
report_downgrade(gpointer data)
{
    const Request *request = data;
    g_autoptr(GObject) lock = get_lock(request);

    if (lock != NULL)
        request->funcs->lock_downgraded(lock);
}

static void
request_be_shared(Request *self)
{
    if (request_get_mode(self) == WEB_LOCKS_MODE_SHARED)
        return;
    g_atomic_int_set(&self->is_downgraded, TRUE);
    session_deliver(self->session, session_get_context(self->session), report_downgrade,
                    request_ref(self), (GDestroyNotify)request_unref);
}

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

    if (answer->error == PACKET_ERROR_INVALID_STATE)
        error = g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE,
                                    _("others hold this counting lock too"));
    else if (answer->error != PACKET_ERROR_NONE)
        error = explain_refusal(request);
    else
        request_be_shared(request);
    downgrade_end(self, error);
}

/* The service has not answered: it is stopped or not running. The call stays queued. */
static void
on_downgrade_expired(gpointer data)
{
    Downgrade *self = data;

    completion_return(&self->completion, NULL, NULL,
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

void
request_downgrade(Request *self, Caller caller)
{
    Downgrade *call;

    session_enter(self->session);
    if (get_state(self) != STATE_HELD) {
        caller_fail(caller, self->session, explain_refusal(self));
        session_leave(self->session);
        return;
    }
    call = g_new0(Downgrade, 1);
    call->entry.funcs = &downgrade_funcs;
    call->table = self->table;
    call->request = request_ref(self);
    completion_init(&call->completion, self->session, caller);
    call->timer.data = call;
    call->timer.expired = on_downgrade_expired;
    session_start_timer(self->session, &call->timer, g_get_monotonic_time() + ANSWER_TIMEOUT_US);
    session_add_user(self->session);
    lock_entry_init_call(&call->entry);
    lock_table_call(call->table, &call->entry, TRUE);
    session_leave(self->session);
}

/* ---- LockEntryFuncs */

/* Whether the request is sent with its cell. */
static gboolean
has_cell(const Request *self)
{
    return self->options.cell > 0 &&
           cells_are_shared(recovery_get_cells(lock_table_get_recovery(self->table)));
}

static guint8
get_packet_options(const Request *self)
{
    const RequestOptions *options = &self->options;

    return (guint8)((options->if_available ? PACKET_OPTION_IF_AVAILABLE : 0) |
                    (options->steal ? PACKET_OPTION_STEAL : 0) |
                    (has_cell(self) ? PACKET_OPTION_CELL : 0));
}

static guint32
get_slots_or_cell(const Request *self)
{
    if (has_cell(self))
        return self->options.cell;
    return self->options.slots > 1 ? self->options.slots : 0;
}

/* Returns the remaining part of the time-out. */
static guint32
get_timeout_ms(const Request *self)
{
    const guint timeout_ms = self->options.timeout_ms;
    gint64 passed_ms;

    if (timeout_ms == 0)
        return 0;
    passed_ms = (g_get_monotonic_time() - self->began_us) / G_TIME_SPAN_MILLISECOND;
    return (guint32)MAX((gint64)timeout_ms - passed_ms, 1);
}

static void
on_write(LockEntry *entry, guint64 serial, GByteArray *queue)
{
    Request *self = from_entry(entry);
    const RequestOptions *options = &self->options;

    if (get_state(self) == STATE_RELEASED) {
        packet_write_key(queue, PACKET_RELEASE, 0, serial, entry->key);
        return;
    }
    packet_write_request(queue, serial, entry->key, get_timeout_ms(self),
                         options->mode == WEB_LOCKS_MODE_SHARED ? LOCK_MODE_SHARED
                                                                : LOCK_MODE_EXCLUSIVE,
                         get_packet_options(self), get_slots_or_cell(self), self->bucket,
                         self->name, options->why, options->command);
}

static void
on_answered(LockEntry *entry, const PacketAnswer *answer)
{
    Request *self = from_entry(entry);

    if (get_state(self) == STATE_RELEASED)
        release_be_answered(self, answer);
    else
        request_be_answered(self, answer);
}

static void
on_failed(LockEntry *entry, const GError *error)
{
    Request *self = from_entry(entry);

    if (get_state(self) == STATE_ASKING && !self->options.patient)
        request_fail(self, g_error_copy(error));
}

static void
on_granted(LockEntry *entry, guint64 token)
{
    Request *self = from_entry(entry);

    if (get_state(self) == STATE_WAITING)
        request_grant(self, token);
}

static void
on_ended(LockEntry *entry, PacketReason reason)
{
    Request *self = from_entry(entry);

    switch (get_state(self)) {
    case STATE_WAITING:
        if (reason == PACKET_REASON_UNAVAILABLE && self->options.if_available)
            on_unavailable(self);
        else
            request_fail(self, error_new_from_end(reason));
        break;
    case STATE_HELD:
        request_end(self, reason);
        break;
    case STATE_RELEASED: /* it has crossed our RELEASE, which will be answered with NotHeld */
        self->loss_reason = reason;
        break;
    case STATE_ASKING:
    case STATE_LOST:
    case STATE_OVER:
    default:
        break;
    }
}

static void
on_wanted(LockEntry *entry, gboolean is_wanted)
{
    Request *self = from_entry(entry);

    if (get_state(self) == STATE_HELD && !request_is_over(self))
        request_set_wanted(self, is_wanted);
}

static void
on_compared(LockEntry *entry, const PacketLiveEntry *live)
{
    Request *self = from_entry(entry);

    switch (get_state(self)) {
    case STATE_WAITING:
        if (live == NULL) {
            set_state(self, STATE_ASKING);
            lock_table_call_again(self->table, entry);
        } else if (live->state == PACKET_STATE_HELD) {
            request_grant(self, live->token);
            request_set_wanted(self, live->wanted);
        }
        break;
    case STATE_HELD:
        if (request_is_over(self))
            break; /* if the service lists it nevertheless, it is released */
        if (live == NULL || live->token != self->token)
            request_lose(self, PACKET_REASON_LOST);
        else
            request_set_wanted(self, live->wanted);
        break;
    case STATE_RELEASED:
        self->is_missing = live == NULL;
        break;
    case STATE_ASKING: /* the request is sent again in any case */
    case STATE_LOST:
    case STATE_OVER:
    default:
        break;
    }
}

static void
on_finished(LockEntry *entry, PacketReason reason, const GError *error)
{
    Request *self = from_entry(entry);

    if (get_state(self) == STATE_HELD)
        request_end(self, reason);
    else
        request_fail(self, g_error_copy(error));
}

static const LockEntryFuncs entry_funcs = {
    .write = on_write,
    .answered = on_answered,
    .failed = on_failed,
    .granted = on_granted,
    .ended = on_ended,
    .wanted = on_wanted,
    .compared = on_compared,
    .finished = on_finished,
    .left = on_left,
};

void
request_start(LockTable *table,
              Session *session,
              const RequestFuncs *funcs,
              GRefString *bucket,
              const char *name,
              const RequestOptions *options,
              Caller caller)
{
    const gsize length = strlen(name);
    const gint64 patience_us = get_patience_us(options);
    Request *self = g_malloc0(sizeof *self + length + 1);

    g_atomic_ref_count_init(&self->n_refs);
    self->entry.funcs = &entry_funcs;
    self->session = session_ref(session);
    self->funcs = funcs;
    self->bucket = g_ref_string_acquire(bucket);
    request_options_copy(&self->options, options);
    memcpy(self->name, name, length);
    completion_init(&self->completion, session, caller);
    if (!completion_listen(&self->completion, caller.cancellable, request_give_up, self)) {
        request_unref(self);
        return;
    }
    self->timer.data = self;
    self->timer.expired = on_timed_out;
    if (patience_us > 0) {
        self->began_us = g_get_monotonic_time();
        session_start_timer(session, &self->timer, self->began_us + patience_us);
    }
    self->table = table;
    session_add_user(session);
    lock_table_add(table, &self->entry);
    /* A thread that waits runs no deliveries. */
    lock_table_call(table, &self->entry, caller.sync != NULL);
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
    return get_state(self) == STATE_HELD && session_is_of_this_process(self->session);
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
    return get_state(self) == STATE_LOST ? self->error : NULL;
}
