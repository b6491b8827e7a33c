/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The service ends, by force or in good order, with everything under way: nothing hangs, and what
 * comes after works again. */

#include <glib/gstdio.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "tests/client/fixture.h"

#define N_WAITS 5

/* All that can be under way. */
typedef struct {
    WebLocksManager *manager;
    WebLocksLock *lock, *other;
    WebLocksMonitor *monitor;
    Losses losses, other_losses;
    Answer waits[N_WAITS];
    Answer in_flight, query, inspect, release, many;
} Load;

static void
load_start(Load *load)
{
    g_autoptr(GError) error = NULL;

    load->manager = test_manager_new();
    load->lock = test_lock(load->manager, "a");
    load->other = test_lock(load->manager, "b");
    load->monitor = web_locks_monitor_new_sync(load->manager, NULL, &error);
    g_assert_no_error(error);
    losses_watch(&load->losses, load->lock);
    losses_watch(&load->other_losses, load->other);
    for (guint i = 0; i < N_WAITS; i++)
        answer_ask(&load->waits[i], load->manager, "a");
    test_settle(load->manager);
}

/* Calls that get no answer any more. */
static void
load_call(Load *load)
{
    static const char *const names[] = {"x", "y", NULL};

    answer_ask(&load->in_flight, load->manager, "c");
    web_locks_manager_query_async(load->manager, NULL, answer_take, &load->query);
    web_locks_manager_inspect_async(load->manager, NULL, NULL, answer_take, &load->inspect);
    web_locks_lock_release_async(load->other, NULL, answer_take, &load->release);
    web_locks_manager_request_many_async(load->manager, names, NULL, NULL, answer_take,
                                         &load->many);
    test_iterate();
}

