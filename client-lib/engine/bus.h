/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The message bus of an agent: calls and their answers, signals of the lock service, and who owns
 * the service's name.
 *
 * The connection is one of its own, or a GDBusConnection that the application uses as well. Only
 * the owner of the service's name, and the bus itself, are accepted as senders of an answer. All
 * functions are called with the session lock held. */

#pragma once

#include "client-lib/engine/bus-reply.h"
#include "client-lib/engine/session.h"

/* How long a method call waits for its answer, as usual with D-Bus. */
#define BUS_TIMEOUT_US (25 * G_TIME_SPAN_SECOND)

typedef struct Bus Bus;
typedef struct BusCall BusCall;

typedef enum {
    BUS_ANSWERED,
    BUS_REFUSED,    /* an error of the service or of the bus */
    BUS_LEAVING,    /* InvalidState: the service is about to end */
    BUS_UNANSWERED, /* the service has ended; it may have read the call */
    BUS_ABSENT,     /* nobody owns the name, and the bus can't start a service */
    BUS_TIMED_OUT,
    BUS_ENDED, /* the connection to the bus has ended */
} BusOutcome;

typedef struct {
    /* The unique name and the owner of the service's name are known. */
    void (*connected)(gpointer data);
    /* The service's name has another owner, or none. */
    void (*owner_changed)(gpointer data);
    /* A message arrives: what the service sent on its socket before, and the end of that if it was
     * the cause, has arrived too. */
    void (*arriving)(gpointer data);
    void (*signal)(GDBusMessage *signal, gpointer data);
    /* There is no connection any more, or there never was. */
    void (*ended)(const GError *error, gpointer data);
} BusFuncs;

Bus *bus_new(Session *session, const BusFuncs *funcs, gpointer data);
void bus_free(Bus *self);

/* Opens a connection; funcs.connected or funcs.ended follow. */
gboolean bus_connect(Bus *self, GBusType bus_type, const char *address, GError **error);

/* Uses one that is open; funcs.connected follows. */
void bus_borrow(Bus *self, GDBusConnection *connection);

/* Calls without an answer get `error`. A borrowed connection stays open. */
void bus_close(Bus *self, const GError *error);

gboolean bus_is_connected(const Bus *self);
gboolean bus_passes_fds(const Bus *self);

/* NULL until it is connected. */
const char *bus_get_unique_name(const Bus *self);

/* Unique name of the service; NULL: nobody owns the name. */
const char *bus_get_owner(const Bus *self);

/* `reply` is NULL unless it was answered, else `error` is; both are borrowed. The error is what the
 * application is to get. Called once. */
typedef void (*BusAnswered)(BusOutcome outcome,
                            GDBusMessage *reply,
                            const GError *error,
                            gpointer data);

/* Calls the lock service, which starts it. `body` is a tuple, or NULL. `timeout_us` 0: none. */
BusCall *bus_call(Bus *self,
                  const char *path,
                  const char *interface,
                  const char *method,
                  GVariant *body,
                  gint64 timeout_us,
                  BusAnswered answered,
                  gpointer data);

/* If the answer is large, `take` gets it unread, instead of BusAnswered; FALSE: it is not taken. */
void bus_call_set_take(BusCall *call, gboolean (*take)(const BusReply *reply, gpointer data));

/* The answer is not wanted any more. */
void bus_call_forget(BusCall *call);
