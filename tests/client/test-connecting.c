/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Connecting to buses to which connecting takes long: asynchronous calls do not block the main
 * loop, nor other threads that use the same agent, and fail in bounded time. Which address is
 * connected to. */

#include <glib/gstdio.h>
#include <unistd.h>

#include "tests/client/fixture.h"
#include "tests/client/silent-bus.h"
#include "tests/lib/case.h"

/* As documented, and what a busy machine may take more. */
#define BOUND_US (25 * G_TIME_SPAN_SECOND)
#define SLACK_US (test_factor() * 20 * G_TIME_SPAN_SECOND)
/* Much shorter than that. */
#define SOON_US (test_factor() * 10 * G_TIME_SPAN_SECOND)

#define TICK_MS 10

/* ---- the environment */

/* The directory of the user's session bus, which is first in PATH, too. It has a program that
 * starts buses, but does not print the address of one. `main` has put it into the environment,
 * which must not change while threads read it. */
static char *directory;

static char *
get_path(const char *name)
{
    return g_build_filename(directory, name, NULL);
}

static void
environment_init(void)
{
    g_autofree char *script = NULL, *program = NULL, *started = NULL, *path = NULL;

    directory = g_dir_make_tmp("connecting-XXXXXX", NULL);
    program = get_path("dbus-launch");
    started = get_path("started");
    script = g_strdup_printf("#!/bin/sh\n>>%s\n", started);
    g_assert_true(
        g_file_set_contents_full(program, script, -1, G_FILE_SET_CONTENTS_NONE, 0755, NULL));
    path = g_strconcat(directory, ":", g_getenv("PATH"), NULL);
    g_setenv("PATH", path, TRUE);
    g_setenv("DISPLAY", ":99", TRUE); /* GLib starts the program only with one */
    g_setenv("XDG_RUNTIME_DIR", directory, TRUE);
}

static void
environment_clear(void)
{
    static const char *const names[] = {"dbus-launch", "started", "bus"};

    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = get_path(names[i]);

        g_unlink(path);
    }
    g_rmdir(directory);
    g_free(directory);
}

/* ---- the main loop */

static gboolean
on_tick(gpointer n_ticks)
{
    ++*(guint *)n_ticks;
    return G_SOURCE_CONTINUE;
}

typedef struct {
    guint *n_ticks;
    guint n_wanted;
} Ticks;

static gboolean
have_passed(gpointer data)
{
    const Ticks *ticks = data;

    return *ticks->n_ticks >= ticks->n_wanted;
}

static gpointer
is_connected_in_thread(gpointer agent)
{
    return GINT_TO_POINTER(web_locks_agent_get_connected(agent));
}

/* ---- one address at a time */

