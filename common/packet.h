/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The packets of a lock socket: their layouts, and the only code that reads and writes them.
 *
 * docs/socket-protocol.md is the specification; service and library include this header. A packet
 * is a sequence of 1..n messages, each beginning with a PacketHead. All numbers are in native byte
 * order, since both ends are on one machine, and every message is a multiple of 8 bytes long.
 *
 * Reading accepts nothing that the specification does not allow: after packet_read_*() has returned
 * TRUE, sizes, reserved fields, enumerations and text of the message are valid. Text is UTF-8
 * without NUL; whether a name is too long or has characters that D-Bus cannot carry is not a matter
 * of the layout. */

#pragma once

#include <glib.h>

#include "limit-id.h"
#include "lock-mode.h"

#define PACKET_VERSION   1u
#define PACKET_BYTES_MAX 65536u
#define PACKET_ALIGNMENT 8u
#define PACKET_N_BUCKETS 64u /* bucket numbers of a socket */

typedef enum {
    /* From the client. */
    PACKET_BUCKET = 1,
    PACKET_REQUEST = 2,
    PACKET_RELEASE = 3,
    PACKET_ABORT = 4,
    PACKET_SYNC = 5,
    PACKET_END = 6,
    /* From the service. */
    PACKET_ANSWER = 65,
    PACKET_GRANTED = 66,
    PACKET_ENDED = 67,
    PACKET_LIVE = 68,
    PACKET_CLOSED = 69,
} PacketKind;

/* PacketHead.flags, of RELEASE and ABORT. */
#define PACKET_FLAG_NO_ANSWER 1u

/* PacketRequest.options. */
#define PACKET_OPTION_IF_AVAILABLE 1u
#define PACKET_OPTION_STEAL        2u
#define PACKET_OPTION_SIGNAL       4u
#define PACKET_OPTIONS_ALL         7u

/* PacketAnswer.error: the error names of the D-Bus contract. */
typedef enum {
    PACKET_ERROR_NONE = 0,
    PACKET_ERROR_INVALID_ARGS = 1,
    PACKET_ERROR_NOT_SUPPORTED = 2,
    PACKET_ERROR_INVALID_STATE = 3,
    PACKET_ERROR_NOT_HELD = 4,
    PACKET_ERROR_LIMITS_EXCEEDED = 5,
    N_PACKET_ERRORS,
} PacketError;

/* PacketAnswer.state and PacketLiveEntry.state. */
typedef enum {
    PACKET_STATE_NONE = 0,
    PACKET_STATE_WAITS = 1,
    PACKET_STATE_HELD = 2,
} PacketState;

/* PacketEnded.reason. */
typedef enum {
    PACKET_REASON_STOLEN = 1,
    PACKET_REASON_TIMEOUT = 2,
    PACKET_REASON_TERMINATED = 3,
    PACKET_REASON_LOST = 4,
} PacketReason;

/* PacketClosed.reason. */
typedef enum {
    PACKET_CLOSED_REPLACED = 1,
    PACKET_CLOSED_MALFORMED = 2,
    PACKET_CLOSED_SHUTDOWN = 3,
} PacketClosedReason;

typedef struct {
    guint16 kind;
    guint16 flags;
    guint32 size; /* of the whole message, with this head */
    guint64 serial;
} PacketHead;

typedef struct {
    PacketHead head;
    guint32 bucket;
    guint16 length;
    guint16 reserved;
    char name[];
} PacketBucket;

typedef struct {
    PacketHead head;
    guint64 key;
    guint32 bucket;
    guint32 timeout_ms;
    guint8 mode; /* 0 exclusive, 1 shared */
    guint8 options;
    guint16 reserved;
    guint16 name_length;
    guint16 why_length;
    char text[]; /* name, then why, then zeros up to a multiple of 8 */
} PacketRequest;

/* RELEASE and ABORT. */
typedef struct {
    PacketHead head;
    guint64 key;
} PacketKey;

typedef struct {
    PacketHead head;
    guint32 error; /* a PacketError */
    guint32 limit; /* 1 + LimitId with LIMITS_EXCEEDED; 0: no room left to store anything */
    guint64 token; /* of a lock that is held */
    guint8 state;
    guint8 aborted; /* to ABORT */
    guint8 reserved[6];
} PacketAnswer;

typedef struct {
    PacketHead head;
    guint64 key;
    guint64 token;
} PacketGranted;

typedef struct {
    PacketHead head;
    guint64 key;
    guint32 reason;
    guint32 reserved;
} PacketEnded;

typedef struct {
    guint64 key;
    guint64 token;        /* 0 unless held */
    guint32 time_left_ms; /* of its time-out; 0 is none */
    guint32 state;
} PacketLiveEntry;

typedef struct {
    PacketHead head;
    guint32 n_entries;
    guint32 more; /* 1: another LIVE follows */
    PacketLiveEntry entries[];
} PacketLive;

typedef struct {
    PacketHead head;
    guint32 reason;
    guint32 reserved;
} PacketClosed;

#define PACKET_LIVE_ENTRIES_MAX ((PACKET_BYTES_MAX - sizeof(PacketLive)) / sizeof(PacketLiveEntry))

/* ---- reading */

/* The message at `*offset` of a packet of `size` bytes, which is 8-byte aligned; `*offset` moves
 * behind it. NULL: it is malformed. Not to be called at the end of the packet. */
const PacketHead *packet_read_from_client(const void *packet, gsize size, gsize *offset);
const PacketHead *packet_read_from_service(const void *packet, gsize size, gsize *offset);

/* ---- writing: each appends one message to `bytes` */

void packet_write_bucket(GByteArray *bytes, guint32 bucket, const char *name);

/* `why` may be NULL. */
void packet_write_request(GByteArray *bytes,
                          guint64 serial,
                          guint64 key,
                          guint32 bucket,
                          guint32 timeout_ms,
                          LockMode mode,
                          guint8 options,
                          const char *name,
                          const char *why);

/* RELEASE or ABORT. */
void
packet_write_key(GByteArray *bytes, PacketKind kind, guint16 flags, guint64 serial, guint64 key);

/* SYNC or END. */
void packet_write_head(GByteArray *bytes, PacketKind kind, guint64 serial);

/* head.serial, error, limit, token, state and aborted are taken from `answer`. */
void packet_write_answer(GByteArray *bytes, const PacketAnswer *answer);
void packet_write_granted(GByteArray *bytes, guint64 key, guint64 token);
void packet_write_ended(GByteArray *bytes, guint64 key, PacketReason reason);
void packet_write_live(GByteArray *bytes,
                       const PacketLiveEntry *entries,
                       guint n_entries,
                       gboolean more);
void packet_write_closed(GByteArray *bytes, PacketClosedReason reason);

/* How many bytes from `offset` on go into one packet of at most `max` bytes: whole messages, as
 * many as fit, and at least one. */
gsize packet_get_length(const GByteArray *bytes, gsize offset, gsize max);
