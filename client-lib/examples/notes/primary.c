/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "primary.h"

/* The interval for retrying if the lock service is not available. */
#define RETRY_SECS 1

struct _NotesPrimary {
    GObject parent_instance;
    WebLocksManager *manager;
    char *lock_name;
    WebLocksLock *lock;    /* NULL: this process is not the primary */
    GCancellable *waiting; /* of the pending request; NULL after notes_primary_leave() */
    guint retry_id;
};

G_DEFINE_FINAL_TYPE(NotesPrimary, notes_primary, G_TYPE_OBJECT)

static guint changed_signal;

static void notes_primary_wait(NotesPrimary *self);

static void
tell(NotesPrimary *self, const char *news)
{
    g_signal_emit(self, changed_signal, 0, news);
}

static void
drop_lock(NotesPrimary *self)
{
    if (self->lock != NULL)
        g_signal_handlers_disconnect_by_data(self->lock, self);
    g_clear_object(&self->lock);
}

static void
stop_waiting(NotesPrimary *self)
{
    g_cancellable_cancel(self->waiting);
    g_clear_object(&self->waiting);
    g_clear_handle_id(&self->retry_id, g_source_remove);
}

static void
on_lost(WebLocksLock *lock, WebLocksLossReason reason, gpointer data)
{
    NotesPrimary *self = data;
    g_autoptr(GError) error = g_error_copy(web_locks_lock_get_error(lock));

    drop_lock(self);
    notes_primary_wait(self);
    if (reason == WEB_LOCKS_LOSS_REASON_STOLEN)
        tell(self, "Another window took over");
    else
        tell(self, error->message);
}

static void
become_primary(NotesPrimary *self, WebLocksLock *lock)
{
    /* The lock may have been lost before its grant was dispatched. */
    if (!web_locks_lock_get_held(lock)) {
        notes_primary_wait(self);
        return;
    }
    /* After notes_primary_take_over() the first request is still pending and is aborted here. If
     * both were granted, the later one is kept. */
    stop_waiting(self);
    self->waiting = g_cancellable_new();
    drop_lock(self);
    self->lock = g_object_ref(lock);
    g_signal_connect(lock, "lost", G_CALLBACK(on_lost), self);
    tell(self, NULL);
}

static gboolean
on_retry(gpointer data)
{
    NotesPrimary *self = data;

    self->retry_id = 0;
    notes_primary_wait(self);
    return G_SOURCE_REMOVE;
}

static void
on_granted(GObject *source, GAsyncResult *result, gpointer data)
{
    g_autoptr(NotesPrimary) self = data;
    g_autoptr(GError) error = NULL;
    /* If the lock is not stored, it is released with this reference. */
    g_autoptr(WebLocksLock) lock =
        web_locks_manager_request_finish(WEB_LOCKS_MANAGER(source), result, &error);

    if (self->waiting == NULL || g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
        return;
    if (lock != NULL) {
        become_primary(self, lock);
        return;
    }
    self->retry_id = g_timeout_add_seconds(RETRY_SECS, on_retry, self);
    tell(self, error->message);
}

static void
notes_primary_wait(NotesPrimary *self)
{
    g_autoptr(WebLocksOptions) options = web_locks_options_new();

    stop_waiting(self);
    self->waiting = g_cancellable_new();
    /* `weblocks inspect` shows this. */
    web_locks_options_set_why(options, "editing");
    web_locks_manager_request_async(self->manager, self->lock_name, options, self->waiting,
                                    on_granted, g_object_ref(self));
}

static void
on_taken(GObject *source, GAsyncResult *result, gpointer data)
{
    g_autoptr(NotesPrimary) self = data;
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksLock) lock =
        web_locks_manager_request_finish(WEB_LOCKS_MANAGER(source), result, &error);

    if (self->waiting == NULL)
        return;
    if (lock != NULL)
        become_primary(self, lock);
    else
        tell(self, error->message);
}

/* This is a second request; the pending one keeps its place in case this one fails. */
void
notes_primary_take_over(NotesPrimary *self)
{
    g_autoptr(WebLocksOptions) options = web_locks_options_new();

    web_locks_options_set_steal(options, TRUE);
    web_locks_options_set_why(options, "editing, taken over");
    web_locks_manager_request_async(self->manager, self->lock_name, options, NULL, on_taken,
                                    g_object_ref(self));
}

/* If the process ends before the release is sent, the lock ends with the connection. */
void
notes_primary_leave(NotesPrimary *self)
{
    stop_waiting(self);
    if (self->lock != NULL)
        web_locks_lock_release_async(self->lock, NULL, NULL, NULL);
    drop_lock(self);
}

guint64
notes_primary_get_token(NotesPrimary *self)
{
    return self->lock != NULL ? web_locks_lock_get_token(self->lock) : 0;
}

static void
notes_primary_dispose(GObject *object)
{
    NotesPrimary *self = NOTES_PRIMARY(object);

    stop_waiting(self);
    drop_lock(self);
    g_clear_object(&self->manager);
    g_clear_pointer(&self->lock_name, g_free);
    G_OBJECT_CLASS(notes_primary_parent_class)->dispose(object);
}

static void
notes_primary_class_init(NotesPrimaryClass *class)
{
    G_OBJECT_CLASS(class)->dispose = notes_primary_dispose;
    changed_signal = g_signal_new("changed", NOTES_TYPE_PRIMARY, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                  NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
}

static void
notes_primary_init(NotesPrimary *self)
{
}

NotesPrimary *
notes_primary_new(WebLocksManager *manager, const char *lock_name)
{
    NotesPrimary *self = g_object_new(NOTES_TYPE_PRIMARY, NULL);

    self->manager = g_object_ref(manager);
    self->lock_name = g_strdup(lock_name);
    notes_primary_wait(self);
    return self;
}
