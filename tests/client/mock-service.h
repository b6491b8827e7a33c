/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A mock of the service on the bus: the owner of org.w3.WebLocks, to whose calls a test replies,
 * one by one. Everything except receiving messages runs in the default main context.
 *
 * The lock socket is in mock-socket.h. */

#pragma once

#include "tests/lib/private-bus.h"

typedef struct MockService MockService;

/* Connects to the bus, and takes over the service's name. Calls that were sent to the name before
 * are not received. */
MockService *mock_service_new(PrivateBus *bus);

/* Disconnects from the bus, as if its process had been killed. Returns when the bus has noticed. */
void mock_service_free(MockService *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(MockService, mock_service_free)

/* The next call of any kind; NULL: none has arrived. */
GDBusMessage *mock_service_peek(MockService *self);
GDBusMessage *mock_service_take(MockService *self);

/* `body` is a GVariant tuple in text format. */
void mock_service_reply(MockService *self, GDBusMessage *call, const char *body);
void mock_service_reply_error(MockService *self, GDBusMessage *call, const char *name);

/* Replies to OpenSocket; takes ownership of the descriptor. */
void mock_service_reply_socket(
    MockService *self, GDBusMessage *call, int fd, int handle, guint32 version);

/* Sends a signal of the lock interface. `path` NULL: of the bucket "bucket". */
void mock_service_signal(MockService *self,
                         const char *destination,
                         const char *path,
                         const char *member,
                         const char *body);
