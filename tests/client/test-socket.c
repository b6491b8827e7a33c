/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The lock socket with the real service: lock operations never use the bus; which process has the
 * socket; a main loop that does not run. */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/bus-names.h"
#include "tests/client/fixture.h"
#include "tests/lib/case.h"

/* ---- messages on the bus */

static struct {
    GDBusConnection *connection;
    GMutex mutex;
    GPtrArray *lines; /* "SENDER MEMBER", of each call and signal of the lock interfaces */
    guint n_marks;
} eavesdropper;

/* Called in GDBus's thread. It receives copies of messages to others, and must reply to none. */
static GDBusMessage *
on_message(GDBusConnection *connection, GDBusMessage *message, gboolean incoming, gpointer data)
{
    const char *interface = g_dbus_message_get_interface(message);
    const char *member = g_dbus_message_get_member(message);

    if (!incoming || g_strcmp0(g_dbus_message_get_destination(message),
                               g_dbus_connection_get_unique_name(connection)) == 0)
        return message;
    g_mutex_lock(&eavesdropper.mutex);
    if (g_strcmp0(member, "Mark") == 0)
        eavesdropper.n_marks++;
    else if (interface != NULL && g_str_has_prefix(interface, BUS_LOCKS_INTERFACE))
        g_ptr_array_add(eavesdropper.lines,
                        g_strdup_printf("%s %s",
                                        g_dbus_message_get_message_type(message) ==
                                                G_DBUS_MESSAGE_TYPE_METHOD_CALL
                                            ? g_dbus_message_get_sender(message)
                                            : g_dbus_message_get_destination(message),
                                        member));
    g_mutex_unlock(&eavesdropper.mutex);
    g_main_context_wakeup(NULL);
    g_object_unref(message);
    return NULL;
}

static void
eavesdropper_start(void)
{
    g_autoptr(GVariant) reply = NULL;

    eavesdropper.lines = g_ptr_array_new_with_free_func(g_free);
    eavesdropper.connection = private_bus_connect(test_bus());
    g_dbus_connection_add_filter(eavesdropper.connection, on_message, NULL, NULL);
    reply = no_error(g_dbus_connection_call_sync(
        eavesdropper.connection, BUS_DRIVER_NAME, BUS_DRIVER_PATH,
        "org.freedesktop.DBus.Monitoring", "BecomeMonitor", g_variant_new_parsed("(@as [], @u 0)"),
        NULL, G_DBUS_CALL_FLAGS_NONE, -1, NULL, &test_error));
}

static gboolean
has_mark(gpointer n_marks)
{
    gboolean has;

    g_mutex_lock(&eavesdropper.mutex);
    has = eavesdropper.n_marks >= *(guint *)n_marks;
    g_mutex_unlock(&eavesdropper.mutex);
    return has;
}

/* Returns when all messages so far have been received. */
static void
catch_up(void)
{
    static guint n_marks;
    g_autoptr(GVariant) reply = NULL;

    if (eavesdropper.connection == NULL)
        eavesdropper_start();
    n_marks++;
    reply = g_dbus_connection_call_sync(test_bus()->observer, BUS_DRIVER_NAME, BUS_DRIVER_PATH,
                                        BUS_DRIVER_INTERFACE, "Mark", NULL, NULL,
                                        G_DBUS_CALL_FLAGS_NONE, -1, NULL, NULL);
    test_wait(has_mark, &n_marks);
}

/* Asserts that no lock operation or event of the agent used the bus, and that the agent has opened
 * one socket. */
