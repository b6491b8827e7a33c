/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "holders.h"

#include "wanted.h"

/* The number of holders visited in one turn. */
#define HOLDERS_PER_TURN 64
/* The number of locks of which a client is notified before it has to read. */
#define LOCKS_AT_ONCE 64

void
holders_notify_client(Client *client)
{
    const GQueue *untold = &client->agent->untold;
    const LockRequest *request;

    if (untold->length == 0 || !client->channel->admits_wanted(client))
        return;
    for (guint n = 0; n < LOCKS_AT_ONCE && (request = wanted_take(client->agent)) != NULL; n++)
        client->channel->wanted(client, request);
    if (untold->length > 0)
        client->channel->admits_wanted(client); /* which makes it runnable when it has read them */
}

void
holders_notify(Server *server)
{
    Agent *agent;

    for (guint n = 0; n < HOLDERS_PER_TURN && wanted_visit(&server->user_agent, &agent); n++)
        if (agent != NULL && agent->server_data != NULL)
            holders_notify_client(agent->server_data);
}
