/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Agents: creation, properties, closing. */

#include "tests/client/fixture.h"
#include "tests/lib/case.h"

static gboolean
is_null(gpointer data)
{
    return *(gpointer *)data == NULL;
}

/* ---- default agents */

TEST("/agent/default-by-bus-and-context", test_default)
{
    g_autoptr(WebLocksAgent) session = web_locks_agent_dup_default(G_BUS_TYPE_SESSION);
    g_autoptr(WebLocksAgent) again = web_locks_agent_dup_default(G_BUS_TYPE_SESSION);
    g_autoptr(WebLocksAgent) system = web_locks_agent_dup_default(G_BUS_TYPE_SYSTEM);
    g_autoptr(GMainContext) context = g_main_context_new();
    g_autoptr(WebLocksAgent) elsewhere = NULL;

    g_assert_true(session == again);
    g_assert_true(session != system);
    g_main_context_push_thread_default(context);
    elsewhere = web_locks_agent_dup_default(G_BUS_TYPE_SESSION);
    g_main_context_pop_thread_default(context);
    g_assert_true(elsewhere != session);
    g_assert_false(web_locks_agent_get_connected(session));
    g_assert_null(web_locks_agent_get_client_id(session));
}

TEST("/agent/default-is-freed", test_default_freed)
{
    WebLocksAgent *agent = web_locks_agent_dup_default(G_BUS_TYPE_SESSION);

    assert_done(g_initable_init(G_INITABLE(agent), NULL, &test_error));
    g_object_add_weak_pointer(G_OBJECT(agent), (gpointer *)&agent);
    g_object_unref(agent);
    test_iterate();
    g_assert_null(agent);
}

/* Nobody can close it under the other parts of the program. */
TEST("/agent/default-can-not-be-closed", test_default_stays_open)
{
    g_autoptr(WebLocksAgent) agent = web_locks_agent_dup_default(G_BUS_TYPE_SESSION);
    g_autoptr(WebLocksManager) manager = test_manager_of(agent);
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a");

    g_test_expect_message("WebLocks", G_LOG_LEVEL_CRITICAL, "*is_default*");
    web_locks_agent_close(agent);
    g_test_assert_expected_messages();
    g_assert_true(web_locks_lock_get_held(lock));
    g_assert_true(web_locks_agent_get_connected(agent));
    assert_state(manager, "a | ");
}

TEST("/agent/names-of-buckets", test_bucket_names)
{
    g_autoptr(WebLocksAgent) agent = test_agent_new();
    g_autofree char *longest = g_strnfill(255, 'b'), *too_long = g_strnfill(256, 'b');
    const char *const good[] = {"a", "default", "org.example.Editor", "-",
                                "/", " ",       "\xc3\xa4",           longest};
    const char *const bad[] = {"", "\xff", "\xef\xbf\xbf", too_long};

    for (guint i = 0; i < G_N_ELEMENTS(good); i++) {
        g_autoptr(WebLocksManager) manager = web_locks_manager_new(agent, good[i]);
        g_autoptr(WebLocksLock) lock = test_lock(manager, "a");

        g_assert_cmpstr(web_locks_manager_get_bucket(manager), ==, good[i]);
        g_assert_true(web_locks_manager_get_agent(manager) == agent);
    }
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(WebLocksManager) manager = web_locks_manager_new(agent, bad[i]);

        assert_fails(web_locks_manager_request_sync(manager, "a", NULL, NULL, &test_error),
                     G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT);
    }
}

/* The default bucket is that of the application; in other programs it is the same for all. */
TEST("/agent/default-bucket", test_default_bucket)
{
    g_autoptr(WebLocksManager) before = web_locks_manager_new(NULL, NULL);
    g_autoptr(GApplication) application =
        g_application_new("org.example.Bucket", G_APPLICATION_NON_UNIQUE);
    g_autoptr(GApplication) nameless = g_application_new(NULL, G_APPLICATION_NON_UNIQUE);
    g_autoptr(WebLocksManager) of_nameless = NULL, of_application = NULL, constructed = NULL;

    g_application_set_default(nameless);
    of_nameless = web_locks_manager_new(NULL, NULL);
    g_application_set_default(application);
    of_application = web_locks_manager_new(NULL, NULL);
    constructed = g_object_new(WEB_LOCKS_TYPE_MANAGER, NULL); /* as bindings create it */
    g_application_set_default(NULL);
    g_assert_cmpstr(web_locks_manager_get_bucket(before), ==, "default");
    g_assert_cmpstr(web_locks_manager_get_bucket(of_nameless), ==, "default");
    g_assert_cmpstr(web_locks_manager_get_bucket(of_application), ==, "org.example.Bucket");
    g_assert_cmpstr(web_locks_manager_get_bucket(constructed), ==, "org.example.Bucket");
}

