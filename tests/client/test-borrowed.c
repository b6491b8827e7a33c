/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Agents on a bus connection of the application: they don't affect the application's use of it, and
 * leave nothing on it when they end before the connection. */

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/bus-names.h"
#include "tests/client/fixture.h"

static WebLocksAgent *
agent_of(GDBusConnection *connection)
{
    g_autoptr(GError) error = NULL;
    WebLocksAgent *agent = web_locks_agent_new_for_connection(connection, &error);

    g_assert_no_error(error);
    g_assert_nonnull(agent);
    return agent;
}

static WebLocksManager *
manager_of(GDBusConnection *connection)
{
    g_autoptr(WebLocksAgent) agent = agent_of(connection);

    return test_manager_of(agent);
}

/* The application's own traffic. */
static void
ping(GDBusConnection *connection)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GVariant) reply = g_dbus_connection_call_sync(
        connection, BUS_DRIVER_NAME, BUS_DRIVER_PATH, BUS_DRIVER_INTERFACE, "GetId", NULL,
        G_VARIANT_TYPE("(s)"), G_DBUS_CALL_FLAGS_NONE, -1, NULL, &error);

    g_assert_no_error(error);
    g_assert_nonnull(reply);
}

static void
connection_end(GDBusConnection *connection)
{
    g_autoptr(GError) error = NULL;

    ping(connection);
    g_assert_true(g_dbus_connection_close_sync(connection, NULL, &error));
    g_assert_no_error(error);
}

/* ---- which agent is returned */

static void
test_same(void)
{
    g_autoptr(GDBusConnection) connection = private_bus_connect(test_bus());
    g_autoptr(WebLocksAgent) one = agent_of(connection), two = agent_of(connection);
    WebLocksAgent *three;

    g_assert_true(one == two);
    g_assert_cmpstr(web_locks_agent_get_client_id(one), ==,
                    g_dbus_connection_get_unique_name(connection));
    g_assert_true(web_locks_agent_get_connected(one));
    web_locks_agent_close(one);
    g_assert_false(web_locks_agent_get_connected(one));
    three = agent_of(connection);
    g_assert_true(one != three);
    g_object_add_weak_pointer(G_OBJECT(three), (gpointer *)&three);
    g_object_unref(three);
    g_assert_null(three);
    connection_end(connection);
}

static void
test_other_context(void)
{
    g_autoptr(GDBusConnection) connection = private_bus_connect(test_bus());
    g_autoptr(WebLocksAgent) agent = agent_of(connection), other = NULL;
    g_autoptr(GMainContext) context = g_main_context_new();
    g_autoptr(GError) error = NULL;

    g_main_context_push_thread_default(context);
    g_assert_null(web_locks_agent_new_for_connection(connection, &error));
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT);
    web_locks_agent_close(agent);
    other = agent_of(connection); /* the agent of the other context has been freed */
    g_clear_object(&other);
    g_main_context_pop_thread_default(context);
    connection_end(connection);
}

static void
test_no_bus(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GSocket) socket = NULL;
    g_autoptr(GSocketConnection) stream = NULL;
    g_autoptr(GDBusConnection) connection = NULL;
    int fds[2];

    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), ==, 0);
    socket = g_socket_new_from_fd(fds[0], &error);
    g_assert_no_error(error);
    stream = g_socket_connection_factory_create_connection(socket);
    connection = g_dbus_connection_new_sync(G_IO_STREAM(stream), NULL, G_DBUS_CONNECTION_FLAGS_NONE,
                                            NULL, NULL, &error);
    g_assert_no_error(error);
    g_assert_null(web_locks_agent_new_for_connection(connection, &error));
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT);
    close(fds[1]);
}

/* ---- the application's own use */

static gboolean
has_50(gpointer n_signals)
{
    return *(guint *)n_signals == 50;
}

static void
on_pong(GObject *source, GAsyncResult *result, gpointer n_pongs)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GVariant) reply =
        g_dbus_connection_call_finish(G_DBUS_CONNECTION(source), result, &error);

    g_assert_no_error(error);
    ++*(guint *)n_pongs;
}

