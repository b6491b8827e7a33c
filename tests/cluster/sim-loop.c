/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sim-loop.h"

#include "boot-time.h"

/* The linker puts the functions below in place of others, and nobody calls them by these names. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static SimLoop *the_loop;

typedef struct {
    gint64 at_us;
    guint64 number;
    SimFunc func;
    gpointer data;
    GDestroyNotify free_data;
} Event;

static void
ignore(G_GNUC_UNUSED gpointer data)
{
}

static void
event_free(gpointer data)
{
    Event *event = data;

    event->free_data(event->data);
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
    loop->to_run = g_ptr_array_new_with_free_func((GDestroyNotify)g_source_unref);
    loop->by_fd = g_hash_table_new(NULL, NULL);
    the_loop = loop;
}

void
sim_loop_clear(SimLoop *loop)
{
    the_loop = NULL;
    g_ptr_array_unref(loop->to_run);
    g_hash_table_unref(loop->by_fd);
    g_hash_table_unref(loop->timers);
    g_sequence_free(loop->events);
    g_rand_free(loop->rand);
}

void
sim_loop_add(SimLoop *loop, gint64 at_us, SimFunc func, gpointer data, GDestroyNotify free_data)
{
    Event *event = g_new0(Event, 1);

    *event = (Event){MAX(at_us, loop->now_us), loop->n_events++, func, data, free_data};
    g_sequence_insert_sorted(loop->events, event, compare_events, NULL);
}

void
sim_loop_at(SimLoop *loop, gint64 at_us, SimFunc func, gpointer data)
{
    sim_loop_add(loop, at_us, func, data, g_free);
}

void
sim_loop_in(SimLoop *loop, gint64 delay_us, SimFunc func, gpointer data)
{
    sim_loop_at(loop, loop->now_us + delay_us, func, data);
}

/* ---- timers of GLib */

typedef struct {
    guint id;
    guint interval_ms;
    GSourceFunc func;
    gpointer data;
} Timer;

static void
on_timer(gpointer data)
{
    const Timer *timer = data;
    Timer *next;

    if (!g_hash_table_contains(the_loop->timers, GUINT_TO_POINTER(timer->id)))
        return;
    if (!timer->func(timer->data)) {
        g_hash_table_remove(the_loop->timers, GUINT_TO_POINTER(timer->id));
        return;
    }
    next = g_memdup2(timer, sizeof *timer);
    sim_loop_in(the_loop, timer->interval_ms * MS, on_timer, next);
}

static guint
new_id(gpointer idle_data)
{
    guint id = ++the_loop->last_timer;

    g_hash_table_insert(the_loop->timers, GUINT_TO_POINTER(id), idle_data);
    return id;
}

guint
sim_loop_new_id(void)
{
    return new_id(NULL);
}

static guint
add_timer(guint interval_ms, GSourceFunc func, gpointer data, gpointer idle_data)
{
    Timer *timer = g_new0(Timer, 1);

    *timer = (Timer){new_id(idle_data), interval_ms, func, data};
    sim_loop_in(the_loop, interval_ms * MS, on_timer, timer);
    return timer->id;
}

guint
__wrap_g_timeout_add(guint interval_ms, GSourceFunc func, gpointer data)
{
    return add_timer(interval_ms, func, data, NULL);
}

guint
__wrap_g_timeout_add_full(G_GNUC_UNUSED int priority,
                          guint interval_ms,
                          GSourceFunc func,
                          gpointer data,
                          G_GNUC_UNUSED GDestroyNotify notify)
{
    return __wrap_g_timeout_add(interval_ms, func, data);
}

guint
__wrap_g_timeout_add_seconds(guint interval_secs, GSourceFunc func, gpointer data)
{
    return __wrap_g_timeout_add(1000 * interval_secs, func, data);
}

guint
__wrap_g_idle_add(GSourceFunc func, gpointer data)
{
    return add_timer(0, func, data, data);
}

gboolean
__wrap_g_idle_remove_by_data(gpointer data)
{
    GHashTableIter iter;
    gpointer idle_data;

    g_hash_table_iter_init(&iter, the_loop->timers);
    while (g_hash_table_iter_next(&iter, NULL, &idle_data))
        if (idle_data == data) {
            g_hash_table_iter_remove(&iter);
            return TRUE;
        }
    return FALSE;
}

gboolean
__wrap_g_source_remove(guint id)
{
    return g_hash_table_remove(the_loop->timers, GUINT_TO_POINTER(id));
}

gint64
__wrap_g_get_monotonic_time(void)
{
    return the_loop->now_us;
}

guint32
__wrap_g_random_int(void)
{
    return g_rand_int(the_loop->rand);
}

gint32
__wrap_g_random_int_range(gint32 begin, gint32 end)
{
    return g_rand_int_range(the_loop->rand, begin, end);
}

gint64
boot_time_get_us(void)
{
    return the_loop->now_us;
}

/* ---- sources with descriptors */

static void
run_later(gpointer source)
{
    g_ptr_array_add(the_loop->to_run, g_source_ref(source));
}

void
sim_loop_set_ready(int fd)
{
    GSource *source = g_hash_table_lookup(the_loop->by_fd, GINT_TO_POINTER(fd));

    if (source != NULL)
        run_later(source);
}

guint
__wrap_g_source_attach(GSource *source, G_GNUC_UNUSED GMainContext *context)
{
    run_later(source);
    return sim_loop_new_id();
}

gpointer
__wrap_g_source_add_unix_fd(GSource *source, int fd, G_GNUC_UNUSED GIOCondition events)
{
    g_hash_table_insert(the_loop->by_fd, GINT_TO_POINTER(fd), source);
    return GINT_TO_POINTER(fd);
}

void
__wrap_g_source_modify_unix_fd(G_GNUC_UNUSED GSource *source,
                               G_GNUC_UNUSED gpointer tag,
                               G_GNUC_UNUSED GIOCondition events)
{
}

void
__wrap_g_source_remove_unix_fd(G_GNUC_UNUSED GSource *source, gpointer tag)
{
    g_hash_table_remove(the_loop->by_fd, tag);
}

GIOCondition
__wrap_g_source_query_unix_fd(G_GNUC_UNUSED GSource *source, gpointer tag)
{
    return the_loop->poll(GPOINTER_TO_INT(tag));
}

/* Dispatches it as long as it has something to do. */
static void
run_source(GSource *source)
{
    int timeout_ms = -1;

    while (!g_source_is_destroyed(source) && (source->source_funcs->prepare(source, &timeout_ms) ||
                                              source->source_funcs->check(source)))
        source->source_funcs->dispatch(source, NULL, NULL);
    if (timeout_ms >= 0)
        sim_loop_add(the_loop, the_loop->now_us + timeout_ms * MS, run_later, g_source_ref(source),
                     (GDestroyNotify)g_source_unref);
}

static void
run_sources(SimLoop *loop)
{
    while (loop->to_run->len > 0) {
        g_autoptr(GSource) source = g_ptr_array_steal_index(loop->to_run, loop->to_run->len - 1);

        run_source(source);
    }
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
    ((Event *)g_sequence_get(first))->free_data = ignore;
    g_sequence_remove(first);
    loop->now_us = event.at_us;
    event.func(event.data);
    event.free_data(event.data);
    run_sources(loop);
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