/* The name of the bucket is checked by each operation. */
TEST("/agent/bad-bucket", test_bad_bucket)
{
    g_autoptr(WebLocksAgent) agent = test_agent_new();
    g_autoptr(WebLocksManager) bad = web_locks_manager_new(agent, "");
    g_auto(Answer) answer = {0};

    assert_fails(web_locks_manager_query_sync(bad, NULL, &test_error), G_IO_ERROR,
                 G_IO_ERROR_INVALID_ARGUMENT);
    assert_fails(web_locks_manager_break_sync(bad, "a", NULL, NULL, &test_error) >= 0, G_IO_ERROR,
                 G_IO_ERROR_INVALID_ARGUMENT);
    assert_fails(web_locks_monitor_new_sync(bad, NULL, &test_error), G_IO_ERROR,
                 G_IO_ERROR_INVALID_ARGUMENT);
    assert_fails(web_locks_monitor_new_for_name(bad, "a", &test_error), G_IO_ERROR,
                 G_IO_ERROR_INVALID_ARGUMENT);
    web_locks_monitor_new_async(bad, NULL, answer_take, &answer);
    assert_fails(web_locks_monitor_new_finish(answer_wait(&answer), &test_error), G_IO_ERROR,
                 G_IO_ERROR_INVALID_ARGUMENT);
}

/* ---- connecting */

static void
count_notify(GObject *object, GParamSpec *pspec, gpointer n_notifies)
{
    ++*(guint *)n_notifies;
}

TEST("/agent/notify", test_notify)
{
    g_autoptr(WebLocksAgent) agent = web_locks_agent_new(G_BUS_TYPE_SESSION, NULL);
    g_autofree char *client_id = NULL;
    gboolean connected = FALSE;
    guint n_connected = 0, n_client_id = 0;
    g_auto(Answer) answer = {0};

    g_signal_connect(agent, "notify::connected", G_CALLBACK(count_notify), &n_connected);
    g_signal_connect(agent, "notify::client-id", G_CALLBACK(count_notify), &n_client_id);
    g_async_initable_init_async(G_ASYNC_INITABLE(agent), G_PRIORITY_DEFAULT, NULL, answer_take,
                                &answer);
    assert_done(
        g_async_initable_init_finish(G_ASYNC_INITABLE(agent), answer_wait(&answer), &test_error));
    test_wait(test_is_set, &n_connected);
    test_wait(test_is_set, &n_client_id);
    g_object_get(agent, "connected", &connected, "client-id", &client_id, NULL);
    g_assert_true(connected);
    g_assert_cmpstr(client_id, ==, web_locks_agent_get_client_id(agent));
    g_assert_true(g_str_has_prefix(client_id, ":"));

    n_connected = 0;
    web_locks_agent_close(agent);
    g_assert_false(web_locks_agent_get_connected(agent));
    g_assert_cmpuint(n_connected, ==, 0); /* never emitted within a call */
    test_wait(test_is_set, &n_connected);
    g_assert_cmpstr(web_locks_agent_get_client_id(agent), ==, client_id); /* it keeps its last id */
}

static gboolean
is_running(gpointer agent)
{
    return web_locks_agent_get_service_running(agent);
}

static gboolean
is_not_running(gpointer agent)
{
    return !is_running(agent);
}

/* Whether the service is there, also while the agent has nothing to do with it. */
TEST("/agent/service-running", test_service_running)
{
    g_autoptr(WebLocksAgent) agent = web_locks_agent_new(G_BUS_TYPE_SESSION, NULL);
    gboolean running = TRUE;
    guint n_notifies = 0;

    g_assert_false(web_locks_agent_get_service_running(agent)); /* it is not connected yet */
    assert_done(g_initable_init(G_INITABLE(agent), NULL, &test_error));
    g_assert_true(web_locks_agent_get_service_running(agent));
    test_iterate();

    g_signal_connect(agent, "notify::service-running", G_CALLBACK(count_notify), &n_notifies);
    test_service_stop();
    test_wait(is_not_running, agent);
    test_wait(test_is_set, &n_notifies);
    g_object_get(agent, "service-running", &running, NULL);
    g_assert_false(running);
    g_assert_true(web_locks_agent_get_connected(agent));

    n_notifies = 0;
    test_service_start();
    test_wait(is_running, agent);
    test_wait(test_is_set, &n_notifies);

    n_notifies = 0;
    web_locks_agent_close(agent);
    g_assert_false(web_locks_agent_get_service_running(agent));
    test_wait(test_is_set, &n_notifies);
}

TEST("/agent/connect-cancelled", test_connect_cancelled)
{
    g_autoptr(WebLocksAgent) agent = web_locks_agent_dup_default(G_BUS_TYPE_SESSION);
    g_autoptr(GCancellable) before = g_cancellable_new(), during = g_cancellable_new();
    g_auto(Answer) answer = {0};

    g_cancellable_cancel(before);
    assert_fails(g_initable_init(G_INITABLE(agent), before, &test_error), G_IO_ERROR,
                 G_IO_ERROR_CANCELLED);
    g_async_initable_init_async(G_ASYNC_INITABLE(agent), G_PRIORITY_DEFAULT, during, answer_take,
                                &answer);
    g_cancellable_cancel(during);
    assert_fails(
        g_async_initable_init_finish(G_ASYNC_INITABLE(agent), answer_wait(&answer), &test_error),
        G_IO_ERROR, G_IO_ERROR_CANCELLED);
    assert_done(g_initable_init(G_INITABLE(agent), NULL, &test_error)); /* it can still connect */
}

