/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What happened in a storm, as each process saw it: one file for each client process and one for
 * the supervisor, with records of one size and one clock. A client's file is shared memory, so its
 * records survive a SIGKILL; a record counts once its last word is written.
 *
 * A call is recorded before it is sent and its end after the reply was received, so the service's
 * action lies between the two. history.py writes the supervisor's and reads all of them. */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define HISTORY_MAGIC   G_GUINT64_CONSTANT(0x31524f5453494857) /* "WHISTOR1" */
#define HISTORY_N_NAMES 8

/* There are few names, so they are numbered. */
#define HISTORY_ALL_NAMES ((1u << HISTORY_N_NAMES) - 1)

typedef enum {
    HISTORY_NONE,

    /* By clients, about their requests. */
    HISTORY_REQUEST, /* is about to request: mode, flags; detail: time-out in ms */
    HISTORY_ENTER,   /* was granted, is inside: token */
    HISTORY_END,     /* the request ended without a lock: outcome */
    HISTORY_ABORT,   /* is about to abort it */
    HISTORY_LEAVE,   /* has left, is about to release it */
    HISTORY_RELEASE, /* the release was answered: outcome */
    HISTORY_LOST,    /* the lock is lost: outcome is the reason */
    HISTORY_ORACLE,  /* the kernel's lock beside it: outcome OK or REFUSED */
    HISTORY_FENCE,   /* wrote to the resource: outcome; detail: the highest token there */

    /* By clients and the supervisor: held and pending requests. `request` is the query's number;
     * detail: which names it covers; subject, of the supervisor's: the principal. */
    HISTORY_QUERY,
    HISTORY_ROW,   /* one row of its reply: subject is the number in the unique name */
    HISTORY_ROWS,  /* the end of the reply: outcome */
    HISTORY_QUIET, /* no operation is in progress: detail is the supervisor's number of the pause */
    HISTORY_SENT,  /* the request was sent, even if its client is killed */
    HISTORY_EXIT,  /* disconnects from the bus; with flag KILL, by its own SIGKILL */

    /* By the supervisor. Subject is the client's number. */
    HISTORY_SPAWN = 32,
    HISTORY_KILL,         /* is about to kill it */
    HISTORY_REAPED,       /* is dead; its descriptors are closed */
    HISTORY_STOP,         /* is about to stop it */
    HISTORY_CONTINUE,     /* continues it */
    HISTORY_UNSETTLED,    /* has not become quiet in time */
    HISTORY_SERVICE_KILL, /* with flag KILL: at a system call, token is its number; position is 1 if
                           * it was about to send a message; subject: the host of a cluster */
    HISTORY_SERVICE_DEAD, /* detail: exit status */
    HISTORY_SERVICE_READY, /* owns the name */
    HISTORY_BARRIER,   /* detail: bus and service have noticed all disconnects before that time */
    HISTORY_BUS,       /* a new bus: detail is its number */
    HISTORY_LEFT,      /* something was left over at the end: name is the kind, see HistoryLeft */
    HISTORY_STORM_END, /* from now on all clients are made to exit */
    HISTORY_FAULT,     /* something of a cluster is cut off, stopped or killed: subject is the
                        * bus of the host, 0: of all; name: a HistoryFault; flag KILL: locks may
                        * be lost by it */
    HISTORY_FAULT_END,
} HistoryKind;

typedef enum {
    HISTORY_OK,
    HISTORY_UNAVAILABLE, /* with ifAvailable */
    HISTORY_CANCELLED,
    HISTORY_TIMEOUT,
    HISTORY_STOLEN,
    HISTORY_GONE, /* "lost", "terminated" */
    HISTORY_FAILED,
    HISTORY_REFUSED,     /* of a request: there was no space to store it */
    HISTORY_UNREACHABLE, /* no service owned the name */
} HistoryOutcome;

typedef enum {
    HISTORY_FLAG_IF_AVAILABLE = 1 << 0,
    HISTORY_FLAG_STEAL = 1 << 1,
    HISTORY_FLAG_HELD = 1 << 2,  /* of a row: held; else pending */
    HISTORY_FLAG_QUIET = 1 << 3, /* of a query: all clients were quiet */
    HISTORY_FLAG_KILL = 1 << 4,
} HistoryFlags;

typedef enum {
    HISTORY_FAULT_STALL, /* of the machine */
    HISTORY_FAULT_PARTITION,
    HISTORY_FAULT_KILL,
    HISTORY_FAULT_STOP,
    HISTORY_FAULT_STOP_SERVICE, /* weblocksd can't notify its clients */
    HISTORY_FAULT_CUT_OFF,      /* during another fault: certainly, no server that has a leader gets
                                 * anything from the host; detail: the time-out of its session in s */
} HistoryFault;

/* Of HISTORY_LEFT: detail is the number found, token the number that is right. */
typedef enum {
    HISTORY_LEFT_ROWS,  /* locks and requests without a client */
    HISTORY_LEFT_STATE, /* the same, after one more restart */
    HISTORY_LEFT_DESCRIPTORS,
    HISTORY_LEFT_MEMORY, /* KiB */
} HistoryLeft;

typedef struct {
    guint64 time; /* CLOCK_MONOTONIC, ns */
    guint64 request;
    guint64 token;
    guint64 detail;
    guint32 client; /* the writer; 0 is the supervisor */
    guint32 subject;
    guint16 kind;
    guint8 name;
    guint8 mode; /* 0 exclusive, 1 shared */
    guint8 flags;
    guint8 outcome;
    guint16 position;
    guint32 unused[3];
    guint32 valid; /* its number, from 1 */
} HistoryRecord;
G_STATIC_ASSERT(sizeof(HistoryRecord) == 64);

typedef struct {
    guint64 magic;
    guint32 client;
    guint32 principal; /* uid */
    guint32 bus;       /* number of the bus, of those that the storm had */
    guint32 pid;
    guint32 unique; /* n of the unique name :1.n; valid if has_unique */
    guint32 has_unique;
    guint64 seed;
    guint32 unused[6];
} HistoryHeader;
G_STATIC_ASSERT(sizeof(HistoryHeader) == 64);

/* A client's file. Its space is allocated at the start, so a full disk can't kill the client later.
 */
typedef struct HistoryLog HistoryLog;

HistoryLog *
history_log_new(const char *path, guint capacity, const HistoryHeader *header, GError **error);
void history_log_free(HistoryLog *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HistoryLog, history_log_free)

/* From then on rows of queries can be attributed to this client. */
void history_log_set_unique(HistoryLog *self, guint32 unique);

/* Appends it, with the current time and the writer's number. False when there is no space. */
gboolean history_log_write(HistoryLog *self, const HistoryRecord *record);
guint history_log_get_free(HistoryLog *self);

G_END_DECLS
