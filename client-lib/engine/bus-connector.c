/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config.h"

#include "client-lib/engine/bus-connector.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n-lib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client-lib/engine/process.h"

/* The kernel does not notify of space in the queue of a bus that accepts connections slowly. */
#define RETRY_FIRST_US (1 * G_TIME_SPAN_MILLISECOND)
#define RETRY_LAST_US  (100 * G_TIME_SPAN_MILLISECOND)

typedef struct {
    struct sockaddr_un name;
    socklen_t size;
} UnixAddress;

/* What the thread refers to. */
typedef struct {
    Session *session;
    BusConnector *connector; /* NULL: freed; with the session lock held */
    GCancellable *cancellable;
    GBusType bus_type;
    char *address; /* NULL: that of `bus_type` */
} Attempt;

struct BusConnector {
    Session *session;
    BusConnectorFinished finished;
    gpointer data;

    int fd; /* not connected yet; -1: none */
    UnixAddress address;
    SessionTimer retry;
    gint64 delay_us;
    Attempt *attempt; /* NULL: no thread */
};

/* ---- one unix socket */

static gboolean
set_unix_name(UnixAddress *self, const char *value, gboolean is_abstract)
{
    g_autofree char *name = g_uri_unescape_string(value, NULL);
    const gsize offset = is_abstract ? 1 : 0, length = name != NULL ? strlen(name) : 0;

    if (length == 0 || offset + length >= sizeof self->name.sun_path)
        return FALSE;
    memcpy(self->name.sun_path + offset, name, length);
    self->size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + offset + length +
                             (is_abstract ? 0 : 1));
    return TRUE;
}

/* Returns FALSE for everything but "unix:path=PATH" and "unix:abstract=NAME", with or without a
 * guid; also for what is not valid, for which GLib has messages. */
static gboolean
read_unix_address(UnixAddress *self, const char *address)
{
    g_auto(GStrv) pairs = NULL;
    guint n_names = 0;

    if (!g_str_has_prefix(address, "unix:") || strchr(address, ';') != NULL)
        return FALSE;
    *self = (UnixAddress){.name.sun_family = AF_UNIX};
    pairs = g_strsplit(address + strlen("unix:"), ",", -1);
    for (guint i = 0; pairs[i] != NULL; i++) {
        const char *value = strchr(pairs[i], '=');

        if (value == NULL)
            return FALSE;
        if (g_str_has_prefix(pairs[i], "guid="))
            continue;
        if (!g_str_has_prefix(pairs[i], "path=") && !g_str_has_prefix(pairs[i], "abstract="))
            return FALSE;
        if (++n_names > 1 || !set_unix_name(self, value + 1, pairs[i][0] == 'a'))
            return FALSE;
    }
    return n_names == 1;
}

static void
discard_fd(BusConnector *self)
{
    if (self->fd < 0)
        return;
    process_unguard_fd(self->fd);
    close(self->fd);
    self->fd = -1;
}

/* Returns the connected descriptor; or -1, and `errno` is EAGAIN if the queue of the bus is full.
 */
static int
try_unix(BusConnector *self)
{
    int fd = self->fd;

    if (connect(fd, (const struct sockaddr *)&self->address.name, self->address.size) != 0)
        return -1;
    self->fd = -1;
    return fd;
}

static GError *
error_from_errno(int number)
{
    return g_error_new(G_IO_ERROR, (int)g_io_error_from_errno(number),
                       _("could not connect to the bus: %s"), g_strerror(number));
}

static void
retry_later(BusConnector *self)
{
    self->delay_us = CLAMP(self->delay_us * 2, RETRY_FIRST_US, RETRY_LAST_US);
    session_start_timer(self->session, &self->retry, g_get_monotonic_time() + self->delay_us);
}

static void
on_retry(gpointer data)
{
    BusConnector *self = data;
    int fd = try_unix(self);
    g_autoptr(GError) error = fd < 0 && errno != EAGAIN ? error_from_errno(errno) : NULL;

    if (fd < 0 && error == NULL)
        retry_later(self);
    else
        self->finished(fd, error, self->data);
}

static int
start_unix(BusConnector *self, GError **error)
{
    int fd;

    self->fd = process_open_socket(AF_UNIX, SOCK_STREAM);
    fd = self->fd >= 0 ? try_unix(self) : -1;
    if (fd >= 0)
        return fd;
    if (self->fd >= 0 && errno == EAGAIN)
        retry_later(self);
    else
        g_propagate_error(error, error_from_errno(errno));
    return -1;
}

