/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The gateway's end of the connection to weblocksd: listens on a socket, and passes the packets of
 * the service to the functions of a table. common/cluster-packet.h has their meaning.
 *
 * There is one service at a time, which must have the uid that the link was created for (or uid 0).
 * When another process of that uid connects, it replaces the earlier one: that is a service that
 * has been restarted. A peer of another uid is disconnected immediately, and so is a service that
 * sends a malformed packet, or one out of order. */

#pragma once

#include <glib.h>
#include <sys/types.h>

#include "cluster-connection.h"
#include "cluster-packet.h"

/* The functions may send, and may call link_disconnect(). Messages are valid until they return. */
typedef struct {
    void (*hello)(gpointer data);
    void (*demand)(const ClusterDemand *message, gpointer data);
    void (*ready)(gpointer data);
    void (*ack)(guint64 serial, gpointer data);
    void (*list)(const ClusterList *message, gpointer data);
    void (*break_claims)(const ClusterBreak *message, gpointer data);
    /* The service that sent `hello` has disconnected. Not called by link_free(). */
    void (*closed)(gpointer data);
} LinkFunctions;

typedef struct Link Link;

/* Listens on a socket that systemd has passed or, if `path` is not NULL, on a new socket with mode
 * 0600 at that path, which replaces an existing one. `functions` must stay valid. */
Link *link_new(
    const char *path, uid_t uid, const LinkFunctions *functions, gpointer data, GError **error);
void link_free(Link *link);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Link, link_free)

/* Whether a service is connected, and has sent `hello`. */
gboolean link_is_connected(const Link *link);

/* Disconnects the service, if there is one; `closed` is called. */
void link_disconnect(Link *link);

/* Send a packet in the order of the calls; without a service, it is dropped. The rest of the name
 * is that of the function of cluster-packet.h that writes it. */
void link_send_lease(
    Link *link, guint64 serial, gint64 deadline_us, ClusterState state, ClusterReason reason);
void
link_send_permit(Link *link, guint64 handle, PermitMode mode, gint64 deadline_us, guint64 block);
void link_send_yield(Link *link, guint64 handle, gboolean now);
void link_send_revoked(Link *link, guint64 handle, ClusterRevokedReason reason);
void link_send_busy(Link *link, guint64 handle, guint32 number);
void link_send_gone(Link *link, guint64 handle, guint32 number);
void link_send_synced(Link *link);
void link_send_status(Link *link, ClusterState state, const char *engine, const char *hosts);
void link_send_broken(Link *link, guint64 serial, guint32 count, gboolean failed);

/* Sends ROWS, which were written by cluster_packet_begin_rows() and cluster_packet_add_row(). */
void link_send_rows(Link *link, const GByteArray *rows);
