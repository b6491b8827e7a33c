/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The packets between weblocksd and its gateway to a cluster, weblocks-clusterd: their contents,
 * and the functions that read and write them. This header is the specification.
 *
 * A packet is one message on a SOCK_SEQPACKET socket: a ClusterHead, then a serialized GVariant in
 * native byte order, since both peers are on one machine. Its type depends on the kind, and is
 * written beside it below, with the names of its members.
 *
 * Reading is strict: the GVariant is in normal form, and if cluster_packet_read_*() returns TRUE,
 * all numbers, enumerations and texts are valid. Texts contain only what D-Bus strings can.
 *
 * Words: a *queue* is one lock name of one bucket, of one user unless it is shared, with the
 * requests of this host. A *permit* is what the host may grant in a queue now. A *turn* is the time
 * from a permit until it is returned. A *claim* is what the engine stores of one host for one name.
 * The *lease* is the time until which all permits are valid. */

#pragma once

#include <glib.h>

#include "permit-mode.h"

#define CLUSTER_PACKET_VERSION   6u
#define CLUSTER_PACKET_BYTES_MAX 65536u

/* Packets contain the names of buckets without "cluster:". */
#define CLUSTER_BUCKET_BYTES_MAX 64u
#define CLUSTER_NAME_BYTES_MAX   4096u
#define CLUSTER_HOST_BYTES_MAX   255u

/* The uid in the packets about a bucket whose users share it. */
#define CLUSTER_NO_UID G_MAXUINT32

/* The most claims in ROWS. Fewer fit into a packet if the names of the hosts are long. */
#define CLUSTER_ROWS_MAX 1000u

/* A permit is for 2^10 tokens: block << 10 up to block << 10 | 0x3ff. Tokens have to fit the 53
 * bits of a JavaScript number, so there are 2^43 blocks: 2,700 a second for 100 years. */
#define CLUSTER_BLOCK_BITS 10u
#define CLUSTER_BLOCK_MAX  ((G_GUINT64_CONSTANT(1) << (53 - CLUSTER_BLOCK_BITS)) - 1)

typedef enum {
    /* From weblocksd. */
    CLUSTER_PACKET_HELLO = 1,  /* (u): the version; the first packet of a connection */
    CLUSTER_PACKET_DEMAND = 2, /* (tttuuuyyybbuss): the members of ClusterDemand */
    CLUSTER_PACKET_READY = 3,  /* (): all demands that exist at the beginning were sent */
    CLUSTER_PACKET_ACK = 4,    /* (t): the serial of a LEASE: weblocksd is alive */
    CLUSTER_PACKET_ASK = 5,    /* (tuusss): the members of ClusterQuestion */
    /* From the gateway. */
    CLUSTER_PACKET_LEASE = 65, /* (txtuu): those of ClusterLease */
    CLUSTER_PACKET_PERMIT =
        66, /* (tytu): handle, mode, block, claim; valid until the end of the lease */
    CLUSTER_PACKET_YIELD = 67,   /* (tb): handle, now; another host waits: the turn is to end */
    CLUSTER_PACKET_REVOKED = 68, /* (ty): handle, reason; what is held under the permit has ended */
    CLUSTER_PACKET_BUSY = 69,    /* (tu): handle, number; another host has a conflicting claim, for
                                  * a request with ifAvailable */
    CLUSTER_PACKET_GONE = 70,    /* (tu): handle, number; see ClusterDemand */
    CLUSTER_PACKET_SYNCED = 71,  /* (): the reply to READY: a permit was sent for each claim that
                                  * this host has since before; what is held without one is lost */
    /* Answers to ASK, each with the serial of the question. */
    CLUSTER_PACKET_ROWS = 72,   /* (ta(yyxs)): the members of ClusterRows */
    CLUSTER_PACKET_STATUS = 73, /* (tssss): those of ClusterStatus */
    CLUSTER_PACKET_BROKEN = 74, /* (tub): those of ClusterBroken */
} ClusterPacketKind;

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
    CLUSTER_REASON_UNREACHABLE = 1,     /* not enough servers can be reached */
    CLUSTER_REASON_NOT_RENEWED = 2,     /* no write was committed in time */
    CLUSTER_REASON_SERVICE = 3,         /* weblocksd did not acknowledge the lease in time */
    CLUSTER_REASON_EXPIRED = 4,         /* the servers have ended the session */
    CLUSTER_REASON_DENIED = 5,          /* the credential is not the one of the data */
    CLUSTER_REASON_OTHER_DATA = 6,      /* the data are not those that this host has used */
    CLUSTER_REASON_OLDER_DATA = 7,      /* the data are older than those that this host has used */
    CLUSTER_REASON_SHORT_SESSIONS = 8,  /* the servers don't allow sessions that are long enough */
    CLUSTER_REASON_STORAGE = 9,         /* the gateway can't write its state directory */
    CLUSTER_REASON_ADDRESSES = 10,      /* the names of the servers can't be looked up */
    CLUSTER_REASON_UNEXPECTED = 11,     /* an answer of the servers that makes no sense */
    CLUSTER_REASON_OTHER_FORMAT = 12,   /* the data have another format than this version */
    CLUSTER_REASON_OTHER_CLUSTER = 13,  /* the data are not those of ClusterId= */
    CLUSTER_REASON_LONG_TICKS = 14,     /* the servers count time in longer ticks than allowed */
    CLUSTER_REASON_OTHER_SETTINGS = 15, /* a bucket has other settings than on this host */
    CLUSTER_REASON_LAST = CLUSTER_REASON_OTHER_SETTINGS,
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
    guint32 kind;
    guint32 size; /* of the packet, including this head, in bytes */
} ClusterHead;

