/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* cluster/service-socket: the gateway's end of the connection to weblocksd, over real sockets. The
 * peer is this test; each callback is recorded as a line. What packets say is in test_gateway.py,
 * paths that can't be used in test_start.py. */

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cluster/service-socket/service-socket.h"

typedef struct {
    char *directory;
    char *path;
    ServiceSocket *socket;
    GString *calls;
} Fixture;

static int inherited_fd; /* becomes descriptor 3 */

static void record(Fixture *fixture, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void
record(Fixture *fixture, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    g_string_append_vprintf(fixture->calls, format, arguments);
    va_end(arguments);
    g_string_append_c(fixture->calls, '\n');
}

static void
on_hello(gpointer data)
{
    record(data, "hello");
}

static void
on_received(const ClusterMessage *message, gpointer data)
{
    if (message->kind == CLUSTER_PACKET_READY) {
        record(data, "ready");
    } else if (message->kind == CLUSTER_PACKET_ACK) {
        record(data, "ack %u", (guint)message->serial);
    } else {
        g_assert_cmpuint(message->kind, ==, CLUSTER_PACKET_ASK);
        record(data, "ask %s", message->question.name);
        if (g_str_equal(message->question.name, "disconnect"))
            service_socket_disconnect(((Fixture *)data)->socket);
    }
}

static void
on_closed(gpointer data)
{
    record(data, "closed");
}

static const ServiceSocketFunctions functions = {
    .hello = on_hello,
    .received = on_received,
    .closed = on_closed,
};

static void
set_up(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;

    fixture->directory = g_dir_make_tmp("weblocks-socket-XXXXXX", &error);
    g_assert_no_error(error);
    fixture->path = g_build_filename(fixture->directory, "socket", NULL);
    fixture->calls = g_string_new(NULL);
    fixture->socket = service_socket_new(fixture->path, getuid(), &functions, fixture, &error);
    g_assert_no_error(error);
}

static void
tear_down(Fixture *fixture, gconstpointer data)
{
    service_socket_free(fixture->socket);
    g_assert_cmpint(g_access(fixture->path, F_OK), <, 0);
    g_rmdir(fixture->directory);
    g_string_free(fixture->calls, TRUE);
    g_free(fixture->path);
    g_free(fixture->directory);
}

static int
connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    g_strlcpy(address.sun_path, path, sizeof address.sun_path);
    g_assert_cmpint(connect(fd, (const struct sockaddr *)&address, sizeof address), ==, 0);
    return fd;
}

/* Sends each message as one packet, and empties `bytes`. */
static void
send_all(int fd, GByteArray *bytes)
{
    for (guint offset = 0; offset < bytes->len;) {
        ClusterHead head;

        memcpy(&head, bytes->data + offset, sizeof head);
        g_assert_cmpint(send(fd, bytes->data + offset, head.size, MSG_NOSIGNAL), ==, head.size);
        offset += head.size;
    }
    g_byte_array_set_size(bytes, 0);
}

static int
connect_and_greet(const Fixture *fixture)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    const int fd = connect_to(fixture->path);

    cluster_packet_write(bytes, CLUSTER_PACKET_HELLO, CLUSTER_PACKET_VERSION);
    send_all(fd, bytes);
    return fd;
}

static gboolean
on_timeout(gpointer data)
{
    g_error("not within 20 s; the callbacks were:\n%s", ((Fixture *)data)->calls->str);
    return G_SOURCE_REMOVE;
}

/* Runs the main loop until exactly these callbacks were recorded, and clears the record. */
static void
expect(Fixture *fixture, const char *calls)
{
    const guint timeout_id = g_timeout_add_seconds(20, on_timeout, fixture);

    while (fixture->calls->len < strlen(calls))
        g_main_context_iteration(NULL, TRUE);
    g_source_remove(timeout_id);
    g_assert_cmpstr(fixture->calls->str, ==, calls);
    g_string_truncate(fixture->calls, 0);
}

/* Runs the main loop until the other end of `fd` is closed. */
static void
expect_eof(Fixture *fixture, int fd)
{
    const guint timeout_id = g_timeout_add_seconds(20, on_timeout, fixture);
    char buffer[CLUSTER_PACKET_BYTES_MAX];
    ssize_t size = -1;

    while (size != 0 && !(size < 0 && errno == ECONNRESET)) {
        while (g_main_context_iteration(NULL, FALSE))
            ;
        size = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
        if (size < 0 && errno == EAGAIN)
            g_main_context_iteration(NULL, TRUE);
    }
    g_source_remove(timeout_id);
    close(fd);
}