static void
assert_by_socket(WebLocksManager *manager)
{
    static const char *const allowed[] = {"OpenSocket", "Query", "Watch", NULL};
    WebLocksAgent *agent = web_locks_manager_get_agent(manager);
    g_autofree char *prefix = g_strdup_printf("%s ", web_locks_agent_get_client_id(agent));
    guint n_opened = 0;

    catch_up();
    g_mutex_lock(&eavesdropper.mutex);
    for (guint i = 0; i < eavesdropper.lines->len; i++) {
        const char *line = eavesdropper.lines->pdata[i];
        const char *member = line + strlen(prefix);

        if (!g_str_has_prefix(line, prefix))
            continue;
        if (!g_strv_contains(allowed, member))
            g_error("By the bus: %s", line);
        n_opened += g_str_equal(member, "OpenSocket");
    }
    g_mutex_unlock(&eavesdropper.mutex);
    g_assert_cmpuint(n_opened, >=, 1);
}

/* ---- agents */

/* All kinds of calls and signals. */
static void
use_sync(WebLocksManager *manager)
{
    static const char *const names[] = {"x", "y", NULL};
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a"), dropped = test_lock(manager, "b");
    g_autoptr(WebLocksLock) stolen = NULL;
    g_autoptr(GPtrArray) many = NULL;

    g_clear_object(&dropped);
    assert_state(manager, "a | ");
    stolen = test_lock_stolen(manager, "a");
    test_settle(manager);
    g_assert_false(web_locks_lock_get_held(lock));
    test_release(stolen);
    many = no_error(web_locks_manager_request_many_sync(manager, names, NULL, NULL, &test_error));
    g_clear_pointer(&many, g_ptr_array_unref);
    test_wait_for_state(manager, " | ");
}

static void
use_async(WebLocksManager *manager)
{
    g_auto(Answer) first = {0}, second = {0}, released = {0};
    g_autoptr(WebLocksLock) lock = NULL, next = NULL;

    answer_ask(&first, manager, "a");
    answer_ask(&second, manager, "a");
    lock = answer_expect_lock(&first);
    web_locks_lock_release_async(lock, NULL, answer_take, &released);
    assert_done(web_locks_lock_release_finish(lock, answer_wait(&released), &test_error));
    next = answer_expect_lock(&second);
}

/* ---- lock operations don't use the bus */

/* The agent connects when it is first used. */
TEST("/socket/lazy", test_lazy)
{
    g_autoptr(WebLocksAgent) agent = web_locks_agent_dup_default(G_BUS_TYPE_SESSION);
    g_autoptr(WebLocksManager) manager = test_manager_of(agent);

    g_assert_false(web_locks_agent_get_connected(agent));
    catch_up();
    use_async(manager);
    use_sync(manager);
    assert_by_socket(manager);
}

/* The agent connects while there is no service, and is used with two successive ones. */
TEST("/socket/late", test_late)
{
    g_autoptr(WebLocksManager) manager = NULL;

    catch_up();
    test_service_stop();
    manager = test_manager_new();
    test_service_start();
    use_sync(manager);
    test_service_kill();
    test_service_start();
    use_async(manager);
    assert_by_socket(manager);
}

/* ---- processes */

static void
read_link(int fd, char *target, gsize size)
{
    char path[32];
    ssize_t n;

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    n = readlink(path, target, size - 1);
    target[MAX(n, 0)] = '\0';
}

/* Holds "a", forks a child that stays, and reports it. The child writes how many of its parent's
 * sockets it has. Restricted to what a forked process may do: no g_test. */
static void
hold_and_fork(const char *bucket, int to_test, int from_test)
{
    WebLocksAgent *agent;
    WebLocksManager *manager;
    WebLocksLock *lock;
    gboolean had_socket[256];
    char target[64];
    guint8 n_sockets = 0;

    g_main_context_push_thread_default(g_main_context_new());
    for (int fd = 0; fd < 256; fd++) {
        read_link(fd, target, sizeof target);
        had_socket[fd] = target[0] != '\0';
    }
    agent = web_locks_agent_new(G_BUS_TYPE_NONE, test_bus()->address);
    manager = web_locks_manager_new(agent, bucket);
    lock = web_locks_manager_request_sync(manager, "a", NULL, NULL, NULL);
    if (lock == NULL)
        _exit(1);
    for (int fd = 0; fd < 256; fd++) {
        read_link(fd, target, sizeof target);
        had_socket[fd] = !had_socket[fd] && g_str_has_prefix(target, "socket:");
        if (had_socket[fd])
            n_sockets++;
    }
    if (write(to_test, &n_sockets, 1) != 1)
        _exit(1);
    if (fork() == 0) {
        guint8 n_nothings = 0;

        for (int fd = 0; fd < 256; fd++) {
            read_link(fd, target, sizeof target);
            if (had_socket[fd] && g_str_equal(target, "/dev/null"))
                n_nothings++;
        }
        if (write(to_test, &n_nothings, 1) != 1)
            _exit(1);
    }
    _exit(read(from_test, target, 1) < 0); /* exits when the test closes it */
}

