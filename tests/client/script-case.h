/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The parser for scripts/; README.md there explains the language. */

#pragma once

#include <glib.h>

typedef struct {
    guint line;
    char *text;
    char **words;
} ScriptStep;

typedef struct {
    char *file; /* its name without folder and ending */
    char *name;
    gboolean is_also_sync; /* it is run with sync calls as well */
    GPtrArray *steps;      /* of ScriptStep */
} ScriptCase;

/* All cases of a file. A line that can't be read ends the program. */
GPtrArray *script_cases_load(const char *path);
