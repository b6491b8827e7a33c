/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the application waits for on the bus: method calls, such as Query, Inspect, Watch and Break;
 * and to be connected, which is a call without a message.
 *
 * A call is sent when all earlier lock operations have been sent to the service, so that the reply
 * includes their effects. It is sent again if the service ends before it has replied, unless its
 * kind has is_once; the bus then starts the next instance. If the bus can't start one, the call
 * fails. All functions are called with the session lock held. */

#pragma once

#include "client-lib/engine/bus.h"
#include "client-lib/engine/completion.h"
#include "client-lib/engine/lock-table.h"

/* Describes a method call and the conversion of its reply. `read` gets a tuple and returns the
 * result for the application; if it returns NULL without an error, `build` is called again for a
 * further call. A result without `result_free` has nothing to free. Without `build` there is no
 * call: the result is a pointer other than NULL as soon as the bus is connected. */
typedef struct {
    /* What it returns is borrowed from `data`, except for the body. */
    BusMessage (*build)(gpointer data);
    gpointer (*read)(GVariant *body, gpointer data, GError **error);
    GDestroyNotify result_free;
    GDestroyNotify data_free; /* of `data`, when the call is over; NULL: it is borrowed */
    /* In place of `read`, for replies that can be large: reads them without a GVariant. */
    gpointer (*read_raw)(const BusReply *reply, gpointer data, GError **error);
    /* The call changes something, so it must not take effect twice: it is only sent again if the
     * service has refused it. If no reply comes, it fails, since its effect is unknown. */
    gboolean is_once;
} MethodCallKind;

typedef struct MethodCalls MethodCalls;

/* All are borrowed. */
MethodCalls *method_calls_new(Session *session, Bus *bus, LockTable *table);
void method_calls_free(MethodCalls *self);

/* Starts a call. Borrowed data must be valid until the completion. Each call of an asynchronous
 * operation has the time-out ANSWER_TIMEOUT_US; all calls of a synchronous one have it together. */
void
method_calls_start(MethodCalls *self, const MethodCallKind *kind, gpointer data, Caller caller);

/* Completes a call that can't be started. Takes `error`. */
void method_call_refuse(
    const MethodCallKind *kind, gpointer data, Session *session, GError *error, Caller caller);

/* Sends waiting calls, if the bus is connected and no lock operation waits. */
void method_calls_try(MethodCalls *self);

/* A notification from the bus: the owner of the service's name has changed. */
void method_calls_owner_changed(MethodCalls *self);

/* Completes all calls with the error. */
void method_calls_finish(MethodCalls *self, const GError *error);
