/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/sync.h"

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

void
sync_call_end(SyncCall *self)
{
    g_main_context_pop_thread_default(self->context);
    g_clear_object(&self->result);
    connection_give_sync_context(self->connection, self->context);
    connection_unref(self->connection);
}
