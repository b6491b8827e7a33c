/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A client of socket-world.h with its lock socket, and assertions of what it may receive: LIVE
 * first, one answer to each call that the service could read, in order, and CLOSED before the end;
 * and when all queues are empty, what it received determines which of its requests are live and
 * held. */

#pragma once

#include <gio/gio.h>

#include "common/packet.h"
#include "service/core/agent.h"

typedef struct {
    char name[16]; /* its unique name; another one each time that it comes back */
    gboolean is_there;
    gboolean is_deaf; /* reads nothing */
    guint64 serial;   /* of its last packet */

    /* Of its lock socket. */
    int fd;             /* its end, -1: it has none */
    GQueue awaited;     /* of calls without an answer yet: Awaited */
    GHashTable *known;  /* key -> PacketState of what is live, by what it was told */
    GHashTable *doubt;  /* key -> number of the last call without answer that was about it */
    guint n_sent;       /* calls */
    guint64 bound;      /* bucket numbers, as bits */
    gboolean has_live;  /* the whole list has come */
    gboolean is_closed; /* CLOSED has come */
    gboolean is_broken; /* sent something malformed, or an empty packet: no more is served */
    gboolean is_over;   /* the first of these was an empty packet, which is the end of file */
    guint n_calls;      /* by the bus, since it came */
    guint n_opens;      /* of these: OpenSocket, without a socket that came by it */
    guint n_before;     /* calls that it had sent before the first of these */
    GDBusMessage *ping; /* that the service sent it by the bus, and it has not answered */
} Party;

/* Calls by the bus of one client that may have made it a flooding one. */
#define PARTY_CALLS_MAX 64

void party_init(Party *party);
void party_fini(Party *party);

/* It calls OpenSocket; takes over its end of a new socket; closes it. */
void party_ask_for_socket(Party *party);
void party_open(Party *party, int fd);
void party_close(Party *party);

/* Sends a packet. FALSE: there is no room for it now. */
gboolean party_send(Party *party, const void *packet, gsize size);

/* Reads a packet. FALSE: there was nothing, or there is nothing any more. */
gboolean party_read(Party *party);

/* For when all is at rest, of a client that reads. */
void party_check(const Party *party, const Agent *agent);
