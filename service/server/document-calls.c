/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "document-calls.h"

#include "bus.h"
#include "encode.h"
#include "opened.h"
#include "portal.h"

/* How many calls wait at a time. An application gets one more only while it has fewer than are
 * left: so it can't use up more than half, however many clients it has. */
#define CALLS_MAX 256

typedef struct {
    Server *server;
    Principal *app; /* that is charged; owned reference */
    char *unique_name;
    LockCall *call;
    PortalCall *portal;
} WaitingCall;

static void
give(Client *client, const LockCall *call, const char *document)
{
    sd_bus_message *reply;
    const char *name;
    LockResult result = opened_add(client, document, &name);

    if (result != LOCK_RESULT_OK) {
        encode_result(client, call, result);
        return;
    }
    reply = encode_new_reply(client, call);
    if (reply == NULL)
        return;
    sd_bus_message_append(reply, "ss", BUS_USER_DOCUMENTS_BUCKET, name);
    bus_send(client, reply, strlen(name));
}

/* ---- calls that wait for the portal */

static void
waiting_call_free(gpointer data)
{
    WaitingCall *waiting = data;

    if (waiting->portal != NULL)
        portal_call_free(waiting->portal);
    lock_call_free(waiting->call);
    principal_unref(waiting->app);
    g_free(waiting->unique_name);
    g_free(waiting);
}

/* Its client may have disconnected meanwhile. */
static void
on_asked(LockResult result, const char *document, gpointer data)
{
    WaitingCall *waiting = data;
    Server *server = waiting->server;
    Client *client = server_find_client(server, waiting->unique_name);

    if (client != NULL && result == LOCK_RESULT_OK)
        give(client, waiting->call, document);
    else if (client != NULL)
        encode_result(client, waiting->call, result);
    g_ptr_array_remove(server->portal_calls, waiting);
}

static gboolean
can_ask(const Client *client)
{
    const GPtrArray *all = client->server->portal_calls;
    const Principal *app = client->agent->principal;
    guint n = 0;

    for (guint i = 0; i < all->len; i++)
        n += ((const WaitingCall *)all->pdata[i])->app == app ? 1 : 0;
    return client->server->stage == SERVER_RUNNING && n < CALLS_MAX - all->len;
}

static gboolean
ask_portal(Client *client, const LockCall *call)
{
    Server *server = client->server;
    WaitingCall *waiting;

    if (!can_ask(client))
        return FALSE;
    waiting = g_new0(WaitingCall, 1);
    waiting->server = server;
    waiting->app = principal_ref(client->agent->principal);
    waiting->unique_name = g_strdup(client->unique_name);
    waiting->call = lock_call_copy(call, &server->user_agent.limits);
    waiting->portal = portal_ask(server->bus->connection, &waiting->app->identity, call->document,
                                 on_asked, waiting);
    if (waiting->portal == NULL) {
        waiting_call_free(waiting);
        return FALSE;
    }
    g_ptr_array_add(server->portal_calls, waiting);
    return TRUE;
}

void
document_calls_finish_all(Server *server)
{
    while (server->portal_calls->len > 0)
        on_asked(LOCK_RESULT_NOT_NOW, NULL, server->portal_calls->pdata[0]);
}

/* ---- */

void
document_calls_open(Client *client, const LockCall *call)
{
    if (client->server->serves_groups ||
        client->agent->principal->identity.kind == PRINCIPAL_UNSANDBOXED)
        encode_result(client, call, LOCK_RESULT_NO_DOCUMENTS);
    else if (call->is_of_portal && !ask_portal(client, call))
        encode_result(client, call, LOCK_RESULT_NOT_NOW);
    else if (!call->is_of_portal && call->proof != LOCK_RESULT_OK)
        encode_result(client, call, call->proof);
    else if (!call->is_of_portal)
        give(client, call, call->document);
}

void
document_calls_init(Server *server)
{
    server->portal_calls = g_ptr_array_new_with_free_func(waiting_call_free);
}

void
document_calls_fini(Server *server)
{
    g_ptr_array_unref(server->portal_calls);
}
