/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/waiting-line.h"

#include <glib/gi18n.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/lock-output.h"
#include "cli/status.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "common/bus-names.h"

#define DELAY_MS 500
/* A monitor has the locks of this host only. Those of all hosts are queried after so many
 * seconds, then after twice as many, and so on. Each time they are read from the servers of the
 * cluster. */
#define ASK_AGAIN_S     2
#define ASK_AGAIN_MAX_S 64

struct WaitingLine {
    WebLocksManager *manager; /* NULL: the holder is not shown */
    char *name;
    gboolean terminal;
    GCancellable *cancellable;
    WebLocksMonitor *monitor;   /* NULL until it is there, and in a bucket of several hosts */
    WebLocksSnapshot *snapshot; /* instead of a monitor in such a bucket; NULL before the first */
    guint ask_after_s;          /* 0: not in such a bucket, or an answer is awaited */
    guint next_ask_after_s;
    guint timer_id; /* the delay, then a tick each second */
    gboolean shown;
    guint64 shown_token; /* of the holder; 0: none, or another host */
    char *shown_client;  /* of the holder; NULL: none */
    guint width;         /* of the line on the terminal, in columns */
};

static GListModel *
get_held(const WaitingLine *self)
{
    if (self->monitor != NULL)
        return web_locks_monitor_get_held(self->monitor);
    return self->snapshot != NULL ? web_locks_snapshot_get_held(self->snapshot) : NULL;
}

/* Returns an owned item: the first of the locks that others hold, or NULL. */
static WebLocksLockInfo *
find_first(const WaitingLine *self, GListModel *list, guint *out_count)
{
    const char *us = web_locks_agent_get_client_id(web_locks_manager_get_agent(self->manager));
    WebLocksLockInfo *first = NULL;

    *out_count = 0;
    for (guint i = 0; i < g_list_model_get_n_items(list); i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(list, i);

        if (!g_str_equal(web_locks_lock_info_get_name(info), self->name) ||
            g_strcmp0(web_locks_lock_info_get_client_id(info), us) == 0)
            continue;
        *out_count += 1;
        if (first == NULL)
            first = g_steal_pointer(&info);
    }
    return first;
}

/* Returns an owned sentence. If the lock isn't held, as while the service restarts,
 * `first` is NULL, and the sentence has only the name. */
static char *
make_text(const WaitingLine *self, WebLocksLockInfo *first, guint count)
{
    g_autofree char *holder = NULL;

    if (first == NULL)
        return g_strdup_printf(_("Waiting for '%s'"), self->name);
    holder = lock_output_holder(first);
    if (count == 1)
        return g_strdup_printf(_("Waiting for '%s': held by %s"), self->name, holder);
    return g_strdup_printf(_("Waiting for '%s': held %u times, first by %s"), self->name, count,
                           holder);
}

/* The previous text is overwritten by spaces and not by a control sequence, since this works on
 * every terminal. The cursor stays at the beginning, where other output may overwrite the line.
 * While the output is stopped, nothing is drawn: the lock may be granted then. */
static void
draw(WaitingLine *self, const char *text)
{
    g_autofree char *safe = text_for_terminal(text);
    guint width;

    if (!terminal_is_writable(STDERR_FILENO))
        return;
    text_cut(safe, terminal_get_size(STDERR_FILENO).columns - 1);
    width = text_width(safe);
    fprintf(stderr, "\r%s%*s\r", safe, (int)(self->width > width ? self->width - width : 0), "");
    fflush(stderr);
    self->width = width;
}

static void
show(WaitingLine *self)
{
    guint count = 0;
    GListModel *held = get_held(self);
    g_autoptr(WebLocksLockInfo) first = held != NULL ? find_first(self, held, &count) : NULL;
    g_autofree char *text = make_text(self, first, count);
    const char *client = first != NULL ? web_locks_lock_info_get_client_id(first) : NULL;
    const guint64 token = first != NULL ? web_locks_lock_info_get_token(first) : 0;

    if (self->terminal) {
        if (terminal_is_foreground(STDERR_FILENO))
            draw(self, text);
    } else if (!self->shown || (client != NULL && (token != self->shown_token ||
                                                   g_strcmp0(client, self->shown_client) != 0))) {
        complain("%s", text);
    }
    self->shown = TRUE;
    self->shown_token = token;
    g_free(self->shown_client);
    self->shown_client = g_strdup(client);
}

