/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service-socket.h"

#include <errno.h>
#include <gio/gio.h>
#include <glib-unix.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* The first descriptor that systemd passes. */
#define LISTEN_FDS_START 3

struct ServiceSocket {
    uid_t uid;
    const ServiceSocketFunctions *functions;
    gpointer data;
    char *path; /* of a socket that this process has made; otherwise NULL */
    int listen_fd;
    guint listen_id;
    ClusterConnection *connection; /* NULL: none */
    gboolean is_greeted;           /* `hello` was called for it */
};

/* ---- the connection */

void
service_socket_disconnect(ServiceSocket *self)
{
    const gboolean was_greeted = self->is_greeted;

    g_clear_pointer(&self->connection, cluster_connection_free);
    self->is_greeted = FALSE;
    if (was_greeted)
        self->functions->closed(self->data);
}

static void
on_closed(const char *reason, gpointer data)
{
    g_message("weblocksd is disconnected: %s", reason);
    service_socket_disconnect(data);
}

static void
receive_hello(ServiceSocket *self, const ClusterMessage *message)
{
    if (message->kind != CLUSTER_PACKET_HELLO || message->version != CLUSTER_PACKET_VERSION) {
        on_closed("its first packet is not one that this version understands", self);
        return;
    }
    self->is_greeted = TRUE;
    self->functions->hello(self->data);
}

static void
on_received(const ClusterMessage *message, gpointer data)
{
    ServiceSocket *self = data;

    if (!self->is_greeted)
        receive_hello(self, message);
    else if (message->kind == CLUSTER_PACKET_HELLO)
        on_closed("a packet out of order", self);
    else
        self->functions->received(message, self->data);
}

static const ClusterConnectionHandler handler = {
    .read_packet = cluster_packet_read_from_service,
    .received = on_received,
    .closed = on_closed,
};

/* ---- listening */

static gboolean
is_allowed(const ServiceSocket *self, int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return FALSE;
    if (peer.uid == self->uid || peer.uid == 0)
        return TRUE;
    g_warning("uid %u, which is not that of weblocksd, has tried to connect", (guint)peer.uid);
    return FALSE;
}

static gboolean
on_connection(int listen_fd, GIOCondition condition, gpointer data)
{
    ServiceSocket *self = data;
    const int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return G_SOURCE_CONTINUE;
    if (!is_allowed(self, fd)) {
        close(fd);
        return G_SOURCE_CONTINUE;
    }
    service_socket_disconnect(self);
    self->connection = cluster_connection_new(fd, &handler, self);
    return G_SOURCE_CONTINUE;
}

static gboolean
set_errno(GError **error, const char *what)
{
    const int code = errno;

    g_set_error(error, G_IO_ERROR, (gint)g_io_error_from_errno(code), "%s: %s", what,
                g_strerror(code));
    return FALSE;
}

/* Returns the socket that systemd has passed (see sd_listen_fds(3)), or -1. */
static int
get_inherited_socket(GError **error)
{
    const char *pid = g_getenv("LISTEN_PID"), *count = g_getenv("LISTEN_FDS");
    int type = 0;
    socklen_t size = sizeof type;

    if (pid == NULL || count == NULL || strtol(pid, NULL, 10) != getpid() ||
        !g_str_equal(count, "1")) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND,
                    "no socket was passed by systemd, and no path is given");
        return -1;
    }
    if (getsockopt(LISTEN_FDS_START, SOL_SOCKET, SO_TYPE, &type, &size) < 0 ||
        type != SOCK_SEQPACKET) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA,
                    "what systemd has passed is not a socket of sequential packets");
        return -1;
    }
    g_unsetenv("LISTEN_PID");
    g_unsetenv("LISTEN_FDS");
    g_unsetenv("LISTEN_FDNAMES");
    return LISTEN_FDS_START;
}

static gboolean
bind_to(int fd, const char *path, GError **error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    mode_t mask;
    int r;

    if (strlen(path) >= sizeof address.sun_path) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_FILENAME_TOO_LONG, "%s: too long for a socket",
                    path);
        return FALSE;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    unlink(path);
    mask = umask(0177);
    r = bind(fd, (const struct sockaddr *)&address, sizeof address);
    umask(mask);
    return r == 0 || set_errno(error, path);
}

static gboolean
open_socket(ServiceSocket *self, const char *path, GError **error)
{
    if (path == NULL) {
        self->listen_fd = get_inherited_socket(error);
        return self->listen_fd >= 0;
    }
    self->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (self->listen_fd < 0)
        return set_errno(error, "socket");
    if (!bind_to(self->listen_fd, path, error))
        return FALSE;
    self->path = g_strdup(path);
    return TRUE;
}

ServiceSocket *
service_socket_new(const char *path,
                   uid_t uid,
                   const ServiceSocketFunctions *functions,
                   gpointer data,
                   GError **error)
{
    ServiceSocket *self = g_new0(ServiceSocket, 1);

    self->uid = uid;
    self->functions = functions;
    self->data = data;
    self->listen_fd = -1;
    if (!open_socket(self, path, error)) {
        service_socket_free(self);
        return NULL;
    }
    if (listen(self->listen_fd, SOMAXCONN) < 0) {
        set_errno(error, "listen");
        service_socket_free(self);
        return NULL;
    }
    g_unix_set_fd_nonblocking(self->listen_fd, TRUE, NULL);
    self->listen_id = g_unix_fd_add(self->listen_fd, G_IO_IN, on_connection, self);
    return self;
}

void
service_socket_free(ServiceSocket *self)
{
    if (self == NULL)
        return;
    g_clear_handle_id(&self->listen_id, g_source_remove);
    g_clear_pointer(&self->connection, cluster_connection_free);
    if (self->listen_fd >= 0)
        close(self->listen_fd);
    if (self->path != NULL)
        unlink(self->path);
    g_free(self->path);
    g_free(self);
}

/* ---- sending */

void
service_socket_send(ServiceSocket *self, ClusterPacketKind kind, ...)
{
    va_list members;

    if (!self->is_greeted)
        return;
    va_start(members, kind);
    cluster_packet_write_va(cluster_connection_get_output(self->connection), kind, &members);
    va_end(members);
    cluster_connection_flush(self->connection);
}
