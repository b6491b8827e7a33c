/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A bus that is a mock, with a lock service that does what a test says: late answers, wrong ones,
 * forged ones; what no real bus and no real service can be brought to do at will.
 *
 * It knows one client, whose calls to the bus itself it answers. Calls to the service stand in a
 * row until mock_expect() takes them. All runs in the default main context, so agents on it make
 * async calls only. */

#pragma once

#include <gio/gio.h>

#define MOCK_CLIENT  ":1.7"
#define MOCK_SERVICE ":1.2"
#define MOCK_FORGER  ":1.66"
#define MOCK_BUS     "org.freedesktop.DBus"

typedef struct MockBus MockBus;

/* `owner` of the service's name: MOCK_SERVICE, or NULL if it has none. */
MockBus *mock_bus_new(const char *owner);
void mock_bus_free(MockBus *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(MockBus, mock_bus_free)

const char *mock_bus_get_address(const MockBus *self);

/* Hello is refused, or never answered. */
void mock_bus_refuse_hello(MockBus *self);
void mock_bus_ignore_hello(MockBus *self);

/* Waits for the next call to the service; the test fails if it is another one. */
GDBusMessage *mock_expect(MockBus *self, const char *member);

/* Any call. */
GDBusMessage *mock_expect_any(MockBus *self);

/* How many calls there are that were not expected yet. */
guint mock_count(MockBus *self);

/* The client has left, and no call was there that nobody expected. */
void mock_expect_end(MockBus *self);

/* Whether the client has come, or left; for test_wait(). */
gboolean mock_is_connected(gpointer mock_bus);
gboolean mock_is_left(gpointer mock_bus);

/* Answers as `sender`. The text is of GVariant: a tuple. */
void mock_answer(MockBus *self, GDBusMessage *call, const char *sender, const char *body);
void mock_answer_error(MockBus *self, GDBusMessage *call, const char *sender, const char *name);

/* With a descriptor, which it closes. */
void mock_answer_fd(MockBus *self, GDBusMessage *call, const char *sender, int fd);

/* A signal of the lock interface, from the bucket object that `call` was for. */
void mock_signal(
    MockBus *self, GDBusMessage *call, const char *sender, const char *member, const char *body);

/* The service's name goes to `owner`, or to nobody; `sender` says so. */
void mock_name_owner_changed(MockBus *self, const char *sender, const char *owner);

/* What was sent has arrived in the client's socket. */
void mock_flush(MockBus *self);

/* The bus dies. */
void mock_bus_cut(MockBus *self);

/* The first argument of `call`, which is a t; a value of the options of a Request, or NULL. */
guint64 mock_get_id(GDBusMessage *call);
GVariant *mock_get_option(GDBusMessage *call, const char *key);
