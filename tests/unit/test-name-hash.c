/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* name-hash: reference values, and names that collide under a hash without a secret key. */

#include "service/core/name-hash.h"
#include "tests/lib/case.h"

/* The key 00 01 ... 0f, and as input the first bytes of 00 01 02 ...: the setting of SipHash's
 * published vectors. The values are those of SipHash-1-3, from an independent implementation that
 * was checked against the vectors of SipHash-2-4. */
TEST("/name-hash/reference", test_reference)
{
    static const struct {
        gsize length;
        guint64 hash;
    } references[] = {
        {0, G_GUINT64_CONSTANT(0xabac0158050fc4dc)},  {1, G_GUINT64_CONSTANT(0xc9f49bf37d57ca93)},
        {7, G_GUINT64_CONSTANT(0xd3927d989bb11140)},  {8, G_GUINT64_CONSTANT(0x369095118d299a8e)},
        {15, G_GUINT64_CONSTANT(0xd320d86d2a519956)}, {63, G_GUINT64_CONSTANT(0x9d199062b7bbb3a8)},
    };
    const NameHashKey key = {
        G_GUINT64_CONSTANT(0x0706050403020100),
        G_GUINT64_CONSTANT(0x0f0e0d0c0b0a0908),
    };
    guint8 bytes[64];

    for (guint i = 0; i < G_N_ELEMENTS(bytes); i++)
        bytes[i] = (guint8)i;
    for (guint i = 0; i < G_N_ELEMENTS(references); i++)
        g_assert_cmphex(name_hash_bytes(&key, bytes, references[i].length), ==, references[i].hash);
}

/* "Ab" and "BA" have the same g_str_hash(), so fourteen of either make 16,384 names with one hash.
 * */
TEST("/name-hash/chosen-collisions", test_chosen_collisions)
{
    enum { BLOCKS = 14, NAMES = 1 << BLOCKS };
    g_autoptr(GHashTable) hashes = g_hash_table_new(NULL, NULL);
    guint first = 0;

    for (guint n = 0; n < NAMES; n++) {
        char name[2 * BLOCKS + 1] = "";

        for (guint block = 0; block < BLOCKS; block++)
            g_strlcat(name, n >> block & 1 ? "Ab" : "BA", sizeof name);
        if (n == 0)
            first = g_str_hash(name);
        g_assert_cmpuint(g_str_hash(name), ==, first);
        g_hash_table_add(hashes, GUINT_TO_POINTER(name_hash(name)));
    }
    /* The expected number of equal pairs in 16,384 random 32-bit numbers is 0.03. */
    g_assert_cmpuint(g_hash_table_size(hashes), >=, NAMES - 3);
}

TEST("/name-hash/key-matters", test_key_matters)
{
    const NameHashKey one = {1, 2}, other = {1, 3};

    g_assert_cmphex(name_hash_bytes(&one, "printer", 7), !=, name_hash_bytes(&other, "printer", 7));
    name_hash_set_key(&one);
    g_assert_cmphex(name_hash("printer"), ==, (guint)name_hash_bytes(&one, "printer", 7));
}

TEST_MAIN(g_test_run())
