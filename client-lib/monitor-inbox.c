/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/monitor-inbox.h"

/* If so many signals are queued because the main context does not run, everything is read again. */
#define SIGNALS_MAX 4096

static void
inbox_clear(gpointer data)
{
    MonitorInbox *self = data;

    g_weak_ref_clear(&self->monitor);
    g_queue_clear_full(&self->signals, g_object_unref);
    session_unref(self->session);
    g_source_unref(self->timer);
}

static void
inbox_unref(gpointer data)
{
    g_atomic_rc_box_release_full(data, inbox_clear);
}

void
monitor_inbox_update_in(MonitorInbox *self, guint ms)
{
    const gint64 due_us = g_get_monotonic_time() + (gint64)ms * G_TIME_SPAN_MILLISECOND;
    const gint64 set_us = g_source_get_ready_time(self->timer);

    if (set_us < 0 || due_us < set_us)
        g_source_set_ready_time(self->timer, due_us);
}

/* Called with the session lock held, for a signal or, with NULL, if the service is another one or
 * has ended. */
static void
on_changed(GDBusMessage *signal, gpointer data)
{
    MonitorInbox *self = data;

    if (signal == NULL || self->signals.length == SIGNALS_MAX) {
        g_queue_clear_full(&self->signals, g_object_unref);
        self->is_missing = TRUE;
    }
    if (signal == NULL)
        self->is_watched = FALSE;
    else
        g_queue_push_tail(&self->signals, g_object_ref(signal));
    monitor_inbox_update_in(self, MONITOR_BURST_MS);
}

/* Without a callback: the source has only the data. */
static gboolean
on_timer(GSource *timer, GSourceFunc callback, gpointer data)
{
    MonitorInbox *self = data;
    g_autoptr(GObject) monitor = g_weak_ref_get(&self->monitor);
    GMainContext *context = g_source_get_context(timer);

    session_enter(self->session);
    g_source_set_ready_time(timer, -1);
    session_leave(self->session);
    if (monitor == NULL)
        return G_SOURCE_CONTINUE;
    /* Results are to be delivered in the current context. */
    g_main_context_push_thread_default(context);
    self->update(monitor);
    g_main_context_pop_thread_default(context);
    return G_SOURCE_CONTINUE;
}

MonitorInbox *
monitor_inbox_open(GObject *monitor,
                   void (*update)(gpointer monitor),
                   GMainContext *context,
                   Connection *connection,
                   const char *path,
                   const char *name)
{
    static GSourceFuncs funcs = {.dispatch = on_timer};
    MonitorInbox *self = g_atomic_rc_box_new0(MonitorInbox);

    g_weak_ref_init(&self->monitor, monitor);
    self->update = update;
    self->session = session_ref(connection_get_session(connection));
    self->timer = g_source_new(&funcs, sizeof(GSource));
    g_source_set_static_name(self->timer, "weblocks-monitor");
    g_source_set_callback(self->timer, NULL, g_atomic_rc_box_acquire(self), inbox_unref);
    g_source_attach(self->timer, context);
    self->subscription.path = path;
    self->subscription.name = name;
    self->subscription.changed = on_changed;
    self->subscription.data = self;
    session_enter(self->session);
    connection_subscribe(connection, &self->subscription);
    session_leave(self->session);
    return self;
}

void
monitor_inbox_close(MonitorInbox *self, Connection *connection, gboolean is_asked)
{
    Session *session = self->session;

    session_enter(session);
    if (session_is_of_this_process(session))
        connection_unsubscribe(connection, &self->subscription, is_asked);
    session_leave(session);
    g_source_destroy(self->timer);
    inbox_unref(self);
}
