/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The service's end of a lock socket. It reads only when a test expects a message, so until then it
 * acts as a service that does not read. */

#pragma once

#include "common/packet.h"

typedef struct MockSocket MockSocket;

/* `*out_client_fd` is the client's end. With `is_small` the socket's buffers are as small as
 * possible. */
MockSocket *mock_socket_new(gboolean is_small, int *out_client_fd);
void mock_socket_free(MockSocket *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(MockSocket, mock_socket_free)

/* Waits for the next message and returns it; free. `what` describes it if it never comes. NULL: the
 * client has closed the socket. A malformed message fails the test. */
PacketHead *mock_socket_receive(MockSocket *self, const char *what);

/* Whether mock_socket_receive() would return immediately. */
gboolean mock_socket_has_message(MockSocket *self);

/* Sends `bytes` as one packet; waits until the client has read enough. */
void mock_socket_send(MockSocket *self, const GByteArray *bytes);