/* ---- from weblocksd */

/* What a queue needs now. It replaces the earlier demand of the same handle. A handle stands for
 * the same queue as long as the connection; a demand of a handle that is new to the gateway
 * introduces it. `number` is the position of this demand among those of the handle, from 1 on. If
 * the queue wants nothing, holds nothing and has no permit, the gateway replies GONE with that
 * number when it has no claim for it; the handle is forgotten if no later demand was sent.
 *
 * `block` is that of the permit that the queue has or returns, so that the gateway does not take
 * the end of one turn for that of the next; 0: it has none. After a restart of weblocksd, it is
 * that of the first token that is held.
 *
 * If the queue has its permit from an earlier connection, `claim` is that of its PERMIT, and
 * `session` that of the LEASE before: the gateway confirms it by another PERMIT with the same
 * block, if the claim still exists. They are 0 after a restart of weblocksd: a PERMIT is sent if
 * the claim has got `block`, or was made before that was given out, or else REVOKED. weblocksd does
 * not know which tokens of the PERMIT it had issued, and takes all of them for used up.
 *
 * To `needs_tokens` the gateway replies with a PERMIT of the same claim with another block, unless
 * it has sent YIELD. */
typedef struct {
    guint64 handle; /* not 0 */
    guint64 block;
    guint64 session; /* 0: none, and so is `claim` */
    guint32 claim;
    guint32 uid;
    guint32 number;        /* not 0 */
    guint8 want;           /* a PermitMode: of the first request that waits */
    guint8 held;           /* a PermitMode */
    guint8 undecided;      /* an Undecided: a request waits for an answer in a short time */
    gboolean needs_tokens; /* those of the permit are used up, and a request waits for others */
    gboolean is_turn_over; /* the permit is returned: nothing is held */
    guint32 n_waiting;
    const char *bucket;
    const char *name;
} ClusterDemand;

/* Asks for ROWS, the claims of other hosts on a name; for BROKEN, after what one or all other hosts
 * hold of it has been ended as a steal does; or for STATUS, where only `serial` matters. */
