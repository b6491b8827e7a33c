/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/service-methods.h"

#include "service/bus/replies.h"
#include "service/core/lock-manager.h"
#include "service/core/principal.h"

int
service_methods_buckets(Client *client, sd_bus_message *call, sd_bus_error *error)
{
    g_autoptr(SdBusMessage) reply = replies_new(call);
    GHashTableIter iter;
    LockManager *manager;
    int r = sd_bus_message_open_container(reply, 'a', "s");

    g_hash_table_iter_init(&iter, client->agent->principal->managers);
    while (r >= 0 && g_hash_table_iter_next(&iter, NULL, (gpointer *)&manager))
        if (manager->requests.length > 0) /* else it is only watched */
            r = sd_bus_message_append_basic(reply, 's', manager->bucket);
    if (r >= 0)
        r = sd_bus_message_close_container(reply);
    if (r < 0)
        return sd_bus_error_set_errno(error, r);
    outbox_take(&client->edge->outbox, g_steal_pointer(&reply));
    return 0;
}