TEST("/socket/fork", test_fork)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksLock) lock = NULL;
    g_auto(Answer) answer = {0};
    int from_child[2], to_child[2], status;
    guint8 n_sockets, n_nothings;
    pid_t pid;

    g_assert_cmpint(pipe(from_child), ==, 0);
    g_assert_cmpint(pipe(to_child), ==, 0);
    pid = fork();
    g_assert_cmpint(pid, >=, 0);
    if (pid == 0) {
        close(to_child[1]);
        hold_and_fork(test_bucket(), from_child[1], to_child[0]);
    }
    g_assert_cmpint(read(from_child[0], &n_sockets, 1), ==, 1);
    g_assert_cmpint(read(from_child[0], &n_nothings, 1), ==, 1);
    g_assert_cmpuint(n_sockets, ==, 2); /* to the bus, and to the service */
    g_assert_cmpuint(n_nothings, ==, n_sockets);

    answer_ask(&answer, manager, "a");
    test_settle(manager);
    g_assert_cmpuint(answer.n_results, ==, 0);
    kill(pid, SIGKILL);
    lock = answer_expect_lock(&answer); /* although the child is still running */
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    close(to_child[1]);
    /* The read returns when the child has exited. */
    close(from_child[1]);
    g_assert_cmpint(read(from_child[0], &n_sockets, 1), ==, 0);
    close(from_child[0]);
    close(to_child[0]);
}

/* ---- a main loop that doesn't run */

/* A dropped lock is released: another agent gets it, although the first one's context is not
 * iterated. */
static void
assert_free(WebLocksManager *other)
{
    g_autoptr(WebLocksOptions) options =
        g_object_new(WEB_LOCKS_TYPE_OPTIONS, "timeout", 5000 * test_factor(), NULL);
    g_autoptr(WebLocksLock) lock =
        no_error(web_locks_manager_request_sync(other, "a", options, NULL, &test_error));

    g_assert_nonnull(lock);
    test_release(lock);
}

typedef struct {
    WebLocksManager *other;
    guint n_left;
} Blocked;

static void
on_lock(GObject *source, GAsyncResult *result, gpointer data)
{
    Blocked *blocked = data;
    WebLocksManager *manager = WEB_LOCKS_MANAGER(source);
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksLock) lock = web_locks_manager_request_finish(manager, result, &error);

    g_assert_no_error(error);
    g_clear_object(&lock);
    assert_free(blocked->other);
    if (--blocked->n_left > 0)
        web_locks_manager_request_async(manager, "a", NULL, NULL, on_lock, blocked);
}

static gboolean
is_done(gpointer blocked)
{
    return ((Blocked *)blocked)->n_left == 0;
}

TEST("/socket/blocked-async", test_blocked_async)
{
    g_autoptr(WebLocksManager) other = test_manager_new();

    for (guint i = 0; i < 20; i++) {
        g_autoptr(WebLocksManager) manager = test_manager_new();
        Blocked blocked = {other, 4};

        web_locks_manager_request_async(manager, "a", NULL, NULL, on_lock, &blocked);
        test_wait(is_done, &blocked);
    }
}

int
main(int argc, char **argv)
{
    int status;

    g_test_init(&argc, &argv, NULL);
    test_cases_add();
    status = test_run(NULL);
    g_clear_object(&eavesdropper.connection);
    return status;
}
