/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/ticket.h"

#include "client-lib/post.h"

struct Ticket {
    gatomicrefcount n_refs; /* its owner's, and the cancellable's */
    Connection *connection;
    GTask *task; /* of task and call, one has a value until there is a result */
    SyncCall *call;
    GCancellable *cancellable;
    gulong handler; /* of the cancellable */
    ConnectionFunc cancelled;
    gpointer data;
};

static void
ticket_unref(gpointer data, GClosure *closure)
{
    Ticket *self = data;

    if (!g_atomic_ref_count_dec(&self->n_refs))
        return;
    g_clear_object(&self->cancellable);
    connection_unref(self->connection);
    g_free(self);
}

/* ---- the result */

typedef struct {
    Connection *connection;
    GTask *task;
    gboolean is_counted; /* as untold */
    gboolean is_told;
    gboolean is_cancellable;
    gboolean is_boolean;
    gboolean boolean;
    gpointer pointer;
    GDestroyNotify pointer_free;
    GError *error;
} Result;

static void
result_tell(gpointer data)
{
    Result *self = data;

    GError *cancelled = NULL;

    self->is_told = TRUE;
    connection_remove_untold(self->connection);
    /* Cancelled on the way here: what it gives goes back now, not when somebody drops the task. */
    if (self->is_cancellable && self->error == NULL &&
        g_cancellable_set_error_if_cancelled(g_task_get_cancellable(self->task), &cancelled)) {
        self->error = cancelled;
        if (self->pointer != NULL)
            self->pointer_free(g_steal_pointer(&self->pointer));
    }
    if (self->error != NULL)
        g_task_return_error(self->task, g_steal_pointer(&self->error));
    else if (self->is_boolean)
        g_task_return_boolean(self->task, self->boolean);
    else
        g_task_return_pointer(self->task, g_steal_pointer(&self->pointer), self->pointer_free);
}

static void
result_free(gpointer data)
{
    Result *self = data;

    if (self->is_counted && !self->is_told)
        connection_remove_untold(self->connection);
    if (self->pointer != NULL)
        self->pointer_free(self->pointer);
    g_clear_error(&self->error);
    g_clear_object(&self->task);
    connection_unref(self->connection);
    g_free(self);
}

/* Takes what is in the result. */
static void
ticket_end(Ticket *self, Result result)
{
    Result *told = g_memdup2(&result, sizeof result);
    SyncCall *call = g_steal_pointer(&self->call);

    told->connection = connection_ref(self->connection);
    told->is_cancellable = self->handler != 0;
    told->task = g_steal_pointer(&self->task);
    /* The handler may be running in another thread, and have to wait for us. */
    if (self->handler != 0 && (call != NULL || told->task != NULL))
        g_signal_handler_disconnect(self->cancellable, self->handler);

    if (told->task != NULL) {
        told->is_counted = TRUE;
        connection_tell(self->connection, g_task_get_context(told->task), result_tell, told,
                        result_free);
        return;
    }
    if (call != NULL)
        sync_call_finish(call, g_steal_pointer(&told->pointer), told->boolean,
                         g_steal_pointer(&told->error));
    result_free(told);
}

static void
ticket_return(Ticket *self, Result result)
{
    ticket_end(self, result);
    ticket_unref(self, NULL);
}

void
ticket_return_pointer(Ticket *self, gpointer pointer, GDestroyNotify pointer_free)
{
    ticket_return(self, (Result){.pointer = pointer, .pointer_free = pointer_free});
}

void
ticket_return_boolean(Ticket *self, gboolean boolean)
{
    ticket_return(self, (Result){.is_boolean = TRUE, .boolean = boolean});
}

void
ticket_return_error(Ticket *self, GError *error)
{
    ticket_return(self, (Result){.error = error});
}

void
ticket_free(Ticket *self)
{
    g_assert(self->task == NULL && self->call == NULL);
    ticket_unref(self, NULL);
}

/* ---- cancelled */

static void
cancel_inside(gpointer data)
{
    Ticket *self = data;
    GError *error = NULL;

    if (self->task == NULL && self->call == NULL)
        return;
    g_cancellable_set_error_if_cancelled(self->cancellable, &error);
    ticket_end(self, (Result){.error = error});
    self->cancelled(self->data);
}

static void
on_cancelled(GCancellable *cancellable, gpointer data)
{
    Ticket *self = data;

    connection_run(self->connection, cancel_inside, self);
}

gboolean
ticket_listen(Ticket *self, ConnectionFunc cancelled, gpointer data)
{
    GError *error = NULL;

    if (self->cancellable == NULL)
        return TRUE;
    self->cancelled = cancelled;
    self->data = data;
    g_atomic_ref_count_inc(&self->n_refs);
    self->handler = g_signal_connect_data(self->cancellable, "cancelled", G_CALLBACK(on_cancelled),
                                          self, ticket_unref, 0);
    /* Looked at after connecting, so that nothing is missed in between. */
    if (!g_cancellable_set_error_if_cancelled(self->cancellable, &error))
        return TRUE;
    ticket_return_error(self, error);
    return FALSE;
}

/* ---- making one */

static Ticket *
ticket_new(Connection *connection, GCancellable *cancellable)
{
    Ticket *self = g_new0(Ticket, 1);

    g_atomic_ref_count_init(&self->n_refs);
    self->connection = connection_ref(connection);
    g_set_object(&self->cancellable, cancellable);
    return self;
}

Ticket *
ticket_new_for_task(Connection *connection, GTask *task)
{
    Ticket *self = ticket_new(connection, g_task_get_cancellable(task));

    self->task = task;
    return self;
}

Ticket *
ticket_new_for_sync(SyncCall *call)
{
    Ticket *self = ticket_new(call->connection, call->cancellable);

    self->call = call;
    return self;
}
