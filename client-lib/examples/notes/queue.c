/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "queue.h"

/* The interval for retrying if the lock service is not available. */
#define RETRY_SECS 1

struct _NotesQueue {
    GObject parent_instance;
    WebLocksManager *manager;
    char *lock_name;
    WebLocksMonitor *monitor;
    GListStore *lists; /* the two lists of the monitor, once it exists */
    GListModel *model;
    char *holder;
    guint n_waiting;
    GCancellable *closing;
    guint retry_id;
};

G_DEFINE_FINAL_TYPE(NotesQueue, notes_queue, G_TYPE_OBJECT)

static guint changed_signal;

static void
on_inspected(GObject *source, GAsyncResult *result, gpointer data)
{
    g_autoptr(NotesQueue) self = data;
    g_autoptr(WebLocksSnapshot) snapshot =
        web_locks_manager_inspect_finish(WEB_LOCKS_MANAGER(source), result, NULL);
    g_autoptr(WebLocksLockInfo) info = NULL;

    if (g_cancellable_is_cancelled(self->closing))
        return;
    g_clear_pointer(&self->holder, g_free);
    self->n_waiting = 0;
    if (snapshot != NULL) {
        info = g_list_model_get_item(web_locks_snapshot_get_held(snapshot), 0);
        self->n_waiting = g_list_model_get_n_items(web_locks_snapshot_get_pending(snapshot));
    }
    if (info != NULL)
        self->holder = g_strdup_printf("%s (pid %u)", web_locks_lock_info_get_process(info),
                                       web_locks_lock_info_get_pid(info));
    g_signal_emit(self, changed_signal, 0);
}

/* A monitor reports changes and the unique names of clients. Their processes have to be queried
 * separately, by Inspect. */
static void
inspect(NotesQueue *self)
{
    web_locks_manager_inspect_async(self->manager, self->lock_name, self->closing, on_inspected,
                                    g_object_ref(self));
}

static gboolean start_monitor(gpointer data);

static void
on_monitor(GObject *source, GAsyncResult *result, gpointer data)
{
    g_autoptr(NotesQueue) self = data;
    WebLocksMonitor *monitor = web_locks_monitor_new_finish(result, NULL);
    GListModel *lists[2];

    if (g_cancellable_is_cancelled(self->closing)) {
        g_clear_object(&monitor);
        return;
    }
    if (monitor == NULL) {
        self->retry_id = g_timeout_add_seconds(RETRY_SECS, start_monitor, self);
        return;
    }
    self->monitor = monitor;
    lists[0] = web_locks_monitor_get_held(monitor);
    lists[1] = web_locks_monitor_get_pending(monitor);
    for (guint i = 0; i < G_N_ELEMENTS(lists); i++) {
        g_list_store_append(self->lists, lists[i]);
        g_signal_connect_object(lists[i], "items-changed", G_CALLBACK(inspect), self,
                                G_CONNECT_SWAPPED);
    }
    inspect(self);
}

static gboolean
start_monitor(gpointer data)
{
    NotesQueue *self = data;

    self->retry_id = 0;
    web_locks_monitor_new_async(self->manager, self->closing, on_monitor, g_object_ref(self));
    return G_SOURCE_REMOVE;
}

GListModel *
notes_queue_get_model(NotesQueue *self)
{
    return self->model;
}

const char *
notes_queue_get_holder(NotesQueue *self)
{
    return self->holder != NULL ? self->holder : "Nobody";
}

guint
notes_queue_get_n_waiting(NotesQueue *self)
{
    return self->n_waiting;
}

static void
notes_queue_dispose(GObject *object)
{
    NotesQueue *self = NOTES_QUEUE(object);

    g_clear_handle_id(&self->retry_id, g_source_remove);
    g_clear_object(&self->model);
    g_clear_object(&self->lists);
    g_clear_object(&self->monitor);
    g_clear_object(&self->manager);
    g_clear_object(&self->closing);
    g_clear_pointer(&self->lock_name, g_free);
    g_clear_pointer(&self->holder, g_free);
    G_OBJECT_CLASS(notes_queue_parent_class)->dispose(object);
}

static void
notes_queue_class_init(NotesQueueClass *class)
{
    G_OBJECT_CLASS(class)->dispose = notes_queue_dispose;
    changed_signal = g_signal_new("changed", NOTES_TYPE_QUEUE, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                  NULL, G_TYPE_NONE, 0);
}

static void
notes_queue_init(NotesQueue *self)
{
}

/* GTK's list models can use the lists of a monitor directly: here both are concatenated, and
 * filtered by lock name. */
NotesQueue *
notes_queue_new(WebLocksManager *manager, const char *lock_name, GCancellable *closing)
{
    NotesQueue *self = g_object_new(NOTES_TYPE_QUEUE, NULL);
    GtkStringFilter *filter =
        gtk_string_filter_new(gtk_property_expression_new(WEB_LOCKS_TYPE_LOCK_INFO, NULL, "name"));
    GtkFlattenListModel *both;

    self->manager = g_object_ref(manager);
    self->lock_name = g_strdup(lock_name);
    self->closing = g_object_ref(closing);
    self->lists = g_list_store_new(G_TYPE_LIST_MODEL);
    both = gtk_flatten_list_model_new(g_object_ref(G_LIST_MODEL(self->lists)));
    gtk_string_filter_set_match_mode(filter, GTK_STRING_FILTER_MATCH_MODE_EXACT);
    gtk_string_filter_set_ignore_case(filter, FALSE);
    gtk_string_filter_set_search(filter, lock_name);
    self->model = G_LIST_MODEL(gtk_filter_list_model_new(G_LIST_MODEL(both), GTK_FILTER(filter)));
    start_monitor(self);
    return self;
}
