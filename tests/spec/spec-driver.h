/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What cases run on: the core, the service on a bus, or the library. */

#pragma once

#include <glib.h>

#include "tests/spec/spec-case.h"

#define SPEC_AGENTS 26 /* A to Z */

/* An answer to a call; clear with spec_answer_clear(). */
typedef struct {
    char *error;   /* short, such as NotHeld; NULL: success */
    char *message; /* of the error */
    guint64 id;
    guint64 token;
    gboolean aborted;
} SpecAnswer;

/* A notification of an agent. */
typedef struct {
    SpecVerb kind; /* SPEC_GRANTED, SPEC_RELEASED or SPEC_WAITING */
    guint64 id;
    guint64 token; /* if granted */
    char client;   /* letter of the clientId */
    char *bucket;
    char *name;
    char *mode;
    char *reason; /* if released */
} SpecEvent;

typedef struct {
    const char *name;

    /* Returns why the case can't be expressed, or NULL if it can. May be NULL. */
    const char *(*get_skip_reason)(const SpecCase *spec);

    /* Called once before all cases; may be NULL. */
    void (*set_up)(void);
    void (*tear_down)(void);

    /* For each case: start a service without clients, and stop it. */
    gpointer (*start)(const char *const *limits);
    void (*stop)(gpointer self);

    void (*join)(gpointer self, char agent);
    void (*die)(gpointer self, char agent);

    void (*request)(gpointer self, char agent, const SpecRequest *request, SpecAnswer *answer);
    void (*release)(gpointer self, char agent, const char *bucket, guint64 id, SpecAnswer *answer);
    void (*abort)(gpointer self, char agent, const char *bucket, guint64 id, SpecAnswer *answer);

    /* The answer's id is the number of locks that were ended. */
    void (*break_locks)(
        gpointer self, char agent, const char *bucket, const char *name, SpecAnswer *answer);

    /* Appends "NAME MODE AGENT" for each. */
    void (*query)(
        gpointer self, char agent, const char *bucket, GPtrArray *held, GPtrArray *pending);

    /* From now on `agent` gets all events of the bucket, of all agents. */
    void (*watch)(gpointer self, char agent, const char *bucket);

    /* Returns when all events that were sent before have arrived at every agent. */
    void (*settle)(gpointer self);

    /* Waits until the agent has an event; returns without one if none can come. */
    void (*await)(gpointer self, char agent);
    /* NULL: the monotonic clock. */
    gint64 (*get_time_us)(gpointer self);

    /* Removes and returns the oldest event of the agent; NULL if there is none. */
    SpecEvent *(*take_event)(gpointer self, char agent);
} SpecDriver;

extern const SpecDriver spec_driver_core;
extern const SpecDriver spec_driver_bus;
extern const SpecDriver spec_driver_socket;
extern const SpecDriver spec_driver_library;

void spec_answer_clear(SpecAnswer *answer);
SpecEvent *spec_event_new(SpecVerb kind, guint64 id, char client);
void spec_event_free(SpecEvent *event);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SpecAnswer, spec_answer_clear)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SpecEvent, spec_event_free)

/* Returns whether everything was as the case expects; otherwise fails the test with a message. */
gboolean spec_run_case(const SpecDriver *driver, const SpecCase *spec);
