/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/ticket.h"

#include "client-lib/post.h"

struct Ticket {
    gatomicrefcount n_refs; /* its owner's, and the cancellable's */
    Connection *connection;
    GTask *task;    /* NULL: it has its result */
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
    connection_unref(self->connection);
    g_free(self);
}

/* ---- the result */

typedef struct {
    GTask *task;
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

    if (self->pointer != NULL)
        self->pointer_free(self->pointer);
    g_clear_error(&self->error);
    g_clear_object(&self->task);
    g_free(self);
}

/* Takes all there is in the result but its task, which is the ticket's. */
static void
ticket_end(Ticket *self, Result result)
{
    Result *copy = g_memdup2(&result, sizeof result);

    copy->task = g_steal_pointer(&self->task);
    if (copy->task == NULL) {
        result_free(copy);
        return;
    }
    /* The handler may be running in another thread, and have to wait for us. */
    if (self->handler != 0)
        g_signal_handler_disconnect(g_task_get_cancellable(copy->task), self->handler);
    post_to_context(g_task_get_context(copy->task), result_tell, copy, result_free);
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
    g_assert(self->task == NULL);
    ticket_unref(self, NULL);
}

/* ---- cancelled */

static void
cancel_inside(gpointer data)
{
    Ticket *self = data;
    GError *error = NULL;

    if (self->task == NULL)
        return;
    g_cancellable_set_error_if_cancelled(g_task_get_cancellable(self->task), &error);
    ticket_end(self, (Result){.error = error});
    self->cancelled(self->data);
}

static void
on_cancelled(GCancellable *cancellable, gpointer data)
{
    Ticket *self = data;

    connection_run(self->connection, cancel_inside, self);
}

Ticket *
ticket_new(Connection *connection, GTask *task, ConnectionFunc cancelled, gpointer data)
{
    Ticket *self = g_new0(Ticket, 1);
    GCancellable *cancellable = g_task_get_cancellable(task);

    g_atomic_ref_count_init(&self->n_refs);
    self->connection = connection_ref(connection);
    self->task = task;
    self->cancelled = cancelled;
    self->data = data;
    if (cancellable != NULL && cancelled != NULL) {
        g_atomic_ref_count_inc(&self->n_refs);
        self->handler = g_signal_connect_data(cancellable, "cancelled", G_CALLBACK(on_cancelled),
                                              self, ticket_unref, 0);
    }
    return self;
}

gboolean
ticket_is_open(const Ticket *self)
{
    return self->task != NULL;
}

gboolean
ticket_is_cancelled(const Ticket *self)
{
    return self->task != NULL && g_cancellable_is_cancelled(g_task_get_cancellable(self->task));
}

GTask *
ticket_get_task(const Ticket *self)
{
    return self->task;
}

gboolean
ticket_return_if_cancelled(Ticket *self)
{
    GError *error = NULL;

    if (!g_cancellable_set_error_if_cancelled(g_task_get_cancellable(self->task), &error))
        return FALSE;
    ticket_return_error(self, error);
    return TRUE;
}
