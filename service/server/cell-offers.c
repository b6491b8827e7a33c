/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cell-offers.h"

#include <unistd.h>

#include "cell-pages.h"
#include "operations.h"
#include "packet-socket.h"
#include "state.h"

static gboolean
may_have_cells(const Client *client)
{
    const PrincipalIdentity *identity = &client->agent->principal->identity;

    return client->server->stage == SERVER_RUNNING && client->server->state != NULL &&
           identity->kind == PRINCIPAL_UNSANDBOXED && identity->uid == geteuid();
}

int
cell_offers_make(Client *client)
{
    int fd = -1;

    if (may_have_cells(client))
        client->page = state_new_page(client->server->state, &fd);
    if (client->page != NULL)
        packet_socket_set_cells(client, client->page->cells);
    return fd;
}

static void
end_page(Client *client)
{
    if (client->page == NULL)
        return;
    clock_tick(client->server);
    cells_close_of(client->agent);
    notify_effects(client->server);
    g_clear_pointer(&client->page, cell_page_free);
}

void
cell_offers_close_socket(Client *client, PacketClosedReason reason)
{
    end_page(client);
    packet_socket_close(client, reason);
}

void
cell_offers_before_call(const Client *client, const LockCall *call)
{
    Server *server = client->server;

    /* The last two look at nothing, but at what the client itself has, whose page is replaced. */
    if (call->kind < LOCK_CALL_WATCH || !lock_call_needs_agent(call) ||
        call->kind == LOCK_CALL_OPEN_SOCKET || call->kind == LOCK_CALL_OPEN_DOCUMENT)
        return;
    cells_close_seen_by(client->agent->principal);
    notify_effects(server);
}

void
cell_offers_close_all(Server *server)
{
    if (server->user_agent.cells.length == 0)
        return;
    clock_tick(server);
    cells_close_all(&server->user_agent);
    notify_effects(server);
}

void
cell_offers_end_all(gpointer data)
{
    const Server *server = data;
    GHashTableIter iter;
    Client *client;

    g_hash_table_iter_init(&iter, server->clients);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&client))
        if (client->page != NULL)
            cell_offers_close_socket(client, 0);
}
