/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Object paths of storage buckets:
 *
 *     /org/w3/WebLocks/bucket/BUCKET                   of the caller's own principal; or of a group
 *     /org/w3/WebLocks/flatpak/APP/bucket/BUCKET       of an application of the caller's uid
 *     /org/w3/WebLocks/user/UID/bucket/BUCKET          of the unsandboxed programs of a uid
 *     /org/w3/WebLocks/user/UID/flatpak/APP/bucket/BUCKET      of an application of that uid
 *
 * and the same with `snap` instead of `flatpak`. BUCKET and APP are labels in the encoding of
 * sd_bus_path_encode(), UID is a decimal number. Every path that encodes valid names in this way is
 * an object, and no other path is. Permissions are not checked here. */

#pragma once

#include <glib.h>

#include "lock-call.h"

typedef struct {
    char *name;        /* of the bucket; owned */
    BucketOwner owner; /* its app_id is owned */
} BucketPath;

/* Returns FALSE and sets nothing if the path is not the canonical encoding of valid names. */
gboolean bucket_path_decode(const char *path, BucketPath *out_bucket);
void bucket_path_clear(BucketPath *bucket);

/* Returns the owned path of a bucket for clients of its own principal. */
char *bucket_path_encode(const char *bucket);

/* Returns the owned shortest path by which a client of `observer` addresses a bucket of `owner`. */
char *bucket_path_encode_for(const PrincipalIdentity *observer,
                             const PrincipalIdentity *owner,
                             const char *bucket);
