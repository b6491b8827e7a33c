/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "seen.h"

#include "cluster-packet.h"

#define GROUP_DATA   "Data"
#define GROUP_BLOCKS "Blocks"
#define KEY_INSTANCE "Instance"
#define KEY_REFUSED  "Refused"

struct Seen {
    char *path;
    GKeyFile *file; /* the contents */
    char *instance;
    guint delay_source;  /* 0: everything is stored, or being stored */
    gboolean has_failed; /* to store it; the reason was logged */

    GThread *writer; /* NULL: nothing is being stored */
    char *text;      /* what it writes */
    GError *error;   /* why it has failed */
};

static gboolean
write_file(const Seen *seen, const char *text, GError **error)
{
    return g_file_set_contents_full(seen->path, text, -1,
                                    G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_DURABLE,
                                    0600, error);
}

static gboolean
fail(const Seen *seen, GError **error, const char *reason)
{
    g_set_error(error, G_KEY_FILE_ERROR, G_KEY_FILE_ERROR_INVALID_VALUE, "%s: %s", seen->path,
                reason);
    return FALSE;
}

static gboolean
is_block(const Seen *seen, const char *bucket)
{
    g_autofree char *text = g_key_file_get_value(seen->file, GROUP_BLOCKS, bucket, NULL);

    return g_ascii_string_to_unsigned(text, 10, 1, CLUSTER_BLOCK_MAX, NULL, NULL);
}

/* A file with a mistake was changed by somebody: nothing is assumed of the rest. */
static gboolean
check_file(Seen *seen, GError **error)
{
    g_auto(GStrv) buckets = g_key_file_get_keys(seen->file, GROUP_BLOCKS, NULL, NULL);
    gboolean has_refused = g_key_file_has_key(seen->file, GROUP_DATA, KEY_REFUSED, NULL);

    seen->instance = g_key_file_get_string(seen->file, GROUP_DATA, KEY_INSTANCE, NULL);
    if (seen->instance == NULL || seen->instance[0] == '\0')
        return fail(seen, error, "no instance");
    if (has_refused && !g_key_file_get_boolean(seen->file, GROUP_DATA, KEY_REFUSED, NULL))
        return fail(seen, error, "not valid: " KEY_REFUSED);
    for (char **bucket = buckets; bucket != NULL && *bucket != NULL; bucket++)
        if (!is_block(seen, *bucket))
            return fail(seen, error, "not a block number");
    return TRUE;
}

static gboolean
read_file(Seen *seen, GError **error)
{
    g_autofree char *text = NULL;
    g_autoptr(GError) own_error = NULL;
    gsize size;

    if (!g_file_get_contents(seen->path, &text, &size, &own_error)) {
        if (g_error_matches(own_error, G_FILE_ERROR, G_FILE_ERROR_NOENT))
            return TRUE;
        g_propagate_error(error, g_steal_pointer(&own_error));
        return FALSE;
    }
    if (!g_key_file_load_from_data(seen->file, text, size, G_KEY_FILE_NONE, &own_error))
        return fail(seen, error, own_error->message);
    return check_file(seen, error);
}

Seen *
seen_new(const char *directory, GError **error)
{
    Seen *seen = g_new0(Seen, 1);

    seen->path = g_build_filename(directory, "seen", NULL);
    seen->file = g_key_file_new();
    if (!read_file(seen, error))
        g_clear_pointer(&seen, seen_free);
    return seen;
}

static gboolean
on_delay(gpointer data)
{
    Seen *seen = data;

    seen_store(seen);
    return seen->delay_source != 0 ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static void
store_later(Seen *seen)
{
    if (seen->delay_source == 0)
        seen->delay_source = g_timeout_add_seconds(SEEN_DELAY_SECS, on_delay, seen);
}

/* Waits for the thread. */
static void
finish_writing(Seen *seen)
{
    g_autoptr(GError) error = NULL;

    g_thread_join(g_steal_pointer(&seen->writer));
    g_clear_pointer(&seen->text, g_free);
    error = g_steal_pointer(&seen->error);
    if (error != NULL && !seen->has_failed)
        g_warning("could not store the highest block of tokens: %s", error->message);
    seen->has_failed = error != NULL;
    if (error != NULL)
        store_later(seen);
}

static gboolean
on_written(gpointer data)
{
    finish_writing(data);
    return G_SOURCE_REMOVE;
}

static gpointer
write_in_thread(gpointer data)
{
    Seen *seen = data;

    write_file(seen, seen->text, &seen->error);
    g_idle_add(on_written, seen);
    return NULL;
}

void
seen_store(Seen *seen)
{
    if (seen->delay_source == 0 || seen->writer != NULL)
        return;
    g_clear_handle_id(&seen->delay_source, g_source_remove);
    seen->text = g_key_file_to_data(seen->file, NULL, NULL);
    seen->writer = g_thread_new("seen", write_in_thread, seen);
}

static void
store_now(Seen *seen)
{
    if (seen->writer != NULL)
        finish_writing(seen);
    seen_store(seen);
    if (seen->writer != NULL)
        finish_writing(seen);
    while (g_idle_remove_by_data(seen))
        ;
}

void
seen_free(Seen *seen)
{
    store_now(seen);
    g_clear_handle_id(&seen->delay_source, g_source_remove);
    g_key_file_unref(seen->file);
    g_free(seen->instance);
    g_free(seen->path);
    g_free(seen);
}

const char *
seen_get_instance(const Seen *seen)
{
    return seen->instance;
}

gboolean
seen_set_instance(Seen *seen, const char *instance, GError **error)
{
    g_autofree char *text = NULL;

    g_key_file_set_string(seen->file, GROUP_DATA, KEY_INSTANCE, instance);
    text = g_key_file_to_data(seen->file, NULL, NULL);
    if (!write_file(seen, text, error))
        return FALSE;
    g_free(seen->instance);
    seen->instance = g_strdup(instance);
    return TRUE;
}

guint64
seen_get_block(const Seen *seen, const char *bucket)
{
    return g_key_file_get_uint64(seen->file, GROUP_BLOCKS, bucket, NULL);
}

void
seen_raise_block(Seen *seen, const char *bucket, guint64 block)
{
    if (block <= seen_get_block(seen, bucket))
        return;
    g_key_file_set_uint64(seen->file, GROUP_BLOCKS, bucket, block);
    store_later(seen);
}

gboolean
seen_is_refused(const Seen *seen)
{
    return g_key_file_has_key(seen->file, GROUP_DATA, KEY_REFUSED, NULL);
}

void
seen_refuse(Seen *seen)
{
    g_key_file_set_boolean(seen->file, GROUP_DATA, KEY_REFUSED, TRUE);
    store_later(seen);
    store_now(seen);
}
