/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The parser for cases.txt. The syntax is described in README.md. */

#pragma once

#include <glib.h>

/* The options of a request; those that are not set are not sent. */
typedef struct {
    char *name;
    char *bucket;
    char *mode; /* the mode's string; NULL: the default */
    gboolean if_available;
    gboolean steal;
    gboolean steal_method; /* by the method Steal instead of Request */
    gboolean signal;
    guint32 timeout_ms;
    guint64 key;
    char *why; /* NULL: none */
} SpecRequest;

typedef enum {
    SPEC_REQUEST,
    SPEC_RELEASE,
    SPEC_ABORT,
    SPEC_BREAK, /* `label` is the name */
    SPEC_QUERY,
    SPEC_WATCH,
    SPEC_DIE,
    SPEC_BACK,
    SPEC_GRANTED,  /* an event that has arrived */
    SPEC_RELEASED, /* the same */
    SPEC_WAITING,  /* the same, of a watcher */
    SPEC_TOKENS,
} SpecVerb;

typedef struct {
    guint line;
    char *text;
    SpecVerb verb;
    char agent;
    gboolean await;      /* for an event: wait until it comes */
    char *label;         /* of the request that is made or referred to; or an id in digits */
    char *bucket;        /* of release, abort, query, watch; NULL: the label's, or the default */
    SpecRequest request; /* of SPEC_REQUEST */
    char **outcome;      /* the words after "->"; for other verbs, those after the verb */
} SpecStep;

typedef struct {
    char *name;
    guint line;
    GPtrArray *limits; /* "NAME=N", NULL-terminated */
    GPtrArray *steps;  /* of SpecStep */
} SpecCase;

/* Returns all cases of the file; on failure NULL, and `error` has the line number. */
GPtrArray *spec_cases_load(const char *path, GError **error);
