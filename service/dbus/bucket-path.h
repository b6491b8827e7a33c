/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Object paths and storage buckets: /org/w3/WebLocks/bucket/LABEL is the bucket whose name LABEL
 * encodes, for the principal that asks. Every path that encodes a legal name is an object; no other
 * path is. */

#pragma once

#include <glib.h>

/* The bucket name (owned), or NULL if the path is not the one encoding of a legal name. */
char *bucket_path_decode(const char *path);

/* The path (owned) of a legal bucket name. */
char *bucket_path_encode(const char *bucket);
