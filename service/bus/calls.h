/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The way in for every method call of the contract: whose it is, whether it can be served now, and
 * its reply.
 *
 * sd-bus has matched object, interface, member and signature before a call comes here; what it
 * refuses by itself (UnknownObject, UnknownMethod, InvalidArgs for a wrong signature) never does.
 */

#pragma once

#include "common/sd-bus.h"
#include "service/bus/bus-types.h"
#include "service/core/lock-result.h"

/* Serves one call of an identified client. Appends its reply and its signals to the outbox, or
 * returns negative with `error` set, and then nothing has changed. */
typedef int (*CallHandler)(Client *client, sd_bus_message *call, sd_bus_error *error);

/* The sd-bus callback of all methods; `userdata` is the BusService. */
int calls_on_method(sd_bus_message *call, void *userdata, sd_bus_error *error);

/* Takes in a call that was kept while it could not be known whether the service stays. */
void calls_receive(BusService *service, sd_bus_message *call);

/* Serves a call of an identified client and sees to its error reply. */
void calls_serve(Client *client, sd_bus_message *call);

/* An empty reply to append to; NULL if none is wanted. */
sd_bus_message *calls_new_reply(sd_bus_message *call);

/* Puts an error reply into the outbox, if the caller wants one. */
void calls_reply_error(BusService *service, sd_bus_message *call, const sd_bus_error *error);

/* Sets the error of a result; always returns a negative errno. */
int calls_set_error(sd_bus_error *error, BusService *service, LockResult result);
