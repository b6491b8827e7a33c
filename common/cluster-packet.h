/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The packets between weblocksd and its gateway to a cluster, weblocks-clusterd: their layout, and
 * the functions that read and write them. This header is the specification.
 *
 * A packet is one message on a SOCK_SEQPACKET socket. All numbers are in native byte order, since
 * both peers are on one machine. The size of every message is a multiple of 8 bytes. A text is
 * UTF-8 of characters that D-Bus strings can contain, and is followed by a NUL that its length does
 * not count; a message with texts ends with zeros up to a multiple of 8.
 *
 * Reading is strict: if cluster_packet_read_*() returns a message, its size, reserved fields,
 * enumerations and texts are valid. The reading functions return pointers into the caller's packet;
 * the writing functions append to a byte array that the caller owns.
 *
 * Words: a *queue* is one lock name of one bucket of one user, with the requests of this host. A
 * *permit* is what the host may grant in a queue now. A *turn* is the time from a permit until it
 * is returned. A *claim* is what the engine stores of one host for one name. The *lease* is the
 * time until which all permits are valid. */

#pragma once

#include <glib.h>

#include "permit-mode.h"

#define CLUSTER_PACKET_VERSION   1u
#define CLUSTER_PACKET_BYTES_MAX 65536u
#define CLUSTER_PACKET_ALIGNMENT 8u

/* Packets contain the names of buckets without "cluster:". */
#define CLUSTER_BUCKET_BYTES_MAX 64u
#define CLUSTER_NAME_BYTES_MAX   4096u
#define CLUSTER_HOST_BYTES_MAX   255u

/* A permit is for 2^20 tokens: block << 20 up to block << 20 | 0xfffff. Tokens have to fit the 53
 * bits of a JavaScript number. */
#define CLUSTER_BLOCK_BITS 20u
#define CLUSTER_BLOCK_MAX  ((G_GUINT64_CONSTANT(1) << (53 - CLUSTER_BLOCK_BITS)) - 1)

typedef enum {
    /* From weblocksd. */
    CLUSTER_PACKET_HELLO = 1,
    CLUSTER_PACKET_DEMAND = 2,
    CLUSTER_PACKET_READY = 3,
    CLUSTER_PACKET_ACK = 4,
    CLUSTER_PACKET_LIST = 5,
    CLUSTER_PACKET_BREAK = 6,
    /* From the gateway. */
    CLUSTER_PACKET_LEASE = 65,
    CLUSTER_PACKET_PERMIT = 66,
    CLUSTER_PACKET_YIELD = 67,
    CLUSTER_PACKET_REVOKED = 68,
    CLUSTER_PACKET_BUSY = 69,
    CLUSTER_PACKET_GONE = 70,
    CLUSTER_PACKET_SYNCED = 71,
    CLUSTER_PACKET_ROWS = 72,
    CLUSTER_PACKET_STATE = 73,
    CLUSTER_PACKET_BROKEN = 74,
} ClusterPacketKind;

/* ClusterDemand.flags. */
#define CLUSTER_DEMAND_TURN_OVER 1u /* the permit is returned */

/* The connection of the gateway to the engine. OFF is not sent: there is no gateway. */
typedef enum {
    CLUSTER_STATE_OFF = 0,
    CLUSTER_STATE_CONNECTING = 1,
    CLUSTER_STATE_ACTIVE = 2,
    CLUSTER_STATE_SUSPECT = 3, /* the lease was not renewed when it should have been */
    CLUSTER_STATE_LOST = 4,    /* the session has ended: no permit is valid */
} ClusterState;

/* Why the state is not ACTIVE. */
typedef enum {
    CLUSTER_REASON_NONE = 0,
    CLUSTER_REASON_UNREACHABLE = 1,    /* not enough servers can be reached */
    CLUSTER_REASON_NOT_RENEWED = 2,    /* no write was committed in time */
    CLUSTER_REASON_SERVICE = 3,        /* weblocksd did not acknowledge the lease in time */
    CLUSTER_REASON_EXPIRED = 4,        /* the servers have ended the session */
    CLUSTER_REASON_DENIED = 5,         /* the credential is not the one of the data */
    CLUSTER_REASON_OTHER_DATA = 6,     /* the data are not those that this host has used */
    CLUSTER_REASON_OLDER_DATA = 7,     /* the data are older than those that this host has used */
    CLUSTER_REASON_SHORT_SESSIONS = 8, /* the servers don't allow sessions that are long enough */
    CLUSTER_REASON_STORAGE = 9,        /* the gateway can't write its state directory */
    CLUSTER_REASON_ADDRESSES = 10,     /* the names of the servers can't be looked up */
    CLUSTER_REASON_UNEXPECTED = 11,    /* an answer of the servers that makes no sense */
} ClusterReason;

