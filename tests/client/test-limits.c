/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a bus or a service can make the library store has a limit: live requests, descriptors that
 * belong to no message, and replies that the bus does not read. Calls that cannot be replied to are
 * ignored. */

#include <errno.h>
#include <fcntl.h>
#include <gio/gunixfdlist.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/bus-names.h"
#include "tests/client/fixture.h"
#include "tests/client/mock-socket.h"
#include "tests/client/raw-bus.h"
#include "tests/lib/case.h"

/* Of calls without a time-out. */
#define BOUND_US (25 * G_TIME_SPAN_SECOND)
/* Much shorter. */
#define SOON_US (test_factor() * 15 * G_TIME_SPAN_SECOND)

/* ---- a connected agent */

typedef struct {
    RawBus *bus;
    WebLocksAgent *agent;
    WebLocksManager *manager;
} Subject;

static void
subject_init(Subject *self)
{
    g_auto(Answer) connected = {0};

    self->bus = raw_bus_new();
    self->agent = web_locks_agent_new(G_BUS_TYPE_NONE, raw_bus_get_address(self->bus));
    self->manager = test_manager_of(self->agent);
    g_async_initable_init_async(G_ASYNC_INITABLE(self->agent), G_PRIORITY_DEFAULT, NULL,
                                answer_take, &connected);
    raw_bus_welcome(self->bus);
    no_error(g_async_initable_init_finish(G_ASYNC_INITABLE(self->agent), answer_wait(&connected),
                                          &test_error));
}

static void
subject_clear(Subject *self)
{
    g_object_unref(self->manager);
    g_object_unref(self->agent);
    raw_bus_free(self->bus);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Subject, subject_clear)

/* The reply to OpenSocket. */
static guint8 *
write_socket_reply(Subject *subject, guint32 reply_serial, int fd, gsize *out_size)
{
    g_autoptr(GDBusMessage) reply = g_dbus_message_new();
    g_autoptr(GUnixFDList) fds = g_unix_fd_list_new();

    g_assert_cmpint(g_unix_fd_list_append(fds, fd, NULL), ==, 0);
    g_dbus_message_set_message_type(reply, G_DBUS_MESSAGE_TYPE_METHOD_RETURN);
    g_dbus_message_set_sender(reply, RAW_BUS_SERVICE);
    g_dbus_message_set_reply_serial(reply, reply_serial);
    g_dbus_message_set_unix_fd_list(reply, fds);
    g_dbus_message_set_body(reply,
                            g_variant_new_parsed("(@h 0, {'version': <%u>, 'maxPacket': <%u>})",
                                                 PACKET_VERSION, PACKET_BYTES_MAX));
    return raw_bus_write(subject->bus, reply, out_size);
}

/* Replies to OpenSocket. */
static MockSocket *
open_socket(Subject *subject)
{
    const guint32 serial = raw_bus_receive(subject->bus);
    int fd;
    MockSocket *socket = mock_socket_new(FALSE, &fd);
    gsize size;
    g_autofree guint8 *bytes = write_socket_reply(subject, serial, fd, &size);

    g_assert_true(raw_bus_send(subject->bus, bytes, size, &fd, 1));
    close(fd);
    return socket;
}

static void
send_live(MockSocket *socket, const PacketLiveEntry *entries, guint n_entries, gboolean more)
{
    g_autoptr(GByteArray) packet = g_byte_array_new();

    packet_write_live(packet, entries, n_entries, more);
    mock_socket_send(socket, packet);
}

/* Grants the request that the client sends next. */
static void
grant(MockSocket *socket)
{
    g_autofree PacketHead *request = mock_socket_receive(socket, "REQUEST");
    g_autoptr(GByteArray) packet = g_byte_array_new();
    PacketAnswer answer = {.state = PACKET_STATE_HELD, .token = 6};

    g_assert_nonnull(request);
    g_assert_cmpint(request->kind, ==, PACKET_REQUEST);
    answer.head.serial = request->serial;
    packet_write(packet, PACKET_ANSWER, &answer.head, sizeof answer);
    mock_socket_send(socket, packet);
}

