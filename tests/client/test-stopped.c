/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A service that is stopped (SIGSTOP): time-outs expire nevertheless, cancelled requests are
 * withdrawn when the service continues, and operations that need no reply do not wait. */

#include "tests/client/fixture.h"
#include "tests/lib/case.h"

#define TIMEOUT_MS 100
/* The library's own time-out is 250 ms after the service's; a machine may stall. */
#define LATEST_US (test_factor() * 5 * G_TIME_SPAN_SECOND)

static WebLocksOptions *
options_new(gboolean steal)
{
    return g_object_new(WEB_LOCKS_TYPE_OPTIONS, "timeout", TIMEOUT_MS, "steal", steal, NULL);
}

static void
assert_passed(gint64 begin_us)
{
    const gint64 passed_us = g_get_monotonic_time() - begin_us;

    g_assert_cmpint(passed_us, >=, TIMEOUT_MS * G_TIME_SPAN_MILLISECOND);
    g_assert_cmpint(passed_us, <, LATEST_US);
}

/* Its socket is open; only connected; not connected. */
typedef enum {
    AGENT_OPEN,
    AGENT_CONNECTED,
    AGENT_NEW,
} AgentState;

static WebLocksManager *
manager_in(AgentState state)
{
    g_autoptr(WebLocksAgent) agent = web_locks_agent_new(G_BUS_TYPE_NONE, test_bus()->address);
    WebLocksManager *manager = test_manager_of(agent);
    g_autoptr(GError) error = NULL;

    if (state == AGENT_OPEN)
        test_release(test_lock(manager, "before"));
    test_service_pause();
    if (state == AGENT_CONNECTED)
        g_assert_true(g_initable_init(G_INITABLE(agent), NULL, &error));
    g_assert_no_error(error);
    return manager;
}

static void
test_timeout(gconstpointer state)
{
    g_autoptr(WebLocksManager) observer = test_manager_new();
    g_autoptr(WebLocksManager) manager = manager_in((AgentState)GPOINTER_TO_INT(state));
    g_autoptr(WebLocksOptions) options = options_new(FALSE);
    g_auto(Answer) answer = {0};
    gint64 begin_us = g_get_monotonic_time();

    assert_fails(web_locks_manager_request_sync(manager, "a", options, NULL, &test_error),
                 WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT);
    assert_passed(begin_us);
    begin_us = g_get_monotonic_time();
    web_locks_manager_request_async(manager, "b", options, NULL, answer_take, &answer);
    answer_expect_error(&answer, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT);
    assert_passed(begin_us);

    test_service_resume();
    test_wait_for_state(observer, " | ");
    g_object_unref(test_lock(manager, "a"));
}

/* Many requests with different time-outs end in that order. */
TEST("/stopped/timeouts", test_many)
{
    g_autoptr(WebLocksManager) manager = manager_in(AGENT_OPEN);
    Answer answers[20] = {{0}};

    for (guint i = 0; i < G_N_ELEMENTS(answers); i++) {
        g_autoptr(WebLocksOptions) options = g_object_new(
            WEB_LOCKS_TYPE_OPTIONS, "timeout", 10 * (guint)(G_N_ELEMENTS(answers) - i), NULL);

        web_locks_manager_request_async(manager, "a", options, NULL, answer_take, &answers[i]);
    }
    for (guint i = G_N_ELEMENTS(answers); i-- > 0;) {
        answer_expect_error(&answers[i], WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT);
        answer_clear(&answers[i]);
    }
    test_service_resume();
    test_wait_for_state(manager, " | ");
}

/* More than the kernel queues: the rest is sent when there is space. */
TEST("/stopped/dropped", test_dropped)
{
    g_autoptr(WebLocksManager) observer = test_manager_new();
    g_autoptr(WebLocksAgent) agent = test_agent_new();
    g_autoptr(WebLocksManager) manager = test_manager_of(agent);
    g_autoptr(GPtrArray) locks = g_ptr_array_new_with_free_func(g_object_unref);
    const gint64 begin_us = g_get_monotonic_time();

    for (guint i = 0; i < 1000; i++) {
        g_autofree char *name = g_strdup_printf("%u", i);

        g_ptr_array_add(locks, test_lock(manager, name));
    }
    test_service_pause();
    g_ptr_array_set_size(locks, 0);
    g_assert_cmpint(g_get_monotonic_time() - begin_us, <, LATEST_US);
    test_service_resume();
    test_wait_for_state(observer, " | ");
}

/* A program that exits does not wait. */
TEST("/stopped/closed", test_closed)
{
    g_autoptr(WebLocksManager) observer = test_manager_new();
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a");
    const gint64 begin_us = g_get_monotonic_time();

    test_service_pause();
    web_locks_agent_close(web_locks_manager_get_agent(manager));
    g_clear_object(&lock);
    g_clear_object(&manager);
    g_assert_cmpint(g_get_monotonic_time() - begin_us, <, LATEST_US);
    test_service_resume();
    test_wait_for_state(observer, " | ");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    test_cases_add();
    g_test_add_data_func("/stopped/timeout", GINT_TO_POINTER(AGENT_OPEN), test_timeout);
    g_test_add_data_func("/stopped/timeout-when-connected", GINT_TO_POINTER(AGENT_CONNECTED),
                         test_timeout);
    g_test_add_data_func("/stopped/timeout-when-new", GINT_TO_POINTER(AGENT_NEW), test_timeout);
    return test_run(NULL);
}