typedef enum {
    CLUSTER_REVOKED_STOLEN = 1,
    CLUSTER_REVOKED_LOST = 2,
} ClusterRevokedReason;

typedef enum {
    CLUSTER_ROW_HOLDS = 1,
    CLUSTER_ROW_WAITS = 2,
} ClusterRowState;

typedef struct {
    guint16 kind;
    guint16 flags; /* 0 */
    guint32 size;  /* of the message, including this head, in bytes */
} ClusterHead;

/* ---- from weblocksd */

/* The first message of a connection. */
typedef struct {
    ClusterHead head;
    guint32 version;
    guint32 reserved;
} ClusterHello;

/* What a queue needs now. It replaces the earlier demand of the same handle. A handle stands for
 * the same queue as long as the connection; a demand of a handle that is new to the gateway
 * introduces it. `number` is the position of this demand among those of the handle, from 1 on. If
 * the queue wants nothing, holds nothing and has no permit, the gateway replies GONE with that
 * number when it has no claim for it; the handle is forgotten if no later demand was sent.
 *
 * `block` is that of the permit that the queue has or returns, so that the gateway does not take
 * the end of one turn for that of the next; 0: it has none. */
typedef struct {
    ClusterHead head;
    guint64 handle; /* not 0 */
    guint64 block;
    guint32 uid;
    guint32 number;   /* not 0 */
    guint8 want;      /* a PermitMode: of the first request that waits */
    guint8 held;      /* a PermitMode */
    guint8 undecided; /* an Undecided: a request waits for an answer in a short time */
    guint8 flags;
    guint16 bucket_length;
    guint16 name_length;
    guint32 n_waiting;
    guint32 reserved;
    char text[]; /* bucket, name */
} ClusterDemand;

/* READY is only a head: the demands that exist at the beginning of the connection have been sent.
 * The gateway replies SYNCED, only a head, too: it has sent a permit for each claim that this host
 * has since before; what is held without one is lost. */

/* weblocksd is alive: it has received this LEASE. */
typedef struct {
    ClusterHead head;
    guint64 serial;
} ClusterAck;

/* Asks for the claims of other hosts on the names of a bucket, for ROWS. */
typedef struct {
    ClusterHead head;
    guint64 serial;
    guint32 uid;
    guint16 bucket_length;
    guint16 reserved;
    char text[]; /* bucket */
} ClusterList;

/* Ends what one or all other hosts hold of a name, as a steal does, for BROKEN. */
typedef struct {
    ClusterHead head;
    guint64 serial;
    guint32 uid;
    guint16 bucket_length;
    guint16 name_length;
    guint16 host_length; /* 0: all other hosts */
    guint16 reserved[3];
    char text[]; /* bucket, name, host */
} ClusterBreak;

/* ---- from the gateway */

typedef struct {
    ClusterHead head;
    guint64 serial;
    gint64 deadline_us; /* CLOCK_BOOTTIME; permits are not valid after it. 0: there is no lease */
    guint32 state;      /* a ClusterState, not OFF */
    guint32 reason;     /* a ClusterReason; NONE if the state is ACTIVE */
} ClusterLease;

typedef struct {
    ClusterHead head;
    guint64 handle;
    guint32 mode; /* a PermitMode, not NONE */
    guint32 reserved;
    gint64 deadline_us; /* that of the lease */
    guint64 block;      /* of tokens; not 0 */
} ClusterPermit;

/* Another host waits: the turn is to end. */
typedef struct {
    ClusterHead head;
    guint64 handle;
    guint32 now; /* 0: after all requests that wait now; 1: nothing more is to be granted */
    guint32 reserved;
} ClusterYield;

/* The permit is not valid any more, and locks that are held under it have ended. */
typedef struct {
    ClusterHead head;
    guint64 handle;
    guint32 reason; /* a ClusterRevokedReason */
    guint32 reserved;
} ClusterRevoked;

/* BUSY: another host has a conflicting claim, for a request with ifAvailable. GONE: see
 * ClusterDemand. */
typedef struct {
    ClusterHead head;
    guint64 handle;
    guint32 number; /* of the demand that this replies to */
    guint32 reserved;
} ClusterReply;

typedef struct {
    guint8 mode;  /* a PermitMode, not NONE */
    guint8 state; /* a ClusterRowState */
    guint16 host_length;
    guint16 name_length;
    guint16 reserved;
    gint64 since_us; /* since 1970; when the claim was made */
    char text[];     /* host, name; then zeros up to a multiple of 8 */
} ClusterRow;

