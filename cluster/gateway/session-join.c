/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whether the engine's data are those that this host has used before, and as its configuration has
 * them. Until that is known, the session is not ready. */

#include "session.h"

#include "session-file.h"

/* Above this block of a bucket, there is a warning: years before the end. */
#define BLOCK_WARNING (CLUSTER_BLOCK_MAX / 8 * 7)

static gboolean
store_instance(Session *session, const char *instance)
{
    g_autoptr(GError) error = NULL;

    if (seen_set_instance(session->options->seen, instance, &error))
        return TRUE;
    if (session_is_first_failure(session))
        g_critical("could not store the identity of the data of the ZooKeeper servers: %s",
                   error->message);
    return FALSE;
}

/* `instance` is NULL if there are no data. */
static void
refuse_instance(Session *session, const char *instance)
{
    const char *id = session->options->config->cluster_id;
    gboolean is_other_cluster = id != NULL && g_strcmp0(instance, id) != 0;
    gboolean is_first = session_is_first_failure(session);

    if (is_first && is_other_cluster)
        g_critical("ClusterId= is %s, but that of the data below %s on the ZooKeeper servers is %s",
                   id, session->options->config->root,
                   instance != NULL ? instance : "not made yet");
    else if (is_first)
        g_critical("the data of the ZooKeeper servers are not those that this host has used "
                   "before; tokens might be issued twice. If that is right, delete %s/seen and "
                   "restart weblocks-clusterd",
                   session->options->state_directory);
    session_end(session,
                is_other_cluster ? CLUSTER_REASON_OTHER_CLUSTER : CLUSTER_REASON_OTHER_DATA);
}

static void
refuse_blocks(Session *session, const char *bucket, guint64 block)
{
    seen_refuse(session->options->seen);
    if (session_is_first_failure(session))
        g_critical("the data of the ZooKeeper servers are older than those that this host has used "
                   "before (bucket '%s': block %" G_GUINT64_FORMAT " after block %" G_GUINT64_FORMAT
                   "); tokens would be issued twice. See weblocks-clusterd(8)",
                   bucket, block, seen_get_block(session->options->seen, bucket));
    session_end(session, CLUSTER_REASON_OLDER_DATA);
}

static void
note_block(Session *session, const char *bucket, guint64 block)
{
    seen_raise_block(session->options->seen, bucket, block);
    if (block <= BLOCK_WARNING || session->has_warned)
        return;
    g_warning(
        "7/8 of all tokens of the bucket '%s' have been used; when there are no more, it can't "
        "be used. See weblocks-clusterd(8)",
        bucket);
    session->has_warned = TRUE;
}

gboolean
session_take_block(Session *session, const char *bucket, guint64 block)
{
    if (block <= seen_get_block(session->options->seen, bucket)) {
        refuse_blocks(session, bucket, block);
        return FALSE;
    }
    note_block(session, bucket, block);
    session->metrics[METRIC_HIGHEST_TOKEN] =
        MAX(session->metrics[METRIC_HIGHEST_TOKEN], (double)(block << CLUSTER_BLOCK_BITS));
    return TRUE;
}

/* A new process has not seen what the earlier one did until after a sync. */
static void
on_synced(const EngineAnswer *answer, gpointer data)
{
    Session *session = data;

    if (!session_check_answer(session, answer, FALSE) || answer->result != ENGINE_OK)
        return; /* interrupted: again with the next connection */
    session_become_ready(session);
}

static void
finish_joining(Session *session)
{
    session_file_save(session->options->state_directory, engine_get_session(session->engine), NULL);
    if (session->is_reattached)
        engine_sync(session->engine, session->options->config->root, on_synced, session);
    else
        session_become_ready(session);
}

static void check_buckets(Session *session);

static void
on_block_read(const EngineAnswer *answer, gpointer data)
{
    Session *session = data;
    const ClusterBucketConfig *bucket;
    const char *settings;

    if (!session_check_answer(session, answer, FALSE))
        return;
    if (answer->result == ENGINE_NO_NODE)
        check_buckets(session); /* somebody has deleted it */
    if (answer->result != ENGINE_OK)
        return; /* interrupted: again with the next connection */
    bucket = session->options->config->buckets->pdata[session->n_checked];
    settings = answer->text[0] != '\0' ? answer->text : ENGINE_SETTINGS(FALSE);
    if (!g_str_equal(settings, ENGINE_SETTINGS(bucket->is_shared))) {
        if (session_is_first_failure(session))
            g_critical(
                "the settings of the bucket '%s' are '%s' on the ZooKeeper servers, and '%s' "
                "on this host",
                bucket->name, settings, ENGINE_SETTINGS(bucket->is_shared));
        session_end(session, CLUSTER_REASON_OTHER_SETTINGS);
        return;
    }
    if (answer->block < seen_get_block(session->options->seen, bucket->name)) {
        refuse_blocks(session, bucket->name, answer->block);
        return;
    }
    note_block(session, bucket->name, answer->block);
    session->n_checked++;
    check_buckets(session);
}

static void
on_bucket_made(const EngineAnswer *answer, gpointer data)
{
    Session *session = data;
    const ClusterBucketConfig *bucket;

    if (!session_check_answer(session, answer, FALSE) || answer->result != ENGINE_OK)
        return; /* interrupted: again with the next connection */
    bucket = session->options->config->buckets->pdata[session->n_checked];
    engine_read_block(session->engine, bucket->name, on_block_read, session);
}

/* Compares the buckets' settings with those of this host, and their blocks with those that it has
 * seen, one after the other. */
static void
check_buckets(Session *session)
{
    const ClusterBucketConfig *bucket;

    if (session->n_checked == session->options->config->buckets->len) {
        finish_joining(session);
        return;
    }
    bucket = session->options->config->buckets->pdata[session->n_checked];
    engine_ensure_bucket(session->engine, bucket->name, ENGINE_SETTINGS(bucket->is_shared),
                         on_bucket_made, session);
}

static void
on_joined(const EngineAnswer *answer, gpointer data)
{
    Session *session = data;

    if (session->engine == NULL)
        return;
    if (answer->result == ENGINE_BAD_VERSION) {
        refuse_instance(session, answer->text);
        return;
    }
    if (answer->result == ENGINE_OTHER_FORMAT) {
        if (session_is_first_failure(session))
            g_critical("the data of the ZooKeeper servers are not of the format of this version of "
                       "weblocks-clusterd: %s. See weblocks-clusterd(8)",
                       answer->text);
        session_end(session, CLUSTER_REASON_OTHER_FORMAT);
        return;
    }
    if (!session_check_answer(session, answer, TRUE))
        return;
    if (answer->result == ENGINE_CONNECTION_LOST)
        return; /* interrupted: again with the next connection */
    if (answer->result != ENGINE_OK) {
        session_end(session, CLUSTER_REASON_UNEXPECTED);
        return;
    }
    if (seen_get_instance(session->options->seen) == NULL &&
        !store_instance(session, answer->text)) {
        session_end(session, CLUSTER_REASON_STORAGE);
        return;
    }
    if (!g_str_equal(seen_get_instance(session->options->seen), answer->text)) {
        refuse_instance(session, answer->text);
        return;
    }
    session->n_checked = 0;
    check_buckets(session);
}

void
session_join(Session *session)
{
    engine_join(session->engine, session->options->host,
                session->options->config->cluster_id != NULL
                    ? session->options->config->cluster_id
                    : seen_get_instance(session->options->seen),
                on_joined, session);
}
