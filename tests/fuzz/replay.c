/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs a fuzz target with each file of some directories, without a fuzzer: a test, in TAP.
 *
 *     replay-TARGET DIRECTORY|FILE... */

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"

static int
compare(gconstpointer a, gconstpointer b)
{
    return g_strcmp0(*(char *const *)a, *(char *const *)b);
}

/* The files of a directory, or the file itself. */
static void
add_files(GPtrArray *files, const char *path)
{
    GDir *dir = g_dir_open(path, 0, NULL);
    const char *name;

    if (dir == NULL) {
        g_ptr_array_add(files, g_strdup(path));
        return;
    }
    while ((name = g_dir_read_name(dir)) != NULL)
        g_ptr_array_add(files, g_build_filename(path, name, NULL));
    g_dir_close(dir);
}

int
main(int argc, char **argv)
{
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);

    for (int i = 1; i < argc; i++)
        add_files(files, argv[i]);
    g_ptr_array_sort(files, compare);
    if (files->len == 0) {
        fprintf(stderr, "usage: %s DIRECTORY|FILE...\n", argv[0]);
        return 2;
    }
    printf("1..%u\n", files->len);
    for (guint i = 0; i < files->len; i++) {
        g_autofree char *base = g_path_get_basename(files->pdata[i]);
        g_autofree char *bytes = NULL;
        g_autoptr(GError) error = NULL;
        gsize n_bytes;

        /* Printed before the run, since the target aborts if it finds something. */
        printf("# %s\n", base);
        fflush(stdout);
        if (!g_file_get_contents(files->pdata[i], &bytes, &n_bytes, &error)) {
            printf("not ok %u - %s: %s\n", i + 1, base, error->message);
            return EXIT_FAILURE;
        }
        LLVMFuzzerTestOneInput((const uint8_t *)bytes, n_bytes);
        printf("ok %u - %s\n", i + 1, base);
    }
    return EXIT_SUCCESS;
}
