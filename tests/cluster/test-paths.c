/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* paths: the nodes of hosts, buckets and names, and which texts can be the name of a host. */

#include "cluster/engine/paths.h"
#include "tests/lib/case.h"

#include <string.h>

TEST("/paths/paths", test_paths)
{
    g_autofree char *host = engine_path_host("/weblocks", "alpha", G_GUINT64_CONSTANT(0x10000ab));
    g_autofree char *bucket = engine_path_bucket("/site/locks", "builds");
    g_autofree char *name = engine_path_name("/weblocks", "builds", 1000, "abc");
    g_autofree char *empty = engine_path_name("/weblocks", "builds", G_MAXUINT32, "");
    g_autofree char *generation = engine_path_generation("/weblocks", "builds", 7);

    g_assert_cmpstr(host, ==, "/weblocks/sessions/alpha-00000000010000ab");
    g_assert_cmpstr(bucket, ==, "/site/locks/buckets/builds");
    /* The hashes of "abc" and of "" are test vectors of FIPS 180-2. */
    g_assert_cmpstr(name, ==,
                    "/weblocks/buckets/builds/1000/"
                    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    g_assert_cmpstr(empty, ==,
                    "/weblocks/buckets/builds/4294967295/"
                    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    g_assert_cmpstr(generation, ==, "/weblocks/tokens/builds/7");
}

TEST("/paths/components", test_components)
{
    static const char *const good[] = {"a", "..a", "builds-2", "Gr\xc3\xbc\xc3\x9f", "a b"};
    static const char *const bad[] = {
        "",     ".",    "..",           "a/b",          "/",           "a\nb",
        "\x7f", "\xc3", "\xee\x80\x80", "\xef\xb7\x90", "\xef\xbf\xbf"};
    char longest[257];

    for (guint i = 0; i < G_N_ELEMENTS(good); i++)
        g_assert_true(engine_path_is_component(good[i]));
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++)
        g_assert_false(engine_path_is_component(bad[i]));
    memset(longest, 'a', sizeof(longest));
    longest[256] = '\0';
    g_assert_false(engine_path_is_component(longest));
    longest[255] = '\0';
    g_assert_true(engine_path_is_component(longest));
}

TEST("/paths/parse-host", test_parse_host)
{
    static const char *const bad[] = {"",
                                      "alpha",
                                      "-00000000010000ab",
                                      "alpha-10000ab",
                                      "alpha-00000000010000AB",
                                      "alpha-00000000010000abc",
                                      "alpha-0x000000010000ab"};
    g_autofree char *host = NULL;
    guint64 session = 0;

    g_assert_true(engine_path_parse_host("a-b-ff000000010000ab", &host, &session));
    g_assert_cmpstr(host, ==, "a-b");
    g_assert_cmphex(session, ==, G_GUINT64_CONSTANT(0xff000000010000ab));
    g_assert_true(engine_path_parse_host("a-0000000000000001", NULL, &session));
    g_assert_cmphex(session, ==, 1);
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++)
        g_assert_false(engine_path_parse_host(bad[i], NULL, &session));
}

TEST_MAIN(g_test_run())
