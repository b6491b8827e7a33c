/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs coroutines in every order of their steps, one run after the other, without threads.
 *
 * A run is a function that creates actors and calls steps_run(). Each actor announces its next step
 * by step_before() before it makes it; then steps_run() chooses whose step comes next. The choices
 * of a run are repeated in the next one up to the last that can be made in another way: depth
 * first, with replay. Two orders of steps that don't affect each other are tried once (sleep sets:
 * P. Godefroid, Partial-Order Methods, 1996): steps are independent if they are of different actors
 * and of different objects, or both only read. */

#pragma once

#include <glib.h>

#define STEP_ALTERNATIVES 8

/* What a step touches: memory of a cell, or one of these. */
typedef enum {
    STEP_NOTHING = 1,
    STEP_KILL,  /* everything but memory */
    STEP_QUEUE, /* STEP_QUEUE + n */
} StepObject;

typedef struct {
    guint64 object;
    gboolean writes;
    const char *name;                      /* static: for the schedule */
    gboolean (*is_enabled)(gpointer data); /* NULL: always */
    gpointer data;
} Step;

typedef struct Actor Actor;

/* An actor of the current run; `name` is one letter. */
Actor *actor_new(char name, void (*run)(gpointer data), gpointer data);

/* At each of its steps, as long as that is enabled, it may make this one instead: `end` is called
 * and the actor makes no more steps. */
void actor_set_end(Actor *actor, const Step *step, void (*end)(gpointer data));

/* Yields; returns which of the `n` alternative steps has to be made now. */
guint step_choose(const Step *steps, guint n);
void step_before(guint64 object, gboolean writes, const char *name);
void step_before_memory(const volatile void *address, gboolean writes);

/* Defined by the program: called when a compare-and-swap has stored this. */
void step_after_exchange(const guint64 *word, guint64 value);

/* Makes the steps of this run until no actor has one. Returns FALSE if the run need not be
 * finished, since all that can follow is in other runs. */
gboolean steps_run(void);

/* Runs `run` in every order, in child processes, until it prints a failure and exits, or `max` runs
 * (0: no limit). Returns FALSE if one has failed. */
typedef struct {
    guint64 n_runs;
    guint64 n_cut; /* of these, not finished */
    guint64 n_steps;
    gboolean is_exhausted;
} StepsResult;
gboolean steps_explore(void (*run)(gpointer data), gpointer data, guint64 max, StepsResult *result);

/* Prints the steps so far and ends the process. */
G_NORETURN void steps_fail(const char *format, ...) G_GNUC_PRINTF(1, 2);
