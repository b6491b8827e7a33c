/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/sums.h"

#include "service/bus/clients.h"
#include "service/bus/peers.h"
#include "service/core/audit.h"
#include "service/core/principal.h"

/* Turns; so that thousands of clients still find it quick. */
#define CHECK_EVERY 64

void
sums_check(const Edge *edge)
{
    static guint n_turns;
    g_autofree char *wrong = NULL;
    GHashTableIter iter;
    const Client *client;
    Audit audit;

    if (n_turns++ % CHECK_EVERY != 0)
        return;
    audit_init(&audit, &edge->user_agent);
    g_hash_table_iter_init(&iter, edge->clients->by_name);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&client))
        if (client->agent != NULL) {
            LimitsAccount *account = client->agent->principal->account;

            audit_count(&audit, account, CHARGE_WATCH, client->watches.length);
            audit_count(&audit, account, CHARGE_PRIVATE_SOCKET, client->peer != NULL);
            audit_count(&audit, account, CHARGE_UNREAD_BYTE, (guint32)peers_count_unread(client));
        }
    wrong = audit_compare(&audit, &edge->user_agent);
    audit_fini(&audit);
    if (wrong != NULL)
        g_error("A sum is wrong: %s", wrong);
}
