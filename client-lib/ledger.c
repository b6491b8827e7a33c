/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/ledger.h"

#include <string.h>

#include "client-lib/error-private.h"
#include "common/wire-names.h"

struct LedgerWatch {
    char *path;
    void (*changed)(gpointer data);
    gpointer data;
};

struct Ledger {
    GHashTable *entries; /* id -> LedgerEntry, borrowed */
    GPtrArray *watches;  /* of LedgerWatch */
    guint64 n_comparisons;
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

    self->entries = g_hash_table_new(g_int64_hash, g_int64_equal);
    self->watches = g_ptr_array_new_with_free_func(ledger_watch_free);
    return self;
}

void
ledger_free(Ledger *self)
{
    g_assert(g_hash_table_size(self->entries) == 0);
    g_assert(self->watches->len == 0);
    g_hash_table_unref(self->entries);
    g_ptr_array_unref(self->watches);
    g_free(self);
}

void
ledger_add(Ledger *self, LedgerEntry *entry)
{
    entry->since = self->n_comparisons;
    g_hash_table_replace(self->entries, &entry->id, entry);
}

void
ledger_remove(Ledger *self, LedgerEntry *entry)
{
    if (g_hash_table_lookup(self->entries, &entry->id) == entry)
        g_hash_table_remove(self->entries, &entry->id);
}

gboolean
ledger_is_empty(const Ledger *self)
{
    return g_hash_table_size(self->entries) == 0;
}

gboolean
ledger_has(const Ledger *self, guint64 id)
{
    return g_hash_table_contains(self->entries, &id);
}

gboolean
ledger_has_waiting(const Ledger *self)
{
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, self->entries);
    while (g_hash_table_iter_next(&iter, NULL, &value))
        if (((LedgerEntry *)value)->funcs->granted != NULL)
            return TRUE;
    return FALSE;
}

/* ---- what the service has */

void
ledger_begin_comparison(Ledger *self)
{
    self->n_comparisons++;
}

static int
compare_ids(gconstpointer a, gconstpointer b)
{
    guint64 id_a = *(const guint64 *)a, id_b = *(const guint64 *)b;

    return id_a < id_b ? -1 : id_a > id_b;
}

/* Sorted; the ids of those that were there when the service was asked. */
static GArray *
list_ids(const Ledger *self)
{
    GArray *ids = g_array_new(FALSE, FALSE, sizeof(guint64));
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, self->entries);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const LedgerEntry *entry = value;

        if (entry->since < self->n_comparisons)
            g_array_append_val(ids, entry->id);
    }
    g_array_sort(ids, compare_ids);
    return ids;
}

/* An entry may be gone when it is its turn. */
void
ledger_compare(Ledger *self, GHashTable *records)
{
    g_autoptr(GArray) ids = list_ids(self);

    for (guint i = 0; i < ids->len; i++) {
        guint64 id = g_array_index(ids, guint64, i);
        LedgerEntry *entry = g_hash_table_lookup(self->entries, &id);

        if (entry != NULL && entry->funcs->compared(entry, g_hash_table_lookup(records, &id)))
            g_hash_table_remove(records, &id);
    }
}

/* ---- what the service tells */

static void
on_granted(LedgerEntry *entry, sd_bus_message *signal)
{
    guint64 token;

    /* As watchers we are told too of what was granted in a reply. */
    if (entry->funcs->granted == NULL)
        return;
    if (sd_bus_message_skip(signal, "sss") >= 0 &&
        sd_bus_message_read_basic(signal, 't', &token) > 0)
        entry->funcs->granted(entry, token);
}

static void
on_released(LedgerEntry *entry, sd_bus_message *signal)
{
    g_autoptr(GError) error = NULL;
    const char *reason;

    if (sd_bus_message_skip(signal, "sss") < 0 ||
        sd_bus_message_read_basic(signal, 's', &reason) <= 0)
        return;
    error = error_new_from_reason(reason);
    entry->funcs->ended(entry, reason, error);
}

static gboolean
is_about_us(sd_bus_message *signal, const char *us, guint64 *out_id)
{
    const char *client_id;

    if (sd_bus_message_read_basic(signal, 't', out_id) <= 0 ||
        sd_bus_message_skip(signal, "ss") < 0 ||
        sd_bus_message_read_basic(signal, 's', &client_id) <= 0 || g_strcmp0(client_id, us) != 0)
        return FALSE;
    return sd_bus_message_rewind(signal, TRUE) >= 0 &&
           sd_bus_message_read_basic(signal, 't', out_id) > 0;
}

void
ledger_on_signal(Ledger *self, sd_bus_message *signal, const char *us)
{
    const char *path = sd_bus_message_get_path(signal);
    LedgerEntry *entry = NULL;
    guint64 id;

    if (is_about_us(signal, us, &id))
        entry = g_hash_table_lookup(self->entries, &id);
    if (entry != NULL && sd_bus_message_is_signal(signal, NULL, "Granted"))
        on_granted(entry, signal);
    else if (entry != NULL && sd_bus_message_is_signal(signal, NULL, "Released"))
        on_released(entry, signal);
    for (guint i = 0; i < self->watches->len; i++) {
        const LedgerWatch *watch = g_ptr_array_index(self->watches, i);

        if (strcmp(watch->path, path) == 0)
            watch->changed(watch->data);
    }
}

/* ---- the end of all */

void
ledger_end_all(Ledger *self, const char *reason, const GError *error)
{
    g_autoptr(GList) entries = g_hash_table_get_values(self->entries);

    for (GList *l = entries; l != NULL; l = l->next) {
        LedgerEntry *entry = l->data;

        entry->funcs->ended(entry, reason, error);
    }
}

/* ---- watches */

LedgerWatch *
ledger_add_watch(Ledger *self, const char *path, void (*changed)(gpointer data), gpointer data)
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
