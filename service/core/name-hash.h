/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A keyed hash for strings that clients choose: SipHash-1-3 with a secret key.
 *
 * With a public hash function, a client could choose names that all collide, which would make
 * look-ups take linear time. GLib has no keyed hash. There is one key for the process, since
 * GHashTable passes no user data to hash functions; it is set once, before the first table is
 * created. */

#pragma once

#include <glib.h>

typedef struct {
    guint64 k0;
    guint64 k1;
} NameHashKey;

void name_hash_set_key(const NameHashKey *key);

/* Returns the SipHash-1-3 of `length` bytes. */
guint64 name_hash_bytes(const NameHashKey *key, const void *bytes, gsize length);

/* A GHashFunc for NUL-terminated strings, with the process's key. */
guint name_hash(gconstpointer name);
