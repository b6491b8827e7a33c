/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A method call to the service, and its answer.
 *
 * The answer comes by a callback, once, from within sd-bus: it may change state and defer, no
 * more. It comes as an error too when the connection ends; and as CALL_ERROR_UNANSWERED when the
 * way of the call was closed, or somebody who isn't the service has answered: whatever the service
 * says to it won't be heard, so it has to be asked again. */

#pragma once

#include "client-lib/connection.h"
#include "client-lib/ticket.h"

/* Waits as long as the connection stands: if the service dies, the bus says so. */
#define CALL_NO_TIMEOUT UINT64_MAX
/* What D-Bus is used to. */
#define CALL_DEFAULT_TIMEOUT 0

#define CALL_ERROR (call_error_quark())
typedef enum {
    CALL_ERROR_UNANSWERED,
} CallError;
GQuark call_error_quark(void);

gboolean call_is_unanswered(const GError *error);

typedef struct Call Call;

/* `reply` is NULL if there is an `error`; both are borrowed. */
typedef void (*CallAnswered)(sd_bus_message *reply, const GError *error, gpointer data);

/* A call to the bucket object `path`, or to the service; the connection is open. `destination` NULL
 * is whoever serves; else the unique name of the one that gave what the call is about. */
SdBusMessage *call_new_to_bucket(Connection *connection,
                                 const char *destination,
                                 const char *path,
                                 const char *method);
SdBusMessage *call_new_to_service(Connection *connection, const char *method);

/* Sends it. NULL, with `error` set, if that fails: then `answered` is not called. The Call lives
 * until it is answered or cancelled; the caller need not keep it. */
Call *call_send(Connection *connection,
                sd_bus_message *message,
                guint64 timeout_us,
                CallAnswered answered,
                gpointer data,
                GError **error);

/* The answer is not wanted any more. */
void call_cancel(Call *self);

/* Sends it, and wants no answer. */
void call_send_quietly(Connection *connection, sd_bus_message *message);

/* Calls whose answer somebody waits for: `build` makes the message, `read` makes the result of the
 * answer. NULL without an error from `read` says that the answer goes on, and `build` is to make
 * the next call. The cancellable ends it at once. `data` lives until there is a result. */
typedef SdBusMessage *(*CallBuild)(Connection *connection, gpointer data);
typedef gpointer (*CallRead)(sd_bus_message *reply, gpointer data, GError **error);
typedef struct {
    CallBuild build;
    CallRead read;
    GDestroyNotify result_free;
} CallKind;

/* From outside the gate: for a task, which it takes, and as a sync call. */
void call_run_for_task(Connection *connection, const CallKind *kind, gpointer data, GTask *task);
gpointer call_run_sync(Connection *connection,
                       const CallKind *kind,
                       gpointer data,
                       GCancellable *cancellable,
                       GError **error);
