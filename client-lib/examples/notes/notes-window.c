/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "notes-window.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <weblocks/weblocks.h>

#include "fenced-file.h"
#include "primary.h"
#include "queue.h"

struct _NotesWindow {
    GtkApplicationWindow parent_instance;
    GtkTextBuffer *buffer;
    GtkTextView *view;
    GtkLabel *file_label;
    GtkLabel *state_label;
    GtkWidget *banner;
    GtkLabel *notice_label;
    GtkLabel *holder_label;
    GtkWidget *take_over_button;
    GtkColumnView *queue_view;

    char *path;
    char *lock_name;
    char *on_disk; /* the text that this window has last read from or written to the file */
    char *notice;  /* the text of the banner */
    gboolean is_editable;

    GCancellable *closing; /* cancels pending operations when the window is closed */
    NotesPrimary *primary; /* NULL until the bus is connected */
    NotesQueue *queue;
};

G_DEFINE_FINAL_TYPE(NotesWindow, notes_window, GTK_TYPE_APPLICATION_WINDOW)

/* ---- the display */

static void
notes_window_show(NotesWindow *self)
{
    g_autofree char *file = g_filename_display_basename(self->path);
    const char *unsaved = gtk_text_buffer_get_modified(self->buffer) ? "• " : "";
    gboolean editable = self->is_editable;
    g_autofree char *name = g_strconcat(unsaved, file, NULL);
    const char *holder = self->queue ? notes_queue_get_holder(self->queue) : "Nobody";
    guint n_waiting = self->queue ? notes_queue_get_n_waiting(self->queue) : 0;
    g_autofree char *state = g_strdup_printf("%s%s, %u waiting", editable ? "" : holder,
                                             editable ? "Editing" : " is editing", n_waiting);
    g_autofree char *title =
        g_strdup_printf("%s – %s%s", name, editable ? "" : "Read only: ", state);

    gtk_window_set_title(GTK_WINDOW(self), title);
    gtk_label_set_text(self->file_label, name);
    gtk_label_set_text(self->state_label, editable ? state : "Read only");
    gtk_label_set_text(self->notice_label, self->notice);
    gtk_widget_set_visible(GTK_WIDGET(self->notice_label), self->notice != NULL);
    gtk_label_set_text(self->holder_label, state);
    gtk_widget_set_visible(GTK_WIDGET(self->holder_label), !editable);
    gtk_widget_set_visible(self->take_over_button, !editable);
    gtk_widget_set_visible(self->banner, self->notice != NULL || !editable);

    gtk_text_view_set_editable(self->view, editable);
    if (editable)
        gtk_widget_remove_css_class(GTK_WIDGET(self->view), "read-only");
    else
        gtk_widget_add_css_class(GTK_WIDGET(self->view), "read-only");
    gtk_widget_action_set_enabled(GTK_WIDGET(self), "win.save", editable);
    gtk_widget_action_set_enabled(GTK_WIDGET(self), "win.take-over", !editable);
}

/* Sets the text of the banner; takes `text`. NULL hides the banner. */
static void
notes_window_notice(NotesWindow *self, char *text)
{
    g_free(self->notice);
    self->notice = text;
    notes_window_show(self);
}

/* ---- the file */

static char *
get_text(NotesWindow *self)
{
    GtkTextIter start, end;

    gtk_text_buffer_get_bounds(self->buffer, &start, &end);
    return gtk_text_buffer_get_text(self->buffer, &start, &end, TRUE);
}

/* Takes the text. */
static void
set_text(NotesWindow *self, char *text)
{
    g_free(self->on_disk);
    self->on_disk = text;
    gtk_text_buffer_set_text(self->buffer, text, -1);
    gtk_text_buffer_set_modified(self->buffer, FALSE);
}

/* Saves text that can't be written to the file any more to a new file. */
static gboolean
put_aside(NotesWindow *self)
{
    g_autofree char *text = get_text(self);
    g_autofree char *path = g_strconcat(self->path, ".unsaved-XXXXXX", NULL);
    g_autoptr(GError) error = NULL;
    int fd = g_mkstemp(path);

    if (fd < 0 || close(fd) < 0 || !g_file_set_contents(path, text, -1, &error)) {
        notes_window_notice(self, g_strdup_printf("Your text could not be kept: %s",
                                                  error ? error->message : g_strerror(errno)));
        return FALSE;
    }
    notes_window_notice(self, g_strdup_printf("Your unsaved text is in %s", path));
    return TRUE;
}

