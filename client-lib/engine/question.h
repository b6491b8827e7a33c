/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Method calls on the bus whose result the application waits for: Query, Inspect, Buckets, Watch.
 *
 * A question is asked when everything that was requested before it has been sent to the service, so
 * the answer includes it. It is asked again if the service ends before it has answered. All
 * functions are called with the session lock held. */

#pragma once

#include "client-lib/engine/bus.h"
#include "client-lib/engine/completion.h"

typedef struct {
    const char *path; /* borrowed from `data` */
    const char *interface;
    const char *method;
    GVariant *body; /* floating; NULL: none */
} QuestionCall;

/* What is called, and what its answer is to the application. `read` gets a tuple; if it returns
 * NULL without an error, the next call is made. */
typedef struct {
    QuestionCall (*build)(gpointer data);
    gpointer (*read)(GVariant *body, gpointer data, GError **error);
    GDestroyNotify result_free;
    /* The same of the bytes of a large answer. NULL without an error: `read` is to do it. May be
     * NULL itself. */
    gpointer (*read_bytes)(const char *signature, GBytes *body, gpointer data, GError **error);
} QuestionKind;

typedef struct Questions Questions;

typedef struct {
    /* Whether a question may be asked now; else questions_try() follows. */
    gboolean (*is_ready)(gpointer data);
} QuestionsFuncs;

Questions *questions_new(Session *session, Bus *bus, const QuestionsFuncs *funcs, gpointer data);
void questions_free(Questions *self);

/* `data` lives until there is a result. */
void questions_ask(Questions *self, const QuestionKind *kind, gpointer data, Caller caller);

/* Asks those that have had to wait, if they may be asked now. */
void questions_try(Questions *self);

/* The service's name has another owner, or none. */
void questions_owner_changed(Questions *self);

/* All fail. */
void questions_finish(Questions *self, const GError *error);
