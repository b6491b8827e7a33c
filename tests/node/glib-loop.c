/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* An embedder, as Electron is one: GLib's main loop runs, on the default main context, and
 * Node.js's event loop is a source of it. A module for Node.js can do this while the script is
 * loaded, when Node.js itself doesn't run its event loop yet.
 *
 * run(tick) returns when nothing keeps the event loop alive: how many times a timer of GLib has
 * expired, and how many times this was inside the dispatch of another source, which is by whoever
 * else runs the default context. `tick` is process._tickCallback, which Node.js calls itself only
 * in its outermost callback. */

#include <glib.h>
#include <node_api.h>
#include <uv.h>

typedef struct {
    GSource source;
    GMainLoop *loop;
    uv_loop_t *events;
    gpointer fd_tag;
    napi_env env;
    napi_value receiver, tick;
} EventsSource;

static gboolean
prepare(GSource *source, int *out_timeout_ms)
{
    const EventsSource *self = (EventsSource *)source;

    *out_timeout_ms = uv_backend_timeout(self->events);
    return *out_timeout_ms == 0;
}

static gboolean
check(GSource *source)
{
    const EventsSource *self = (EventsSource *)source;

    uv_update_time(self->events);
    return g_source_query_unix_fd(source, self->fd_tag) != 0 ||
           uv_backend_timeout(self->events) == 0;
}

static gboolean
dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    const EventsSource *self = (EventsSource *)source;

    uv_run(self->events, UV_RUN_NOWAIT);
    napi_call_function(self->env, self->receiver, self->tick, 0, NULL, NULL);
    if (!uv_loop_alive(self->events))
        g_main_loop_quit(self->loop);
    return G_SOURCE_CONTINUE;
}

static GSourceFuncs source_funcs = {prepare, check, dispatch, NULL, NULL, NULL};

typedef struct {
    guint n_expired, n_nested;
} Timer;

static gboolean
on_timer(gpointer data)
{
    Timer *timer = data;

    timer->n_expired++;
    timer->n_nested += g_main_depth() != 1;
    return G_SOURCE_CONTINUE;
}

static void
set(napi_env env, napi_value object, const char *name, guint32 number)
{
    napi_value value = NULL;

    napi_create_uint32(env, number, &value);
    napi_set_named_property(env, object, name, value);
}

static napi_value
run(napi_env env, napi_callback_info info)
{
    EventsSource *source = (EventsSource *)g_source_new(&source_funcs, sizeof *source);
    Timer timer = {0};
    const guint timer_id = g_timeout_add(1, on_timer, &timer);
    napi_value result = NULL;
    size_t n_arguments = 1;

    source->env = env;
    napi_get_undefined(env, &source->receiver);
    napi_get_cb_info(env, info, &n_arguments, &source->tick, NULL, NULL);
    source->loop = g_main_loop_new(NULL, FALSE);
    napi_get_uv_event_loop(env, &source->events);
    source->fd_tag = g_source_add_unix_fd(&source->source, uv_backend_fd(source->events), G_IO_IN);
    g_source_attach(&source->source, NULL);
    g_main_loop_run(source->loop);
    g_main_loop_unref(source->loop);
    g_source_destroy(&source->source);
    g_source_unref(&source->source);
    g_source_remove(timer_id);
    napi_create_object(env, &result);
    set(env, result, "expired", timer.n_expired);
    set(env, result, "nested", timer.n_nested);
    return result;
}

NAPI_MODULE_EXPORT napi_value napi_register_module_v1(napi_env env, napi_value exports);

napi_value
napi_register_module_v1(napi_env env, napi_value exports)
{
    napi_value function = NULL;

    napi_create_function(env, "run", NAPI_AUTO_LENGTH, run, NULL, &function);
    napi_set_named_property(env, exports, "run", function);
    return exports;
}
