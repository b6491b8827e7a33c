/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A method call to the service, and its answer.
 *
 * The answer comes by a callback, once, from within sd-bus: it may change state and defer, no
 * more. It comes as an error too when the connection ends; and as CALL_ERROR, when it has to be
 * said again: the way of the call was closed, somebody who isn't the service has answered, or the
 * service died. Then that comes when the service is back, and it is this call's turn: see resync.h.
 */

#pragma once

#include "client-lib/connection.h"
#include "client-lib/ticket.h"

/* For sd-bus: as long as the connection stands, since the bus says so if the service dies; and what
 * D-Bus is used to. */
#define CALL_NO_TIMEOUT      UINT64_MAX
#define CALL_DEFAULT_TIMEOUT 0

/* How long an answer is waited for while the service is there, and how long the service, when it
 * isn't. */
typedef enum {
    CALL_QUESTION,      /* as D-Bus is used to; and as long */
    CALL_REQUEST,       /* for ever; and not at all, if the bus can't start it */
    CALL_REQUEST_AGAIN, /* for ever; and for ever, as the service may know of it */
    CALL_RELEASE,       /* for ever; and as D-Bus is used to */
    CALL_ABORT,         /* for ever; and for ever, as nobody waits for that */
} CallSort;

#define CALL_ERROR (call_error_quark())
typedef enum {
    CALL_ERROR_UNANSWERED, /* the service may have read it */
    CALL_ERROR_UNSENT,     /* it has not */
} CallError;
GQuark call_error_quark(void);

/* Whether it has to be said again; and whether it was never said. */
gboolean call_is_unanswered(const GError *error);
gboolean call_is_unsent(const GError *error);

typedef struct Call Call;

/* `reply` is NULL if there is an `error`; both are borrowed. */
typedef void (*CallAnswered)(sd_bus_message *reply, const GError *error, gpointer data);

/* A call to the bucket object `path`, or to the service; the connection is open. It goes to the one
 * that serves; if there is none, it starts one. */
SdBusMessage *call_new_to_bucket(Connection *connection, const char *path, const char *method);
SdBusMessage *call_new_to_service(Connection *connection, const char *method);

/* Sends it, or keeps it until the service is in step: then it is said to be unanswered. NULL, with
 * `error` set, if that fails: then `answered` is not called. The Call lives until it is answered or
 * cancelled; the caller need not keep it. */
Call *call_send(Connection *connection,
                sd_bus_message *message,
                CallSort sort,
                CallAnswered answered,
                gpointer data,
                GError **error);

/* The service has refused it, as it is about to leave: it is said to be unanswered when the next
 * one is there. */
Call *
call_wait_for_next(Connection *connection, CallSort sort, CallAnswered answered, gpointer data);

/* Whether the service may have read it. */
gboolean call_is_sent(const Call *self);

/* The answer is not wanted any more. */
void call_cancel(Call *self);

/* Sends it, and wants no answer. If it is lost, it is as if the service had never heard of it; what
 * is let go so is given back once the service is in step again. */
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
