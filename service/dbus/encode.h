/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Encoding of replies, errors and signals as D-Bus messages.
 *
 * Each message has one destination; nothing is broadcast. The functions queue their messages in the
 * Bus, which sends them at the end of the turn. */

#pragma once

#include "bus.h"
#include "lock-call.h"
#include "lock-queue.h"

/* The channel of clients without a lock socket. */
extern const Channel bus_channel;

/* Returns an empty reply to append to, owned by the caller, or NULL if the call wants no reply. */
sd_bus_message *encode_new_reply(const Client *client, const LockCall *call);

/* The same for an error reply. */
sd_bus_message *
encode_new_error(const Client *client, const LockCall *call, const char *name, const char *text);

/* Sends an empty reply, if the call wants one. */
void encode_done(Client *client, const LockCall *call);

/* Send error replies, if the call wants a reply: for a result other than LOCK_RESULT_OK and
 * _UNAVAILABLE, for a negative errno of sd-bus, and for a given name and text. */
void encode_result(Client *client, const LockCall *call, LockResult result);
void encode_errno(Client *client, const LockCall *call, int r);
void encode_error(Client *client, const LockCall *call, const char *name, const char *text);

/* Sends the signal of an effect to a watcher, with the object path that this client uses for the
 * bucket, or for its public name. */
void encode_effect(Client *client, const Effect *effect, const char *bucket);

/* Sends `Released` with the reason `lost`, for a request that does not exist in the core. */
void
encode_lost(Client *client, const char *bucket, guint64 id, const char *lock_name, LockMode mode);

/* Sends `Missed` to a watcher: `count` signals of the bucket or, if `manager` is NULL, of all
 * buckets that it may observe, were not sent. */
void encode_missed(Client *client, const LockManager *manager, guint64 count);
