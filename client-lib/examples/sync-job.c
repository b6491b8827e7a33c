/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* weblocks-sync-job: an application with any number of instances, one of which does a job for all
 * of them, such as the synchronization with a server. The instance that holds the claim does it.
 * When it ends, for whatever reason, the next one goes on. */

#include <glib/gi18n.h>
#include <gtk/gtk.h>
#include <weblocks/weblocks.h>

#define APPLICATION_ID "org.w3.WebLocks.SyncJob"

typedef struct {
    GtkWindow *window;
    WebLocksClaim *claim;
    guint job_id; /* of the timer of the job; 0: it is not done here */
    guint n_done;
} App;

static void
show(App *app)
{
    WebLocksLockInfo *holder = web_locks_claim_get_holder(app->claim);
    g_autofree char *title = NULL;

    if (app->job_id != 0)
        title = g_strdup_printf(_("Synchronizations: %u"), app->n_done);
    else if (holder != NULL)
        title = g_strdup_printf(_("Process %u synchronizes"), web_locks_lock_info_get_pid(holder));
    else
        title = g_strdup(_("Nobody synchronizes"));
    gtk_window_set_title(app->window, title);
}

/* The job. What it writes to a server should have web_locks_claim_get_token(), so that the server
 * can refuse an instance that was stopped and has been replaced meanwhile. */
static gboolean
synchronize(gpointer data)
{
    App *app = data;

    app->n_done++;
    show(app);
    return G_SOURCE_CONTINUE;
}

static void
on_held_changed(App *app)
{
    g_clear_handle_id(&app->job_id, g_source_remove);
    if (web_locks_claim_get_held(app->claim))
        app->job_id = g_timeout_add_seconds(1, synchronize, app);
    show(app);
}

static void
on_destroy(App *app)
{
    g_clear_handle_id(&app->job_id, g_source_remove);
    g_signal_handlers_disconnect_by_data(app->claim, app);
    g_clear_object(&app->claim);
}

static void
on_activate(GtkApplication *application, App *app)
{
    g_autoptr(WebLocksManager) manager = web_locks_manager_new(NULL, APPLICATION_ID);

    app->window = GTK_WINDOW(gtk_application_window_new(application));
    gtk_window_set_default_size(app->window, 360, 120);
    g_signal_connect_swapped(app->window, "destroy", G_CALLBACK(on_destroy), app);
    app->claim = g_object_new(WEB_LOCKS_TYPE_CLAIM, "manager", manager, "name", "sync", "why",
                              "synchronizing", "reclaim", TRUE, NULL);
    g_signal_connect_swapped(app->claim, "notify::held", G_CALLBACK(on_held_changed), app);
    g_signal_connect_swapped(app->claim, "notify::holder", G_CALLBACK(show), app);
    web_locks_claim_start(app->claim);
    show(app);
    gtk_window_present(app->window);
}

int
main(int argc, char **argv)
{
    g_autoptr(GtkApplication) application =
        gtk_application_new(APPLICATION_ID, G_APPLICATION_NON_UNIQUE);
    App app = {0};

    bindtextdomain(GETTEXT_PACKAGE, EXAMPLES_LOCALEDIR);
    textdomain(GETTEXT_PACKAGE);
    g_signal_connect(application, "activate", G_CALLBACK(on_activate), &app);
    return g_application_run(G_APPLICATION(application), argc, argv);
}
