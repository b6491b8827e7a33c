/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Simulated time: functions that are called at given times, in order. It is also the time of
 * boot_time_get_us() and, by --wrap, of GLib's clock and timers; its random numbers are those of
 * GLib's functions, too. */

#pragma once

#include <glib.h>

#define MS ((gint64)1000)
#define S  ((gint64)G_USEC_PER_SEC)

typedef void (*SimFunc)(gpointer data);

/* What a source that waits for a descriptor is told. */
typedef GIOCondition (*SimPoll)(int fd);

typedef struct {
    gint64 now_us;
    GSequence *events;
    guint64 n_events;
    GHashTable *timers; /* id -> the data of an idle function, or NULL */
    /* After a function those sources are dispatched whose time has come, whose descriptor is ready,
     * and new ones. */
    GPtrArray *to_run; /* of GSource, owned */
    GHashTable *by_fd; /* -> GSource, borrowed */
    guint last_timer;
    void (*after_each)(void); /* called after each function */
    SimPoll poll;             /* set by the owner */
    GRand *rand;
    gboolean has_trace;
    gboolean is_prompt; /* no message takes long */
} SimLoop;

void sim_loop_init(SimLoop *loop, guint32 seed);
void sim_loop_clear(SimLoop *loop);

/* The descriptor is ready. */
void sim_loop_set_ready(int fd);

/* Calls `func` at this time, or now if it has passed. `data` is freed after the call. */
void sim_loop_at(SimLoop *loop, gint64 at_us, SimFunc func, gpointer data);
void sim_loop_in(SimLoop *loop, gint64 delay_us, SimFunc func, gpointer data);

/* The same, with the function that frees `data`, also if the loop ends before. */
void
sim_loop_add(SimLoop *loop, gint64 at_us, SimFunc func, gpointer data, GDestroyNotify free_data);

/* Advances to the next function and calls it. Returns FALSE if none is left until this time. */
gboolean sim_loop_step(SimLoop *loop, gint64 until_us);

/* The id of a source that does nothing by itself. */
guint sim_loop_new_id(void);

/* Random decisions: TRUE with this probability; a number from `min` to `max`. */
gboolean sim_chance(SimLoop *loop, double probability);
gint64 sim_range(SimLoop *loop, gint64 min, gint64 max);

/* Prints what happens, with the time, if `has_trace`. */
void sim_trace(const SimLoop *loop, const char *format, ...) G_GNUC_PRINTF(2, 3);
