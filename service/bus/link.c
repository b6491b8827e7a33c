/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/link.h"

#include "service/bus/client.h"
#include "service/bus/objects.h"
#include "service/core/principal.h"

/* Most clients use one bucket, and each call asks twice. */

void
link_clear_bucket(Link *link)
{
    g_clear_pointer(&link->bucket_path, g_free);
    g_clear_pointer(&link->bucket, g_free);
}

const char *
link_get_bucket(Link *link, const char *path)
{
    char *bucket;

    if (g_strcmp0(path, link->bucket_path) == 0)
        return link->bucket;
    bucket = objects_bucket_from_path(path);
    if (bucket == NULL)
        return NULL;
    link_clear_bucket(link);
    link->bucket_path = g_strdup(path);
    link->bucket = bucket;
    return bucket;
}

const char *
link_get_bucket_path(Link *link, const char *bucket)
{
    if (g_strcmp0(bucket, link->bucket) == 0)
        return link->bucket_path;
    link_clear_bucket(link);
    link->bucket_path = objects_path_from_bucket(bucket);
    link->bucket = g_strdup(bucket);
    return link->bucket_path;
}

gboolean
link_may_tell_more(const Link *link, LimitId *out_limit)
{
    if (link->client == NULL || link->outbox.instead != NULL)
        return TRUE;
    return limits_admit(&link->edge->user_agent.limits, link->client->agent->principal->account,
                        CHARGE_UNREAD_BYTE, 1, out_limit);
}