/* ---- OpenSocket before it is needed */

/* Sends an error of the bus. */
static void
send_no_owner(Subject *subject, guint32 reply_serial)
{
    g_autoptr(GDBusMessage) reply = g_dbus_message_new();
    g_autofree guint8 *bytes = NULL;
    gsize size;

    g_dbus_message_set_message_type(reply, G_DBUS_MESSAGE_TYPE_ERROR);
    g_dbus_message_set_error_name(reply, BUS_ERROR_NAME_HAS_NO_OWNER);
    g_dbus_message_set_sender(reply, BUS_DRIVER_NAME);
    g_dbus_message_set_reply_serial(reply, reply_serial);
    bytes = raw_bus_write(subject->bus, reply, &size);
    g_assert_true(raw_bus_send(subject->bus, bytes, size, NULL, 0));
}

/* Connecting does not start a service. A request that is made until the bus has answered so does.
 */
TEST("/limits/socket-before-need", test_socket_before_need)
{
    g_auto(Subject) subject = {0};
    g_auto(Answer) requested = {0};
    g_autoptr(WebLocksLock) lock = NULL;
    MockSocket *socket;
    guint32 serial;

    subject_init(&subject);
    serial = raw_bus_receive(subject.bus);
    g_assert_true(raw_bus_get_flags(subject.bus) & G_DBUS_MESSAGE_FLAGS_NO_AUTO_START);
    answer_ask(&requested, subject.manager, "a");
    test_iterate();
    g_assert_false(raw_bus_has_message(subject.bus));
    send_no_owner(&subject, serial);
    socket = open_socket(&subject);
    g_assert_false(raw_bus_get_flags(subject.bus) & G_DBUS_MESSAGE_FLAGS_NO_AUTO_START);
    send_live(socket, NULL, 0, FALSE);
    grant(socket);
    lock = answer_expect_lock(&requested);
    g_clear_object(&lock);
    mock_socket_free(socket);
}

/* ---- live requests */

#define ENTRIES_MAX (1U << 20)

/* A list of live requests that does not end is the end of the socket. Until then the library is
 * responsive, and the next socket is used. */
TEST("/limits/endless-list", test_endless_list)
{
    g_auto(Subject) subject = {0};
    g_autoptr(GArray) entries = g_array_new(FALSE, TRUE, sizeof(PacketLiveEntry));
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_autoptr(WebLocksLock) lock = NULL;
    g_auto(Answer) requested = {0}, cancelled = {0};
    MockSocket *socket;

    for (guint i = 0; i < PACKET_LIVE_ENTRIES_MAX; i++) {
        const PacketLiveEntry entry = {.key = i + 1, .state = PACKET_STATE_WAITS};

        g_array_append_val(entries, entry);
    }
    subject_init(&subject);
    answer_ask(&requested, subject.manager, "a");
    web_locks_manager_request_async(subject.manager, "b", NULL, cancellable, answer_take,
                                    &cancelled);
    socket = open_socket(&subject);
    for (guint n = 0; n < 2 * ENTRIES_MAX; n += entries->len) {
        send_live(socket, (const PacketLiveEntry *)(void *)entries->data, entries->len, TRUE);
        if (n / entries->len == 10) {
            g_cancellable_cancel(cancellable);
            answer_expect_error(&cancelled, G_IO_ERROR, G_IO_ERROR_CANCELLED);
        }
    }
    g_assert_null(mock_socket_receive(socket, "the end of the socket"));
    mock_socket_free(socket);
    socket = open_socket(&subject);
    send_live(socket, NULL, 0, FALSE);
    grant(socket);
    lock = answer_expect_lock(&requested);
    mock_socket_free(socket);
}

/* ---- descriptors */

#define N_FDS 100

static guint
count_fds(void)
{
    g_autoptr(GDir) directory = g_dir_open("/proc/self/fd", 0, NULL);
    guint n = 0;

    g_assert_nonnull(directory);
    while (g_dir_read_name(directory) != NULL)
        n++;
    return n;
}

