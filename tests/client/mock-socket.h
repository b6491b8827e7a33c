/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The service's end of a private socket, on which a script plays the service: byte by byte, so that
 * it can also be rude. As on the mock bus, calls stand in a row until they are expected. */

#pragma once

#include "tests/client/mock-bus.h"

typedef struct MockSocket MockSocket;

/* How it takes the handshake. */
typedef enum {
    MOCK_SOCKET_POLITE,
    MOCK_SOCKET_SILENT,  /* it says nothing */
    MOCK_SOCKET_REJECTS, /* EXTERNAL is not good enough */
    MOCK_SOCKET_ENDS,    /* it closes when it has read something */
    MOCK_SOCKET_MUMBLES, /* what it says makes no sense */
} MockManners;

/* Answers OpenPeer with a new one. */
MockSocket *
mock_open_socket(MockBus *mock, GDBusMessage *call, const char *sender, MockManners manners);
void mock_socket_free(MockSocket *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(MockSocket, mock_socket_free)

/* Waits for the next call; the test fails if it is another one. */
GDBusMessage *mock_socket_expect(MockSocket *self, const char *member);

/* Any call. */
GDBusMessage *mock_socket_expect_any(MockSocket *self);

/* As on the bus. `sender` may be NULL. */
void mock_socket_answer(MockSocket *self, GDBusMessage *call, const char *sender, const char *body);
void mock_socket_answer_error(MockSocket *self,
                              GDBusMessage *call,
                              const char *sender,
                              const char *name);
void mock_socket_signal(
    MockSocket *self, GDBusMessage *call, const char *sender, const char *member, const char *body);

/* Something that is no message. */
void mock_socket_write(MockSocket *self, const char *text);

/* The service has closed it. */
void mock_socket_close(MockSocket *self);

/* How many calls there are that were not expected yet; without the main loop. */
guint mock_socket_count(MockSocket *self);

/* Whether the client has said anything, the handshake is over, and the client or the script
 * has closed it; for test_wait(). */
gboolean mock_socket_has_heard(gpointer mock_socket);
gboolean mock_socket_is_open(gpointer mock_socket);
gboolean mock_socket_is_left(gpointer mock_socket);

/* Waits until the handshake is over; FALSE: the client has closed it. */
gboolean mock_socket_wait(MockSocket *self);

/* No call was there that nobody expected. */
void mock_socket_expect_end(MockSocket *self);
