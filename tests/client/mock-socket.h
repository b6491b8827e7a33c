/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The service's end of a lock socket. It reads only when a test expects a message, so a test that
 * expects none is a service that does not read. */

#pragma once

#include "common/packet.h"

typedef struct MockSocket MockSocket;

/* `*out_client_fd` is the client's end. With `is_small` it takes next to nothing before it is
 * full. */
MockSocket *mock_socket_new(gboolean is_small, int *out_client_fd);
void mock_socket_free(MockSocket *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(MockSocket, mock_socket_free)

/* The client's end, as in the name of its link in /proc/self/fd. */
guint64 mock_socket_get_client_inode(const MockSocket *self);

/* Waits for the next message, which is `what` if it never comes, and returns it; free. Those that
 * bind a bucket are stored, and not returned. NULL: the client has closed the socket. A malformed
 * one fails the test. */
PacketHead *mock_socket_receive(MockSocket *self, const char *what);

/* Whether that would not wait. */
gboolean mock_socket_has_message(MockSocket *self);

/* The name that the client has bound to a number; NULL: none. */
const char *mock_socket_get_bucket(const MockSocket *self, guint32 number);

/* Sends one packet, of whatever is in `bytes`; waits until the client has read enough. */
void mock_socket_send(MockSocket *self, const GByteArray *bytes);