/* Returns the next packet, which must have been sent already; it is valid until the next call. */
static const ClusterMessage *
receive(int fd)
{
    static ClusterMessage message;
    static guint64 buffer[CLUSTER_PACKET_BYTES_MAX / sizeof(guint64)];
    const ssize_t size = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);

    g_assert_cmpint(size, >, 0);
    cluster_message_clear(&message);
    g_assert_true(cluster_packet_read_from_gateway(&message, buffer, (gsize)size));
    return &message;
}

/* A restarted service connects before the end of its predecessor's connection is detected. */
static void
test_replaced(Fixture *fixture, gconstpointer data)
{
    const int first = connect_and_greet(fixture);
    int second;

    expect(fixture, "hello\n");
    second = connect_and_greet(fixture);
    expect(fixture, "closed\nhello\n");
    expect_eof(fixture, first);
    service_socket_disconnect(fixture->socket);
    expect(fixture, "closed\n");
    expect_eof(fixture, second);
}

static void
test_disconnect_within(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    const int fd = connect_and_greet(fixture);

    cluster_packet_write(bytes, CLUSTER_PACKET_ASK, (guint64)5, CLUSTER_PACKET_ROWS, 1000, "render",
                         "disconnect", "");
    cluster_packet_write(bytes, CLUSTER_PACKET_ACK, (guint64)3);
    send_all(fd, bytes);
    expect(fixture, "hello\nask disconnect\nclosed\n");
    expect_eof(fixture, fd);
    expect(fixture, "");
}

static void
check_refused(Fixture *fixture, gboolean is_greeted, const void *packet, gsize size)
{
    const int fd = is_greeted ? connect_and_greet(fixture) : connect_to(fixture->path);

    if (is_greeted)
        expect(fixture, "hello\n");
    g_assert_cmpint(send(fd, packet, size, MSG_NOSIGNAL), ==, size);
    expect_eof(fixture, fd);
    expect(fixture, is_greeted ? "closed\n" : "");
}

static void
test_malformed(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_autofree guint8 *zeros = g_malloc0(CLUSTER_PACKET_BYTES_MAX + 8);

    cluster_packet_write(bytes, CLUSTER_PACKET_READY);
    check_refused(fixture, FALSE, bytes->data, bytes->len); /* before HELLO */
    check_refused(fixture, TRUE, bytes->data, bytes->len - 1);
    g_byte_array_set_size(bytes, 0);
    cluster_packet_write(bytes, CLUSTER_PACKET_SYNCED);
    check_refused(fixture, TRUE, bytes->data, bytes->len); /* what only a gateway sends */
    g_byte_array_set_size(bytes, 0);
    cluster_packet_write(bytes, CLUSTER_PACKET_HELLO, CLUSTER_PACKET_VERSION);
    check_refused(fixture, TRUE, bytes->data, bytes->len); /* twice */
    g_byte_array_set_size(bytes, 0);
    cluster_packet_write(bytes, CLUSTER_PACKET_HELLO, CLUSTER_PACKET_VERSION + 1);
    check_refused(fixture, FALSE, bytes->data, bytes->len);
    check_refused(fixture, TRUE, zeros, 8);
    check_refused(fixture, TRUE, zeros, CLUSTER_PACKET_BYTES_MAX + 8);
}

static void
send_status(const Fixture *fixture, const char *text)
{
    service_socket_send(fixture->socket, CLUSTER_PACKET_STATUS, (guint64)7, "", text, "", "");
}

/* A service that reads nothing is disconnected before much output is queued for it. */
static void
test_unread(Fixture *fixture, gconstpointer data)
{
    g_autofree char *text = g_strnfill(30000, 'x');
    const int fd = connect_and_greet(fixture);
    const guint timeout_id = g_timeout_add_seconds(20, on_timeout, fixture);
    guint n_sent = 0;

    expect(fixture, "hello\n");
    while (fixture->calls->len == 0) {
        send_status(fixture, text);
        while (g_main_context_iteration(NULL, FALSE))
            ;
        g_assert_cmpuint(n_sent++, <, 1000); /* 30 MB */
    }
    g_source_remove(timeout_id);
    g_assert_cmpuint(n_sent, >, 100);
    expect(fixture, "closed\n");
    close(fd);
}

/* Output that did not fit into the socket is sent later, in order. */
static void
test_slow_reader(Fixture *fixture, gconstpointer data)
{
    g_autofree char *text = g_strnfill(30000, 'x');
    const int fd = connect_and_greet(fixture);
    guint64 n_received = 0;

    expect(fixture, "hello\n");
    for (guint64 i = 1; i <= 60; i++) {
        send_status(fixture, text);
        service_socket_send(fixture->socket, CLUSTER_PACKET_LEASE, i, (gint64)0, (guint64)0,
                            CLUSTER_STATE_ACTIVE, CLUSTER_REASON_NONE);
    }
    while (n_received < 60) {
        g_assert_cmpuint(receive(fd)->kind, ==, CLUSTER_PACKET_STATUS);
        while (g_main_context_iteration(NULL, FALSE))
            ;
        g_assert_cmpuint(receive(fd)->lease.serial, ==, ++n_received);
        while (g_main_context_iteration(NULL, FALSE))
            ;
    }
    close(fd);
    expect(fixture, "closed\n");
}

