/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The connection of an agent: its bus connection, its lock socket, its requests and locks, and its
 * method calls. It owns all of these.
 *
 * It is opened at first use. Once closed it stays closed, since a client id isn't reused [2.4]. Its
 * users, in the sense of session.h, are the agent object that created it, held locks, and
 * unanswered calls. */

#pragma once

#include "client-lib/engine/method-call.h"
#include "client-lib/engine/request.h"

typedef struct Connection Connection;

/* ---- callable from any thread */

/* Does no I/O. If `address` is not NULL, `bus_type` is ignored. `changed` is called with the
 * session lock held whenever the connection has opened or ended, or the owner of the service's name
 * has changed; `data_free` when the connection is freed. */
Connection *connection_new(GBusType bus_type,
                           const char *address,
                           void (*changed)(Session *session, gpointer data),
                           gpointer data,
                           GDestroyNotify data_free);

/* Drops the reference of the creator. */
void connection_unref(Connection *self);

Session *connection_get_session(const Connection *self);
GMainContext *connection_get_context(const Connection *self);

/* For the first handle: from now on the service shares cells. With the session lock held, and not
 * after a fork(). */
Cells *connection_share_cells(Connection *self);

/* NULL until the bus is connected. */
const char *connection_get_client_id(const Connection *self);
/* Handles what has arrived first. */
gboolean connection_is_connected(Connection *self);

/* Returns FALSE and an error if the connection was closed, has ended, or belongs to the parent
 * process of a fork(). */
gboolean connection_check(const Connection *self, GError **error);

/* Whether the service's name has an owner, according to the last NameOwnerChanged. */
gboolean connection_is_served(Connection *self);

/* Ends the agent with all its requests and locks. */
void connection_close(Connection *self);

/* The result of connection_connect() is a pointer other than NULL; for the others see request.h and
 * method-call.h. */
void connection_connect(Connection *self, Caller caller);
void connection_request(Connection *self,
                        GRefString *bucket,
                        const char *name,
                        const RequestOptions *options,
                        Caller caller);
void connection_call(Connection *self, const MethodCallKind *kind, gpointer data, Caller caller);

/* Calls the function, and sends the operations that it has started together. */
void connection_batch(Connection *self, void (*function)(gpointer data), gpointer data);

/* ---- signals of buckets */

/* `changed` is called with the session lock held for each signal of the bucket at `path`; and with
 * `signal` NULL when the owner of the service's name changes, and when the connection ends. If
 * `path` is that of the service, it is called for the signals of all buckets. With a `name`,
 * signals about other resource names are left out. The caller owns the struct. */
typedef struct {
    const char *path;
    const char *name; /* NULL: all names */
    void (*changed)(GDBusMessage *signal, gpointer data);
    gpointer data;
    GList link;
} SignalSubscription;
void connection_subscribe(Connection *self, SignalSubscription *subscription);
/* `is_asked`: Watch has been called at this path. Then, if this was the last subscription of
 * its path, the service is called to stop sending signals. */
void connection_unsubscribe(Connection *self, SignalSubscription *subscription, gboolean is_asked);
