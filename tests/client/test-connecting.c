/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Connecting to buses to which connecting takes long: asynchronous calls do not block the main
 * loop, nor other threads that use the same agent, and fail in bounded time. */

#include <glib/gstdio.h>
#include <signal.h>
#include <stdlib.h>

#include "tests/client/fixture.h"
#include "tests/client/silent-bus.h"

/* As documented, and what a busy machine may take more. */
#define BOUND_US (25 * G_TIME_SPAN_SECOND)
#define SLACK_US (test_factor() * 20 * G_TIME_SPAN_SECOND)
/* Much shorter than that. */
#define SOON_US (test_factor() * 10 * G_TIME_SPAN_SECOND)

#define TICK_MS 10

/* ---- addresses */

/* A program that never prints the address of a bus. `main` has put it into the environment, which
 * must not change while threads read it. */
typedef struct {
    char *directory;
    char *program;
    char *pid_file;
} Launcher;

static Launcher launcher;

static void
launcher_init(Launcher *self)
{
    g_autofree char *script = NULL, *path = NULL;

    self->directory = g_dir_make_tmp("launcher-XXXXXX", NULL);
    self->program = g_build_filename(self->directory, "dbus-launch", NULL);
    self->pid_file = g_build_filename(self->directory, "pids", NULL);
    script = g_strdup_printf("#!/bin/sh\necho $$ >>%s\nexec sleep 1000\n", self->pid_file);
    g_assert_true(
        g_file_set_contents_full(self->program, script, -1, G_FILE_SET_CONTENTS_NONE, 0755, NULL));
    path = g_strconcat(self->directory, ":", g_getenv("PATH"), NULL);
    g_setenv("PATH", path, TRUE);
    g_setenv("DISPLAY", ":99", TRUE); /* required, and only passed on */
}

static void
launcher_kill_all(const Launcher *self)
{
    g_autofree char *pids = NULL;
    g_auto(GStrv) lines = NULL;

    g_file_get_contents(self->pid_file, &pids, NULL, NULL);
    lines = g_strsplit(pids != NULL ? pids : "", "\n", -1);
    for (guint i = 0; lines[i] != NULL; i++)
        if (lines[i][0] != '\0')
            kill((pid_t)g_ascii_strtoll(lines[i], NULL, 10), SIGKILL);
    g_unlink(self->pid_file);
}

static void
launcher_clear(Launcher *self)
{
    launcher_kill_all(self);
    g_unlink(self->program);
    g_rmdir(self->directory);
    g_free(self->directory);
    g_free(self->program);
    g_free(self->pid_file);
}

/* GLib refuses to start a bus without a machine id. */
static gboolean
can_launch(void)
{
    return g_file_test("/etc/machine-id", G_FILE_TEST_EXISTS) ||
           g_file_test("/var/lib/dbus/machine-id", G_FILE_TEST_EXISTS);
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
    g_autoptr(GError) error = NULL;
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
    g_assert_false(
        g_async_initable_init_finish(G_ASYNC_INITABLE(agent), answer_wait(&connected), &error));
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    g_assert_cmpint(g_get_monotonic_time() - begin_us, <, SOON_US);
    g_source_remove(source);
}

/* Buses that are stopped, by unix socket or TCP; the queue of connections may be full. */
static const struct {
    const char *path;
    gboolean is_full, is_tcp;
} silent_rows[] = {
    {"/connecting/unix", TRUE, FALSE},
    {"/connecting/tcp", TRUE, TRUE},
    {"/connecting/tcp-accepted", FALSE, TRUE},
};

static void
test_silent(gconstpointer index)
{
    const guint i = GPOINTER_TO_UINT(index);
    g_autoptr(SilentBus) bus = silent_bus_new(silent_rows[i].is_full, silent_rows[i].is_tcp);

    check_address(silent_bus_get_address(bus));
}

static void
test_launched(void)
{
    if (!can_launch()) {
        g_test_skip("there is no machine id");
        return;
    }
    check_address("autolaunch:");
    check_address("unix:path=/nonexistent/bus;autolaunch:");
    launcher_kill_all(&launcher);
}

