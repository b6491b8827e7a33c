/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* cluster-connection: a peer that always has more to send does not keep the main loop. The rest is
 * in tests/cluster, with the gateway and the service. */

#include "common/cluster-connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include "tests/lib/case.h"

static void
on_received(const ClusterMessage *message, gpointer data)
{
    ++*(guint *)data;
}

static void
on_closed(const char *reason, gpointer data)
{
    g_error("closed: %s", reason);
}

TEST("/cluster-connection/flood", test_flood)
{
    static const ClusterConnectionHandler handler = {cluster_packet_read_from_service, on_received,
                                                     on_closed};
    g_autoptr(GByteArray) ready = g_byte_array_new();
    g_autoptr(ClusterConnection) connection = NULL;
    guint n_received = 0;
    int fds[2];

    g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), ==, 0);
    connection = cluster_connection_new(fds[0], &handler, &n_received);
    cluster_packet_write(ready, CLUSTER_PACKET_READY);
    for (guint i = 1; i <= 10; i++) {
        while (send(fds[1], ready->data, ready->len, MSG_DONTWAIT) > 0)
            ;
        g_main_context_iteration(NULL, FALSE);
        g_assert_cmpuint(n_received, ==, 64 * i);
    }
    close(fds[1]);
}

TEST_MAIN(g_test_run())
