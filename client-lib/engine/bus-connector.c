/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config.h"

#include "client-lib/engine/bus-connector.h"

#include <errno.h>
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

struct BusConnector {
    Session *session;
    BusConnectorFinished finished;
    gpointer data;

    char **addresses;
    int fd; /* not connected yet; -1: none */
    SessionTimer retry;
    gint64 delay_us;
};

/* ---- an address */

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
 * guid. */
static gboolean
read_unix_address(UnixAddress *self, const char *address)
{
    g_auto(GStrv) pairs = NULL;
    guint n_names = 0;

    if (!g_str_has_prefix(address, "unix:"))
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

/* As GLib does, but without starting a program: a session bus that is not there is not launched. */
static char *
find_address(GBusType bus_type, GError **error)
{
    const char *starter = g_getenv("DBUS_STARTER_BUS_TYPE");
    g_autofree char *path = g_build_filename(g_get_user_runtime_dir(), "bus", NULL);
    g_autofree char *value = g_dbus_address_escape_value(path);

    if (bus_type == G_BUS_TYPE_STARTER && g_strcmp0(starter, "session") == 0)
        bus_type = G_BUS_TYPE_SESSION;
    if (bus_type == G_BUS_TYPE_SESSION && g_getenv("DBUS_SESSION_BUS_ADDRESS") == NULL)
        return g_strconcat("unix:path=", value, NULL);
    return g_dbus_address_get_for_bus_sync(bus_type, NULL, error);
}

/* ---- connecting */

/* Returns the connected descriptor; -1 with an error; or -1 without one if the queue of the bus is
 * full. */
static int
try_address(BusConnector *self, const char *address, GError **error)
{
    UnixAddress to;
    int number;

    if (!read_unix_address(&to, address)) {
        g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED,
                            _("the address of the bus is not that of a unix socket"));
        return -1;
    }
    if (self->fd < 0)
        self->fd = process_open_socket(AF_UNIX, SOCK_STREAM);
    if (self->fd >= 0 && connect(self->fd, (const struct sockaddr *)&to.name, to.size) == 0)
        return g_steal_fd(&self->fd);
    number = errno;
    if (self->fd < 0 || number != EAGAIN)
        g_set_error(error, G_IO_ERROR, (int)g_io_error_from_errno(number),
                    _("could not connect to the bus: %s"), g_strerror(number));
    return -1;
}

/* Likewise, to the first address that can be connected to. If there is none, but a full queue, all
 * are tried again when `retry` expires. */
static int
try_addresses(BusConnector *self, GError **error)
{
    g_autoptr(GError) failure = NULL;
    gboolean is_full = FALSE;

    for (guint i = 0; self->addresses[i] != NULL; i++) {
        int fd;

        g_clear_error(&failure);
        fd = try_address(self, self->addresses[i], &failure);
        if (fd >= 0)
            return fd;
        is_full |= failure == NULL;
    }
    if (is_full) {
        self->delay_us = CLAMP(self->delay_us * 2, RETRY_FIRST_US, RETRY_LAST_US);
        session_start_timer(self->session, &self->retry, g_get_monotonic_time() + self->delay_us);
    } else {
        g_propagate_error(error, g_steal_pointer(&failure));
    }
    return -1;
}

static void
on_retry(gpointer data)
{
    BusConnector *self = data;
    g_autoptr(GError) error = NULL;
    int fd = try_addresses(self, &error);

    if (fd >= 0 || error != NULL)
        self->finished(fd, error, self->data);
}

int
bus_connector_start(BusConnector *self, GBusType bus_type, const char *address, GError **error)
{
    g_autofree char *found = address != NULL ? g_strdup(address) : find_address(bus_type, error);

    if (found == NULL)
        return -1;
    /* An empty text has no elements. */
    self->addresses = g_strsplit(*found != '\0' ? found : ";", ";", -1);
    return try_addresses(self, error);
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
    if (self->fd >= 0) {
        process_unguard_fd(self->fd);
        close(self->fd);
    }
    g_strfreev(self->addresses);
    g_free(self);
}