static void
test_application_traffic(void)
{
    g_autoptr(GDBusConnection) connection = private_bus_connect(test_bus());
    g_autoptr(GDBusConnection) emitter = private_bus_connect(test_bus());
    g_autoptr(WebLocksManager) manager = manager_of(connection);
    g_autoptr(GError) error = NULL;
    const char *own_name = g_dbus_connection_get_unique_name(connection);
    guint n_signals = 0, n_pongs = 0;
    guint subscription = g_dbus_connection_signal_subscribe(
        connection, NULL, "org.example.Test", "Signal", NULL, NULL, G_DBUS_SIGNAL_FLAGS_NONE,
        test_count_signal, &n_signals, NULL);

    ping(connection); /* the subscription is complete */
    for (guint i = 0; i < 50; i++) {
        g_autoptr(WebLocksLock) lock = NULL, next = NULL;
        g_auto(Answer) first = {0}, second = {0};

        g_assert_true(g_dbus_connection_emit_signal(emitter, own_name, "/", "org.example.Test",
                                                    "Signal", NULL, &error));
        answer_ask(&first, manager, "a");
        g_dbus_connection_call(connection, BUS_DRIVER_NAME, BUS_DRIVER_PATH, BUS_DRIVER_INTERFACE,
                               "GetId", NULL, NULL, G_DBUS_CALL_FLAGS_NONE, -1, NULL, on_pong,
                               &n_pongs);
        answer_ask(&second, manager, "a");
        lock = answer_expect_lock(&first);
        test_settle(manager);
        g_assert_cmpuint(second.n_results, ==, 0);
        g_clear_object(&lock);
        next = answer_expect_lock(&second);
    }
    test_wait(has_50, &n_signals);
    test_wait(has_50, &n_pongs);
    g_dbus_connection_signal_unsubscribe(connection, subscription);
    g_clear_object(&manager);
    connection_end(connection);
    g_dbus_connection_close_sync(emitter, NULL, NULL);
}

/* The first operation of an agent, each with a separate connection. */
static void
test_first_use(void)
{
    for (guint i = 0; i < 4; i++) {
        g_autoptr(GDBusConnection) connection = private_bus_connect(test_bus());
        g_autoptr(WebLocksAgent) agent = agent_of(connection);
        g_autoptr(WebLocksManager) manager = test_manager_of(agent);
        g_autoptr(WebLocksLock) lock = NULL;
        g_autoptr(GError) error = NULL;
        g_auto(Answer) answer = {0};

        switch (i) {
        case 0:
            lock = test_lock(manager, "a");
            assert_state(manager, "a | ");
            break;
        case 1:
            answer_ask(&answer, manager, "a");
            lock = answer_expect_lock(&answer);
            break;
        case 2:
            web_locks_agent_connect_async(agent, NULL, answer_take, &answer);
            g_assert_true(web_locks_agent_connect_finish(agent, answer_wait(&answer), &error));
            break;
        default:
            assert_state(manager, " | ");
            break;
        }
        g_assert_no_error(error);
    }
}

static void
test_monitor(void)
{
    g_autoptr(GDBusConnection) connection = private_bus_connect(test_bus());
    g_autoptr(WebLocksManager) manager = manager_of(connection), other = test_manager_new();
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksMonitor) monitor = web_locks_monitor_new_sync(manager, NULL, &error);
    g_autoptr(WebLocksLock) lock = NULL;
    guint n_changes = 0;

    g_assert_no_error(error);
    g_signal_connect_swapped(web_locks_monitor_get_held(monitor), "items-changed",
                             G_CALLBACK(g_atomic_int_inc), &n_changes);
    lock = test_lock(other, "a");
    test_wait(test_is_set, &n_changes);
    g_assert_cmpuint(g_list_model_get_n_items(web_locks_monitor_get_held(monitor)), ==, 1);
}

/* ---- end of the agent */

typedef enum {
    END_CLOSE,
    END_UNREF,
} End;

static void
end_agent(WebLocksManager *manager, WebLocksLock *lock, gconstpointer how)
{
    if (GPOINTER_TO_INT(how) == END_CLOSE)
        web_locks_agent_close(web_locks_manager_get_agent(manager));
    g_object_unref(lock);
    g_object_unref(manager);
}

/* Its locks are released, though the connection stays open. */
static void
test_end(gconstpointer how)
{
    g_autoptr(GDBusConnection) connection = private_bus_connect(test_bus());
    g_autoptr(WebLocksManager) other = test_manager_new(), next = NULL;
    WebLocksManager *manager = manager_of(connection);
    WebLocksLock *lock = test_lock(manager, "a");
    g_autoptr(WebLocksLock) held = test_lock(other, "b"), again = NULL;
    g_auto(Answer) waiting = {0}, given_up = {0};

    answer_ask(&waiting, other, "a");
    test_settle(other);
    if (GPOINTER_TO_INT(how) == END_CLOSE) {
        answer_ask(&given_up, manager, "b");
        test_settle(manager);
    }
    end_agent(manager, lock, how);
    if (GPOINTER_TO_INT(how) == END_CLOSE)
        answer_expect_error(&given_up, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_ABORT);
    g_object_unref(answer_expect_lock(&waiting));
    test_wait_for_state(other, "b | ");
    ping(connection);

    next = manager_of(connection);
    again = test_lock(next, "a");
    assert_state(other, "a b | ");
    g_clear_object(&again);
    g_clear_object(&next);
    connection_end(connection);
}

