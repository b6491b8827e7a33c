/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

#define FILE_NAME "weblocks-commands.so"

/* Beside the program, as in the build directory, or where it is installed. */
static void *
load(void)
{
    char path[PATH_MAX + sizeof FILE_NAME];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    char *end = length > 0 ? memrchr(path, '/', (size_t)length) : NULL;

    if (end != NULL) {
        memcpy(end + 1, FILE_NAME, sizeof FILE_NAME);
        if (access(path, R_OK) == 0)
            return dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    }
    return dlopen(WEBLOCKS_MODULEDIR "/" FILE_NAME, RTLD_LAZY | RTLD_LOCAL);
}

/* A process may run for longer than the module is installed. */
static void *
load_same_version(void)
{
    void *module = load();
    const char *version = module != NULL ? dlsym(module, "module_version") : NULL;

    if (version == NULL)
        fprintf(stderr, "weblocks: %s\n", dlerror());
    else if (strcmp(version, WEBLOCKS_VERSION) != 0)
        fprintf(stderr, "weblocks: %s is of version %s\n", FILE_NAME, version);
    else
        return module;
    return NULL;
}

void *
module_find(const char *symbol)
{
    static void *module;

    if (module == NULL)
        module = load_same_version();
    return module != NULL ? dlsym(module, symbol) : NULL;
}
