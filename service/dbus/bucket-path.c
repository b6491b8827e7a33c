/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bucket-path.h"

#include <stdlib.h>

#include "bus-names.h"
#include "bus-string.h"
#include "sd-bus.h"

/* sd-bus allocates with malloc, and so does GLib since 2.46: g_free frees both. */

char *
bucket_path_encode(const char *bucket)
{
    char *path = NULL;
    int r = sd_bus_path_encode(BUS_BUCKET_PREFIX, bucket, &path);

    g_assert(r >= 0);
    return path;
}

char *
bucket_path_decode(const char *path)
{
    g_autofree char *bucket = NULL;
    g_autofree char *canonical = NULL;

    if (sd_bus_path_decode(path, BUS_BUCKET_PREFIX, &bucket) <= 0)
        return NULL;
    if (bucket[0] == '\0' || strlen(bucket) > BUS_BUCKET_BYTES_MAX || !bus_string_is_valid(bucket))
        return NULL;

    /* Two paths for one bucket would be two names for one thing. */
    canonical = bucket_path_encode(bucket);
    return g_str_equal(path, canonical) ? g_steal_pointer(&bucket) : NULL;
}