/* The same while no service is running. */
static void
test_end_while_away(gconstpointer how)
{
    g_autoptr(GDBusConnection) connection = private_bus_connect(test_bus());
    g_autoptr(WebLocksManager) other = test_manager_new();
    WebLocksManager *manager = manager_of(connection);
    WebLocksLock *lock = test_lock(manager, "a");
    g_autoptr(WebLocksLock) next = NULL;
    g_auto(Answer) waiting = {0};

    answer_ask(&waiting, other, "a");
    test_settle(other);
    test_service_kill();
    end_agent(manager, lock, how);
    test_iterate();
    test_service_start();
    next = answer_expect_lock(&waiting);
    assert_state(other, "a | ");
    connection_end(connection);
}

/* The next agent of the connection starts before END of the last one was sent. */
static void
test_next_while_away(gconstpointer how)
{
    g_autoptr(GDBusConnection) connection = private_bus_connect(test_bus());
    g_autoptr(WebLocksManager) other = test_manager_new(), manager = NULL;
    WebLocksManager *last = manager_of(connection);
    WebLocksLock *lock = test_lock(last, "a");
    g_autoptr(WebLocksLock) next = NULL, own = NULL;
    g_auto(Answer) waiting = {0};

    answer_ask(&waiting, other, "a");
    test_settle(other);
    test_service_kill();
    end_agent(last, lock, how);
    manager = manager_of(connection);
    test_service_start();
    own = test_lock(manager, "b");
    next = answer_expect_lock(&waiting);
    assert_state(other, "a b | ");
    g_assert_true(web_locks_lock_get_held(own));
    g_clear_object(&own);
    g_clear_object(&manager);
    connection_end(connection);
}

/* The agent ends while the service is stopped, which reads its messages when it continues. */
static void
test_end_while_stopped(gconstpointer how)
{
    g_autoptr(GDBusConnection) connection = private_bus_connect(test_bus());
    g_autoptr(WebLocksManager) other = test_manager_new();
    WebLocksManager *manager = manager_of(connection);
    WebLocksLock *lock = test_lock(manager, "a");

    test_service_pause();
    end_agent(manager, lock, how);
    test_service_resume();
    test_wait_for_state(other, " | ");
    connection_end(connection);
}

/* The service is killed before it reads that the agent has ended. */
static void
test_end_unread(gconstpointer how)
{
    g_autoptr(GDBusConnection) connection = private_bus_connect(test_bus());
    g_autoptr(WebLocksManager) other = test_manager_new();
    WebLocksManager *manager = manager_of(connection);
    WebLocksLock *lock = test_lock(manager, "a");
    g_autoptr(WebLocksLock) next = NULL;
    g_auto(Answer) waiting = {0};

    answer_ask(&waiting, other, "a");
    test_settle(other);
    test_service_pause();
    end_agent(manager, lock, how);
    test_service_kill();
    test_service_start();
    next = answer_expect_lock(&waiting);
    connection_end(connection);
}