/* ---- all other addresses */

static void
attempt_clear(gpointer data)
{
    Attempt *self = data;

    session_unref(self->session);
    g_object_unref(self->cancellable);
    g_free(self->address);
}

static void
attempt_unref(Attempt *self)
{
    g_atomic_rc_box_release_full(self, attempt_clear);
}

/* The descriptor is a copy, since the object closes its own. It is guarded as soon as it is known.
 */
static int
copy_fd(GIOStream *stream, GError **error)
{
    GSocket *socket;
    int fd;

    if (!G_IS_SOCKET_CONNECTION(stream)) {
        g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED,
                            _("the address of the bus is not that of a socket"));
        return -1;
    }
    socket = g_socket_connection_get_socket(G_SOCKET_CONNECTION(stream));
    fd = fcntl(g_socket_get_fd(socket), F_DUPFD_CLOEXEC, 0);
    if (fd < 0) {
        g_propagate_error(error, error_from_errno(errno));
        return -1;
    }
    process_guard_fd(fd);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    return fd;
}

static int
connect_by_gio(const Attempt *attempt, GError **error)
{
    g_autofree char *address =
        attempt->address != NULL
            ? g_strdup(attempt->address)
            : g_dbus_address_get_for_bus_sync(attempt->bus_type, attempt->cancellable, error);
    g_autoptr(GIOStream) stream =
        address != NULL ? g_dbus_address_get_stream_sync(address, NULL, attempt->cancellable, error)
                        : NULL;

    return stream != NULL ? copy_fd(stream, error) : -1;
}

static gpointer
run_attempt(gpointer data)
{
    Attempt *attempt = data;
    g_autoptr(GError) error = NULL;
    int fd = connect_by_gio(attempt, &error);

    session_enter(attempt->session);
    if (attempt->connector != NULL) {
        attempt->connector->finished(fd, error, attempt->connector->data);
    } else if (fd >= 0) {
        process_unguard_fd(fd);
        close(fd);
    }
    session_leave(attempt->session);
    attempt_unref(attempt);
    return NULL;
}

static void
start_thread(BusConnector *self, GBusType bus_type, const char *address, GError **error)
{
    GThread *thread;

    self->attempt = g_atomic_rc_box_new0(Attempt);
    self->attempt->session = session_ref(self->session);
    self->attempt->connector = self;
    self->attempt->cancellable = g_cancellable_new();
    self->attempt->bus_type = bus_type;
    self->attempt->address = g_strdup(address);
    thread = g_thread_try_new("weblocks-connect", run_attempt,
                              g_atomic_rc_box_acquire(self->attempt), error);
    if (thread != NULL)
        g_thread_unref(thread);
    else
        attempt_unref(self->attempt);
}

/* Whether GLib finds the address of a bus without starting a program. */
static gboolean
is_known(GBusType bus_type)
{
    const char *starter = g_getenv("DBUS_STARTER_BUS_TYPE");

    if (bus_type == G_BUS_TYPE_STARTER && g_strcmp0(starter, "session") == 0)
        bus_type = G_BUS_TYPE_SESSION;
    return bus_type != G_BUS_TYPE_SESSION || g_getenv("DBUS_SESSION_BUS_ADDRESS") != NULL;
}

int
bus_connector_start(BusConnector *self, GBusType bus_type, const char *address, GError **error)
{
    g_autofree char *found = NULL;

    if (address == NULL && is_known(bus_type)) {
        found = g_dbus_address_get_for_bus_sync(bus_type, NULL, error);
        if (found == NULL)
            return -1;
        address = found;
    }
    if (address != NULL && read_unix_address(&self->address, address))
        return start_unix(self, error);
    start_thread(self, bus_type, address, error);
    return -1;
}

/* ---- life */

BusConnector *
bus_connector_new(Session *session, BusConnectorFinished finished, gpointer data)
{
    BusConnector *self = g_new0(BusConnector, 1);

    self->session = session;
    self->finished = finished;
    self->data = data;
    self->fd = -1;
    self->retry.expired = on_retry;
    self->retry.data = self;
    return self;
}

void
bus_connector_free(BusConnector *self)
{
    session_stop_timer(self->session, &self->retry);
    discard_fd(self);
    if (self->attempt != NULL) {
        self->attempt->connector = NULL;
        g_cancellable_cancel(self->attempt->cancellable);
        attempt_unref(self->attempt);
    }
    g_free(self);
}
