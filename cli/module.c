/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/module.h"

#include <dlfcn.h>
#include <unistd.h>

#include "cli/language.h"
#include "config.h"

#define FILE_NAME "weblocks-commands.so"

/* Returns an owned path: beside the program, as in the build directory, or where it is installed.
 */
static char *
find_file(void)
{
    g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *folder = program != NULL ? g_path_get_dirname(program) : NULL;
    g_autofree char *path = folder != NULL ? g_build_filename(folder, FILE_NAME, NULL) : NULL;

    if (path != NULL && access(path, R_OK) == 0)
        return g_steal_pointer(&path);
    return g_build_filename(WEBLOCKS_MODULEDIR, FILE_NAME, NULL);
}

gpointer
module_find(const char *symbol, GError **error)
{
    static gpointer module;
    gpointer found = NULL;

    if (module == NULL) {
        g_autofree char *path = find_file();

        module = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    }
    if (module != NULL)
        found = dlsym(module, symbol);
    if (found == NULL) {
        language_set();
        g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, dlerror());
    }
    return found;
}
