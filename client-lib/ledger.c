/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/ledger.h"

#include <string.h>

#include "client-lib/error-private.h"
#include "common/wire-names.h"

struct LedgerWatch {
    char *path;
    ConnectionFunc changed;
    gpointer data;
};

struct Ledger {
    GHashTable *waiting; /* id -> Request, borrowed */
    GHashTable *held;    /* id -> Hold */
    GPtrArray *watches;  /* of LedgerWatch */
};

static void
ledger_watch_free(gpointer data)
{
    LedgerWatch *watch = data;

    g_free(watch->path);
    g_free(watch);
}

Ledger *
ledger_new(void)
{
    Ledger *self = g_new0(Ledger, 1);

    self->waiting = g_hash_table_new(g_int64_hash, g_int64_equal);
    self->held = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, hold_unref);
    self->watches = g_ptr_array_new_with_free_func(ledger_watch_free);
    return self;
}

void
ledger_free(Ledger *self)
{
    g_assert(g_hash_table_size(self->waiting) == 0);
    g_assert(self->watches->len == 0);
    g_hash_table_unref(self->waiting);
    g_hash_table_unref(self->held);
    g_ptr_array_unref(self->watches);
    g_free(self);
}

void
ledger_add_waiting(Ledger *self, Request *request)
{
    g_hash_table_insert(self->waiting, (gpointer)request_get_id(request), request);
}

void
ledger_remove_waiting(Ledger *self, Request *request)
{
    g_hash_table_remove(self->waiting, request_get_id(request));
}

void
ledger_add_held(Ledger *self, Hold *hold)
{
    g_hash_table_insert(self->held, &hold->id, hold_ref(hold));
}

void
ledger_remove_held(Ledger *self, Hold *hold)
{
    g_hash_table_remove(self->held, &hold->id);
}

/* ---- what the service tells */

static void
on_granted(Ledger *self, guint64 id, sd_bus_message *signal)
{
    Request *request = g_hash_table_lookup(self->waiting, &id);
    guint64 token;

    /* Of another client, and told to us as a watcher. */
    if (request == NULL)
        return;
    if (sd_bus_message_skip(signal, "sss") < 0 ||
        sd_bus_message_read_basic(signal, 't', &token) <= 0)
        return;
    request_on_granted(request, token);
}

static void
on_released(Ledger *self, guint64 id, sd_bus_message *signal)
{
    Request *request = g_hash_table_lookup(self->waiting, &id);
    Hold *hold = g_hash_table_lookup(self->held, &id);
    const char *reason;

    if (request == NULL && hold == NULL)
        return;
    if (sd_bus_message_skip(signal, "sss") < 0 ||
        sd_bus_message_read_basic(signal, 's', &reason) <= 0)
        return;
    if (request != NULL) {
        g_autoptr(GError) error = error_new_from_reason(reason);

        request_on_ended(request, error);
    } else {
        hold_lose(hold, reason);
    }
}

static gboolean
is_about_us(sd_bus_message *signal, guint64 *out_id)
{
    const char *client_id, *us;

    if (sd_bus_message_read_basic(signal, 't', out_id) <= 0 ||
        sd_bus_message_skip(signal, "ss") < 0 ||
        sd_bus_message_read_basic(signal, 's', &client_id) <= 0 ||
        sd_bus_get_unique_name(sd_bus_message_get_bus(signal), &us) < 0 ||
        strcmp(client_id, us) != 0)
        return FALSE;
    return sd_bus_message_rewind(signal, TRUE) >= 0 &&
           sd_bus_message_read_basic(signal, 't', out_id) > 0;
}

void
ledger_on_signal(Ledger *self, sd_bus_message *signal)
{
    const char *path = sd_bus_message_get_path(signal);
    guint64 id;

    if (is_about_us(signal, &id)) {
        if (sd_bus_message_is_signal(signal, NULL, "Granted"))
            on_granted(self, id, signal);
        else if (sd_bus_message_is_signal(signal, NULL, "Released"))
            on_released(self, id, signal);
    }
    for (guint i = 0; i < self->watches->len; i++) {
        const LedgerWatch *watch = g_ptr_array_index(self->watches, i);

        if (strcmp(watch->path, path) == 0)
            watch->changed(watch->data);
    }
}

/* ---- the end of all */

void
ledger_end_all(Ledger *self, const GError *error, const char *reason)
{
    g_autoptr(GList) waiting = g_hash_table_get_values(self->waiting);
    g_autoptr(GList) held = g_hash_table_get_values(self->held);

    for (GList *l = waiting; l != NULL; l = l->next)
        request_on_ended(l->data, error);
    for (GList *l = held; l != NULL; l = l->next)
        hold_lose(l->data, reason);
    for (guint i = 0; i < self->watches->len; i++) {
        const LedgerWatch *watch = g_ptr_array_index(self->watches, i);

        watch->changed(watch->data);
    }
}

/* ---- watches */

LedgerWatch *
ledger_add_watch(Ledger *self, const char *path, ConnectionFunc changed, gpointer data)
{
    LedgerWatch *watch = g_new(LedgerWatch, 1);

    watch->path = g_strdup(path);
    watch->changed = changed;
    watch->data = data;
    g_ptr_array_add(self->watches, watch);
    return watch;
}

gboolean
ledger_remove_watch(Ledger *self, LedgerWatch *watch)
{
    g_autofree char *path = g_strdup(watch->path);

    g_ptr_array_remove(self->watches, watch);
    for (guint i = 0; i < self->watches->len; i++)
        if (strcmp(((LedgerWatch *)self->watches->pdata[i])->path, path) == 0)
            return FALSE;
    return TRUE;
}
