/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "admission.h"

#include "bus.h"
#include "cell-offers.h"
#include "cluster.h"
#include "credentials.h"
#include "encode.h"
#include "opened.h"
#include "operations.h"
#include "state.h"
#include "watches.h"

/* A lookup that ended for lack of resources is started again after ASK_AGAIN_MS, up to ASKS_MAX
 * times: five seconds, in which the client's calls are deferred. */
#define ASK_AGAIN_MS 20
#define ASKS_MAX     250

/* A client that is being identified. */
struct Admission {
    CredentialsLookup *lookup; /* NULL while it waits to be started again */
    guint ask_again_id;
    guint n_asks_left;
};

static void ask_later(Client *client);

static void
end_identification(Client *client)
{
    Admission *admission = client->admission;

    if (admission == NULL)
        return;
    g_clear_handle_id(&admission->ask_again_id, g_source_remove);
    credentials_lookup_free(admission->lookup);
    g_clear_pointer(&client->admission, g_free);
    client->server->n_unidentified--;
}

/* Replies to the deferred calls with an error. The client's next call starts a new lookup; its flow
 * control state is kept. */
static void
refuse_client(Client *client, LockResult result)
{
    LockCall *call;

    end_identification(client);
    while ((call = client_take_deferred(client)) != NULL) {
        encode_result(client, call, result);
        lock_call_free(call);
    }
}

/* They decide who may use a bucket of a group, or of a cluster. */
static gboolean
needs_groups(const Server *server)
{
    return server->serves_groups || server->cluster != NULL;
}

static void
take_groups(Client *client, const Credentials *credentials)
{
    if (!needs_groups(client->server))
        return;
    client->gids = g_memdup2(credentials->gids, credentials->n_gids * sizeof *client->gids);
    client->n_gids = credentials->n_gids;
}

static LockResult
make_agent(Client *client, const Credentials *credentials)
{
    Principal *principal;
    Agent *agent = NULL;
    LockResult result;

    if (credentials == NULL)
        return LOCK_RESULT_UNIDENTIFIED;
    principal = principal_get(&client->server->user_agent, &credentials->identity);
    result = agent_new(principal, client->unique_name, &agent);
    principal_unref(principal);
    if (result != LOCK_RESULT_OK)
        return result;
    agent->pid = credentials->pid;
    g_strlcpy(agent->process_name, credentials->process_name, AGENT_PROCESS_NAME_SIZE);
    client_set_agent(client, agent);
    take_groups(client, credentials);
    return LOCK_RESULT_OK;
}

/* The deferred calls are served, or refused if the client has no agent. Frees the credentials. */
static void
finish(Client *client, LockResult result)
{
    if (client->agent == NULL) {
        refuse_client(client, result);
        return;
    }
    end_identification(client);
    turn_make_runnable(&client->server->turn, client);
}

/* Of a restored client only the groups are wanted. */
static void
on_identified(const Credentials *credentials, gboolean is_transient, gpointer data)
{
    Client *client = data;
    LockResult result = LOCK_RESULT_OK;

    if (is_transient) {
        ask_later(client);
        return;
    }
    if (client->agent == NULL)
        result = make_agent(client, credentials);
    else if (credentials != NULL)
        take_groups(client, credentials);
    finish(client, result);
}

static void
ask(Client *client)
{
    Admission *admission = client->admission;

    admission->lookup = credentials_look_up(client->server->bus->connection, client->unique_name,
                                            on_identified, client);
    if (admission->lookup == NULL)
        ask_later(client);
}

static gboolean
on_ask_again(gpointer data)
{
    Client *client = data;

    client->admission->ask_again_id = 0;
    ask(client);
    return G_SOURCE_REMOVE;
}

static void
ask_later(Client *client)
{
    Admission *admission = client->admission;

    g_clear_pointer(&admission->lookup, credentials_lookup_free);
    if (admission->n_asks_left-- > 0)
        admission->ask_again_id = g_timeout_add(ASK_AGAIN_MS, on_ask_again, client);
    else
        finish(client, LOCK_RESULT_NO_LOOKUP);
}

static void
begin_identification(Client *client)
{
    client->admission = g_new0(Admission, 1);
    client->admission->n_asks_left = ASKS_MAX;
    client->server->n_unidentified++;
    ask(client);
}

gboolean
admission_identify(Client *client)
{
    Server *server = client->server;

    if (client->agent != NULL || client->admission != NULL)
        return TRUE;
    if (server->stage == SERVER_DRAINING)
        return FALSE;
    if (!server_is_serving(server))
        return TRUE; /* its agent may be restored; otherwise admit_clients() identifies it */
    begin_identification(client);
    return TRUE;
}

/* ---- clients */

static Client *
add_client(Server *server, const char *unique_name)
{
    Client *client = server_add_client(server, unique_name, &bus_channel);

    client->flow = flow_control_new(client);
    return client;
}

Client *
admission_get_client(Server *server, const char *unique_name)
{
    Client *client = server_find_client(server, unique_name);

    return client != NULL ? client : add_client(server, unique_name);
}

/* The groups that the process had when it connected are not stored: the bus knows them. Meanwhile
 * its calls are deferred. */
void
admission_restore_client(Server *server, Agent *agent)
{
    Client *client = admission_get_client(server, agent->client_id);

    client_set_agent(client, agent_ref(agent));
    opened_restore(client);
    if (needs_groups(server))
        begin_identification(client);
}

void
admission_free_client(Client *client)
{
    end_identification(client);
    watches_remove_client(client);
    cell_offers_close_socket(client, 0);
    opened_clear(client);
    client->server->n_floods -= client->is_flood ? 1 : 0;
    g_clear_pointer(&client->flow, flow_control_free);
}

/* ---- the end of a client */

/* [2.6] The agent has terminated. */
void
admission_remove_client(Client *client)
{
    Server *server = client->server;

    watches_remove_client(client);
    cell_offers_close_socket(client, 0);
    if (client->agent != NULL) {
        clock_tick(client->server);
        user_agent_terminate(&client->server->user_agent, client->agent);
        client->agent->server_data = NULL;
        notify_effects(server);
        if (server->state != NULL)
            state_note_agent_gone(server->state, client->agent);
    }
    server_remove_client(client);
}
