/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sim-loop.h"

#include "boot-time.h"

guint __wrap_g_timeout_add(guint interval_ms, GSourceFunc func, gpointer data);
gboolean __wrap_g_source_remove(guint id);

static SimLoop *the_loop;

typedef struct {
    gint64 at_us;
    guint64 number;
    SimFunc func;
    gpointer data;
} Event;

static void
event_free(gpointer data)
{
    Event *event = data;

    g_free(event->data);
    g_free(event);
}

static int
compare_events(gconstpointer a, gconstpointer b, G_GNUC_UNUSED gpointer data)
{
    const Event *first = a, *second = b;

    if (first->at_us != second->at_us)
        return first->at_us < second->at_us ? -1 : 1;
    return first->number < second->number ? -1 : 1;
}

void
sim_loop_init(SimLoop *loop, guint32 seed)
{
    *loop = (SimLoop){.events = g_sequence_new(event_free), .rand = g_rand_new_with_seed(seed)};
    loop->now_us = 1000 * S;
    loop->timers = g_hash_table_new(NULL, NULL);
    the_loop = loop;
}

void
sim_loop_clear(SimLoop *loop)
{
    the_loop = NULL;
    g_hash_table_unref(loop->timers);
    g_sequence_free(loop->events);
    g_rand_free(loop->rand);
}

void
sim_loop_at(SimLoop *loop, gint64 at_us, SimFunc func, gpointer data)
{
    Event *event = g_new0(Event, 1);

    *event = (Event){MAX(at_us, loop->now_us), loop->n_events++, func, data};
    g_sequence_insert_sorted(loop->events, event, compare_events, NULL);
}

void
sim_loop_in(SimLoop *loop, gint64 delay_us, SimFunc func, gpointer data)
{
    sim_loop_at(loop, loop->now_us + delay_us, func, data);
}

/* ---- what the lock service calls */

typedef struct {
    guint id;
    GSourceFunc func;
    gpointer data;
} Timer;

static void
on_timer(gpointer data)
{
    const Timer *timer = data;

    if (g_hash_table_remove(the_loop->timers, GUINT_TO_POINTER(timer->id)))
        timer->func(timer->data);
}

guint
__wrap_g_timeout_add(guint interval_ms, GSourceFunc func, gpointer data)
{
    Timer *timer = g_new0(Timer, 1);

    *timer = (Timer){++the_loop->last_timer, func, data};
    g_hash_table_add(the_loop->timers, GUINT_TO_POINTER(timer->id));
    sim_loop_in(the_loop, interval_ms * MS, on_timer, timer);
    return timer->id;
}

gboolean
__wrap_g_source_remove(guint id)
{
    return g_hash_table_remove(the_loop->timers, GUINT_TO_POINTER(id));
}

gint64
boot_time_get_us(void)
{
    return the_loop->now_us;
}

/* ---- */

gboolean
sim_loop_step(SimLoop *loop, gint64 until_us)
{
    GSequenceIter *first = g_sequence_get_begin_iter(loop->events);
    Event event;

    if (g_sequence_iter_is_end(first) || ((Event *)g_sequence_get(first))->at_us > until_us)
        return FALSE;
    event = *(Event *)g_sequence_get(first);
    ((Event *)g_sequence_get(first))->data = NULL;
    g_sequence_remove(first);
    loop->now_us = event.at_us;
    event.func(event.data);
    g_free(event.data);
    loop->after_each();
    return TRUE;
}

gboolean
sim_chance(SimLoop *loop, double probability)
{
    return g_rand_double(loop->rand) < probability;
}

gint64
sim_range(SimLoop *loop, gint64 min, gint64 max)
{
    return min + (gint64)(g_rand_double(loop->rand) * (double)(max - min + 1));
}

void
sim_trace(const SimLoop *loop, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list arguments;

    if (!loop->has_trace)
        return;
    va_start(arguments, format);
    text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_print("# %8.3f %s\n", (double)(loop->now_us - 1000 * S) / 1e6, text);
}
