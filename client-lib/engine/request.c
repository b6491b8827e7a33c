/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config.h"

#include "client-lib/engine/held-lock.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "client-lib/error-private.h"

/* How long after the time-out the library ends the request itself if the service has not. */
#define GRACE_US (250 * G_TIME_SPAN_MILLISECOND)

/* How many times a request is sent again after a service that is shutting down has refused it. */
#define REFUSALS_MAX 16

static Request *
from_entry(LockEntry *entry)
{
    return (Request *)entry;
}

static Cells *
get_cells(LockTable *table)
{
    return recovery_get_cells(lock_table_get_recovery(table));
}

/* ---- life */

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
    if (self->options.cell > 0)
        cells_end_request(get_cells(self->table), self->options.cell);
    self->table = NULL;
    session_remove_user(self->session);
    request_unref(self);
}

/* Takes the error. */
static void
request_fail(Request *self, GError *error)
{
    session_stop_timer(self->session, &self->timer);
    request_set_state(self, STATE_OVER);
    completion_return(&self->completion, NULL, NULL, error);
    lock_table_forget(self->table, &self->entry);
}

/* ---- the result of a request */

static void
on_unavailable(Request *self)
{
    session_stop_timer(self->session, &self->timer);
    request_set_state(self, STATE_OVER);
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
        held_lock_find_cell(self, answer->token);
        held_lock_begin(self, answer->token);
    } else if (answer->state == PACKET_STATE_WAITS) {
        request_set_state(self, STATE_WAITING);
        if (self->completion.waits != NULL && self->completion.result != NULL)
            self->completion.waits(self->completion.result, self->entry.key);
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
    request_set_state(self, STATE_OVER);
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

/* ---- LockEntryFuncs */

/* Whether the request is sent with its cell. */
static gboolean
has_cell(const Request *self)
{
    return self->options.cell > 0 && cells_are_shared(get_cells(self->table));
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

    if (request_get_state(self) == STATE_RELEASED) {
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

    if (request_get_state(self) == STATE_RELEASED)
        held_lock_take_release_answer(self, answer);
    else
        request_be_answered(self, answer);
}

static void
on_failed(LockEntry *entry, const GError *error)
{
    Request *self = from_entry(entry);

    if (request_get_state(self) == STATE_ASKING && !self->options.patient)
        request_fail(self, g_error_copy(error));
}

static void
on_granted(LockEntry *entry, guint64 token)
{
    Request *self = from_entry(entry);

    if (request_get_state(self) == STATE_WAITING)
        held_lock_begin(self, token);
}

static void
on_ended(LockEntry *entry, PacketReason reason)
{
    Request *self = from_entry(entry);

    switch (request_get_state(self)) {
    case STATE_WAITING:
        if (reason == PACKET_REASON_UNAVAILABLE && self->options.if_available)
            on_unavailable(self);
        else
            request_fail(self, error_new_from_end(reason));
        break;
    case STATE_HELD:
        held_lock_end(self, reason);
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

    if (request_get_state(self) == STATE_HELD && !request_is_over(self))
        held_lock_set_wanted(self, is_wanted);
}

static void
on_compared(LockEntry *entry, const PacketLiveEntry *live)
{
    Request *self = from_entry(entry);

    switch (request_get_state(self)) {
    case STATE_WAITING:
        if (live == NULL) {
            request_set_state(self, STATE_ASKING);
            lock_table_call_again(self->table, entry);
        } else if (live->state == PACKET_STATE_HELD) {
            held_lock_begin(self, live->token);
            held_lock_set_wanted(self, live->wanted);
        }
        break;
    case STATE_HELD:
        held_lock_compare(self, live);
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

    if (request_get_state(self) == STATE_HELD)
        held_lock_end(self, reason);
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
    if (options->cell > 0 && !cells_begin_request(get_cells(table), options->cell))
        self->options.cell = 0;
    session_add_user(session);
    lock_table_add(table, &self->entry);
    /* A thread that waits runs no deliveries. */
    lock_table_call(table, &self->entry, caller.sync != NULL ? LOCK_CALL_URGENT : LOCK_CALL_SLOW);
}
