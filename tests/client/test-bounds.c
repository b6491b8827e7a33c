/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Every synchronous function of the library returns in bounded time, when the service is stopped
 * and when the bus does not answer; and a release that could not be answered in time takes effect
 * later. All functions wait at the same time, each in its own thread; no main loop runs. */

#include <string.h>

#include "tests/client/fixture.h"
#include "tests/client/silent-bus.h"
#include "tests/lib/case.h"

/* As documented, and what a busy machine may take more. */
#define BOUND_US (25 * G_TIME_SPAN_SECOND)
#define SLACK_US (test_factor() * 20 * G_TIME_SPAN_SECOND)

#define LOCK_NAME "held"

/* ---- the functions */

typedef struct {
    WebLocksAgent *agent;
    WebLocksManager *manager;
    WebLocksLock *lock; /* NULL on a bus that does not answer */
    const char *address;
} Subject;

static void
call_connect(const Subject *subject, GError **error)
{
    g_assert_false(g_initable_init(G_INITABLE(subject->agent), NULL, error));
}

/* The environment has the address of the silent bus. */
static void
call_connect_by_type(const Subject *subject, GError **error)
{
    g_autoptr(WebLocksAgent) agent = web_locks_agent_new(G_BUS_TYPE_SYSTEM, NULL);

    g_assert_false(g_initable_init(G_INITABLE(agent), NULL, error));
}

/* A request may wait for as long as somebody has the lock, so the service is not stopped here. */
static void
call_enter(const Subject *subject, GError **error)
{
    g_autoptr(WebLocksHandle) handle = web_locks_manager_prepare(subject->manager, "name", NULL);

    g_assert_false(web_locks_handle_enter_sync(handle, NULL, error));
}

static void
call_list_observable(const Subject *subject, GError **error)
{
    g_assert_null(web_locks_agent_list_observable_sync(subject->agent, NULL, error));
}

static void
call_release(const Subject *subject, GError **error)
{
    g_assert_false(web_locks_lock_release_sync(subject->lock, NULL, error));
}

static void
call_downgrade(const Subject *subject, GError **error)
{
    g_assert_false(web_locks_lock_downgrade_sync(subject->lock, NULL, error));
}

static void
call_break(const Subject *subject, GError **error)
{
    g_assert_cmpint(web_locks_manager_break_sync(subject->manager, "name", NULL, NULL, error), ==,
                    -1);
}

static void
call_inspect(const Subject *subject, GError **error)
{
    g_assert_null(web_locks_manager_inspect_sync(subject->manager, NULL, NULL, error));
}

static void
call_query(const Subject *subject, GError **error)
{
    g_assert_null(web_locks_manager_query_sync(subject->manager, NULL, error));
}

static void
request(const Subject *subject, WebLocksOptions *take_options, GError **error)
{
    g_autoptr(WebLocksOptions) options = take_options;

    g_assert_null(web_locks_manager_request_sync(subject->manager, "name", options, NULL, error));
}

static void
call_request(const Subject *subject, GError **error)
{
    request(subject, test_if_available(), error);
}

static void
call_steal(const Subject *subject, GError **error)
{
    request(subject, test_steal(), error);
}

static void
call_request_many(const Subject *subject, GError **error)
{
    static const char *const names[] = {"name", "other", NULL};
    g_autoptr(WebLocksOptions) options = test_if_available();

    g_assert_null(
        web_locks_manager_request_many_sync(subject->manager, names, options, NULL, error));
}

static void
call_monitor(const Subject *subject, GError **error)
{
    g_assert_null(web_locks_monitor_new_sync(subject->manager, NULL, error));
}

static void
call_monitor_all(const Subject *subject, GError **error)
{
    g_assert_null(web_locks_monitor_new_all_sync(subject->agent, NULL, error));
}