static void ask(WaitingLine *self);

static gboolean
on_tick(gpointer data)
{
    WaitingLine *self = data;

    if (self->ask_after_s > 0 && --self->ask_after_s == 0)
        ask(self);
    show(self);
    return G_SOURCE_CONTINUE;
}

static void
on_items_changed(GListModel *list, guint position, guint removed, guint added, gpointer data)
{
    show(data);
}

static void
on_monitor(GObject *source, GAsyncResult *result, gpointer data)
{
    WaitingLine *self = data;
    g_autoptr(GError) error = NULL;
    WebLocksMonitor *monitor = web_locks_monitor_new_finish(result, &error);

    if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
        return; /* `self` has been freed */
    self->monitor = monitor;
    if (monitor != NULL)
        g_signal_connect(web_locks_monitor_get_held(monitor), "items-changed",
                         G_CALLBACK(on_items_changed), self);
    show(self);
    self->timer_id = g_timeout_add_seconds(1, on_tick, self);
}

static void
on_inspected(GObject *source, GAsyncResult *result, gpointer data)
{
    WaitingLine *self = data;
    g_autoptr(GError) error = NULL;
    WebLocksSnapshot *snapshot =
        web_locks_manager_inspect_finish(WEB_LOCKS_MANAGER(source), result, &error);

    if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
        return; /* `self` has been freed */
    g_clear_object(&self->snapshot);
    self->snapshot = snapshot;
    self->ask_after_s = self->next_ask_after_s;
    self->next_ask_after_s = MIN(2 * self->next_ask_after_s, ASK_AGAIN_MAX_S);
    show(self);
    if (self->timer_id == 0)
        self->timer_id = g_timeout_add_seconds(1, on_tick, self);
}

static void
ask(WaitingLine *self)
{
    web_locks_manager_inspect_async(self->manager, self->name, self->cancellable, on_inspected,
                                    self);
}

static gboolean
on_delay(gpointer data)
{
    WaitingLine *self = data;

    self->timer_id = 0;
    if (self->manager == NULL)
        show(self);
    else if (g_str_has_prefix(web_locks_manager_get_bucket(self->manager), BUS_CLUSTER_PREFIX))
        ask(self);
    else
        web_locks_monitor_new_async(self->manager, self->cancellable, on_monitor, self);
    return G_SOURCE_REMOVE;
}

WaitingLine *
waiting_line_new(WebLocksManager *manager, const char *name, gboolean verbose)
{
    gboolean terminal = isatty(STDERR_FILENO);
    WaitingLine *self;

    if (!terminal && !verbose)
        return NULL;
    self = g_new0(WaitingLine, 1);
    self->manager = manager != NULL ? g_object_ref(manager) : NULL;
    self->name = g_strdup(name);
    self->terminal = terminal;
    self->cancellable = g_cancellable_new();
    self->next_ask_after_s = ASK_AGAIN_S;
    self->timer_id = g_timeout_add(DELAY_MS, on_delay, self);
    return self;
}

void
waiting_line_free(WaitingLine *self)
{
    if (self->width > 0)
        draw(self, "");
    g_clear_handle_id(&self->timer_id, g_source_remove);
    g_cancellable_cancel(self->cancellable);
    if (self->monitor != NULL)
        g_signal_handlers_disconnect_by_data(web_locks_monitor_get_held(self->monitor), self);
    g_clear_object(&self->monitor);
    g_clear_object(&self->snapshot);
    g_clear_object(&self->manager);
    g_object_unref(self->cancellable);
    g_free(self->shown_client);
    g_free(self->name);
    g_free(self);
}
