/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Private sockets: a D-Bus connection straight to one client, without the bus between.
 *
 * The bus stays what decides who somebody is and when they are gone; a socket is the unique name's
 * that asked for it over the bus, whoever is at its other end. Its end alone terminates nothing.
 *
 * Order. There is none between a socket and the bus, so wherever both meet, the socket is read
 * first: before a call that the same client sends by the bus, and before the client's end. Such a
 * call waits until the socket's turns have come to what was in it when the call came, and not for
 * what came later. The reply to OpenPeer is the last thing that the client is told by the bus until
 * it calls by the bus again. What a client sent before it closed a socket takes effect even if it
 * reads no answer.
 *
 * Bounds. A client that doesn't read is not read. If what it is told in spite of that becomes too
 * much, or if it calls by the bus meanwhile, the socket is closed for writing: a client that waits
 * for the answer to such a call may read nothing else, so the call would wait for ever. The signals
 * that are left go by the bus, so that none is lost, and what it asked there it has to ask again.
 * What is unread on all sockets is charged to those whose they are; past a limit they get no more
 * lists, and hear no more of what they watch.
 * All sockets are one source, so those that rest cost nothing, and those with something to say take
 * turns. */

#pragma once

#include <glib.h>

#include "service/bus/client.h"
#include "service/core/limits.h"
#include "service/core/lock-result.h"

/* What is served there. `export` puts up the objects of a link; `take` serves a message, or says
 * that the objects have to. */
typedef struct {
    int (*export)(Link *link);
    gboolean (*take)(Link *link, sd_bus_message *message);
} PeersServe;

/* `serve` has to outlive it. */
Peers *peers_new(Edge *edge, const PeersServe *serve);
void peers_free(Peers *peers);

/* Opens a private socket for the client in place of the one it may have. `*out_fd` is the client's
 * end, to be closed by the caller. From here on signals go there. -EDQUOT: `*out_limit` is
 * reached; another negative errno: there is none to be had now. */
int peers_open(Client *client, int *out_fd, LimitId *out_limit);

/* How far its private socket has to be read before a call that has come by the bus is served: not
 * beyond Client.n_socket_bytes if there is nothing in it. */
guint64 peers_get_position(Client *client);

/* The client's first call that waits may be served now, if it has one: that is done in turn. */
void peers_notice_due(Client *client);

/* Serves at once all that the client's calls wait for, and these, as far as it reads the answers.
 */
void peers_serve_deferred(Client *client);

/* Serves all that a client has sent that is gone, on its private socket or in calls that wait, and
 * closes it. */
void peers_read_last(Client *client);

/* About how many bytes the client has not read there; that is charged. */
gsize peers_count_unread(const Client *client);

/* Closes the client's private socket, if it has one. */
void peers_close(Client *client);

/* And forgets the client. */
void peers_remove_client(Client *client);
