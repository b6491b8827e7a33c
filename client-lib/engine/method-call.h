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
} MethodCallMessage;

/* What is called, and what its answer is to the application. `read` gets a tuple; if it returns
 * NULL without an error, the next call is made. */
typedef struct {
    MethodCallMessage (*build)(gpointer data);
    gpointer (*read)(GVariant *body, gpointer data, GError **error);
    GDestroyNotify result_free;
    /* The same of the bytes of a large answer. NULL without an error: `read` is to do it. May be
     * NULL itself. */
    gpointer (*read_bytes)(const char *signature, GBytes *body, gpointer data, GError **error);
} MethodCallKind;

typedef struct MethodCalls MethodCalls;

typedef struct {
    /* Whether a question may be asked now; else method_calls_try() follows. */
    gboolean (*is_ready)(gpointer data);
} MethodCallsFuncs;

MethodCalls *
method_calls_new(Session *session, Bus *bus, const MethodCallsFuncs *funcs, gpointer data);
void method_calls_free(MethodCalls *self);

/* `data` lives until there is a result. */
void
method_calls_start(MethodCalls *self, const MethodCallKind *kind, gpointer data, Caller caller);

/* Asks those that have had to wait, if they may be asked now. */
void method_calls_try(MethodCalls *self);

/* The service's name has another owner, or none. */
void method_calls_owner_changed(MethodCalls *self);

/* All fail. */
void method_calls_finish(MethodCalls *self, const GError *error);