/* A signal in wire format, without descriptors. */
static guint8 *
write_signal(RawBus *bus, gsize *out_size)
{
    g_autoptr(GDBusMessage) signal =
        g_dbus_message_new_signal("/org/example", "org.example.Example", "Changed");

    g_dbus_message_set_sender(signal, ":1.3");
    return raw_bus_write(bus, signal, out_size);
}

/* The same descriptor many times: the client receives a new one each time. */
static void
open_fds(int *fds)
{
    fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    g_assert_cmpint(fds[0], >=, 0);
    for (guint i = 1; i < N_FDS; i++)
        fds[i] = fds[0];
}

static void
expect_lock(Subject *subject)
{
    g_autoptr(WebLocksLock) lock = NULL;
    g_auto(Answer) requested = {0};
    MockSocket *socket;

    answer_ask(&requested, subject->manager, "a");
    socket = open_socket(subject);
    send_live(socket, NULL, 0, FALSE);
    grant(socket);
    lock = answer_expect_lock(&requested);
    mock_socket_free(socket);
}

/* Descriptors that come with whole messages which have none are closed. */
TEST("/limits/unclaimed-fds", test_unclaimed_fds)
{
    g_auto(Subject) subject = {0};
    int fds[N_FDS];
    gsize size;
    guint n_before;
    g_autofree guint8 *signal = NULL;

    subject_init(&subject);
    signal = write_signal(subject.bus, &size);
    open_fds(fds);
    n_before = count_fds();
    for (guint i = 0; i < 20; i++) {
        g_assert_true(raw_bus_send(subject.bus, signal, size, fds, N_FDS));
        g_assert_cmpuint(count_fds(), ==, n_before);
    }
    close(fds[0]);
    expect_lock(&subject);
}

/* There is always an incomplete message, to which the descriptors could belong: when they are more
 * than a message can have, the connection ends. */
TEST("/limits/unclaimed-fds-of-parts", test_unclaimed_fds_of_parts)
{
    const gsize part = 20;
    g_auto(Subject) subject = {0};
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_autofree guint8 *signal = NULL;
    int fds[N_FDS];
    gsize size;
    guint n_before, n_most = 0, n_sent = 0;

    subject_init(&subject);
    signal = write_signal(subject.bus, &size);
    g_byte_array_append(bytes, signal + part, (guint)(size - part));
    g_byte_array_append(bytes, signal, part);
    open_fds(fds);
    n_before = count_fds();
    g_assert_true(raw_bus_send(subject.bus, signal, part, NULL, 0));
    while (n_sent < 8 && raw_bus_send(subject.bus, bytes->data, bytes->len, fds, N_FDS)) {
        n_most = MAX(n_most, count_fds());
        n_sent++;
    }
    g_assert_cmpuint(n_sent, >, 1);
    g_assert_cmpuint(n_sent, <, 8);
    g_assert_cmpuint(n_most, <=, n_before + 253);
    g_assert_false(web_locks_agent_get_connected(subject.agent));
    g_assert_cmpuint(count_fds(), <, n_before);
    close(fds[0]);
}

/* A descriptor that comes with the end of one message and the beginning of its own. */
TEST("/limits/claimed-fd-of-part", test_claimed_fd_of_part)
{
    const gsize part = 20;
    g_auto(Subject) subject = {0};
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_autoptr(WebLocksLock) lock = NULL;
    g_autofree guint8 *signal = NULL, *reply = NULL;
    g_auto(Answer) requested = {0};
    gsize signal_size, reply_size;
    MockSocket *socket;
    int fd;

    subject_init(&subject);
    signal = write_signal(subject.bus, &signal_size);
    answer_ask(&requested, subject.manager, "a");
    socket = mock_socket_new(FALSE, &fd);
    reply = write_socket_reply(&subject, raw_bus_receive(subject.bus), fd, &reply_size);
    g_byte_array_append(bytes, signal, (guint)signal_size);
    g_byte_array_append(bytes, reply, part);
    g_assert_true(raw_bus_send(subject.bus, bytes->data, bytes->len, &fd, 1));
    close(fd);
    g_assert_true(raw_bus_send(subject.bus, reply + part, reply_size - part, NULL, 0));
    send_live(socket, NULL, 0, FALSE);
    grant(socket);
    lock = answer_expect_lock(&requested);
    mock_socket_free(socket);
}