typedef enum {
    WITH_SERVICE = 1, /* the function waits for the service */
    WITH_BUS = 2,     /* the function may have to wait for the bus */
    WITH_ENVIRONMENT = 4,
} Conditions;

static const struct {
    const char *name;
    void (*call)(const Subject *subject, GError **error);
    Conditions conditions;
} functions[] = {
    {"g_initable_init", call_connect, WITH_BUS},
    {"g_initable_init", call_connect_by_type, WITH_ENVIRONMENT},
    {"web_locks_agent_list_observable_sync", call_list_observable, WITH_SERVICE | WITH_BUS},
    {"web_locks_handle_enter_sync", call_enter, WITH_BUS},
    {"web_locks_lock_downgrade_sync", call_downgrade, WITH_SERVICE},
    {"web_locks_lock_release_sync", call_release, WITH_SERVICE},
    {"web_locks_manager_break_sync", call_break, WITH_SERVICE | WITH_BUS},
    {"web_locks_manager_inspect_sync", call_inspect, WITH_SERVICE | WITH_BUS},
    {"web_locks_manager_query_sync", call_query, WITH_SERVICE | WITH_BUS},
    {"web_locks_manager_request_many_sync", call_request_many, WITH_SERVICE | WITH_BUS},
    {"web_locks_manager_request_sync", call_request, WITH_SERVICE | WITH_BUS},
    {"web_locks_manager_request_sync", call_steal, WITH_SERVICE | WITH_BUS},
    {"web_locks_monitor_new_sync", call_monitor, WITH_SERVICE | WITH_BUS},
    {"web_locks_monitor_new_all_sync", call_monitor_all, WITH_SERVICE | WITH_BUS},
};

/* ---- all functions at the same time */

typedef struct {
    guint function;
    const char *condition;
    Subject subject;
    GThread *thread;
    GError *error;
    gint64 took_us;
} Run;

static gpointer
run_function(gpointer data)
{
    Run *run = data;
    const gint64 begin_us = g_get_monotonic_time();

    functions[run->function].call(&run->subject, &run->error);
    run->took_us = g_get_monotonic_time() - begin_us;
    return NULL;
}

/* A socket is open, with a lock, or the agent is new. */
static void
add_run(GArray *runs, guint function, const char *condition, const char *address, gboolean is_open)
{
    Run *run;

    g_array_set_size(runs, runs->len + 1);
    run = &g_array_index(runs, Run, runs->len - 1);
    *run = (Run){.function = function, .condition = condition, .subject.address = address};
    run->subject.agent = web_locks_agent_new(G_BUS_TYPE_NONE, address);
    run->subject.manager = test_manager_of(run->subject.agent);
    if (is_open)
        run->subject.lock = test_lock(
            run->subject.manager, functions[function].call == call_release ? LOCK_NAME : condition);
}

