/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a case runs on: the core, the service on a bus, or the library. */

#pragma once

#include <glib.h>

#include "tests/spec/spec-case.h"

#define SPEC_AGENTS 26 /* A to Z */

/* An answer to a call; clear with spec_answer_clear(). */
typedef struct {
    char *error;   /* short, such as NotHeld; NULL if there is none */
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

    /* Why the case can't be said to it; NULL: it can. May be NULL itself. */
    const char *(*why_not)(const SpecCase *spec);

    /* Once for all cases; NULL: there is nothing to do. */
    void (*set_up)(void);
    void (*tear_down)(void);

    /* For each case: a service without clients, and its end. */
    gpointer (*start)(const char *const *limits);
    void (*stop)(gpointer self);

    void (*join)(gpointer self, char agent);
    void (*die)(gpointer self, char agent);

    void (*request)(gpointer self, char agent, const SpecRequest *request, SpecAnswer *answer);
    void (*release)(gpointer self, char agent, const char *bucket, guint64 id, SpecAnswer *answer);
    void (*abort)(gpointer self, char agent, const char *bucket, guint64 id, SpecAnswer *answer);

    /* The answer's id is how many locks it has ended. */
    void (*break_locks)(
        gpointer self, char agent, const char *bucket, const char *name, SpecAnswer *answer);

    /* Appends "NAME MODE AGENT" for each. */
    void (*query)(
        gpointer self, char agent, const char *bucket, GPtrArray *held, GPtrArray *pending);

    /* All events of the bucket, of all agents, from now on. */
    void (*watch)(gpointer self, char agent, const char *bucket);

    /* On return all has arrived, at every agent, that was sent before. */
    void (*settle)(gpointer self);

    /* Lets time pass until that agent has an event; returns without one if none can come. */
    void (*await)(gpointer self, char agent);
    /* NULL: it is the monotonic clock. */
    gint64 (*get_time_us)(gpointer self);

    /* The oldest event that the agent has not been asked for; NULL if there is none. */
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

/* Returns FALSE, and fails the test with a message, unless everything was as the case expects. */
gboolean spec_run_case(const SpecDriver *driver, const SpecCase *spec);