static void
save(NotesWindow *self)
{
    g_autofree char *text = get_text(self);
    g_autoptr(GError) error = NULL;

    if (!self->is_editable)
        return;
    /* This process may be stopped before any of these lines while another one takes over. Therefore
     * the token is checked where the file is written. */
    if (!fenced_file_write(self->path, notes_primary_get_token(self->primary), text, &error)) {
        /* If the token was refused, the lock was lost, and its signal will follow. */
        if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_WRONG_ETAG))
            self->is_editable = FALSE;
        notes_window_notice(self, g_strdup_printf("Not saved: %s", error->message));
        return;
    }
    g_free(self->on_disk);
    self->on_disk = g_steal_pointer(&text);
    gtk_text_buffer_set_modified(self->buffer, FALSE);
    notes_window_notice(self, NULL);
}

/* Loads what others have saved meanwhile. Unsaved text of this window is put aside first. */
static gboolean
reload(NotesWindow *self, GError **error)
{
    g_autofree char *text = NULL;

    if (!fenced_file_read(self->path, notes_primary_get_token(self->primary), &text, error))
        return FALSE;
    if (!gtk_text_buffer_get_modified(self->buffer))
        set_text(self, g_steal_pointer(&text));
    else if (strcmp(text, self->on_disk) != 0 && put_aside(self))
        set_text(self, g_steal_pointer(&text));
    return TRUE;
}

/* ---- lock and queue */

static void
on_primary_changed(NotesWindow *self, const char *news)
{
    g_autoptr(GError) error = NULL;

    self->is_editable = notes_primary_get_token(self->primary) != 0;
    if (!self->is_editable && gtk_text_buffer_get_modified(self->buffer))
        notes_window_notice(self, g_strdup_printf("%s; your text here is not saved", news));
    else
        notes_window_notice(self, g_strdup(news));

    if (self->is_editable && !reload(self, &error)) {
        /* Another process may be able to open the file. */
        self->is_editable = FALSE;
        notes_primary_leave(self->primary);
        notes_window_notice(self, g_strdup_printf("Not opened: %s", error->message));
    }
    if (self->is_editable)
        gtk_widget_grab_focus(GTK_WIDGET(self->view));
}

static void
on_manager(GObject *source, GAsyncResult *result, gpointer data)
{
    g_autoptr(NotesWindow) self = data;
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksManager) manager = web_locks_manager_new_finish(result, &error);
    g_autoptr(GtkNoSelection) selection = NULL;

    if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
        return;
    if (manager == NULL) {
        notes_window_notice(self, g_strdup(error->message));
        return;
    }
    self->primary = notes_primary_new(manager, self->lock_name);
    g_signal_connect_object(self->primary, "changed", G_CALLBACK(on_primary_changed), self,
                            G_CONNECT_SWAPPED);
    self->queue = notes_queue_new(manager, self->lock_name, self->closing);
    g_signal_connect_object(self->queue, "changed", G_CALLBACK(notes_window_show), self,
                            G_CONNECT_SWAPPED);
    selection = gtk_no_selection_new(g_object_ref(notes_queue_get_model(self->queue)));
    gtk_column_view_set_model(self->queue_view, GTK_SELECTION_MODEL(selection));
}

/* Functions for the two columns of the queue view, which notes.ui refers to. */
static char *
state_text(GtkListItem *item, gboolean held)
{
    return g_strdup(held ? "Editing" : "Waiting");
}

static char *
client_text(GtkListItem *item, const char *client_id)
{
    g_autoptr(WebLocksAgent) us = web_locks_agent_dup_default(G_BUS_TYPE_SESSION);
    gboolean is_ours = g_strcmp0(client_id, web_locks_agent_get_client_id(us)) == 0;

    return g_strconcat(client_id != NULL ? client_id : "", is_ours ? " (this one)" : "", NULL);
}

/* ---- the window */

