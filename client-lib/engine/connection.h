/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The connection of an agent: its bus, its lock socket, and everything that is requested, held or
 * asked by them.
 *
 * It opens when it is first used. Once closed it stays closed, since a client id isn't used again
 * [2.4]; a borrowed bus connection may have another agent afterwards. Locks and calls without an
 * answer are its users, besides whoever made it: see session.h. */

#pragma once

#include "client-lib/engine/method-call.h"
#include "client-lib/engine/request.h"

typedef struct Connection Connection;

/* ---- from any thread */

/* No I/O. `address` wins over `bus_type` unless NULL. */
Connection *connection_new(GBusType bus_type, const char *address);

/* Uses a connection of the application, which has a unique name. */
Connection *connection_new_borrowed(GDBusConnection *bus);

/* Whoever made it does not use it any more. */
void connection_unref(Connection *self);

Session *connection_get_session(const Connection *self);
GMainContext *connection_get_context(const Connection *self);

/* NULL until the bus is connected. */
const char *connection_get_client_id(const Connection *self);
gboolean connection_is_connected(const Connection *self);

/* FALSE, and an error: it was closed, has ended, or is that of another process. */
gboolean connection_check(const Connection *self, GError **error);

/* Whether somebody owns the service's name, as far as is known. */
gboolean connection_is_served(Connection *self);

/* Ends the agent; all that it holds or waits for ends. */
void connection_close(Connection *self);

/* `changed` is called with the session lock held when it has opened or ended, until it is freed;
 * set it once. */
void connection_set_changed(Connection *self,
                            void (*changed)(gpointer data),
                            gpointer data,
                            GDestroyNotify destroy);

/* The result of connecting is a boolean; of a request, see request.h; of a question, see
 * method-call.h. */
void connection_connect(Connection *self, Caller caller);
void connection_request(Connection *self,
                        const RequestFuncs *funcs,
                        GRefString *bucket,
                        const char *name,
                        const RequestOptions *options,
                        Caller caller);
void connection_call(Connection *self, const MethodCallKind *kind, gpointer data, Caller caller);

/* ---- watching a bucket */

/* Something that is told, with the session lock held, of each signal about the bucket at `path`,
 * when the service's name has another owner, and when the connection ends. */
typedef struct {
    const char *path;
    void (*changed)(gpointer data);
    gpointer data;
    GList link;
} ConnectionWatch;
void connection_add_watch(Connection *self, ConnectionWatch *watch);
/* `is_asked`: the service was asked to watch; it is told when this was the last one of its path. */
void connection_remove_watch(Connection *self, ConnectionWatch *watch, gboolean is_asked);

/* How often the service's name has had another owner. With the lock held. */
guint connection_count_owner_changes(const Connection *self);