/* A service that always has more to send: in one iteration of the main loop some of it is read. */
static void
test_flood(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    const int fd = connect_and_greet(fixture);

    cluster_packet_write(bytes, CLUSTER_PACKET_READY);
    expect(fixture, "hello\n");
    for (guint i = 0; i < 10; i++) {
        while (send(fd, bytes->data, bytes->len, MSG_DONTWAIT) > 0)
            ;
        g_main_context_iteration(NULL, FALSE);
        g_assert_cmpuint(fixture->calls->len, ==, 64 * strlen("ready\n"));
        g_string_truncate(fixture->calls, 0);
    }
    close(fd);
}

/* A peer that is neither the user of weblocksd nor root is refused. */
static void
test_other_user(Fixture *fixture, gconstpointer data)
{
    const gboolean is_root = geteuid() == 0;
    g_autoptr(GError) error = NULL;
    GStatBuf status;
    int fd;

    g_assert_cmpint(g_stat(fixture->path, &status), ==, 0);
    g_assert_cmpint(status.st_mode & 07777, ==, 0600);
    service_socket_free(fixture->socket);
    fixture->socket = service_socket_new(fixture->path, getuid() + 1, &functions, fixture, &error);
    g_assert_no_error(error);
    g_assert_cmpint(g_chmod(fixture->path, 0666), ==, 0);
    g_assert_cmpint(g_chmod(fixture->directory, 0755), ==, 0);
    if (is_root)
        g_assert_cmpint(seteuid(65534), ==, 0);
    fd = connect_to(fixture->path);
    if (is_root)
        g_assert_cmpint(seteuid(0), ==, 0);
    expect_eof(fixture, fd);
    expect(fixture, "");
}

/* The socket is inherited, as with systemd's socket activation. */
static void
test_inherited(Fixture *fixture, gconstpointer data)
{
    g_autofree char *pid = g_strdup_printf("%d", (int)getpid());
    g_autofree char *path = g_build_filename(fixture->directory, "inherited", NULL);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_autoptr(GError) error = NULL;
    int fd;

    g_strlcpy(address.sun_path, path, sizeof address.sun_path);
    g_assert_cmpint(bind(inherited_fd, (const struct sockaddr *)&address, sizeof address), ==, 0);
    g_assert_cmpint(listen(inherited_fd, 1), ==, 0);
    g_setenv("LISTEN_PID", pid, TRUE);
    g_setenv("LISTEN_FDS", "1", TRUE);
    service_socket_free(fixture->socket);
    fixture->socket = service_socket_new(NULL, getuid(), &functions, fixture, &error);
    g_assert_no_error(error);
    g_assert_null(g_getenv("LISTEN_FDS"));
    fd = connect_to(path);
    cluster_packet_write(bytes, CLUSTER_PACKET_HELLO, CLUSTER_PACKET_VERSION);
    send_all(fd, bytes);
    expect(fixture, "hello\n");
    g_unlink(path);
    close(fd);
    expect(fixture, "closed\n");
}

int
main(int argc, char **argv)
{
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    /* First of all, so that the descriptor is not used by anything else. */
    inherited_fd = fd == 3 ? fd : dup2(fd, 3);
    g_test_init(&argc, &argv, NULL);
    /* The warning about a refused peer is not fatal. */
    g_log_set_always_fatal(G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL);
    g_test_add("/service-socket/replaced", Fixture, NULL, set_up, test_replaced, tear_down);
    g_test_add("/service-socket/disconnect-within", Fixture, NULL, set_up, test_disconnect_within,
               tear_down);
    g_test_add("/service-socket/malformed", Fixture, NULL, set_up, test_malformed, tear_down);
    g_test_add("/service-socket/unread", Fixture, NULL, set_up, test_unread, tear_down);
    g_test_add("/service-socket/slow-reader", Fixture, NULL, set_up, test_slow_reader, tear_down);
    g_test_add("/service-socket/flood", Fixture, NULL, set_up, test_flood, tear_down);
    g_test_add("/service-socket/other-user", Fixture, NULL, set_up, test_other_user, tear_down);
    g_test_add("/service-socket/inherited", Fixture, NULL, set_up, test_inherited, tear_down);
    return g_test_run();
}
