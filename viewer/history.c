/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "history.h"

#include <glib/gi18n.h>
#include <gtk/gtk.h>

#include "describe.h"

/* The events that are remembered of all resources together, and those that are shown of one. */
#define EVENTS_MAX    5000
#define EVENTS_OF_ONE 100

struct _ViewerEvent {
    GObject parent_instance;
    ViewerEventKind kind;
    ViewerEntry *entry;
    gint64 time_us; /* as g_get_real_time() */
};

G_DEFINE_FINAL_TYPE(ViewerEvent, viewer_event, G_TYPE_OBJECT)

/* ---- events */

char *
viewer_event_describe(ViewerEvent *self)
{
    /* Translators: %s is an application or process, %u its process id. */
    static const char *const sentences[] = {
        [VIEWER_EVENT_WAITING] = N_("%s (process %u) began to wait"),
        [VIEWER_EVENT_GRANTED] = N_("%s (process %u) got the lock"),
        [VIEWER_EVENT_RELEASED] = N_("%s (process %u) no longer has the lock"),
        [VIEWER_EVENT_GONE] = N_("%s (process %u) no longer waits"),
    };
    const char *sentence = _(sentences[self->kind]);
    g_autofree char *name = viewer_isolate(self->entry->application->name);

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    return g_strdup_printf(sentence, name, web_locks_lock_info_get_who_pid(self->entry->info));
#pragma GCC diagnostic pop
}

char *
viewer_event_format_time(ViewerEvent *self)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_local(self->time_us / G_USEC_PER_SEC);

    return g_date_time_format(time, "%X");
}

static void
viewer_event_finalize(GObject *object)
{
    ViewerEvent *self = VIEWER_EVENT(object);

    g_clear_object(&self->entry);
    G_OBJECT_CLASS(viewer_event_parent_class)->finalize(object);
}

static void
viewer_event_class_init(ViewerEventClass *class)
{
    G_OBJECT_CLASS(class)->finalize = viewer_event_finalize;
}

static void
viewer_event_init(ViewerEvent *self)
{
}

/* ---- the history */

void
viewer_history_add(GListStore *history, ViewerEventKind kind, ViewerEntry *entry)
{
    g_autoptr(ViewerEvent) event = g_object_new(VIEWER_TYPE_EVENT, NULL);
    const guint n_events = g_list_model_get_n_items(G_LIST_MODEL(history));

    event->kind = kind;
    event->entry = g_object_ref(entry);
    event->time_us = g_get_real_time();
    g_list_store_insert(history, 0, event);
    if (n_events >= EVENTS_MAX)
        g_list_store_remove(history, n_events);
}

static gboolean
is_of_resource(gpointer item, gpointer resource)
{
    return ((ViewerEvent *)item)->entry->resource == resource;
}

GListModel *
viewer_history_of(GListStore *history, ViewerResource *resource)
{
    GtkFilter *filter =
        GTK_FILTER(gtk_custom_filter_new(is_of_resource, g_object_ref(resource), g_object_unref));
    GtkFilterListModel *its =
        gtk_filter_list_model_new(G_LIST_MODEL(g_object_ref(history)), filter);

    return G_LIST_MODEL(gtk_slice_list_model_new(G_LIST_MODEL(its), 0, EVENTS_OF_ONE));
}
