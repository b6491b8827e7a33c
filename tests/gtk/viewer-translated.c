/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Beside viewer/main.c: the translations are those in the directory WEBLOCKS_TEST_LOCALES, and not
 * the installed ones. The viewer and libweblocks find this function before the C library's. */

#include "config.h"

#include <dlfcn.h>
#include <libintl.h>
#include <stdlib.h>
#include <string.h>

char *
bindtextdomain(const char *domain, const char *directory)
{
    char *(*of_library)(const char *domain, const char *directory) = NULL;

    *(void **)&of_library = dlsym(RTLD_NEXT, "bindtextdomain");
    return of_library(domain, strcmp(domain, GETTEXT_PACKAGE) == 0 ? getenv("WEBLOCKS_TEST_LOCALES")
                                                                   : directory);
}
