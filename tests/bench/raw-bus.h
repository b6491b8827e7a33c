/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A minimal client of a message bus, to measure the lower bound for a bus name: calls are
 * marshalled once and sent by one write(), and of the replies only as much is parsed as
 * distinguishes a reply from a signal. */

#pragma once

#include <glib.h>

typedef struct RawBus RawBus;

/* A connection to the bus at `unix:path=...`, after Hello. */
RawBus *raw_bus_new(const char *address);

/* A call of the bus itself, which can be sent repeatedly. */
typedef struct {
    guint8 *bytes;
    gsize length;
} RawCall;

RawCall *raw_call_new_request_name(const char *name);
RawCall *raw_call_new_release_name(const char *name);
void raw_call_free(RawCall *call);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RawCall, raw_call_free)

void raw_bus_send(RawBus *bus, const RawCall *call);
/* Sends several calls by one write(). */
void raw_bus_send_all(RawBus *bus, RawCall *const *calls, guint n);
/* Waits for the reply to the oldest call without one, and returns its first argument, a uint32. An
 * error reply ends the program. */
guint32 raw_bus_await_reply(RawBus *bus);
/* Waits for the signal NameAcquired with that name. */
void raw_bus_await_name(RawBus *bus, const char *name);

#define RAW_NAME_OWNER    1 /* what RequestName answers, and ReleaseName if all is well */
#define RAW_NAME_IN_QUEUE 2