typedef struct {
    guint64 serial;
    guint32 answer; /* the ClusterPacketKind of the answer */
    guint32 uid;
    const char *bucket;
    const char *name;
    const char *host; /* for BROKEN; "": all other hosts */
} ClusterQuestion;

/* ---- from the gateway */

/* Until when the permits of this session are valid; those from earlier connections, too, until
 * SYNCED or their REVOKED: its claims exist as long as it does, but for those that were stolen. */
typedef struct {
    guint64 serial;
    gint64 deadline_us; /* CLOCK_BOOTTIME; permits are not valid after it. 0: there is no lease */
    guint64 session;    /* of the gateway with the engine; 0: there is no lease */
    guint32 state;      /* a ClusterState, not OFF */
    guint32 reason;     /* a ClusterReason; NONE if the state is ACTIVE */
} ClusterLease;

/* PERMIT, YIELD, REVOKED, BUSY and GONE are about a queue. Each has some of these members. */
typedef struct {
    guint64 handle; /* not 0 */
    guint8 mode;    /* a PermitMode, not NONE */
    guint64 block;  /* of tokens; not 0 */
    guint32 claim;  /* distinguishes the claims of a session */
    gboolean now;   /* FALSE: after all requests that wait now; TRUE: nothing more is granted */
    guint8 reason;  /* a ClusterRevokedReason */
    guint32 number; /* of the demand that this replies to, not 0 */
} ClusterTurn;

/* A claim of another host. */
typedef struct {
    guint8 mode;     /* a PermitMode, not NONE */
    guint8 state;    /* a ClusterRowState */
    gint64 since_us; /* since 1970; when the claim was made */
    const char *host;
} ClusterRow;

/* The first claims, in the order of the engine, at most CLUSTER_ROWS_MAX. */
typedef struct {
    guint64 serial;
    GVariant *rows; /* see cluster_row_next() */
} ClusterRows;

/* For `weblocks cluster status`: what is not in LEASE. */
typedef struct {
    guint64 serial;
    const char *engine;  /* the server that is connected, or "" */
    const char *hosts;   /* names, one per line */
    const char *id;      /* of the data that this host uses; "": none yet */
    const char *metrics; /* NAME VALUE, one per line; the names are those of docs/cluster.md */
} ClusterStatus;

typedef struct {
    guint64 serial;
    guint32 count;   /* the number of claims that held the name and have ended */
    gboolean failed; /* the engine could not be reached */
} ClusterBroken;

/* ---- reading */

typedef struct {
    guint32 kind;   /* a ClusterPacketKind */
    GVariant *body; /* owned; the texts and rows are parts of it */
    union {
        guint32 version;
        ClusterDemand demand;
        guint64 serial; /* of ACK, and the first member of each answer */
        ClusterQuestion question;
        ClusterLease lease;
        ClusterTurn turn;
        ClusterRows rows;
        ClusterStatus status;
        ClusterBroken broken;
    };
} ClusterMessage;

/* Reads a packet of `size` bytes. Returns FALSE if it is malformed. `packet` must be 8-byte
 * aligned, and stay as it is until cluster_message_clear(). */
gboolean cluster_packet_read_from_service(ClusterMessage *out, const void *packet, gsize size);
gboolean cluster_packet_read_from_gateway(ClusterMessage *out, const void *packet, gsize size);
void cluster_message_clear(ClusterMessage *message);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ClusterMessage, cluster_message_clear)

/* Reads the next row; `iter` is of the rows. The text is a part of them. Returns FALSE at the end.
 */
gboolean cluster_row_next(GVariantIter *iter, ClusterRow *out);

/* ---- writing */

/* Append a packet. The further arguments are those of g_variant_new() for the type of this kind. */
void cluster_packet_write(GByteArray *bytes, ClusterPacketKind kind, ...);
void cluster_packet_write_va(GByteArray *bytes, ClusterPacketKind kind, va_list *members);

/* Returns as many of these rows (of ClusterRow), from the first on, as ROWS can have; floating. */
GVariant *cluster_rows_new(const GArray *rows);