/* An agent gets its lock socket by a descriptor. */
TEST("/limits/without-descriptors", test_without_descriptors)
{
    g_autoptr(RawBus) bus = raw_bus_new();
    g_autoptr(WebLocksAgent) agent = web_locks_agent_new(G_BUS_TYPE_NONE, raw_bus_get_address(bus));
    g_autoptr(GError) error = NULL;
    g_auto(Answer) connected = {0};

    g_async_initable_init_async(G_ASYNC_INITABLE(agent), G_PRIORITY_DEFAULT, NULL, answer_take,
                                &connected);
    raw_bus_disagree(bus);
    g_assert_false(
        g_async_initable_init_finish(G_ASYNC_INITABLE(agent), answer_wait(&connected), &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    g_assert_nonnull(strstr(error->message, "descriptors"));
}

/* ---- replies */

#define BATCH 100

#define N_BATCHES 200

/* A thread that sends method calls: N_BATCHES, and more until it may stop. */
typedef struct {
    int fd;
    GByteArray *calls; /* a batch */
    guint n_batches;   /* that were sent */
    guint may_stop;
    guint is_over;
} Flood;

static void
send_all(int fd, const GByteArray *bytes)
{
    struct pollfd writable = {.fd = fd, .events = POLLOUT};

    for (gsize n_sent = 0; n_sent < bytes->len;) {
        const ssize_t n = send(fd, bytes->data + n_sent, bytes->len - n_sent, MSG_NOSIGNAL);

        if (n > 0) {
            n_sent += (gsize)n;
            continue;
        }
        g_assert_cmpint(errno, ==, EAGAIN);
        g_assert_cmpint(poll(&writable, 1, -1), ==, 1);
    }
}

static gpointer
run_flood(gpointer data)
{
    Flood *self = data;

    for (; self->n_batches < N_BATCHES || !test_is_set(&self->may_stop); self->n_batches++)
        send_all(self->fd, self->calls);
    g_atomic_int_set(&self->is_over, TRUE);
    g_main_context_wakeup(NULL);
    return NULL;
}

/* Returns the call in wire format. */
static guint8 *
write_call(RawBus *bus, gsize *out_size)
{
    g_autoptr(GDBusMessage) call =
        g_dbus_message_new_method_call(":1.2", "/", "org.freedesktop.DBus.Peer", "Ping");

    g_dbus_message_set_sender(call, ":1.3");
    return raw_bus_write(bus, call, out_size);
}

static void
flood_init(Flood *self, const Subject *subject)
{
    gsize size;
    g_autofree guint8 *call = write_call(subject->bus, &size);

    self->fd = raw_bus_get_fd(subject->bus);
    self->calls = g_byte_array_new();
    for (guint i = 0; i < BATCH; i++)
        g_byte_array_append(self->calls, call, (guint)size);
}

/* The bus sends calls and does not read: a synchronous call ends in its time, most calls get no
 * reply, and further ones do when the bus has read. */
TEST("/limits/unread-replies", test_unread_replies)
{
    g_auto(Subject) subject = {0};
    Flood flood = {0};
    g_autoptr(WebLocksOptions) options = g_object_new(WEB_LOCKS_TYPE_OPTIONS, "timeout", 300, NULL);
    g_autofree guint8 *last = NULL;
    GThread *thread;
    gint64 begin_us;
    guint n_replies = 0;
    guint32 serial;
    gsize size;

    subject_init(&subject);
    flood_init(&flood, &subject);
    thread = g_thread_new("flood", run_flood, &flood);
    begin_us = g_get_monotonic_time();
    assert_fails(web_locks_manager_request_sync(subject.manager, "a", options, NULL, &test_error),
                 WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT);
    g_assert_cmpint(g_get_monotonic_time() - begin_us, <, SOON_US);
    g_atomic_int_set(&flood.may_stop, TRUE);
    test_wait_for(test_is_set, &flood.is_over, "the end of the flood");
    g_thread_join(thread);

    for (test_iterate(); raw_bus_has_message(subject.bus); test_iterate()) {
        raw_bus_receive(subject.bus);
        n_replies++;
    }
    g_assert_cmpuint(n_replies, <, flood.n_batches * BATCH / 4);
    last = write_call(subject.bus, &size);
    memcpy(&serial, last + 8, sizeof serial);
    g_assert_true(raw_bus_send(subject.bus, last, size, NULL, 0));
    g_assert_cmpuint(raw_bus_receive(subject.bus), ==, serial);
    g_byte_array_unref(flood.calls);
}

/* Calls that cannot be replied to: without a serial, with an invalid sender. */
TEST("/limits/invalid-calls", test_invalid_calls)
{
    g_auto(Subject) subject = {0};
    g_autofree guint8 *call = NULL;
    guint8 *sender;
    guint32 serial;
    const guint32 no_serial = 0;
    gsize size;

    subject_init(&subject);
    raw_bus_receive(subject.bus); /* OpenSocket */
    call = write_call(subject.bus, &size);
    memcpy(&serial, call + 8, sizeof serial);
    sender = memmem(call, size, ":1.3", 4);
    g_assert_nonnull(sender);

    memcpy(call + 8, &no_serial, sizeof no_serial);
    g_assert_true(raw_bus_send(subject.bus, call, size, NULL, 0));
    memcpy(call + 8, &serial, sizeof serial);
    *sender = '!';
    g_assert_true(raw_bus_send(subject.bus, call, size, NULL, 0));
    test_iterate();
    g_assert_false(raw_bus_has_message(subject.bus));
    *sender = ':';
    g_assert_true(raw_bus_send(subject.bus, call, size, NULL, 0));
    g_assert_cmpuint(raw_bus_receive(subject.bus), ==, serial);
}

static gpointer
init_in_thread(gpointer agent)
{
    GError *error = NULL;

    g_assert_false(g_initable_init(G_INITABLE(agent), NULL, &error));
    return error;
}

/* Hello is not answered: a synchronous call ends all the same. */
TEST("/limits/unanswered-hello", test_unanswered_hello)
{
    g_autoptr(RawBus) bus = raw_bus_new();
    g_autoptr(WebLocksAgent) agent = web_locks_agent_new(G_BUS_TYPE_NONE, raw_bus_get_address(bus));
    const gint64 begin_us = g_get_monotonic_time();
    g_autoptr(GThread) thread = g_thread_new("init", init_in_thread, agent);
    g_autoptr(GError) error = NULL;

    raw_bus_agree(bus);
    error = g_thread_join(g_steal_pointer(&thread));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    g_assert_cmpint(g_get_monotonic_time() - begin_us, <, BOUND_US + SOON_US);
    g_assert_true(raw_bus_has_message(bus));
}

/* A call that is read when the socket tells that the service has terminated the agent. */
TEST("/limits/call-at-the-end", test_call_at_the_end)
{
    g_auto(Subject) subject = {0};
    g_autoptr(GByteArray) closed = g_byte_array_new();
    g_autofree guint8 *call = NULL;
    MockSocket *socket;
    gsize size;

    subject_init(&subject);
    socket = open_socket(&subject);
    send_live(socket, NULL, 0, FALSE);
    test_iterate();
    g_assert_true(web_locks_agent_get_connected(subject.agent));
    PACKET_WRITE(closed, PACKET_CLOSED, PacketClosed, .reason = PACKET_CLOSED_MALFORMED);
    mock_socket_send(socket, closed);
    mock_socket_free(socket);
    call = write_call(subject.bus, &size);
    raw_bus_send(subject.bus, call, size, NULL, 0);
    test_iterate();
    g_assert_false(web_locks_agent_get_connected(subject.agent));
}

TEST_MAIN(g_test_run())
