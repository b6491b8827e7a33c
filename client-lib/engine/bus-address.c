/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config.h"

#include "client-lib/engine/bus-address.h"

#include <errno.h>
#include <glib/gi18n-lib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client-lib/engine/process.h"

/* The default of libdbus and GLib. */
#define SYSTEM_BUS_ADDRESS "unix:path=/var/run/dbus/system_bus_socket"

typedef struct {
    struct sockaddr_un name;
    socklen_t size;
} UnixAddress;

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

/* Only called if the address depends on it: for a user without an entry in the user database GLib
 * warns if there is neither XDG_RUNTIME_DIR nor HOME. */
static char *
get_runtime_address(void)
{
    g_autofree char *path = g_build_filename(g_get_user_runtime_dir(), "bus", NULL);
    g_autofree char *value = g_dbus_address_escape_value(path);

    return g_strconcat("unix:path=", value, NULL);
}

/* Returns SESSION or SYSTEM, or NONE and an error. */
static GBusType
resolve_bus_type(GBusType bus_type, GError **error)
{
    const char *starter = g_getenv("DBUS_STARTER_BUS_TYPE");

    if (bus_type != G_BUS_TYPE_STARTER)
        return bus_type;
    if (g_strcmp0(starter, "session") == 0)
        return G_BUS_TYPE_SESSION;
    if (g_strcmp0(starter, "system") == 0)
        return G_BUS_TYPE_SYSTEM;
    g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
                _("DBUS_STARTER_BUS_TYPE is '%s', and not 'session' or 'system'"),
                starter != NULL ? starter : "");
    return G_BUS_TYPE_NONE;
}

/* g_dbus_address_get_for_bus_sync() registers all types of GDBus, starts a thread, and a program if
 * there is no session bus. As there, a process with the rights of another user doesn't follow its
 * environment. */
char *
bus_address_find(GBusType bus_type, GError **error)
{
    const char *address;

    switch (resolve_bus_type(bus_type, error)) {
    case G_BUS_TYPE_SESSION:
        if (g_getenv("DBUS_SESSION_BUS_ADDRESS") == NULL)
            return get_runtime_address();
        address = secure_getenv("DBUS_SESSION_BUS_ADDRESS");
        if (address == NULL)
            g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_PERMISSION_DENIED,
                                _("this process has the rights of another user"));
        return g_strdup(address);
    case G_BUS_TYPE_SYSTEM:
        address = secure_getenv("DBUS_SYSTEM_BUS_ADDRESS");
        return g_strdup(address != NULL ? address : SYSTEM_BUS_ADDRESS);
    case G_BUS_TYPE_STARTER:
    case G_BUS_TYPE_NONE:
    default:
        return NULL;
    }
}

/* As bus_address_connect(), to one address of the list. */
static int
connect_to(const char *address, GError **error)
{
    UnixAddress to;
    int fd, number;

    if (!read_unix_address(&to, address)) {
        g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED,
                            _("the address of the bus is not that of a unix socket"));
        return -1;
    }
    fd = process_open_socket(AF_UNIX, SOCK_STREAM);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&to.name, to.size) == 0)
        return fd;
    number = errno;
    if (fd < 0 || number != EAGAIN)
        g_set_error(error, G_IO_ERROR, (int)g_io_error_from_errno(number),
                    _("could not connect to the bus: %s"), g_strerror(number));
    if (fd >= 0) {
        process_unguard_fd(fd);
        close(fd);
    }
    return -1;
}

int
bus_address_connect(const char *address, GError **error)
{
    /* An empty text has no elements. */
    g_auto(GStrv) addresses = g_strsplit(*address != '\0' ? address : ";", ";", -1);
    g_autoptr(GError) failure = NULL;
    gboolean is_full = FALSE;

    for (guint i = 0; addresses[i] != NULL; i++) {
        int fd;

        g_clear_error(&failure);
        fd = connect_to(addresses[i], &failure);
        if (fd >= 0)
            return fd;
        is_full |= failure == NULL;
    }
    if (!is_full)
        g_propagate_error(error, g_steal_pointer(&failure));
    return -1;
}