/* The application closes its connection. */
static void
test_connection_closed(void)
{
    g_autoptr(GDBusConnection) connection = private_bus_connect(test_bus());
    g_autoptr(WebLocksManager) other = test_manager_new(), manager = manager_of(connection);
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a"), next = NULL;
    g_autoptr(GError) error = NULL;
    g_auto(Losses) losses = {0};
    g_auto(Answer) waiting = {0};

    losses_watch(&losses, lock);
    answer_ask(&waiting, other, "a");
    test_settle(other);
    g_assert_true(g_dbus_connection_close_sync(connection, NULL, &error));
    g_assert_no_error(error);
    next = answer_expect_lock(&waiting);
    test_wait(test_is_set, &losses.n_lost);
    g_assert_false(web_locks_agent_get_connected(web_locks_manager_get_agent(manager)));
    g_assert_null(web_locks_manager_request_sync(manager, "b", NULL, NULL, &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
}

/* The same before the agent has used it. */
static void
test_closed_before_use(void)
{
    g_autoptr(GDBusConnection) connection = private_bus_connect(test_bus());
    g_autoptr(WebLocksManager) manager = manager_of(connection);
    g_autoptr(GError) error = NULL;
    g_auto(Answer) answer = {0};

    connection_end(connection);
    test_iterate();
    answer_ask(&answer, manager, "a");
    answer_expect_error(&answer, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    g_assert_null(web_locks_manager_query_sync(manager, NULL, &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
}

static void
test_service_restarts(void)
{
    g_autoptr(GDBusConnection) connection = private_bus_connect(test_bus());
    g_autoptr(WebLocksManager) manager = manager_of(connection), other = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a"), next = NULL;
    g_auto(Answer) waiting = {0};

    answer_ask(&waiting, manager, "a");
    test_settle(manager);
    for (guint i = 0; i < 3; i++) {
        test_service_kill();
        test_service_start();
        test_wait_for_state(other, "a | a");
        g_assert_true(web_locks_lock_get_held(lock));
    }
    test_release(lock);
    next = answer_expect_lock(&waiting);
    ping(connection);
}

/* ---- fork() */

/* Descriptors of the program that holds a lock. */
#define TO_TEST   113
#define FROM_TEST 114

static const char *program;

/* Another program: holds "a" on its own connection, and forks a child; both report when they are
 * ready. They exit when the test closes its end. */
static int
hold_and_fork(const char *bucket, const char *address)
{
    g_autoptr(GDBusConnection) connection = NULL;
    WebLocksAgent *agent;
    WebLocksManager *manager;
    WebLocksLock *lock;
    char byte = 0;

    connection =
        g_dbus_connection_new_for_address_sync(address,
                                               G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT |
                                                   G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION,
                                               NULL, NULL, NULL);
    agent = web_locks_agent_new_for_connection(connection, NULL);
    manager = web_locks_agent_get_manager(agent, bucket, NULL);
    lock = web_locks_manager_request_sync(manager, "a", NULL, NULL, NULL);
    if (lock == NULL || fork() < 0)
        _exit(1);
    _exit(write(TO_TEST, &byte, 1) != 1 || read(FROM_TEST, &byte, 1) < 0);
}

static void
test_fork(void)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksLock) lock = NULL;
    g_auto(Answer) answer = {0};
    int from_child[2], to_child[2], status;
    char bytes[2];
    pid_t pid;

    g_assert_cmpint(pipe(from_child), ==, 0);
    g_assert_cmpint(pipe(to_child), ==, 0);
    pid = fork();
    g_assert_cmpint(pid, >=, 0);
    if (pid == 0) {
        close(to_child[1]);
        dup2(from_child[1], TO_TEST);
        dup2(to_child[0], FROM_TEST);
        close(from_child[1]);
        execl(program, program, "--hold", test_bucket(), test_bus()->address, NULL);
        _exit(1);
    }
    close(from_child[1]);
    close(to_child[0]);
    for (guint i = 0; i < 2; i++)
        g_assert_cmpint(read(from_child[0], &bytes[i], 1), ==, 1);
    answer_ask(&answer, manager, "a");
    test_settle(manager);
    g_assert_cmpuint(answer.n_results, ==, 0);
    kill(pid, SIGKILL);
    lock = answer_expect_lock(&answer); /* although the holder's child is still running */
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    close(to_child[1]);
    g_assert_cmpint(read(from_child[0], bytes, 1), ==, 0);
    close(from_child[0]);
}

/* ---- main */

static void
add(const char *name, GTestDataFunc func)
{
    g_autofree char *closed = g_strdup_printf("/borrowed/%s/close", name);
    g_autofree char *dropped = g_strdup_printf("/borrowed/%s/unref", name);

    g_test_add_data_func(closed, GINT_TO_POINTER(END_CLOSE), func);
    g_test_add_data_func(dropped, GINT_TO_POINTER(END_UNREF), func);
}

int
main(int argc, char **argv)
{
    if (argc == 4 && g_str_equal(argv[1], "--hold"))
        return hold_and_fork(argv[2], argv[3]);
    program = argv[0];
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/borrowed/same-agent", test_same);
    g_test_add_func("/borrowed/another-context", test_other_context);
    g_test_add_func("/borrowed/no-bus", test_no_bus);
    g_test_add_func("/borrowed/application-traffic", test_application_traffic);
    g_test_add_func("/borrowed/first-use", test_first_use);
    g_test_add_func("/borrowed/monitor", test_monitor);
    add("end", test_end);
    add("end-while-the-service-is-away", test_end_while_away);
    add("next-while-the-service-is-away", test_next_while_away);
    add("end-while-the-service-stands-still", test_end_while_stopped);
    add("end-that-the-service-does-not-read", test_end_unread);
    g_test_add_func("/borrowed/connection-closed", test_connection_closed);
    g_test_add_func("/borrowed/closed-before-use", test_closed_before_use);
    g_test_add_func("/borrowed/service-restarts", test_service_restarts);
    g_test_add_func("/borrowed/fork", test_fork);
    return test_run(NULL);
}
