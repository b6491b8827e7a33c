/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The window of weblocks-viewer in a program that measures it. Started by test_viewer_scale.py, it
 * waits until the list has as many rows as its argument says, and then reads commands from its
 * standard input, each a word and a number of seconds. For each it writes one line of JSON, with
 * all times of a kind in ms:
 *
 * idle     processor time
 * scroll   scrolls through the list, a third of a page in each frame: processor time,
 *          also of each frame, and intervals of frames
 * changes  processor time, and for each lock that comes and whose name is "change-" and the
 *          monotonic time in us, the time until a frame with it has been painted */

#include <adwaita.h>
#include <stdlib.h>
#include <time.h>

#include "viewer/entry.h"
#include "viewer/window.h"

static struct {
    guint n_rows_wanted;
    GtkWidget *window;
    GtkListView *list;
    char command[16];
    gint64 start_us;
    gint64 start_cpu_us;
    gint64 paint_cpu_us; /* at the start of the frame that is being painted */
    gint64 last_frame_us;
    GArray *intervals_us;
    GArray *frames_cpu_us;
    GArray *pending_us; /* the times of changes that have not been painted */
    GArray *lags_us;
    guint tick;
} bench;

static gint64
read_cpu_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (gint64)now.tv_sec * G_USEC_PER_SEC + now.tv_nsec / 1000;
}

static void
print(const char *name, GArray *values_us)
{
    g_print(", \"%s\": [", name);
    for (guint i = 0; i < values_us->len; i++)
        g_print("%s%.3f", i > 0 ? ", " : "", (double)g_array_index(values_us, gint64, i) / 1000);
    g_print("]");
}

static GtkWidget *
find_list(GtkWidget *widget)
{
    GtkWidget *found = GTK_IS_LIST_VIEW(widget) ? widget : NULL;

    for (GtkWidget *child = gtk_widget_get_first_child(widget); child != NULL && found == NULL;
         child = gtk_widget_get_next_sibling(child))
        found = find_list(child);
    return found;
}

/* ---- measurements */

static void
on_before_paint(GdkFrameClock *clock)
{
    bench.paint_cpu_us = read_cpu_us();
}

static void
on_after_paint(GdkFrameClock *clock)
{
    const gint64 now_us = g_get_monotonic_time();
    const gint64 cpu_us = read_cpu_us() - bench.paint_cpu_us;

    g_array_append_val(bench.frames_cpu_us, cpu_us);
    for (guint i = 0; i < bench.pending_us->len; i++) {
        const gint64 lag_us = now_us - g_array_index(bench.pending_us, gint64, i);

        g_array_append_val(bench.lags_us, lag_us);
    }
    g_array_set_size(bench.pending_us, 0);
}

static void
on_items_changed(GListModel *rows, guint position, guint removed, guint added)
{
    for (guint i = 0; i < added; i++) {
        g_autoptr(GtkTreeListRow) row = g_list_model_get_item(rows, position + i);
        g_autoptr(GObject) item = gtk_tree_list_row_get_item(row);
        const char *name = VIEWER_IS_ENTRY(item) ? VIEWER_ENTRY(item)->resource->name : "";

        if (g_str_has_prefix(name, "change-")) {
            const gint64 us = g_ascii_strtoll(name + strlen("change-"), NULL, 10);

            g_array_append_val(bench.pending_us, us);
        }
    }
}

static gboolean
on_tick(GtkWidget *widget, GdkFrameClock *clock, gpointer unused)
{
    const gint64 now_us = g_get_monotonic_time();
    const gint64 interval_us = now_us - bench.last_frame_us;

    if (bench.last_frame_us > 0)
        g_array_append_val(bench.intervals_us, interval_us);
    bench.last_frame_us = now_us;
    if (g_str_equal(bench.command, "scroll")) {
        GtkAdjustment *adjustment = gtk_scrollable_get_vadjustment(GTK_SCROLLABLE(bench.list));
        const double last =
            gtk_adjustment_get_upper(adjustment) - gtk_adjustment_get_page_size(adjustment);
        const double next =
            gtk_adjustment_get_value(adjustment) + gtk_adjustment_get_page_size(adjustment) / 3;

        gtk_adjustment_set_value(adjustment, next < last ? next : 0);
    }
    return G_SOURCE_CONTINUE;
}