/* Saves the text before the lock is released, so that the next holder reads it. */
static gboolean
notes_window_close_request(GtkWindow *window)
{
    NotesWindow *self = NOTES_WINDOW(window);

    if (gtk_text_buffer_get_modified(self->buffer))
        save(self);
    if (gtk_text_buffer_get_modified(self->buffer) && !put_aside(self))
        return TRUE;
    g_cancellable_cancel(self->closing);
    if (self->primary != NULL)
        notes_primary_leave(self->primary);
    return GTK_WINDOW_CLASS(notes_window_parent_class)->close_request(window);
}

static void
notes_window_dispose(GObject *object)
{
    NotesWindow *self = NOTES_WINDOW(object);

    g_clear_object(&self->primary);
    g_clear_object(&self->queue);
    G_OBJECT_CLASS(notes_window_parent_class)->dispose(object);
}

static void
notes_window_finalize(GObject *object)
{
    NotesWindow *self = NOTES_WINDOW(object);

    g_free(self->path);
    g_free(self->lock_name);
    g_free(self->on_disk);
    g_free(self->notice);
    g_object_unref(self->closing);
    G_OBJECT_CLASS(notes_window_parent_class)->finalize(object);
}

static void
notes_window_init(NotesWindow *self)
{
    self->closing = g_cancellable_new();
    gtk_widget_init_template(GTK_WIDGET(self));
}

static void
on_action(GtkWidget *widget, const char *name, GVariant *parameter)
{
    if (g_str_equal(name, "win.save"))
        save(NOTES_WINDOW(widget));
    else if (NOTES_WINDOW(widget)->primary != NULL)
        notes_primary_take_over(NOTES_WINDOW(widget)->primary);
}

static void
notes_window_class_init(NotesWindowClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);

    G_OBJECT_CLASS(class)->dispose = notes_window_dispose;
    G_OBJECT_CLASS(class)->finalize = notes_window_finalize;
    GTK_WINDOW_CLASS(class)->close_request = notes_window_close_request;
    gtk_widget_class_set_template_from_resource(widget_class, NOTES_RESOURCES "notes.ui");
    gtk_widget_class_bind_template_child(widget_class, NotesWindow, buffer);
    gtk_widget_class_bind_template_child(widget_class, NotesWindow, view);
    gtk_widget_class_bind_template_child(widget_class, NotesWindow, file_label);
    gtk_widget_class_bind_template_child(widget_class, NotesWindow, state_label);
    gtk_widget_class_bind_template_child(widget_class, NotesWindow, banner);
    gtk_widget_class_bind_template_child(widget_class, NotesWindow, notice_label);
    gtk_widget_class_bind_template_child(widget_class, NotesWindow, holder_label);
    gtk_widget_class_bind_template_child(widget_class, NotesWindow, take_over_button);
    gtk_widget_class_bind_template_child(widget_class, NotesWindow, queue_view);
    gtk_widget_class_bind_template_callback(widget_class, notes_window_show);
    gtk_widget_class_bind_template_callback(widget_class, state_text);
    gtk_widget_class_bind_template_callback(widget_class, client_text);
    gtk_widget_class_install_action(widget_class, "win.save", NULL, on_action);
    gtk_widget_class_install_action(widget_class, "win.take-over", NULL, on_action);
    gtk_widget_class_add_binding_action(widget_class, GDK_KEY_s, GDK_CONTROL_MASK, "win.save",
                                        NULL);
}

NotesWindow *
notes_window_new(GtkApplication *application, const char *path)
{
    NotesWindow *self = g_object_new(NOTES_TYPE_WINDOW, "application", application, NULL);
    /* The lock name must be the same for all paths of a file, so links are resolved. A URI consists
     * of characters that are valid in lock names. */
    char *real_path = realpath(path, NULL);
    char *text = NULL;

    self->path = g_strdup(real_path != NULL ? real_path : path);
    self->lock_name = g_filename_to_uri(self->path, NULL, NULL);
    free(real_path);
    g_file_get_contents(self->path, &text, NULL, NULL);
    set_text(self, text != NULL ? text : g_strdup(""));
    notes_window_show(self);
    web_locks_manager_new_async(NOTES_APPLICATION_ID, self->closing, on_manager,
                                g_object_ref(self));
    return self;
}
