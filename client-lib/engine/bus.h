/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The bus connection of an agent: method calls and their replies, signals of the lock service, and
 * the owner of the service's name.
 *
 * A reply is accepted only from the owner of the service's name or from the bus itself. All
 * functions are called with the session lock held. */

#pragma once

#include <gio/gunixfdlist.h>

#include "client-lib/engine/bus-reply.h"
#include "client-lib/engine/session.h"

typedef struct Bus Bus;
typedef struct BusCall BusCall;

typedef enum {
    BUS_ANSWERED,
    BUS_REFUSED,    /* an error reply from the service or the bus */
    BUS_LEAVING,    /* InvalidState: the service is shutting down */
    BUS_UNANSWERED, /* the service has ended, possibly after it had read the call */
    BUS_ABSENT,     /* the name has no owner, and the bus can't start the service */
    BUS_TIMED_OUT,
    BUS_ENDED, /* the connection to the bus has ended */
} BusOutcome;

typedef struct {
    /* The connection is established; the unique name and the owner of the service's name are
     * known. */
    void (*connected)(gpointer data);
    /* The service's name has a new owner, or none. */
    void (*owner_changed)(gpointer data);
    /* Called before a message is handled. Whatever the service sent on its socket before this
     * message, including EOF, can be read from the socket now. */
    void (*arriving)(gpointer data);
    void (*signal)(GDBusMessage *signal, gpointer data);
    /* The connection has ended or could not be established. */
    void (*ended)(const GError *error, gpointer data);
} BusFuncs;

/* If `address` is not NULL, `bus_type` is ignored. */
Bus *bus_new(
    Session *session, GBusType bus_type, const char *address, const BusFuncs *funcs, gpointer data);
void bus_free(Bus *self);

/* Opens the connection, unless that was done. Afterwards funcs.connected or funcs.ended is called.
 */
gboolean bus_connect(Bus *self, GError **error);

/* Unanswered calls fail with `error`. */
void bus_close(Bus *self, const GError *error);

gboolean bus_is_connected(const Bus *self);

/* Whether it is connected, or is being connected. */
gboolean bus_is_opened(const Bus *self);

/* Returns NULL until the bus is connected. */
const char *bus_get_unique_name(const Bus *self);

/* Returns the unique name of the service, or NULL if the name has no owner. */
const char *bus_get_owner(const Bus *self);

/* Called once for each call. With BUS_ANSWERED `reply` is set, otherwise `error`, which is the one
 * for the application. Both are borrowed. */
typedef void (*BusAnswered)(BusOutcome outcome,
                            GDBusMessage *reply,
                            const GError *error,
                            gpointer data);

/* A call of a method of the lock service. `body` may be floating, and is a tuple. */
typedef struct {
    const char *path;
    const char *interface;
    const char *method;
    GVariant *body;           /* NULL: none */
    GUnixFDList *descriptors; /* that the body refers to; NULL: none */
    gboolean no_auto_start;   /* BUS_ABSENT if the service is not running */
    /* A reply in native byte order, as the service sends it, is passed to this in place of
     * BusAnswered, without being parsed. NULL: all are parsed. */
    void (*take)(const BusReply *reply, gpointer data);
} BusMessage;

/* Calls a method of the lock service, which starts the service if it is not running. bus_connect()
 * must have been called; a call with descriptors requires that the Bus is connected. With a
 * `timeout_us` of 0 the call does not time out. */
BusCall *bus_call(
    Bus *self, const BusMessage *message, gint64 timeout_us, BusAnswered answered, gpointer data);

/* Ignores the reply: no function of this call is called any more. */
void bus_call_forget(BusCall *call);
