/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs coroutines in every order of their steps, one run after the other, without threads.
 *
 * A run is a function that creates actors and calls steps_run(). Each actor announces its next step
 * before it makes it; then steps_run() chooses whose step comes next. The choices of a run are
 * repeated in the next one up to the last that can be made in another way: depth first, with
 * replay.
 *
 * All reachable states are visited, each once:
 * - A run ends at a state that was visited before. What an actor will do depends on what it has
 *   read only, so a state is what each actor has read (steps_note()), and what all of them share,
 *   which the program describes. So the memory of the actors need not be looked at.
 * - Of two orders of steps that don't affect each other one is tried (sleep sets, as stored with
 *   the states: P. Godefroid, Partial-Order Methods, 1996, which visit all states). Steps are
 *   independent if they are of different actors and none writes an object that the other one reads
 *   or writes.
 * There are no cycles, since what an actor has read only grows. */

#pragma once

#include <glib.h>

#define STEP_ALTERNATIVES 7
#define STEP_ACTORS_MAX   4

typedef struct Step Step;
struct Step {
    guint32 reads, writes; /* a bit for each object */
    const char *name;      /* static: for the schedule */
    /* Whether the step can be made now; it may set `reads` and `writes`, which must not change as
     * long as no step that affects this one is made. NULL: always. */
    gboolean (*prepare)(Step *self);
    gpointer data;
};

typedef struct Actor Actor;

/* An actor of the current run; `name` is one letter. */
Actor *actor_new(char name, void (*run)(gpointer data), gpointer data);

/* At each of its steps, as long as that is enabled, the actor may make this one instead: `end` is
 * called. If that returns TRUE the actor begins again, and has read nothing; otherwise it makes no
 * more steps. */
void actor_set_end(Actor *actor, const Step *step, gboolean (*end)(gpointer data));

/* Of the actor whose step it is: its letter, 0 if there is none; and its data. */
char step_get_actor(void);
gpointer step_get_actor_data(void);

/* Yields; returns which of the `n` alternative steps has to be made now. */
guint step_choose(const Step *steps, guint n);
void step_before(guint32 reads, guint32 writes, const char *name);

/* The actor has read this. */
void step_note(guint64 value);
void step_note_bytes(gconstpointer bytes, gsize size);

/* What the actor has read before does not matter any more, but this. */
void step_forget_but(guint64 value);

guint64 steps_mix(guint64 hash, guint64 value);
guint64 steps_mix_bytes(guint64 hash, gconstpointer bytes, gsize size);

/* Makes the steps of this run until no actor has one, and returns TRUE. Returns FALSE if the run
 * need not be finished, since all that can follow is in other runs. `describe` returns a hash of
 * all that the actors share. */
gboolean steps_run(guint64 (*describe)(void));

typedef struct {
    guint64 n_runs;
    guint64 n_states;
    guint64 n_ends; /* runs that were finished */
    guint64 n_steps;
    guint64 processor_us;
    guint depth;
    gboolean is_exhausted;
} StepsResult;

/* Runs `run` in every order, in child processes, until it prints a failure and exits, or `max` runs
 * (0: no limit). Returns FALSE if one has failed. */
gboolean steps_explore(void (*run)(gpointer data), gpointer data, guint64 max, StepsResult *result);

/* Prints the steps so far and ends the process. */
G_NORETURN void steps_fail(const char *format, ...) G_GNUC_PRINTF(1, 2);
