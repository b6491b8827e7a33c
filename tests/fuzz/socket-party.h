/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A client of socket-world.h with its lock socket, and assertions of what it may receive: LIVE
 * first, one answer to each call that the service could read, in order, and CLOSED before the end;
 * and when all queues are empty, what it received determines which of its requests are live and
 * held. */

#pragma once

#include <gio/gio.h>

#include "common/packet.h"
#include "service/core/user-agent.h"

typedef struct {
    char name[16]; /* its unique name; another one after each reconnection */
    gboolean is_there;
    gboolean is_deaf; /* reads nothing */
    guint64 serial;   /* of its last packet */

    /* Of its lock socket. */
    int fd;             /* its end; -1: none */
    GQueue awaited;     /* of calls without an answer yet: Awaited */
    GHashTable *live;   /* key -> PacketState of live requests, as received */
    GHashTable *doubt;  /* key -> number of the last call without an answer about it */
    guint n_sent;       /* calls */
    gboolean has_live;  /* the whole list has arrived */
    gboolean is_closed; /* CLOSED has arrived */
    gboolean is_broken; /* has sent something malformed, or an empty packet: no more is processed */
    gboolean is_over;   /* the first of these was an empty packet, which is EOF */
    guint n_calls;      /* on the bus, since it connected */
    guint n_opens;      /* of these: OpenSocket, without a socket in return yet */
    guint n_before;     /* calls that were sent before the first of these */
    GDBusMessage *ping; /* of the service, without a reply yet */
} Party;

/* The number of calls on the bus after which a client may count as flooding. */
#define PARTY_CALLS_MAX 64

void party_init(Party *party);
void party_fini(Party *party);

/* Call OpenSocket; take ownership of the client's end of a new socket; close it. */
void party_call_open_socket(Party *party);
void party_open(Party *party, int fd);
void party_close(Party *party);

/* Sends a packet. Returns FALSE if the socket is full. */
gboolean party_send(Party *party, const void *packet, gsize size);

/* Reads a packet. Returns FALSE if there is none, or at EOF. */
gboolean party_read(Party *party);

/* When everything is idle, for a client that reads. */
void party_check(const Party *party, const Agent *agent);