/* ---- closing */

static gboolean
is_empty(gpointer list)
{
    return g_list_model_get_n_items(list) == 0;
}

TEST("/agent/close", test_close)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), manager = test_manager_new();
    WebLocksAgent *agent = web_locks_manager_get_agent(manager);
    g_autoptr(WebLocksLock) held = test_lock(holder, "a"), lock = test_lock(manager, "b");
    g_auto(Losses) losses = {0};
    g_auto(Answer) waiting = {0}, asked = {0}, query = {0}, after = {0};
    g_autoptr(WebLocksMonitor) monitor =
        no_error(web_locks_monitor_new_sync(manager, NULL, &test_error));

    losses_watch(&losses, lock);
    answer_ask(&waiting, manager, "a");
    test_settle(manager);
    answer_ask(&asked, manager, "a");
    web_locks_manager_query_async(manager, NULL, answer_take, &query);
    web_locks_agent_close(agent);
    answer_ask(&after, manager, "d");
    answer_expect_error(&waiting, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_CLOSED);
    answer_expect_error(&asked, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_CLOSED);
    assert_fails(web_locks_manager_query_finish(manager, answer_wait(&query), &test_error),
                 WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_CLOSED);
    answer_expect_error(&after, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE);
    test_wait(test_is_set, &losses.n_lost);
    g_assert_cmpstr(losses.reason, ==, "terminated");
    test_wait(is_empty, web_locks_monitor_get_held(monitor));
    test_wait_for_state(holder, "a | ");

    web_locks_agent_close(agent);
    assert_fails(web_locks_manager_request_sync(manager, "a", NULL, NULL, &test_error),
                 WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE);
}

TEST("/agent/close-unused", test_close_unused)
{
    g_autoptr(GMainContext) context = g_main_context_new();
    g_autoptr(WebLocksAgent) agent = NULL;

    g_main_context_push_thread_default(context);
    agent = web_locks_agent_new(G_BUS_TYPE_SESSION, NULL);
    web_locks_agent_close(agent);
    assert_fails(g_initable_init(G_INITABLE(agent), NULL, &test_error), WEB_LOCKS_ERROR,
                 WEB_LOCKS_ERROR_INVALID_STATE);
    g_clear_object(&agent);
    test_iterate();
    g_main_context_pop_thread_default(context);
}

/* Only locks and pending calls keep an agent alive. */
TEST("/agent/dropped-while-waiting", test_dropped_while_waiting)
{
    g_autoptr(WebLocksManager) holder = test_manager_new();
    g_autoptr(WebLocksLock) held = test_lock(holder, "a"), lock = NULL;
    WebLocksManager *manager = test_manager_new();
    g_auto(Answer) waiting = {0};

    answer_ask(&waiting, manager, "a");
    test_settle(manager);
    g_object_add_weak_pointer(G_OBJECT(manager), (gpointer *)&manager);
    g_object_unref(manager); /* the pending call has a reference */
    test_release(held);
    lock = answer_expect_lock(&waiting);
    answer_clear(&waiting);
    test_wait(is_null, &manager);
    assert_state(holder, "a | ");
}

/* A separate bus, which is terminated. */
TEST("/agent/bus-terminates", test_bus_terminates)
{
    PrivateBus *bus = private_bus_new();
    const char *const limits[] = {NULL};
    g_autoptr(WebLocksAgent) agent = NULL;
    g_autoptr(WebLocksManager) manager = NULL, again = NULL;
    g_autoptr(WebLocksMonitor) monitor = NULL;
    g_autoptr(WebLocksLock) lock = NULL;
    guint n_connected = 0;
    g_auto(Losses) losses = {0};
    g_auto(Answer) waiting = {0}, query = {0};

    private_bus_start_service(bus, limits);
    agent = web_locks_agent_new(G_BUS_TYPE_NONE, bus->address);
    manager = test_manager_of(agent);
    lock = test_lock(manager, "a");
    monitor = no_error(web_locks_monitor_new_sync(manager, NULL, &test_error));
    losses_watch(&losses, lock);
    g_signal_connect(agent, "notify::connected", G_CALLBACK(count_notify), &n_connected);
    answer_ask(&waiting, manager, "a");
    test_settle(manager);
    web_locks_manager_query_async(manager, NULL, answer_take, &query);

    private_bus_stop_service(bus);
    n_connected = 0; /* without the notification of the connection */
    private_bus_free(bus);
    test_wait(test_is_set, &losses.n_lost);
    answer_expect_error(&waiting, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    answer_wait(&query);
    test_wait(test_is_set, &n_connected);
    g_assert_false(web_locks_agent_get_connected(agent));
    assert_fails(web_locks_manager_request_sync(manager, "a", NULL, NULL, &test_error),
                 WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    test_wait(is_empty, web_locks_monitor_get_held(monitor));
}

TEST_MAIN(test_run(NULL))