static void
load_check_calls(Load *load)
{
    g_autoptr(GError) error = NULL;

    answer_expect_error(&load->in_flight, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    g_assert_null(web_locks_manager_query_finish(load->manager, answer_wait(&load->query), &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    g_clear_error(&error);
    g_assert_null(
        web_locks_manager_inspect_finish(load->manager, answer_wait(&load->inspect), &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    g_clear_error(&error);
    g_assert_false(web_locks_lock_release_finish(load->other, answer_wait(&load->release), &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    g_clear_error(&error);
    g_assert_null(
        web_locks_manager_request_many_finish(load->manager, answer_wait(&load->many), &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    g_assert_cmpuint(load->other_losses.n_lost, ==, 0); /* it was given up before */
}

static void
load_check_lost(Load *load)
{
    g_autoptr(GError) error = NULL;

    for (guint i = 0; i < N_WAITS; i++)
        answer_expect_error(&load->waits[i], WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    test_wait(test_is_set, &load->losses.n_lost);
    g_assert_cmpstr(load->losses.reason, ==, "lost");
    g_assert_cmpuint(load->losses.n_held_notifies, ==, 1);
    g_assert_false(web_locks_lock_get_held(load->lock));
    g_assert_false(web_locks_lock_release_sync(load->lock, NULL, &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
}

/* The same agent goes on with the next service. */
static void
load_check_again(Load *load)
{
    g_autoptr(WebLocksLock) again = test_lock(load->manager, "a");

    g_assert_cmpuint(web_locks_lock_get_token(again), >, web_locks_lock_get_token(load->lock));
    assert_state(load->manager, "a | ");
    test_release(again);
    g_assert_cmpuint(load->losses.n_lost, ==, 1);
}

static void
load_end(Load *load)
{
    g_clear_object(&load->lock);
    g_clear_object(&load->other);
    g_clear_object(&load->monitor);
    g_clear_object(&load->manager);
    losses_clear(&load->losses);
    losses_clear(&load->other_losses);
    for (guint i = 0; i < N_WAITS; i++)
        answer_clear(&load->waits[i]);
    answer_clear(&load->in_flight);
    answer_clear(&load->query);
    answer_clear(&load->inspect);
    answer_clear(&load->release);
    answer_clear(&load->many);
}

static void
test_killed(void)
{
    Load load = {0};

    load_start(&load);
    test_service_pause();
    load_call(&load);
    test_service_kill();
    load_check_calls(&load);
    load_check_lost(&load);
    test_service_start();
    load_check_again(&load);
    load_end(&load);
}

static void
test_stopped(void)
{
    Load load = {0};

    load_start(&load);
    test_service_stop();
    load_check_lost(&load);
    g_assert_cmpstr(load.other_losses.reason, ==, "lost");
    test_service_start();
    load_check_again(&load);
    load_end(&load);
}

/* Sync calls wait for the service's word, or for its end. */
static gpointer
kill_when_waiting(gpointer data)
{
    kill(GPOINTER_TO_INT(data), SIGKILL);
    return NULL;
}

static void
test_killed_in_sync(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(GError) error = NULL;
    int pid = (int)g_ascii_strtoll(g_subprocess_get_identifier(test_bus()->service), NULL, 10);
    GThread *thread;

    test_service_pause(); /* so it answers nothing */
    thread = g_thread_new("killer", kill_when_waiting, GINT_TO_POINTER(pid));
    g_assert_null(web_locks_manager_request_sync(manager, "a", NULL, NULL, &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    g_thread_join(thread);
    test_service_kill();
    test_service_start();
}

static void
test_missing(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksLock) lock = NULL;
    g_autoptr(GError) error = NULL;
    g_auto(Answer) answer = {0};

    test_service_stop();
    g_assert_null(web_locks_manager_request_sync(manager, "a", NULL, NULL, &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    answer_ask(&answer, manager, "a");
    answer_expect_error(&answer, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    g_assert_true(web_locks_agent_get_connected(web_locks_manager_get_agent(manager)));
    test_service_start();
    lock = test_lock(manager, "a");
}

/* Those who were dropped or given up are no burden for it. */
static void
test_killed_with_dropped(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a");
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_auto(Answer) early = {0}, late = {0};

    web_locks_manager_request_async(manager, "a", NULL, cancellable, answer_take, &early);
    test_settle(manager);
    test_service_pause();
    web_locks_manager_request_async(manager, "b", NULL, cancellable, answer_take, &late);
    g_cancellable_cancel(cancellable);
    answer_expect_error(&early, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    answer_expect_error(&late, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    g_clear_object(&lock);
    test_service_kill();
    test_service_start();
    test_wait_for_state(manager, " | ");
}

/* ---- a bus that starts the service */

static const char activating_config[] =
    "<!DOCTYPE busconfig PUBLIC \"-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN\"\n"
    " \"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd\">\n"
    "<busconfig><type>session</type><listen>unix:path=%s/bus</listen><auth>EXTERNAL</auth>\n"
    "<servicedir>%s</servicedir>\n"
    "<policy context=\"default\"><allow send_destination=\"*\" eavesdrop=\"true\"/>\n"
    "<allow eavesdrop=\"true\"/><allow own=\"*\"/></policy>\n"
    "</busconfig>\n";

typedef struct {
    char *directory;
    char *address;
    GSubprocess *process;
} ActivatingBus;

static void
write_file(const char *directory, const char *name, const char *text)
{
    g_autofree char *path = g_build_filename(directory, name, NULL);

    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void
die_with_parent(gpointer data)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void
activating_bus_start(ActivatingBus *self)
{
    g_autoptr(GSubprocessLauncher) launcher =
        g_subprocess_launcher_new(G_SUBPROCESS_FLAGS_STDOUT_PIPE);
    g_autofree char *config = NULL, *service = NULL, *option = NULL;
    g_autoptr(GDataInputStream) output = NULL;
    g_autoptr(GError) error = NULL;

    self->directory = g_dir_make_tmp("weblocks-client-XXXXXX", NULL);
    config = g_strdup_printf(activating_config, self->directory, self->directory);
    service = g_strdup_printf("[D-BUS Service]\nName=org.w3.WebLocks\nExec=%s --idle-exit=0.02\n",
                              g_getenv("WEBLOCKSD"));
    write_file(self->directory, "bus.conf", config);
    write_file(self->directory, "org.w3.WebLocks.service", service);
    option = g_strdup_printf("--config-file=%s/bus.conf", self->directory);
    g_subprocess_launcher_set_child_setup(launcher, die_with_parent, NULL, NULL);
    self->process = g_subprocess_launcher_spawn(launcher, &error, "dbus-daemon", option, "--nofork",
                                                "--nopidfile", "--print-address", NULL);
    g_assert_no_error(error);
    output = g_data_input_stream_new(g_subprocess_get_stdout_pipe(self->process));
    self->address = g_data_input_stream_read_line(output, NULL, NULL, &error);
    g_assert_no_error(error);
}

static void
activating_bus_end(ActivatingBus *self)
{
    static const char *const files[] = {"bus", "bus.conf", "org.w3.WebLocks.service"};

    g_subprocess_send_signal(self->process, SIGTERM);
    g_subprocess_wait(self->process, NULL, NULL);
    g_object_unref(self->process);
    for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *path = g_build_filename(self->directory, files[i], NULL);

        g_unlink(path);
    }
    g_rmdir(self->directory);
    g_free(self->directory);
    g_free(self->address);
}

/* It leaves after 20 ms without work; we come with requests at about that moment, again and
 * again. Each is granted, by the one that is about to leave or by the next. */
static void
test_idle_exit(void)
{
    ActivatingBus bus = {0};
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksAgent) agent = NULL;
    g_autoptr(WebLocksManager) manager = NULL;
    guint64 token = 0;

    if (test_bus_is_broker()) {
        g_test_skip("this broker starts no services");
        return;
    }
    activating_bus_start(&bus);
    agent = web_locks_agent_new_for_address_sync(bus.address, NULL, &error);
    g_assert_no_error(error);
    manager = test_manager_of(agent);
    for (guint i = 0; i < 60; i++) {
        g_autoptr(WebLocksLock) lock = NULL;
        gint64 until = g_get_monotonic_time() + 15 * 1000 + i * 200;

        while (g_get_monotonic_time() < until)
            test_iterate();
        lock = web_locks_manager_request_sync(manager, "a", NULL, NULL, &error);
        g_assert_no_error(error);
        g_assert_true(web_locks_lock_get_held(lock));
        g_assert_cmpuint(web_locks_lock_get_token(lock), >, token);
        token = web_locks_lock_get_token(lock);
        test_release(lock);
    }
    g_clear_object(&manager);
    g_clear_object(&agent);
    test_iterate();
    activating_bus_end(&bus);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/service-gone/killed", test_killed);
    g_test_add_func("/service-gone/stopped", test_stopped);
    g_test_add_func("/service-gone/killed-in-a-sync-call", test_killed_in_sync);
    g_test_add_func("/service-gone/missing", test_missing);
    g_test_add_func("/service-gone/killed-with-dropped-ones", test_killed_with_dropped);
    g_test_add_func("/service-gone/leaves-when-idle", test_idle_exit);
    return test_run(NULL);
}
