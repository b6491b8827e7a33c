/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "packet-codec.h"

#include "bus-names.h"
#include "bus-string.h"

/* Entries per LIVE message, whose size is then 16 KiB. */
#define LIVE_ENTRIES_MAX 682u

/* ---- decoding */

static void
begin_call(const PacketHead *head, LockCallKind kind, LockCall *out_call)
{
    *out_call = (LockCall){
        .kind = kind,
        .wants_reply = (head->flags & PACKET_FLAG_NO_ANSWER) == 0,
        .serial = head->serial,
    };
}

void
decode_packet_request(const PacketRequest *message,
                      const char *bucket,
                      const char *name,
                      const char *why,
                      LockCall *out_call)
{
    begin_call(&message->head, LOCK_CALL_REQUEST, out_call);
    out_call->bucket = bucket;
    out_call->name = name;
    out_call->key = message->key;
    out_call->options = (LockOptions){
        .mode = (LockMode)message->mode,
        .if_available = (message->options & PACKET_OPTION_IF_AVAILABLE) != 0,
        .steal = (message->options & PACKET_OPTION_STEAL) != 0,
        .signal = (message->options & PACKET_OPTION_SIGNAL) != 0,
        .timeout_ms = message->timeout_ms,
        .key = message->key,
        .why = why,
    };
    /* All strings are later sent in signals and replies on the bus. */
    if (message->bucket_length == 0 || message->bucket_length > BUS_BUCKET_BYTES_MAX ||
        !bus_string_is_valid(bucket) || !bus_string_is_valid(name) || !bus_string_is_valid(why))
        out_call->refusal_name = BUS_ERROR_INVALID_ARGS;
}

void
decode_packet_other(const PacketHead *head, LockCall *out_call)
{
    static const LockCallKind kinds[] = {
        [PACKET_RELEASE] = LOCK_CALL_RELEASE,
        [PACKET_ABORT] = LOCK_CALL_ABORT,
        [PACKET_SYNC] = LOCK_CALL_SYNC,
        [PACKET_END] = LOCK_CALL_END,
    };

    begin_call(head, kinds[head->kind], out_call);
    if (head->kind == PACKET_RELEASE || head->kind == PACKET_ABORT)
        out_call->key = ((const PacketKey *)head)->key;
}

/* ---- encoding */

static PacketError
get_error(LockResult result)
{
    switch (result) {
    case LOCK_RESULT_OK:
    case LOCK_RESULT_UNAVAILABLE:
        return PACKET_ERROR_NONE;
    case LOCK_RESULT_SHUTTING_DOWN:
    case LOCK_RESULT_UNIDENTIFIED:
    case LOCK_RESULT_UNDECIDED: /* an ANSWER never waits for these */
    case LOCK_RESULT_UNREACHED:
        return PACKET_ERROR_INVALID_STATE;
    case LOCK_RESULT_NO_CLUSTER:
    case LOCK_RESULT_NAME_RESERVED:
    case LOCK_RESULT_STEAL_IF_AVAILABLE:
    case LOCK_RESULT_STEAL_NOT_EXCLUSIVE:
    case LOCK_RESULT_SIGNAL_STEAL_OR_IF_AVAILABLE:
        return PACKET_ERROR_NOT_SUPPORTED;
    case LOCK_RESULT_TIMEOUT_IF_AVAILABLE:
    case LOCK_RESULT_KEY_MISMATCH:
    case LOCK_RESULT_NOT_CARRIABLE:
    case LOCK_RESULT_NO_HOST_NAME:
        return PACKET_ERROR_INVALID_ARGS;
    case LOCK_RESULT_NO_ACCESS:
        return PACKET_ERROR_SECURITY;
    case LOCK_RESULT_NOT_HELD:
        return PACKET_ERROR_NOT_HELD;
    case LOCK_RESULT_NO_LOOKUP:
    case LOCK_RESULT_NO_ROOM:
    case LOCK_RESULT_LIMIT:
    case LOCK_RESULT_COUNT:
    default:
        return PACKET_ERROR_LIMITS_EXCEEDED;
    }
}

static PacketState
get_state(const LockRequest *request)
{
    if (request == NULL)
        return PACKET_STATE_NONE;
    return request->state == LOCK_REQUEST_HELD ? PACKET_STATE_HELD : PACKET_STATE_WAITS;
}

void
encode_packet_reply(GByteArray *out, const LockCall *call, const LockReply *reply)
{
    const PacketAnswer answer = {
        .head.serial = call->serial,
        .error = get_error(reply->result),
        .limit = reply->result >= LOCK_RESULT_LIMIT ? reply->result - LOCK_RESULT_LIMIT + 1 : 0,
        .token = reply->request != NULL ? reply->request->token : 0,
        .state = (guint8)get_state(reply->request),
        .aborted = reply->aborted ? 1 : 0,
    };

    packet_write_answer(out, &answer);
}

void
encode_packet_effect(GByteArray *out, const Effect *effect)
{
    static const PacketReason reasons[N_EFFECT_KINDS] = {
        [EFFECT_STOLEN] = PACKET_REASON_STOLEN,
        [EFFECT_TIMED_OUT] = PACKET_REASON_TIMEOUT,
        [EFFECT_TERMINATED] = PACKET_REASON_TERMINATED,
        [EFFECT_LOST] = PACKET_REASON_LOST,
        [EFFECT_UNAVAILABLE] = PACKET_REASON_UNAVAILABLE,
    };
    const LockRequest *request = effect->request;

    if (effect->kind == EFFECT_GRANTED)
        packet_write_granted(out, request->key, request->token);
    else
        packet_write_ended(out, request->key, reasons[effect->kind]);
}

static PacketLiveEntry
make_entry(const LockRequest *request, gint64 now_us)
{
    gint64 left_ms = request->deadline_ms - now_us / 1000;

    return (PacketLiveEntry){
        .key = request->key,
        .token = request->token,
        .time_left_ms = request->deadline_ms != 0 ? (guint32)CLAMP(left_ms, 1, G_MAXUINT32) : 0,
        .state = get_state(request),
    };
}

void
encode_packet_live(GByteArray *out, const Agent *agent, gint64 now_us)
{
    PacketLiveEntry entries[LIVE_ENTRIES_MAX];
    guint n_entries = 0;

    for (const GList *link = agent->requests.head; link != NULL; link = link->next) {
        if (n_entries == LIVE_ENTRIES_MAX) {
            packet_write_live(out, entries, n_entries, TRUE);
            n_entries = 0;
        }
        entries[n_entries++] = make_entry(link->data, now_us);
    }
    packet_write_live(out, entries, n_entries, FALSE);
}
