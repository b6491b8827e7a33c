/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Replies to calls on the bus that wait for a decision of the cluster: a Request with `ifAvailable`
 * or a Steal that is undecided (core/permit.h). No other reply waits. The request itself is a
 * pending one meanwhile: the limits of requests bound the number of these replies, and whatever
 * ends the request sends the reply, or drops it if the client has disconnected.
 *
 * If the client repeats the call, by its `key`, both calls get the id now, and the outcome is sent
 * as a signal. On a lock socket, an ANSWER never waits. */

#pragma once

#include "client.h"
#include "effects.h"

LateReplies *late_replies_new(void);
void late_replies_free(LateReplies *self);

/* Keeps the reply to a call that has made `request` if that is undecided. Returns FALSE if the
 * reply is to be sent now. */
gboolean late_replies_keep(Client *client,
                           const Channel *channel,
                           const LockCall *call,
                           LockRequest *request);

/* Sends the reply that the effect decides, if there is one. Returns TRUE if the client needs no
 * event in addition. */
gboolean late_replies_send(Server *server, const Effect *effect);

/* Sends the reply of a request that waits, if it is a late one: with the id, as pending. */
void late_replies_send_id(Server *server, const LockRequest *request);

/* At shutdown: aborts the requests. The effects of this refuse the calls. */
void late_replies_abort_all(Server *server);
