/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/objects.h"

#include <stdlib.h>

#include "common/sd-bus.h"
#include "common/wire-names.h"
#include "common/wire-string.h"

/* sd-bus allocates with malloc, and so does GLib since 2.46: g_free frees both. */

char *
objects_path_from_bucket(const char *bucket)
{
    char *path = NULL;
    int r = sd_bus_path_encode(WIRE_BUCKET_PREFIX, bucket, &path);

    g_assert(r >= 0);
    return path;
}

char *
objects_bucket_from_path(const char *path)
{
    g_autofree char *bucket = NULL;
    g_autofree char *canonical = NULL;

    if (sd_bus_path_decode(path, WIRE_BUCKET_PREFIX, &bucket) <= 0)
        return NULL;
    if (bucket[0] == '\0' || strlen(bucket) > WIRE_BUCKET_BYTES_MAX ||
        !wire_string_is_carriable(bucket))
        return NULL;

    /* Two paths for one bucket would be two names for one thing. */
    canonical = objects_path_from_bucket(bucket);
    return g_str_equal(path, canonical) ? g_steal_pointer(&bucket) : NULL;
}
