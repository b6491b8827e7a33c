/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "name-hash.h"

static NameHashKey process_key;

void
name_hash_set_key(const NameHashKey *key)
{
    process_key = *key;
}

static guint64
rotate_left(guint64 value, guint bits)
{
    return value << bits | value >> (64 - bits);
}

static void
sip_round(guint64 v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate_left(v[1], 13) ^ v[0];
    v[3] = rotate_left(v[3], 16) ^ v[2];
    v[0] = rotate_left(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotate_left(v[1], 17) ^ v[2];
    v[3] = rotate_left(v[3], 21) ^ v[0];
    v[2] = rotate_left(v[2], 32);
}

static void
compress(guint64 v[4], guint64 word)
{
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
}

/* Reads up to eight bytes as a little-endian number. */
static guint64
load(const guint8 *bytes, gsize length)
{
    guint64 word = 0;

    if (length == sizeof word) {
        memcpy(&word, bytes, sizeof word);
        return GUINT64_FROM_LE(word);
    }
    for (gsize i = 0; i < length; i++)
        word |= (guint64)bytes[i] << (8 * i);
    return word;
}

guint64
name_hash_bytes(const NameHashKey *key, const void *bytes, gsize length)
{
    const guint8 *p = bytes;
    gsize left = length;
    guint64 v[4] = {
        key->k0 ^ G_GUINT64_CONSTANT(0x736f6d6570736575),
        key->k1 ^ G_GUINT64_CONSTANT(0x646f72616e646f6d),
        key->k0 ^ G_GUINT64_CONSTANT(0x6c7967656e657261),
        key->k1 ^ G_GUINT64_CONSTANT(0x7465646279746573),
    };

    for (; left >= 8; left -= 8, p += 8)
        compress(v, load(p, 8));
    compress(v, load(p, left) | (guint64)length << 56);

    v[2] ^= 0xff;
    for (guint i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

guint
name_hash(gconstpointer name)
{
    return (guint)name_hash_bytes(&process_key, name, strlen(name));
}