static void
finish_run(Run *run)
{
    g_thread_join(run->thread);
    if (run->took_us < BOUND_US - G_TIME_SPAN_SECOND || run->took_us > BOUND_US + SLACK_US)
        g_error("%s with %s took %.1f s", functions[run->function].name, run->condition,
                (double)run->took_us / G_USEC_PER_SEC);
    g_assert_error(run->error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    g_clear_error(&run->error);
    g_clear_object(&run->subject.lock);
    g_object_unref(run->subject.manager);
    g_object_unref(run->subject.agent);
}

static void
add_all(GArray *runs, const char *condition, const char *address, Conditions conditions)
{
    for (guint i = 0; i < G_N_ELEMENTS(functions); i++)
        if (functions[i].conditions & conditions)
            add_run(runs, i, condition, address, FALSE);
}

static void
set_addresses(const char *address)
{
    g_setenv("DBUS_SYSTEM_BUS_ADDRESS", address, TRUE);
    g_setenv("DBUS_SESSION_BUS_ADDRESS", address, TRUE);
}

TEST("/bounds/every-function", test_every_function)
{
    g_autoptr(SilentBus) silent = silent_bus_new(FALSE);
    g_autoptr(WebLocksManager) waiter = test_manager_new(), observer = test_manager_new();
    g_autoptr(WebLocksLock) next = NULL;
    g_autoptr(GArray) runs = g_array_new(FALSE, FALSE, sizeof(Run));
    g_auto(Answer) waiting = {0};

    for (guint i = 0; i < G_N_ELEMENTS(functions); i++) {
        g_autofree char *name = g_strdup_printf("open socket %u", i);

        if (functions[i].conditions & WITH_SERVICE)
            add_run(runs, i, g_intern_string(name), test_bus()->address, TRUE);
    }
    answer_ask(&waiting, waiter, LOCK_NAME);
    test_settle(waiter);
    test_service_pause();
    for (guint i = 0; i < G_N_ELEMENTS(functions); i++)
        if (functions[i].conditions & WITH_SERVICE && functions[i].call != call_release &&
            functions[i].call != call_downgrade) /* these two need a lock */
            add_run(runs, i, "a new agent", test_bus()->address, FALSE);
    add_all(runs, "a silent bus", silent_bus_get_address(silent), WITH_BUS | WITH_ENVIRONMENT);
    set_addresses(silent_bus_get_address(silent));

    for (guint i = 0; i < runs->len; i++) {
        Run *run = &g_array_index(runs, Run, i);

        run->thread = g_thread_new("sync", run_function, run);
    }
    for (guint i = 0; i < runs->len; i++)
        finish_run(&g_array_index(runs, Run, i));
    set_addresses(test_bus()->address);

    g_assert_cmpuint(waiting.n_results, ==, 0);
    test_service_resume();
    next = answer_expect_lock(&waiting);
    test_wait_for_state(observer, LOCK_NAME " | ");
}

/* Every exported function whose name ends in _sync is in the table. */
static void
test_table(gconstpointer map)
{
    g_autofree char *text = NULL;
    g_autoptr(GMatchInfo) match = NULL;
    g_autoptr(GRegex) regex =
        no_error(g_regex_new("\\w+_sync\\b", G_REGEX_DEFAULT, G_REGEX_MATCH_DEFAULT, &test_error));
    guint n_found = 0;

    no_error(g_file_get_contents(map, &text, NULL, &test_error));
    for (g_regex_match(regex, text, G_REGEX_MATCH_DEFAULT, &match); g_match_info_matches(match);
         g_match_info_next(match, NULL)) {
        g_autofree char *name = g_match_info_fetch(match, 0);
        guint i = 0;

        while (i < G_N_ELEMENTS(functions) && strcmp(functions[i].name, name) != 0)
            i++;
        if (i == G_N_ELEMENTS(functions))
            g_error("%s has no test of its bound", name);
        n_found++;
    }
    g_assert_cmpuint(n_found, >, 8);
}

/* ---- a release that ran out of time */

/* The service is killed before it has read the release, and the next one restores the lock: it is
 * released all the same. */
TEST("/bounds/killed-before-release", test_killed)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), waiter = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(holder, "a"), next = NULL;
    g_auto(Answer) released = {0}, waiting = {0};

    answer_ask(&waiting, waiter, "a");
    test_settle(waiter);
    test_service_pause();
    web_locks_lock_release_async(lock, NULL, answer_take, &released);
    assert_fails(web_locks_lock_release_finish(lock, answer_wait(&released), &test_error),
                 WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    g_assert_false(web_locks_lock_get_held(lock));
    g_assert_null(web_locks_lock_get_error(lock));
    g_assert_cmpuint(waiting.n_results, ==, 0);
    test_service_kill();
    test_service_start();
    next = answer_expect_lock(&waiting);
    assert_state(waiter, "a | ");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    test_cases_add();
    g_assert_cmpint(argc, ==, 2);
    g_test_add_data_func("/bounds/table", argv[1], test_table);
    return test_run(NULL);
}