/* ---- commands */

static gboolean
on_end(gpointer unused)
{
    const double wall_s = (double)(g_get_monotonic_time() - bench.start_us) / G_USEC_PER_SEC;
    const double cpu_s = (double)(read_cpu_us() - bench.start_cpu_us) / G_USEC_PER_SEC;

    if (bench.tick != 0)
        gtk_widget_remove_tick_callback(bench.window, bench.tick);
    bench.tick = 0;
    g_print("{\"seconds\": %.3f, \"cpu\": %.4f", wall_s, cpu_s);
    print("interval", bench.intervals_us);
    print("frame_cpu", bench.frames_cpu_us);
    print("lag", bench.lags_us);
    g_print("}\n");
    return G_SOURCE_REMOVE;
}

static gboolean
on_command(GIOChannel *input, GIOCondition condition, gpointer unused)
{
    g_autofree char *line = NULL;
    guint seconds;

    if (g_io_channel_read_line(input, &line, NULL, NULL, NULL) != G_IO_STATUS_NORMAL ||
        sscanf(line, "%15s %u", bench.command, &seconds) != 2)
        exit(0);
    bench.last_frame_us = 0;
    g_array_set_size(bench.intervals_us, 0);
    g_array_set_size(bench.frames_cpu_us, 0);
    g_array_set_size(bench.pending_us, 0);
    g_array_set_size(bench.lags_us, 0);
    bench.start_us = g_get_monotonic_time();
    bench.start_cpu_us = read_cpu_us();
    if (!g_str_equal(bench.command, "idle"))
        bench.tick = gtk_widget_add_tick_callback(bench.window, on_tick, NULL, NULL);
    g_timeout_add_seconds(seconds, on_end, NULL);
    return G_SOURCE_CONTINUE;
}

/* When all rows are there, and the resulting work is done. */
static gboolean
on_ready(gpointer unused)
{
    GdkFrameClock *clock = gtk_widget_get_frame_clock(bench.window);

    if (g_list_model_get_n_items(G_LIST_MODEL(gtk_list_view_get_model(bench.list))) <
        bench.n_rows_wanted)
        return G_SOURCE_CONTINUE;
    g_signal_connect(clock, "before-paint", G_CALLBACK(on_before_paint), NULL);
    g_signal_connect(clock, "after-paint", G_CALLBACK(on_after_paint), NULL);
    g_signal_connect(gtk_list_view_get_model(bench.list), "items-changed",
                     G_CALLBACK(on_items_changed), NULL);
    g_io_add_watch(g_io_channel_unix_new(0), G_IO_IN | G_IO_HUP, on_command, NULL);
    g_print("{\"cpu\": %.3f}\n", (double)read_cpu_us() / G_USEC_PER_SEC);
    return G_SOURCE_REMOVE;
}

static void
on_activate(GtkApplication *application)
{
    bench.window = GTK_WIDGET(viewer_window_new(application));
    bench.list = GTK_LIST_VIEW(find_list(bench.window));
    gtk_window_present(GTK_WINDOW(bench.window));
    g_timeout_add(100, on_ready, NULL);
}

int
main(int argc, char **argv)
{
    g_autoptr(AdwApplication) application =
        adw_application_new("org.example.BenchViewer", G_APPLICATION_NON_UNIQUE);

    bench.n_rows_wanted = argc > 1 ? (guint)atoi(argv[1]) : 0;
    bench.intervals_us = g_array_new(FALSE, FALSE, sizeof(gint64));
    bench.frames_cpu_us = g_array_new(FALSE, FALSE, sizeof(gint64));
    bench.pending_us = g_array_new(FALSE, FALSE, sizeof(gint64));
    bench.lags_us = g_array_new(FALSE, FALSE, sizeof(gint64));
    setvbuf(stdout, NULL, _IOLBF, 0);
    g_signal_connect(application, "activate", G_CALLBACK(on_activate), NULL);
    return g_application_run(G_APPLICATION(application), 1, argv);
}
