/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/hold.h"

#include <string.h>

#include "client-lib/call.h"
#include "client-lib/error-private.h"
#include "common/wire-names.h"

static void hold_lose(LedgerEntry *entry, const char *reason, const GError *error);
static gboolean hold_compare(LedgerEntry *entry, const LedgerRecord *record);
static const LedgerEntryFuncs hold_funcs = {.compared = hold_compare, .ended = hold_lose};

static Ledger *
get_ledger(Hold *self)
{
    return connection_get_ledger(self->connection);
}

static Hold *
from_entry(LedgerEntry *entry)
{
    return (Hold *)((char *)entry - G_STRUCT_OFFSET(Hold, entry));
}

/* The ledger's reference, given back. */
static void
leave_ledger(Hold *self)
{
    ledger_remove(get_ledger(self), &self->entry);
    hold_unref(self);
}

static void
lock_ref_clear(gpointer data)
{
    g_weak_ref_clear(&((LockRef *)data)->lock);
}

static void
lock_ref_unref(LockRef *lock)
{
    g_atomic_rc_box_release_full(lock, lock_ref_clear);
}

Hold *
hold_new(Connection *connection,
         const char *path,
         guint64 id,
         guint64 token,
         const char *name,
         WebLocksMode mode)
{
    Hold *self = g_atomic_rc_box_new0(Hold);

    self->connection = connection_ref(connection);
    self->path = g_strdup(path);
    self->entry.id = id;
    self->entry.funcs = &hold_funcs;
    self->token = token;
    self->name = g_strdup(name);
    self->mode = mode;
    self->state = HOLD_HELD;
    ledger_add(get_ledger(self), &self->entry);
    return hold_ref(self);
}

Hold *
hold_ref(Hold *self)
{
    return g_atomic_rc_box_acquire(self);
}

static void
hold_clear(gpointer data)
{
    Hold *self = data;

    g_clear_pointer(&self->lock, lock_ref_unref);
    g_free(self->name);
    g_free(self->path);
    connection_unref(self->connection);
}

void
hold_unref(gpointer self)
{
    g_atomic_rc_box_release_full(self, hold_clear);
}

static gboolean
hold_move(Hold *self, HoldState state)
{
    return g_atomic_int_compare_and_exchange(&self->state, HOLD_HELD, (int)state);
}

gboolean
hold_is_held(const Hold *self)
{
    return g_atomic_int_get(&self->state) == HOLD_HELD &&
           connection_is_of_this_process(self->connection);
}

/* ---- lost */

static const char *
static_reason(const char *reason)
{
    static const char *const reasons[] = {WIRE_REASON_STOLEN, WIRE_REASON_TERMINATED};

    for (guint i = 0; i < G_N_ELEMENTS(reasons); i++)
        if (strcmp(reason, reasons[i]) == 0)
            return reasons[i];
    return WIRE_REASON_LOST;
}

typedef struct {
    LockRef *lock;
    const char *reason;
} Loss;

static void
loss_tell(gpointer data)
{
    const Loss *self = data;
    g_autoptr(GObject) lock = g_weak_ref_get(&self->lock->lock);

    if (lock != NULL)
        self->lock->tell_lost(lock, self->reason);
}

static void
loss_free(gpointer data)
{
    Loss *self = data;

    lock_ref_unref(self->lock);
    g_free(self);
}

/* Inside the gate, where the last reference to the lock must not be dropped; and what waits to be
 * told must not keep the connection, if the context never runs. */
static void
tell_lost(Hold *self)
{
    Loss *loss;

    if (self->lock == NULL)
        return;
    loss = g_new(Loss, 1);
    loss->lock = g_atomic_rc_box_acquire(self->lock);
    loss->reason = self->loss_reason;
    connection_emit(self->connection, loss_tell, loss, loss_free);
}

void
hold_set_lock(Hold *self, gpointer lock, void (*tell)(gpointer lock, const char *reason))
{
    self->lock = g_atomic_rc_box_new0(LockRef);
    self->lock->tell_lost = tell;
    g_weak_ref_init(&self->lock->lock, lock);
}

