/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/replies.h"

#include <errno.h>

#include "service/bus/errors.h"

sd_bus_message *
replies_new(sd_bus_message *call)
{
    sd_bus_message *reply = NULL;
    int r;

    if (sd_bus_message_get_expect_reply(call) <= 0)
        return NULL;
    r = sd_bus_message_new_method_return(call, &reply);
    g_assert(r >= 0);
    return reply;
}

void
replies_put(Client *client, sd_bus_message *reply, gsize n_bytes)
{
    outbox_take(&client->link->outbox, reply, n_bytes);
}

int
replies_put_list(Client *client, sd_bus_message *reply, gsize n_bytes, sd_bus_error *error)
{
    Edge *edge = client->edge;
    LimitId limit;

    if (link_may_tell_more(client->link, &limit)) {
        replies_put(client, reply, n_bytes);
        return 0;
    }
    sd_bus_message_unref(reply);
    return replies_set_result(error, edge, lock_result_limit(limit));
}

void
replies_put_error(Link *link, sd_bus_message *call, const sd_bus_error *error)
{
    sd_bus_message *reply = NULL;

    if (sd_bus_message_get_expect_reply(call) <= 0)
        return;
    if (sd_bus_message_new_method_error(call, &reply, error) >= 0)
        outbox_take(&link->outbox, reply, 0);
}

int
replies_set_result(sd_bus_error *error, Edge *edge, LockResult result)
{
    errors_set_from_result(error, result, &edge->user_agent.limits);
    return -EINVAL;
}
