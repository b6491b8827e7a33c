/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Decodes messages of packets into calls, and encodes replies and events as messages of packets.
 *
 * common/packet.h has validated the layout of a message. The result is a LockCall as that of a call
 * on the bus; it borrows its strings from the packet. Encoding appends to a byte array of the
 * caller. */

#pragma once

#include "agent.h"
#include "effects.h"
#include "lock-call.h"
#include "packet.h"

/* Decodes a REQUEST with these strings, which the call borrows. */
void decode_packet_request(const PacketRequest *message,
                           const char *bucket,
                           const char *name,
                           const char *why,
                           LockCall *out_call);

/* Decodes a RELEASE, ABORT, SYNC or END. */
void decode_packet_other(const PacketHead *head, LockCall *out_call);

void encode_packet_reply(GByteArray *out, const LockCall *call, const LockReply *reply);

/* Encodes a grant or an end. The request must have a key. */
void encode_packet_effect(GByteArray *out, const Effect *effect);

/* Encodes all live requests of the agent, all of which must have a key. */
void encode_packet_live(GByteArray *out, const Agent *agent, gint64 now_us);
