/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What `weblocks` can do: one verb, one file. */

#pragma once

#include "cli/options.h"

struct Verb {
    const char *name;
    const char *arguments; /* after the options, for people */
    const char *help;
    gboolean options_first;
    /* `argv` begins with the verb, and ends with NULL. Returns the exit status. */
    int (*function)(const Verb *verb, int argc, char **argv);
};

int verb_run(const Verb *verb, int argc, char **argv);
int verb_query(const Verb *verb, int argc, char **argv);
int verb_inspect(const Verb *verb, int argc, char **argv);
int verb_watch(const Verb *verb, int argc, char **argv);
int verb_steal(const Verb *verb, int argc, char **argv);