/* The claims of other hosts, in the order of the engine. */
typedef struct {
    ClusterHead head;
    guint64 serial;
    guint32 n_rows;
    guint32 more; /* 1: another ROWS of this serial follows */
    char rows[];  /* of ClusterRow */
} ClusterRows;

/* For `weblocks cluster status`. */
typedef struct {
    ClusterHead head;
    guint32 state; /* a ClusterState, not OFF */
    guint16 engine_length;
    guint16 hosts_length;
    char text[]; /* engine: the server that is connected, or ""; hosts: names, one per line */
} ClusterStatus;

typedef struct {
    ClusterHead head;
    guint64 serial;
    guint32 count;  /* the number of claims that held the name and have ended */
    guint32 failed; /* 1: the engine could not be reached */
} ClusterBroken;

/* ---- texts */

static inline const char *
cluster_demand_get_bucket(const ClusterDemand *demand)
{
    return demand->text;
}

static inline const char *
cluster_demand_get_name(const ClusterDemand *demand)
{
    return demand->text + demand->bucket_length + 1;
}

static inline const char *
cluster_break_get_bucket(const ClusterBreak *self)
{
    return self->text;
}

static inline const char *
cluster_break_get_name(const ClusterBreak *self)
{
    return self->text + self->bucket_length + 1;
}

static inline const char *
cluster_break_get_host(const ClusterBreak *self)
{
    return self->text + self->bucket_length + 1 + self->name_length + 1;
}

static inline const char *
cluster_row_get_host(const ClusterRow *row)
{
    return row->text;
}

static inline const char *
cluster_row_get_name(const ClusterRow *row)
{
    return row->text + row->host_length + 1;
}

static inline const char *
cluster_status_get_engine(const ClusterStatus *status)
{
    return status->text;
}

static inline const char *
cluster_status_get_hosts(const ClusterStatus *status)
{
    return status->text + status->engine_length + 1;
}

/* Returns the row after `row`, or the first if `row` is NULL; not to be called more than `n_rows`
 * times. */
const ClusterRow *cluster_rows_next(const ClusterRows *rows, const ClusterRow *row);

/* ---- reading */

/* Returns the message of a packet of `size` bytes, or NULL if it is malformed. `packet` must be
 * 8-byte aligned. */
const ClusterHead *cluster_packet_read_from_service(const void *packet, gsize size);
const ClusterHead *cluster_packet_read_from_gateway(const void *packet, gsize size);

/* ---- writing: each function appends one message to `bytes` */

void cluster_packet_write_hello(GByteArray *bytes);

/* Copies everything but the head, the lengths and the text from `demand`. */
void cluster_packet_write_demand(GByteArray *bytes,
                                 const ClusterDemand *demand,
                                 const char *bucket,
                                 const char *name);

/* `kind` is READY or SYNCED. */
void cluster_packet_write_head(GByteArray *bytes, ClusterPacketKind kind);
void cluster_packet_write_ack(GByteArray *bytes, guint64 serial);
void cluster_packet_write_list(GByteArray *bytes, guint64 serial, guint32 uid, const char *bucket);

/* `host` NULL: all other hosts. */
void cluster_packet_write_break(GByteArray *bytes,
                                guint64 serial,
                                guint32 uid,
                                const char *bucket,
                                const char *name,
                                const char *host);

void cluster_packet_write_lease(GByteArray *bytes,
                                guint64 serial,
                                gint64 deadline_us,
                                ClusterState state,
                                ClusterReason reason);
void cluster_packet_write_permit(
    GByteArray *bytes, guint64 handle, PermitMode mode, gint64 deadline_us, guint64 block);
void cluster_packet_write_yield(GByteArray *bytes, guint64 handle, gboolean now);
void cluster_packet_write_revoked(GByteArray *bytes, guint64 handle, ClusterRevokedReason reason);

/* `kind` is BUSY or GONE. */
void cluster_packet_write_reply(GByteArray *bytes,
                                ClusterPacketKind kind,
                                guint64 handle,
                                guint32 number);

/* Begins a ROWS at the end of `bytes`, and returns its offset. Rows are added to it while it is the
 * last message; for a row that does not fit, cluster_packet_add_row() begins another one. */
guint cluster_packet_begin_rows(GByteArray *bytes, guint64 serial);
void cluster_packet_add_row(GByteArray *bytes,
                            guint *offset,
                            PermitMode mode,
                            ClusterRowState state,
                            gint64 since_us,
                            const char *host,
                            const char *name);
void cluster_packet_write_status(GByteArray *bytes,
                                 ClusterState state,
                                 const char *engine,
                                 const char *hosts);
void cluster_packet_write_broken(GByteArray *bytes, guint64 serial, guint32 count, gboolean failed);
