/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Replies, errors and signals as D-Bus messages, each to one client; there is no broadcast. They
 * are sent at the end of the turn. */

#pragma once

#include "bus.h"
#include "effects.h"
#include "lock-call.h"

/* Replies to lock operations, and events. */
extern const Channel bus_channel;

/* An empty reply to append to; NULL if none is wanted. */
sd_bus_message *encode_new_reply(const Client *client, const LockCall *call);

/* An empty reply, if one is wanted. */
void encode_done(Client *client, const LockCall *call);

/* Error replies, if one is wanted: for a result other than LOCK_RESULT_OK and _UNAVAILABLE, for a
 * call that could not be decoded, and for a negative errno of sd-bus. */
void encode_result(Client *client, const LockCall *call, LockResult result);
void encode_refusal(Client *client, const LockCall *call);
void encode_errno(Client *client, const LockCall *call, int r);
void encode_error(Client *client, const LockCall *call, const char *name, const char *text);

/* The signal of an effect, to its client or to a watcher, from the path by which that addresses the
 * bucket. */
void encode_effect(Client *client, const Effect *effect);

/* `Released` with the reason `lost`, of a request that is no longer there to be looked at. */
void encode_lost(Client *client, const char *bucket, guint64 id, const char *name, LockMode mode);

/* Tells a watcher that `count` signals were not sent to it: about that bucket, or, if it is NULL,
 * about all that it may observe. */
void encode_missed(Client *client, const LockManager *manager, guint64 count);
