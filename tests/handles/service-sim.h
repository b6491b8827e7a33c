/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The real service in the world of test-interleavings: all of it but sd-bus, the identification of
 * clients, and the GLib main loop, of which the actor S does the iterations. */

#pragma once

#include "client.h"
#include "tests/handles/sim.h"

/* The number of a client and of an agent. */
static inline guint
service_sim_index_of(const char *unique_name)
{
    return (guint)(unique_name[3] - 'A');
}

static inline guint
service_sim_index(const Client *client)
{
    return service_sim_index_of(client->unique_name);
}

/* Starts a service. `last_tokens`: how many tokens are left before the limit on how far they may be
 * ahead of the clock; 0: all. */
void service_sim_begin(const char *directory, guint last_tokens);

/* Makes an actor of it, which can be killed so many times. */
void service_sim_run(guint n_kills);

/* Before steps begin: runs until there is nothing to do. */
void service_sim_settle(void);

void service_sim_end(void);

/* A client was killed: it has left the bus. */
void service_sim_leave_bus(guint client);

/* The directory with the state was removed. Until the service has noticed, it is not killed: if it
 * were, what it had would be lost. */
void service_sim_lose_directory(void);

/* A hash of what is on disk, and of what the service will find there of clients that were killed.
 */
guint64 service_sim_describe(void);

/* Fails if the service's locks are not those of the model. */
void service_sim_check(void);

/* ---- for the parts of the service that were replaced */

/* The service replies to a call on a socket. The client whose socket is served first. */
void service_sim_note_reply(const Client *client, const LockCall *call, const LockReply *reply);
guint service_sim_get_first(void);
void service_sim_forget_sockets(void);

/* The bus, service-bus.c: a call, as a message, owned by the caller; the result of the
 * identification of clients, and the reply to ListNames, are handled. */
struct sd_bus_message *service_bus_new_call(guint client, BusCallKind kind);
void service_bus_handle_replies(Server *server);
gboolean service_bus_has_client(guint client);
void service_bus_notice_removal(void);
