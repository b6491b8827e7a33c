/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Packets to calls, and replies and events to packets. */

#pragma once

#include "agent.h"
#include "effects.h"
#include "lock-call.h"
#include "packet.h"

/* A REQUEST whose bucket number is bound to `bucket`. The call refers to the strings. */
void decode_packet_request(const PacketRequest *message,
                           const char *bucket,
                           const char *name,
                           const char *why,
                           LockCall *out_call);

/* RELEASE, ABORT, SYNC or END. */
void decode_packet_other(const PacketHead *head, LockCall *out_call);

/* Whether it may be the name of a bucket. */
gboolean decode_packet_is_bucket(const char *name);

void encode_packet_reply(GByteArray *out, const LockCall *call, const LockReply *reply);

/* Of a request that has a key. */
void encode_packet_effect(GByteArray *out, const Effect *effect);

/* All live requests of the agent; all have a key. */
void encode_packet_live(GByteArray *out, const Agent *agent, gint64 now_us);
