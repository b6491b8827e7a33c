/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "notes-window.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <stdlib.h>
#include <unistd.h>
#include <weblocks/weblocks.h>

#include "fenced-file.h"
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
    GtkWidget *yield_button;
    GtkColumnView *queue_view;

    char *path;
    char *on_disk; /* the text that this window has last read from or written to the file */
    char *notice;  /* the text of the banner */
    gboolean is_editable;

    WebLocksClaim *claim;     /* on being the only one who edits the file */
    WebLocksMonitor *monitor; /* of who edits and who waits; NULL: not known */
};

G_DEFINE_FINAL_TYPE(NotesWindow, notes_window, GTK_TYPE_APPLICATION_WINDOW)

/* ---- the display */

static void
notes_window_show(NotesWindow *self)
{
    g_autofree char *file = g_filename_display_basename(self->path);
    const char *unsaved = gtk_text_buffer_get_modified(self->buffer) ? "• " : "";
    gboolean editable = self->is_editable;
    gboolean is_asked = editable && web_locks_claim_get_wanted(self->claim);
    g_autofree char *name = g_strconcat(unsaved, file, NULL);
    WebLocksLockInfo *info = web_locks_claim_get_holder(self->claim);
    g_autofree char *holder = info != NULL ? notes_describe(info) : g_strdup(_("Nobody"));
    guint n_waiting = self->monitor != NULL
                          ? g_list_model_get_n_items(web_locks_monitor_get_pending(self->monitor))
                          : 0;
    g_autofree char *state =
        editable ? g_strdup_printf(_("Editing, %u waiting"), n_waiting)
                 : g_strdup_printf(_("%s is editing, %u waiting"), holder, n_waiting);
    g_autofree char *title =
        g_strdup_printf(editable ? "%s – %s" : _("%s – Read only: %s"), name, state);

    gtk_window_set_title(GTK_WINDOW(self), title);
    gtk_label_set_text(self->file_label, name);
    gtk_label_set_text(self->state_label, editable ? state : _("Read only"));
    gtk_label_set_text(self->notice_label, self->notice);
    gtk_widget_set_visible(GTK_WIDGET(self->notice_label), self->notice != NULL);
    gtk_label_set_text(self->holder_label,
                       is_asked ? _("Somebody else wants to edit this file") : state);
    gtk_widget_set_visible(GTK_WIDGET(self->holder_label), !editable || is_asked);
    gtk_widget_set_visible(self->take_over_button, !editable);
    gtk_widget_set_visible(self->yield_button, is_asked);
    gtk_widget_set_visible(self->banner, self->notice != NULL || !editable || is_asked);

    gtk_text_view_set_editable(self->view, editable);
    if (editable)
        gtk_widget_remove_css_class(GTK_WIDGET(self->view), "read-only");
    else
        gtk_widget_add_css_class(GTK_WIDGET(self->view), "read-only");
    gtk_widget_action_set_enabled(GTK_WIDGET(self), "win.save", editable);
    gtk_widget_action_set_enabled(GTK_WIDGET(self), "win.take-over", !editable);
    gtk_widget_action_set_enabled(GTK_WIDGET(self), "win.yield", is_asked);
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
        notes_window_notice(self, g_strdup_printf(_("Your text could not be kept: %s"),
                                                  error ? error->message : g_strerror(errno)));
        return FALSE;
    }
    notes_window_notice(self, g_strdup_printf(_("Your unsaved text is in %s"), path));
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
    if (!fenced_file_write(self->path, web_locks_claim_get_token(self->claim), text, &error)) {
        /* If the token was refused, the lock was lost, and its signal will follow. */
        if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_WRONG_ETAG))
            self->is_editable = FALSE;
        notes_window_notice(self, g_strdup_printf(_("Not saved: %s"), error->message));
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

    if (!fenced_file_read(self->path, web_locks_claim_get_token(self->claim), &text, error))
        return FALSE;
    if (!gtk_text_buffer_get_modified(self->buffer))
        set_text(self, g_steal_pointer(&text));
    else if (strcmp(text, self->on_disk) != 0 && put_aside(self))
        set_text(self, g_steal_pointer(&text));
    return TRUE;
}

/* ---- lock and queue */

static void
begin_editing(NotesWindow *self)
{
    g_autoptr(GError) error = NULL;

    notes_window_notice(self, NULL);
    self->is_editable = reload(self, &error);
    if (self->is_editable) {
        gtk_widget_grab_focus(GTK_WIDGET(self->view));
    } else {
        /* Another process may be able to open the file. */
        web_locks_claim_stop(self->claim);
        notes_window_notice(self, g_strdup_printf(_("Not opened: %s"), error->message));
    }
}

static void
end_editing(NotesWindow *self)
{
    const GError *error = web_locks_claim_get_error(self->claim);
    const char *news = error->message;

    if (g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_STOLEN))
        news = _("Another window took over");
    notes_window_notice(self, g_strdup_printf(gtk_text_buffer_get_modified(self->buffer)
                                                  ? _("%s; your text here is not saved")
                                                  : "%s",
                                              news));
}

/* A lost lock is requested again, so the next state is WAITING. Without a service the text remains
 * read-only: there is no token with which the file could refuse late writes. */
static void
on_state_changed(NotesWindow *self)
{
    WebLocksClaimState state = web_locks_claim_get_state(self->claim);

    self->is_editable = FALSE;
    if (state == WEB_LOCKS_CLAIM_STATE_HELD)
        begin_editing(self);
    else if (state == WEB_LOCKS_CLAIM_STATE_LOST || state == WEB_LOCKS_CLAIM_STATE_FAILED ||
             state == WEB_LOCKS_CLAIM_STATE_UNAVAILABLE)
        end_editing(self);
    notes_window_show(self);
}

