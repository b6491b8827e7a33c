/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Answers to calls, as far as they are alike. */

#pragma once

#include "common/sd-bus.h"
#include "service/bus/client.h"
#include "service/core/lock-result.h"

/* An empty reply to append to; NULL if none is wanted. */
sd_bus_message *replies_new(sd_bus_message *call);

/* Puts a reply (taken) to a call of that client, which is its last one, into the outbox. `n_bytes`
 * is about what the strings in it take. */
void replies_put(Client *client, sd_bus_message *reply, gsize n_bytes);

/* The same for a list, which its client can do without: refused with a limit, and then `error` is
 * set and the result negative, when too much is unread on private sockets. */
int replies_put_list(Client *client, sd_bus_message *reply, gsize n_bytes, sd_bus_error *error);

/* Puts an error reply into the outbox of the call's link, if the caller wants one. */
void replies_put_error(Link *link, sd_bus_message *call, const sd_bus_error *error);

/* Sets the error of a result; always returns a negative errno. */
int replies_set_result(sd_bus_error *error, Edge *edge, LockResult result);
