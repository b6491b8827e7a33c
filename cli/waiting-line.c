/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/waiting-line.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/language.h"
#include "cli/lock-output.h"
#include "cli/status.h"
#include "cli/terminal.h"
#include "cli/text.h"

#define DELAY_MS 500

struct WaitingLine {
    WebLocksManager *manager; /* NULL: the holder is not shown */
    char *name;
    gboolean terminal;
    WebLocksMonitor *monitor; /* NULL: not yet, or the holder is not shown */
    guint timer_id;           /* the delay, then a tick each second */
    gboolean shown;
    guint64 shown_token; /* of the holder; 0: none, or another host */
    char *shown_client;  /* of the holder; NULL: none */
    guint width;         /* of the line on the terminal, in columns */
};

/* Returns an owned item: the first of the locks that others hold, or NULL. */
static WebLocksLockInfo *
find_first(const WaitingLine *self, guint *out_count)
{
    const char *us = web_locks_agent_get_client_id(web_locks_manager_get_agent(self->manager));
    GListModel *held = web_locks_monitor_get_held(self->monitor);
    WebLocksLockInfo *first = NULL;

    for (guint i = 0; i < g_list_model_get_n_items(held); i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(held, i);

        if (g_strcmp0(web_locks_lock_info_get_client_id(info), us) == 0)
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
    holder = lock_output_holder(first, FALSE);
    if (count == 1)
        return g_strdup_printf(_("Waiting for '%s': held by %s"), self->name, holder);
    return g_strdup_printf(_("Waiting for '%s': held %u times, first by %s"), self->name, count,
                           holder);
}

/* The previous text is overwritten by spaces and not by a control sequence, since this works on
 * every terminal. The cursor stays at the beginning, where other output may overwrite the line.
 * While the output is stopped, nothing is drawn: the lock may be granted then. Nor in the
 * background, also to clear the line: the shell's prompt is there now, and the terminal may stop
 * this process (tostop). */
static void
draw(WaitingLine *self, const char *text)
{
    g_autofree char *safe = text_for_terminal(text);
    guint width;

    if (!terminal_is_foreground(STDERR_FILENO) || !terminal_is_writable(STDERR_FILENO))
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
    g_autoptr(WebLocksLockInfo) first = self->monitor != NULL ? find_first(self, &count) : NULL;
    g_autofree char *text = make_text(self, first, count);
    const char *client = first != NULL ? web_locks_lock_info_get_client_id(first) : NULL;
    const guint64 token = first != NULL ? web_locks_lock_info_get_token(first) : 0;

    if (self->terminal) {
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

static gboolean
on_tick(gpointer data)
{
    show(data);
    return G_SOURCE_CONTINUE;
}

/* If the monitor shows nothing, the line is shown after a second. */
static gboolean
on_delay(gpointer data)
{
    WaitingLine *self = data;

    self->timer_id = g_timeout_add_seconds(1, on_tick, self);
    if (self->manager != NULL)
        self->monitor = web_locks_monitor_new_for_name(self->manager, self->name, NULL);
    if (self->monitor != NULL)
        g_signal_connect_swapped(self->monitor, "changed", G_CALLBACK(show), self);
    else
        show(self);
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
    self->timer_id = g_timeout_add(DELAY_MS, on_delay, self);
    return self;
}

void
waiting_line_free(WaitingLine *self)
{
    if (self->width > 0)
        draw(self, "");
    g_clear_handle_id(&self->timer_id, g_source_remove);
    if (self->monitor != NULL)
        g_signal_handlers_disconnect_by_data(self->monitor, self);
    g_clear_object(&self->monitor);
    g_clear_object(&self->manager);
    g_free(self->shown_client);
    g_free(self->name);
    g_free(self);
}