/* The document has been opened. */
static void
on_name_changed(NotesWindow *self)
{
    WebLocksManager *manager = web_locks_claim_get_manager(self->claim);
    g_autoptr(GtkNoSelection) selection = NULL;

    g_set_object(&self->monitor, NULL);
    self->monitor =
        web_locks_monitor_new_for_name(manager, web_locks_claim_get_name(self->claim), NULL);
    g_signal_connect_object(self->monitor, "changed", G_CALLBACK(notes_window_show), self,
                            G_CONNECT_SWAPPED);
    selection = gtk_no_selection_new(notes_queue_new(self->monitor));
    gtk_column_view_set_model(self->queue_view, GTK_SELECTION_MODEL(selection));
}

/* Functions for the two columns of the queue view, which notes.ui refers to. */
static char *
state_text(GtkListItem *item, gboolean held)
{
    return g_strdup(held ? _("Editing") : _("Waiting"));
}

static char *
client_text(GtkListItem *item, WebLocksLockInfo *info)
{
    g_autofree char *name = info != NULL ? notes_describe(info) : g_strdup("");
    gboolean is_ours = info != NULL && web_locks_lock_info_get_pid(info) == (guint)getpid();

    return g_strconcat(name, is_ours ? _(" – this one") : "", NULL);
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
    web_locks_claim_stop(self->claim);
    return GTK_WINDOW_CLASS(notes_window_parent_class)->close_request(window);
}

static void
notes_window_dispose(GObject *object)
{
    NotesWindow *self = NOTES_WINDOW(object);

    g_clear_object(&self->monitor);
    G_OBJECT_CLASS(notes_window_parent_class)->dispose(object);
}

static void
notes_window_finalize(GObject *object)
{
    NotesWindow *self = NOTES_WINDOW(object);

    g_free(self->path);
    g_clear_object(&self->claim);
    g_free(self->on_disk);
    g_free(self->notice);
    G_OBJECT_CLASS(notes_window_parent_class)->finalize(object);
}

static void
notes_window_init(NotesWindow *self)
{
    gtk_widget_init_template(GTK_WIDGET(self));
}

static void
on_taken_over(GObject *source, GAsyncResult *result, gpointer data)
{
    g_autoptr(NotesWindow) self = data;
    g_autoptr(GError) error = NULL;

    if (!web_locks_claim_take_over_finish(WEB_LOCKS_CLAIM(source), result, &error))
        notes_window_notice(self, g_strdup(error->message));
}

/* The holder has some seconds to yield. */
static void
take_over(NotesWindow *self)
{
    notes_window_notice(self, g_strdup(_("The other window is asked to yield")));
    web_locks_claim_take_over_async(self->claim, NULL, on_taken_over, g_object_ref(self));
}

/* Saves the text, and waits behind those who wait already. */
static void
yield(NotesWindow *self)
{
    if (gtk_text_buffer_get_modified(self->buffer))
        save(self);
    if (gtk_text_buffer_get_modified(self->buffer))
        return; /* the notice says why */
    web_locks_claim_stop(self->claim);
    web_locks_claim_start(self->claim);
}

static void
on_action(GtkWidget *widget, const char *name, GVariant *parameter)
{
    NotesWindow *self = NOTES_WINDOW(widget);

    if (g_str_equal(name, "win.save"))
        save(self);
    else if (g_str_equal(name, "win.yield"))
        yield(self);
    else
        take_over(self);
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
    gtk_widget_class_bind_template_child(widget_class, NotesWindow, yield_button);
    gtk_widget_class_bind_template_child(widget_class, NotesWindow, queue_view);
    gtk_widget_class_bind_template_callback(widget_class, notes_window_show);
    gtk_widget_class_bind_template_callback(widget_class, state_text);
    gtk_widget_class_bind_template_callback(widget_class, client_text);
    gtk_widget_class_install_action(widget_class, "win.save", NULL, on_action);
    gtk_widget_class_install_action(widget_class, "win.take-over", NULL, on_action);
    gtk_widget_class_install_action(widget_class, "win.yield", NULL, on_action);
    gtk_widget_class_add_binding_action(widget_class, GDK_KEY_s, GDK_CONTROL_MASK, "win.save",
                                        NULL);
}

NotesWindow *
notes_window_new(GtkApplication *application, GFile *file)
{
    NotesWindow *self = g_object_new(NOTES_TYPE_WINDOW, "application", application, NULL);
    /* The file itself and not a link to it, since it is replaced when it is saved. */
    char *real_path = realpath(g_file_peek_path(file), NULL);
    char *text = NULL;

    self->path = real_path != NULL ? real_path : g_file_get_path(file);
    self->claim =
        g_object_new(WEB_LOCKS_TYPE_CLAIM, "file", file, "why", "editing", "reclaim", TRUE, NULL);
    g_signal_connect_object(self->claim, "notify::state", G_CALLBACK(on_state_changed), self,
                            G_CONNECT_SWAPPED);
    g_signal_connect_object(self->claim, "notify::holder", G_CALLBACK(notes_window_show), self,
                            G_CONNECT_SWAPPED);
    g_signal_connect_object(self->claim, "notify::wanted", G_CALLBACK(notes_window_show), self,
                            G_CONNECT_SWAPPED);
    g_signal_connect_object(self->claim, "notify::name", G_CALLBACK(on_name_changed), self,
                            G_CONNECT_SWAPPED);
    g_file_get_contents(self->path, &text, NULL, NULL);
    set_text(self, text != NULL ? text : g_strdup(""));
    web_locks_claim_start(self->claim);
    notes_window_show(self);
    return self;
}
