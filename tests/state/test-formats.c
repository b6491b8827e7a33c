/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Files of each format that the state has had: formats/N.state, as a service left them in the
 * runtime directory. A file of the current format, or of the one before it, is restored to the
 * state in N.txt; any other is renamed, and the service starts without it. Format 1 was a file of
 * LMDB; format 2 had no slots.
 *
 *     test-formats FORMATS             tests, in TAP
 *     test-formats --write FORMATS     writes the file of the current format, and of a future one
 *
 * A new format adds its files, and changes none. */

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "service/state/log.h"
#include "tests/state/state-world.h"

#define BUS 0xb5

#define CURRENT 3

static char *formats;
static GPtrArray *warnings;

static char *
format_path(guint version, const char *suffix)
{
    return g_strdup_printf("%s/%u.%s", formats, version, suffix);
}

/* A new runtime directory with the file of a service with this format. It is stored without the
 * zeros at its end; its size is in the head of its first frame. */
static char *
new_directory(guint version)
{
    char *directory = world_new_directory();
    g_autofree char *from = format_path(version, "state");
    g_autofree char *to = world_path(directory, BUS, "state");
    g_autofree char *bytes = NULL;
    guint64 file_size;
    gsize size;

    g_assert_true(g_file_get_contents(from, &bytes, &size, NULL));
    g_assert_true(g_file_set_contents(to, bytes, (gssize)size, NULL));
    memcpy(&file_size, bytes + sizeof(LogHead) + 8, sizeof file_size);
    if (version != 1)
        g_assert_cmpint(truncate(to, (off_t)file_size), ==, 0);
    return directory;
}

/* ---- the tests */

static gboolean
is_of_this_machine(void)
{
    if (G_BYTE_ORDER == G_LITTLE_ENDIAN)
        return TRUE;
    g_test_skip("the files were written with another order of bytes");
    return FALSE;
}

static void
test_this_format(gconstpointer data)
{
    guint version = GPOINTER_TO_UINT(data);
    g_autofree char *directory = NULL, *text_path = NULL, *expected = NULL, *found = NULL;
    World world;

    if (!is_of_this_machine())
        return;
    directory = new_directory(version);
    text_path = format_path(version, "txt");
    g_assert_true(g_file_get_contents(text_path, &expected, NULL, NULL));
    /* What has been read is written in the current format. */
    for (guint i = 0; i < 2; i++) {
        g_clear_pointer(&found, g_free);
        world_open(&world, directory, BUS);
        found = world_describe(&world);
        g_assert_cmpstr(found, ==, expected);
        g_assert_cmpuint(warnings->len, ==, 0);
        world_close(&world);
    }
    world_remove_directory(directory);
}

/* The file is renamed, there is one line in the log, and locks work. */
static void
test_other_format(gconstpointer data)
{
    guint version = GPOINTER_TO_UINT(data);
    g_autofree char *directory = NULL, *aside = NULL, *found = NULL;
    g_autofree char *from = NULL, *contents = NULL, *written = NULL;
    gsize n_contents, n_written;
    World world;

    if (!is_of_this_machine())
        return;
    directory = new_directory(version);
    aside = world_path(directory, BUS, "state.aside");
    from = format_path(version, "state");
    world_open(&world, directory, BUS);
    found = world_describe(&world);
    g_assert_cmpstr(found, ==, "");
    g_assert_cmpuint(warnings->len, ==, 1);
    g_assert_nonnull(strstr(warnings->pdata[0], version < CURRENT
                                                    ? "an earlier version of the service"
                                                    : "another version of the service"));
    g_assert_nonnull(strstr(warnings->pdata[0], "renamed"));
    g_ptr_array_set_size(warnings, 0);
    g_assert_true(g_file_get_contents(aside, &contents, &n_contents, NULL));
    g_assert_true(g_file_get_contents(from, &written, &n_written, NULL));
    g_assert_cmpmem(contents, MIN(n_contents, n_written), written, n_written);
    g_assert_cmpuint(world_request(&world, 'A', "x", ""), ==, 1);
    world_close(&world);
    world_remove_directory(directory);
}

/* ---- writing them */

static void
do_some_of_all(World *world)
{
    world_request(world, 'A', "x", "why=first key=7");
    world_request(world, 'B', "x", "shared timeout=60000");
    world_request(world, 'A', "", "shared");
    world_request(world, 'C', "", "shared bucket=org.example.Editor");
    world_request(world, 'E', "x", "key=18446744073709551615");
    world_request(world, 'F', "x", "");
    world_request(world, 'F', "x", "steal");
    world_request(world, 'C', "c", "slots=2");
    world_request(world, 'D', "c", "slots=2");
    world_request(world, 'A', "c", "slots=3");
    world_downgrade(world, 'B', world_request(world, 'B', "downgraded", ""));
    world_release(world, 'A', world_request(world, 'A', "gone", ""));
}

static void
write_format(const char *directory, guint version)
{
    g_autofree char *from = world_path(directory, BUS, "state");
    g_autofree char *to = format_path(version, "state");
    g_autofree char *bytes = NULL;
    guint64 number = version;
    gsize size;

    g_assert_true(g_file_get_contents(from, &bytes, &size, NULL));
    memcpy(bytes + G_STRUCT_OFFSET(LogHead, version), &number, sizeof number);
    while (size > 0 && bytes[size - 1] == 0) /* see new_directory() */
        size--;
    g_assert_true(g_file_set_contents(to, bytes, (gssize)size, NULL));
}

static void
write_formats(void)
{
    g_autofree char *directory = world_new_directory();
    g_autofree char *text_path = format_path(CURRENT, "txt");
    g_autofree char *text = NULL;
    World world;

    /* The first frame of the second start has the size of the file: see new_directory(). */
    world_open(&world, directory, BUS);
    world_close(&world);
    world_open(&world, directory, BUS);
    do_some_of_all(&world);
    world_commit(&world);
    text = world_describe(&world);
    g_assert_true(g_file_set_contents(text_path, text, -1, NULL));
    world_close(&world);
    write_format(directory, CURRENT);
    write_format(directory, CURRENT + 1);
    world_remove_directory(directory);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (argc == 3 && g_str_equal(argv[1], "--write")) {
        formats = argv[2];
        write_formats();
        return 0;
    }
    g_assert_cmpint(argc, ==, 2);
    formats = argv[1];
    warnings = world_capture_warnings();
    g_test_add_data_func("/formats/current", GUINT_TO_POINTER(CURRENT), test_this_format);
    g_test_add_data_func("/formats/before", GUINT_TO_POINTER(CURRENT - 1), test_this_format);
    g_test_add_data_func("/formats/of-lmdb", GUINT_TO_POINTER(1), test_other_format);
    g_test_add_data_func("/formats/future", GUINT_TO_POINTER(CURRENT + 1), test_other_format);
    return g_test_run();
}
