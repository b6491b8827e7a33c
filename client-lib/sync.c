/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/sync.h"

/* A service that needs longer than this does not answer. */
#define SETTLE_MS 1000

void
sync_call_begin(SyncCall *self, Connection *connection)
{
    self->connection = connection_ref(connection);
    self->context = connection_take_sync_context(connection);
    self->result = NULL;
    g_main_context_push_thread_default(self->context);
}

void
sync_call_done(GObject *source, GAsyncResult *result, gpointer self)
{
    ((SyncCall *)self)->result = g_object_ref(result);
}

GAsyncResult *
sync_call_wait(SyncCall *self)
{
    while (self->result == NULL)
        g_main_context_iteration(self->context, TRUE);
    return self->result;
}

static gboolean
on_settle_timeout(gpointer is_over)
{
    *(gboolean *)is_over = TRUE;
    return G_SOURCE_REMOVE;
}

void
sync_call_settle(SyncCall *self)
{
    g_autoptr(GSource) timer = NULL;
    gboolean is_over = FALSE;

    if (!connection_has_abandoned(self->connection))
        return;
    timer = g_timeout_source_new(SETTLE_MS);
    g_source_set_callback(timer, on_settle_timeout, &is_over, NULL);
    g_source_attach(timer, self->context);
    while (!is_over && connection_has_abandoned(self->connection))
        g_main_context_iteration(self->context, TRUE);
    g_source_destroy(timer);
}

void
sync_call_end(SyncCall *self)
{
    g_main_context_pop_thread_default(self->context);
    g_clear_object(&self->result);
    connection_give_sync_context(self->connection, self->context);
    connection_unref(self->connection);
}
