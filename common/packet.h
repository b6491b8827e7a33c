/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The packets of a lock socket: their layout, and the functions that read and write them.
 *
 * docs/socket-protocol.md is the specification. The service and the library both include this
 * header; no other code parses or builds packets. A packet is a sequence of one or more messages,
 * each of which begins with a PacketHead. All numbers are in native byte order, since both peers
 * are on one machine. The size of every message is a multiple of 8 bytes.
 *
 * Reading is strict: if packet_read_*() returns a message, its size, reserved fields, enumerations
 * and text are valid. Text is UTF-8 without NUL; one NUL is before the option `for` of a request.
 * The lengths of texts, and characters that D-Bus strings cannot contain, are not checked here.
 *
 * The reading functions return pointers into the caller's packet; the writing functions append to
 * a byte array that the caller owns. */

#pragma once

#include <glib.h>

#include "limit-id.h"
#include "lock-mode.h"

#define PACKET_VERSION     3u
#define PACKET_VERSION_MIN 2u /* without cells */
#define PACKET_BYTES_MAX   65536u
#define PACKET_ALIGNMENT   8u

typedef enum {
    /* From the client. */
    PACKET_REQUEST = 2,
    PACKET_RELEASE = 3,
    PACKET_ABORT = 4,
    PACKET_SYNC = 5,
    PACKET_END = 6,
    PACKET_DOWNGRADE = 7,
    /* From the service. */
    PACKET_ANSWER = 65,
    PACKET_GRANTED = 66,
    PACKET_ENDED = 67,
    PACKET_LIVE = 68,
    PACKET_CLOSED = 69,
    PACKET_WANTED = 70,
} PacketKind;

/* PacketHead.flags of RELEASE, ABORT and DOWNGRADE. */
#define PACKET_FLAG_NO_ANSWER 1u

/* PacketRequest.options. */
#define PACKET_OPTION_IF_AVAILABLE 1u
#define PACKET_OPTION_STEAL        2u
#define PACKET_OPTION_SIGNAL       4u
#define PACKET_OPTION_CELL         8u
#define PACKET_OPTIONS_ALL         15u

/* PacketAnswer.error: each value stands for an error name of the D-Bus interface. */
typedef enum {
    PACKET_ERROR_NONE = 0,
    PACKET_ERROR_INVALID_ARGS = 1,
    PACKET_ERROR_NOT_SUPPORTED = 2,
    PACKET_ERROR_INVALID_STATE = 3,
    PACKET_ERROR_NOT_HELD = 4,
    PACKET_ERROR_LIMITS_EXCEEDED = 5,
    PACKET_ERROR_SECURITY = 6,
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
    PACKET_REASON_UNAVAILABLE = 5,
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
    guint32 size; /* of the whole message, including this head, in bytes */
    guint64 serial;
} PacketHead;

typedef struct {
    PacketHead head;
    guint64 key;
    guint32 timeout_ms;
    guint8 mode; /* 0 exclusive, 1 shared */
    guint8 options;
    guint16 bucket_length;
    guint16 name_length;
    guint16 texts_length; /* of why; if there is a `for`, of why, a NUL and `for` */
    guint32 slots;        /* 0: not given; with PACKET_OPTION_CELL, the number of the cell */
    char text[];          /* bucket, name, why and `for`, then zeros up to a multiple of 8 */
} PacketRequest;

/* RELEASE, ABORT and DOWNGRADE. */
typedef struct {
    PacketHead head;
    guint64 key;
} PacketKey;

typedef struct {
    PacketHead head;
    guint32 error; /* a PacketError */
    guint32 limit; /* with LIMITS_EXCEEDED: 1 + LimitId, or 0 if the state can't be stored */
    guint64 token; /* 0 unless `state` is PACKET_STATE_HELD */
    guint8 state;
    guint8 aborted; /* 1 if an ABORT has removed a pending request */
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
    PacketHead head;
    guint64 key;
    guint32 wanted; /* 1: somebody waits for this held lock; 0: nobody does any more */
    guint32 reserved;
} PacketWanted;

typedef struct {
    guint64 key;
    guint64 token;        /* 0 unless held */
    guint32 time_left_ms; /* until its time-out; 0: it has no time-out */
    guint8 state;
    guint8 wanted; /* 1: somebody waits for this held lock */
    guint8 reserved[2];
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

/* Returns the message at `*offset` of a packet of `size` bytes and moves `*offset` to the end of
 * the message. Returns NULL if the message is malformed. `packet` must be 8-byte aligned, and
 * `*offset` less than `size`. */
const PacketHead *packet_read_from_client(const void *packet, gsize size, gsize *offset);
const PacketHead *packet_read_from_service(const void *packet, gsize size, gsize *offset);

/* ---- writing: each function appends one message to `bytes` */

/* `slots` may be 0: not given; with PACKET_OPTION_CELL it is the number of the cell. `why` and
 * `command`, the option `for`, may be NULL. */
void packet_write_request(GByteArray *bytes,
                          guint64 serial,
                          guint64 key,
                          guint32 timeout_ms,
                          LockMode mode,
                          guint8 options,
                          guint32 slots,
                          const char *bucket,
                          const char *name,
                          const char *why,
                          const char *command);

/* `kind` is RELEASE, ABORT or DOWNGRADE. */
void
packet_write_key(GByteArray *bytes, PacketKind kind, guint16 flags, guint64 serial, guint64 key);

void packet_write_wanted(GByteArray *bytes, guint64 key, gboolean wanted);
void packet_write_live(GByteArray *bytes,
                       const PacketLiveEntry *entries,
                       guint n_entries,
                       gboolean more);

/* Appends a struct of `size` bytes that begins with `head`, after setting the head's kind and size:
 * one that the functions above are not for. */
void packet_write(GByteArray *bytes, PacketKind kind, PacketHead *head, gsize size);
#define PACKET_WRITE(bytes, kind, Type, ...) \
    packet_write(bytes, kind, (PacketHead *)&(Type){__VA_ARGS__}, sizeof(Type))

/* Returns the size in bytes of the next packet, which begins at `offset`: as many whole messages
 * as fit into `max` bytes, and at least one. */
gsize packet_get_length(const GByteArray *bytes, gsize offset, gsize max);
