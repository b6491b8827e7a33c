/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The parser for the files in scripts/; see README.md there for the syntax. */

#pragma once

#include <glib.h>

typedef struct {
    guint line;
    char *text;
    char **words;
} ScriptStep;

typedef struct {
    char *file; /* its name without directory and suffix */
    char *name;
    gboolean is_also_sync; /* is run with synchronous calls too */
    GPtrArray *steps;      /* of ScriptStep */
} ScriptCase;

/* All cases of a file. An invalid line aborts the program. */
GPtrArray *script_cases_load(const char *path);
