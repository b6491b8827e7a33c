/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "accounts-check.h"

#include "principal.h"
#include "tests/lib/audit.h"

/* Turns; so that thousands of clients still find it quick. */
#define CHECK_EVERY 64

void
accounts_check(const Server *server)
{
    static guint n_turns;
    g_autofree char *wrong = NULL;
    GHashTableIter iter;
    const Client *client;
    Audit audit;

    if (n_turns++ % CHECK_EVERY != 0)
        return;
    audit_init(&audit, &server->user_agent);
    g_hash_table_iter_init(&iter, server->clients);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&client))
        if (client->agent != NULL)
            audit_count(&audit, &client->agent->principal->account, CHARGE_WATCH,
                        client->watches.length);
    wrong = audit_compare(&audit, &server->user_agent);
    audit_fini(&audit);
    if (wrong != NULL)
        g_error("A sum is wrong: %s", wrong);
}