static void
check_address(const char *address)
{
    g_autoptr(WebLocksManager) other = test_manager_new(), manager = NULL;
    g_autoptr(WebLocksAgent) agent = web_locks_agent_new(G_BUS_TYPE_NONE, address);
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_auto(Answer) connected = {0}, requested = {0};
    guint n_ticks = 0, source = g_timeout_add(TICK_MS, on_tick, &n_ticks);
    Ticks ticks = {&n_ticks, 20};
    const gint64 begin_us = g_get_monotonic_time();

    manager = test_manager_of(agent);
    g_async_initable_init_async(G_ASYNC_INITABLE(agent), G_PRIORITY_DEFAULT, cancellable,
                                answer_take, &connected);
    web_locks_manager_request_async(manager, "a", NULL, cancellable, answer_take, &requested);
    g_assert_cmpint(g_get_monotonic_time() - begin_us, <, SOON_US);
    test_wait(have_passed, &ticks);
    test_release(test_lock(other, "b"));
    g_assert_null(g_thread_join(g_thread_new("other", is_connected_in_thread, agent)));
    g_assert_cmpuint(connected.n_results + requested.n_results, ==, 0);

    g_cancellable_cancel(cancellable);
    answer_expect_error(&requested, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    assert_fails(
        g_async_initable_init_finish(G_ASYNC_INITABLE(agent), answer_wait(&connected), &test_error),
        G_IO_ERROR, G_IO_ERROR_CANCELLED);
    g_assert_cmpint(g_get_monotonic_time() - begin_us, <, SOON_US);
    g_source_remove(source);
}

/* A bus that is stopped; the queue of connections may be full. */
static void
test_silent(gconstpointer is_full)
{
    g_autoptr(SilentBus) bus = silent_bus_new(GPOINTER_TO_INT(is_full));

    check_address(silent_bus_get_address(bus));
}

/* ---- time-outs */

/* The time-out of a request includes connecting. */
TEST("/connecting/request-times-out", test_request_times_out)
{
    g_autoptr(SilentBus) bus = silent_bus_new(FALSE);
    g_autoptr(WebLocksAgent) agent =
        web_locks_agent_new(G_BUS_TYPE_NONE, silent_bus_get_address(bus));
    g_autoptr(WebLocksManager) manager = test_manager_of(agent);
    g_autoptr(WebLocksOptions) options = g_object_new(WEB_LOCKS_TYPE_OPTIONS, "timeout", 50, NULL);
    g_auto(Answer) answer = {0};

    assert_fails(web_locks_manager_request_sync(manager, "a", options, NULL, &test_error),
                 WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT);
    web_locks_manager_request_async(manager, "a", options, NULL, answer_take, &answer);
    answer_expect_error(&answer, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT);
}

TEST("/connecting/bound", test_bound)
{
    g_autoptr(SilentBus) full = silent_bus_new(TRUE), silent = silent_bus_new(FALSE);
    g_autofree char *list =
        g_strconcat(silent_bus_get_address(full), ";unix:path=/nonexistent/bus", NULL);
    const char *const addresses[] = {silent_bus_get_address(full), silent_bus_get_address(silent),
                                     list};
    WebLocksAgent *agents[G_N_ELEMENTS(addresses)];
    Answer answers[G_N_ELEMENTS(addresses)] = {{0}};
    const gint64 begin_us = g_get_monotonic_time();

    for (guint i = 0; i < G_N_ELEMENTS(addresses); i++) {
        agents[i] = web_locks_agent_new(G_BUS_TYPE_NONE, addresses[i]);
        g_async_initable_init_async(G_ASYNC_INITABLE(agents[i]), G_PRIORITY_DEFAULT, NULL,
                                    answer_take, &answers[i]);
    }
    for (guint i = 0; i < G_N_ELEMENTS(addresses); i++) {
        assert_fails(g_async_initable_init_finish(G_ASYNC_INITABLE(agents[i]),
                                                  answer_wait(&answers[i]), &test_error),
                     WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
        g_assert_cmpint(g_get_monotonic_time() - begin_us, <, BOUND_US + SLACK_US);
        answer_clear(&answers[i]);
        g_object_unref(agents[i]);
    }
}

/* ---- which address */

static void
connect_to(const char *address)
{
    g_autoptr(WebLocksAgent) agent = web_locks_agent_new(G_BUS_TYPE_NONE, address);
    g_autoptr(WebLocksManager) manager = test_manager_of(agent);

    no_error(g_initable_init(G_INITABLE(agent), NULL, &test_error));
    test_release(test_lock(manager, "a"));
}

/* The first one that can be connected to. */
TEST("/connecting/lists", test_lists)
{
    g_autofree char *last = g_strconcat("unix:path=/nonexistent/bus;tcp:host=127.0.0.1,port=1;",
                                        test_bus()->address, NULL);
    g_autofree char *first = g_strconcat(test_bus()->address, ";unix:path=/nonexistent/bus", NULL);
    g_autoptr(SilentBus) full = silent_bus_new(TRUE);
    g_autofree char *behind_full =
        g_strconcat(silent_bus_get_address(full), ";", test_bus()->address, NULL);

    connect_to(test_bus()->address);
    connect_to(last);
    connect_to(first);
    connect_to(behind_full);
}

static void
check_refused(const char *address)
{
    g_autoptr(WebLocksAgent) agent = web_locks_agent_new(G_BUS_TYPE_NONE, address);
    g_auto(Answer) answer = {0};

    assert_fails(g_initable_init(G_INITABLE(agent), NULL, &test_error), WEB_LOCKS_ERROR,
                 WEB_LOCKS_ERROR_UNAVAILABLE);
    g_async_initable_init_async(G_ASYNC_INITABLE(agent), G_PRIORITY_DEFAULT, NULL, answer_take,
                                &answer);
    assert_fails(
        g_async_initable_init_finish(G_ASYNC_INITABLE(agent), answer_wait(&answer), &test_error),
        WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
}

TEST("/connecting/refused", test_refused)
{
    g_autofree char *long_name = g_strnfill(200, 'x');
    g_autofree char *too_long = g_strconcat("unix:path=/", long_name, NULL);
    const char *const addresses[] = {"",
                                     "unix:",
                                     "unix",
                                     "unix:path=",
                                     "unix:path",
                                     "unix:path=/nonexistent/bus",
                                     "unix:abstract=weblocks-nonexistent",
                                     "unix:path=%zz",
                                     "unix:path=/a,abstract=b",
                                     "unix:path=/a,path=/b",
                                     "unix:tmpdir=/tmp",
                                     "unix:path=/a,color=red",
                                     "nonsense",
                                     "nonsense:key=value",
                                     "disabled:",
                                     "unixexec:path=/bin/false",
                                     "autolaunch:",
                                     "tcp:host=127.0.0.1,port=1",
                                     "nonce-tcp:",
                                     "launchd:env=X",
                                     "unix:path=/a;;",
                                     too_long};

    for (guint i = 0; i < G_N_ELEMENTS(addresses); i++)
        check_refused(addresses[i]);
}

/* Without an address in the environment, that of the session bus is a socket in the user's runtime
 * directory. No program is started if there is none. The last test. */
TEST("/connecting/session-bus", test_session_bus)
{
    g_autoptr(WebLocksAgent) agent = NULL;
    g_autofree char *started = get_path("started"), *bus = get_path("bus");
    g_auto(GStrv) parts = g_strsplit_set(test_bus()->address, "=,", 3);

    g_unsetenv("DBUS_SESSION_BUS_ADDRESS");
    agent = web_locks_agent_new(G_BUS_TYPE_SESSION, NULL);
    assert_fails(g_initable_init(G_INITABLE(agent), NULL, &test_error), WEB_LOCKS_ERROR,
                 WEB_LOCKS_ERROR_UNAVAILABLE);
    check_refused("autolaunch:");
    g_assert_false(g_file_test(started, G_FILE_TEST_EXISTS));

    g_assert_cmpint(symlink(parts[1], bus), ==, 0);
    no_error(g_initable_init(G_INITABLE(agent), NULL, &test_error));
}

/* A bus whose queue is full for a while is connected to when it accepts again. */
static gboolean
has_accepted(gpointer bus)
{
    return silent_bus_accept(bus) > 0;
}

TEST("/connecting/full-for-a-while", test_full_for_a_while)
{
    g_autoptr(SilentBus) bus = silent_bus_new(TRUE);
    g_autoptr(WebLocksAgent) agent =
        web_locks_agent_new(G_BUS_TYPE_NONE, silent_bus_get_address(bus));
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_auto(Answer) connected = {0};
    guint n_ticks = 0, source = g_timeout_add(TICK_MS, on_tick, &n_ticks);
    Ticks ticks = {&n_ticks, 5};

    g_async_initable_init_async(G_ASYNC_INITABLE(agent), G_PRIORITY_DEFAULT, cancellable,
                                answer_take, &connected);
    test_wait(have_passed, &ticks);
    test_wait(has_accepted, bus);
    g_cancellable_cancel(cancellable);
    answer_wait(&connected);
    g_source_remove(source);
}

int
main(int argc, char **argv)
{
    int status;

    g_test_init(&argc, &argv, NULL);
    test_cases_add();
    environment_init();
    g_test_add_data_func("/connecting/full", GINT_TO_POINTER(TRUE), test_silent);
    g_test_add_data_func("/connecting/silent", GINT_TO_POINTER(FALSE), test_silent);
    status = test_run(NULL);
    environment_clear();
    return status;
}
