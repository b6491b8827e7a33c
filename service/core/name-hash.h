/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The hash of names that clients choose: SipHash-1-3 under a key that they don't know.
 *
 * With a hash that can be computed outside, one client could choose names that all collide, and
 * each request would then cost what all of them cost. GLib has no keyed hash; this is the common
 * one. The key is the process's, since GHashTable hands its functions nothing else: it is set once,
 * before the first table, and never told. */

#pragma once

#include <glib.h>

typedef struct {
    guint64 k0;
    guint64 k1;
} NameHashKey;

void name_hash_set_key(const NameHashKey *key);

/* SipHash-1-3 of `length` bytes. */
guint64 name_hash_bytes(const NameHashKey *key, const void *bytes, gsize length);

/* A GHashFunc for NUL-terminated strings, under the process's key. */
guint name_hash(gconstpointer name);