static void
hold_lose(LedgerEntry *entry, const char *reason, const GError *error)
{
    Hold *self = from_entry(entry);

    if (g_atomic_int_get(&self->state) == HOLD_RELEASED) {
        /* It crossed our Release, whose answer will say that there was nothing to release. As a
         * watcher of the bucket we are told of our own Release too. */
        if (strcmp(reason, WIRE_REASON_RELEASED) != 0)
            self->loss_reason = static_reason(reason);
        return;
    }
    self->loss_reason = static_reason(reason);
    if (!hold_move(self, HOLD_LOST))
        return;
    tell_lost(self);
    leave_ledger(self);
}

/* One that is being released is in the service's hands; if it isn't there any more, that is done,
 * or was never needed. */
static gboolean
hold_compare(LedgerEntry *entry, const LedgerRecord *record)
{
    Hold *self = from_entry(entry);

    if (record != NULL && record->token == self->token)
        return TRUE;
    if (g_atomic_int_get(&self->state) == HOLD_RELEASED)
        self->is_missing = TRUE;
    else
        hold_lose(entry, WIRE_REASON_LOST, NULL);
    return FALSE;
}

/* ---- let go */

static SdBusMessage *
new_release(const Hold *self)
{
    SdBusMessage *message = call_new_to_bucket(self->connection, self->path, "Release");

    if (sd_bus_message_append_basic(message, 't', &self->entry.id) < 0)
        g_assert_not_reached();
    return message;
}

static void
drop_inside(gpointer data)
{
    Hold *self = data;

    if (connection_is_open(self->connection)) {
        g_autoptr(SdBusMessage) message = new_release(self);

        call_send_quietly(self->connection, message);
    }
    leave_ledger(self);
}

void
hold_drop(Hold *self)
{
    if (hold_is_held(self) && hold_move(self, HOLD_RELEASED))
        connection_run(self->connection, drop_inside, self);
}

typedef struct {
    Hold *hold;
    Ticket *ticket;
    gboolean is_sent; /* before, without an answer */
} Release;

/* Takes the error, which is NULL if it went well. */
static void
release_return(Release *release, GError *error)
{
    if (error != NULL)
        ticket_return_error(release->ticket, error);
    else
        ticket_return_boolean(release->ticket, TRUE);
    hold_unref(release->hold);
    g_free(release);
}

static void release_send(Release *release);

/* Why it was not there to be released, if the service does not know it any more. NULL: it was, and
 * the first Release that had no answer has done it. */
static GError *
explain_absence(const Release *release, const GError *error)
{
    const Hold *hold = release->hold;

    if (hold->loss_reason != NULL)
        return error_new_from_reason(hold->loss_reason);
    if (release->is_sent)
        return NULL;
    return hold->is_missing ? error_new_from_reason(WIRE_REASON_LOST) : g_error_copy(error);
}

static void
on_released(sd_bus_message *reply, const GError *error, gpointer data)
{
    Release *release = data;
    Hold *hold = release->hold;

    if (call_is_unanswered(error)) {
        release->is_sent = release->is_sent || !call_is_unsent(error);
        if (hold->loss_reason == NULL && !hold->is_missing) {
            release_send(release);
            return;
        }
    }
    leave_ledger(hold);
    if (error == NULL) {
        release_return(release, NULL);
    } else if (call_is_unanswered(error) ||
               g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_HELD)) {
        release_return(release, explain_absence(release, error));
    } else {
        /* If the service has it all the same, it is given back later. */
        resync_forget(connection_get_resync(hold->connection));
        release_return(release, g_error_copy(error));
    }
}

static void
release_send(Release *release)
{
    Hold *hold = release->hold;
    GError *error = NULL;

    if (connection_open(hold->connection, &error)) {
        g_autoptr(SdBusMessage) message = new_release(hold);

        if (call_send(hold->connection, message, CALL_RELEASE, on_released, release, &error) !=
            NULL)
            return;
    }
    leave_ledger(hold);
    release_return(release, error);
}

void
hold_release(Hold *self, Ticket *ticket)
{
    Release *release = g_new0(Release, 1);

    release->hold = hold_ref(self);
    release->ticket = ticket;
    if (hold_move(self, HOLD_RELEASED))
        release_send(release);
    else if (self->loss_reason != NULL)
        release_return(release, error_new_from_reason(self->loss_reason));
    else
        release_return(release, g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_HELD,
                                                    "The lock was released before"));
}