/* The address of the session bus that is not in the environment any more. The last test. */
static void
test_launched_session_bus(void)
{
    g_autoptr(WebLocksAgent) agent = NULL;
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_autoptr(GError) error = NULL;
    g_auto(Answer) connected = {0};
    const gint64 begin_us = g_get_monotonic_time();

    if (!can_launch()) {
        g_test_skip("there is no machine id");
        return;
    }
    g_unsetenv("DBUS_SESSION_BUS_ADDRESS");
    agent = web_locks_agent_new(G_BUS_TYPE_SESSION, NULL);
    g_async_initable_init_async(G_ASYNC_INITABLE(agent), G_PRIORITY_DEFAULT, cancellable,
                                answer_take, &connected);
    g_assert_cmpint(g_get_monotonic_time() - begin_us, <, SOON_US);
    g_cancellable_cancel(cancellable);
    g_assert_false(
        g_async_initable_init_finish(G_ASYNC_INITABLE(agent), answer_wait(&connected), &error));
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

/* ---- time-outs */

/* The time-out of a request includes connecting. */
static void
test_request_times_out(void)
{
    g_autoptr(SilentBus) bus = silent_bus_new(FALSE, FALSE);
    g_autoptr(WebLocksAgent) agent =
        web_locks_agent_new(G_BUS_TYPE_NONE, silent_bus_get_address(bus));
    g_autoptr(WebLocksManager) manager = test_manager_of(agent);
    g_autoptr(WebLocksOptions) options = g_object_new(WEB_LOCKS_TYPE_OPTIONS, "timeout", 50, NULL);
    g_autoptr(GError) error = NULL;
    g_auto(Answer) answer = {0};

    g_assert_null(web_locks_manager_request_sync(manager, "a", options, NULL, &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT);
    web_locks_manager_request_async(manager, "a", options, NULL, answer_take, &answer);
    answer_expect_error(&answer, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT);
}

/* ---- all of them until the time-out */

static void
test_bound(void)
{
    g_autoptr(SilentBus) full = silent_bus_new(TRUE, FALSE);
    g_autoptr(SilentBus) tcp = silent_bus_new(TRUE, TRUE);
    const char *const addresses[] = {silent_bus_get_address(full), silent_bus_get_address(tcp),
                                     can_launch() ? "autolaunch:" : silent_bus_get_address(full)};
    WebLocksAgent *agents[G_N_ELEMENTS(addresses)];
    Answer answers[G_N_ELEMENTS(addresses)] = {{0}};
    const gint64 begin_us = g_get_monotonic_time();

    for (guint i = 0; i < G_N_ELEMENTS(addresses); i++) {
        agents[i] = web_locks_agent_new(G_BUS_TYPE_NONE, addresses[i]);
        g_async_initable_init_async(G_ASYNC_INITABLE(agents[i]), G_PRIORITY_DEFAULT, NULL,
                                    answer_take, &answers[i]);
    }
    for (guint i = 0; i < G_N_ELEMENTS(addresses); i++) {
        g_autoptr(GError) error = NULL;

        g_assert_false(g_async_initable_init_finish(G_ASYNC_INITABLE(agents[i]),
                                                    answer_wait(&answers[i]), &error));
        g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
        g_assert_cmpint(g_get_monotonic_time() - begin_us, <, BOUND_US + SLACK_US);
        answer_clear(&answers[i]);
        g_object_unref(agents[i]);
    }
    launcher_kill_all(&launcher);
}

/* ---- success, by each way */

static void
connect_to(const char *address)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksAgent) agent = web_locks_agent_new(G_BUS_TYPE_NONE, address);
    g_autoptr(WebLocksManager) manager = test_manager_of(agent);

    g_initable_init(G_INITABLE(agent), NULL, &error);
    g_assert_no_error(error);
    test_release(test_lock(manager, "a"));
}

/* A list is connected to in a thread. */
static void
test_lists(void)
{
    g_autofree char *last = g_strconcat("unix:path=/nonexistent/bus;", test_bus()->address, NULL);
    g_autofree char *first = g_strconcat(test_bus()->address, ";unix:path=/nonexistent/bus", NULL);

    connect_to(test_bus()->address);
    connect_to(last);
    connect_to(first);
}

static void
check_refused(const char *address)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksAgent) agent = web_locks_agent_new(G_BUS_TYPE_NONE, address);
    g_auto(Answer) answer = {0};

    g_assert_false(g_initable_init(G_INITABLE(agent), NULL, &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    g_clear_error(&error);
    g_async_initable_init_async(G_ASYNC_INITABLE(agent), G_PRIORITY_DEFAULT, NULL, answer_take,
                                &answer);
    g_assert_false(
        g_async_initable_init_finish(G_ASYNC_INITABLE(agent), answer_wait(&answer), &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
}

static void
test_refused(void)
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
                                     "tcp:host=127.0.0.1,port=1",
                                     "nonce-tcp:",
                                     "launchd:env=X",
                                     "unix:path=/a;;",
                                     too_long};

    for (guint i = 0; i < G_N_ELEMENTS(addresses); i++)
        check_refused(addresses[i]);
}

/* A bus whose queue is full for a while is connected to when it accepts again. */
static gboolean
has_accepted(gpointer bus)
{
    return silent_bus_accept(bus) > 0;
}

static void
test_full_for_a_while(void)
{
    g_autoptr(SilentBus) bus = silent_bus_new(TRUE, FALSE);
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
    launcher_init(&launcher);
    for (guint i = 0; i < G_N_ELEMENTS(silent_rows); i++)
        g_test_add_data_func(silent_rows[i].path, GUINT_TO_POINTER(i), test_silent);
    g_test_add_func("/connecting/launched", test_launched);
    g_test_add_func("/connecting/request-times-out", test_request_times_out);
    g_test_add_func("/connecting/bound", test_bound);
    g_test_add_func("/connecting/lists", test_lists);
    g_test_add_func("/connecting/refused", test_refused);
    g_test_add_func("/connecting/full-for-a-while", test_full_for_a_while);
    g_test_add_func("/connecting/launched-session-bus", test_launched_session_bus);
    status = test_run(NULL);
    launcher_clear(&launcher);
    return status;
}
